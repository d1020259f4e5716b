"""The SCU in the GPU, on the native simulator: operations compared with the golden model.

====================  ===========================================================================
operations            test_operations: all kinds, with all errors, on every shape and kind of
                      memory; result registers, whole memory and counters;
                      test_long_operations
host registers        test_registers_are_kept: only changed registers are written, and a register
                      that is left out is 0
with kernels          test_kernels_and_operations: kernels and operations see each other's writes,
                      also to lines in a cache; test_after_a_launch_that_failed
at once               test_a_launch_and_an_operation_at_once, and its errors
limits                test_limit, test_progress
counters of stalls    test_stalls
cost                  test_no_cost: programs without operations take as long as without an SCU
without an SCU        test_without
====================  ===========================================================================
"""

import contextlib
import functools
import random

import numpy as np
import pytest

from base.errors import RunError
from checks.campaign import machines
from checks.campaign.compaction import perform, perform_random
from checks.campaign.lanes import place_of_lane
from checks.campaign.machines import SCUS, check_counters
from checks.campaign.operations import Operations
from hw.config import ConfigError, preset
from hw.isa import Csr, MemoryMap
from hw.registers import cycles_of
from hw.scu.registers import (ScuCommand, ScuError, ScuOperation, ScuOutput, ScuRegister,
                              ScuResult)
from hw.stalls import SCU_STALLS
from sim.errors import SimulationError
from sim.native import NativeMachine
from sw.golden.machine import FunctionalMachine
from sw.compile.asm.assembler import Assembler
from sw.device import Device
from tb import seeds
from tb.programs import counts
from tb.sw.graphs import random_graph


MEMORIES = {
    "near": {"latency": 1, "bytes_per_cycle": 1024},
    "usual": {},
    "far": {"latency": 200, "bytes_per_cycle": 8, "queue": 4},
}

BASE = int(MemoryMap.GLOBAL)


def machine(name, memory="usual"):
    """The machine of a configuration."""
    return machines.machine(name, **MEMORIES[memory])


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("name", SCUS)
@pytest.mark.sample(2)
def test_operations(name, memory):
    outcomes = perform_random(machine(name, memory), seed=1, count=150, errors=0.4)
    assert {outcome.error for outcome in outcomes} == {*ScuError}
    assert sum(outcome.result > 0 for outcome in outcomes) > 70


@pytest.mark.parametrize("name", ["narrow", "twins"])
def test_counts(name):
    """Operations wait and count as they did."""
    lines, rng = [], random.Random(3)
    with NativeMachine(SCUS[name]) as device:
        device.memory[:] = np.random.default_rng(3).integers(0, 256, len(device.memory), np.uint8)
        operations = Operations(rng, device.memory, SCUS[name].line_bytes, errors=0.1)
        for number in range(40):
            device.clear_counters()
            with contextlib.suppress(SimulationError):
                device.compact(operations.next(), max_cycles=100_000)
            lines.append(counts.line(f"operation {number}", device.counters()))
            device.flush(invalidate=True)
    counts.check(name, lines)


def test_long_operations():
    perform_random(machine("twins"), seed=seeds.seed(2), count=5, longest=900, errors=0)


def data_compaction(source, length, destination, **others):
    """The registers of the simplest operation."""
    return {ScuRegister.COMMAND: ScuCommand.of(ScuOperation.DATA), ScuRegister.LENGTH: length,
            ScuRegister.SOURCE: source, ScuRegister.DESTINATION: destination,
            **{ScuRegister[name]: value for name, value in others.items()}}


def test_registers_are_kept(monkeypatch):
    device = machine("narrow")
    device.flush(invalidate=True)
    device.memory[:] = np.random.default_rng(3).integers(0, 256, device.memory.nbytes, np.uint8)
    registers = data_compaction(BASE + 0x100, 40, BASE + 0x1000, BITMASK=BASE + 0x40)
    perform(device, registers)
    written, write = [], device._write

    def spy(address, *words):
        written.extend(range(address, address + 4 * len(words), 4))
        write(address, *words)
    monkeypatch.setattr(device, "_write", spy)
    scu = functools.partial(int.__add__, 0x400)
    assert device.compact(registers).result == device.compact(registers).result
    assert written == [scu(ScuRegister.COMMAND)] * 2
    written.clear()
    without = data_compaction(BASE + 0x100, 40, BASE + 0x1000)
    assert device.compact(without) == ScuResult(40, 0)
    assert written == [scu(ScuRegister.BITMASK), scu(ScuRegister.COMMAND)]
    # A new GPU has lost the registers, and they are written again.
    device.power_on()
    perform(device, registers)


def _kernel():
    """A kernel with one word for each lane in three vectors: at the argument, and 0x1000 and 0x2000
    after it. Each lane adds 1 to its word of the first, and copies its word of the second to the
    third."""
    a = Assembler()
    place, value = a.regs("place", "value")
    place_of_lane(a, place, 0)
    a.csrr(value, Csr.MSCRATCH)
    a.add(place, place, value)
    a.lw(value, place)
    a.addi(value, value, 1)
    a.sw(value, place)
    a.li(value, 0x1000)
    a.add(place, place, value)
    a.lw(value, place)
    with a.scope("far") as (far,):
        a.li(far, 0x1000)
        a.add(place, place, far)
        a.sw(value, place)
    a.end_warp()
    return a.finish().words


def _with_kernel(name):
    """A machine with :func:`_kernel` and random words in its memory; its lanes; the words."""
    device = machine(name)
    device.flush(invalidate=True)
    words = device.memory.view(np.uint32)
    words[:] = np.random.default_rng(4).integers(0, 1 << 32, len(words), np.uint32)
    device.load_program(_kernel())
    device.clear_counters()
    return device, device.config.cores * device.config.warps * device.config.threads, words


@pytest.mark.parametrize("name", SCUS)
def test_kernels_and_operations(name):
    device, lanes, words = _with_kernel(name)
    first, source, copied, seen = words.copy(), 0, 0x400, 0x800
    device.launch(0, BASE)          # now the L1 has the lines that the SCU is to write
    got = device.compact(data_compaction(BASE, lanes, BASE + 4 * copied))
    assert got == ScuResult(lanes, 0)
    device.launch(0, BASE)
    counters = device.counters()
    device.flush()
    assert np.array_equal(words[source:lanes], first[:lanes] + np.uint32(2))
    assert np.array_equal(words[copied:copied + lanes], first[:lanes] + np.uint32(1))
    assert np.array_equal(words[seen:seen + lanes], first[:lanes] + np.uint32(1))
    check_counters(device.config, counters)
    assert counters["scu_elements"] == lanes and counters["l1_load_hits"] < counters["l1_loads"]


@pytest.mark.parametrize("name", SCUS)
def test_a_launch_and_an_operation_at_once(name):
    """They take less time than one after the other. The cycles of both are counted once."""
    device, lanes, words = _with_kernel(name)
    first = words.copy()
    operation = data_compaction(BASE + 0x3000, 500, BASE + 0x4000)
    taken = {}
    for both in (False, True):
        device.clear_counters()
        if both:
            assert device.launch_beside(0, BASE, operation) == ScuResult(500, 0)
        else:
            device.launch(0, BASE)
            assert device.compact(operation) == ScuResult(500, 0)
        counters = device.counters()
        check_counters(device.config, counters)
        assert bool(counters["scu_beside"]) == both
        taken[both] = cycles_of(counters)
        assert counters["scu_operations"] == 1
    assert taken[True] < taken[False]
    device.flush()
    assert np.array_equal(words[:lanes], first[:lanes] + np.uint32(2))
    assert np.array_equal(words[0x1000:0x1000 + 500], first[0xC00:0xC00 + 500])


def test_errors_of_a_launch_and_an_operation_at_once():
    """Each ends the call with its error, and the next call succeeds."""
    device = machine("narrow")
    device.flush(invalidate=True)
    operation = data_compaction(BASE, 500, BASE + 0x1000)
    for program, registers, error in (([0], operation, "core 0, warp"),
                                      (_kernel(), data_compaction(BASE, 9, 0), "the SCU stopped")):
        device.load_program(program)
        with pytest.raises(SimulationError, match=error):
            device.launch_beside(0, BASE, registers)
        device.load_program(_kernel())
        assert device.launch_beside(0, BASE, operation) == ScuResult(500, 0)
    with pytest.raises(SimulationError, match="not finished after 20 cycles"):
        device.launch_beside(0, BASE, operation, max_cycles=20)
    assert device.launch_beside(0, BASE, operation) == ScuResult(500, 0)


def test_after_a_launch_that_failed():
    """An operation after a core's error succeeds: the core's error is not the operation's."""
    device = machine("narrow")
    device.flush(invalidate=True)
    device.load_program([0])
    with pytest.raises(SimulationError, match="core 0, warp"):
        device.launch(0, 0)
    device._slice = 10
    assert device.compact(data_compaction(BASE, 500, BASE + 0x1000)) == ScuResult(500, 0)
    device.load_program(_kernel())
    device.launch(0, BASE)


@pytest.mark.parametrize("name, memory, filtered, stalls", [
    ("broad", "near", False, set()),
    ("broad", "near", True, {"filter"}),        # all elements are in the same set
    ("twins", "far", False, {"fetch", "store", "l2"}),
])
def test_stalls(name, memory, filtered, stalls):
    """Only the stages that the conditions delay have stalls. No stage waits for a fast memory. A
    filter whose elements are all in one set is late. A slow memory takes requests late."""
    device = machine(name, memory)
    device.flush(invalidate=True)
    device.memory[:] = 0
    registers = data_compaction(BASE, 400, BASE + 0x1000)
    if filtered:
        registers |= {ScuRegister.COMMAND: ScuCommand.of(ScuOperation.DATA,
                                                         ScuOutput.FILTER_UNIQUE, clear=True),
                      ScuRegister.HASH: BASE + 0x8000, ScuRegister.HASH_SETS: 1,
                      ScuRegister.HASH_WAYS: 1}
    device.clear_counters()
    device.compact(registers)
    counters = device.counters()
    check_counters(device.config, counters)
    assert {stage for stage in SCU_STALLS if counters[f"scu_stall_{stage}"]} == stalls


def test_limit():
    device = machine("broad", "far")
    registers = data_compaction(BASE, 4000, BASE + 0x8000)
    with pytest.raises(SimulationError, match="not finished after 100 cycles") as caught:
        device.compact(registers, max_cycles=100)
    assert caught.value.kind == "limit" and caught.value.counters["scu_cycles"] >= 90
    device.flush()                  # does nothing, as after a launch
    device.memory[:] = 1
    assert device.compact(registers) == ScuResult(4000, 0)
    device.flush()
    assert (device.memory[0x8000:0x8000 + 16000] == 1).all()


def test_progress():
    device = machine("broad", "far")

    def stop(cycles):
        raise KeyboardInterrupt
    device._slice = 50
    with pytest.raises(KeyboardInterrupt):
        device.compact(data_compaction(BASE, 4000, BASE + 0x8000), progress=stop)
    seen = []
    device._slice = 50
    device.compact(data_compaction(BASE, 4000, BASE + 0x8000), progress=seen.append)
    assert seen and seen == sorted(seen)


def test_no_cost():
    """An unused SCU changes nothing: neither the cycles nor any counter."""
    graph = random_graph(150, 1500, 7)
    results = []
    for width in (0, 4):
        with Device.simulate(SCUS["square"].replace(scu=width)) as device:
            results += [device.run("bfs", graph, schedule=schedule, source=1)
                        for schedule in ("vm", "weaver")]
    for without, with_scu in zip(results[:2], results[2:]):
        assert without.counters == with_scu.counters and without.cycles > 1000
        check_counters(with_scu.config, with_scu.counters)


def test_without():
    registers = data_compaction(BASE, 4, BASE + 0x100)
    config = preset("tiny")
    with pytest.raises(ConfigError, match="scu = 0: there is no SCU .* must be 1 or 4"):
        FunctionalMachine(config).compact(registers)
    with NativeMachine(config) as native, pytest.raises(ConfigError, match="scu = 0"):
        native.compact(registers)
    simulated = FunctionalMachine(config.replace(scu=4))
    simulated.memory[:16] = range(16)
    assert simulated.compact(registers) == ScuResult(4, 0)
    assert (simulated.memory[0x100:0x110] == range(16)).all()
    with pytest.raises(RunError, match="the SCU stopped: an address outside the memory"):
        simulated.compact(data_compaction(4, 4, BASE))
