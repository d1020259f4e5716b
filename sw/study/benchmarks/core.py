"""Microbenchmarks of one core: each drives one part of the core as hard as a program can.

A benchmark is a program that all warps run, made for its configuration. Its results in memory are
checked. Its figure is a rate: how much of its work the part does in a cycle. The rate comes from
the counters of the whole launch, including the prologue and the end of the last accesses.
"""

import contextlib
import dataclasses
from collections.abc import Callable

import numpy as np

from base.errors import RunError
from hw.config import HardwareConfig
from hw.isa import Csr, MemoryMap
from sw.compile.asm.assembler import Assembler, Condition


__all__ = ["BENCHMARKS", "Benchmark", "RateMeasurement"]


@dataclasses.dataclass(frozen=True)
class RateMeasurement:
    """The measurement of a benchmark."""
    rate: float  #: Measured rate per cycle, in the benchmark's unit.
    peak: float  #: Upper limit of the rate.
    cycles: int  #: Cycles of the launch.


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """One microbenchmark."""
    name: str  #: Name, unit of the rate, and description.
    unit: str  #: Name, unit of the rate, and description.
    doc: str  #: Name, unit of the rate, and description.
    #: ``build(assembler, config)`` emits the program and returns ``check(memory)``. After the
    #: launch, ``check`` gets global memory as words and returns whether the results are right.
    build: Callable
    count: Callable  #: ``count(counters, config)``: how often the counted thing happened.
    #: ``peak(config, dram)``: the largest possible rate per cycle.
    peak: Callable = lambda config, dram: 1.0
    warps: int = 0  #: Warps that run; 0 for all.

    def configure(self, config: HardwareConfig) -> HardwareConfig:
        """The configuration for the benchmark: one core, with the benchmark's number of warps."""
        changes = {"cores": 1} if config.cores > 1 else {}
        if self.warps and config.warps > self.warps:
            changes |= {"warps": self.warps, "weaver_entries": 0, "group_warps": 0}
        return config.replace(**changes) if changes else config

    def measure(self, machine) -> RateMeasurement:
        """Run it on a machine of that configuration. Raises RunError if the run fails."""
        config = machine.config
        assembler = Assembler()
        check = self.build(assembler, config)
        assembler.end_warp()
        machine.power_on()
        words = machine.memory.view(np.uint32)
        words[:] = np.arange(len(words), dtype=np.uint32)
        machine.load_program(assembler.finish().words)
        machine.clear_counters()
        machine.launch(0, 0)
        counters = machine.counters()
        machine.flush()
        if not check(words):
            raise RunError(f"microbenchmark {self.name!r} left a wrong result in memory")
        return RateMeasurement(self.count(counters, config) / counters["cycles"],
                               self.peak(config, machine.dram), counters["cycles"])


@contextlib.contextmanager
def _repeat(a, times):
    """A loop of all lanes."""
    with a.scope("left") as (left,):
        a.li(left, times)
        with a.while_uniform(Condition("ne", left, a.zero)):
            yield
            a.addi(left, left, -1)


def _lane_words(a, config, into, base, *, warps=True):
    """``into`` = address of the lane's word in an array of a word for each lane of the core, or of
    a warp if not ``warps``."""
    with a.scope("part") as (part,):
        a.csrr(into, Csr.THREAD_ID)
        if warps:
            a.csrr(part, Csr.WARP_ID)
            a.slli(part, part, (config.threads - 1).bit_length())
            a.add(into, into, part)
        a.slli(into, into, 2)
        a.li(part, base)
        a.add(into, into, part)


def _alu(a, config):
    """Additions that do not depend on each other."""
    one, place = a.regs("one", "place")
    sums = a.regs(*(f"sum{i}" for i in range(16)))
    times, turns = 4, 400
    a.li(one, 1)
    for register in sums:
        a.mv(register, a.zero)
    with _repeat(a, turns):
        for _ in range(times):
            for register in sums:
                a.add(register, register, one)
    _lane_words(a, config, place, MemoryMap.GLOBAL)
    for register in sums[1:]:
        a.add(sums[0], sums[0], register)
    a.sw(sums[0], place)
    lanes = config.warps * config.threads
    return lambda words: (words[:lanes] == len(sums) * times * turns).all()


#: Words that :func:`_copy` copies.
_COPIED = 1 << 20


def _copied(config):
    """Number of words to copy: as many as memory has room for, in whole turns of all lanes."""
    turn = 8 * config.warps * config.threads
    return min(_COPIED, config.memory_bytes // 16) // turn * turn


def _copy(a, config):
    """Every warp copies lines, eight at a time, next to the other warps' lines."""
    source, target, step = a.regs("source", "target", "step")
    values = a.regs(*(f"value{i}" for i in range(8)))
    words, lanes = _copied(config), config.warps * config.threads
    _lane_words(a, config, source, MemoryMap.GLOBAL)
    a.li(step, 4 * words)
    a.add(target, source, step)
    a.li(step, 4 * lanes)
    with _repeat(a, words // (8 * lanes)):
        for value in values:
            a.lw(value, source)
            a.add(source, source, step)
        for value in values:
            a.sw(value, target)
            a.add(target, target, step)
    return lambda memory: np.array_equal(memory[words:2 * words],
                                         np.arange(words, dtype=np.uint32))


def _gather(a, config):
    """Every lane loads from a line of its own. All lines are in L1 after the first turn."""
    place, out = a.regs("place", "out")
    values = a.regs(*(f"value{i}" for i in range(4)))
    a.csrr(place, Csr.THREAD_ID)
    a.slli(place, place, config.line_bits)
    a.li(out, MemoryMap.GLOBAL)
    a.add(place, place, out)
    with _repeat(a, 400 if config.threads < 32 else 200):
        for index, value in enumerate(values):
            a.lw(value, place, 4 * index)
    _lane_words(a, config, out, MemoryMap.GLOBAL + (1 << 15))
    a.sw(values[3], out)
    lanes = config.warps * config.threads

    def check(memory):
        expected = np.arange(config.threads) * config.line_words + 3
        return np.array_equal(memory[1 << 13:][:lanes], np.tile(expected, config.warps))
    return check


def _local(a, config):
    """Every lane loads the words of its bank of local memory."""
    place, out = a.regs("place", "out")
    values = a.regs(*(f"value{i}" for i in range(8)))
    _lane_words(a, config, place, MemoryMap.LOCAL, warps=False)
    a.csrr(out, Csr.THREAD_ID)
    a.sw(out, place)
    with _repeat(a, 50):
        for value in 8 * values:
            a.lw(value, place)
    _lane_words(a, config, out, MemoryMap.GLOBAL)
    a.sw(values[7], out)
    lanes = config.warps * config.threads
    return lambda memory: np.array_equal(memory[:lanes],
                                         np.tile(np.arange(config.threads), config.warps))


def _atomics(a, config):
    """Every lane adds to a word of its own. All words are in one line."""
    place, one = a.regs("place", "one")
    turns = 100
    _lane_words(a, config, place, MemoryMap.GLOBAL, warps=False)
    a.li(one, 1)
    with _repeat(a, turns):
        for _ in range(4):
            a.amoadd_w(a.zero, one, place)
    added = 4 * turns * config.warps
    return lambda memory: np.array_equal(memory[:config.threads],
                                         np.arange(config.threads) + added)


def _counter(name):
    return lambda counters, config: counters[name]


#: The benchmarks by name.
BENCHMARKS = {benchmark.name: benchmark for benchmark in (
    Benchmark("alu", "instructions", "independent additions, 4 warps", _alu,
              _counter("instructions"), warps=4),
    Benchmark("copy", "bytes of DRAM", "streaming copy of whole lines", _copy,
              lambda counters, config: counters["dram_bytes_read"] + counters["dram_bytes_written"],
              lambda config, dram: dram.peak_bytes(config)),
    Benchmark("gather", "lines of L1", "loads of a line a lane that hit", _gather,
              _counter("l1_accesses")),
    Benchmark("local", "warp accesses", "loads of local memory without bank conflicts", _local,
              _counter("local_accesses")),
    Benchmark("atomics", "atomics", "additions to distinct words of one line", _atomics,
              _counter("atomics")),
)}
