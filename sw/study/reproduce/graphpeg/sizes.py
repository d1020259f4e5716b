"""The sizes of the unit: cycles by table, buffer and loads under way, and the area."""

from hw.config import LEGAL, preset
from sw.study.benchmarks.grid import Grid, by_point
from sw.study.benchmarks.units import GRAPHPEG

from ..area import area_grid, area_plot, area_table, areas
from ..outcome import Comparison, Outcome, Plot, by_rows, number, percent, times
from ..paper import Figure
from ..setting import where
from .runs import CORE, run


__all__ = ["AddedArea", "Sizes"]


#: Algorithms, and their directions.
_RUNS = {"bfs": "push", "pagerank": "pull"}

_FIELDS = ("alwt_entries", "gather_requests", "edge_buffer_rows")


class Sizes(Figure):
    """Cycles by the sizes of the unit."""
    name = "sizes"
    title = "the table, the loads under way and the edge buffer"
    source = "ours: the notes have no sizes"
    method = ("One core. One size is changed at a time, and the others are the defaults. BFS "
              "pushes, PageRank pulls one iteration.")

    def grid(self, setting):
        points = [(field, value) for field in _FIELDS for value in LEGAL[field].values]

        def make(algorithm, choice, point):
            field, value = point
            return run(setting, choice, algorithm, GRAPHPEG, gather=GRAPHPEG,
                       fields=() if value == getattr(setting.config, field) else (point,),
                       direction=_RUNS[algorithm])
        return Grid({"algorithm": _RUNS, "graph": setting.brief, "size": points}, make)

    def results(self, setting, found):
        tables, plots, comparisons, cycles = [], [], [], found.cycles
        for field in _FIELDS:
            values, default = LEGAL[field].values, getattr(setting.config, field)
            over = (cycles / cycles.at(size=(field, default))).mean()
            series = {algorithm: [over.at(algorithm=algorithm, size=(field, value))
                                  for value in values] for algorithm in _RUNS}
            rows = []
            for algorithm, parts in series.items():
                rows += [(f"{algorithm}, {choice.label}", [number(cycles.at(
                    algorithm=algorithm, graph=choice, size=(field, value))) for value in values])
                    for choice in setting.brief]
                rows.append((f"{algorithm}: cycles over those of {default}",
                             list(map(times, parts))))
                comparisons.append(Comparison(
                    f"{algorithm}: cycles with {field} = {values[0]} over {default}", "-",
                    times(parts[0])))
            tables.append(by_rows(f"{field}: cycles", ("", *map(str, values)), rows))
            plots.append(Plot(field, f"cycles over those of {default}", tuple(map(str, values)), {
                name: tuple(parts) for name, parts in series.items()}, reference=1.0))
        return Outcome(tables, plots, comparisons, {
            f"{algorithm}, {choice.label}, {field}={value}": number
            for (algorithm, choice, (field, value)), number in cycles.items()},
            (where(setting), CORE))


class AddedArea(Figure):
    """The area of a core with the unit."""
    name = "area"
    title = "the area that the unit adds to a core"
    source = "ours: the notes have no area"
    method = ("Logic synthesis of the core of preset `fpga` (8 lanes), with and without each unit, "
              "by Yosys. `exchange` is the unit with its part of the exchange; the control "
              "processor is outside the core.")

    def grid(self, setting):
        core = preset("fpga")
        kinds = {"none": {}, "stream": {}, "eghw": {},
                 **{f"graphpeg, {entries} entries": {"gather": GRAPHPEG, "alwt_entries": entries}
                    for entries in (16, 64)},
                 "graphpeg, 64 entries, exchange": {"gather": GRAPHPEG, "cores": 2,
                                                    "exchange_interval": 64}}
        return area_grid({name: core.replace(**{"gather": name, **fields}, name="fpga")
                          for name, fields in kinds.items()})

    def results(self, setting, found):
        area, added = areas(found)
        return Outcome((area_table("unit", area, added),), (area_plot(added),),
                       tuple(Comparison(f"{name}: LUT4 added", "-", percent(value))
                             for (name,), value in list(added["lut4"].items())[1:]),
                       by_point(area))
