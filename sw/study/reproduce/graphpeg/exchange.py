"""The exchange of edges between cores: off and on, and thresholds."""

from typing import Any

from sw.study.benchmarks.grid import Grid
from sw.study.benchmarks.schedules import DIRECTIONS
from sw.study.benchmarks.units import GRAPHPEG

from ..outcome import Comparison, Outcome, Plot, by_rows, number, ratio, times
from ..paper import Figure
from ..setting import where
from . import published
from .runs import CORE, run


__all__ = ["Exchange", "Thresholds"]


_ALGORITHMS = ("bfs", "sssp")

_CORES = (2, 4, 6)

#: Exchanges, as interval and threshold; the paper's threshold is the last.
_OFF, _QUICK, _SLOW = (0, published.THRESHOLD), (64, 128), (256, published.THRESHOLD)

#: The best of these in software share the work by a counter of all cores.
_SOFTWARE = ("vm", "vwc", "em", "twc", "strict")

#: GraphPEG's runs by name: the frontier, and the exchange.
_VARIANTS = {"own lists": ("lists", _OFF), "queue": ("queue", _OFF),
             "own lists, 256/512": ("lists", _SLOW), "own lists, 64/128": ("lists", _QUICK),
             "queue, 64/128": ("queue", _QUICK)}

#: The first two give the mean difference of two cores; the others are what moved.
_COUNTERS = ("exchange_looks", "exchange_difference", "exchange_entries", "exchange_edges")


def _exchanging(setting, choice, algorithm, cores, frontier, exchange):
    """A run of GraphPEG, pushing."""
    interval, threshold = exchange
    schedule = "graphpeg" + ":lists=own" * (frontier == "lists")
    return run(setting, choice, algorithm, schedule, gather=GRAPHPEG, fields=(
        ("cores", cores), ("exchange_interval", interval), ("exchange_threshold", threshold)),
        direction="push", frontier=frontier)


class Exchange(Figure):
    """The exchange off and on."""
    name = "exchange"
    title = "edges exchanged between cores"
    source = "notes on section 3 (lightweight EF load balancing)"
    method = ("Searches that push, on two, four and six cores. With `own lists` a core takes the "
              "vertices that it has pushed itself; with `queue` all cores share one list. "
              "`256/512` is an exchange every 256 cycles from a difference of 512 edges on (the "
              "paper's threshold). `stream` is the Weaver without rounds, and `software` the "
              f"fastest of {', '.join(_SOFTWARE)} in its better direction, with `--split counter`: "
              "a counter of all cores shares the work out.")

    def grid(self, setting):
        return Grid({"algorithm": _ALGORITHMS, "cores": _CORES, "graph": setting.brief,
                     "way": (*_VARIANTS, "stream", "software")},
                    lambda *point: self._ways(setting, *point))

    @staticmethod
    def _ways(setting, algorithm, cores, choice, name):
        if name in _VARIANTS:
            return _exchanging(setting, choice, algorithm, cores, *_VARIANTS[name])
        unit: Any = {"gather": "stream"} if name == "stream" else {"split": "counter"}
        return {f"{schedule} {direction}": run(
            setting, choice, algorithm, schedule, fields=(("cores", cores),),
            direction=direction, **unit)
            for schedule in (("weaver",) if name == "stream" else _SOFTWARE)
            for direction in DIRECTIONS[algorithm]}

    def results(self, setting, found):
        tables, plots, comparisons = [], [], []
        cycles, (first, *_) = found.cycles, _VARIANTS
        gains = cycles.at(way=first) / cycles
        names, ours = gains.axes["way"], "own lists, 64/128"
        for algorithm in _ALGORITHMS:
            rows = []
            for cores in _CORES:
                here, over = (cube.at(algorithm=algorithm, cores=cores)
                              for cube in (cycles, gains))
                rows += [(f"{cores} cores, {choice.label}", each.cells(number))
                         for choice, each in here.split("graph").items()]
                rows.append((f"{cores} cores: own lists over it", over.mean().cells(times)))
                comparisons += [Comparison(
                    f"{algorithm}, {cores} cores: exchange ({ours}) over {rival}", "-",
                    times((over.at(way=ours) / over.at(way=rival)).mean()))
                    for rival in (first, "queue", "stream", "software")]
            tables.append(by_rows(f"{algorithm}: cycles", ("", *names), rows))
            plots.append(Plot(algorithm, "speedup over own lists, no exchange", tuple(
                f"{cores} cores" for cores in _CORES), {
                    name: tuple(each) for name, each
                    in gains.at(algorithm=algorithm).mean().split("way").items()}, reference=1.0))
        tables.append(self._counts(found.value("counters").at(cores=_CORES[-1])))
        return Outcome(tables, plots, comparisons, {
            f"{algorithm}, {cores} cores, {choice.label}": cycles.at(
                algorithm=algorithm, cores=cores, graph=choice).nested()
            for (algorithm, cores, choice), _ in cycles.at(way=first).items()},
            (where(setting), CORE))

    @staticmethod
    def _counts(counters):
        """The counters of the control processor, on the most cores."""
        rows = []
        for (algorithm, choice, name), its in counters.items():
            if name in ("own lists, 256/512", "own lists, 64/128"):
                looks, difference, *moved = ((its or {}).get(counter) for counter in _COUNTERS)
                apart = ratio(difference, looks)
                rows.append((f"{algorithm}, {choice.label}: {name}",
                             number(None if apart is None else round(apart, 1)), number(looks),
                             list(map(number, moved))))
        return by_rows(f"The exchange on {_CORES[-1]} cores", (
            "", "mean difference of REFS", "looks", "entries moved", "edges moved"), rows)


class Thresholds(Figure):
    """Thresholds and intervals on six cores."""
    name = "threshold"
    title = "thresholds and intervals of the exchange"
    source = "notes on section 3 (a predefined value, 512)"
    method = ("Searches that push, on six cores with own lists. Thresholds with an interval of 256 "
              "cycles, then intervals with a threshold of 128 edges.")

    _points = (*((256, threshold) for threshold in (128, 256, 512, 1024, 2048)),
               *((interval, 128) for interval in (64, 1024, 4096)))

    def grid(self, setting):
        return Grid({"algorithm": _ALGORITHMS, "graph": setting.brief, "point": self._points},
                    lambda algorithm, choice, point: _exchanging(
                        setting, choice, algorithm, _CORES[-1], "lists", point))

    def results(self, setting, found):
        cycles, first = found.cycles, (256, published.THRESHOLD)
        labels = {point: "{}/{}".format(*point) for point in self._points}
        over = (cycles.at(point=first) / cycles).mean().split("algorithm")
        rows = []
        for algorithm, its in over.items():
            rows += [(f"{algorithm}, {choice.label}", each.cells(number)) for choice, each
                     in cycles.at(algorithm=algorithm).split("graph").items()]
            rows.append((f"{algorithm}: {labels[first]} over it", its.cells(times)))
        # The threshold with the fewest cycles in the mean of all.
        means = (cycles / cycles.at(point=first)).mean("algorithm", "graph")
        known = {threshold: value for ((interval, threshold),), value in means.items()
                 if interval == 256 and value is not None}
        return Outcome(
            (by_rows("Cycles by interval and threshold", ("", *labels.values()), rows),),
            (Plot("six cores", f"speedup over {labels[first]}", tuple(labels.values()), {
                algorithm: tuple(its) for algorithm, its in over.items()}, reference=1.0),),
            (Comparison("best threshold with an interval of 256", str(published.THRESHOLD),
                        number(min(known, key=known.__getitem__, default=None))),),
            {f"{algorithm}, {choice.label}, {labels[point]}": value
             for (algorithm, choice, point), value in cycles.items()}, (where(setting), CORE))
