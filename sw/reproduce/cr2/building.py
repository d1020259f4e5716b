"""Build time of storage formats: figure 3.11 and table 3.6."""

import statistics

from ..measure import BuildTime
from ..outcome import Comparison, Outcome, Plot, Table, geometric_mean, number, ratio, times
from ..paper import Figure
from . import published


__all__ = ["BuildTimes"]


_FORMATS = {"csr": "CSR", "tigr": "Tigr", "cr2": "CR2"}

#: Arcs below which calls of numpy take most of the build time.
_SMALLEST = 100_000


class BuildTimes(Figure):
    """Figure 3.11 and table 3.6."""
    name = "fig3.11"
    title = "build time by storage format, of CSR's"
    source = "figure 3.11, table 3.6, section 3.5.4"
    method = ("The median of several builds by one thread of this machine. The formats take turns "
              "in one process, and this command runs nothing else meanwhile. The figure has "
              "ratios only. Builds start from the graph's arcs in memory, pushing, without "
              "reordering, CR2 with its expand list and clusters of 2^16 vertices. Means are "
              f"geometric, over the graphs of at least {_SMALLEST:,} arcs.")

    @staticmethod
    def _case(setting, choice):
        return BuildTime(choice.graph, choice.undirected, tuple(_FORMATS), setting.repeat)

    def cases(self, setting):
        return [self._case(setting, choice) for choice in setting.stored]

    def outcome(self, setting, results):
        parts, meant, rows = ({text: [] for text in _FORMATS}, {text: [] for text in _FORMATS},
                              [])
        for choice in setting.stored:
            record = results[self._case(setting, choice)]
            medians = {text: statistics.median(record["seconds"][text])
                       if "seconds" in record else None for text in _FORMATS}
            for text in _FORMATS:
                part = ratio(medians[text], medians["csr"])
                parts[text].append(part)
                if "error" in record or record["arcs"] >= _SMALLEST:
                    meant[text].append(part)
            rows.append((choice.label, number(record.get("arcs")),
                         *(times(parts[text][-1]) for text in _FORMATS if text != "csr"),
                         times(ratio(medians["cr2"], medians["tigr"]))))
        means = {text: geometric_mean(values) for text, values in meant.items()}
        over_tigr = ratio(means["cr2"], means["tigr"])
        rows.append(("geometric mean", "", times(means["tigr"]), times(means["cr2"]),
                     times(over_tigr)))
        theirs = tuple((name, times(tigr / csr), times(cr2 / csr), times(cr2 / tigr))
                       for name, (csr, tigr, cr2) in published.BUILD.items())
        return Outcome(
            tables=(Table("Time to build, of CSR's", (
                        "graph", "arcs", "Tigr", "CR2", "CR2 of Tigr's"), tuple(rows)),
                    Table("The paper's table 3.6 in the same way", (
                        "graph", "Tigr", "CR2", "CR2 of Tigr's"), theirs)),
            plots=(Plot("build time by storage format", "time, of CSR's",
                        (*(choice.label for choice in setting.stored), "mean", "paper"),
                        {name: (*parts[text], means[text], paper) for (text, name), paper in zip(
                            _FORMATS.items(), (1.0, published.build_ratio(1, 0),
                                               published.build_ratio(2, 0)))},
                        reference=1.0),),
            comparisons=(
                Comparison("CR2, of CSR's time", times(published.BUILD_MEANS["csr"]),
                           times(means["cr2"])),
                Comparison("CR2, of Tigr's time", times(published.BUILD_MEANS["tigr"]),
                           times(over_tigr))),
            data={"of_csr": {text: dict(zip((choice.label for choice in setting.stored), values))
                             for text, values in parts.items()}, "means": means})
