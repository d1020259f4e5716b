"""The remaining work of the cores and of memory: figures 12 and 13, sections 4.4 and 4.5."""

import math

from ..outcome import Comparison, Outcome, Plot, Table, number, percent, ratio
from ..paper import Figure
from ..setting import with_mean
from . import published
from .runs import (ALGORITHMS, BASELINE, SEARCHES, average, counter, dram_bytes, enhanced, labels,
                   on_both, run, step_cycles, systems, where)


__all__ = ["Bandwidth", "Coalescing", "Reductions"]


def _decimal(value):
    """A small number for a table."""
    return number(value) if value is None or math.isnan(value) else f"{value:.2f}"


class Coalescing(Figure):
    """Figure 12."""
    name = "fig12"
    title = "coalescing with grouping, SSSP on the small system"
    source = "figure 12, section 6.3"
    method = ("`scu-enhanced` against `scu-enhanced:grouping=no`, which filters only. The tables "
              "count line accesses of the kernel that takes in the edges, for each instruction on "
              "global memory; the improvement is the reduction of these accesses. Beside it stand "
              "the lanes that an atomic operation on one line performs, and the cost and the gain "
              "of the order. Means are arithmetic.")
    _schedules = {"filtered": "scu-enhanced:grouping=no", "grouped": "scu-enhanced"}

    def _runs(self, setting, choice):
        system = systems(setting)["small"]
        return {label: run(choice, system, "sssp", schedule)
                for label, schedule in self._schedules.items()}

    def cases(self, setting):
        return [case for choice in setting.brief for case in self._runs(setting, choice).values()]

    def outcome(self, setting, results):
        rows, series, gains, data = [], {label: [] for label in self._schedules}, [], {}
        for choice in setting.brief:
            cases, lanes, contract = self._runs(setting, choice), {}, {}
            for label, case in cases.items():
                accesses, instructions, atomics, atomic_lanes = (
                    counter(results, case, name, "contract") for name in
                    ("l1_accesses", "memory_instructions", "atomics", "atomic_lanes"))
                series[label].append(ratio(accesses, instructions))
                lanes[label] = ratio(atomic_lanes, atomics)
                contract[label] = step_cycles(results, case, "contract")
            filtered, grouped = (series[label][-1] for label in self._schedules)
            gain = ratio(filtered, grouped)
            gains.append(None if gain is None else gain - 1)
            grouping = step_cycles(results, cases["grouped"], "group edges")
            rows.append((choice.label, _decimal(filtered), _decimal(grouped), percent(gains[-1]),
                         *map(_decimal, lanes.values()), *map(number, contract.values()),
                         number(grouping)))
            data[choice.label] = {
                "accesses": dict(zip(self._schedules, (filtered, grouped))),
                "improvement": gains[-1], "atomic_lanes": lanes, "contract_cycles": contract,
                "grouping_cycles": grouping}
        mean = average(setting.brief, gains)
        rows.append(("mean", "", "", percent(mean), *[""] * 5))
        return Outcome(
            tables=(Table("SSSP, small", (
                "graph", "accesses an instruction: filtered", "grouped", "improvement",
                "lanes an atomic: filtered", "grouped", "contraction, cycles: filtered",
                "grouped", "grouping, cycles"), tuple(rows)),),
            plots=(Plot("taking in the edges", "line accesses an instruction", labels(setting),
                        {label: tuple(values) for label, values in series.items()}),),
            comparisons=(Comparison("small, SSSP: improvement by grouping",
                                    percent(published.COALESCING), percent(mean)),),
            data={"graphs": data, "mean": mean}, notes=(where(setting),))


class Bandwidth(Figure):
    """Figure 13."""
    name = "fig13"
    title = "memory bandwidth used, of the peak"
    source = "figure 13, section 6.3"
    method = ("Bytes of the lines that memory moved while kernels or operations were under way, a "
              "masked write like a whole line, as a share of the bytes that memory can move in "
              "these cycles. Schedule `compact` against the enhanced SCU (PageRank: the basic "
              "SCU). Means are arithmetic.")

    def _runs(self, choice, system, algorithm):
        return {"cores alone": run(choice, system, algorithm, BASELINE),
                "SCU": run(choice, system, algorithm, enhanced(algorithm))}

    def cases(self, setting):
        return on_both(setting, ALGORITHMS, self._runs)

    def outcome(self, setting, results):
        tables, plots, comparisons, data = [], [], [], {}
        for name, system in systems(setting).items():
            rows, series, data[name] = [], {"cores alone": [], "SCU": []}, {}
            for algorithm, short in ALGORITHMS.items():
                used = {label: [] for label in series}
                for choice in setting.brief:
                    cells = []
                    for label, case in self._runs(choice, system, algorithm).items():
                        moved = dram_bytes(results, case)
                        used[label].append(ratio(
                            ratio(moved, results.cycles(case)), system.peak_bytes))
                        cells += [number(moved), percent(used[label][-1])]
                    rows.append((f"{short}: {choice.label}", *cells))
                means = {label: average(setting.brief, values) for label, values in used.items()}
                rows.append((f"{short}: mean", *(cell for mean in means.values()
                                                 for cell in ("", percent(mean)))))
                for label, values in used.items():
                    series[label] += [*values, means[label]]
                if algorithm in SEARCHES:
                    comparisons.append(Comparison(
                        f"{name}, {short}: cores alone, and with the SCU",
                        published.BANDWIDTH[name], _pair(*means.values())))
                data[name][algorithm] = {"graphs": {
                    label: dict(zip(labels(setting), values)) for label, values in used.items()},
                    "means": means}
            tables.append(Table(f"{name}: bytes, and the share of the peak", (
                "", *(f"{label}: {what}" for label in series for what in ("bytes", "of the peak"))),
                tuple(rows)))
            plots.append(Plot(name, "share of the peak", tuple(
                f"{short} {label}" for short in ALGORITHMS.values()
                for label in with_mean(setting.brief)),
                {label: tuple(values) for label, values in series.items()}))
        return Outcome(tuple(tables), tuple(plots), tuple(comparisons), data, (where(setting),))


def _pair(before, after):
    """Two shares as text, or one word if both failed."""
    return (percent(None) if before is None and after is None
            else f"{percent(before)}, {percent(after)}")


class Reductions(Figure):
    """Sections 4.4 and 4.5."""
    name = "work4.4"
    title = "work that filtering leaves for the cores"
    source = "sections 4.4, 4.5 and 6.3"
    method = ("`scu-enhanced` against `scu` and against `compact`: edges that the cores take in, "
              "these edges and the vertices that the cores look up, and instructions that the "
              "cores issue. Then the cost of the pass that filters, for each edge that it looks "
              "up: cycles, the share of edges found in its table, and the work of the L2 and of "
              "memory. Means are arithmetic.")
    _schedules = (BASELINE, "scu", "scu-enhanced")

    def _runs(self, choice, system, algorithm):
        return {schedule: run(choice, system, algorithm, schedule)
                for schedule in self._schedules}

    def cases(self, setting):
        return on_both(setting, SEARCHES, self._runs)

    @staticmethod
    def _elements(results, case):
        """Edges that the cores contract, and vertices that they find and look up."""
        edges = counter(results, case, "scu_elements", "expand edges")
        return edges, counter(results, case, "scu_elements", "compact frontier")

    def outcome(self, setting, results):
        left, filtering, plots, comparisons, data = [], [], [], [], {}
        for name, system in systems(setting).items():
            series, data[name] = {}, {}
            for algorithm in SEARCHES:
                short = ALGORITHMS[algorithm]
                shares = {"edges": [], "edges and vertices": [], "instructions": [],
                          "instructions, of compact's": []}
                for choice in setting.brief:
                    cases = self._runs(choice, system, algorithm)
                    found = self._shares(results, cases)
                    for what, value in found.items():
                        shares[what].append(value)
                    label = f"{name}, {short}: {choice.label}"
                    left.append((label, *map(percent, found.values())))
                    filtering.append((label, *self._filtering(results, cases["scu-enhanced"])))
                means = {what: average(setting.brief, values) for what, values in shares.items()}
                left.append((f"{name}, {short}: mean", *map(percent, means.values())))
                comparisons += self._compared(name, algorithm, means)
                series |= {f"{short}: {what}": (*values, means[what])
                           for what, values in shares.items()
                           if what in ("edges and vertices", "instructions")}
                data[name][algorithm] = {"graphs": {
                    what: dict(zip(labels(setting), values)) for what, values in shares.items()},
                    "means": means}
            plots.append(Plot(name, "left, of the basic SCU's", with_mean(setting.brief), series,
                              reference=1.0, paper={
                                  f"paper, {ALGORITHMS[algorithm]}: edges and vertices":
                                      published.LEFT[algorithm] for algorithm in SEARCHES}))
        return Outcome(
            tables=(Table("Left by filtering, of the basic SCU's", (
                        "", "edges", "edges and vertices", "instructions",
                        "instructions, of compact's"), tuple(left)),
                    Table("The pass that filters, for each edge looked up", (
                        "", "edges", "found", "cycles", "lines of the table", "lines asked for",
                        "hits in L2", "lines of memory"), tuple(filtering))),
            plots=tuple(plots), comparisons=tuple(comparisons), data=data,
            notes=(where(setting),))

    def _shares(self, results, cases):
        """Elements and instructions with the filter, as parts of those without the filter."""
        (edges, vertices), (all_edges, all_vertices) = (
            self._elements(results, cases[schedule]) for schedule in ("scu-enhanced", "scu"))
        issued = {schedule: counter(results, case, "instructions")
                  for schedule, case in cases.items()}
        return {
            "edges": ratio(edges, all_edges),
            "edges and vertices": ratio(None if edges is None else edges + vertices,
                                        None if all_edges is None else all_edges + all_vertices),
            "instructions": ratio(issued["scu-enhanced"], issued["scu"]),
            "instructions, of compact's": ratio(issued["scu-enhanced"], issued[BASELINE]),
        }

    @staticmethod
    def _filtering(results, case):
        """The costs of the filtering pass, as cells."""
        lookups, hits, cycles, fetches, reads, accesses, l2_hits, moved, written = (
            counter(results, case, each, "filter edges") for each in
            ("scu_lookups", "scu_hits", "scu_cycles", "scu_fetches", "scu_reads", "l2_accesses",
             "l2_hits", "dram_reads", "dram_writes"))
        lines = None if moved is None else moved + written
        return (number(lookups), percent(ratio(hits, lookups)), _decimal(ratio(cycles, lookups)),
                _decimal(ratio(fetches, lookups)), _decimal(ratio(reads, lookups)),
                percent(ratio(l2_hits, accesses)), _decimal(ratio(lines, lookups)))

    @staticmethod
    def _compared(name, algorithm, means):
        """The paper's numbers. The paper gives the reductions of instructions for the small system,
        and the word "similar" for the large system."""
        short = ALGORITHMS[algorithm]
        removed = {what: None if means[what] is None else 1 - means[what]
                   for what in ("instructions", "instructions, of compact's")}
        similar = "" if name == "small" else "similar to "
        theirs = f"{similar}{percent(published.INSTRUCTIONS[algorithm])}"
        return [
            Comparison(f"{name}, {short}: edges and vertices left",
                       percent(published.LEFT[algorithm]), percent(means["edges and vertices"])),
            Comparison(f"{name}, {short}: instructions removed, of the basic SCU's", theirs,
                       percent(removed["instructions"])),
            Comparison(f"{name}, {short}: instructions removed, of compact's", theirs,
                       percent(removed["instructions, of compact's"]))]
