"""Instructions whose registers have no numbers yet, and the special registers among theirs."""

from hw.disassembler import parameters
from hw.isa import INSTRUCTIONS, Format
from hw.operations import Unit
from sw.compile.asm.assembler import REGISTERS, GeneralRegister, Label


__all__ = ["Constant", "Mark", "Pinned", "RegisterCopy", "VirtualLine"]


def _reads_and_writes(row):
    """The operands of an instruction that are read, and those that are written."""
    registers = [name for name in parameters(row) if name in REGISTERS]
    writes = [name for name in registers if name == "rd" or (name == "rs2" and row.writes_rs2)]
    return [name for name in registers if name not in writes or "d" in row.reads], writes


_READS_AND_WRITES = {row.name: _reads_and_writes(row) for row in INSTRUCTIONS}

#: The instructions that only compute what they write.
_PURE = frozenset(row.name for row in INSTRUCTIONS if row.unit in (Unit.ALU, Unit.MUL)
                  and not row.control and row.format not in (Format.CSR, Format.CSI))

#: The instructions that can change the thread mask.
_MASKING = frozenset(row.name for row in INSTRUCTIONS
                     if row.unit in (Unit.WARP, Unit.GATHER) and row.control)


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


class Mark:
    """A place in the text: that of a label, or with None where a part begins, which has constants
    of its own."""
    __slots__ = ("label", "reads", "writes")
    row = None

    def __init__(self, label=None):
        self.label, self.reads, self.writes = label, (), ()


class VirtualLine:
    """An instruction of the text.

    Attributes
    ----------
    row : Instruction
    operands : dict
    reads, writes : list of GeneralRegister
        The registers that the instruction reads, and those that it writes, without x0 and kept
        registers.
    """
    __slots__ = ("row", "operands", "reads", "writes")

    def __init__(self, row, operands):
        reads, writes = _READS_AND_WRITES[row.name]
        self.row, self.operands = row, operands
        self.reads = [register for name in reads
                      if (register := operands[name]).number is None] if reads else ()
        self.writes = [register for name in writes
                       if (register := operands[name]).number is None] if writes else ()

    def replaced(self, old, new):
        """The line with another register."""
        return VirtualLine(self.row, {name: new if value is old else value
                                      for name, value in self.operands.items()})

    @property
    def target(self) -> Label | None:
        """The label in the same text to which the instruction may lead."""
        target = self.operands.get("imm")
        return target if isinstance(target, Label) else None

    @property
    def only_writes(self) -> bool:
        """Whether all that the instruction does is to compute what it writes."""
        return self.row.name in _PURE

    @property
    def masks(self) -> bool:
        """Whether the instruction can change the thread mask."""
        return self.row.name in _MASKING
