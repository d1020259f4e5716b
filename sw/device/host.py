"""Exit code and text of a user's own program.

Both lie in global memory, at symbols that the program may define:

``tohost``
    A word, or two, that is 0 at the start. An odd value ends the program; the bits above the lowest
    are its exit code, as in riscv-tests. Other requests of HTIF get no answer, because the caches
    of the GPU would hide the answer from the program.
``graphloom_console``
    A word that counts the bytes written so far, and the bytes. The host shows them at the end, and
    while a program with ``tohost`` runs. A program takes room with an atomic addition to the count,
    so each call's text stays together while others write. Bytes that do not fit are lost.
"""

import numpy as np

from base.errors import UserError
from hw.isa import MemoryMap


__all__ = ["Host"]


class Host:
    """The host's side of a program.

    Parameters
    ----------
    executable : sw.device.elf.Executable
    memory : numpy.ndarray
        Global memory, bytes from 0x8000_0000 on.
    write : callable
        Takes the text of the program, as bytes.

    Attributes
    ----------
    ends : bool
        Whether the program can report its own end.
    written : bytes
        The text so far.
    lost : int
        Bytes of text that had no room.

    Raises
    ------
    UserError
        A symbol is too small for its purpose.
    """

    TOHOST, CONSOLE = "tohost", "graphloom_console"

    def __init__(self, executable, memory, write):
        self._memory, self._write = memory, write
        self._tohost, self._tohost_words = self._find(executable, self.TOHOST, 4)
        self._console, words = self._find(executable, self.CONSOLE, 8)
        self._capacity = 4 * words - 4
        self.ends = self._tohost is not None
        self.written, self.lost = b"", 0

    def _find(self, executable, name, least):
        """The place of a symbol in memory, None if there is none, and its size in words."""
        if not executable.has(name):
            return None, 0
        symbol = executable.symbol(name)
        place = symbol.address - MemoryMap.GLOBAL
        size = symbol.size or 4
        if size < least or place % 4 or place + size > self._memory.nbytes:
            raise UserError(f"{executable.name}: {symbol}: must be at least {least} bytes of "
                            "global memory at a multiple of 4")
        return place, size // 4

    def look(self) -> bool:
        """Pass new text in memory on to `write`. Returns whether the program has ended."""
        if self._console is not None:
            count = int(self._memory[self._console:][:4].view(np.uint32)[0])
            there = min(count, self._capacity)
            start = self._console + 4
            new = self._memory[start + len(self.written):start + there].tobytes()
            if new:
                self._write(new)
                self.written += new
            self.lost = count - there
        return self.request != 0

    @property
    def request(self) -> int:
        """The value of ``tohost``; 0 if the program has no such symbol."""
        if self._tohost is None:
            return 0
        words = self._memory[self._tohost:][:8].view(np.uint32).tolist()
        return words[0] | (words[1] << 32 if self._tohost_words > 1 else 0)

    @property
    def exit_code(self) -> int | None:
        """The code with which the program ended; None if the program has given no code."""
        request = self.request
        return request >> 1 if request & 1 and request < 1 << 32 else None
