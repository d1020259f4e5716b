"""The same work on more and more cores: speedups, and the limits of the speedups."""

from hw.config import HardwareConfig
from hw.registers import memory_lines
from sim.memories import SimulatedDram
from sw.study.benchmarks.batch import Case
from sw.study.benchmarks.grid import Grid
from sw.study.benchmarks.schedules import DIRECTIONS, plan


__all__ = ["GRAPHS", "LIMITS", "RESOURCES", "grid", "in_step", "limits"]


#: Graphs of three kinds: skewed, with communities of like degrees, and of low even degree.
GRAPHS = ("rmat:scale=14,degree=16,seed=1", "uniform:vertices=16384,edges=262144,seed=1",
          "road:side=128,seed=1")

#: Keys of the result of :func:`limits`, with their meaning in words.
LIMITS = {
    "issue": "cycles in which a core issues an instruction",
    "L1": "cycles in which a bank of a core's L1 takes a line access",
    "L2": "cycles in which a bank of the L2 takes a request",
    "DRAM": "cycles in which the DRAM's data bus is busy",
    "memory": "cycles in which a core issues nothing because it waits for global memory",
    "unit": "cycles in which a core issues nothing and a warp waits for the unit that hands out "
            "edges",
    "barrier": "cycles in which a core waits at a barrier",
    "idle": "cycles in which a core has no warp left",
}

#: The limits that are parts of the hardware: all work goes through them.
RESOURCES = ("issue", "L1", "L2", "DRAM")


def grid(axes, iterations, weights=None) -> Grid:
    """The runs for one number of cores: each algorithm in its own direction. The parameters are
    those of :func:`sw.study.benchmarks.schedules.grid`, with ``split`` for ``direction``."""
    return Grid(axes, lambda graph, algorithm, schedule, split: Case(graph[0], graph[1], plan(
        algorithm, iterations, direction=DIRECTIONS[algorithm][0], schedule=schedule,
        split=split), weights))


def in_step(config, dram, cores) -> tuple[HardwareConfig, SimulatedDram]:
    """The hardware with another number of cores, and its memory, such that a core keeps its share
    of the L2, of the memory ports and of the bandwidth. There is at least one bank and one port.
    Raises ConfigError for what is not legal."""
    if cores == config.cores:
        return config, dram
    shares = {name: max(1, getattr(config, name) * cores // config.cores)
              for name in ("l2_banks", "memory_ports")}
    changed = config.replace(cores=cores, name=config.name, **shares,
                             l2_bytes=config.l2_bytes * cores // config.cores)
    return changed, dram.with_peak(changed, dram.peak_bytes(config) * cores / config.cores)


def limits(counters, config, dram) -> dict:
    """Load of the parts that all work goes through, and the time that cores wait for each other:
    shares from 0 to 1, by the names of :data:`LIMITS`, from the counters of a whole run. Lines of a
    slow region do not load the bus of the DRAM."""
    cycles = counters["cycles"]
    of_cores, of_banks = cycles * config.cores, cycles * config.l2_banks
    slow = counters.get("slow_bytes_read", 0) + counters.get("slow_bytes_written", 0)
    lines = memory_lines(counters, config) - slow / config.line_bytes
    return {
        "issue": counters["instructions"] / of_cores,
        "L1": counters["l1_accesses"] / of_cores / config.l1_banks,
        "L2": counters["l2_accesses"] / of_banks,
        "DRAM": lines * config.line_bytes / dram.peak_bytes(config) / cycles,
        "memory": counters["stall_memory"] / of_cores,
        "unit": counters["weaver_stalls"] / of_cores,
        "barrier": counters["stall_barrier"] / of_cores,
        "idle": counters["stall_idle"] / of_cores,
    }
