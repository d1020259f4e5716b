"""The SCU beside the Weaver and the schedules in software, which no paper has."""

import dataclasses

from ..outcome import Comparison, Outcome, Plot, Table, number, ratio, times
from ..paper import Figure
from ..setting import mean
from ..system import System
from .runs import ALGORITHMS, BASELINE, counter, dram_bytes, enhanced, run, with_mean


__all__ = ["Schedules"]


#: Those that go through compressed rows as they are.
_OTHERS = ("weaver", "vm", "em", "vwc")

#: Width of the SCU.
_SCU = 4


class Schedules(Figure):
    """A table of all of them."""
    name = "schedules"
    title = "the SCU, the Weaver and the schedules in software"
    source = "in no paper"
    method = ("The same cores, graphs and memory, with a Weaver and an SCU of width 4 beside one "
              "another. Each algorithm pushes along the arcs in all of them; shortest paths take "
              "near vertices before far ones in all of them; of PageRank there is also the better "
              "direction of those that can pull (`pull`). Bytes are of lines that memory moved "
              "while the GPU worked. Means are geometric.")
    _schedules = (BASELINE, "scu", "scu-enhanced", *_OTHERS)

    @staticmethod
    def _system(setting):
        return System(setting.config.replace(name=f"{setting.config.name}+scu{_SCU}", scu=_SCU),
                      setting.dram)

    def _runs(self, setting, choice, algorithm):
        """The runs by what they are called."""
        system = self._system(setting)
        found = {}
        for schedule in self._schedules:
            case = run(choice, system, algorithm, schedule)
            found[schedule] = _near_first(case) if algorithm == "sssp" else case
        if algorithm == "pagerank":
            # Enhanced, it is the same.
            found["scu-enhanced"] = found[enhanced(algorithm)]
            found |= {f"{schedule}, pull": run(choice, system, algorithm, schedule, "pull")
                      for schedule in _OTHERS}
        return found

    def cases(self, setting):
        return [case for algorithm in ALGORITHMS for choice in setting.brief
                for case in self._runs(setting, choice, algorithm).values()]

    def outcome(self, setting, results):
        tables, plots, comparisons, data = [], [], [], {}
        for algorithm, short in ALGORITHMS.items():
            runs = [self._runs(setting, choice, algorithm) for choice in setting.brief]
            names = tuple(runs[0])
            found = {
                "cycles": [{name: results.cycles(each[name]) for name in names} for each in runs],
                "bytes of memory": [{name: dram_bytes(results, each[name]) for name in names}
                                    for each in runs],
                "L2 accesses": [{name: counter(results, each[name], "l2_accesses")
                                 for name in names} for each in runs]}
            rows, means = [], {}
            for what, values in found.items():
                rows += [(f"{choice.label}: {what}", *(number(each[name]) for name in names))
                         for choice, each in zip(setting.brief, values)]
                means[what] = {name: mean(setting.brief, [
                    ratio(each[name], each[BASELINE]) for each in values]) for name in names}
                rows.append((f"{what}, of compact's", *map(times, means[what].values())))
            tables.append(Table(short, ("", *names), tuple(rows)))
            speedups = {name: [ratio(each[BASELINE], each[name]) for each in found["cycles"]]
                        for name in names if name != BASELINE}
            plots.append(Plot(short, "speedup over compact", with_mean(setting), {
                name: (*values, mean(setting.brief, values)) for name, values in speedups.items()},
                reference=1.0))
            comparisons += [Comparison(f"{short}: {name} over compact", "-",
                                       times(mean(setting.brief, values)))
                            for name, values in speedups.items()]
            data[algorithm] = {"graphs": {
                choice.label: {what: values[index] for what, values in found.items()}
                for index, choice in enumerate(setting.brief)}, "of compact": means}
        config = self._system(setting).config
        return Outcome(tuple(tables), tuple(plots), tuple(comparisons), data, (
            f"Cycles on `{config.name}`: {config.cores} core(s) of {config.warps} warps of "
            f"{config.threads} lanes; every result is that of the golden model, bit by bit.",))


def _near_first(case):
    """The run, with near vertices taken before far ones."""
    return dataclasses.replace(case, settings=(*case.settings, ("delta", "auto")))
