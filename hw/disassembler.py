"""Assembly text of instructions, and disassembly of words, from the one instruction table.

Disassembled registers have their ABI names, and a branch or jump shows the absolute address of its
target in place of the offset. Used in traces and in error messages.
"""

import dataclasses
import functools
from collections.abc import Mapping

from hw.isa import Csr, Instruction, decode, immediate
from hw.operations import Format, MemOp, RoundingMode, Unit


__all__ = ["DYNAMIC", "REGISTER_NAMES", "Operands", "disassemble", "operands", "parameters", "text"]


#: ABI name of each register.
REGISTER_NAMES = (
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1",
    *(f"a{i}" for i in range(8)), *(f"s{i}" for i in range(2, 12)), *(f"t{i}" for i in range(3, 7)),
)

_CSRS = frozenset(Csr)

#: The rounding mode that assembly text leaves out, and the names of the others.
DYNAMIC = RoundingMode.DYNAMIC.value
_MODES = ("rne", "rtz", "rdn", "rup", "rmm")


@dataclasses.dataclass(frozen=True)
class Operands:
    """The operand fields of one instruction word. A field that its format lacks is 0."""
    row: Instruction  #: The row of the table that the word matches.
    rd: int = 0  #: Register numbers.
    rs1: int = 0  #: Register numbers.
    rs2: int = 0  #: Register numbers.
    rs3: int = 0  #: Register numbers.
    #: The immediate as :func:`hw.isa.encode` takes it (signed where the field is signed; the upper
    #: 20 bits of LUI and AUIPC unsigned).
    imm: int = 0
    csr: int = 0  #: CSR number.
    rm: int = 0  #: Value of the rounding mode.

    @property
    def destinations(self) -> tuple[int, int]:
        """The registers that the instruction writes; 0 in place of one that it does not write."""
        first = self.rd if self.row.writes else 0
        second = self.rs2 if self.row.writes_rs2 and self.rs2 != first else 0
        return first, second


@functools.lru_cache(maxsize=1 << 16)
def operands(word: int) -> Operands | None:
    """The operands of an instruction word, or ``None`` if it is illegal: the inverse of encode."""
    row = decode(word)
    if row is None:
        return None
    fields = {name: word >> shift & 0x1F
              for name, shift in (("rd", 7), ("rs1", 15), ("rs2", 20), ("rs3", 27))}
    fields |= {"csr": word >> 20, "imm": immediate(row.format, word), "rm": word >> 12 & 7}
    return Operands(row, **{name: fields[name] for name in parameters(row)})


def parameters(row: Instruction) -> list[str]:
    """Names of an instruction's operands, in the order of assembly text."""
    sources = [f"rs{digit}" for digit in "123" if digit in row.named]
    match row.format:
        case Format.R | Format.R4:
            return (["rd"] * row.writes + sources + ["imm"] * row.numbered
                    + ["rm"] * row.rounds)
        case Format.AMO:
            return ["rd", "rs2", "rs1"]
        case Format.I if row.op is MemOp.FENCE:
            return []
        case Format.I | Format.SH:
            return ["rd", "rs1", "imm"]
        case Format.S:
            return ["rs2", "rs1", "imm"]
        case Format.B:
            return ["rs1", "rs2", "imm"]
        case Format.U | Format.J:
            return ["rd", "imm"]
        case Format.CSR:
            return ["rd", "csr", "rs1"]
        case Format.CSI:
            return ["rd", "csr", "imm"]
        case _:                         # Format.N
            return []


def text(row: Instruction, fields: Mapping[str, object]) -> str:
    """The assembly text of an instruction, given its operands by name."""
    if (row.unit is Unit.LSU and row.op in (MemOp.LOAD, MemOp.STORE)) or row.name == "jalr":
        value = fields.get("rd", fields.get("rs2"))
        return f"{row.name} {value}, {fields['imm']}({fields['rs1']})"
    if row.format is Format.AMO:
        return f"{row.name} {fields['rd']}, {fields['rs2']}, ({fields['rs1']})"
    texts = [value.name.lower() if isinstance(value, Csr) else str(value)
             for name, value in fields.items() if name != "rm"]
    if fields.get("rm", DYNAMIC) != DYNAMIC:
        texts.append(_MODES[fields["rm"]])
    return f"{row.name} {', '.join(texts)}".rstrip()


def disassemble(word: int, pc: int = 0) -> str:
    """One line of assembly for the 32-bit ``word`` at address ``pc``.

    An illegal word is written as ``.word 0x…``.
    """
    found = operands(word)
    if found is None:
        return f".word {word:#010x}"

    def shown(name: str) -> object:
        value: int = getattr(found, name)
        if name == "rm":
            return value
        if name.startswith("r"):
            return REGISTER_NAMES[value]
        if name == "csr":
            return Csr(value) if value in _CSRS else f"{value:#x}"
        if found.row.format in (Format.B, Format.J):
            return f"{pc + value & 0xFFFF_FFFF:#x}"
        return f"{value:#x}" if found.row.format is Format.U else value

    return text(found.row, {name: shown(name) for name in parameters(found.row)})
