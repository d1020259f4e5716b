"""Bytes and build time of storage formats: table 3.1, figures 3.8, 3.10 and 3.11, table 3.6."""

import statistics

import numpy as np

from sw.study.benchmarks.grid import Grid

from ..measure import BuildTime, Stored
from ..outcome import (Comparison, Outcome, Plot, bars, by_columns, by_rows, decimal,
                       geometric_mean, number, percent, ratio, times)
from ..paper import Figure
from . import published


__all__ = ["BuildTimes", "ExpandShare", "Memory", "Theory"]


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

    def grid(self, setting):
        return Grid({"graph": setting.stored}, lambda choice: BuildTime(
            choice.graph, choice.undirected, tuple(_FORMATS), setting.repeat))

    def results(self, setting, found):
        arcs = found.value("arcs")
        medians = {text: found.value("seconds").map(
            lambda seconds, text=text: seconds and statistics.median(seconds[text]))
            for text in _FORMATS}
        parts = {text: each / medians["csr"] for text, each in medians.items()}
        means = {text: geometric_mean(
            part for part, count, error in zip(parts[text], arcs, found.value("error"))
            if error is not None or count >= _SMALLEST) for text in _FORMATS}
        over_tigr = ratio(means["cr2"], means["tigr"])
        labels = arcs.labels()
        return Outcome(
            tables=(by_columns(
                        "Time to build, of CSR's", ("graph", (*labels, "geometric mean")),
                        ("arcs", arcs.cells(number, "")),
                        *((_FORMATS[text], parts[text].cells(times, times(means[text])))
                          for text in ("tigr", "cr2")),
                        ("CR2 of Tigr's", (medians["cr2"] / medians["tigr"]).cells(
                            times, times(over_tigr)))),
                    by_rows("The paper's table 3.6 in the same way", (
                        "graph", "Tigr", "CR2", "CR2 of Tigr's"), (
                        (name, times(tigr / csr), times(cr2 / csr), times(cr2 / tigr))
                        for name, (csr, tigr, cr2) in published.BUILD.items()))),
            plots=(Plot("build time by storage format", "time, of CSR's",
                        (*labels, "mean", "paper"),
                        {name: (*parts[text], means[text], paper) for (text, name), paper in zip(
                            _FORMATS.items(), (1.0, published.build_ratio(1, 0),
                                               published.build_ratio(2, 0)))},
                        reference=1.0),),
            comparisons=(
                Comparison("CR2, of CSR's time", times(published.BUILD_MEANS["csr"]),
                           times(means["cr2"])),
                Comparison("CR2, of Tigr's time", times(published.BUILD_MEANS["tigr"]),
                           times(over_tigr))),
            data={"of_csr": {text: each.nested() for text, each in parts.items()},
                  "means": means})


#: CR2 with clusters of 2^16 vertices, as in the paper, and with small clusters.
_CR2, _CR2_SMALL = "cr2", "cr2:cluster_bits=8"

_NAMES = {"csr": "CSR", "g-shards": "G-Shards", "tigr": "Tigr", _CR2: "CR2, N = 16",
          _CR2_SMALL: "CR2, N = 8"}


#: Arcs per vertex. All of the paper's graphs have more; the least is 17.7.
_DENSE = 16


class _StoredBytes(Figure):
    """A figure of the bytes of stored graphs in :attr:`formats`."""
    formats = ()

    def grid(self, setting):
        return Grid({"graph": setting.stored, "format": self.formats},
                    lambda choice, text: Stored(choice.graph, choice.undirected, text))

    @staticmethod
    def _dense_mean(found, values):
        """The mean over the graphs with at least :data:`_DENSE` arcs per vertex."""
        arcs, vertices = (found.value(name).at(format=_CR2) for name in ("arcs", "vertices"))
        failed = found.value("error").at(format=_CR2)
        return geometric_mean(
            value for value, error, arcs, vertices in zip(values, failed, arcs, vertices)
            if error is not None or arcs >= _DENSE * vertices)


class Memory(_StoredBytes):
    """Figure 3.8."""
    name = "fig3.8"
    title = "memory by storage format, of CSR's"
    source = "figure 3.8, section 3.5.2"
    method = ("Bytes of the images as the device gets them, pushing, without weights; Tigr with "
              "K = 8, CR2 with its expand list. N = 16 is the paper's size of clusters; N = 8 "
              "shows small ones. Means are geometric, without karate.")
    formats = ("csr", "tigr", _CR2, _CR2_SMALL)

    def results(self, setting, found):
        nbytes = found.value("bytes").split("format")
        parts = {text: its / nbytes["csr"] for text, its in nbytes.items()}
        means = {text: its.mean() for text, its in parts.items()}
        over_tigr = nbytes[_CR2] / nbytes["tigr"]
        first, inside = (found.value(name).split("format") for name in ("vertices", "intra_share"))
        return Outcome(
            tables=(by_columns(
                "Bytes, of CSR's", ("graph", (*first["csr"].labels(), "geometric mean")),
                ("vertices", first["csr"].cells(number, "")),
                ("arcs", found.value("arcs").at(format="csr").cells(number, "")),
                ("CSR, bytes", nbytes["csr"].cells(number, "")),
                *((_NAMES[text], parts[text].cells(times, times(means[text])))
                  for text in self.formats[1:]),
                ("inside clusters, N = 16", inside[_CR2].cells(percent, "")),
                ("N = 8", inside[_CR2_SMALL].cells(percent, ""))),),
            plots=(bars("memory by storage format", "bytes, of CSR's",
                        {_NAMES[text]: its for text, its in parts.items()}, reference=1.0,
                        paper={"paper's mean of CR2": 1 - published.LESS_THAN["csr"]}),),
            comparisons=(
                Comparison("CR2, of CSR's bytes", times(1 - published.LESS_THAN["csr"]),
                           times(means[_CR2])),
                Comparison("CR2, of Tigr's bytes", times(1 - published.LESS_THAN["tigr"]),
                           times(over_tigr.mean())),
                *(Comparison(f"CR2, of {name}'s bytes, {_DENSE} arcs a vertex or more",
                             times(1 - published.LESS_THAN[text]),
                             times(self._dense_mean(found, values)))
                  for name, text, values in (("CSR", "csr", parts[_CR2]),
                                             ("Tigr", "tigr", over_tigr)))),
            data={"of_csr": {text: its.nested() for text, its in parts.items()},
                  "means": means, "cr2_of_tigr": over_tigr.mean()},
            notes=("The paper's graphs have 18 to 177 arcs a vertex; four of its seven have at "
                   "least 70 % of them inside clusters of 2^16 vertices.",))


class ExpandShare(_StoredBytes):
    """Figure 3.10."""
    name = "fig3.10"
    title = "the expand list's share of CR2's memory"
    source = "figure 3.10, section 3.5.3"
    method = ("Bytes of the expand list over the bytes of its image. Means are geometric, "
              "without karate.")
    formats = (_CR2, _CR2_SMALL)

    def results(self, setting, found):
        listed = found.value("expand_bytes")
        shares = (listed / found.value("bytes")).split("format")
        means = {text: its.mean() for text, its in shares.items()}
        degrees = (found.value("arcs") / found.value("vertices")).at(format=_CR2)
        return Outcome(
            tables=(by_columns(
                "The expand list", ("graph", (*degrees.labels(), "geometric mean")),
                ("arcs a vertex", degrees.cells(decimal, "")),
                ("expand list of N = 16, bytes", listed.at(format=_CR2).cells(number, "")),
                *((f"share, {_NAMES[text]}", its.cells(percent, percent(means[text])))
                  for text, its in shares.items())),),
            plots=(bars("the expand list's share", "part of CR2's bytes",
                        {_NAMES[text]: its for text, its in shares.items()},
                        paper={"paper's mean": published.EXPAND_SHARE}),),
            comparisons=(
                Comparison("the expand list's share of CR2's bytes",
                           percent(published.EXPAND_SHARE), percent(means[_CR2])),
                Comparison(f"... {_DENSE} arcs a vertex or more", percent(published.EXPAND_SHARE),
                           percent(self._dense_mean(found, shares[_CR2])))),
            data={"share": {text: its.nested() for text, its in shares.items()}, "means": means},
            notes=("The line in the plot is the paper's mean. The list has a word for each vertex "
                   "and each record, so its share falls with the arcs a vertex has.",))


def _entries(record, *endings):
    """(entries, bytes) of the arrays whose names have one of the endings."""
    found = [array for name, array in record["arrays"].items() if name.endswith(endings)]
    return (sum(count for _, count in found),
            sum(np.dtype(kind).itemsize * count for kind, count in found))


class Theory(_StoredBytes):
    """Table 3.1: its formulas, and the bytes in memory."""
    name = "table3.1"
    title = "memory in theory and in fact"
    source = "table 3.1, section 3.2"
    method = ("Theory is the paper's formula for the edges' representation, in words of 4 bytes; "
              "f and r come from the image: (1 + f) V are its virtual vertices, r is the share of "
              "the neighbours' bytes that shorter IDs save. \"In fact\" is the image; the image "
              "of CR2 is without its expand list, which the formula does not have.")
    formats = ("csr", "g-shards", "tigr", _CR2)

    def _theory(self, text, record):
        """(bytes by the formula, the value of f or r in words)."""
        vertices, edges = record["vertices"], record["arcs"]
        if text == "csr":
            return 4 * (edges + vertices + 1), "E + V + 1"
        if text == "g-shards":
            return 8 * edges, "2 E"
        if text == "tigr":
            virtual, _ = _entries(record, "bases")
            return 4 * (edges + virtual), f"E + (1 + f) V, f = {virtual / vertices - 1:.2f}"
        _, nbytes = _entries(record, "_neighbors")
        saved = 1 - nbytes / (4 * edges) if edges else 0.0
        return (nbytes + 4 * record["records"],
                f"(1 - r) E + (1 + f) V, r = {saved:.2f}, "
                f"f = {record['records'] / vertices - 1:.2f}")

    def results(self, setting, found):
        def judged(records, case):
            record = records[case]
            if "error" in record:
                return None
            theory, formula = self._theory(case.format, record)
            return {"theory": theory, "fact": record["bytes"] - record.get("expand_bytes", 0),
                    "formula": formula, "scratch": record["scratch"]}
        every = found.of(judged)
        parts = every.map(lambda its: its and ratio(its["fact"], its["theory"]))
        means = parts.mean().nested()
        data: dict = {}
        for (choice, text), its in every.items():
            if its:
                data.setdefault(choice.label, {})[text] = its
        return Outcome(
            tables=(by_rows(
                "Bytes", ("graph", "format", "formula", "theory", "in fact",
                          "in fact over theory"), (
                    (choice.label, _NAMES[text], its["formula"] if its else "",
                     *(number(its and its[name]) for name in ("theory", "fact")), times(part))
                    for ((choice, text), its), part in zip(every.items(), parts))),),
            plots=(bars("memory in fact, of that in theory", "bytes over the formula's",
                        {_NAMES[text]: its for text, its in parts.split("format").items()},
                        reference=1.0),),
            comparisons=tuple(Comparison(f"{_NAMES[text]}, in fact over theory", "1.00x",
                                         times(mean)) for text, mean in means.items()),
            data={"graphs": data, "means": means},
            notes=("Tigr's formula counts one word a virtual vertex. It needs two: the vertex it "
                   "belongs to, and where its edges begin.",
                   "CR2's formula counts a word a record. Here the bases inside clusters are "
                   "local IDs of 1 or 2 bytes, and each cluster's first record is kept beside "
                   "them.",
                   "G-Shards' formula does not count the places where its shards begin. Its "
                   "copies of the sources' values, E words that the paper counts as values, are "
                   "`scratch` in the JSON file."))
