"""Random programs in lockstep: each instruction of the RTL is compared with the simulator's.

A program of :mod:`checks.campaign.random_programs` is launched a few times after power-on. Each
launch has other contents of memory and other arguments. The program runs on one of a few kinds of
memory. Configuration and seed determine everything, so they are enough to repeat a difference.
``./graphloom lockstep`` runs any number of programs.
"""

import dataclasses
import functools

import numpy as np

from base.errors import UserError
from checks.campaign.machines import Launch, check_counters, differences, failure_of
from checks.campaign.random_programs import fitting_case
from checks.campaign.random_statements import memory_needed
from base import numbers
from hw.config import HardwareConfig, preset
from hw.registers import Checks
from sim.dram import DramConfig
from sim.errors import SimulationError
from sim.native import NativeMachine
from sim.trace import Tracer
from sw.golden.lockstep import Difference, Lockstep
from sw.golden.simulator import Simulator


__all__ = ["LAUNCHES", "SHAPES", "SIZE", "Run", "cases_of", "compare", "machine", "run", "shape"]


#: Warps and lanes of the campaign.
SHAPES = ("1x1", "1x4", "4x1", "2x4", "8x8", "32x32")

#: Statements in a program, and number of its launches.
SIZE, LAUNCHES = 120, 8

#: Cycles after which a launch is stopped.
LIMIT = 10_000_000

#: The traced streams, and the size of a piece. Small pieces show a difference soon.
STREAMS, CHUNK_BYTES = ("issue", "access", "write"), 1 << 20


def shape(text: str, assignments=(), rtl=True) -> HardwareConfig:
    """The smallest hardware of a shape such as ``2x4`` (warps x lanes), with a trace port.

    ``FIELD=VALUE`` texts are applied. Raises UserError or ConfigError if the shape or a text is
    not legal, and for the RTL if it has several cores or no trace port.
    """
    warps, _, threads = text.partition("x")
    warps, threads = numbers.integer(warps), numbers.integer(threads)
    if warps is None or threads is None:
        raise UserError(f"{text!r} is not a shape; it must be warps x lanes, such as 2x4")
    line = max(16, 4 * threads)
    config = preset("tiny").replace(
        name=text, warps=warps, threads=threads, l1_bytes=max(256, 4 * line), local_bytes=1024,
        memory_bytes=1 << 18, trace=True)
    config = config.assign(assignments).replace(name=text)
    if (config.warps, config.threads) != (warps, threads):
        raise UserError(f"shape {text} has {warps} warps and {threads} lanes: change --shape, "
                        "not --set warps or threads")
    if rtl and (not config.trace or config.cores != 1):
        raise UserError("lockstep needs one core, with a trace port")
    if config.memory_bytes < memory_needed(config):
        raise UserError(f"memory_bytes = {config.memory_bytes}: the programs of shape {text} need "
                        f"{memory_needed(config)} bytes of global memory")
    return config


@functools.lru_cache(maxsize=16)
def machine(config: HardwareConfig, dram: DramConfig) -> NativeMachine:
    """The machine that runs the RTL, made once for each kind of memory."""
    return NativeMachine(config, dram)


def memory_of(config: HardwareConfig, seed: int) -> DramConfig:
    """A program's kind of memory: quick or slow, wide or narrow, with a long or short queue."""
    return DramConfig(latency=(1, 20, 100)[seed % 3], queue=(2, 16)[seed // 3 % 2],
                      bytes_per_cycle=config.line_bytes // (4, 1)[seed // 6 % 2])


@dataclasses.dataclass
class Run:
    """Counts of compared instructions, launches and cycles, and of results taken from the RTL."""
    instructions: int = 0
    lanes: int = 0
    launches: int = 0
    cycles: int = 0
    taken: int = 0


def _launch(device, lockstep, case):
    """Perform one launch and compare it while it runs."""
    core = lockstep.simulator
    lockstep.begin(case.entry, case.argument, case.checks)
    failure = None
    try:
        device.launch(case.entry, case.argument, checks=case.checks, max_cycles=LIMIT)
    except SimulationError as error:
        if error.kind != "device":
            warps = ", ".join(f"{warp.number}: {warp.pc:#x}" for warp in core.warps if warp.mask)
            raise Difference(f"{error}\n  PCs of the simulator's warps: {warps}") from None
        failure = failure_of(device)
        failure = failure.cause, failure.warp, failure.pc, failure.address
    lockstep.finish(failure)
    return failure


def compare(device: NativeMachine, cases, done: Run | None = None) -> Run:
    """Launch cases of one program one after another from power-on, in lockstep.

    After each launch, memory and the counters are compared too. No launch follows a launch that
    ends with an error.

    Raises
    ------
    Difference
        At the first difference.
    """
    done = Run() if done is None else done
    config = device.config
    core = Simulator(config)
    lockstep = Lockstep(core)
    device.power_on()
    device.start_trace(Tracer(lockstep.feed, STREAMS, chunk_bytes=CHUNK_BYTES))
    try:
        for index, case in enumerate(cases):
            device.flush(invalidate=True)
            case.fill(device.memory)
            case.fill(core.memory)
            if index == 0:
                device.load_program(case.words)
                core.load_program(case.words)
            device.clear_counters()
            core.clear_counters()
            failure = _launch(device, lockstep, case)
            done.launches += 1
            if failure is not None:
                break
            counters = device.counters()
            check_counters(config, counters)
            if config.counters:
                for name, value in core.counters().items():
                    if counters[name] != value:
                        raise Difference(f"counter {name}: {value} on the simulator, "
                                         f"{counters[name]} on the RTL")
            device.flush()
            if not np.array_equal(device.memory.view(np.uint64), core.memory.view(np.uint64)):
                raise Difference("memory differs at the end: " + differences(
                    core.memory.view(np.uint32), device.memory.view(np.uint32)))
            done.instructions += core.instructions
            done.lanes += core.lanes
            done.cycles += counters["cycles"]
    finally:
        device.start_trace(None)
    done.taken += lockstep.taken
    return done


def cases_of(config: HardwareConfig, seed: int, size: int, launches: int):
    """The launches of one program; none if the program does not fit into the instruction memory.

    In half of the programs, warps leave lanes at the start. The last launch checks that lanes agree
    at branches, and in half of the programs stacks, though the stack pointer holds any numbers: it
    ends at the first of these errors.
    """
    case = fitting_case(config, seed, size, partial=bool(seed & 1))
    if case is None:
        return
    yield case
    generator = np.random.default_rng(seed)
    for _ in range(launches - 1):
        memory = generator.integers(1 << 32, size=len(case.memory), dtype=np.uint32)
        yield Launch(case.words, case.entry, int(generator.integers(1 << 32)), memory)
    checks = Checks(lanes=True, stack=Checks.MOST_STACK >> seed % 12 if seed & 2 else 0)
    yield dataclasses.replace(case, checks=checks)


def run(config: HardwareConfig, seed: int, *, size=SIZE, launches=LAUNCHES, done=None) -> Run:
    """Run the random program of a seed and add to ``done``. Raises Difference.

    A program that is too long for the instruction memory is made again with fewer statements. If
    no program fits, nothing runs.
    """
    cases = cases_of(config, seed, size, launches)
    return compare(machine(config, memory_of(config, seed)), cases, done)
