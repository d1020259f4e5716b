"""Graph convolution, kernel by kernel: figure 4.19."""

import os
from typing import Any

from sw.benchmarks.system import System
from sw.benchmarks.units import SOFTWARE as RIVALS, UNITS, UnitRun
from sw.runtime.plan import as_plan

from ..outcome import Comparison, Outcome, Plot, Table, number, ratio, times
from ..paper import Figure
from ..setting import mean, where, with_mean
from . import published
from .runs import HARDWARE, WEAVERS


__all__ = ["Convolution"]


#: The paper's rival: lanes over the weights first, then over the vertices.
_RIVAL = "vm:parallel=weights"

#: The schedules in software.
_SOFTWARE = (_RIVAL, *RIVALS)

#: The name of the best of them, for each graph.
_BEST = "best"

#: The paper's use of a unit that hands out edges: a lane does all words of its edge, by atomics.
_ALONE = ", a lane an edge"

#: The contenders with a unit: their names in tables, the unit, and whether the lanes of a warp do
#: the work of an edge together. The paper's unit, which is the first, also runs in the paper's way.
_PAPERS, *_ = WEAVERS
_UNITS = {name: (unit, None) for name, unit in WEAVERS.items()}
_UNITS |= {_PAPERS + _ALONE: (WEAVERS[_PAPERS], "no")}

#: The contenders by the way to coefficients.
_CONTENDERS = {"stored": (*_SOFTWARE, *_UNITS), "computed": (_RIVAL, "em", *_UNITS)}

#: The kernels, and their names in tables. A set of kernels counts as one.
_KERNELS = {"init": "init", "spmm": "SpMM", "graphsum": "GraphSum"}

#: Counters that tell the cost of a kernel, with titles.
_COSTS = {"instructions": "instructions", "l1_accesses": "lines accessed", "atomics": "atomics"}

#: Columns of the weight matrix, in the paper and here.
_DIMENSION = 16

#: Features of a generated graph: about 8 entries a vertex.
_COLUMNS, _DENSITY = 1024, 1 / 128


class Convolution(Figure):
    """Figure 4.19."""
    name = "fig4.19"
    title = "GCN: the Weaver over vertex mapping by weights, and over the best in software"
    source = "figure 4.19, section 4.6.9"
    method = (f"GCN with {_DIMENSION} columns of weights, each contender in the better of its "
              f"directions. `{_RIVAL}` is the paper's rival. `best` is the fastest schedule in "
              "software for each graph. Under a unit, the lanes of a warp take edges and do the "
              f"words of an edge together; with `{_ALONE.strip(', ')}`, as in the paper, each lane "
              "does all words of its edge, by atomics. Coefficients are `stored`, as a table of "
              "1 / sqrt(degree), or `computed` from the degrees for each edge, as in the paper. "
              f"Graphs have random features ({_COLUMNS} columns, density {_DENSITY:g}); a graph "
              "`NAME.el` of a folder has those of `NAME_features.npz`, if they are there. Means "
              "are geometric.")

    def _run(self, setting, choice, kind, name, direction):
        unit, together = _UNITS.get(name, (UNITS[0], None))
        config = setting.config.replace(gather=unit)
        system = System(config.replace(name=f"{setting.config.name} {unit}"), setting.dram)
        path = os.path.splitext(choice.graph)[0] + "_features.npz"
        features = {"features": path} if os.path.isfile(path) else {
            "columns": _COLUMNS, "density": _DENSITY}
        return UnitRun(choice.graph, choice.undirected, as_plan(
            "gcn", dimension=_DIMENSION, direction=direction, together=together, coefficients=kind,
            schedule="weaver" if name in _UNITS else name, **features), system=system)

    def _runs(self, setting, choice, kind):
        return {name: {direction: self._run(setting, choice, kind, name, direction)
                       for direction in ("pull", "push")} for name in _CONTENDERS[kind]}

    def cases(self, setting):
        return [case for kind in _CONTENDERS for choice in setting.brief
                for ways in self._runs(setting, choice, kind).values() for case in ways.values()]

    def _found(self, setting, results, choice, kind) -> dict[str, Any]:
        """``{contender: {kernel: {counter: value}}}``, of the better direction, with the kernel
        ``all``; None in place of a contender that failed."""
        found: dict[str, Any] = {}
        for name, ways in self._runs(setting, choice, kind).items():
            way, cycles = results.best(ways)
            if way is None:
                found[name] = None
                continue
            steps = results.value(ways[way], "steps")
            found[name] = {kernel: {counter: sum(
                values[counter] for step, values in steps.items()
                if step.partition("_")[0] == kernel) for counter in ("cycles", *_COSTS)}
                for kernel in _KERNELS} | {"all": {"cycles": cycles, "direction": way}}
        known = [each for each in found if each not in _UNITS and found[each] is not None]
        best = min(known, key=lambda each: found[each]["all"]["cycles"], default=None)
        return found | {_BEST: None if best is None else found[best] | {"name": best}}

    @staticmethod
    def _cycles(found, name, kernel):
        return None if found[name] is None else found[name][kernel]["cycles"]

    def outcome(self, setting, results):
        tables, plots, comparisons, data = [], [], [], {}
        for kind, names in _CONTENDERS.items():
            every = {choice: self._found(setting, results, choice, kind)
                     for choice in setting.brief}
            data[kind] = {choice.label: found for choice, found in every.items()}
            for choice, found in every.items():
                rows = [(name, *(number(self._cycles(found, name, kernel))
                                 for kernel in (*_KERNELS, "all")),
                         number(None) if found[name] is None else found[name]["all"]["direction"])
                        for name in names]
                tables.append(Table(f"{choice.label}, coefficients {kind}: cycles",
                                    ("", *_KERNELS.values(), "all", "direction"), tuple(rows)))
            tables.append(self._costs(kind, names, every.values()))
            bars = {name: self._gains(every, name, _RIVAL, "all") for name in _UNITS}
            plots.append(Plot(f"coefficients {kind}", f"speedup over {_RIVAL}",
                              with_mean(setting.brief), {
                                  name: (*values, mean(setting.brief, values))
                                  for name, values in bars.items()}, reference=1.0,
                              paper={"paper's Weaver": published.CONVOLUTION}))
            comparisons += [self._compared(setting, kind, every, name, over, kernel)
                            for name in _UNITS for over, kernel in (
                                (_RIVAL, "all"), (_RIVAL, "spmm"), (_RIVAL, "graphsum"),
                                (_BEST, "all"))]
        return Outcome(tuple(tables), tuple(plots), tuple(comparisons), data,
                       (where(setting), HARDWARE))

    def _gains(self, every, name, over, kernel):
        return [ratio(self._cycles(found, over, kernel), self._cycles(found, name, kernel))
                for found in every.values()]

    def _compared(self, setting, kind, every, name, over, kernel):
        paper = (kind, over, kernel) == ("computed", _RIVAL, "all")
        return Comparison(f"{kind}: {name} over {over}, {_KERNELS.get(kernel, kernel)}",
                          times(published.CONVOLUTION) if paper else "-",
                          times(mean(setting.brief, self._gains(every, name, over, kernel))))

    @staticmethod
    def _costs(kind, names, every):
        """The counters of both kernels, summed over the graphs, over those of the rival."""
        rows = []
        for name in (_BEST, *names):
            cells = []
            for kernel in ("spmm", "graphsum"):
                for counter in _COSTS:
                    own, rival = (sum(found[each][kernel][counter] for found in every)
                                  if all(found[each] for found in every) else None
                                  for each in (name, _RIVAL))
                    cells.append(number(own) if counter == "atomics" else times(ratio(own, rival)))
            rows.append((name, *cells))
        return Table(f"Coefficients {kind}: counters of all graphs, over those of {_RIVAL}; "
                     "atomics as they are",
                     ("", *(f"{_KERNELS[kernel]}: {title}" for kernel in ("spmm", "graphsum")
                            for title in _COSTS.values())), tuple(rows))
