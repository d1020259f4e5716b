"""Lines of assembly, their registers and labels, and what is known of each instruction's lines."""

from __future__ import annotations

from typing import Any

from hw.disassembler import DYNAMIC, parameters
from hw.isa import INSTRUCTIONS, Instruction
from hw.operations import Format, Unit


__all__ = ["MNEMONICS", "CodeLine", "Constant", "Elsewhere", "GeneralRegister", "Label", "Mark",
           "Mnemonic", "Pinned", "RegisterCopy", "VirtualLine"]


_REGISTERS = frozenset(("rd", "rs1", "rs2", "rs3"))


class Mnemonic:
    """What the assembler knows of the lines of one instruction.

    Attributes
    ----------
    row : Instruction
    names : list of str
        The operands, in the order of assembly text.
    are_registers : tuple of bool
        For each operand, whether it is a register.
    reads, writes : tuple of int
        The places of the operands that are registers and are read, and of those that are written.
    target : int or None
        The place of the operand that may be a label.
    only_writes : bool
        Whether all that the instruction does is to compute what it writes.
    masks : bool
        Whether the instruction can change the thread mask.
    ends_block : bool
        Whether another instruction than the next one may follow.
    """

    def __init__(self, row: Instruction):
        self.row, self.names = row, parameters(row)
        self.are_registers = tuple(name in _REGISTERS for name in self.names)
        self.writes = tuple(place for place, name in enumerate(self.names)
                            if name == "rd" or (name == "rs2" and row.writes_rs2))
        self.reads = tuple(place for place, is_register in enumerate(self.are_registers)
                           if is_register and (place not in self.writes or "d" in row.reads))
        self.target = self.names.index("imm") if "imm" in self.names else None
        self.only_writes = (row.unit in (Unit.ALU, Unit.MUL) and not row.control
                            and row.format not in (Format.CSR, Format.CSI))
        self.masks = row.control and row.unit in (Unit.WARP, Unit.GATHER)
        self.ends_block = row.control and (row.format is Format.B
                                           or row.name in ("jal", "jalr", "tmc"))

    def operands(self, given) -> tuple:
        """The operands of a line in their order, from those that are given by name. What is left
        out is 0, or the rounding mode of FRM."""
        return tuple(given.get(name, DYNAMIC if name == "rm" else 0) for name in self.names)


#: What is known of the instructions, by name.
MNEMONICS = {row.name: Mnemonic(row) for row in INSTRUCTIONS}


class GeneralRegister:
    """A general-purpose register while it is allocated."""
    __slots__ = ("number", "name", "live")

    def __init__(self, number, name):
        self.number, self.name, self.live = number, name, True

    def __repr__(self):
        return self.name


class Label:
    """A place in the program, known by name before its address is."""
    __slots__ = ("name", "address")

    def __init__(self, name):
        self.name = name
        self.address: int | None = None

    def __repr__(self):
        return self.name


class Elsewhere(Label):
    """A label in another section."""
    __slots__ = ("label",)

    def __init__(self, label):
        self.name, self.label = label.name, label

    @property
    def address(self):
        """As of :class:`Label`."""
        return self.label.address


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
    mnemonic = None

    def __init__(self, label=None):
        self.label, self.reads, self.writes = label, (), ()


class CodeLine:
    """An instruction of a program: what is known of it, and its operands in their order."""
    __slots__ = ("mnemonic", "operands")

    def __init__(self, mnemonic: Mnemonic, operands: tuple):
        self.mnemonic, self.operands = mnemonic, operands

    @property
    def named(self) -> dict[str, Any]:
        """The operands by name."""
        return dict(zip(self.mnemonic.names, self.operands))


class VirtualLine(CodeLine):
    """An instruction of a kernel.

    Attributes
    ----------
    reads, writes : list of GeneralRegister
        The registers that the instruction reads, and those that it writes, without x0 and kept
        registers.
    """
    __slots__ = ("reads", "writes")

    def __init__(self, mnemonic, operands):
        self.mnemonic, self.operands = mnemonic, operands
        self.reads, self.writes = reads, writes = [], []
        for place in mnemonic.reads:
            register = operands[place]
            if register.number is None:
                reads.append(register)
        for place in mnemonic.writes:
            register = operands[place]
            if register.number is None:
                writes.append(register)

    def replaced(self, old, new):
        """The line with another register."""
        return VirtualLine(self.mnemonic, tuple(new if value is old else value
                                                for value in self.operands))

    @property
    def target(self) -> Label | None:
        """The label in the same text to which the instruction may lead."""
        place = self.mnemonic.target
        target = None if place is None else self.operands[place]
        return target if type(target) is Label else None
