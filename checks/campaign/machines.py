"""Machines for whole-program tests, and the comparison of the RTL with the simulator.

A :class:`Launch` is a program, an entry, an argument and the first contents of memory. The
instruction-set simulator and the RTL (:class:`sim.native.NativeMachine`) both run a case, and both
give a :class:`LaunchOutcome`.

Each configuration of the RTL costs a build, so there are few configurations. Together they have the
corner values of the fields. All of them must give the same results.
"""

import dataclasses
import functools
import types

import numpy as np

from hw.config import HardwareConfig, preset
from hw.isa import PHASES, Cause
from hw.registers import COUNTERS, NO_CHECKS, Checks, Register
from hw.stalls import L1_STALLS, SCU_STALLS
from sim.dram import DramConfig
from sim.errors import SimulationError
from sim.native import NativeMachine
from sw.golden.cores import Cores
from sw.golden.simulator import CoreError


__all__ = ["CONFIGS", "CORES", "SCUS", "Launch", "Failure", "LaunchOutcome", "check_cores",
           "check_counters", "compare", "differences", "failure_of", "machine", "run", "simulate",
           "verify"]


_TINY = preset("tiny")

#: Configurations of one core by name. ``bare`` has no Weaver, no divider and no counters. ``wide``
#: has an SCU, so that it can also serve as ``broad`` of :data:`SCUS`: 32 lanes take long to build.
CONFIGS = {
    "tiny": _TINY,
    "one": _TINY.replace(name="one", warps=1, threads=1, l1_ways=1, barriers=1, load_queue=2,
                         l1_mshrs=2, l2_mshrs=2),
    "scalar": _TINY.replace(name="scalar", warps=4, threads=1, weaver_entries=2, l1_bytes=1 << 8,
                            l1_ways=8, l2_bytes=1 << 9, l2_ways=16, local_bytes=1 << 8),
    "wide": _TINY.replace(name="wide", warps=1, threads=32, l1_bytes=1 << 11, local_bytes=1 << 11,
                          l2_bytes=1 << 13, l2_ways=4, l2_mshrs=32, scu=4),
    "large": _TINY.replace(name="large", warps=8, threads=16, imem_bytes=1 << 14,
                           l1_bytes=1 << 12, l1_ways=4, l2_bytes=1 << 13, l2_ways=2,
                           weaver_entries=64, local_bytes=1 << 12, l1_banks=4, l1_mshrs=8,
                           load_queue=8, load_hints=True, coalescer_depth=2),
    "bare": _TINY.replace(name="bare", gather="none", divider="none", counters=False,
                          l1_ways=1, l2_bytes=1 << 9, l2_ways=1, barriers=2),
    "long": _TINY.replace(name="long", warps=4, l1_banks=2, pipeline="long", atomic_words="line",
                          load_hints=True, float="full", coalescer_depth=4),
    "scan": _TINY.replace(name="scan", warps=4, gather="scan", weaver_entries=12, float="half"),
    "stream": _TINY.replace(name="stream", warps=4, gather="stream", weaver_entries=12,
                            imem_bytes=1 << 15, local_bytes=1 << 9),
    "eghw": _TINY.replace(name="eghw", warps=4, gather="eghw", weaver_entries=12, eghw_requests=2,
                          imem_bytes=1 << 14),
    "graphpeg": _TINY.replace(name="graphpeg", warps=4, gather="graphpeg", alwt_entries=8,
                              gather_requests=4, edge_buffer_rows=4, imem_bytes=1 << 14,
                              load_hints=True),
    "late": _TINY.replace(name="late", warps=4, local_bytes=1 << 11, table_latency=10, l1_latency=7,
                          l2_latency=30, divider="none", float="full"),
}

#: Configurations with several cores.
CORES = {
    "pair": _TINY.replace(name="pair", cores=2, imem_bytes=1 << 14, l1_banks=2,
                         atomic_words="line", l2_bytes=1 << 10, l2_ways=2, l2_banks=4,
                         memory_ports=2, sector_bytes=8),
    "trio": _TINY.replace(name="trio", cores=3, warps=4, threads=2, imem_bytes=1 << 14,
                          l2_banks=1, l2_mshrs=2, pipeline="long", float="half"),
}

_SMALL = _TINY.replace(memory_bytes=1 << 16)

#: Configurations with an SCU: small buffers and narrow lines; the width of a line; many lanes with
#: an L2; several cores and banks.
SCUS = {
    "narrow": _SMALL.replace(name="narrow", scu=1, scu_vector_bytes=2 << 10,
                             scu_request_bytes=2 << 10, scu_hash_bytes=2 << 10),
    "square": _SMALL.replace(name="square", scu=4, l2_bytes=1 << 10, l2_ways=2),
    "broad": CONFIGS["wide"].replace(name="broad"),
    "twins": _SMALL.replace(name="twins", cores=2, threads=8, l2_bytes=1 << 11, l2_ways=2,
                            l2_banks=2, scu=4, scu_request_bytes=2 << 10, sector_bytes=16),
}

#: Cycles after which a program is stopped.
LIMIT = 5_000_000

#: Bytes of global memory that are cleared at once.
_PIECE = 1 << 22


@dataclasses.dataclass(frozen=True)
class Launch:
    """A program to run, with all its inputs."""
    words: tuple  #: sequence of int. Instruction memory.
    entry: int = 0  #: Entry and argument of the launch.
    argument: int = 0  #: Entry and argument of the launch.
    #: numpy array of uint32. First words of global memory; the rest is 0.
    memory: np.ndarray | None = None
    checks: Checks = NO_CHECKS  #: Checks of the launch, beside the errors that always stop it.

    def fill(self, memory):
        """Write the first contents to a global memory."""
        # Most of a large memory was never written. Clearing it must not make its pages present.
        for start in range(0, len(memory), _PIECE):
            piece = memory[start:start + _PIECE]
            if piece.any():
                piece[:] = 0
        if self.memory is not None:
            memory.view(np.uint32)[:len(self.memory)] = self.memory


@dataclasses.dataclass(frozen=True)
class Failure:
    """The error with which a core stopped."""
    cause: Cause
    core: int
    warp: int
    lane: int
    pc: int
    address: int

    def __str__(self):
        return (f"{self.cause.name}: core {self.core}, warp {self.warp}, lane {self.lane}, "
                f"PC {self.pc:#x}, address {self.address:#x}")


@dataclasses.dataclass(frozen=True)
class LaunchOutcome:
    """The result of a run: memory as words, counters, and the error if there was one."""
    memory: np.ndarray
    counters: dict
    failure: Failure | None


def simulate(config: HardwareConfig, case: Launch, seed=None) -> LaunchOutcome:
    """Run a case on the instruction-set simulator. With a seed, the order of warps is random."""
    simulator = Cores(config, seed=seed)
    case.fill(simulator.memory)
    simulator.load_program(case.words)
    simulator.start(case.entry, case.argument, case.checks)
    failure = None
    try:
        simulator.run(limit=LIMIT)
    except CoreError as error:
        failure = Failure(error.cause, error.core, error.warp, error.lane, error.pc, error.address)
    return LaunchOutcome(simulator.memory.view(np.uint32), simulator.counters(), failure)


@functools.cache
def machine(name, latency=20, queue=16, bytes_per_cycle=32) -> NativeMachine:
    """The RTL in one of :data:`CONFIGS`, :data:`CORES` or :data:`SCUS`.

    Each process makes a machine once for each kind of memory.
    """
    dram = DramConfig(latency=latency, queue=queue, bytes_per_cycle=bytes_per_cycle)
    return NativeMachine((CONFIGS | CORES | SCUS)[name], dram)


def failure_of(device):
    """The failure in the error registers."""
    cause, pc, address, warp = (device._read(register)[0] for register in (
        Register.ERROR_CAUSE, Register.ERROR_PC, Register.ERROR_ADDRESS, Register.ERROR_WARP))
    return Failure(Cause(cause), warp >> 16, warp & 0xFF, warp >> 8 & 0xFF, pc, address)


def run(device: NativeMachine, case: Launch) -> LaunchOutcome:
    """Run a case on the RTL."""
    device.flush(invalidate=True)
    case.fill(device.memory)
    device.load_program(case.words)
    device.clear_counters()
    failure = None
    try:
        device.launch(case.entry, case.argument, checks=case.checks, max_cycles=LIMIT)
    except SimulationError as error:
        if error.kind != "device":
            raise
        failure = failure_of(device)
        assert f"warp {failure.warp}" in str(error) and f"{failure.pc:#010x}" in str(error)
        assert error.fault is not None and error.fault.cause is failure.cause
        assert str(error) == error.fault.describe()
    counters = device.counters()
    device.flush()
    return LaunchOutcome(device.memory.view(np.uint32).copy(), counters, failure)


def check_counters(config: HardwareConfig, counters):
    """Check the rules for the counters of any run.

    Raises AssertionError with the rule and its counters.
    """
    def hold(rule, *names):
        if not rule:
            raise AssertionError(f"counters do not reconcile: {', '.join(names)}: "
                                 + str({name: counters[name] for name in names}))

    if not config.counters:
        hold(not any(counters[name] for name in COUNTERS), *COUNTERS)
        return
    c = types.SimpleNamespace(**counters)
    stalls = [name for name in COUNTERS if name.startswith("stall_")]
    hold(c.instructions + sum(counters[name] for name in stalls) == config.cores * c.cycles,
         "cycles", "instructions", *stalls)
    hold(c.lanes <= c.instructions * config.threads, "instructions", "lanes")
    hold(c.l1_load_hits <= c.l1_loads <= c.l1_accesses, "l1_load_hits", "l1_loads", "l1_accesses")
    hold(c.l1_loads <= c.load_words <= config.threads * c.l1_loads, "l1_loads", "load_words")
    # A pass of a core leaves the coalescer, or waits there, only while it is busy.
    hold(c.coalescer_busy <= config.cores * c.cycles, "coalescer_busy", "cycles")
    hold(c.l1_accesses + c.local_accesses <= config.l1_banks * c.coalescer_busy,
         "l1_accesses", "local_accesses", "coalescer_busy")
    hold(c.loads_under_way <= config.load_queue * config.cores * c.cycles, "loads_under_way",
         "cycles")
    hold(c.atomics <= c.l1_accesses, "atomics", "l1_accesses")
    hold(c.atomics <= c.atomic_lanes <= c.atomics * config.threads, "atomics", "atomic_lanes")
    hold(c.l2_hits <= c.l2_accesses, "l2_hits", "l2_accesses")
    hold(c.local_conflicts <= c.local_accesses, "local_conflicts", "local_accesses")
    # The L2 gets every store and atomic, every load that missed and was not merged, and
    # all requests of the SCU.
    others, misses = c.l1_accesses - c.l1_loads, c.l1_loads - c.l1_load_hits
    of_scu = c.scu_reads + c.scu_writes
    asked = c.l2_accesses - of_scu - others
    hold(0 <= asked <= misses, "l1_accesses", "l1_loads", "l1_load_hits", "l2_accesses",
         "scu_reads", "scu_writes")
    hold(asked <= c.l1_fetches <= config.sectors * asked, "l1_fetches", "l1_accesses", "l1_loads",
         "l2_accesses", "scu_reads", "scu_writes")
    hold(c.scu_hits <= c.scu_lookups, "scu_hits", "scu_lookups")
    hold(c.scu_fetches <= c.scu_reads, "scu_fetches", "scu_reads")
    hold(c.scu_elements <= c.scu_cycles * config.scu, "scu_elements", "scu_cycles")
    hold(c.scu_operations <= c.scu_cycles, "scu_operations", "scu_cycles")
    hold(c.scu_beside <= c.cycles, "scu_beside", "cycles")
    for name in ("scu_beside", *(f"scu_stall_{stage}" for stage in SCU_STALLS)):
        hold(counters[name] <= c.scu_cycles, name, "scu_cycles")
    # The L2 requested every line read at the memory port; line sizes agree. A request that waits
    # for sectors twice may be read for twice.
    size = config.line_bytes // config.sectors
    hold(config.sectors > 1 or c.dram_reads <= c.l2_accesses - c.l2_hits,
         "dram_reads", "l2_accesses", "l2_hits")
    hold(c.dram_reads * size <= c.dram_bytes_read <= c.dram_reads * config.line_bytes,
         "dram_bytes_read", "dram_reads")
    if "port_0_busy" in counters:
        for total, name in (("dram_reads", "lines_read"), ("dram_writes", "lines_written")):
            ports = [f"port_{port}_{name}" for port in range(config.memory_ports)]
            hold(sum(counters[port] for port in ports) == counters[total], total, *ports)
    hold(c.weaver_waits <= config.cores * c.cycles, "weaver_waits", "cycles")
    # Only the causes of a stall before the Weaver hide a wait for it.
    hold(c.stall_weaver <= c.weaver_stalls <= c.stall_weaver + c.stall_memory + c.stall_local,
         "stall_weaver", "weaver_stalls", "stall_memory", "stall_local")
    # One pass waits in front of a bank, and lanes wait for a bank, in a cycle.
    banks = config.cores * config.l1_banks * c.cycles
    waits = [f"l1_stall_{name}" for name in L1_STALLS]
    hold(sum(counters[name] for name in waits) <= banks, "cycles", *waits)
    hold(c.l1_stall_bank <= config.cores * c.cycles, "l1_stall_bank", "cycles")


def check_cores(config: HardwareConfig, counters, core_counters, phases):
    """Check the rules for the counters of each core and for the phases of its warps, in any run.

    Raises AssertionError as :func:`check_counters`.
    """
    if not config.counters:
        assert not any(value for each in core_counters for value in each.values())
        assert not phases.any()
        return
    for number, each in enumerate(core_counters):
        stalls = sum(value for name, value in each.items() if name.startswith("stall_"))
        if not each["instructions"] + stalls == each["cycles"] == counters["cycles"]:
            raise AssertionError(f"counters of core {number} do not reconcile with "
                                 f"{counters['cycles']} cycles: {each}")
    for name in set(core_counters[0]) - {"cycles"}:
        total = sum(each[name] for each in core_counters)
        if total != counters[name]:
            raise AssertionError(f"counter {name}: {total} in the cores, {counters[name]} in all")
    if phases.shape != (config.cores, config.warps, len(PHASES) + 1):
        raise AssertionError(f"phases of {phases.shape}")
    for place in np.ndindex(phases.shape[:2]):
        *parts, total = (int(cycles) for cycles in phases[place])
        if not sum(parts) == total or not 0 < total <= counters["cycles"]:
            raise AssertionError(f"phases of core {place[0]}, warp {place[1]} do not make up its "
                                 f"cycles: {parts}, {total} of {counters['cycles']}")


def differences(first, second, limit=8):
    """The differences of two memories, as text."""
    places = np.flatnonzero(first != second)
    lines = [f"  [{0x8000_0000 + 4 * place:#x}]: {first[place]:#010x} / {second[place]:#010x}"
             for place in places[:limit]]
    return f"{len(places)} words differ, simulator / RTL:\n" + "\n".join(lines)


def compare(config: HardwareConfig, expected: LaunchOutcome, got: LaunchOutcome):
    """Compare the outcomes of simulator and RTL, and check the counters. Raises AssertionError.

    Memory, the numbers of instructions and lanes, and errors are compared. After an error only the
    error is compared: the simulator stops at once, and the RTL finishes the accesses under way.
    """
    assert got.failure == expected.failure, f"got {got.failure}, expected {expected.failure}"
    check_counters(config, got.counters)
    if expected.failure is None:
        same = np.array_equal(expected.memory, got.memory)
        assert same, differences(expected.memory, got.memory)
        if config.counters:
            for name, value in expected.counters.items():
                assert got.counters[name] == value, f"{name}: {got.counters[name]}, not {value}"


def verify(device: NativeMachine, case: Launch) -> LaunchOutcome:
    """Run a case on the simulator and on the RTL, and :func:`compare` the outcomes."""
    expected, got = simulate(device.config, case), run(device, case)
    compare(device.config, expected, got)
    return got
