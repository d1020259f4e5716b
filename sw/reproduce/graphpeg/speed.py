"""GraphPEG against the frameworks' stand-ins, and against the other units."""

from sw.benchmarks.units import GRAPHPEG

from ..outcome import Comparison, Outcome, Plot, Table, number, ratio, times
from ..paper import Figure
from ..setting import mean, where, with_mean
from . import published
from .runs import ALGORITHMS, CORE, GUNROCK, SEP_GRAPH, STAND_INS, UNITS_SHOWN, stand_ins, units


__all__ = ["Throughput"]


#: GraphPEG is compared with all of these.
_RIVALS = (GUNROCK, SEP_GRAPH, *(name for name in UNITS_SHOWN if name != GRAPHPEG))

#: Counters that say where the cycles go.
_COUNTERS = {"instructions": "instructions", "memory_instructions": "memory instructions",
             "l1_accesses": "accesses of the L1", "weaver_waits": "cycles in which a pop waits"}


class Throughput(Figure):
    """The abstract's speedups."""
    name = "speed"
    title = "GraphPEG over stand-ins for Gunrock and SEP-Graph, and over the other units"
    source = "abstract"
    method = (f"`{GUNROCK}` is a stand-in: the fastest of the schedules {', '.join(STAND_INS)}, "
              f"pushing, with a queue. `{SEP_GRAPH}` is a stand-in: the fastest of these schedules "
              "pushing, pulling or changing direction, with a queue, a bitmap or a bytemap; its "
              "asynchronous mode is missing. SSSP near first (`--delta auto`) is not among them: "
              "it was slower in 15 of 16 pairs of runs. Each unit has the better of its "
              "directions. The abstract has six algorithms and six graphs, which the notes do not "
              "name. Means are geometric.")

    def _ways(self, setting, choice, algorithm):
        return stand_ins(setting, choice, algorithm) | units(setting, choice, algorithm)

    def cases(self, setting):
        return [case for algorithm in ALGORITHMS for choice in setting.brief
                for ways in self._ways(setting, choice, algorithm).values()
                for case in ways.values()]

    def outcome(self, setting, results):
        tables, plots, data = [], [], {}
        every = {rival: [] for rival in _RIVALS}
        for algorithm in ALGORITHMS:
            rows, data[algorithm] = [], {}
            gains = {rival: [] for rival in _RIVALS}
            for choice in setting.brief:
                best = {name: results.best(ways)
                        for name, ways in self._ways(setting, choice, algorithm).items()}
                rows.append((choice.label, *(f"{number(cycles)} ({way or '-'})"
                                             for way, cycles in best.values())))
                data[algorithm][choice.label] = {
                    name: {"way": way, "cycles": cycles} for name, (way, cycles) in best.items()}
                for rival in _RIVALS:
                    gains[rival].append(ratio(best[rival][1], best[GRAPHPEG][1]))
            means = {rival: mean(setting.brief, values) for rival, values in gains.items()}
            rows.append(("mean of GraphPEG over it", *map(times, means.values()), times(1.0)))
            tables.append(Table(f"{algorithm}: cycles", ("graph", *_RIVALS, GRAPHPEG), tuple(rows)))
            plots.append(Plot(algorithm, "speedup of GraphPEG", with_mean(setting.brief), {
                rival: (*values, means[rival]) for rival, values in gains.items()}, reference=1.0,
                paper={f"abstract, over {GUNROCK}": published.OVER[GUNROCK][0]}))
            for rival, values in gains.items():
                every[rival] += values
        tables.append(self._reasons(setting, results))
        return Outcome(tuple(tables), tuple(plots), tuple(self._comparisons(setting, every)), data,
                       (where(setting), CORE))

    def _comparisons(self, setting, every):
        graphs = setting.brief * len(ALGORITHMS)
        for rival, values in every.items():
            theirs = published.OVER.get(rival)
            known = [value for value in values if value is not None]
            yield Comparison(f"over {rival}: mean", times(theirs[0]) if theirs else "-",
                             times(mean(graphs, values)))
            yield Comparison(f"over {rival}: at most", times(theirs[1]) if theirs else "-",
                             times(max(known, default=None)))

    def _reasons(self, setting, results):
        """The counters of the Weaver without rounds and of GraphPEG on the first graph."""
        names = ("weaver (stream)", GRAPHPEG)
        rows = []
        for algorithm in ALGORITHMS:
            ways = units(setting, setting.brief[0], algorithm)
            found = []
            for name in names:
                way, _ = results.best(ways[name])
                found.append({} if way is None else results.value(ways[name][way], "counters"))
            rows += [(f"{algorithm}: {text}", *(number(each.get(counter)) for each in found))
                     for counter, text in _COUNTERS.items()]
        return Table(f"Where the cycles go, on {setting.brief[0].label}", ("", *names), tuple(rows))
