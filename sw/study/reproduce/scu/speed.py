"""Time: the share of compaction on the cores, and the time with the SCU: figures 1, 10 and 11."""

from ..outcome import (Comparison, Outcome, Plot, bars, by_columns, by_rows, decimal, extremes,
                       number, percent, times)
from ..paper import Figure
from ..setting import with_mean
from . import published
from .runs import (ALGORITHMS, BASELINE, ENHANCED, SEARCHES, UNFUSED, average, counter, enhanced,
                   on_both, step_cycles, systems, total, where)


__all__ = ["BasicAndEnhanced", "CompactionShare", "Time"]


#: The kernels that do the SCU's work on the cores.
_COMPACTION = ("expand", "compact")


class CompactionShare(Figure):
    """Figure 1."""
    name = "fig1"
    title = "the share of the time that the cores spend in compaction"
    source = "figure 1, section 1"
    method = ("Schedule `compact:fused=no`: compaction in kernels of its own, as the paper split "
              "its programs for this figure. Compaction is the work that algorithms 1 to 3 give "
              "to the SCU: the kernels that make the edge frontier (`expand`) and lists of kept "
              "elements (`compact`), and not the kernels that look up vertices (`prepare`), take "
              "in edges (`contract`), go through the far pile (`advance`) or make ranks (`apply`). "
              "Means are arithmetic.")

    def grid(self, setting):
        return on_both(setting, ALGORITHMS, {UNFUSED: UNFUSED})

    def results(self, setting, found):
        tables, plots, comparisons, data = [], [], [], {}
        every = found.of(step_cycles, *_COMPACTION) / found.cycles
        for name in systems(setting):
            cycles, shares = ({short: cube.at(system=name, algorithm=algorithm, way=UNFUSED)
                               for algorithm, short in ALGORITHMS.items()}
                              for cube in (found.cycles, every))
            means = {short: values.reduce(average, "graph") for short, values in shares.items()}
            tables.append(by_columns(
                f"{name}: cycles, and the share of compaction in them",
                ("graph", with_mean(setting.brief)), *(column for short in shares for column in (
                    (f"{short}: cycles", cycles[short].cells(number, "")),
                    (f"{short}: compaction", shares[short].cells(percent,
                                                                 percent(means[short])))))))
            plots.append(bars(name, "share of the cycles", shares, average, paper=dict(
                zip(("paper's least", "paper's largest"), published.SHARE))))
            comparisons += [Comparison(f"{name}, {short}: compaction",
                                       extremes(published.SHARE, percent, "to"), percent(value))
                            for short, value in means.items()]
            data[name] = {algorithm: shares[short].nested() | {"mean": means[short]}
                          for algorithm, short in ALGORITHMS.items()}
        return Outcome(tables, plots, comparisons, data, (where(setting),))


#: The ways of figure 10, and of figure 11.
_WAYS = {way: way for way in (BASELINE, UNFUSED, ENHANCED)}
_COMPARED = (BASELINE, "scu", "scu-enhanced")


class Time(Figure):
    """Figure 10."""
    name = "fig10"
    title = "time with the SCU, of that of the cores alone"
    source = "figure 10, section 6.2"
    method = ("Cycles of the enhanced SCU (PageRank: the basic SCU, as in the paper), relative to "
              "schedule `compact`, whose kernels store kept elements at once: the fastest schedule "
              "here without the SCU. The cycles are split into the cycles of kernels and of "
              "operations, which never overlap. `unfused` has compaction in kernels of its own. "
              "Means are geometric.")

    def grid(self, setting):
        return on_both(setting, ALGORITHMS, _WAYS)

    def results(self, setting, found):
        tables, plots, comparisons, data = [], [], [], {}
        cycles = found.cycles.split("way")
        gains = {way: cycles[way] / cycles[ENHANCED] for way in (BASELINE, UNFUSED)}
        parts = {part: found.of(counter, source).at(way=ENHANCED) / cycles[BASELINE]
                 for part, source in (("cores", "cycles"), ("SCU", "scu_cycles"))}
        for name in systems(setting):
            rows, data[name] = [], {}
            for algorithm, short in ALGORITHMS.items():
                its = gains[BASELINE].at(system=name, algorithm=algorithm)
                for choice, gain in its.split("graph").items():
                    place = {"system": name, "algorithm": algorithm, "graph": choice}
                    own = {way: each.at(**place) for way, each in cycles.items()}
                    rows.append((f"{short}: {choice.label}", list(map(number, own.values())),
                                 [percent(each.at(**place)) for each in parts.values()],
                                 times(gain), times(gains[UNFUSED].at(**place))))
                    data[name].setdefault(algorithm, {})[choice.label] = {"cycles": {
                        enhanced(algorithm) if way == ENHANCED else way: value
                        for way, value in own.items()}, "speedup": gain}
                rows.append((f"{short}: geometric mean", [""] * 5, times(its.mean()), ""))
                theirs = published.SPEEDUPS[name][algorithm]
                comparisons.append(Comparison(
                    f"{name}, {short}: speedup over the cores alone",
                    "slightly below 1x" if theirs is None else times(theirs), times(its.mean())))
            comparisons.append(Comparison(
                f"{name}, all three", times(published.MEANS[name]),
                times(gains[BASELINE].at(system=name).mean("algorithm", "graph"))))
            tables.append(by_rows(f"{name}: cycles", (
                "", "cores alone", "unfused", "with the SCU", "kernels, of cores alone",
                "SCU, of cores alone", "speedup", "over unfused"), rows))
            plots.append(Plot(name, "cycles, of the cores alone", tuple(
                f"{short} {choice.label}" for short in ALGORITHMS.values()
                for choice in setting.brief),
                {part: tuple(each.at(system=name)) for part, each in parts.items()}, reference=1.0,
                stacked=True, paper={
                    f"paper's mean, {ALGORITHMS[algorithm]}": 1 / value
                    for algorithm, value in published.SPEEDUPS[name].items() if value is not None}))
        return Outcome(tables, plots, comparisons, data, (where(setting),))


#: The steps of schedules in each phase of algorithms 1 to 5.
_PHASES = {
    "look vertices up": ("prepare",),
    "filter edges": ("filter edges",),
    "group edges": ("group edges",),
    "expand: ends of edges": ("expand", "expand edges"),
    "expand: data beside the ends": ("expand weights", "replicate values", "compact values"),
    "contract": ("contract",),
    "contract: lists": ("compact frontier", "compact far"),
    "the far pile": ("advance", "leap", "restamp"),
}


class BasicAndEnhanced(Figure):
    """Figure 11."""
    name = "fig11"
    title = "gains of the basic SCU, of filtering and of grouping"
    source = "figure 11, section 6.3"
    method = ("Speedups over schedule `compact`. Beside them, cycles by phase for each edge that "
              "the basic SCU expands: all graphs together. Means are "
              "geometric.")
    _schedules = {"basic": "scu", "enhanced": "scu-enhanced"}

    def grid(self, setting):
        return on_both(setting, SEARCHES, {way: way for way in _COMPARED})

    def results(self, setting, found):
        tables, plots, comparisons, data = [], [], [], {}
        for name in systems(setting):
            rows, series, data[name] = [], {label: [] for label in self._schedules}, {}
            for algorithm in SEARCHES:
                short = ALGORITHMS[algorithm]
                cycles = found.cycles.at(system=name, algorithm=algorithm)
                gains = {label: cycles.at(way=BASELINE) / cycles.at(way=schedule)
                         for label, schedule in self._schedules.items()}
                means = {label: values.mean() for label, values in gains.items()}
                rows += [(f"{short}: {choice.label}", its.cells(number),
                          [times(each.at(graph=choice)) for each in gains.values()])
                         for choice, its in cycles.split("graph").items()]
                rows.append((f"{short}: geometric mean", [""] * 3,
                             list(map(times, means.values()))))
                for label, values in gains.items():
                    series[label] += [*values, means[label]]
                comparisons += [
                    Comparison(f"{name}, {short}: basic", f"about {times(published.BASIC)}",
                               times(means["basic"])),
                    Comparison(f"{name}, {short}: enhanced",
                               times(published.SPEEDUPS[name][algorithm]),
                               times(means["enhanced"]))]
                data[name][algorithm] = {"graphs": {label: values.nested() for label, values
                                                    in gains.items()}, "means": means}
            tables.append(by_rows(f"{name}: cycles", ("", "cores alone", *self._schedules, *(
                f"{label}: speedup" for label in self._schedules)), rows))
            plots.append(Plot(name, "speedup over the cores alone", tuple(
                f"{ALGORITHMS[algorithm]} {label}" for algorithm in SEARCHES
                for label in with_mean(setting.brief)),
                {label: tuple(values) for label, values in series.items()}, reference=1.0,
                paper={"paper, basic": published.BASIC} | {
                    f"paper, enhanced, {ALGORITHMS[algorithm]}":
                        published.SPEEDUPS[name][algorithm] for algorithm in SEARCHES}))
            tables.append(self._phases(name, found, data))
        return Outcome(tables, plots, comparisons, data, (
            where(setting), "An operation of the SCU takes a cycle for each `width` elements at "
            "best: the elements that it reads or the elements that it writes, whichever are more. "
            "An operation that filters or groups takes a cycle for each element, whatever the "
            "width."))

    @staticmethod
    def _phases(name, found, data):
        """Cycles by phase, for each edge that is expanded."""
        edges = found.of(counter, "scu_elements", "expand edges").at(way="scu").reduce(
            total, "graph")
        phases = {phase: (found.of(step_cycles, *steps).reduce(total, "graph") / edges).at(
            system=name) for phase, steps in _PHASES.items()}
        data[name]["phases"] = {algorithm: {schedule: {
            phase: its.at(algorithm=algorithm, way=schedule) for phase, its in phases.items()}
            for schedule in _COMPARED} for algorithm in SEARCHES}
        return by_rows(f"{name}: cycles by phase for each edge", ("", *(
            f"{ALGORITHMS[algorithm]}: {schedule}" for algorithm in SEARCHES
            for schedule in _COMPARED)), ((phase, its.cells(decimal))
                                          for phase, its in phases.items()))
