"""A lane's ALU and multiplier against Python's integers.

====================  ==========================================================
operations            random_operands, corner_operands
branch conditions     random_operands, corner_operands
scalar results        random_operands
multiplier            products: every operation, one a cycle, on time
====================  ==========================================================
"""

import collections
import itertools
import random

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from cocotb.triggers import ReadOnly

from hw.config import LEGAL, HardwareConfig
from hw.core.alu import Alu, controls
from hw.core.multiplier import Multiplier
from hw.operations import AluOp, BranchOp, MulOp
from tb import runner
from tb.clocking import integer, start, tick


class Lane(wiring.Component):
    """Both units of a lane, with one pair of operands."""
    def __init__(self, config):
        self._config = config
        super().__init__({
            "op": In(AluOp), "subtract": In(1), "branch": In(BranchOp), "mul_op": In(MulOp),
            "a": In(32), "b": In(32), "scalar": In(32),
            "result": Out(32), "total": Out(32), "taken": Out(1), "product": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.alu = alu = Alu()
        m.submodules.multiplier = multiplier = Multiplier(self._config)
        m.d.comb += [
            alu.control.eq(controls(self.op)), alu.subtract.eq(self.subtract),
            alu.branch.eq(self.branch),
            alu.a.eq(self.a), alu.b.eq(self.b), alu.scalar.eq(self.scalar),
            self.result.eq(alu.result), self.total.eq(alu.total), self.taken.eq(alu.taken),
            multiplier.op.eq(self.mul_op), multiplier.a.eq(self.a), multiplier.b.eq(self.b),
            self.product.eq(multiplier.result),
        ]
        return m


WORD = 0xFFFF_FFFF
CORNERS = [0, 1, 2, 31, 32, 33, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFE, 0xFFFF_FFFF]


def signed(value):
    return value - (1 << 32) if value >> 31 else value


def alu(op, a, b, scalar):
    """The result of an operation."""
    shift = b & 31
    match op:
        case AluOp.ADD: return a + b & WORD
        case AluOp.SUB: return a - b & WORD
        case AluOp.SLL: return a << shift & WORD
        case AluOp.SLT: return int(signed(a) < signed(b))
        case AluOp.SLTU: return int(a < b)
        case AluOp.XOR: return a ^ b
        case AluOp.SRL: return a >> shift
        case AluOp.SRA: return signed(a) >> shift & WORD
        case AluOp.OR: return a | b
        case AluOp.AND: return a & b
        case _: return scalar


def taken(branch, a, b):
    """Whether a branch's condition holds."""
    return {
        BranchOp.BEQ: a == b, BranchOp.BNE: a != b, BranchOp.NONE: False, BranchOp.JAL: True,
        BranchOp.BLT: signed(a) < signed(b), BranchOp.BGE: signed(a) >= signed(b),
        BranchOp.BLTU: a < b, BranchOp.BGEU: a >= b, BranchOp.JALR: True,
    }[branch]


def product(op, a, b):
    """The result of a multiplication."""
    match op:
        case MulOp.MUL: return a * b & WORD
        case MulOp.MULH: return signed(a) * signed(b) >> 32 & WORD
        case MulOp.MULHSU: return signed(a) * b >> 32 & WORD
        case MulOp.MULHU: return a * b >> 32


async def apply(dut, cases):
    """Give the ALU a case a cycle and compare. Comparisons need ``subtract``; for the other
    operations ``subtract`` is free, and ``total`` follows it."""
    for number, (op, branch, a, b, scalar) in enumerate(cases):
        compares = op in (AluOp.SUB, AluOp.SLT, AluOp.SLTU) or branch is not BranchOp.NONE
        subtract = op is not AluOp.ADD and (compares or number % 2)
        dut.op.value, dut.branch.value, dut.subtract.value = op.value, branch.value, int(subtract)
        dut.a.value, dut.b.value, dut.scalar.value = a, b, scalar
        await ReadOnly()
        got = integer(dut.result), integer(dut.total), integer(dut.taken)
        want = (alu(op, a, b, scalar), (a - b if subtract else a + b) & WORD,
                taken(branch, a, b))
        assert got == want, f"{op} {branch} {a:#x} {b:#x}: got {got}, expected {want}"
        await tick(dut)


def operand(rng):
    return rng.choice([rng.getrandbits(32), rng.getrandbits(5), rng.choice(CORNERS)])


@cocotb.test()
async def corner_operands(dut):
    await start(dut)
    await apply(dut, [(op, BranchOp.NONE, a, b, 0)
                      for op, a, b in itertools.product(AluOp, CORNERS, CORNERS)])
    await apply(dut, [(AluOp.SUB, branch, a, b, 0)
                      for branch, a, b in itertools.product(BranchOp, CORNERS, CORNERS)])


@cocotb.test()
async def random_operands(dut):
    await start(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    ops, branches = list(AluOp), list(BranchOp)

    def pair():
        a = operand(rng)
        return a, a if rng.random() < 0.1 else operand(rng)
    await apply(dut, [(op, BranchOp.NONE if op is AluOp.ADD else rng.choice(branches), *pair(),
                       rng.getrandbits(32)) for op in rng.choices(ops, k=3000)])


@cocotb.test()
async def products(dut):
    """A multiplication every cycle. Each product is valid a cycle after its operands, in the long
    pipeline two cycles."""
    await start(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    cases = list(itertools.product(MulOp, CORNERS, CORNERS))
    cases += [(rng.choice(list(MulOp)), operand(rng), operand(rng)) for _ in range(1500)]
    rng.shuffle(cases)
    previous = collections.deque([None] * (2 if runner.parameters()["pipeline"] == "long" else 1))
    for op, a, b in cases:
        dut.mul_op.value, dut.a.value, dut.b.value = op.value, a, b
        await ReadOnly()
        earlier = previous.popleft()
        if earlier is not None:
            assert integer(dut.product) == product(*earlier), earlier
        previous.append((op, a, b))
        await tick(dut)


@pytest.mark.parametrize("pipeline", LEGAL["pipeline"].values)
def test_alu(simulator, pipeline):
    parameters = {"pipeline": pipeline}
    runner.run_bench(Lane(HardwareConfig(**parameters)), "lane", __name__, simulator=simulator,
                     parameters=parameters)
