"""Two files of results beside each other: what differs between their runs, counter by counter.

The runs of the two files are paired by what they have in common, as much as possible: the same
algorithm, graph, plan and hardware; else other hardware; else another plan; else another graph.
"""

import dataclasses
import math
from collections import Counter
from typing import Any

from base.errors import UserError
from hw.config import ConfigError
from sw.study.benchmarks.grid import geometric_mean
from sw.show.report import inputs
from sw.show.report.papers import records_of
from sw.show.report.results import runs_of


__all__ = ["RunPair", "Side", "compared", "pairs", "runs_in"]


#: Kinds of files with runs (:data:`sw.show.report.inputs.KINDS`).
_KINDS = ("runs", "sweep", "records")

#: Figures of a run beside its counters.
_FIGURES = ("total_cycles", "launch_cycles", "orders", "supersteps")

#: Fields of a case that are no options of its graph.
_OF_PLAN = ("algorithm", "schedule", "format", "direction", "split", "plan", "said", "parameters",
            "max_cycles", "launch_cycles")


@dataclasses.dataclass(frozen=True)
class Side:
    """A run of one of the files."""
    algorithm: str
    graph: dict  #: Its text, ``graph``, and its options.
    plan: dict  #: ``plan``, its text, and ``schedule``, ``format`` and ``direction``.
    configuration: dict
    memory: dict | None
    sources: str | None  #: Digest of the sources.
    checksum: str | None
    figures: dict  #: Numbers by name: cycles, and every counter.

    @property
    def name(self) -> str:
        """The run in a few words."""
        return f"{self.algorithm} {self.plan['schedule']} on {self.graph['graph']}"

    def key(self, *parts) -> str:
        """What the run has in common with another, as text."""
        whole = {"algorithm": self.algorithm, "graph": self.graph, "hardware":
                 [self.configuration, self.memory], **self.plan}
        return str([whole[part] for part in parts])


def runs_in(path) -> list[Side]:
    """The runs of a file or folder that ended. Raises UserError if there is none."""
    found = inputs.find([path])
    others = [source for source in found if source.kind not in _KINDS]
    if others:
        raise UserError(f"{others[0].path}: has no runs to compare: it is of "
                        f"{inputs.KINDS[others[0].kind]}; diff takes files of run, compare and "
                        "sweep")
    try:
        runs = [side for source in found for side in _sides(source)]
    except (LookupError, TypeError, ValueError, AttributeError, ConfigError) as error:
        raise UserError(f"{path}: is damaged, or of another version of Graphloom: {error}"
                        ) from None
    if not runs:
        raise UserError(f"{path}: has no run that ended and has counters")
    return runs


def _sides(source):
    if source.kind == "runs":
        return [_side(run.record, {"graph": run.graph["spec"]} | _options(run.graph),
                      run.config, run.dram, source.sources) for run in runs_of(source.value)
                if "counters" in run.record]
    lines = source.value if source.kind == "records" else source.value[1:]
    records, _ = records_of(lines)
    digest = lines[-1][0].partition(" ")[0]
    return [_side(record | record["case"], {"graph": record["case"]["graph"]} | _options(
        {name: value for name, value in record["case"].items() if name not in _OF_PLAN}),
        config, dram, digest) for record, config, dram in records
        if "counters" in record and config is not None]


def _options(graph):
    """The options of a graph that change something."""
    return {name: value for name, value in graph.items()
            if name not in ("spec", "graph", "vertices", "arcs")
            and value is not None and value is not False}


def _side(record, graph, config, dram, sources):
    plan = {name: record.get(name) for name in ("plan", "schedule", "format", "direction")}
    figures = {name: record[name] for name in _FIGURES if name in record} | record["counters"]
    return Side(record["algorithm"], graph, plan, dataclasses.asdict(config),
                dram and dataclasses.asdict(dram), sources, record.get("checksum"), figures)


@dataclasses.dataclass(frozen=True)
class RunPair:
    """A run of each of the files."""
    first: Side
    second: Side

    @property
    def differs(self) -> dict[str, tuple]:
        """What differs but the figures: the two values, by name. ``graph`` and ``plan`` are the
        texts; ``configuration.FIELD``, ``dram.FIELD`` and ``graph.OPTION``."""
        one, other = self.first, self.second
        found: dict[str, tuple] = {"algorithm": (one.algorithm, other.algorithm)}
        for what, names in (("graph", "graph"), ("plan", "plan"), ("configuration",) * 2,
                            ("memory", "dram")):
            sides = [getattr(side, what) or {} for side in (one, other)]
            for name in {**sides[0], **sides[1]}:
                title = names if name == what else f"{names}.{name}"
                found[title] = tuple(side.get(name) for side in sides)
        if found["plan"][0] != found["plan"][1]:        # whose text has its fields
            found = {name: both for name, both in found.items() if not name.startswith("plan.")}
        return {name: both for name, both in found.items()
                if both[0] != both[1] and name != "configuration.name"}

    @property
    def changes(self) -> dict[str, tuple]:
        """The figures that differ: (first, second, their ratio), the largest change first. A ratio
        from or to 0 is infinite or 0."""
        one, other = self.first.figures, self.second.figures
        found = {}
        for name in {**one, **other}:
            before, after = one.get(name, 0), other.get(name, 0)
            if before != after:
                found[name] = before, after, after / before if before else math.inf
        return dict(sorted(found.items(), key=lambda item: -size(item[1][2])))

    @property
    def same(self) -> int:
        """Number of figures that do not differ, without those that are 0."""
        one, other = self.first.figures, self.second.figures
        return sum(bool(value) and value == other.get(name) for name, value in one.items())

    def record(self) -> dict[str, Any]:
        """The pair, as JSON can hold it: a change from 0 has no ratio."""
        return {"run": self.first.name, "differs": self.differs, "changes": {
            name: {"first": before, "second": after,
                   "ratio": None if math.isinf(ratio) else ratio}
            for name, (before, after, ratio) in self.changes.items()}, "same": self.same}


def size(ratio) -> float:
    """The size of a change, whichever way it goes."""
    return math.inf if ratio in (0, math.inf) else abs(math.log(ratio))


#: What paired runs have in common, most first.
_COMMON = (("algorithm", "graph", "plan", "hardware"), ("algorithm", "graph", "plan"),
           ("algorithm", "graph", "schedule", "hardware"),
           ("algorithm", "graph", "schedule", "format", "direction"),
           ("algorithm", "graph", "schedule"))


def pairs(first, second):
    """The pairs of the runs of two files, and the runs of each that are left over.

    Parameters
    ----------
    first, second : list of Side

    Returns
    -------
    (list of RunPair, list of Side, list of Side)

    Raises
    ------
    UserError
        No runs of the two compare; with the reason.
    """
    common: list[tuple[str, ...]] = list(_COMMON)
    if all(len({side.key("graph") for side in sides}) == 1 for sides in (first, second)):
        common.append(("algorithm", "schedule"))
    if len(first) == len(second) == 1:
        common.append(("algorithm",))
    found, left = [], [list(first), list(second)]
    for parts in common:
        # A key that several runs of a file have says not which of them is meant.
        counts = [Counter(side.key(*parts) for side in sides) for sides in (first, second)]
        mates = {side.key(*parts): side for side in left[1]}
        taken = {side.key(*parts): side for side in left[0]
                 if counts[0][side.key(*parts)] == counts[1][side.key(*parts)] == 1}
        found += [RunPair(side, mates[key]) for key, side in taken.items()]
        left = [[side for side in sides if side.key(*parts) not in taken] for sides in left]
    if not found:
        one, other = ({side.algorithm for side in sides} for sides in (first, second))
        reason = (f"the first has {', '.join(sorted(one))}, the second "
                  f"{', '.join(sorted(other))}" if not one & other else
                  "none have the algorithm, the graph and the schedule in common, or so many that "
                  "it is not clear which belong together")
        raise UserError(f"the files have no runs that compare: {reason}")
    for pair in found:
        timed = ["cycles" in side.figures for side in (pair.first, pair.second)]
        if timed[0] != timed[1]:
            raise UserError("the files do not compare: one has cycles of the hardware, and one is "
                            "of the functional simulator, which has none")
    order = {id(side): number for number, side in enumerate(first)}
    return sorted(found, key=lambda pair: order[id(pair.first)]), *left


def compared(found) -> dict[str, tuple]:
    """The changes of several pairs together: for each figure that changes, the geometric mean, the
    least and the largest ratio, the largest change first. Pairs of which one has 0 are left out."""
    ratios: dict[str, list] = {}
    for pair in found:
        for name, before in pair.first.figures.items():
            after = pair.second.figures.get(name, 0)
            if before and after:
                ratios.setdefault(name, []).append(after / before)
    means = {name: (geometric_mean(each), min(each), max(each)) for name, each in ratios.items()
             if any(ratio != 1 for ratio in each)}
    return dict(sorted(means.items(), key=lambda item: -size(item[1][0])))
