"""The runs that the figures share: GraphPEG, our other units, and stand-ins for two frameworks."""

from sw.compile import algorithms
from sw.study.benchmarks.schedules import DIRECTIONS
from sw.study.benchmarks.system import System
from sw.study.benchmarks.units import SCU, UNITS, UnitRun, schedule_of, weaver

from ..runs import WIDE, on_graph, wide
from . import published


__all__ = ["ALGORITHMS", "CORE", "GUNROCK", "SEP_GRAPH", "STAND_INS", "UNITS_SHOWN", "run",
           "stand_ins", "units"]


ALGORITHMS = ("bfs", "sssp", "pagerank", "cc")

#: The names of the frameworks that others stand in for.
GUNROCK, SEP_GRAPH = published.OVER

#: The schedules in software that stand in for the frameworks.
STAND_INS = ("cm", "twc", "vwc", "compact")

#: The units that hand out edges, by their names in tables; GraphPEG is the last.
UNITS_SHOWN = {weaver(unit): unit for unit in UNITS if unit != SCU}

#: Frontiers of a search that pushes. The first is Gunrock's.
_FRONTIERS = ("queue", "bitmap", "bytemap")

#: A sentence on the core.
CORE = f"{WIDE}, and atomics of a whole line in an access."


def run(setting, choice, algorithm, schedule, *, gather=UNITS[0], fields=(), run_class=UnitRun,
        **choices):
    """A run on a graph: PageRank one iteration, searches from the vertex with the most arcs.

    The unit ``gather`` hands out edges; ``fields`` are pairs of a field of the configuration and
    its value that differ from the setting's; ``choices`` are those of
    :func:`sw.compile.plan.as_plan`."""
    config = wide(setting.config, gather=gather, **dict(fields))
    name = " ".join([setting.config.name, gather, *(f"{field}={value}" for field, value in fields)])
    return on_graph(choice, algorithm, run_class, schedule=schedule,
                    system=System(config.replace(name=name), setting.dram), **choices)


def units(setting, choice, algorithm):
    """{name: {direction: run}}: each unit under its schedule, in all directions."""
    return {name: {direction: run(setting, choice, algorithm, schedule_of(unit), gather=unit,
                                  direction=direction) for direction in DIRECTIONS[algorithm]}
            for name, unit in UNITS_SHOWN.items()}


def stand_ins(setting, choice, algorithm):
    """{name: {way: run}}: the ways among which each framework's stand-in is the fastest.

    Gunrock: each of :data:`STAND_INS`, pushing, with a queue where the algorithm has a frontier.
    SEP-Graph: these, also with other frontiers, pulling, and changing its direction.
    """
    kind = algorithms.find(algorithm)
    searches = algorithm in ("bfs", "sssp")
    found = {GUNROCK: {}, SEP_GRAPH: {}}
    for schedule in STAND_INS:
        ways = {f"{schedule} push {frontier}": ("push", frontier)
                for frontier in _FRONTIERS} if searches else {f"{schedule} push": ("push", None)}
        first = next(iter(ways))
        ways |= {f"{schedule} {way}": (way, None)
                 for way in ("pull", *["auto"] * kind.switches)}
        for text, (direction, frontier) in ways.items():
            case = run(setting, choice, algorithm, schedule, direction=direction,
                       frontier=frontier)
            found[SEP_GRAPH][text] = case
            if text == first:
                found[GUNROCK][text] = case
    return found
