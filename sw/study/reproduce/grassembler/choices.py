"""Cycles of one choice beside another: figures 2.3, 2.9b and 2.10."""

import math

from sw.study.benchmarks.grid import CaseRecords, Grid
from sw.study.benchmarks.schedules import DIRECTIONS

from ..cr2.runs import run
from ..outcome import (FAILED, Comparison, Outcome, Plot, bars, by_columns, by_rows, number, ratio,
                       times)
from ..paper import Figure
from ..space import tried
from . import published


__all__ = ["PageRankPlans", "Formats", "Shards"]


class Formats(Figure):
    """Figure 2.3."""
    name = "fig2.3"
    title = "PageRank by schedule and format"
    source = "figure 2.3, section 2.2"
    method = ("One iteration, the better of push and pull, every other choice the algorithm's own. "
              "The paper has a social graph and a road. A dash is a pair that the planner refuses.")

    def grid(self, setting):
        space = published.SPACES["GRAssembler"]
        return Grid({"graph": setting.tuned, "schedule": space.schedules, "format": space.formats},
                    lambda choice, schedule, format: {direction: tried(
                        setting.config, choice, "pagerank", schedule=schedule, format=format,
                        direction=direction) for direction in DIRECTIONS["pagerank"]})

    def results(self, setting, found):
        tables, plots, comparisons, data = [], [], [], {}
        for choice, best in found.by(CaseRecords.best_allowed).best().split("graph").items():
            tables.append(by_rows(
                f"{choice.label}: cycles", ("schedule", *best.axes["format"]), (
                    (schedule, its.cells(lambda each: number(each[1]) + (
                        f" ({each[0]})" if each[0] else "")))
                    for schedule, its in best.split("schedule").items())))
            cycles = best.map(lambda each: each[1])
            plots.append(bars(choice.label, "cycles", cycles.split("format"), None))
            ran = {pair: value for pair, value in cycles.items()
                   if value is not None and not math.isnan(value)}
            comparisons.append(Comparison(
                f"{choice.label}: best schedule and format", "-",
                ", ".join(min(ran, key=ran.__getitem__)) if ran else FAILED))
            data[choice.label] = {" ".join(pair): value for pair, value in cycles.items()}
        return Outcome(tables, plots, comparisons, data)


class PageRankPlans(Figure):
    """Figure 2.10."""
    name = "fig2.10"
    title = "PageRank by format, schedule and direction"
    source = "figure 2.10, section 2.5.6"
    method = ("One iteration, on the graph that is first, a skewed one: the paper's sixteen "
              "options. Block-COO is COO in four blocks. ELL + COO is `ell`, whose rest is in COO. "
              "The baseline is Block-COO under twce, pushing.")
    _formats = {"COO": ("coo", False), "CSR": ("csr", False), "ELL + COO": ("ell", False),
                "Block-COO": ("coo", True)}
    _schedules = ("em", "twce")
    _baseline = ("Block-COO", "twce", "push")

    def grid(self, setting):
        def make(choice, name, schedule, direction):
            format, blocked = self._formats[name]
            return tried(setting.config, choice, "pagerank", schedule=schedule, format=format,
                         direction=direction, blocked=blocked)
        return Grid({"graph": setting.tuned[:1], "format": self._formats,
                     "schedule": self._schedules, "direction": ("push", "pull")}, make)

    def results(self, setting, found):
        first = setting.tuned[0]
        cycles = dict(found.cycles.at(graph=first).items())
        gains = {option: ratio(cycles[self._baseline], value) for option, value in cycles.items()}
        known = sorted((value, option) for option, value in cycles.items() if value is not None)
        order = [option for _, option in known] + [option for option, value in cycles.items()
                                                   if value is None]
        blocked = [value for value, option in known if option[0] == "Block-COO"]
        return Outcome(
            tables=(by_rows(f"{first.label}: cycles",
                            ("option", "cycles", "speedup over the baseline"), (
                (", ".join(option), number(cycles[option]), times(gains[option]))
                for option in order)),),
            plots=(Plot(f"PageRank on {first.label}", "speedup over the baseline",
                        tuple(map(", ".join, order)),
                        {"speedup": tuple(gains[option] for option in order)}, reference=1.0),),
            comparisons=(
                *(Comparison(f"worst of the best option{words}", times(published.BLOCKED_GAP),
                             times(ratio(values[-1], values[0]) if values else None))
                  for words, values in (("", [value for value, _ in known]),
                                        (", both with blocks", blocked))),
                Comparison("the best option", "Block-COO, em, push",
                           ", ".join(known[0][1]) if known else FAILED)),
            data={", ".join(option): value for option, value in cycles.items()})


class Shards(Figure):
    """Figure 2.9b."""
    name = "fig2.9b"
    title = "G-Shards against COO and CSR"
    source = "figure 2.9b, section 2.5.5"
    method = ("The paper compares with CuSha's own program, which does not run on this hardware. "
              "Here G-Shards is compared with COO and CSR, pushing under em. Shards have 1024 or "
              "4096 vertices: the better is taken. PageRank makes one iteration, components run to "
              "the end. Means are geometric.")
    _formats = {"COO": ("coo",), "CSR": ("csr",),
                "G-Shards": ("g-shards:shard=1024", "g-shards:shard=4096")}
    _algorithms = ("pagerank", "cc")

    def grid(self, setting):
        return Grid({"algorithm": self._algorithms, "graph": setting.wide,
                     "format": self._formats}, lambda algorithm, choice, name: {
                         text: run(choice, algorithm, "push", "em", text)
                         for text in self._formats[name]})

    def results(self, setting, found):
        cycles = found.cycles
        gains = {name: cycles.at(format=name) / cycles.at(format="G-Shards")
                 for name in ("COO", "CSR")}
        labels = [f"{published.ALGORITHMS[algorithm]}{{}} {choice.label}"
                  for algorithm, choice in cycles.at(format="COO").points]
        return Outcome(
            tables=(by_columns(
                "Cycles", ("", [text.format(":") for text in labels]),
                *((name, its.cells(number)) for name, its in cycles.split("format").items()),
                *((f"over {name}", its.cells(times)) for name, its in gains.items())),),
            plots=(Plot("G-Shards", "speedup of G-Shards",
                        tuple(text.format("") for text in labels),
                        {f"over {name}": tuple(its) for name, its in gains.items()},
                        reference=1.0),),
            comparisons=tuple(Comparison(
                f"{published.ALGORITHMS[algorithm]}: G-Shards over {name}",
                "equal to CuSha or faster" if name == "COO" else "-",
                times(its.at(algorithm=algorithm).mean()))
                for algorithm in self._algorithms for name, its in gains.items()),
            data=cycles.nested())
