"""The remaining work of the cores and of memory: figures 12 and 13, sections 4.4 and 4.5."""

from sw.study.benchmarks.grid import Grid, by_point

from ..outcome import (Comparison, Outcome, Plot, bars, by_columns, by_rows, decimal, number,
                       percent)
from ..paper import Figure
from ..setting import with_mean
from . import published
from .runs import (ALGORITHMS, BASELINE, ENHANCED, SEARCHES, average, counter, dram_bytes, on_both,
                   run, step_cycles, systems, total, where)


__all__ = ["Bandwidth", "Coalescing", "Reductions"]


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

    def grid(self, setting):
        small = systems(setting)["small"]
        return Grid({"graph": setting.brief, "way": self._schedules},
                    lambda choice, way: run(choice, small, "sssp", self._schedules[way]))

    def results(self, setting, found):
        def contract(name):
            return found.of(counter, name, "contract")
        accesses = contract("l1_accesses") / contract("memory_instructions")
        lanes = contract("atomic_lanes") / contract("atomics")
        cycles = found.of(step_cycles, "contract")
        grouping = found.of(step_cycles, "group edges").at(way="grouped")
        gains = (accesses.at(way="filtered") / accesses.at(way="grouped")).map(
            lambda gain: None if gain is None else gain - 1)
        mean = gains.reduce(average, "graph")
        series = accesses.split("way")
        return Outcome(
            tables=(by_columns(
                "SSSP, small", ("graph", with_mean(setting.brief)), *(
                    (title, cube.at(way=way).cells(text, ""))
                    for way, title, cube, text in (
                        ("filtered", "accesses an instruction: filtered", accesses, decimal),
                        ("grouped", "grouped", accesses, decimal))),
                ("improvement", gains.cells(percent, percent(mean))), *(
                    (title, cube.at(way=way).cells(text, ""))
                    for way, title, cube, text in (
                        ("filtered", "lanes an atomic: filtered", lanes, decimal),
                        ("grouped", "grouped", lanes, decimal),
                        ("filtered", "contraction, cycles: filtered", cycles, number),
                        ("grouped", "grouped", cycles, number))),
                ("grouping, cycles", grouping.cells(number, ""))),),
            plots=(bars("taking in the edges", "line accesses an instruction", series, None),),
            comparisons=(Comparison("small, SSSP: improvement by grouping",
                                    percent(published.COALESCING), percent(mean)),),
            data={"graphs": by_point({
                "accesses": _by_way(accesses), "improvement": gains,
                "atomic_lanes": _by_way(lanes), "contract_cycles": _by_way(cycles),
                "grouping_cycles": grouping}), "mean": mean}, notes=(where(setting),))


def _by_way(cube):
    """{way: value} on each graph."""
    ways = cube.axes["way"]
    return cube.reduce(lambda values: dict(zip(ways, values)), "way")


class Bandwidth(Figure):
    """Figure 13."""
    name = "fig13"
    title = "memory bandwidth used, of the peak"
    source = "figure 13, section 6.3"
    method = ("Bytes of the lines that memory moved while kernels or operations were under way, a "
              "masked write like a whole line, as a share of the bytes that memory can move in "
              "these cycles. Schedule `compact` against the enhanced SCU (PageRank: the basic "
              "SCU). Means are arithmetic.")

    def grid(self, setting):
        return on_both(setting, ALGORITHMS, {"cores alone": BASELINE, "SCU": ENHANCED})

    def results(self, setting, found):
        tables, plots, comparisons, data = [], [], [], {}
        moved = found.of(dram_bytes)
        for name, system in systems(setting).items():
            used = ((moved / found.cycles) / system.peak_bytes).at(system=name)
            means = used.reduce(average, "graph")
            rows, data[name] = [], {}
            for algorithm, short in ALGORITHMS.items():
                mine = means.at(algorithm=algorithm)
                rows += [(f"{short}: {choice.label}", [
                    cell for way, share in its.split("way").items() for cell in (number(moved.at(
                        system=name, algorithm=algorithm, graph=choice, way=way)), percent(share))])
                    for choice, its in used.at(algorithm=algorithm).split("graph").items()]
                rows.append((f"{short}: mean", [cell for mean in mine
                                                for cell in ("", percent(mean))]))
                if algorithm in SEARCHES:
                    comparisons.append(Comparison(
                        f"{name}, {short}: cores alone, and with the SCU",
                        published.BANDWIDTH[name], _pair(*mine)))
                data[name][algorithm] = {"graphs": used.at(algorithm=algorithm).nested(
                    "way", "graph"), "means": mine.nested()}
            tables.append(by_rows(f"{name}: bytes, and the share of the peak", (
                "", *(f"{way}: {what}" for way in means.axes["way"]
                      for what in ("bytes", "of the peak"))), rows))
            plots.append(Plot(name, "share of the peak", tuple(
                f"{short} {label}" for short in ALGORITHMS.values()
                for label in with_mean(setting.brief)),
                {way: tuple(value for algorithm in ALGORITHMS for value in (
                    *its.at(algorithm=algorithm), means.at(algorithm=algorithm, way=way)))
                 for way, its in used.split("way").items()}))
        return Outcome(tables, plots, comparisons, data, (where(setting),))


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

    def grid(self, setting):
        return on_both(setting, SEARCHES, {way: way for way in self._schedules})

    def results(self, setting, found):
        left, filtering, plots, comparisons, data = [], [], [], [], {}
        every, costs = self._shares(found), self._filtering(found)
        for name in systems(setting):
            series, data[name] = {}, {}
            for algorithm in SEARCHES:
                short, place = ALGORITHMS[algorithm], {"system": name, "algorithm": algorithm}
                shares = {what: cube.at(**place) for what, cube in every.items()}
                means = {what: cube.reduce(average, "graph") for what, cube in shares.items()}
                labels = [f"{name}, {short}: {choice.label}" for choice in setting.brief]
                left += [(label, list(map(percent, its)))
                         for label, its in zip(labels, zip(*shares.values()))]
                left.append((f"{name}, {short}: mean", list(map(percent, means.values()))))
                filtering += [(label, list(its)) for label, its in zip(labels, zip(*(
                    cube.at(**place).cells(text) for cube, text in costs)))]
                comparisons += self._compared(name, algorithm, means)
                series |= {f"{short}: {what}": shares[what]
                           for what in ("edges and vertices", "instructions")}
                data[name][algorithm] = {"graphs": {what: cube.nested() for what, cube
                                                    in shares.items()}, "means": means}
            plots.append(bars(name, "left, of the basic SCU's", series, average, reference=1.0,
                              paper={f"paper, {ALGORITHMS[algorithm]}: edges and vertices":
                                     published.LEFT[algorithm] for algorithm in SEARCHES}))
        return Outcome(
            tables=(by_rows("Left by filtering, of the basic SCU's", ("", *every), left),
                    by_rows("The pass that filters, for each edge looked up", (
                        "", "edges", "found", "cycles", "lines of the table", "lines asked for",
                        "hits in L2", "lines of memory"), filtering)),
            plots=plots, comparisons=comparisons, data=data,
            notes=(where(setting),))

    @staticmethod
    def _shares(found):
        """Elements and instructions with the filter, as parts of those without the filter."""
        def parts(values, over="scu"):
            return values.at(way="scu-enhanced") / values.at(way=over)

        def elements(*steps):
            return found.of(lambda results, case: total([
                counter(results, case, "scu_elements", step) for step in steps]))
        issued = found.of(counter, "instructions")
        return {"edges": parts(elements("expand edges")),
                "edges and vertices": parts(elements("expand edges", "compact frontier")),
                "instructions": parts(issued),
                "instructions, of compact's": parts(issued, BASELINE)}

    @staticmethod
    def _filtering(found):
        """The costs of the filtering pass, each with the text of its cells."""
        def cost(*names):
            return found.of(lambda results, case: total([
                counter(results, case, name, "filter edges") for name in names])).at(
                    way="scu-enhanced")
        lookups = cost("scu_lookups")
        return ((lookups, number), (cost("scu_hits") / lookups, percent),
                *((cost(name) / lookups, decimal)
                  for name in ("scu_cycles", "scu_fetches", "scu_reads")),
                (cost("l2_hits") / cost("l2_accesses"), percent),
                (cost("dram_reads", "dram_writes") / lookups, decimal))

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
