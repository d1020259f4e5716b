"""Cycles of one choice against another: figures 2.9 and 3.9, section 3.5.5."""

from sw.study.benchmarks.grid import Grid, label

from ..measure import Stored
from ..outcome import (Comparison, Outcome, bars, by_columns, by_rows, geometric_mean, number,
                       percent, times)
from ..paper import Figure
from ..setting import where
from . import published
from .runs import ALGORITHMS, cluster_text, directed, run


__all__ = ["Blocking", "Directions", "ExpandList"]


class ExpandList(Figure):
    """Figure 3.9."""
    name = "fig3.9"
    title = "BFS with CR2, with and without the expand list"
    source = "figure 3.9, section 3.5.3"
    method = ("BFS from the vertex with the most arcs, the better of push and pull. Without the "
              "list every level visits all records. The speedup is of the best schedule with the "
              "list over the best schedule without it. The Weaver, which no paper shows, is "
              "beside them. Means are geometric, without karate.")
    _groups = {"em or vm": ("em", "vm"), "weaver": ("weaver",)}

    def grid(self, setting):
        return Grid({"graph": setting.simulated, "group": self._groups, "expand": (False, True)},
                    lambda choice, group, expand: {
                        (schedule, direction): case for schedule in self._groups[group]
                        for direction, case in directed(
                            choice, "bfs", schedule, cluster_text(setting, expand)).items()})

    def results(self, setting, found):
        best = found.best()
        ways = {name: its.split("expand") for name, its in best.split("group").items()}
        gains = {name: each.at(expand=False) / each.at(expand=True)
                 for name, each in found.cycles.split("group").items()}
        means = {name: values.mean() for name, values in gains.items()}

        def cell(pair):
            way, number_ = pair
            return number(number_) + (f" ({', '.join(way[::-1])})" if way else "")
        return Outcome(
            tables=(by_columns(
                "BFS: cycles", ("graph", (*best.labels(), "geometric mean")),
                *(column for name, both in ways.items() for column in (
                    (f"{name}: without", both[False].cells(cell, "")),
                    (f"{name}: with", both[True].cells(cell, "")),
                    (f"{name}: speedup", gains[name].cells(times, times(means[name])))))),),
            plots=(bars("speedup of BFS by the expand list", "speedup", gains, reference=1.0,
                        paper={"paper's mean": published.EXPAND_SPEEDUP}),),
            comparisons=(Comparison("speedup by the expand list",
                                    times(published.EXPAND_SPEEDUP), times(means["em or vm"])),),
            data={"graphs": best.nested(name=lambda point: {False: "without", True: "with"}.get(
                point, label(point))), "means": means}, notes=(where(setting),))


class Directions(Figure):
    """Section 3.5.5."""
    name = "sec3.5.5"
    title = "PageRank with CR2: push against pull"
    source = "section 3.5.5"
    method = ("One iteration, on graphs that have the reverse of each arc: cycles of push over "
              "cycles of pull, each schedule by itself. The paper explains the faster direction by "
              "the share of edges inside clusters. Means are geometric, without karate.")
    _schedules = ("em", "vm", "weaver")

    #: Share of edges inside clusters that the paper counts as high.
    _clustered = 0.7

    def grid(self, setting):
        def make(choice, schedule, direction):
            if schedule == "stored":
                return Stored(choice.graph, choice.undirected, cluster_text(setting)) \
                    if direction == "push" else None
            return run(choice, "pagerank", direction, schedule, cluster_text(setting))
        return Grid({"graph": [choice for choice in setting.simulated if choice.symmetric],
                     "schedule": ("stored", *self._schedules), "direction": ("push", "pull")}, make)

    def results(self, setting, found):
        shares = found.value("intra_share").at(schedule="stored", direction="push")
        cycles = {schedule: found.cycles.at(schedule=schedule).split("direction")
                  for schedule in self._schedules}
        parts = {schedule: its["push"] / its["pull"] for schedule, its in cycles.items()}
        chosen = shares.axes["graph"]
        splits = ((True, "70 % or more"), (False, "less"))
        # The paper's kernels give each lane an edge.
        means = {clustered: geometric_mean(
            value for choice, value, share in zip(chosen, parts["em"], shares)
            if choice.counts and (share is None or (share >= self._clustered) == clustered))
            for clustered in (True, False)}
        return Outcome(
            tables=(by_columns(
                        "PR: cycles of an iteration", ("graph", shares.labels()),
                        ("inside clusters", shares.cells(percent)),
                        *(column for schedule, its in cycles.items() for column in (
                            *((f"{schedule}: {way}", its[way].cells(number)) for way in its),
                            (f"{schedule}: push of pull", parts[schedule].cells(percent))))),
                    by_rows("The paper's, times", ("graph", "inside clusters", "push of pull"), (
                        (name, percent(published.GRAPHS[name]), percent(value))
                        for name, value in published.PUSH_TO_PULL.items()))),
            plots=(bars("PageRank: push, of pull", "cycles of push, of pull's", parts, None,
                        reference=1.0, paper={
                            f"paper's mean, {words} in clusters": published.intra_split(clustered)
                            for clustered, words in splits}),),
            comparisons=tuple(Comparison(
                f"push of pull under em, {words} of the edges inside clusters",
                percent(published.intra_split(clustered)), percent(means[clustered]))
                for clustered, words in splits),
            data={schedule: {choice.label: {"push_of_pull": value, "intra_share": share}
                             for choice, value, share in zip(chosen, values, shares)}
                  for schedule, values in parts.items()}, notes=(where(setting),))


class Blocking(Figure):
    """Figure 2.9."""
    name = "fig2.9"
    title = "Block-COO and G-Shards against COO"
    source = "figure 2.9, section 2.5.5"
    method = ("Pushing under em, as in the paper's figure 2.9a, on graphs whose vertex values are "
              "many times the L1; blocks and shards of 4096 vertices, whose values are 16 KiB, or "
              "of 1024: the better is taken. Its figure 2.9b has G-Shards against CuSha's own "
              "program, which does not run on this hardware; here they are against COO. PageRank "
              "one iteration, components to the end. Means are geometric.")
    _formats = {
        "COO": ("coo",),
        "Block-COO": ("block-coo:block=1024", "block-coo:block=4096"),
        "G-Shards": ("g-shards:shard=1024", "g-shards:shard=4096"),
    }
    _algorithms = ("pagerank", "cc")

    def grid(self, setting):
        return Grid({"algorithm": self._algorithms, "graph": setting.wide,
                     "format": self._formats}, lambda algorithm, choice, name: {
                         text: run(choice, algorithm, "push", "em", text)
                         for text in self._formats[name]})

    def results(self, setting, found):
        tables, plots, best, largest = [], [], found.best(), []
        for algorithm, cycles in found.cycles.split("algorithm").items():
            gains = {name: cycles.at(format="COO") / cycles.at(format=name)
                     for name in ("Block-COO", "G-Shards")}
            largest += gains["Block-COO"].known
            short, own = ALGORITHMS[algorithm], best.at(algorithm=algorithm).split("format")
            tables.append(by_columns(
                f"{short}: cycles", ("graph", (*cycles.labels(), "geometric mean")),
                *((name, its.cells(_with_block, "")) for name, its in own.items()),
                *((f"{name} over COO", its.cells(times, times(its.mean())))
                  for name, its in gains.items())))
            plots.append(bars(short, "speedup over COO", gains, reference=1.0, paper={
                "paper's largest of Block-COO": published.BLOCK_COO}))
        return Outcome(tables, plots, (Comparison(
            "the largest speedup of Block-COO over COO", times(published.BLOCK_COO),
            times(max(largest, default=None))),),
            best.map(lambda each: dict(zip(("format", "cycles"), each))).nested(),
            (where(setting),))


def _with_block(best):
    """Cycles, and the vertices of the block that is best."""
    text, cycles = best
    return number(cycles) if "=" not in (text or "") else (
        f"{number(cycles)} ({text.partition('=')[2]})")
