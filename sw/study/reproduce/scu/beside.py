"""The SCU beside the Weaver and the schedules in software, which no paper has."""

import dataclasses

from sw.study.benchmarks.grid import Grid
from sw.study.benchmarks.system import System
from sw.compile.plan import as_plan

from ..outcome import Comparison, Outcome, bars, by_rows, number, times
from ..paper import Figure
from .runs import ALGORITHMS, BASELINE, counter, dram_bytes, enhanced, run


__all__ = ["Schedules"]


#: Schedules by compaction; and schedules that go through the rows of the frontier as they are.
_COMPACTION = (BASELINE, "scu", "scu-enhanced")
_OTHERS = ("weaver", "vm", "em", "vwc")

#: The schedules whose frontier is a list, which SSSP needs to take near vertices first.
_LISTED = ("weaver", "vm", "vwc")

#: Width of the SCU.
_SCU = 4

#: The figures of a run in the table, and the functions that give them.
_TOLD = {
    "cycles": lambda results, case: results.cycles(case),
    "bytes of memory": dram_bytes,
    "L2 accesses": lambda results, case: counter(results, case, "l2_accesses"),
}


class Schedules(Figure):
    """A table of all schedules."""
    name = "schedules"
    title = "the SCU, the Weaver and the schedules in software"
    source = "in no paper"
    method = ("The same cores, graphs and memory, with a Weaver and an SCU of width 4 beside one "
              "another. Algorithms push. PageRank takes the better direction under schedules that "
              "can also pull. Shortest paths by compaction take near vertices before far "
              "vertices. A schedule that can run with and without this order takes the better "
              "run; `em` cannot use the order. Bytes are of lines that memory moved while the GPU "
              "worked. Means are geometric.")

    @staticmethod
    def _system(setting):
        return System(setting.config.replace(name=f"{setting.config.name}+scu{_SCU}", scu=_SCU),
                      setting.dram)

    def grid(self, setting):
        system = self._system(setting)
        return Grid({"algorithm": ALGORITHMS, "graph": setting.brief,
                     "schedule": (*_COMPACTION, *_OTHERS)},
                    lambda algorithm, choice, schedule: self._ways(
                        choice, system, algorithm, schedule))

    @staticmethod
    def _ways(choice, system, algorithm, schedule):
        """The ways to run a schedule, by the unusual option."""
        if schedule == "scu-enhanced":
            schedule = enhanced(algorithm)               # enhanced, PageRank is the same
        ways = {"": run(choice, system, algorithm, schedule)}
        if schedule in _OTHERS and algorithm == "pagerank":
            ways["pull"] = run(choice, system, algorithm, schedule, "pull")
        elif schedule in _LISTED and algorithm == "sssp":
            ways["near first"] = dataclasses.replace(
                ways[""], plan=as_plan(ways[""].plan, delta="auto"))
        return ways

    def results(self, setting, found):
        tables, plots, comparisons, data = [], [], [], {}
        ways = found.ways
        told = {what: found.of(value) for what, value in _TOLD.items()}
        for algorithm, short in ALGORITHMS.items():
            own = {what: cube.at(algorithm=algorithm) for what, cube in told.items()}
            over = {what: cube / cube.at(schedule=BASELINE) for what, cube in own.items()}
            rows, means = [], {what: cube.mean() for what, cube in over.items()}
            for what, cube in own.items():
                rows += [(f"{choice.label}: {what}", [
                    number(value) + (f" ({way})" if way and what == "cycles" else "")
                    for way, value in zip(ways.at(algorithm=algorithm, graph=choice), its)])
                    for choice, its in cube.split("graph").items()]
                rows.append((f"mean {what}, of {BASELINE}'s", means[what].cells(times)))
            names = means["cycles"].axes["schedule"]
            tables.append(by_rows(short, ("", *names), rows))
            cycles = own["cycles"]
            speedups = {name: cycles.at(schedule=BASELINE) / cycles.at(schedule=name)
                        for name in names[1:]}
            plots.append(bars(short, f"speedup over {BASELINE}", speedups, reference=1.0))
            comparisons += [Comparison(f"{short}: {name} over {BASELINE}", "-",
                                       times(values.mean())) for name, values in speedups.items()]
            data[algorithm] = {"graphs": {choice.label: {name: {
                "way": ways.at(algorithm=algorithm, graph=choice, schedule=name)} | {
                    what: cube.at(graph=choice, schedule=name) for what, cube in own.items()}
                for name in names} for choice in setting.brief},
                f"of {BASELINE}": {what: each.nested() for what, each in means.items()}}
        config = self._system(setting).config
        return Outcome(tables, plots, comparisons, data, (
            f"On `{config.name}`: {config.cores} core(s) of {config.warps} warps of "
            f"{config.threads} lanes; every result is that of the golden model, bit by bit.",))
