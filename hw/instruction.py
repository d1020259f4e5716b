"""An instruction: a row of the table :data:`hw.isa.INSTRUCTIONS`, with its encoding."""

import dataclasses

from amaranth.lib import enum

from hw.operations import AmoOp, BranchOp, FloatDivOp, Format, Unit


__all__ = ["AMO", "AUIPC", "BRANCH", "CUSTOM_0", "CUSTOM_1", "JAL", "JALR", "LOAD", "LUI", "MADD",
           "MISC_MEM", "MSUB", "NMADD", "NMSUB", "OP", "OP_FP", "OP_IMM", "STORE", "SYSTEM",
           "Instruction", "gather"]


LOAD, STORE, AMO = 0x03, 0x23, 0x2F
OP_IMM, OP, LUI, AUIPC = 0x13, 0x33, 0x37, 0x17
BRANCH, JALR, JAL = 0x63, 0x67, 0x6F
MISC_MEM, SYSTEM = 0x0F, 0x73
OP_FP, MADD, MSUB, NMSUB, NMADD = 0x53, 0x43, 0x47, 0x4B, 0x4F
CUSTOM_0, CUSTOM_1 = 0x0B, 0x2B


@dataclasses.dataclass(frozen=True)
class Instruction:
    """One row of the table."""
    name: str  #: Mnemonic, as the assembler takes it.
    format: Format  #: Operand layout.
    unit: Unit  #: Execution unit.
    #: enum member. Operation of the unit: an ``AluOp``, ``MulOp``, ``DivOp``, ``FloatDivOp``,
    #: ``FloatOp``, ``CrossOp``, ``MemOp``, ``WarpOp`` or ``GatherOp``.
    op: enum.Enum
    #: int or None. Fixed fields; ``None`` where the format has operand bits instead. ``funct7`` is
    #: the 2-bit ``funct2`` of ``R4``, and the whole upper 12 bits of ``N``.
    opcode: int
    funct3: int | None = None  #: See `opcode`.
    funct7: int | None = None  #: See `opcode`.
    #: The sources among 1, 2 and 3 that are read, e.g. ``"12"``. A ``"d"`` means that rd is read as
    #: the third source.
    reads: str = ""
    writes: bool = False  #: Whether ``rd`` is written.
    branch: BranchOp = BranchOp.NONE  #: For ALU instructions, the effect on the PC.
    amo: AmoOp | None = None  #: For atomics, the operation.
    second: int = 0  #: Fixed number in the place of ``rs2``, where it names no register.
    size: int = 2  #: For memory instructions, log2 of the access size in bytes.
    signed: bool = False  #: For loads, whether the value is sign-extended.
    once: bool = False  #: For loads, whether the line is not wanted again soon.
    #: Whether rs2 names a second register that is written; it is not read then. Both results come
    #: from the instruction's unit, the one for ``rd`` first. If both name one register, it keeps
    #: the one for ``rd``.
    writes_rs2: bool = False
    #: Whether the place of ``rd`` holds a number, ``imm``, and names no register.
    numbered: bool = False
    #: Whether the instruction can set the PC or the thread mask. The warp does not fetch until such
    #: an instruction has been executed.
    control: bool = False
    #: For instructions of the unit that hands out edges, the values of ``HardwareConfig.gather``
    #: whose unit has the instruction.
    variants: tuple[str, ...] = ()
    doc: str = ""  #: One line for the ISA page.

    @property
    def option(self) -> tuple[str, tuple] | None:
        """The field of :class:`hw.config.HardwareConfig` on which the instruction depends, and the
        field's values with which the instruction exists; ``None`` if it always exists."""
        if self.unit is Unit.GATHER:
            return "gather", self.variants
        if self.is_float:
            return "float", ("half", "full")
        return ("divider", ("serial",)) if self.unit is Unit.DIV else None

    @property
    def is_float(self) -> bool:
        """Whether the instruction is of floating point: it may raise flags."""
        return self.unit is Unit.FLOAT or isinstance(self.op, FloatDivOp)

    @property
    def rounds(self) -> bool:
        """Whether the instruction has a rounding mode, in the place of funct3."""
        return self.is_float and self.funct3 is None

    def exists(self, config) -> bool:
        """Whether a configuration has the instruction."""
        return self.option is None or getattr(config, self.option[0]) in self.option[1]

    @property
    def sets_mask(self) -> bool:
        """Whether the answer of the unit that hands out edges becomes the warp's thread mask."""
        return self.unit is Unit.GATHER and self.control

    @property
    def named(self) -> str:
        """The fields among 1, 2 and 3 that name a register, read or written."""
        return self.reads + "2" * self.writes_rs2

    @property
    def match(self) -> int:
        """The encoding with all operand bits zero."""
        word = self.opcode | self.second << 20
        if self.funct3 is not None:
            word |= self.funct3 << 12
        if self.funct7 is not None:
            word |= self.funct7 << (20 if self.format is Format.N else 25)
        return word

    @property
    def mask(self) -> int:
        """The bits of the encoding that are fixed."""
        mask = 0x7F
        if self.funct3 is not None:
            mask |= 0x7 << 12
        if self.funct7 is not None:
            mask |= {Format.N: 0xFFFF_8F80, Format.R4: 0x3 << 25,
                     Format.AMO: 0x7C << 25}.get(self.format, 0x7F << 25)
        if not self.writes and not self.numbered and self.format in (Format.R, Format.R4):
            mask |= 0x1F << 7
        for source, shift in (("1", 15), ("2", 20)):
            if self.format in (Format.R, Format.R4) and source not in self.named:
                mask |= 0x1F << shift
        if self.format is Format.R4 and "3" not in self.named:
            mask |= 0x1F << 27
        return mask


def gather(name, format, op, funct7, reads, doc, **fields) -> Instruction:
    """An instruction of a unit that hands out edges. :mod:`hw.isa` adds the units that have it.

    Parameters
    ----------
    name, format, op, reads, doc
        As those of :class:`Instruction`.
    funct7 : int
        The instruction's place among those of its format and of all units.
    **fields
        Further fields of an :class:`Instruction`.
    """
    opcode = CUSTOM_1 if format is Format.R4 else CUSTOM_0
    return Instruction(name, format, Unit.GATHER, op, opcode, 0, funct7, reads, doc=doc, **fields)
