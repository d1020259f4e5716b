"""The checks of lanes against a model: which lanes disagree at a branch or leave their stacks.

======================  =======================================================================
an instruction a cycle  random_instructions: branches, jumps, writes of every register, with each
                        rule and without; the answer comes on time and names the lanes
edges of a stack        random_instructions: stack pointers near the ends of blocks
======================  =======================================================================
"""

import collections
import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from hw.config import LEGAL, HardwareConfig
from hw.core.checks import LaneChecks
from hw.core.interface import fault_layout
from hw.isa import STACK_POINTER, Cause
from hw.operations import BranchOp
from hw.registers import Checks
from tb import runner
from tb.clocking import integer, start, tick
from tb.streams import unpack

MEMORY = 1 << 16
THREADS = 8


def config(**fields):
    return HardwareConfig(warps=4, threads=THREADS, imem_bytes=1 << 10, memory_bytes=MEMORY,
                          l1_bytes=1 << 10, **fields)


def words(values):
    """Words as one number, the first in the lowest bits."""
    return sum(value << 32 * lane for lane, value in enumerate(values))


def near(rng, size):
    """An address of memory near an end of a block."""
    return rng.randrange(MEMORY // size) * size + rng.choice((-4, 0, 4, size // 2)) & MEMORY - 1


def wrong_lanes(case):
    """The lanes that break a rule, and the cause."""
    active = [lane for lane in range(THREADS) if case["mask"] >> lane & 1]
    if case["branches"] and case["lanes"]:
        if case["branch"] is BranchOp.JALR:
            ways = case["a"]
        else:
            ways = [case["passing"] >> lane & 1 for lane in range(THREADS)]
        return [lane for lane in active if ways[lane] != ways[active[0]]], Cause.LANES_DISAGREE
    if case["computes"] and case["rd"] == STACK_POINTER and case["stack"]:
        return [lane for lane in active if case["old"][lane] // case["stack"]
                != case["result"][lane] // case["stack"]], Cause.LANE_STACK
    return [], None


def draw(rng):
    size = 1 << rng.randrange(Checks.LEAST_STACK.bit_length() - 1, MEMORY.bit_length() - 1)
    kind = rng.choice(("branches", "computes", "neither"))
    target = rng.getrandbits(32)
    return {
        "lanes": rng.random() < 0.7, "stack": size if rng.random() < 0.8 else 0,
        "branches": kind == "branches", "computes": kind == "computes",
        "branch": rng.choice(list(BranchOp)), "rd": rng.choice((STACK_POINTER, rng.randrange(32))),
        "warp": rng.randrange(4), "pc": 4 * rng.randrange(256),
        "mask": rng.randrange(1, 1 << THREADS),
        "passing": rng.choice((0, (1 << THREADS) - 1, rng.getrandbits(THREADS))),
        "a": [target if rng.random() < 0.9 else rng.getrandbits(32) for _ in range(THREADS)],
        "old": [near(rng, size) for _ in range(THREADS)],
        "result": [near(rng, size) for _ in range(THREADS)],
    } | ({"result": None} if rng.random() < 0.4 else {})


async def apply(dut, case):
    checks = Checks(case["lanes"], case["stack"]).word
    # The layout: the rule of lanes, and the bits of an address from the smallest stack on.
    low = Checks.LEAST_STACK.bit_length() - 1
    dut.checks.value = checks & 1 | (checks & MEMORY - 1) >> low << 1
    for name in ("branches", "computes", "branch", "rd", "warp", "pc", "mask", "passing"):
        getattr(dut, name).value = getattr(case[name], "value", case[name])
    leader = (case["mask"] & -case["mask"]).bit_length() - 1
    dut.leader.value, dut.target.value = 1 << leader, case["a"][leader]
    for name in ("a", "old", "result"):
        getattr(dut, name).value = words(case[name])


@cocotb.test()
async def random_instructions(dut):
    await start(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    waiting = collections.deque([None] * (2 if runner.parameters()["pipeline"] == "long" else 1))
    noticed = collections.Counter()
    for _ in range(1500):
        case = draw(rng)
        if case["result"] is None:           # most instructions stay in their blocks
            block = case["stack"] or Checks.LEAST_STACK
            case["result"] = [each // block * block + rng.randrange(block)
                              for each in case["old"]]
        await apply(dut, case)
        await ReadOnly()
        earlier = waiting.popleft()
        if earlier is not None:
            lanes, cause = wrong_lanes(earlier)
            assert integer(dut.fails) == bool(lanes), earlier
            if lanes:
                noticed[cause] += 1
                fault = unpack(fault_layout(config()), integer(dut.fault))
                assert fault == {
                    "cause": cause, "warp": earlier["warp"], "pc": earlier["pc"],
                    "lane": lanes[0] if cause is Cause.LANE_STACK else 0,
                    "address": sum(1 << lane for lane in lanes)}, earlier
        waiting.append(case)
        await tick(dut)
    assert min(noticed[cause] for cause in (Cause.LANES_DISAGREE, Cause.LANE_STACK)) > 50, noticed


@pytest.mark.parametrize("pipeline", LEGAL["pipeline"].values)
def test_checks(simulator, pipeline):
    parameters = {"pipeline": pipeline}
    runner.run_bench(LaneChecks(config(**parameters)), "lane_checks", __name__, simulator=simulator,
                     parameters=parameters)
