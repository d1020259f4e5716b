"""The SCU beside the Weaver and the schedules in software, which no paper has."""

import dataclasses

from sw.benchmarks.system import System
from sw.runtime.plan import as_plan

from ..outcome import Comparison, Outcome, Plot, Table, number, ratio, times
from ..paper import Figure
from ..setting import mean, with_mean
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

    def _runs(self, setting, choice, algorithm):
        """By schedule, the ways to run it: {the unusual option: case}."""
        system = self._system(setting)
        found = {schedule: {"": run(choice, system, algorithm, schedule)}
                 for schedule in (*_COMPACTION, *_OTHERS)}
        if algorithm == "pagerank":
            # Enhanced, it is the same.
            found["scu-enhanced"] = found[enhanced(algorithm)]
        for schedule in _OTHERS:
            ways = found[schedule]
            if algorithm == "pagerank":
                ways["pull"] = run(choice, system, algorithm, schedule, "pull")
            elif algorithm == "sssp" and schedule in _LISTED:
                ways["near first"] = dataclasses.replace(
                    ways[""], plan=as_plan(ways[""].plan, delta="auto"))
        return found

    def cases(self, setting):
        return [case for algorithm in ALGORITHMS for choice in setting.brief
                for ways in self._runs(setting, choice, algorithm).values()
                for case in ways.values()]

    def _best(self, setting, results, choice, algorithm):
        """By schedule, the fastest way and its figures."""
        found = {}
        for schedule, ways in self._runs(setting, choice, algorithm).items():
            way, _ = results.best(ways)
            case = ways["" if way is None else way]
            found[schedule] = {"way": way} | {what: value(results, case)
                                              for what, value in _TOLD.items()}
        return found

    def outcome(self, setting, results):
        tables, plots, comparisons, data = [], [], [], {}
        names = (*_COMPACTION, *_OTHERS)
        for algorithm, short in ALGORITHMS.items():
            best = {choice.label: self._best(setting, results, choice, algorithm)
                    for choice in setting.brief}
            rows, means = [], {}
            for what in _TOLD:
                rows += [(f"{label}: {what}", *(
                    _cell(found[name], what) for name in names)) for label, found in best.items()]
                means[what] = {name: mean(setting.brief, [
                    ratio(found[name][what], found[BASELINE][what]) for found in best.values()])
                    for name in names}
                rows.append((f"mean {what}, of {BASELINE}'s", *map(times, means[what].values())))
            tables.append(Table(short, ("", *names), tuple(rows)))
            speedups = {name: [ratio(found[BASELINE]["cycles"], found[name]["cycles"])
                               for found in best.values()] for name in names[1:]}
            plots.append(Plot(short, f"speedup over {BASELINE}", with_mean(setting.brief), {
                name: (*values, mean(setting.brief, values)) for name, values in speedups.items()},
                reference=1.0))
            comparisons += [Comparison(f"{short}: {name} over {BASELINE}", "-",
                                       times(mean(setting.brief, values)))
                            for name, values in speedups.items()]
            data[algorithm] = {"graphs": best, f"of {BASELINE}": means}
        config = self._system(setting).config
        return Outcome(tuple(tables), tuple(plots), tuple(comparisons), data, (
            f"On `{config.name}`: {config.cores} core(s) of {config.warps} warps of "
            f"{config.threads} lanes; every result is that of the golden model, bit by bit.",))


def _cell(found, what):
    """A number, with its way if that is not the usual way."""
    way = f" ({found['way']})" if found["way"] and what == "cycles" else ""
    return number(found[what]) + way
