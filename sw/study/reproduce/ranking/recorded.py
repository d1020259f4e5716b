"""The recorded times of a GPU, and graphs of the same kind that are small enough for the RTL.

The RTL runs a smaller graph of the same generator. What decides a search that pulls is the place of
the hub among the numbers of vertices, because rows ascend: a row ends at the hub in the second
superstep. So the counterpart of a graph has, of some seeds, the one whose hub is nearest to the
hub's quantile there; no two graphs have one counterpart. The rule does not look at any result. A
graph of a file is its own counterpart.
"""

import collections
import dataclasses
import functools
import pathlib
import typing

from base.errors import UserError
from sw.graph.load import load
from sw.study.benchmarks.ranking import BALANCES, Way
from sw.study.benchmarks.records import RecordsFile

from ..setting import GraphChoice


__all__ = ["FILE", "RecordedGpu", "RankedPair", "pairs", "read"]


#: The GPU that is compared with, if the user names none.
FILE = pathlib.Path(__file__).resolve().parents[4] / "datasets" / "gpu" / "h200.jsonl"

#: Fields without which a record cannot be used, and their types.
_FIELDS = {"device": str, "graph": str, "algorithm": str, "schedule": str, "direction": str,
           "arcs": int, "operators": int, "kernels": int, "transfers": int, "seconds": list,
           "multiprocessors": int, "clock": int, "date": str, "driver": str}


@dataclasses.dataclass(frozen=True)
class RecordedGpu:
    """The records of one GPU."""
    device: str
    driver: str
    date: str  #: Of the last record.
    multiprocessors: int
    clock: int  #: In Hz.
    #: {graph: {algorithm: {way: record}}}.
    records: dict[str, dict[str, dict[Way, dict]]]

    @functools.cached_property
    def activity(self) -> float:
        """Seconds that a kernel, a copy or a clear takes at least: the least time of a run over
        their number. It is near the cost of a launch if a graph with many small supersteps is
        among the records, such as a road."""
        return min(min(record["seconds"]) / (record["kernels"] + record["transfers"])
                   for algorithms in self.records.values() for ways in algorithms.values()
                   for record in ways.values())


@dataclasses.dataclass(frozen=True)
class RankedPair:
    """A graph of the GPU, and its counterpart on the RTL."""
    graph: str  #: The text of the GPU's.
    here: GraphChoice
    quantiles: tuple[float, float]  #: The hub's number, of all vertices, there and here.

    @property
    def label(self) -> str:
        """Its name in tables."""
        return self.graph if ":" not in self.graph else f"{self.here.graph} for {self.graph}"


def read(path) -> RecordedGpu:
    """The records of a file that ``graphloom bench ranking`` has written. Raises UserError if it
    cannot be read, has records of several GPUs, or lacks a field."""
    if not pathlib.Path(path).exists():
        raise UserError(f"{path}: there is no such file; `graphloom bench ranking --vm cuda "
                        f"--record {path}` makes it on a computer with a GPU")
    found: dict = collections.defaultdict(lambda: collections.defaultdict(dict))
    one: dict[str, typing.Any] = {}
    for number, (_, record) in enumerate(RecordsFile(path).read(), 1):
        for name, kind in _FIELDS.items():
            if not isinstance(record.get(name), kind):
                raise UserError(f"{path}: record {number} has no {name!r} as `bench ranking` "
                                "writes it")
        if record["schedule"] not in BALANCES or not record["seconds"]:
            raise UserError(f"{path}: record {number}: schedule {record['schedule']!r} must be "
                            f"one of {', '.join(BALANCES)}, with at least one time")
        if one and record["device"] != one["device"]:
            raise UserError(f"{path}: record {number} is of {record['device']}, others of "
                            f"{one['device']}: a ranking is of one GPU")
        one = record
        found[record["graph"]][record["algorithm"]][
            Way(record["schedule"], record["direction"])] = record
    if not one:
        raise UserError(f"{path}: has no records of a GPU")
    return RecordedGpu(
        one["device"], one["driver"], one["date"], one["multiprocessors"], one["clock"],
        {graph: dict(algorithms) for graph, algorithms in found.items()})


def pairs(gpu, choices, seeds) -> list[RankedPair]:
    """The graphs of a GPU of which the RTL has a counterpart: a graph of ``choices``
    (:class:`~sw.study.reproduce.setting.GraphChoice`) by the same generator with one of the
    ``seeds``, or the same file. A GPU's graph has the arcs of its file, so a file of which each
    edge stands for two arcs is another graph. Raises UserError if there are fewer seeds than
    graphs by one generator."""
    families = {_family(choice.graph): choice for choice in choices}
    found, taken = [], set()
    for graph, algorithms in gpu.records.items():
        choice = families.get(_family(graph))
        there = next((record["quantile"] for ways in algorithms.values()
                      for record in ways.values() if record.get("quantile") is not None), None)
        if choice is None:
            continue
        if ":" not in graph:
            if not choice.undirected:
                found.append(RankedPair(graph, dataclasses.replace(choice, counts=False),
                                        (there or 0.0, there or 0.0)))
            continue
        known = {seed: quantile for seed, quantile in _quantiles(choice.graph, seeds).items()
                 if (choice.graph, seed) not in taken}
        if not known:
            raise UserError(f"{len(seeds)} seeds are too few: each of the GPU's graphs by "
                            f"`{_family(graph)}` has a seed of its own")
        seed = min(known, key=lambda seed: abs(known[seed] - there) if there is not None else seed)
        taken.add((choice.graph, seed))
        found.append(RankedPair(graph, dataclasses.replace(
            choice, label=f"{choice.label} ({len(found) + 1})", graph=_seeded(choice.graph, seed)),
            (there or 0.0, known[seed])))
    return found


def _family(text):
    """The generator of a graph, or the name of its file."""
    return text.partition(":")[0] if ":" in text else pathlib.Path(text).name


def _seeded(text, seed):
    """The text of a generated graph with another seed."""
    return f"{text.rpartition('seed=')[0]}seed={seed}"


@functools.cache
def _quantiles(text, seeds):
    """The quantile of the hub's number by seed."""
    def quantile(graph):
        return graph.hub / graph.num_vertices
    return {seed: quantile(load(_seeded(text, seed))) for seed in seeds}
