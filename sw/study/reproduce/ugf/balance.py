"""Ways to balance the load: tables 6.5 and 6.6."""

from typing import Any

from sw.study.benchmarks.grid import Grid, by_point

from ..outcome import (Comparison, Outcome, bars, by_columns, by_rows, geometric_mean, number,
                       times)
from ..paper import Figure
from ..setting import where
from . import published
from .runs import (absence, balanced, best, device, is_road, least, not_run, program_times,
                   seconds_text)


__all__ = ["BalancedComponents", "BalancedSearch"]


#: The thesis' three ways, by their names here and in the scheduling language.
_WAYS = ("etwc", "twc", "cm")

_COLUMNS = (*_WAYS, *(f"{name} over etwc" for name in _WAYS[1:]))


class _Balanced(Figure):
    """Base of both."""
    title: Any = None
    _algorithm: str
    _directions: tuple[str, ...] = ("push",)
    _published: dict

    def grid(self, setting):
        return Grid({"graph": setting.crossed, "schedule": _WAYS}, lambda choice, schedule: {
            direction: device(choice, self._algorithm, schedule=schedule, direction=direction)
            for direction in self._directions})

    def further(self, setting):
        return {} if absence() is not None else {
            "timed": Grid({"graph": setting.timed}, lambda choice: program_times(
                setting, choice, "cuda", self._algorithm,
                balanced(self._algorithm, _WAYS, self._directions)))}

    def results(self, setting, found, timed=None):
        cycles = found.by(best(setting.config)).cycles
        over = (cycles / cycles.at(schedule="etwc")).split("schedule")
        labels, data = over["etwc"].axes["graph"], cycles.nested()
        tables = [self._table("Cycles", cycles.split("schedule"), number),
                  by_rows("The thesis, in milliseconds", ("graph", *_COLUMNS), (
                      (graph, [f"{time:.2f}" for time in its],
                       [times(time / its[0]) for time in its[1:]])
                      for graph, its in self._published.items()))]
        comparisons = []
        for road, kind in ((True, "roads"), (False, "power laws")):
            for place, name in enumerate(_WAYS[1:], 1):
                theirs = geometric_mean(its[place] / its[0] for graph, its
                                        in self._published.items()
                                        if (graph in published.ROADS) == road)
                ours = geometric_mean(value for choice, value in zip(labels, over[name])
                                      if is_road(choice) == road)
                comparisons.append(Comparison(f"{kind}: {name} over etwc, mean", times(theirs),
                                              times(ours)))
        notes = [where(setting)]
        if timed is not None:
            its = {name: timed.of(least, lambda text, name=name: text.startswith(name)).map(
                lambda pair: pair[1]) for name in _WAYS}
            tables.append(self._table("The GraphVM cuda, in milliseconds", its, seconds_text))
            data["cuda"] = by_point(its)
        else:
            notes.append(not_run())
        plot = bars(self.title, "cycles, of etwc's", over, None, reference=1.0)
        return Outcome(tables, (plot,), comparisons, data, notes)

    @staticmethod
    def _table(title, its, text):
        return by_columns(title, ("graph", its["etwc"].labels()), *zip(_COLUMNS, (
            *(each.cells(text) for each in its.values()),
            *((its[name] / its["etwc"]).cells(times) for name in _WAYS[1:]))))


class BalancedSearch(_Balanced):
    """Table 6.5."""
    name = "table6.5"
    title = "BFS under ETWC, TWC and CM"
    source = "table 6.5, section 6.4"
    method = ("Pushing, as in the thesis, without kernel fusion; every other choice the "
              "algorithm's own. On the GraphVM cuda, where a GPU answers, milliseconds.")
    _algorithm = "bfs"
    _published = published.BALANCED_BFS


class BalancedComponents(_Balanced):
    """Table 6.6."""
    name = "table6.6"
    title = "CC under ETWC, TWC and CM"
    source = "table 6.6, section 6.4"
    method = ("The better direction; every other choice the algorithm's own. On the GraphVM cuda, "
              "where a GPU answers, milliseconds.")
    _algorithm = "cc"
    _directions = ("push", "pull")
    _published = published.BALANCED_CC
