"""A finished program: instruction words, where kernels start, and a listing."""

import dataclasses
import functools

from hw import disassembler
from sw.compile.asm.lines import CodeLine


__all__ = ["Program"]


@dataclasses.dataclass(frozen=True)
class Program:
    """A program that the assembler makes and the device runs."""
    words: tuple[int, ...]  #: Instruction words, from address 0 on.
    entries: dict[str, int]  #: Address of each kernel's first instruction.
    labels: dict[str, int]  #: Every label that has a place.
    code: tuple[CodeLine, ...]  #: The line of each word.

    @functools.cached_property
    def lines(self) -> tuple[str, ...]:
        """Assembly text of each word."""
        return tuple(disassembler.text(line.mnemonic.row, line.named) for line in self.code)

    @property
    def size(self) -> int:
        """Bytes of instruction memory that the program takes."""
        return 4 * len(self.words)

    def listing(self, first: int = 0, last: int | None = None) -> str:
        """Addresses, words, labels and assembly text of the addresses ``first`` to ``last``."""
        places: dict[int, list[str]] = {}
        for name, address in self.labels.items():
            places.setdefault(address, []).append(name)
        last = self.size if last is None else last
        text: list[str] = []
        for index, (word, line) in enumerate(zip(self.words, self.lines)):
            if first <= 4 * index < last:
                text += [f"{name}:" for name in places.get(4 * index, ())]
                text.append(f"  {4 * index:04x}  {word:08x}  {line}")
        text += [f"{name}:" for name in places.get(last, ()) if last == self.size]
        return "\n".join(text) + "\n"
