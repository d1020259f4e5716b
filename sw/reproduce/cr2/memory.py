"""Bytes of storage formats: table 3.1, figures 3.8 and 3.10."""

import numpy as np

from ..measure import Stored
from ..outcome import (Comparison, Outcome, Plot, Table, geometric_mean, number, percent, ratio,
                       times)
from ..paper import Figure
from ..setting import mean
from . import published


__all__ = ["ExpandShare", "Memory", "Theory"]


#: CR2 with clusters of 2^16 vertices, as in the paper, and with small clusters.
_CR2, _CR2_SMALL = "cr2", "cr2:cluster_bits=8"

_NAMES = {"csr": "CSR", "g-shards": "G-Shards", "tigr": "Tigr", _CR2: "CR2, N = 16",
          _CR2_SMALL: "CR2, N = 8"}


#: Arcs per vertex. All of the paper's graphs have more; the least is 17.7.
_DENSE = 16


def _stored(choice, text):
    return Stored(choice.graph, choice.undirected, text)


class _StoredBytes(Figure):
    """A figure of the bytes of stored graphs in :attr:`formats`."""
    formats = ()

    def cases(self, setting):
        return [_stored(choice, text) for choice in setting.stored for text in self.formats]

    @staticmethod
    def _dense_mean(setting, results, values):
        """The mean over the graphs with at least :data:`_DENSE` arcs per vertex."""
        def dense(choice):
            record = results[_stored(choice, _CR2)]
            return "error" in record or record["arcs"] >= _DENSE * record["vertices"]
        return geometric_mean(value for choice, value in zip(setting.stored, values)
                              if dense(choice))


def _labels(setting):
    return tuple(choice.label for choice in setting.stored)


class Memory(_StoredBytes):
    """Figure 3.8."""
    name = "fig3.8"
    title = "memory by storage format, of CSR's"
    source = "figure 3.8, section 3.5.2"
    method = ("Bytes of the images as the device gets them, pushing, without weights; Tigr with "
              "K = 8, CR2 with its expand list. N = 16 is the paper's size of clusters; N = 8 "
              "shows small ones. Means are geometric, without karate.")
    formats = ("csr", "tigr", _CR2, _CR2_SMALL)

    def outcome(self, setting, results):
        parts, rows = {text: [] for text in self.formats}, []
        versus_tigr = []
        for choice in setting.stored:
            nbytes = {text: results.value(_stored(choice, text), "bytes") for text in self.formats}
            for text, value in nbytes.items():
                parts[text].append(ratio(value, nbytes["csr"]))
            versus_tigr.append(ratio(nbytes[_CR2], nbytes["tigr"]))
            first = _stored(choice, "csr")
            rows.append((choice.label, number(results.value(first, "vertices")),
                         number(results.value(first, "arcs")), number(nbytes["csr"]),
                         *(times(parts[text][-1]) for text in self.formats[1:]),
                         percent(results.value(_stored(choice, _CR2), "intra_share")),
                         percent(results.value(_stored(choice, _CR2_SMALL), "intra_share"))))
        means = {text: mean(setting.stored, values) for text, values in parts.items()}
        tigr = mean(setting.stored, versus_tigr)
        rows.append(("geometric mean", "", "", "",
                     *(times(means[text]) for text in self.formats[1:]), "", ""))
        return Outcome(
            tables=(Table("Bytes, of CSR's", (
                "graph", "vertices", "arcs", "CSR, bytes",
                *(_NAMES[text] for text in self.formats[1:]),
                "inside clusters, N = 16", "N = 8"), tuple(rows)),),
            plots=(Plot("memory by storage format", "bytes, of CSR's",
                        (*_labels(setting), "mean"),
                        {_NAMES[text]: (*parts[text], means[text]) for text in self.formats},
                        reference=1.0,
                        paper={"paper's mean of CR2": 1 - published.LESS_THAN["csr"]}),),
            comparisons=(
                Comparison("CR2, of CSR's bytes", times(1 - published.LESS_THAN["csr"]),
                           times(means[_CR2])),
                Comparison("CR2, of Tigr's bytes", times(1 - published.LESS_THAN["tigr"]),
                           times(tigr)),
                *(Comparison(f"CR2, of {name}'s bytes, {_DENSE} arcs a vertex or more",
                             times(1 - published.LESS_THAN[text]),
                             times(self._dense_mean(setting, results, values)))
                  for name, text, values in (("CSR", "csr", parts[_CR2]),
                                             ("Tigr", "tigr", versus_tigr)))),
            data={"of_csr": {text: dict(zip(_labels(setting), values))
                             for text, values in parts.items()},
                  "means": means, "cr2_of_tigr": tigr},
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

    def outcome(self, setting, results):
        shares = {text: [ratio(results.value(_stored(choice, text), "expand_bytes"),
                               results.value(_stored(choice, text), "bytes"))
                         for choice in setting.stored] for text in self.formats}
        means = {text: mean(setting.stored, values) for text, values in shares.items()}
        rows = []
        for index, choice in enumerate(setting.stored):
            case = _stored(choice, _CR2)
            rows.append((choice.label,
                         times(ratio(results.value(case, "arcs"),
                                     results.value(case, "vertices"))).rstrip("x"),
                         number(results.value(case, "expand_bytes")),
                         *(percent(shares[text][index]) for text in self.formats)))
        rows.append(("geometric mean", "", "", *(percent(means[text]) for text in self.formats)))
        return Outcome(
            tables=(Table("The expand list", (
                "graph", "arcs a vertex", "expand list of N = 16, bytes",
                *(f"share, {_NAMES[text]}" for text in self.formats)), tuple(rows)),),
            plots=(Plot("the expand list's share", "part of CR2's bytes",
                        (*_labels(setting), "mean"),
                        {_NAMES[text]: (*shares[text], means[text]) for text in self.formats},
                        paper={"paper's mean": published.EXPAND_SHARE}),),
            comparisons=(
                Comparison("the expand list's share of CR2's bytes",
                           percent(published.EXPAND_SHARE), percent(means[_CR2])),
                Comparison(f"... {_DENSE} arcs a vertex or more", percent(published.EXPAND_SHARE),
                           percent(self._dense_mean(setting, results, shares[_CR2])))),
            data={"share": {text: dict(zip(_labels(setting), values))
                            for text, values in shares.items()}, "means": means},
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

    def outcome(self, setting, results):
        rows, parts, data = [], {text: [] for text in self.formats}, {}
        for choice in setting.stored:
            for text in self.formats:
                record = results[_stored(choice, text)]
                if "error" in record:
                    parts[text].append(None)
                    rows.append((choice.label, _NAMES[text], "", *(number(None),) * 3))
                    continue
                theory, formula = self._theory(text, record)
                fact = record["bytes"] - record.get("expand_bytes", 0)
                parts[text].append(ratio(fact, theory))
                data.setdefault(choice.label, {})[text] = {
                    "theory": theory, "fact": fact, "formula": formula,
                    "scratch": record["scratch"]}
                rows.append((choice.label, _NAMES[text], formula, number(theory), number(fact),
                             times(parts[text][-1])))
        means = {text: mean(setting.stored, values) for text, values in parts.items()}
        return Outcome(
            tables=(Table("Bytes", ("graph", "format", "formula", "theory", "in fact",
                                    "in fact over theory"), tuple(rows)),),
            plots=(Plot("memory in fact, of that in theory", "bytes over the formula's",
                        (*_labels(setting), "mean"),
                        {_NAMES[text]: (*parts[text], means[text]) for text in self.formats},
                        reference=1.0),),
            comparisons=tuple(Comparison(f"{_NAMES[text]}, in fact over theory", "1.00x",
                                         times(means[text])) for text in self.formats),
            data={"graphs": data, "means": means},
            notes=("Tigr's formula counts one word a virtual vertex. It needs two: the vertex it "
                   "belongs to, and where its edges begin.",
                   "CR2's formula counts a word a record. Here the bases inside clusters are "
                   "local IDs of 1 or 2 bytes, and each cluster's first record is kept beside "
                   "them.",
                   "G-Shards' formula does not count the places where its shards begin. Its "
                   "copies of the sources' values, E words that the paper counts as values, are "
                   "`scratch` in the JSON file."))
