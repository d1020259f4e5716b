"""Instructions whose registers have no numbers yet, and the special registers among theirs."""

import dataclasses

from hw.isa import Format, Instruction
from hw.operations import Unit
from sw.compile.asm.assembler import GeneralRegister


__all__ = ["Constant", "Pinned", "RegisterCopy", "VirtualLine"]


class Constant(GeneralRegister):
    """A register that holds a constant throughout a part of a kernel.

    Parameters
    ----------
    name : str
    value : int
        The 32-bit constant.
    kept : bool
        Whether the constant is never recomputed.
    """
    __slots__ = ("value", "kept")

    def __init__(self, name, value, kept):
        super().__init__(None, name)
        self.value, self.kept = value, kept


class Pinned(GeneralRegister):
    """A register that cannot move to a slot in local memory."""
    __slots__ = ()


class RegisterCopy(Pinned):
    """The value of a register that has no number, for one instruction."""
    __slots__ = ()

    def __init__(self, register):
        super().__init__(None, register.name)


@dataclasses.dataclass
class VirtualLine:
    """An instruction of the text."""
    row: Instruction
    operands: dict
    #: The registers that the instruction reads, and those that it writes, without x0 and kept
    #: registers.
    reads: list
    writes: list  #: See `reads`.

    @classmethod
    def of(cls, row, operands):
        """The line of an instruction."""
        reads, writes = [], []
        for field, value in operands.items():
            if isinstance(value, GeneralRegister) and value.number is None:
                written = field == "rd" or (field == "rs2" and row.writes_rs2)
                if written:
                    writes.append(value)
                if not written or "d" in row.reads:
                    reads.append(value)
        return cls(row, operands, reads, writes)

    def replaced(self, old, new):
        """The line with another register."""
        return VirtualLine.of(self.row, {field: new if value is old else value
                                   for field, value in self.operands.items()})

    @property
    def only_writes(self) -> bool:
        """Whether all that the instruction does is to compute what it writes."""
        return (self.row.unit in (Unit.ALU, Unit.MUL) and not self.row.control
                and self.row.format not in (Format.CSR, Format.CSI))

    @property
    def masks(self) -> bool:
        """Whether the instruction can change the thread mask."""
        return self.row.unit in (Unit.WARP, Unit.GATHER) and self.row.control
