"""The correlations, the ways of each algorithm, and their work."""

import dataclasses
import functools
import math

from hw.registers import memory_lines
from sw.lang import programs
from sw.study.benchmarks.grid import Grid
from sw.study.benchmarks.ranking import ALGORITHMS, WAYS
from sw.study.benchmarks.schedules import Compared

from ..measure import OnHost
from ..outcome import (FAILED, Comparison, Outcome, Plot, Table, decimal, geometric_mean, number,
                       times)
from ..paper import Figure
from ..runs import on_graph
from ..setting import where
from . import recorded
from .agreement import agreement


__all__ = ["Correlation", "Operators", "WaysOf", "WorkOfWays"]


#: Schedules with the constants of CUDA's text: the degrees from which a warp or a CTA takes a
#: vertex.
_TEXTS = {"twc": "twc:warp=32:core=256"}

#: Programs whose lanes only read while they pull a row: there is no exit, no fault and no vertex to
#: report before the end of the row. The compiler of CUDA's text, nvcc 13.0 for sm_90, then takes
#: four edges at a time where a lane has a row to itself, as its PTX shows. Everywhere else a lane
#: is done with an edge before it reads the next.
_READING, _AT_ONCE = ("pagerank",), 4

#: Schedules under which a lane has rows to itself.
_OF_LANES = ("vm", "twc", "etwc")


def _text(way, algorithm):
    """The schedule of a way as CUDA's text has it."""
    ahead = (way.direction == "pull" and algorithm in _READING and way.schedule in _OF_LANES)
    return f"{_TEXTS.get(way.schedule, way.schedule)}:unroll={_AT_ONCE if ahead else 1}"


def _atomics(way):
    """What the atomics of a way are like in CUDA's text. A lane waits for the old word of each, and
    reads a word first of which it takes a minimum. But lanes that pull add up in registers first,
    as if they were combined, unless under ``em``."""
    return "test" if way.direction == "push" or way.schedule == "em" else "reduce"


#: Ways that a rule of thumb places without a machine: they are far behind.
_OUTLIERS = ("vm", "wm")

_WEIGHTS = 255

_METHOD = (
    "Every schedule in software in both directions, with CUDA's constants, and with atomics that "
    "test a word and return the old one where CUDA's text has them, on the RTL and on the GPU. "
    "The RTL runs a smaller graph of the same generator, whose hub is at the same place among the "
    "numbers of vertices; PageRank makes one iteration, on the GPU ten. Spearman's rank "
    "correlation of the ways; `regret` is the GPU's time of the way that is best on the RTL, over "
    "the GPU's best; `log r` is Pearson's correlation of the logarithms. A star marks a rank "
    "correlation that is significant at 5 %.")

_LAUNCHES = (
    "`launches` charges the RTL with what the GPU's host asks for: the kernels, copies and clears "
    "of the GPU's run, each in proportion to the operators that a run here performs, and each as "
    "long, in cycles, as a share of a core's work as it is on the GPU.")


@dataclasses.dataclass(frozen=True)
class Operators(OnHost):
    """The operators that a program performs on a graph: ``operators`` in the record."""
    algorithm: str

    def describe(self):
        return f"operators of {self.algorithm} on {self.graph}"

    def load(self):
        from sw.graph.load import load
        weighted = programs.find(self.algorithm).weighted
        return load(self.graph, weights=_WEIGHTS if weighted else None,
                    undirected=self.undirected)

    def measure(self, graph):
        from sw.study.benchmarks.programs import parameters
        from sw.vm import reference
        given = parameters(self.algorithm, graph)
        return {"operators": reference.run(programs.find(self.algorithm), graph,
                                           **given).operators}


class _Ranked(Figure):
    """Base of all: the runs of some algorithms on the counterparts of the GPU's graphs."""
    source = "graphloom bench ranking"
    method = _METHOD
    algorithms: tuple[str, ...] = ALGORITHMS

    def _gpu(self, setting):
        return _read(setting.gpu)

    def _pairs(self, setting):
        """{counterpart: RankedPair}."""
        return {pair.here: pair for pair in _pairs(setting.gpu, setting.ranked,
                                                    setting.seeds)}

    def grid(self, setting):
        pairs, gpu = self._pairs(setting), self._gpu(setting)

        def make(graph, algorithm, way):
            if way not in gpu.records[pairs[graph].graph].get(algorithm, {}):
                return None
            return on_graph(graph, algorithm, Compared, weights=_WEIGHTS, direction=way.direction,
                            schedule=_text(way, algorithm), atomics=_atomics(way))
        return Grid({"graph": pairs, "algorithm": self.algorithms, "way": WAYS}, make)

    def further(self, setting):
        return {"operators": Grid(
            {"graph": self._pairs(setting), "algorithm": self.algorithms},
            lambda graph, algorithm: Operators(graph.graph, graph.undirected, algorithm))}

    def _measures(self, setting, found, operators):
        """By graph and algorithm that are known on both sides: a :class:`_Measures`."""
        gpu = self._gpu(setting)
        for graph, pair in self._pairs(setting).items():
            for algorithm in self.algorithms:
                there = gpu.records[pair.graph].get(algorithm)
                if there:
                    yield graph, algorithm, _Measures(
                        {way: found.records[found.places.at(
                            graph=graph, algorithm=algorithm, way=way)] for way in there},
                        there, gpu, setting.config.cores, operators.value("operators").at(
                            graph=graph, algorithm=algorithm))

    def _notes(self, setting):
        gpu = self._gpu(setting)
        return (f"{gpu.device}, driver {gpu.driver}, measured on {gpu.date}: "
                f"{setting.gpu or 'the record of this project'}.", where(setting), *(
                    f"{pair.here.label} is {pair.label}; the hub is at {pair.quantiles[1]:.2f} of "
                    f"the vertices, there at {pair.quantiles[0]:.2f}."
                    for pair in self._pairs(setting).values()))


@functools.lru_cache(maxsize=4)
def _read(path):
    return recorded.read(path or recorded.FILE)


@functools.lru_cache(maxsize=4)
def _pairs(path, choices, seeds):
    return recorded.pairs(_read(path), choices, seeds)


class _Measures:
    """The ways of an algorithm on a graph: ``here`` cycles, ``charged`` cycles with the GPU's
    launches, and ``there`` seconds; None where a run failed."""

    def __init__(self, records, there, gpu, cores, operators):
        self.records, self.recorded, self.operators = records, there, operators
        self.here = {way: record.get("cycles") for way, record in records.items()}
        self.there = {way: min(record["seconds"]) for way, record in there.items()}
        self.charged = {way: None if cycles is None or operators is None else
                        cycles + self._launches(way, gpu, cores, operators)
                        for way, cycles in self.here.items()}

    def _launches(self, way, gpu, cores, operators):
        """The cycles of the GPU's launches here: their number in proportion to the operators, and
        the time of each in proportion to the arcs that a core has in an operator."""
        record = self.recorded[way]
        asked = (record["kernels"] + record["transfers"]) / record["operators"]
        there = record["arcs"] / gpu.multiprocessors
        here = self.records[way]["arcs"] / operators / cores * record["operators"]
        return asked * operators * gpu.activity * gpu.clock * min(1.0, here / there)

    def agreements(self) -> dict:
        """The agreement of all ways, of some, and with launches, by name."""
        def some(test):
            return agreement({way: value for way, value in self.here.items() if test(way)},
                             self.there)
        return {"all": some(lambda way: True),
                **{name: some(lambda way, name=name: way.direction == name)
                   for name in ("push", "pull")},
                "without vm, wm": some(lambda way: way.schedule not in _OUTLIERS),
                "launches": agreement(self.charged, self.there)}


def _rank(found):
    """A correlation as a text."""
    return "-" if math.isnan(found.spearman) else f"{found.spearman:.2f}{'*' * found.significant}"


def _mean(values):
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else None


class Correlation(_Ranked):
    """All correlations."""
    name = "correlation"
    title = "the ranking of the schedules in software on the RTL against a GPU's"
    method = f"{_METHOD} {_LAUNCHES}"

    def results(self, setting, found, operators):
        rows, kept = [], {}
        for graph, algorithm, measures in self._measures(setting, found, operators):
            each = kept[graph, algorithm] = measures.agreements()
            every = each["all"]
            rows.append((graph.label, algorithm, str(every.ways), *map(_rank, each.values()),
                         decimal(every.pearson), times(every.regret),
                         times(each["launches"].regret)))
        names = tuple(next(iter(kept.values()), {}))
        counted = {point: each for point, each in kept.items() if point[0].counts}
        means = {algorithm: _mean(each["all"].spearman for (_, own), each in counted.items()
                                  if own == algorithm) for algorithm in self.algorithms}
        both = {
            "Spearman": _mean(each["all"].spearman for each in counted.values()),
            "Spearman without vm, wm": _mean(each["without vm, wm"].spearman
                                             for each in counted.values()),
            "log r": _mean(each["all"].pearson for each in counted.values()),
            "regret": geometric_mean(value for each in counted.values()
                                     if not math.isnan(value := each["all"].regret))}
        texts = {name: FAILED if value is None or math.isnan(value) else f"{value:.2f}"
                 for name, value in both.items()}
        return Outcome(
            tables=(Table("Agreement by graph and algorithm",
                          ("graph", "algorithm", "ways", *names, "log r", "regret",
                           "regret, launches"), tuple(rows)),),
            plots=(Plot("rank correlation with the GPU", "Spearman", self.algorithms,
                        {"graphs that count": tuple(means.values())}, reference=1.0),),
            comparisons=tuple(Comparison(f"{name}, mean of graphs that count",
                                         "1.00", text) for name, text in texts.items()),
            data={"means": both, "by algorithm": means, "agreements": {
                f"{graph.graph} {algorithm}": {name: one.to_json() for name, one in each.items()}
                for (graph, algorithm), each in kept.items()}},
            notes=self._notes(setting))


class WaysOf(_Ranked):
    """The ways of one algorithm."""

    def __init__(self, algorithm):
        self.name, self.algorithms = algorithm, (algorithm,)
        self.title = f"{algorithm}: each way over the best, on the RTL and on the GPU"

    method = f"{_METHOD} {_LAUNCHES} Times are over the best way's on the same machine."

    def results(self, setting, found, operators):
        tables, data, series = [], {}, {}
        for graph, _, measures in self._measures(setting, found, operators):
            columns = {"RTL": measures.here, "RTL, launches": measures.charged,
                       "GPU": measures.there}
            over = {name: _over_best(values) for name, values in columns.items()}
            order = sorted(measures.there, key=measures.there.__getitem__)
            tables.append(Table(
                f"{graph.label}: ways from the GPU's best to its worst",
                ("way", *columns, "RTL cycles", "GPU ms", "operators", "on the GPU",
                 "kernels, copies, clears", "vertices reached"),
                tuple((str(way), *(times(values[way]) for values in over.values()),
                       number(measures.here[way]), f"{1e3 * measures.there[way]:.3f}",
                       number(measures.operators), number(measures.recorded[way]["operators"]),
                       str(measures.recorded[way]["kernels"]
                           + measures.recorded[way]["transfers"]),
                       number(_reached(measures.records[way]))) for way in order)))
            data[graph.graph] = {str(way): {name: values[way] for name, values in over.items()}
                                 for way in order}
            series |= {f"{name}, {graph.label}": tuple(over[name].get(way) for way in WAYS)
                       for name in ("RTL", "GPU")}
        return Outcome(
            tables=tables, plots=(Plot(self.title, "time over the best way", tuple(
                map(str, WAYS)), series, reference=1.0),) if series else (),
            comparisons=tuple(Comparison(
                f"{graph.label}: best way", _best(measures.there),
                _best(measures.here)) for graph, _, measures in self._measures(
                    setting, found, operators)),
            data=data, notes=self._notes(setting))


def _over_best(values):
    known = [value for value in values.values() if value is not None]
    return {way: None if value is None else value / min(known) for way, value in values.items()}


def _reached(record):
    """The vertices that a run has reached: NaN of what is no search, None if it failed."""
    if "cycles" not in record:
        return None
    return math.nan if record["reached"] is None else record["reached"]


def _best(values):
    known = {way: value for way, value in values.items() if value is not None}
    return str(min(known, key=known.__getitem__)) if known else FAILED


class WorkOfWays(_Ranked):
    """Instructions, bytes and atomics of each way."""
    name = "work"
    title = "instructions, bytes of DRAM and atomics an arc, on the RTL and on the GPU"
    method = ("Instructions of lanes, bytes that DRAM moves, and atomics at the L2, of all kernels "
              "of a run, over the graph's arcs; the GPU's by Nsight Compute, which counts sectors "
              "of atomics. PageRank's are of one iteration. The ratio is that of the RTL over the "
              "GPU.")

    #: {what is counted: its field in the record of a GPU}.
    _KINDS = {"instructions": "lane_instructions", "bytes": "dram_bytes", "atomics": "l2_atomics"}

    def results(self, setting, found, operators):
        rows, ratios = [], {name: [] for name in self._KINDS}
        config = setting.config
        for graph, algorithm, measures in self._measures(setting, found, operators):
            for way, record in measures.records.items():
                there = measures.recorded[way]
                if "lane_instructions" not in there or "counters" not in record:
                    continue
                arcs = there["arcs"] * there["parameters"].get("iterations", 1)
                counters, cells = record["counters"], []
                counted = {"instructions": counters["lanes"], "atomics": counters["atomics"],
                           "bytes": config.line_bytes * memory_lines(counters, config)}
                for name, field in self._KINDS.items():
                    ours, theirs = counted[name] / record["arcs"], there[field] / arcs
                    ratio = ours / theirs if ours and theirs else math.nan
                    if not math.isnan(ratio):
                        ratios[name].append(ratio)
                    cells += [f"{ours:.2f}", f"{theirs:.2f}", times(ratio)]
                rows.append((graph.label, algorithm, str(way), *cells))
        return Outcome(
            tables=(Table("An arc", ("graph", "algorithm", "way", *(
                column for name in self._KINDS
                for column in (f"{name}, RTL", f"{name}, GPU", f"{name}, ratio"))), tuple(rows)),),
            plots=(), comparisons=tuple(Comparison(
                f"{name}: RTL over GPU, geometric mean", "1.00x", times(geometric_mean(values))
                if values else FAILED) for name, values in ratios.items()),
            data={"ratios": ratios}, notes=self._notes(setting))
