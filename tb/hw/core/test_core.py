"""The core: whole programs in a bench, and the core's promised latencies and throughput.

======================  ========================================================
latencies               latencies: dependent ALU, votes, shuffles, multiplication,
                        division, floats, L1, local memory and its atomics;
                        division: one at a time, beside other instructions
control flow            control: cycles from a jump, branch, SPLIT ... to the next
throughput              throughput: independent ALU work in four warps;
                        throughput_of_floats: likewise
programs                random_programs: against the simulator, with random
                        latencies and back-pressure of the L2
errors                  faults
reset, launch           resets: in mid-flight; no state is left over
======================  ========================================================

Errors of every kind, and programs in many configurations, are in tb/programs.
"""

import itertools

import cocotb
import numpy as np
import pytest

from checks.campaign.machines import Launch, simulate
from checks.campaign.random_programs import random_case
from hw.config import LEGAL, HardwareConfig
from hw.core.core import Core
from hw.isa import Cause, Csr, MemoryMap, encode
from sw.compile.asm.assembler import Assembler, Condition
from tb import runner
from tb.hw.core.bench_core import CoreBench


CONFIG = {"warps": 4, "threads": 4, "imem_bytes": 1 << 13, "local_bytes": 1 << 9,
          "l1_bytes": 1 << 9, "l1_ways": 2, "l1_mshrs": 4, "load_queue": 4, "l2_bytes": 0,
          "l2_mshrs": 4, "memory_bytes": 1 << 16, "gather": "none"}


#: Cycles between dependent instructions. ``CONTROL`` has the cycles to a warp's next instruction
#: after one that may change PC or mask: after a jump, and after a barrier.
LATENCIES = {
    "short": {"ALU": 3, "vote": 3, "shuffle": 3, "multiplication": 4, "division": 35, "L1": 9,
              "local": 9, "local atomic": 9, "float": 7, "float division": 68},
    "long": {"ALU": 5, "vote": 6, "shuffle": 6, "multiplication": 7, "division": 39, "L1": 15,
             "local": 15, "local atomic": 15, "float": 14, "float division": 72},
}

#: Floating point of the core by its pipeline, and warp instructions of it a cycle.
FLOATS = {"short": ("full", 1), "long": ("half", 0.5)}
CONTROL = {"short": (4, 4), "long": (9, 11)}

#: Cycles from a division to the next.
DIVISIONS = {"short": 35, "long": 38}


def alone(build):
    """A program in which warp 0 executes the code of ``build`` after the other warps have ended.

    ``build`` gets the assembler and two registers that point to global and to local memory; the
    line of global memory is in L1.
    """
    a = Assembler()
    pointer, local, count = a.regs("pointer", "local", "count")
    a.csrr(count, Csr.WARP_ID)
    with a.if_uniform(Condition("ne", count, a.zero)):
        a.end_warp()
    a.li(pointer, MemoryMap.GLOBAL)
    a.li(local, MemoryMap.LOCAL)
    a.sw(pointer, pointer)
    a.sw(local, local)
    a.lw(pointer, pointer)
    a.li(count, 30)
    with a.while_uniform(Condition("ne", count, a.zero)):
        a.addi(count, count, -1)
    a.add(pointer, pointer, a.zero)
    begin = a.here
    build(a, pointer, local)
    length = (a.here - begin) // 4
    a.end_warp()
    return Launch(a.finish().words), length


async def gaps(bench, build):
    """Cycles between the issues of the instructions that ``build`` emits, the end included."""
    case, length = alone(build)
    await bench.run(case)
    issues = bench.issues[-length - 1:]
    return [later - earlier for earlier, later in itertools.pairwise(issues)]


@cocotb.test()
async def latencies(dut):
    """From issue to the earliest issue of a dependent instruction, as the core promises."""
    bench = await CoreBench.start(dut)

    def one_lane(a, p, q):
        a.li(p, 1)
        a.tmc(p)
        for _ in range(6):
            a.amoadd_w(q, a.zero, q)

    found = {
        "ALU": await gaps(bench, lambda a, p, q: [a.addi(p, p, 1) for _ in range(6)]),
        "multiplication": await gaps(bench, lambda a, p, q: [a.mulhu(p, p, p) for _ in range(6)]),
        "vote": await gaps(bench, lambda a, p, q: [a.vote_ballot(p, p) for _ in range(6)]),
        "shuffle": await gaps(bench, lambda a, p, q: [a.shfl_up(p, p, p) for _ in range(6)]),
        "division": await gaps(bench, lambda a, p, q: [a.div(p, p, p) for _ in range(6)]),
        "float": await gaps(bench, lambda a, p, q: [a.fmul_s(p, p, p) for _ in range(6)]),
        "float division": await gaps(bench, lambda a, p, q: [a.fdiv_s(q, q, q)
                                                             for _ in range(6)]),
        "local atomic": (await gaps(bench, one_lane))[2:],
        "L1": await gaps(bench, lambda a, p, q: [a.lw(p, p) for _ in range(6)]),
        "local": await gaps(bench, lambda a, p, q: [a.lw(q, q) for _ in range(6)]),
        "x0": await gaps(bench, lambda a, p, q: [a.addi(a.zero, a.zero, 1) for _ in range(6)]),
    }
    dut._log.info(f"latencies: {found}")
    # The last gap leads to the end of the warp, which waits for no result.
    for kind, cycles in LATENCIES[bench.config.pipeline].items():
        assert found[kind][:-1] == [cycles] * 5, (kind, found[kind])
    # A warp alone is fetched every other cycle, or every third.
    assert sum(found["x0"]) <= (3 if bench.config.long else 2) * 6


@cocotb.test()
async def division(dut):
    """There is one division at a time. Other instructions go on, and waiting counts as a stall of
    execution."""
    bench = await CoreBench.start(dut)

    def independent(a, p, q):
        x, y = a.regs("x", "y")
        for rd in (x, y, x, a.zero):
            a.divu(rd, p, q)
        a.add(p, p, p)
        a.add(p, p, p)

    found = await gaps(bench, independent)
    dut._log.info(f"division: {found}")
    # The third division writes the register of the first. A division for x0 only waits for the
    # unit.
    cycles = DIVISIONS[bench.config.pipeline]
    assert found[:3] == [cycles] * 3 and all(gap <= 5 for gap in found[3:]), found
    assert bench.counts["stall_execute"] > 3 * 30


@cocotb.test()
async def control(dut):
    """Cycles until the warp's next instruction, if this instruction has to be fetched first."""
    bench = await CoreBench.start(dut)

    def jump(a, p, q):
        for _ in range(4):
            target = a.label("target")
            a.j(target)
            a.place(target)

    def branch(a, p, q):
        for _ in range(2):
            target = a.label("target")
            a.beq(a.zero, a.zero, target)   # taken, to the next
            a.place(target)
            a.bne(a.zero, a.zero, target)   # not taken

    def masks(a, p, q):
        a.li(p, 15)
        a.bar(a.zero, a.zero)
        a.split(q, p)
        a.join(q)
        a.pred(p, p)
        a.tmc(p)

    for build in (jump, branch, masks):
        found = await gaps(bench, build)
        dut._log.info(f"control: {build.__name__} {found}")
        cycles, behind_barrier = CONTROL[bench.config.pipeline]
        if build is masks:
            # The warp does not wait long for the constant or the barrier's operands.
            assert found[1] == behind_barrier, found
            found = found[2:]
        assert all(gap == cycles for gap in found), (build.__name__, found)


@cocotb.test()
async def throughput(dut):
    """Four warps of independent work: an instruction nearly every cycle."""
    bench = await CoreBench.start(dut)
    a = Assembler()
    registers = a.regs(*(f"r{i}" for i in range(8)))
    for i in range(400):
        a.addi(registers[i % 8], registers[(i + 1) % 8], i)
    a.end_warp()
    await bench.run(Launch(a.finish().words))
    issued = len(bench.issues)
    rate = issued / (bench.issues[-1] - bench.issues[0] + 1)
    dut._log.info(f"throughput: {issued} instructions, {rate:.3f} a cycle")
    assert issued == 4 * 401 and rate >= 0.95


@cocotb.test()
async def throughput_of_floats(dut):
    """The same with floating-point instructions."""
    bench = await CoreBench.start(dut)
    a = Assembler()
    registers = a.regs(*(f"r{i}" for i in range(8)))
    for i in range(400):
        a.fmadd_s(registers[i % 8], registers[i % 8], registers[i % 8], registers[i % 8])
    a.end_warp()
    await bench.run(Launch(a.finish().words))
    issued, (_, most) = len(bench.issues), FLOATS[bench.config.pipeline]
    rate = issued / (bench.issues[-1] - bench.issues[0] + 1)
    dut._log.info(f"throughput of floats: {issued} instructions, {rate:.3f} a cycle")
    # The last instructions, which end the warps, are others.
    assert issued == 4 * 401 and 0.95 * most <= rate <= most + 0.01


def rates(bench):
    """Give the L2 another random behaviour."""
    rng = bench.rng
    bench.l2.latency = rng.choice([(1, 1), (1, 10), (20, 60)])
    bench.l2.stall = rng.choice([0.0, 0.0, 0.3, 0.9])
    bench.l2.in_order = rng.random() < 0.3
    bench.l2.blocks = rng.random() < 0.2
    bench.l2.source.idle = rng.choice([0.0, 0.5])


def programs():
    """Random programs of a test."""
    return range(runner.turns(3))


@cocotb.test()
async def random_programs(dut):
    bench = await CoreBench.start(dut)
    for _ in programs():
        rates(bench)
        seed = bench.rng.randrange(1 << 20)
        case = random_case(bench.config, seed, size=runner.turns(40))
        expected = simulate(bench.config, case)
        await bench.run(case)
        assert bench.fault is None
        count = len(case.memory)
        wrong = np.flatnonzero(bench.memory(count) != expected.memory[:count])
        assert not len(wrong), f"seed {seed}: words {wrong} are wrong"
        assert bench.counts["instructions"] == expected.counters["instructions"]
        assert bench.counts["lanes"] == expected.counters["lanes"]
        assert bench.l2.waiting == 0


@cocotb.test()
async def faults(dut):
    """The first error stops the core, and instructions under way end. A launch clears the error."""
    bench = await CoreBench.start(dut)
    errors = ((encode("lw", rd=1, rs1=0, imm=8), Cause.LOAD_ACCESS), (0, Cause.ILLEGAL),
              (encode("ecall"), Cause.ECALL))
    for word, cause in errors[:1] if runner.brief() else errors:
        rates(bench)
        a = Assembler()
        x, y = a.regs("x", "y")
        a.li(y, MemoryMap.GLOBAL)
        a.csrr(x, Csr.WARP_ID)
        a.addi(x, x, -2)
        skip = a.label("skip")
        a.bnez(x, skip)
        place = a.here
        a.nop()                     # here warp 2 fails
        a.place(skip)
        top = a.place("top")
        a.lw(x, y)
        a.sw(x, y, 64)
        a.j(top)
        words = list(a.finish().words)
        words[place // 4] = word
        await bench.run(Launch(tuple(words)))
        fault = bench.fault
        assert (fault.cause, fault.warp, fault.pc) == (cause, 2, place)
        assert fault.address == (8 if cause is Cause.LOAD_ACCESS else word)
        assert bench.l2.waiting == 0
    case = random_case(bench.config, 0, size=runner.turns(20))
    await bench.run(case)
    assert bench.fault is None


@cocotb.test()
async def resets(dut):
    """A reset at any time leaves no state behind: the next program runs as the first."""
    bench = await CoreBench.start(dut)
    for _ in programs():
        rates(bench)
        case = random_case(bench.config, bench.rng.randrange(1 << 20), size=runner.turns(15))
        bench.fill(case.memory)
        await bench.load(case.words)
        await bench.launch(case.entry, case.argument)
        await bench.watch(until=bench.rng.randrange(100, 700))
        await bench.reset()
        expected = simulate(bench.config, case)
        await bench.run(case)
        count = len(case.memory)
        assert np.array_equal(bench.memory(count), expected.memory[:count])


#: The tests that a usual run does on Icarus Verilog. Cycles are counted on the fast simulator.
_SHORT = ["random_programs", "control", "resets"]


@pytest.mark.parametrize("pipeline", LEGAL["pipeline"].values)
@pytest.mark.sample(2)
def test_core(simulator, pipeline):
    parameters = CONFIG | {"pipeline": pipeline, "float": FLOATS[pipeline][0]}
    tests = _SHORT if simulator == "icarus" and not runner.whole else None
    runner.run_bench(Core(HardwareConfig(**parameters)), "core", __name__, simulator=simulator,
                     parameters=parameters, tests=tests)


@pytest.mark.parametrize("seed, pipeline", [(2, "short"), (2, "long")])
@pytest.mark.full
def test_core_again(seed, pipeline):
    """The same with other seeds and so other latencies, on the fast simulator only."""
    parameters = CONFIG | {"pipeline": pipeline, "float": FLOATS[pipeline][0]}
    runner.run_bench(Core(HardwareConfig(**parameters)), "core", __name__, simulator="verilator",
                     parameters=parameters, seed=seed, tests=["random_programs", "resets"])
