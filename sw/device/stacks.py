"""The stacks of the lanes of a user's own program.

A program that has a stack for each lane, or one stack, says so at the symbol ``graphloom_stack``,
two words in global memory: the bytes of a stack, and the number of stacks, where 0 stands for one
for each lane. A third word may say how many times that size a stack takes with what a program keeps
beside it; else it is 1. A stack is a block of memory whose size is a power of two, at a multiple of
its size, and the stacks lie below ``__stacks_end``. So the hardware can notice that a lane leaves
its stack (:class:`hw.registers.Checks`).
"""

import numpy as np

from base.errors import UserError
from hw.isa import MemoryMap
from hw.registers import Checks


__all__ = ["Stacks"]


class Stacks:
    """The stacks of a program.

    Parameters
    ----------
    executable : sw.device.elf.Executable
    config : HardwareConfig
    size : int, optional
        Bytes of a stack; by default what the program says.

    Attributes
    ----------
    size : int
        Bytes of a stack; 0 if the program does not tell of stacks.

    Raises
    ------
    UserError
        There are no stacks whose size could be set, the size is no legal one, or the stacks do not
        fit.
    """

    SYMBOL, FIRST, LAST = "graphloom_stack", "end", "__stacks_end"

    def __init__(self, executable, config, size=None):
        self.size = 0
        if not executable.has(self.SYMBOL):
            if size is not None:
                raise UserError(f"--stack {size}: {executable.name} has no symbol {self.SYMBOL}, "
                                "which the start-up code has to define; start.S and single.S of "
                                "examples/exec do")
            return
        symbol = executable.symbol(self.SYMBOL)
        words = np.frombuffer(executable.content(symbol.address, 12 if symbol.size >= 12 else 8),
                              np.uint32).tolist()
        if symbol.address % 4 or len(words) < 2:
            raise UserError(f"{executable.name}: {symbol}: must be two words of initialised global "
                            "memory at a multiple of 4")
        self._place = symbol.address - MemoryMap.GLOBAL
        self.size = words[0] if size is None else size
        what = f"{executable.name}: {self.SYMBOL} is {self.size}" if size is None else \
            f"--stack {size}"
        try:
            Checks(stack=self.size or 1)
        except ValueError:
            raise UserError(f"{what}: must be a power of two from {Checks.LEAST_STACK} to "
                            f"{Checks.MOST_STACK}") from None
        self._check_room(executable, words[1] or config.cores * config.warps * config.threads,
                         words[2:])

    def _check_room(self, executable, count, times):
        if not executable.has(self.FIRST) or not executable.has(self.LAST):
            return
        first, last = (executable.symbol(name).address for name in (self.FIRST, self.LAST))
        room = max(0, (last & -self.size) - first)
        need = count * self.size * (times[0] if times else 1)
        if need > room:
            remedy = "compile for this hardware (cc --preset)" if times else \
                f"link with -Wl,--defsym,stack_room={need + 2 * self.size}"
            raise UserError(
                f"{executable.name}: {count} stacks of {self.size} bytes need {need} bytes, and "
                f"{room} lie between {self.FIRST} and {self.LAST}: choose another --stack or fewer "
                f"lanes, or {remedy}")

    def fill(self, memory):
        """Tell the program the size, in its memory, an array of bytes from 0x8000_0000 on."""
        if self.size:
            memory[self._place:self._place + 4].view(np.uint32)[0] = self.size
