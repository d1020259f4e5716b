"""Instruction words for the functional simulator, decoded by the one instruction table.

The encoding of instructions stays in :mod:`hw.isa`. The C++ gets records: the number of the row in
the table, registers, and an immediate that includes the PC where the instruction adds it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from hw.isa import INSTRUCTIONS, STACK_POINTER, csrs, decode, immediate, writable_csrs
from hw.operations import AluOp, AmoOp, Format, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from hw.config import HardwareConfig


__all__ = ["DISCARD", "ILLEGAL", "RECORD", "decoded", "names"]


#: The register for results that are written to x0.
DISCARD = 32

#: The operation of a word that is no instruction.
ILLEGAL = len(INSTRUCTIONS)

#: The structure ``Instruction`` of ``model/machine.h``.
RECORD = np.dtype([("op", "u1"), ("rd", "u1"), ("rs1", "u1"), ("rs2", "u1"), ("rs3", "u1"),
                   ("sets_sp", "u1"), ("csr", "<u2"), ("imm", "<u4"), ("word", "<u4")])

_NUMBERS = {row.name: number for number, row in enumerate(INSTRUCTIONS)}
_CSR_OPERATIONS = (AluOp.CSRRW, AluOp.CSRRS, AluOp.CSRRC)


def names() -> list[str]:
    """Names of the operations for C++, in the order of their numbers."""
    return [*(row.name.upper().replace(".", "_") for row in INSTRUCTIONS), "ILLEGAL"]


def decoded(config: HardwareConfig, words: Iterable[int]) -> NDArray[np.void]:
    """All words of instruction memory as records of :data:`RECORD`.

    Parameters
    ----------
    config : HardwareConfig
        The configuration. Instructions of units that it lacks are illegal.
    words : iterable of int
        The program, from address 0 on. The rest of instruction memory is 0.
    """
    found = np.zeros(config.imem_bytes // 4, RECORD)
    found["op"], found["rd"] = ILLEGAL, DISCARD
    fields_of = functools.lru_cache(maxsize=1 << 16)(functools.partial(_fields, config))
    for index, word in enumerate(words):
        *fields, adds_pc = fields_of(word)
        if adds_pc:
            fields[-2] = fields[-2] + 4 * index & 0xFFFF_FFFF
        found[index] = tuple(fields)
    return found


def _fields(config: HardwareConfig, word: int) -> tuple[int, ...]:
    """The fields of a record, and whether the PC is to be added to its immediate."""
    row = decode(word)
    if row is None or not row.exists(config):
        return _illegal(word)
    rd, rs1, rs2, rs3 = (word >> shift & 0x1F for shift in (7, 15, 20, 27))
    imm, csr = immediate(row.format, word) << 12 * (row.format is Format.U), 0
    if row.unit is Unit.ALU and row.op in _CSR_OPERATIONS:
        csr = word >> 20
        writes = row.op is AluOp.CSRRW or rs1 != 0      # the immediate is in the place of rs1
        if csr not in csrs(config) or (writes and csr not in writable_csrs(config)):
            return _illegal(word)
    if row.amo is AmoOp.CAS:
        rs3 = rd
    if row.writes_rs2:
        rs2 = rs2 or DISCARD
    if row.rounds:
        csr = word >> 12 & 7            # the rounding mode is in the place of a CSR
    adds_pc = row.format in (Format.B, Format.J) or row.op is AluOp.AUIPC
    sets_sp = row.unit is Unit.ALU and row.writes and rd == STACK_POINTER
    return (_NUMBERS[row.name], (rd if row.writes else 0) or DISCARD, rs1, rs2, rs3, sets_sp, csr,
            imm & 0xFFFF_FFFF, word, adds_pc)


def _illegal(word):
    return ILLEGAL, DISCARD, 0, 0, 0, 0, 0, 0, word, False

