"""The plans that a framework can choose from: candidates for an algorithm on a graph.

A paper compares the spaces of several frameworks; its largest has all candidates. All schedules,
formats and directions of this space are combined with each other. The other axes are blocking, CTA
size, frontier, deduplication, ordering and kernel fusion. A candidate departs from the algorithm's
own choice on one of these at most: the whole product would take hours. Candidates whose plans
become the same when the planner settles them are one candidate.
"""

import dataclasses
import functools
import hashlib
import itertools
import re
import typing

import numpy as np

from base.errors import UserError
from sw.compile import algorithms
from sw.study.benchmarks.batch import Case
from sw.study.benchmarks.grid import Grid
from sw.graph.load import load
from sw.device.device import Device

from .outcome import number, times
from .paper import Figure
from .runs import on_graph


__all__ = ["Found", "FrameworkSpace", "OfSpace", "SettledCandidate", "Tried", "candidates",
           "distinct", "graph_of", "half", "tried", "within"]


#: Largest random weight for a graph without weights.
_WEIGHTS = 64

#: Blocks that a graph is divided into.
_BLOCKS = 4


@dataclasses.dataclass(frozen=True)
class FrameworkSpace:
    """The choices of a framework, by the names that they have here. All frameworks have both
    directions and both orderings.
    """
    schedules: tuple[str, ...]
    formats: tuple[str, ...]
    frontiers: tuple[str, ...]
    options: int  #: The paper's number of available options.
    blocked: tuple[str, ...] = ()  #: Schedules that can go through blocks.
    cta: bool = False  #: Whether the CTA size is an option.
    deduplicates: bool = True  #: Whether deduplication is an option.
    fuses: bool = False  #: Whether kernel fusion is an option.


@dataclasses.dataclass(frozen=True)
class Tried(Case):
    """A run of a candidate. A candidate whose program does not fit is no failure.

    The record also has ``program``, a digest of the program.
    """
    REFUSED = "refused"

    def perform(self, device, graph):
        task = device.plan(self.plan, graph)
        result = device.run_task(task)
        words = np.array(task.program.words, np.uint32)
        return self.measured(result) | {"program": hashlib.sha256(words.data).hexdigest()}


class SettledCandidate(typing.NamedTuple):
    """A candidate, by the settled values of its axes."""
    schedule: str
    format: str
    direction: str
    blocked: bool  #: Whether the graph is in blocks, and whether half of the warps take part.
    halved: bool  #: Whether the graph is in blocks, and whether half of the warps take part.
    #: The frontier, or two of a hybrid with a bar between them; None if the algorithm has none.
    frontier: str | None
    chosen: bool  #: Whether the candidate departs from the frontier's own choice of deduplication.
    ordered: bool  #: Whether near vertices go before far vertices.
    fused: bool  #: Whether one launch runs all supersteps.
    departs: bool  #: Whether the candidate departs on any axis from the algorithm's own choice.
    case: Tried

    def __str__(self):
        text = f"{self.schedule} {self.format} {self.direction}"
        words = [self.frontier, "blocks" * self.blocked, "half the warps" * self.halved,
                 ("dedup" if self.case.plan.to_json().get("deduplicate") else "no dedup")
                 * self.chosen, "near first" * self.ordered, "fused" * self.fused]
        return ", ".join([text, *filter(None, words)])


class Found(typing.NamedTuple):
    """The answer of the planner."""
    candidates: tuple[SettledCandidate, ...]
    asked: int  #: Number of plans that the planner was asked about.
    refused: int  #: Number of these that the planner refused.


@functools.lru_cache(maxsize=64)
def graph_of(choice, weighted):
    """The graph of a :class:`~sw.study.reproduce.setting.GraphChoice`."""
    return load(choice.graph, weights=_WEIGHTS if weighted else None, undirected=choice.undirected)


def half(config) -> int:
    """The smaller CTA size: half of the warps."""
    return max(1, config.warps // 2)


def tried(config, choice, algorithm, *, schedule, format, direction, blocked=False, halved=False,
          **others):
    """The run of a plan: PageRank one iteration, searches from the vertex with the most arcs.
    Raises UserError if there is no such plan."""
    if blocked:
        vertices = graph_of(choice, algorithms.find(algorithm).weighted).num_vertices
        format = f"{format}:block={max(1, -(-vertices // _BLOCKS))}"
    return on_graph(choice, algorithm, Tried, schedule=schedule, format=format,
                    direction=direction, warps=half(config) if halved else None, **others)


def _departures(space, kind) -> list[dict[str, typing.Any]]:
    """The choices of the axes of which a candidate departs on one at most."""
    return [{}, *[{"blocked": True}] * bool(space.blocked), *[{"halved": True}] * space.cta,
            *({"frontier": name} for name in space.frontiers),
            *({"deduplicate": value} for value in (True, False) if space.deduplicates),
            *[{"delta": "auto"}] * ("delta" in kind.options),
            *[{"fusion": True}] * space.fuses]


def _frontier(task):
    """The frontiers of a task's sides as a text; None if the algorithm has none."""
    sides = task.sides.values() or [task]
    return " | ".join(dict.fromkeys(side.plan.frontier for side in sides
                                    if side.plan.frontier)) or None


@functools.lru_cache(maxsize=64)
def candidates(config, choice, algorithm, space) -> Found:
    """All candidates of a :class:`FrameworkSpace` for an algorithm on a graph."""
    kind = algorithms.find(algorithm)
    graph, device = graph_of(choice, kind.weighted), Device.functional(config)
    directions = [*kind.directions, "auto"] if kind.switches else kind.directions
    found, asked, refused = {}, 0, 0
    axes: typing.Any = itertools.product(space.schedules, space.formats, directions,
                                         _departures(space, kind))
    for schedule, format, direction, departure in axes:
        if "blocked" in departure and schedule not in space.blocked:
            continue
        asked += 1
        try:
            case = tried(config, choice, algorithm, schedule=schedule, format=format,
                         direction=direction, **departure)
            task = device.plan(case.plan, graph)
        except UserError:
            refused += 1
            continue
        found.setdefault(task.plan.text, SettledCandidate(
            schedule, format, direction, "blocked" in departure, "halved" in departure,
            _frontier(task), "deduplicate" in departure,
            "delta" in departure, "fusion" in departure,
            bool(departure), case))
    return Found(tuple(found.values()), asked, refused)


def within(space, candidates) -> list:
    """The candidates in a framework's space. A frontier that is known by the vertices' values
    (``counter``) is in every space, except for searches that push, which have a choice."""
    kinds = {each: set(re.findall(r"\w+", each.frontier or "")) for each in candidates}
    choice = len({frozenset(kinds[each]) for each in candidates if each.direction == "push"}) > 1

    def known(each):
        free = {"counter"} if each.direction != "push" or not choice else set()
        return kinds[each] - free <= set(space.frontiers)

    return [each for each in candidates
            if each.schedule in space.schedules and each.format in space.formats and known(each)
            and (not each.blocked or each.schedule in space.blocked)
            and (space.cta or not each.halved) and (space.deduplicates or not each.chosen)
            and (space.fuses or not each.fused)]


def distinct(results, candidates) -> list:
    """The candidates that ran, behind their cycles, fewest first. If several have the same program
    and the same cycles, only the first stays."""
    found = {}
    for each in candidates:
        cycles = results.cycles(each.case)
        if cycles is not None:
            found.setdefault((results.value(each.case, "program"), cycles), each)
    return sorted(((cycles, each) for (_, cycles), each in found.items()),
                  key=lambda entry: entry[0])


class OfSpace(Figure):
    """Base of figures that run every candidate of the first of several spaces. The others are parts
    of it; the ways at a place of the grid are the candidates that a space has there."""
    _spaces: dict[str, FrameworkSpace]
    _algorithms: dict[str, str]

    #: The spaces that the first is compared with.
    _others: tuple = ()

    @property
    def _whole(self):
        return next(iter(self._spaces))

    def _config(self, config):
        """The hardware of the runs."""
        return config

    def _wanted(self, each):
        """Whether a candidate is tried."""
        return True

    def _case(self, case):
        """The run of a candidate."""
        return case

    def _answer(self, setting, algorithm, choice) -> Found:
        """The planner's answer."""
        return candidates(self._config(setting.config), choice, algorithm,
                          self._spaces[self._whole])

    def _candidates(self, setting, algorithm, choice) -> list:
        return list(filter(self._wanted, self._answer(setting, algorithm, choice).candidates))

    def grid(self, setting):
        def make(algorithm, choice, name):
            those = self._candidates(setting, algorithm, choice)
            return {each: self._case(each.case) for each in (
                those if name == self._whole else within(self._spaces[name], those))}
        return Grid({"algorithm": self._algorithms, "graph": setting.tuned,
                     "space": (self._whole, *self._others)}, make)

    def _sizes(self, setting) -> dict:
        """The number of candidates in each space, in each search, as texts."""
        every = [self._candidates(setting, algorithm, choice)
                 for algorithm in self._algorithms for choice in setting.tuned]
        return {name: [str(len(within(space, those))) for those in every]
                for name, space in self._spaces.items()}

    def _against(self, found, joint, names):
        """The best candidate of each space against the best of all: rows of cells and the numbers
        of each search, and the gains by space. ``joint`` stands between algorithm and graph in the
        name of a search; ``names`` are those, in the data, of the fewest cycles and of the gain."""
        best, rows, data = found.best(), [], {}
        over = found.cycles / found.cycles.at(space=self._whole)
        for (algorithm, choice), (plan, least) in best.at(space=self._whole).items():
            place = {"algorithm": algorithm, "graph": choice}
            cells = [number(least), str(plan or "")]
            entry = {names[0]: least, "plan": plan and plan.case.plan.text}
            for name in self._others:
                (its, cycles), gain = (cube.at(space=name, **place) for cube in (best, over))
                cells += [number(cycles) + f" ({its})" * (its is not None), times(gain)]
                entry[name] = {"candidates": len(found.places.at(space=name, **place)),
                               "cycles": cycles, "plan": its and its.case.plan.text,
                               names[1]: gain}
            rows.append((f"{self._algorithms[algorithm]}{joint}{choice.label}", cells))
            data.setdefault(algorithm, {})[choice.label] = entry
        return rows, data, {name: over.at(space=name) for name in self._others}
