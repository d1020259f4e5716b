"""Every instruction with random operands, against the instruction-set simulator.

Warps of several cores execute random instructions in the same order on both, so their words in
memory may be shared. Operands are often corner values. Every register and all memories are compared
at the end.

========================  ========================================================================
all rows of the table     test_random_instructions; test_all_rows holds that none is left out
========================  ========================================================================
"""

import itertools

import numpy as np
import pytest

from checks.campaign import functional
from checks.campaign.machines import Launch
from hw.config import preset
from hw.isa import FLOAT_CSRS, INSTRUCTIONS, Csr, MemoryMap, encode
from hw.operations import BranchOp, FloatDivOp, Format, MemOp, RoundingMode, Unit, WarpOp
from tb.seeds import draw


#: x1 to x3 keep the addresses of the lane's words in global and local memory, and a full mask. x4
#: has masks and stack pointers.
FIRST_FREE = 5

#: Words of a core's lanes in each memory, from their address on.
WORDS = 64

#: As floats these are zeros, subnormal numbers, quiet NaNs, and then also infinity, signalling
#: NaNs, the largest subnormal number and 1.
CORNERS = (0, 1, 2, 31, 32, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0xFFFF_FFFE,
           0x7F80_0000, 0x7F80_0001, 0xFFBF_FFFF, 0x007F_FFFF, 0x3F80_0000)


def config(threads):
    return preset("tiny").replace(cores=2, warps=4, threads=threads, l1_bytes=1 << 12,
                                  local_bytes=1 << 12, imem_bytes=1 << 16, memory_bytes=1 << 16,
                                  float="full")


def _ordinary(row):
    """Whether a row goes on with the next instruction, whatever its operands are."""
    return (row.branch is BranchOp.NONE and row.unit is not Unit.GATHER
            and row.unit is not Unit.WARP)


ROWS = [row for row in INSTRUCTIONS if _ordinary(row)]
FLOATS = [row for row in ROWS if row.unit is Unit.FLOAT or isinstance(row.op, FloatDivOp)]
BRANCHES = [row for row in INSTRUCTIONS if row.branch not in (BranchOp.NONE, BranchOp.JALR)]


def any_register(rng):
    return rng.randrange(32)


def target(rng):
    """A register that may be written."""
    return rng.choice((0, *range(FIRST_FREE, 32)))


def instructions(rng, row):
    """An instruction of a row, with random operands. Shuffles get segments and lanes that matter:
    b in bits 5:0, c in bits 11:6."""
    if row.unit is Unit.CROSS and "2" in row.reads:
        return [encode("addi", rd=4, imm=rng.randrange(1 << 11)),
                encode(row.name, rd=target(rng), rs1=any_register(rng), rs2=4)]
    return [instruction(rng, row)]


def instruction(rng, row):
    fields = {"rd": target(rng) if row.writes else 0, "rs1": any_register(rng),
              "rs2": any_register(rng)}
    if row.unit is Unit.LSU and row.op is not MemOp.FENCE:
        fields["rs1"] = rng.choice((1, 2))
        if row.format is not Format.AMO:
            fields["imm"] = rng.randrange(WORDS * 4 >> row.size) << row.size
    elif row.format is Format.I:
        fields["imm"] = rng.choice((rng.randrange(-2048, 2048), -1, 0, 1))
    elif row.format is Format.SH:
        fields["imm"] = rng.randrange(32)
    elif row.format is Format.U:
        fields["imm"] = rng.randrange(1 << 20)
    elif row.format in (Format.CSR, Format.CSI):
        fields["csr"] = rng.choice(list(Csr))
        writes = fields["csr"] in (Csr.PHASE, *FLOAT_CSRS)
        if row.name.startswith("csrrw"):
            fields["csr"], writes = Csr.PHASE, True
        fields["rs1"] = any_register(rng) if writes else 0
        fields["imm"] = rng.randrange(32) if writes else 0
    if row.format in (Format.CSI, Format.U, Format.J):
        fields["rs1"] = 0
    if "2" not in row.named:
        fields["rs2"] = 0
    if "3" in row.named:
        fields["rs3"] = any_register(rng)
    if row.rounds:
        fields["rm"] = rng.choice(list(RoundingMode)).value
    return encode(row.name, **fields)


def statement(rng, threads):
    """Some instructions that end with all lanes active."""
    kind = rng.randrange(12)
    body = [word for _ in range(rng.randrange(1, 6))
            for word in instructions(rng, rng.choice(ROWS))]
    if kind == 0:                                       # a branch over a part
        row = rng.choice(BRANCHES)
        fields = {"rd": target(rng)} if row.writes else {"rs1": any_register(rng),
                                                         "rs2": any_register(rng)}
        return [encode(row.name, imm=4 * len(body) + 4, **fields), *body]
    if kind == 1:                                       # some lanes
        mask = rng.randrange(1, 1 << min(threads, 4))
        return [encode("addi", rd=4, imm=mask), encode("tmc", rs1=4), *body,
                encode("tmc", rs1=3)]
    if kind == 2:
        return [encode("pred", rs1=any_register(rng), rs2=3), *body, encode("tmc", rs1=3)]
    if kind == 3:                                       # both sides of a split
        return [encode("split", rd=4, rs1=any_register(rng)),
                *(instruction(rng, rng.choice(ROWS)) for _ in body), encode("join", rs1=4)]
    if kind == 4:                                       # a float operation, and its flags
        row, fields = rng.choice(FLOATS), {"rs1": 5, "rs2": 6, "rs3": 7}
        if row.rounds:
            fields["rm"] = rng.choice(list(RoundingMode)).value
        return [*(encode("lw", rd=register, rs1=1, imm=4 * rng.randrange(WORDS))
                  for register in (5, 6, 7)),
                encode("csrrwi", csr=Csr.FFLAGS), encode(row.name, rd=8, **{
                    name: value for name, value in fields.items()
                    if name == "rm" or name[2] in row.named}),
                encode("csrrs", rd=9, csr=Csr.FFLAGS)]
    return body


def program(rng, threads, count):
    start = [encode("csrrs", rd=4, csr=Csr.THREAD_ID), encode("slli", rd=4, rs1=4, imm=2),
             encode("lui", rd=1, imm=MemoryMap.GLOBAL >> 12), encode("add", rd=1, rs1=1, rs2=4),
             encode("lui", rd=2, imm=MemoryMap.LOCAL >> 12), encode("add", rd=2, rs1=2, rs2=4),
             encode("addi", rd=3, imm=-1)]
    start += [encode("lw", rd=register, rs1=1, imm=4 * (register - FIRST_FREE))
              for register in range(FIRST_FREE, 32)]
    words = list(start)
    for _ in range(count):
        words += statement(rng, threads)
    return (*words, encode("tmc"))


def memory(rng):
    return np.array([rng.choice((*CORNERS, rng.randrange(1 << 32))) for _ in range(1 << 10)],
                    np.uint32)


@pytest.mark.parametrize("threads", [1, 2, 4, 8, 16, 32])
def test_random_instructions(threads):
    for number in range(2):
        rng = draw("instructions", threads, number)
        case = Launch(program(rng, threads, 250), 0, rng.randrange(1 << 32), memory(rng))
        done = functional.compare(config(threads), [case, case])
        assert done.launches == 2 and done.instructions > 8_000


def test_all_rows():
    """The programs have every row but those of other tests, among them all of one unit."""
    rng = draw("rows")
    words = set(itertools.chain.from_iterable(program(rng, 4, 400) for _ in range(10)))
    left = {row.name for row in INSTRUCTIONS
            if not any(word & row.mask == row.match for word in words)}
    elsewhere = {row.name for row in INSTRUCTIONS if row.unit is Unit.GATHER
                 or row.op is WarpOp.TRAP} | {"jalr", "bar"}
    assert left <= elsewhere, left - elsewhere
