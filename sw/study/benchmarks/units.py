"""The units against software: the Weaver against every schedule, the SCU against compaction.

A *place* is a graph and an algorithm. Each schedule has the best of its directions and splits at
each place, the units' schedules too.
"""

import dataclasses

from hw.gather.variants import VARIANTS
from hw.isa import PHASES
from hw.stalls import L1_STALLS
from sw.compile import schedules as known_schedules
from sw.study.benchmarks.cores import RESOURCES, limits
from sw.study.benchmarks.grid import Grid, geometric_mean, ratio
from sw.study.benchmarks.schedules import DIRECTIONS, plan
from sw.study.benchmarks.system import System, SystemRun, scu_systems
from sw.graph.describe import gini
from sw.compile.plan import as_plan


__all__ = ["ALGORITHMS", "EGHW", "GRAPHPEG", "GRAPHS", "SCU", "SOFTWARE", "UNITS", "Fewest",
           "PhasedRun", "UnitRun", "compaction", "fewest", "grids", "over_software", "phase_share",
           "ratios", "resources", "schedule_of", "skewed", "summary", "weaver"]


#: The algorithms of the comparison, and those of the SCU's paper.
ALGORITHMS = ("pagerank", "bfs", "sssp", "cc")
_OF_SCU = ("pagerank", "bfs", "sssp")

#: The rivals of the Weaver: the schedules in software.
SOFTWARE = ("vm", "vwc", "em", "wm", "cm", "strict", "twc", "twce", "etwc", "tile")

#: The units by name. Units that hand out edges are values of ``HardwareConfig.gather``.
SCU, EGHW, GRAPHPEG = "scu", "eghw", "graphpeg"
UNITS = (*VARIANTS, SCU)

#: Compaction by the cores, and the schedules of the SCU.
_COMPACT = "compact"
_SCU_SCHEDULES = ("scu", "scu-enhanced", "scu-stream")

#: Graphs for minutes: two skewed R-MATs and a power law, then a road and a graph without structure.
GRAPHS = ("rmat:scale=10,degree=16,seed=1", "rmat:scale=12,degree=16,seed=1",
          "powerlaw:vertices=4096,edges=32768,exponent=2.2,seed=1", "road:side=48,seed=1",
          "uniform:vertices=4096,edges=32768,seed=1")

#: Graphs whose degrees have at least this Gini coefficient are skewed.
_SKEWED = 0.5


class UnitRun(SystemRun):
    """A run of the comparison. A direction or a split that a schedule does not have is no
    failure."""
    REFUSED = "refused"

    @property
    def column(self):
        """The name of schedule and unit in tables."""
        schedule = self.plan.schedule
        return weaver(self.system.config.gather) if schedule == "weaver" else schedule


class PhasedRun(UnitRun):
    """A run whose kernels mark all phases. The record has ``phases``: the cycles of all warps in
    each phase (:data:`hw.isa.PHASES`), added up, and behind them all their cycles."""

    def measured(self, result):
        return super().measured(result) | {"phases": result.phases.sum(axis=(0, 1)).tolist()}


def phase_share(phases, names):
    """The share of some phases in the cycles of all warps, from the ``phases`` of a record."""
    if phases is None:
        return None
    cycles = dict(zip(PHASES, phases))
    return ratio(sum(cycles[name] for name in names), sum(cycles.values()))


def weaver(unit) -> str:
    """The name, in tables, of a unit that hands out edges, under its schedule."""
    return unit if VARIANTS[unit].reads_memory else f"weaver ({unit})"


def schedule_of(unit) -> str:
    """The schedule that uses a unit that hands out edges."""
    return next((name for name in known_schedules.names()
                 if known_schedules.make(name).needs_unit == unit), "weaver")


def skewed(graph) -> bool:
    """Whether a loaded graph counts as skewed."""
    return gini(graph.out_degrees + graph.in_degrees) >= _SKEWED


def grids(axes, units, system, iterations, weights) -> dict:
    """The runs of the comparisons on each system: ``""`` for units that hand out edges, ``"large"``
    and ``"small"`` for the SCU. Each place has the runs by what they choose, as direction and
    split.

    ``axes`` are those of :func:`sw.study.benchmarks.schedules.grid`. Their schedules are the rivals
    of units that hand out edges, and ``split`` (:mod:`sw.compile.kernels.split`) is not for the
    SCU. ``system`` is the hardware of all, but for the unit, which the rivals do not use."""
    config = system.config

    def ways(at, graph, algorithm, schedule, choices):
        return {tuple(choice.values()): UnitRun(graph[0], graph[1], as_plan(
            plan(algorithm, iterations, schedule=schedule), **choice), weights, system=at)
            for choice in choices}

    def with_unit(unit):
        return System(config.replace(gather=unit, name=f"{config.name} {unit}"), system.dram)

    found, gathering = {}, [unit for unit in units if unit != SCU]
    if gathering:
        # The rivals' runs are the same whichever units are asked for.
        columns = {schedule: (with_unit(UNITS[0]), schedule) for schedule in axes["schedule"]}
        columns |= {weaver(unit): (with_unit(unit), schedule_of(unit)) for unit in gathering}
        for at, schedule in columns.values():
            known_schedules.make(schedule).check_config(at.config)
        found[""] = Grid(
            {"algorithm": axes["algorithm"], "column": columns, "graph": axes["graph"]},
            lambda algorithm, column, graph: ways(
                columns[column][0], graph, algorithm, columns[column][1], [
                    {"direction": direction, "split": split} for split in axes["split"]
                    for direction in DIRECTIONS[algorithm]]))
    for name, at in scu_systems(config, system.dram).items() if SCU in units else ():
        # Near vertices come before far vertices, as in the paper.
        found[name] = Grid(
            {"algorithm": [each for each in axes["algorithm"] if each in _OF_SCU],
             "column": (_COMPACT, *_SCU_SCHEDULES), "graph": axes["graph"]},
            lambda algorithm, column, graph, at=at: ways(
                at, graph, algorithm, column,
                [{"direction": "push"} | ({"delta": "auto"} if algorithm == "sssp" else {})]))
    return found


@dataclasses.dataclass(frozen=True)
class Fewest:
    """The best direction and split of a schedule at a place."""
    case: UnitRun | None  #: The run; None if none ran.
    record: dict  #: Its record.
    failed: bool  #: Whether a run of the schedule failed, so that nothing can be compared with it.

    @property
    def cycles(self):
        """The cycles; None if nothing can be compared with them."""
        return None if self.failed or self.case is None else self.record["cycles"]


def fewest(found) -> dict:
    """The best direction and split of each schedule, from what a grid of :func:`grids` measured:
    for each place, the :class:`Fewest` by column."""
    places: dict = {}
    for (algorithm, column, graph), ways in found.places.items():
        way, _ = found.records.best(ways)
        case = ways.get(way)
        places.setdefault((graph, algorithm), {})[column] = Fewest(
            case, found.records.get(case, {}),
            any("error" in found.records[each] for each in ways.values()))
    return places


def ratios(places, rivals, contenders) -> dict:
    """For each place, the fewest cycles of the rivals over the fewest of the contenders. A place
    where one of them failed, or none of either side runs, is left out."""
    found = {}
    for place, columns in places.items():
        if any(columns[name].failed for name in (*rivals, *contenders)):
            continue
        theirs, ours = ([columns[name].cycles for name in names
                         if columns[name].cycles is not None] for names in (rivals, contenders))
        if theirs and ours:
            found[place] = min(theirs) / min(ours)
    return found


def summary(values) -> dict | None:
    """Geometric mean, smallest value, and how many of how many are below 1; None for no values."""
    values = list(values)
    return {"mean": geometric_mean(values), "smallest": min(values),
            "slower": sum(value < 1 for value in values),
            "places": len(values)} if values else None


def _by_algorithm(values, algorithms, graphs):
    """Summaries for each algorithm, and for all, of the ratios on some graphs."""
    here = {place: value for place, value in values.items() if place[0] in graphs}
    return {"all": summary(here.values())} | {
        algorithm: summary(value for (_, mine), value in here.items() if mine == algorithm)
        for algorithm in algorithms}


def over_software(places, unit, rivals, algorithms, graphs) -> dict:
    """The speedups of the Weaver with a unit, from a result of :func:`fewest`; ``graphs`` says
    whether each graph is skewed. A :func:`summary` by the rival ("best", which is the best of all
    at each place, "vm", "em"), by the graphs ("skewed", "others", "all") and by the algorithm or
    "all"."""
    groups = {"skewed": [graph for graph, is_skewed in graphs.items() if is_skewed],
              "others": [graph for graph, is_skewed in graphs.items() if not is_skewed],
              "all": list(graphs)}
    sides = {"best": rivals} | {name: [name] for name in ("vm", "em") if name in rivals}
    return {title: {group: _by_algorithm(ratios(places, names, [weaver(unit)]), algorithms, some)
                    for group, some in groups.items()} for title, names in sides.items()}


def compaction(places, algorithms, graphs) -> dict:
    """The speedups over compaction by the cores: by the schedule of the SCU, or "best", and by the
    algorithm or "all": a :func:`summary`. ``places`` is a result of :func:`fewest`."""
    sides = {name: [name] for name in _SCU_SCHEDULES} | {"best": _SCU_SCHEDULES}
    mine = [algorithm for algorithm in algorithms if algorithm in _OF_SCU]
    return {title: _by_algorithm(ratios(places, [_COMPACT], names), mine, graphs)
            for title, names in sides.items()}


def resources(places, unit) -> list:
    """The busiest part of the hardware in PageRank with a unit, for each graph: ``graph``,
    ``undirected``, ``direction``, ``cycles``; ``binding``, the busiest of
    :data:`~sw.study.benchmarks.cores.RESOURCES`; ``limits``
    (:func:`~sw.study.benchmarks.cores.limits`); and ``l1_waits``: for each cause, the cycles that
    passes waited in front of a bank, of all cycles of all banks."""
    rows = []
    for ((graph, undirected), algorithm), columns in places.items():
        best = columns[weaver(unit)]
        if algorithm != "pagerank" or best.cycles is None:
            continue
        config, counters = best.case.system.config, best.record["counters"]
        shares = limits(counters, config, best.case.system.dram)
        of_banks = counters["cycles"] * config.cores * config.l1_banks
        rows.append({
            "graph": graph, "undirected": undirected,
            "direction": best.case.plan.direction, "cycles": best.cycles,
            "binding": max(RESOURCES, key=lambda name: shares[name]), "limits": shares,
            "l1_waits": {"bank": counters["l1_stall_bank"] / counters["cycles"] / config.cores} | {
                cause: counters[f"l1_stall_{cause}"] / of_banks for cause in L1_STALLS}})
    return rows
