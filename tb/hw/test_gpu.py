"""The whole GPU, `tiny`, on both simulators: programs and algorithms through the host port.

======================  ========================================================
host port               registers: written values are read back; busy, status
                        flush_while_running: a flush is performed, other
                        commands are not
                        launched_at_once: with the long pipeline, too
                        launches_in_a_row: hw.control.launch_cycles
programs                program: against the simulator, with slow memory
algorithms              algorithms: BFS and PageRank; ``Device.run`` compares
                        with the golden model
                        fused: all supersteps in one launch, on two cores, too
errors                  error: registers of a failed launch; the next launch is
                        good
counters                program, algorithms: counters add up
cycles                  cycles: the same cycles and counters as in the native
                        simulator with the same DRAM
======================  ========================================================

tb/programs tests larger graphs and other configurations on the native simulator.
"""

import dataclasses

import cocotb
import numpy as np
import pytest
from cocotb.task import bridge
from cocotb.utils import get_sim_time

from checks.campaign.machines import check_counters, simulate
from checks.campaign.random_programs import random_case
from hw.config import preset
from hw.control import launch_cycles
from hw.counters import counting_cycles
from hw.gpu import Gpu
from hw.isa import Cause, encode
from hw.registers import (CORE_BASE, CORE_COUNTERS, CORE_STRIDE, GPU_BASE, GPU_COUNTERS,
                          WARP_COUNTS, WARP_OFFSET, Control, Register, Status, counter_address)
from hw.scu.registers import SCU_BASE, SCU_REGISTERS
from sim.dram import DramConfig
from sim.errors import SimulationError
from sim.native import NativeMachine
from sw.device import Device
from tb import runner
from tb.clocking import tick
from tb.hw.bench_gpu import BenchMachine
from tb.sw.graphs import random_graph


CONFIG = preset("tiny")         # other tests build its native simulator too

#: The DRAMs for the comparison of cycles, and the seeds of the programs.
DRAMS = ((DramConfig(latency=20, queue=16), (1, 2)),
         (DramConfig(latency=3, queue=2, bytes_per_cycle=4), (3,)))


@cocotb.test()
async def registers(dut):
    machine = await BenchMachine.start(dut)
    assert await machine.read(Register.STATUS) == 0
    for value in (0, 0xFFFF_FFFF, 0x1234_5678):
        await machine.write(Register.ARGUMENT, value)
        await machine.write(Register.ENTRY, value)
        assert await machine.read(Register.ARGUMENT) == value
        assert await machine.read(Register.ENTRY) == value % CONFIG.imem_bytes
    # A command while the GPU is busy is ignored.
    await machine.load([encode("jal", imm=12), 0, 0, encode("tmc")])
    await machine.write(Register.ENTRY, 0)
    await machine.write(Register.CONTROL, Control.LAUNCH)
    await machine.write(Register.ENTRY, 4)
    await machine.write(Register.CONTROL, Control.LAUNCH)
    assert await machine.read(Register.STATUS) == Status.BUSY
    await machine.wait()
    assert await machine.read(Register.STATUS) == 0
    counters = await machine.read_counters()
    assert counters["instructions"] == 2 * CONFIG.warps
    # Unused addresses read 0 after any earlier read.
    gpu, core, warps = (GPU_BASE + 8 * len(GPU_COUNTERS),
                        CORE_BASE + 8 * len(CORE_COUNTERS),
                        CORE_BASE + WARP_OFFSET + 8 * WARP_COUNTS * CONFIG.warps)
    for address in (0x0020, 0x00FC, gpu, gpu + 0x40, SCU_BASE, SCU_BASE + SCU_REGISTERS - 4,
                    CORE_BASE - 4, core, core + 0x3C, warps,
                    warps + 0x80, warps + 0x100, CORE_BASE + CORE_STRIDE - 4,
                    CORE_BASE + CORE_STRIDE, 0x7FFC, 0x8000):
        assert await machine.read(counter_address("instructions"))
        assert await machine.read(address) == 0, hex(address)
    await machine.write(Register.CONTROL, Control.CLEAR)
    await machine.read(Register.STATUS)
    assert not any((await machine.read_counters()).values())


@cocotb.test()
async def program(dut):
    machine = await BenchMachine.start(dut)
    speeds = ((10, 60), 0.5), ((1, 3), 0.0)
    for latency, stall in speeds[1:] if runner.brief() else speeds:
        machine.port.latency, machine.port.stall = latency, stall
        case = random_case(CONFIG, machine.port._rng.randrange(1 << 20), size=runner.turns(30))
        expected = simulate(CONFIG, case)
        await machine.write_back(invalidate=True)
        case.fill(machine.memory)
        await machine.load(case.words)
        await machine.write(Register.CONTROL, Control.CLEAR)
        await machine.run(case.entry, case.argument)
        counters = await machine.read_counters()
        await machine.write_back()
        assert np.array_equal(machine.memory.view(np.uint32), expected.memory)
        assert machine.port.waiting == 0
        check_counters(CONFIG, counters)
        assert counters["instructions"] == expected.counters["instructions"]


@cocotb.test()
async def algorithms(dut):
    machine = await BenchMachine.start(dut)
    machine.port.latency = (5, 30)
    graph = random_graph(12, 30, 3)

    @bridge
    def run(algorithm, schedule, **options):
        device = Device(CONFIG, lambda: machine)
        return device.run(algorithm, graph, schedule=schedule, **options)
    runs = (("bfs", "weaver", {"source": 1}), ("pagerank", "weaver", {"iterations": 1}),
            ("bfs", "vm", {"source": 1}))
    for algorithm, schedule, options in runs[:2] if runner.brief() else runs:
        result = await run(algorithm, schedule, **options)
        assert result.verified
        check_counters(CONFIG, result.counters)
        assert np.array_equal(result.phases[..., :-1].sum(axis=-1), result.phases[..., -1])
        assert result.phases[..., -1].all()
        assert result.core_counters[0]["lanes"] == result.counters["lanes"]
        dut._log.info(f"{algorithm} by {schedule}: {result.cycles} cycles")


@cocotb.test()
async def fused(dut):
    machine = await BenchMachine.start(dut)
    machine.port.latency = (5, 30)
    graph = random_graph(12, 30, 3).weighted(9)

    @bridge
    def run(algorithm, schedule, **options):
        device = Device(machine.config, lambda: machine)
        return device.run(algorithm, graph, schedule=schedule, fusion=True, **options)
    iterations = 2 if runner.brief() else 3
    runs = (("pagerank", "weaver", {"iterations": iterations}), ("bfs", "vm", {"source": 1}),
            ("sssp", "wm", {"source": 1}), ("cc", "em", {}))
    for algorithm, schedule, options in runs[:1] if runner.brief() else runs:
        result = await run(algorithm, schedule, **options)
        assert result.verified and result.launches == 1 and result.supersteps > 1
        dut._log.info(f"{algorithm} by {schedule}: {result.cycles} cycles")


@cocotb.test()
async def error(dut):
    machine = await BenchMachine.start(dut)
    await machine.load([encode("tmc"), encode("csrrs", rd=1, csr=0xCC1), encode("sw", rs2=1)])
    try:
        await machine.run(4, 0)
        raise AssertionError("the launch did not fail")
    except SimulationError:
        pass
    cause, warp, pc, address = await machine.failure()
    assert (cause, pc, address) == (Cause.STORE_ACCESS, 8, 0) and warp < CONFIG.warps    # of lane 0
    await machine.run(0, 0)
    assert await machine.failure() is None


@cocotb.test()
async def flush_while_running(dut):
    """A flush during a program writes the L2 to memory. Other commands are ignored."""
    machine = await BenchMachine.start(dut)
    await machine.load([encode("lui", rd=1, imm=0x80000), encode("sw", rs1=1, rs2=1, imm=64),
                        encode("jal")])
    await machine.write(Register.ENTRY, 0)
    await machine.write(Register.CONTROL, Control.LAUNCH)
    words = machine.memory.view(np.uint32)
    await tick(dut, 300)
    assert words[16] == 0
    before = await machine.read_counter(counter_address("cycles"))
    await machine.write(Register.CONTROL, Control.FLUSH | Control.CLEAR | Control.LAUNCH)
    await tick(dut, 300)
    assert words[16] == 0x8000_0000
    late = counting_cycles(machine.config)      # a read may miss the last events
    assert await machine.read_counter(counter_address("cycles")) > before + 300 - late
    assert await machine.read(Register.STATUS) == Status.BUSY
    instructions = await machine.read_counter(counter_address("instructions"))
    await tick(dut, 100)
    assert await machine.read_counter(counter_address("instructions")) > instructions


@cocotb.test()
async def launched_at_once(dut):
    """A launch in the cycle after the write of its first instruction."""
    machine = await BenchMachine.start(dut)
    for name, cause in (("ebreak", Cause.BREAKPOINT), ("ecall", Cause.ECALL)) * 2:
        await machine.load([encode(name)])
        await machine.write(Register.CONTROL, Control.LAUNCH)
        await machine.wait()
        assert (await machine.failure())[0] == cause


@cocotb.test()
async def launches_in_a_row(dut):
    """From the first write of a launch to that of the next, a launch takes what the counter counts
    and the promised cycles, if the host uses every cycle of the port."""
    machine = await BenchMachine.start(dut)
    for program in ([encode("tmc")], [encode("addi")] * 20 + [encode("tmc")]):
        await machine.load(program)
        took, counts = [], []
        for _ in range(4):
            counts.append(await machine.read_counter(counter_address("cycles")))
            begin = get_sim_time("step")
            for register, value in ((Register.ENTRY, 0), (Register.ARGUMENT, 0),
                                    (Register.CONTROL, Control.LAUNCH)):
                await machine.write(register, value)
            while await machine.read(Register.STATUS) & Status.BUSY:
                pass
            took.append(get_sim_time("step") - begin)
        period = get_sim_time("step")
        await machine.write(Register.ENTRY, 0)
        period = get_sim_time("step") - period
        for all_, before, after in zip(took, counts, counts[1:]):
            assert all_ == period * (after - before + launch_cycles(machine.config))


def cases(seeds):
    """The programs for the comparison of cycles."""
    return [random_case(CONFIG, seed, size=12) for seed in seeds]


@cocotb.test()
@cocotb.parametrize(which=range(len(DRAMS)))
async def cycles(dut, which):
    dram, seeds = DRAMS[which]
    machine = await BenchMachine.start(dut, dram)
    programs = [*zip(cases(seeds), runner.parameters()["counters"][which], strict=True)]
    for case, expected in programs[:runner.turns(len(programs))]:
        await machine.write_back(invalidate=True)
        case.fill(machine.memory)
        await machine.load(case.words)
        await machine.write(Register.CONTROL, Control.CLEAR)
        await machine.run(case.entry, case.argument)
        counters = await machine.read_counters()
        await machine.write_back()
        assert counters == expected
        assert np.array_equal(machine.memory.view(np.uint32), simulate(CONFIG, case).memory)


def native_counters():
    """The counters of these programs in the native simulator, by DRAM."""
    found = []
    for dram, seeds in DRAMS:
        with NativeMachine(CONFIG, dram) as machine:
            found.append([])
            for case in cases(seeds):
                machine.flush(invalidate=True)
                case.fill(machine.memory)
                machine.load_program(case.words)
                machine.clear_counters()
                machine.launch(case.entry, case.argument)
                found[-1].append(machine.counters())
                machine.flush()
                assert found[-1][-1]["cycles"] > 1000
    return found


#: The tests that a usual run does on Icarus Verilog: they use every port of the GPU.
_SHORT = ["registers", "program", "error", "flush_while_running"]


def test_gpu(simulator):
    tests = _SHORT if simulator == "icarus" and not runner.whole else None
    runner.run_bench(Gpu(CONFIG), "gpu", __name__, simulator=simulator, tests=tests,
                     parameters={"config": dataclasses.asdict(CONFIG),
                                 "counters": native_counters()})


@pytest.mark.full
def test_fused_on_two_cores(simulator):
    config = CONFIG.replace(cores=2, l1_banks=2, l2_banks=2, imem_bytes=1 << 14)
    runner.run_bench(Gpu(config), "gpu", __name__, simulator=simulator,
                     parameters={"config": dataclasses.asdict(config)}, tests=["fused"])


@pytest.mark.sample(1)
def test_launched_at_once(simulator):
    config = CONFIG.replace(pipeline="long")
    runner.run_bench(Gpu(config), "gpu", __name__, simulator=simulator,
                     parameters={"config": dataclasses.asdict(config)},
                     tests=["launched_at_once", "launches_in_a_row"])
