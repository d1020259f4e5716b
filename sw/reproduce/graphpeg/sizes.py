"""The sizes of the unit: cycles by table, buffer and loads under way, and the area."""

from hw.config import LEGAL, preset
from sw.benchmarks.units import GRAPHPEG

from ..area import CoreArea, area_plot, area_table, areas
from ..outcome import Comparison, Outcome, Plot, Table, number, percent, ratio, times
from ..paper import Figure
from ..setting import mean, where
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

    def _points(self, setting):
        """{(field, value): fields that differ from the defaults}."""
        return {(field, value): () if value == getattr(setting.config, field)
                else ((field, value),) for field in _FIELDS for value in LEGAL[field].values}

    def _runs(self, setting):
        return {(algorithm, choice, point): run(
            setting, choice, algorithm, GRAPHPEG, gather=GRAPHPEG, fields=fields,
            direction=direction) for algorithm, direction in _RUNS.items()
            for choice in setting.brief for point, fields in self._points(setting).items()}

    def cases(self, setting):
        return list(self._runs(setting).values())

    def outcome(self, setting, results):
        cycles = {key: results.cycles(case) for key, case in self._runs(setting).items()}
        tables, plots, comparisons = [], [], []
        for field in _FIELDS:
            values = LEGAL[field].values
            default = getattr(setting.config, field)
            rows, series = [], {}
            for algorithm in _RUNS:
                rows += [(f"{algorithm}, {choice.label}", *(
                    number(cycles[algorithm, choice, (field, value)]) for value in values))
                    for choice in setting.brief]
                series[algorithm] = tuple(mean(setting.brief, [
                    ratio(cycles[algorithm, choice, (field, value)],
                          cycles[algorithm, choice, (field, default)])
                    for choice in setting.brief]) for value in values)
                rows.append((f"{algorithm}: cycles over those of {default}",
                             *map(times, series[algorithm])))
                comparisons.append(Comparison(
                    f"{algorithm}: cycles with {field} = {values[0]} over {default}", "-",
                    times(series[algorithm][0])))
            tables.append(Table(f"{field}: cycles", ("", *map(str, values)), tuple(rows)))
            plots.append(Plot(field, f"cycles over those of {default}", tuple(map(str, values)),
                              series, reference=1.0))
        return Outcome(tuple(tables), tuple(plots), tuple(comparisons),
                       {f"{algorithm}, {choice.label}, {field}={value}": found for
                        (algorithm, choice, (field, value)), found in cycles.items()},
                       (where(setting), CORE))


class AddedArea(Figure):
    """The area of a core with the unit."""
    name = "area"
    title = "the area that the unit adds to a core"
    source = "ours: the notes have no area"
    method = ("Logic synthesis of the core of preset `fpga` (8 lanes), with and without each unit, "
              "by Yosys. `exchange` is the unit with its part of the exchange; the control "
              "processor is outside the core.")

    def _cases(self):
        core = preset("fpga")
        kinds = {"none": {}, "stream": {}, "eghw": {},
                 **{f"graphpeg, {entries} entries": {"gather": GRAPHPEG, "alwt_entries": entries}
                    for entries in (16, 64)},
                 "graphpeg, 64 entries, exchange": {"gather": GRAPHPEG, "cores": 2,
                                                    "exchange_interval": 64}}
        return {name: CoreArea(core.replace(**{"gather": name, **fields}, name="fpga"))
                for name, fields in kinds.items()}

    def cases(self, setting):
        return list(self._cases().values())

    def outcome(self, setting, results):
        found, added = areas(self._cases(), results)
        _, *units = found
        return Outcome((area_table("unit", found, added),), (area_plot(added, units),),
                       tuple(Comparison(f"{name}: LUT4 added", "-", percent(added[name]["lut4"]))
                             for name in units), found)
