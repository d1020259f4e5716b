"""SAGE against other systems, and its parts one by one: figures 7 and 10, table 3."""

import itertools
from typing import Any

from hw.isa import PHASES
from sw.benchmarks.units import PhasedRun

from ..outcome import Comparison, Outcome, Plot, Table, percent, ratio, times
from ..setting import where
from . import published
from .compared import CyclesByWay, OfRuns
from .runs import ALGORITHMS, CORE, RESIDENT, TILE, run


__all__ = ["Parts", "Systems", "TilingShare"]


_GORDER = {"format": "csr:reorder=gorder"}
_ROUNDS = {"format": "csr:reorder=sage:rounds=19"}


class Systems(OfRuns):
    """Figure 7."""
    name = "fig7"
    title = "SAGE over B40C, Tigr and our best schedules"
    source = "figure 7"
    method = ("B40C is `twc`, and Tigr `vm` on format `tigr`, both also ordered by Gorder. SAGE "
              "has resident tiles after 19 rounds of reordering. Beside them other schedules that "
              "share edges, and two units. Ligra, Gunrock and Groute are missing: they are other "
              "machines, or asynchronous.")
    _ways: dict[str, dict[str, Any]] = {
        "B40C": {"schedule": "twc"}, "B40C, Gorder": {"schedule": "twc"} | _GORDER,
        "Tigr": {"schedule": "vm", "format": "tigr"},
        "Tigr, Gorder": {"schedule": "vm", "format": "tigr:reorder=gorder"},
        "vwc": {"schedule": "vwc"}, "wm": {"schedule": "wm"}, "etwc": {"schedule": "etwc"},
        "em": {"schedule": "em"}, "weaver (stream)": {"unit": "stream"},
        "graphpeg": {"unit": "graphpeg"}, "tile": TILE, "SAGE": RESIDENT | _ROUNDS}

    def runs(self, setting):
        return {(algorithm, choice, name): run(setting, choice, algorithm, **way)
                for algorithm in ALGORITHMS for choice in setting.brief
                for name, way in self._ways.items()}

    def outcome(self, setting, results):
        runs, shown = self.runs(setting), setting.brief
        found = [CyclesByWay(algorithm, shown, {
            (choice, name): results.cycles(runs[algorithm, choice, name])
            for choice in shown for name in self._ways}, "SAGE", inverse=True)
            for algorithm in ALGORITHMS]
        return Outcome(tuple(each.table() for each in found), tuple(each.plot() for each in found),
                       tuple(Comparison(f"{each.title}: SAGE over {name}, mean", "above 1",
                                        times(each.means[name]))
                             for each in found for name in ("B40C", "Tigr")),
                       {each.title: each.data() for each in found}, (where(setting), CORE))


class Parts(OfRuns):
    """Figure 10."""
    name = "fig10"
    title = "the parts of SAGE, one after another"
    source = "figure 10"
    method = ("A vertex for each lane (`vm`), then Tiled Partitioning, resident tiles, and "
              "resident tiles after 19 rounds of reordering, on one core and on six.")
    _cores = (1, 6)
    _ways: dict[str, dict[str, Any]] = {
        "vm": {"schedule": "vm"}, "tile": TILE, "resident": RESIDENT,
        "reordered": RESIDENT | _ROUNDS}

    def runs(self, setting):
        return {(cores, algorithm, choice, name): run(setting, choice, algorithm, cores=cores,
                                                      **way)
                for cores in self._cores for algorithm in ALGORITHMS for choice in setting.brief
                for name, way in self._ways.items()}

    def outcome(self, setting, results):
        runs, shown = self.runs(setting), setting.brief
        tables, plots, comparisons, data = [], [], [], {}
        for cores in self._cores:
            rows = []
            for algorithm in ALGORITHMS:
                found = CyclesByWay(f"{algorithm}, {cores} cores", shown, {
                    (choice, name): results.cycles(runs[cores, algorithm, choice, name])
                    for choice in shown for name in self._ways}, "vm")
                means = found.means
                rows.append((algorithm, *map(times, means.values())))
                plots.append(found.plot())
                data[found.title] = found.data()
                comparisons += [
                    Comparison(f"{found.title}: {name} over {before}, mean", "above 1",
                               times(ratio(means[name], means[before])))
                    for before, name in itertools.pairwise(self._ways)]
            tables.append(Table(f"Speed over vm, mean, {cores} cores", ("", *self._ways),
                                tuple(rows)))
        return Outcome(tuple(tables), tuple(plots), tuple(comparisons), data,
                       (where(setting), CORE))


class TilingShare(OfRuns):
    """Table 3."""
    name = "table3"
    title = "the share of tiling"
    source = "table 3"
    method = ("Tiled Partitioning with kernels that mark all phases, which costs instructions. "
              "Tiling is the share of the phases registration and work ID in the cycles of all "
              "warps.")
    _tiling = ("registration", "work ID")

    def runs(self, setting):
        return {(algorithm, choice): run(setting, choice, algorithm, run_class=PhasedRun,
                                         phases=True, **TILE)
                for algorithm in ALGORITHMS for choice in setting.brief}

    def outcome(self, setting, results):
        runs, shown, rows, shares = self.runs(setting), setting.brief, [], {}
        for choice in shown:
            for algorithm in ALGORITHMS:
                phases = results.value(runs[algorithm, choice], "phases")
                cycles = None if phases is None else dict(zip(PHASES, phases))
                shares[algorithm, choice] = None if cycles is None else ratio(
                    sum(cycles[name] for name in self._tiling), sum(cycles.values()))
            rows.append((choice.label, *(percent(shares[algorithm, choice])
                                         for algorithm in ALGORITHMS)))
        comparisons = []
        for algorithm in ALGORITHMS:
            theirs = [tiling / whole for tiling, whole in (
                its[algorithm] for its in published.TILING.values())]
            ours = [shares[algorithm, choice] for choice in shown
                    if shares[algorithm, choice] is not None]
            comparisons.append(Comparison(
                f"{algorithm}: least and largest share",
                f"{percent(min(theirs))} to {percent(max(theirs))}",
                f"{percent(min(ours))} to {percent(max(ours))}" if ours else percent(None)))
        plot = Plot("Tiled Partitioning", "share of tiling",
                    tuple(choice.label for choice in shown),
                    {algorithm: tuple(shares[algorithm, choice] for choice in shown)
                     for algorithm in ALGORITHMS})
        return Outcome((Table("The share of tiling", ("graph", *ALGORITHMS), tuple(rows)),),
                       (plot,), tuple(comparisons),
                       {algorithm: {choice.label: shares[algorithm, choice] for choice in shown}
                        for algorithm in ALGORITHMS}, (where(setting), CORE))
