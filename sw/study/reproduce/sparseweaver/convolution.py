"""Graph convolution, kernel by kernel: figure 4.19."""

import os
from typing import Any

from sw.study.benchmarks.grid import Cube, Grid
from sw.study.benchmarks.system import System
from sw.study.benchmarks.units import SOFTWARE as RIVALS, UNITS, UnitRun
from sw.compile.plan import as_plan

from ..outcome import FAILED, Comparison, Outcome, bars, by_rows, number, ratio, times
from ..paper import Figure
from ..setting import where
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

    def grid(self, setting):
        return Grid({"kind": _CONTENDERS, "graph": setting.brief,
                     "contender": dict.fromkeys(sum(_CONTENDERS.values(), ()))},
                    lambda kind, choice, name: {
                        direction: self._run(setting, choice, kind, name, direction)
                        for direction in ("pull", "push")} if name in _CONTENDERS[kind] else None)

    def _found(self, found, kind, choice) -> dict[str, Any]:
        """``{contender: {kernel: {counter: value}}}``, of the better direction, with the kernel
        ``all``; None in place of a contender that failed."""
        own: dict[str, Any] = {}
        for name in _CONTENDERS[kind]:
            place = {"kind": kind, "graph": choice, "contender": name}
            way, cycles = found.best().at(**place)
            steps = found.value("steps").at(**place)
            own[name] = None if way is None else {kernel: {counter: sum(
                values[counter] for step, values in steps.items()
                if step.partition("_")[0] == kernel) for counter in ("cycles", *_COSTS)}
                for kernel in _KERNELS} | {"all": {"cycles": cycles, "direction": way}}
        known = [each for each in own if each not in _UNITS and own[each] is not None]
        best = min(known, key=lambda each: own[each]["all"]["cycles"], default=None)
        return own | {_BEST: None if best is None else own[best] | {"name": best}}

    def results(self, setting, found):
        tables, plots, comparisons, data = [], [], [], {}
        for kind, names in _CONTENDERS.items():
            every = {choice: self._found(found, kind, choice) for choice in setting.brief}
            data[kind] = {choice.label: own for choice, own in every.items()}
            tables += [by_rows(
                f"{choice.label}, coefficients {kind}: cycles",
                ("", *_KERNELS.values(), "all", "direction"), (
                    (name, [number(_cycles(own[name], kernel)) for kernel in (*_KERNELS, "all")],
                     FAILED if own[name] is None else own[name]["all"]["direction"])
                    for name in names)) for choice, own in every.items()]
            tables.append(self._costs(kind, names, every.values()))

            def gains(name, over, kernel, every=every):
                return Cube({"graph": tuple(every)}, {(choice,): ratio(
                    *(_cycles(own[each], kernel) for each in (over, name)))
                    for choice, own in every.items()})
            plots.append(bars(f"coefficients {kind}", f"speedup over {_RIVAL}", {
                name: gains(name, _RIVAL, "all") for name in _UNITS}, reference=1.0,
                paper={"paper's Weaver": published.CONVOLUTION}))
            comparisons += [Comparison(
                f"{kind}: {name} over {over}, {_KERNELS.get(kernel, kernel)}",
                times(published.CONVOLUTION) if (kind, over, kernel) == (
                    "computed", _RIVAL, "all") else "-", times(gains(name, over, kernel).mean()))
                for name in _UNITS for over, kernel in (
                    (_RIVAL, "all"), (_RIVAL, "spmm"), (_RIVAL, "graphsum"), (_BEST, "all"))]
        return Outcome(tables, plots, comparisons, data, (where(setting), HARDWARE))

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
            rows.append((name, cells))
        return by_rows(f"Coefficients {kind}: counters of all graphs, over those of {_RIVAL}; "
                       "atomics as they are",
                       ("", *(f"{_KERNELS[kernel]}: {title}" for kernel in ("spmm", "graphsum")
                              for title in _COSTS.values())), rows)


def _cycles(found, kernel):
    """The cycles of a contender's kernel; None if it failed."""
    return None if found is None else found[kernel]["cycles"]
