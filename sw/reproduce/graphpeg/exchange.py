"""The exchange of edges between cores: off and on, and thresholds."""

from sw.benchmarks.schedules import DIRECTIONS
from sw.benchmarks.units import GRAPHPEG

from ..outcome import Comparison, Outcome, Plot, Table, number, ratio, times
from ..paper import Figure
from ..setting import mean, where
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

    def _runs(self, setting, choice, algorithm, cores):
        fields = (("cores", cores),)
        found = {name: {name: _exchanging(setting, choice, algorithm, cores, *variant)}
                 for name, variant in _VARIANTS.items()}
        found["stream"] = {direction: run(setting, choice, algorithm, "weaver", gather="stream",
                                          fields=fields, direction=direction)
                           for direction in DIRECTIONS[algorithm]}
        found["software"] = {f"{schedule} {direction}": run(
            setting, choice, algorithm, schedule, fields=fields, direction=direction,
            split="counter") for schedule in _SOFTWARE for direction in DIRECTIONS[algorithm]}
        return found

    def cases(self, setting):
        return [case for algorithm in _ALGORITHMS for cores in _CORES for choice in setting.brief
                for ways in self._runs(setting, choice, algorithm, cores).values()
                for case in ways.values()]

    def outcome(self, setting, results):
        tables, plots, comparisons, data = [], [], [], {}
        names = (*_VARIANTS, "stream", "software")
        for algorithm in _ALGORITHMS:
            rows, gains = [], {name: [] for name in names}
            for cores in _CORES:
                over = {name: [] for name in names}
                for choice in setting.brief:
                    cycles = {name: results.best(ways)[1] for name, ways in
                              self._runs(setting, choice, algorithm, cores).items()}
                    rows.append((f"{cores} cores, {choice.label}",
                                 *(number(cycles[name]) for name in names)))
                    data[f"{algorithm}, {cores} cores, {choice.label}"] = cycles
                    for name in names:
                        over[name].append(ratio(cycles["own lists"], cycles[name]))
                means = {name: mean(setting.brief, values) for name, values in over.items()}
                rows.append((f"{cores} cores: own lists over it", *map(times, means.values())))
                for name in names:
                    gains[name].append(means[name])
                comparisons += [
                    Comparison(f"{algorithm}, {cores} cores: exchange ({name}) over {rival}", "-",
                               times(mean(setting.brief, [
                                   ratio(*pair) for pair in zip(over[name], over[rival])])))
                    for name in ("own lists, 64/128",)
                    for rival in ("own lists", "queue", "stream", "software")]
            tables.append(Table(f"{algorithm}: cycles", ("", *names), tuple(rows)))
            plots.append(Plot(algorithm, "speedup over own lists, no exchange", tuple(
                f"{cores} cores" for cores in _CORES), {
                    name: tuple(values) for name, values in gains.items()}, reference=1.0))
        tables.append(self._counts(setting, results))
        return Outcome(tuple(tables), tuple(plots), tuple(comparisons), data,
                       (where(setting), CORE))

    def _counts(self, setting, results):
        """The counters of the control processor, on the most cores."""
        rows = []
        for algorithm in _ALGORITHMS:
            for choice in setting.brief:
                for name in ("own lists, 256/512", "own lists, 64/128"):
                    case = _exchanging(setting, choice, algorithm, _CORES[-1], *_VARIANTS[name])
                    counters = results.value(case, "counters") or {}
                    found = {counter: counters.get(counter) for counter in _COUNTERS}
                    apart = ratio(found["exchange_difference"], found["exchange_looks"])
                    rows.append((f"{algorithm}, {choice.label}: {name}",
                                 number(None if apart is None else round(apart, 1)),
                                 number(found["exchange_looks"]),
                                 number(found["exchange_entries"]),
                                 number(found["exchange_edges"])))
        return Table(f"The exchange on {_CORES[-1]} cores", (
            "", "mean difference of REFS", "looks", "entries moved", "edges moved"), tuple(rows))


class Thresholds(Figure):
    """Thresholds and intervals on six cores."""
    name = "threshold"
    title = "thresholds and intervals of the exchange"
    source = "notes on section 3 (a predefined value, 512)"
    method = ("Searches that push, on six cores with own lists. Thresholds with an interval of 256 "
              "cycles, then intervals with a threshold of 128 edges.")

    _points = (*((256, threshold) for threshold in (128, 256, 512, 1024, 2048)),
               *((interval, 128) for interval in (64, 1024, 4096)))

    def _runs(self, setting):
        return {(algorithm, choice, point): _exchanging(
            setting, choice, algorithm, _CORES[-1], "lists", point)
            for algorithm in _ALGORITHMS for choice in setting.brief for point in self._points}

    def cases(self, setting):
        return list(self._runs(setting).values())

    def outcome(self, setting, results):
        cycles = {key: results.cycles(case) for key, case in self._runs(setting).items()}
        labels = {point: "{}/{}".format(*point) for point in self._points}
        first = (256, published.THRESHOLD)
        rows, series = [], {}
        for algorithm in _ALGORITHMS:
            rows += [(f"{algorithm}, {choice.label}", *(number(cycles[algorithm, choice, point])
                                                        for point in self._points))
                     for choice in setting.brief]
            series[algorithm] = tuple(mean(setting.brief, [
                ratio(cycles[algorithm, choice, first], cycles[algorithm, choice, point])
                for choice in setting.brief]) for point in self._points)
            rows.append((f"{algorithm}: {labels[first]} over it", *map(times, series[algorithm])))
        return Outcome(
            (Table("Cycles by interval and threshold", ("", *labels.values()), tuple(rows)),),
            (Plot("six cores", f"speedup over {labels[first]}", tuple(labels.values()), series,
                  reference=1.0),),
            (Comparison("best threshold with an interval of 256", str(published.THRESHOLD),
                        number(self._best(setting, cycles))),),
            {f"{algorithm}, {choice.label}, {labels[point]}": value
             for (algorithm, choice, point), value in cycles.items()}, (where(setting), CORE))

    def _best(self, setting, cycles):
        """The threshold with the fewest cycles in the mean of all; None if all runs failed."""
        means = {threshold: mean(setting.brief * len(_ALGORITHMS), [
            ratio(cycles[algorithm, choice, (256, threshold)],
                  cycles[algorithm, choice, (256, published.THRESHOLD)])
            for algorithm in _ALGORITHMS for choice in setting.brief])
            for interval, threshold in self._points if interval == 256}
        known = {threshold: value for threshold, value in means.items() if value is not None}
        return min(known, key=known.__getitem__, default=None)
