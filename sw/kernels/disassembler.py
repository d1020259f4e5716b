"""Textual disassembly of instruction words, from the one instruction table.

Registers have their ABI names, and a branch or jump shows the absolute address of its target in
place of the offset. Used in traces and in error messages.
"""

import dataclasses
import functools

from hw.isa import BY_NAME, Csr, Instruction, decode
from hw.operations import Format, MemOp


__all__ = ["REGISTER_NAMES", "Operands", "operands", "disassemble"]


#: ABI name of each register.
REGISTER_NAMES = (
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1",
    *(f"a{i}" for i in range(8)), *(f"s{i}" for i in range(2, 12)), *(f"t{i}" for i in range(3, 7)),
)


@dataclasses.dataclass(frozen=True)
class Operands:
    """The operand fields of one instruction word. A field that its format lacks is 0.

    Parameters
    ----------
    row : Instruction
        The row of the table that the word matches.
    rd, rs1, rs2, rs3 : int
        Register numbers.
    imm : int
        The immediate as :func:`hw.isa.encode` takes it (signed where the field is signed; the
        upper 20 bits of LUI and AUIPC unsigned).
    csr : int
        CSR number.
    """
    row: Instruction
    rd: int = 0
    rs1: int = 0
    rs2: int = 0
    rs3: int = 0
    imm: int = 0
    csr: int = 0


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 & 1 else value


@functools.lru_cache(maxsize=1 << 16)
def operands(word: int) -> Operands | None:
    """The operands of an instruction word, or ``None`` if it is illegal: the inverse of encode."""
    row = decode(word)
    if row is None:
        return None
    rd, rs1, rs2, rs3 = (word >> shift & 0x1F for shift in (7, 15, 20, 27))
    upper = word >> 20
    match row.format:
        case Format.R | Format.AMO:
            return Operands(row, rd=rd, rs1=rs1, rs2=rs2)
        case Format.R4:
            return Operands(row, rs1=rs1, rs2=rs2, rs3=rs3)
        case Format.I:
            return Operands(row, rd=rd, rs1=rs1, imm=_signed(upper, 12))
        case Format.SH:
            return Operands(row, rd=rd, rs1=rs1, imm=rs2)
        case Format.S:
            return Operands(row, rs1=rs1, rs2=rs2, imm=_signed((word >> 25) << 5 | rd, 12))
        case Format.B:
            offset = ((word >> 31) << 12 | (word >> 7 & 1) << 11 | (word >> 25 & 0x3F) << 5
                      | (word >> 8 & 0xF) << 1)
            return Operands(row, rs1=rs1, rs2=rs2, imm=_signed(offset, 13))
        case Format.U:
            return Operands(row, rd=rd, imm=word >> 12)
        case Format.J:
            offset = ((word >> 31) << 20 | (word >> 12 & 0xFF) << 12 | (word >> 20 & 1) << 11
                      | (word >> 21 & 0x3FF) << 1)
            return Operands(row, rd=rd, imm=_signed(offset, 21))
        case Format.CSR:
            return Operands(row, rd=rd, rs1=rs1, csr=upper)
        case Format.CSI:
            return Operands(row, rd=rd, imm=rs1, csr=upper)
        case Format.N:
            return Operands(row)


def _csr_name(number: int) -> str:
    try:
        return Csr(number).name.lower()
    except ValueError:
        return f"{number:#x}"


def disassemble(word: int, pc: int = 0) -> str:
    """One line of assembly for the 32-bit ``word`` at address ``pc``.

    An illegal word is written as ``.word 0x…``.
    """
    fields = operands(word)
    if fields is None:
        return f".word {word:#010x}"
    row = fields.row
    rd, rs1, rs2, rs3 = (REGISTER_NAMES[n] for n in
                         (fields.rd, fields.rs1, fields.rs2, fields.rs3))
    target = f"{pc + fields.imm & 0xFFFF_FFFF:#x}"
    match row.format:
        case Format.R | Format.R4:
            parts = [rd] if row.writes else []
            parts += [name for key, name in zip("123", (rs1, rs2, rs3)) if key in row.reads]
        case Format.AMO:
            parts = [rd, rs2, f"({rs1})"]
        case Format.I if row.op is MemOp.FENCE:
            parts = []
        case Format.I if row.op is MemOp.LOAD or row is BY_NAME["jalr"]:
            parts = [rd, f"{fields.imm}({rs1})"]
        case Format.I | Format.SH:
            parts = [rd, rs1, str(fields.imm)]
        case Format.S:
            parts = [rs2, f"{fields.imm}({rs1})"]
        case Format.B:
            parts = [rs1, rs2, target]
        case Format.U:
            parts = [rd, f"{fields.imm:#x}"]
        case Format.J:
            parts = [rd, target]
        case Format.CSR:
            parts = [rd, _csr_name(fields.csr), rs1]
        case Format.CSI:
            parts = [rd, _csr_name(fields.csr), str(fields.imm)]
        case Format.N:
            parts = []
    return f"{row.name} {', '.join(parts)}".rstrip()
