"""SAGE against other systems, and its parts one by one: figures 7 and 10, table 3."""

import itertools
from typing import Any

from sw.study.benchmarks.grid import Grid
from sw.study.benchmarks.units import PhasedRun, phase_share

from ..outcome import (Comparison, Outcome, bars, by_columns, by_rows, extremes, percent, ratio,
                       times)
from ..paper import Figure
from ..setting import where
from . import published
from .runs import ALGORITHMS, CORE, RESIDENT, TILE, CyclesByWay, run


__all__ = ["Parts", "Systems", "TilingShare"]


_GORDER = {"format": "csr:reorder=gorder"}
_ROUNDS = {"format": "csr:reorder=sage:rounds=19"}


class Systems(Figure):
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

    def grid(self, setting):
        return Grid({"algorithm": ALGORITHMS, "graph": setting.brief, "way": self._ways},
                    lambda algorithm, choice, name: run(setting, choice, algorithm,
                                                        **self._ways[name]))

    def results(self, setting, found):
        every = [CyclesByWay(algorithm, cycles.split("way"), "SAGE", inverse=True)
                 for algorithm, cycles in found.cycles.split("algorithm").items()]
        return Outcome(tuple(each.table() for each in every), tuple(each.plot() for each in every),
                       tuple(Comparison(f"{each.title}: SAGE over {name}, mean", "above 1",
                                        times(each.means[name]))
                             for each in every for name in ("B40C", "Tigr")),
                       {each.title: each.data() for each in every}, (where(setting), CORE))


class Parts(Figure):
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

    def grid(self, setting):
        return Grid({"cores": self._cores, "algorithm": ALGORITHMS, "graph": setting.brief,
                     "way": self._ways}, lambda cores, algorithm, choice, name: run(
                         setting, choice, algorithm, cores=cores, **self._ways[name]))

    def results(self, setting, found):
        tables, plots, comparisons, data = [], [], [], {}
        for cores in self._cores:
            rows = []
            for algorithm in ALGORITHMS:
                its = CyclesByWay(f"{algorithm}, {cores} cores", found.cycles.at(
                    cores=cores, algorithm=algorithm).split("way"), "vm")
                means = its.means
                rows.append((algorithm, list(map(times, means.values()))))
                plots.append(its.plot())
                data[its.title] = its.data()
                comparisons += [
                    Comparison(f"{its.title}: {name} over {before}, mean", "above 1",
                               times(ratio(means[name], means[before])))
                    for before, name in itertools.pairwise(self._ways)]
            tables.append(by_rows(f"Speed over vm, mean, {cores} cores", ("", *self._ways), rows))
        return Outcome(tables, plots, comparisons, data, (where(setting), CORE))


class TilingShare(Figure):
    """Table 3."""
    name = "table3"
    title = "the share of tiling"
    source = "table 3"
    method = ("Tiled Partitioning with kernels that mark all phases, which costs instructions. "
              "Tiling is the share of the phases registration and work ID in the cycles of all "
              "warps.")
    _tiling = ("registration", "work ID")

    def grid(self, setting):
        return Grid({"algorithm": ALGORITHMS, "graph": setting.brief},
                    lambda algorithm, choice: run(setting, choice, algorithm, run_class=PhasedRun,
                                                  phases=True, **TILE))

    def results(self, setting, found):
        shares = found.value("phases").map(
            lambda phases: phase_share(phases, self._tiling)).split("algorithm")
        return Outcome(
            (by_columns("The share of tiling", ("graph", shares["bfs"].labels()), *(
                (algorithm, its.cells(percent)) for algorithm, its in shares.items())),),
            (bars("Tiled Partitioning", "share of tiling", shares, None),),
            tuple(Comparison(
                f"{algorithm}: least and largest share",
                extremes([tiling / whole for tiling, whole in (
                    its[algorithm] for its in published.TILING.values())], percent, "to"),
                extremes(ours, percent, "to")) for algorithm, ours in shares.items()),
            {algorithm: its.nested() for algorithm, its in shares.items()},
            (where(setting), CORE))
