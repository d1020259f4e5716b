"""Ways to balance the load: tables 6.5 and 6.6."""

from typing import Any

from ..outcome import Comparison, Outcome, Plot, Table, geometric_mean, number, ratio, times
from ..paper import Figure
from ..setting import where
from . import published
from .runs import (absence, balanced, best, device, is_road, least, not_run, program_times,
                   seconds_text)


__all__ = ["BalancedComponents", "BalancedSearch"]


#: The thesis' three ways, by their names here and in the scheduling language.
_WAYS = ("etwc", "twc", "cm")


class _Balanced(Figure):
    """Base of both."""
    title: Any = None
    _algorithm: str
    _directions: tuple[str, ...] = ("push",)
    _published: dict

    def _runs(self, choice):
        """{schedule: {direction: case}}."""
        return {schedule: {direction: device(
            choice, self._algorithm, schedule=schedule, direction=direction)
            for direction in self._directions} for schedule in _WAYS}

    def _of_cuda(self, setting, choice):
        return program_times(setting, choice, "cuda", self._algorithm,
                             balanced(self._algorithm, _WAYS, self._directions))

    def cases(self, setting):
        found = [case for choice in setting.crossed for ways in self._runs(choice).values()
                 for case in ways.values()]
        if absence() is None:
            found += [self._of_cuda(setting, choice) for choice in setting.timed]
        return found

    def outcome(self, setting, results):
        rows, data, cycles = [], {}, {}
        for choice in setting.crossed:
            cycles[choice] = its = {schedule: best(results, ways, setting.config)[1]
                                    for schedule, ways in self._runs(choice).items()}
            rows.append((choice.label, *map(number, its.values()),
                         *(times(ratio(its[name], its["etwc"])) for name in _WAYS[1:])))
            data[choice.label] = its
        tables = [Table("Cycles", ("graph", *_WAYS, *(f"{name} over etwc" for name in _WAYS[1:])),
                        tuple(rows)),
                  Table("The thesis, in milliseconds", ("graph", *_WAYS, *(
                      f"{name} over etwc" for name in _WAYS[1:])), tuple(
                          (graph, *(f"{time:.2f}" for time in its),
                           *(times(time / its[0]) for time in its[1:]))
                          for graph, its in self._published.items()))]
        comparisons = []
        for road, kind in ((True, "roads"), (False, "power laws")):
            for number_, name in enumerate(_WAYS[1:], 1):
                theirs = geometric_mean(its[number_] / its[0] for graph, its
                                        in self._published.items()
                                        if (graph in published.ROADS) == road)
                ours = geometric_mean(ratio(its[name], its["etwc"])
                                      for choice, its in cycles.items() if is_road(choice) == road)
                comparisons.append(Comparison(f"{kind}: {name} over etwc, mean", times(theirs),
                                              times(ours)))
        notes = [where(setting)]
        if absence() is None:
            table, more = self._with_cuda(setting, results)
            tables.append(table)
            data["cuda"] = more
        else:
            notes.append(not_run())
        plot = Plot(self.title, "cycles, of etwc's",
                    tuple(choice.label for choice in setting.crossed), {
                        name: tuple(ratio(its[name], its["etwc"]) for its in cycles.values())
                        for name in _WAYS}, reference=1.0)
        return Outcome(tuple(tables), (plot,), tuple(comparisons), data, tuple(notes))

    def _with_cuda(self, setting, results):
        rows, data = [], {}
        for choice in setting.timed:
            case = self._of_cuda(setting, choice)
            its = {name: least(results, case, lambda text, name=name: text.startswith(name))[1]
                   for name in _WAYS}
            rows.append((choice.label, *map(seconds_text, its.values()),
                         *(times(ratio(its[name], its["etwc"])) for name in _WAYS[1:])))
            data[choice.label] = its
        return Table("The GraphVM cuda, in milliseconds", (
            "graph", *_WAYS, *(f"{name} over etwc" for name in _WAYS[1:])), tuple(rows)), data


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
