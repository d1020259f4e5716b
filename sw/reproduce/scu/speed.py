"""Time with the SCU against the time of the cores alone: figures 10 and 11."""

from ..outcome import Comparison, Outcome, Plot, Table, number, percent, ratio, times
from ..paper import Figure
from ..setting import mean, with_mean
from . import published
from .runs import (ALGORITHMS, BASELINE, SEARCHES, UNFUSED, counter, enhanced, labels, on_both, run,
                   step_cycles, systems, total, where)


__all__ = ["BasicAndEnhanced", "Time"]


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

    def _runs(self, choice, system, algorithm):
        return {schedule: run(choice, system, algorithm, schedule)
                for schedule in (BASELINE, UNFUSED, enhanced(algorithm))}

    def cases(self, setting):
        return on_both(setting, ALGORITHMS, self._runs)

    def outcome(self, setting, results):
        tables, plots, comparisons, data = [], [], [], {}
        for name, system in systems(setting).items():
            rows, parts, speedups, data[name] = [], {"cores": [], "SCU": []}, [], {}
            for algorithm, short in ALGORITHMS.items():
                mine = []
                for choice in setting.brief:
                    cases = self._runs(choice, system, algorithm)
                    cycles = {schedule: results.cycles(case) for schedule, case in cases.items()}
                    faster = cycles[enhanced(algorithm)]
                    for part, source in (("cores", "cycles"), ("SCU", "scu_cycles")):
                        parts[part].append(ratio(
                            counter(results, cases[enhanced(algorithm)], source),
                            cycles[BASELINE]))
                    mine.append(ratio(cycles[BASELINE], faster))
                    over = ratio(cycles[UNFUSED], faster)
                    rows.append((f"{short}: {choice.label}", number(cycles[BASELINE]),
                                 number(cycles[UNFUSED]), number(faster),
                                 *(percent(values[-1]) for values in parts.values()),
                                 times(mine[-1]), times(over)))
                    data[name].setdefault(algorithm, {})[choice.label] = {
                        "cycles": cycles, "speedup": mine[-1]}
                theirs = published.SPEEDUPS[name][algorithm]
                ours = mean(setting.brief, mine)
                rows.append((f"{short}: geometric mean", *[""] * 5, times(ours), ""))
                comparisons.append(Comparison(
                    f"{name}, {short}: speedup over the cores alone",
                    "slightly below 1x" if theirs is None else times(theirs), times(ours)))
                speedups += mine
            every = mean(setting.brief * len(ALGORITHMS), speedups)
            comparisons.append(Comparison(f"{name}, all three", times(published.MEANS[name]),
                                          times(every)))
            tables.append(Table(f"{name}: cycles", (
                "", "cores alone", "unfused", "with the SCU", "kernels, of cores alone",
                "SCU, of cores alone", "speedup", "over unfused"), tuple(rows)))
            plots.append(Plot(name, "cycles, of the cores alone", tuple(
                f"{short} {label}" for short in ALGORITHMS.values() for label in labels(setting)),
                {part: tuple(values) for part, values in parts.items()}, reference=1.0,
                stacked=True, paper={
                    f"paper's mean, {short}": 1 / published.SPEEDUPS[name][algorithm]
                    for algorithm, short in ALGORITHMS.items()
                    if published.SPEEDUPS[name][algorithm] is not None}))
        return Outcome(tuple(tables), tuple(plots), tuple(comparisons), data, (where(setting),))


#: The steps of schedules in each phase of algorithms 1 to 5.
_PHASES = {
    "look vertices up": ("prepare",),
    "filter edges": ("filter edges",),
    "group edges": ("group edges",),
    "expand: ends of edges": ("expand", "expand edges"),
    "expand: data beside the ends": ("expand weights", "replicate values", "compact values"),
    "contract": ("contract",),
    "contract: lists": ("compact frontier", "compact far"),
    "the far pile": ("advance",),
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

    def _runs(self, choice, system, algorithm):
        return {schedule: run(choice, system, algorithm, schedule)
                for schedule in (BASELINE, *self._schedules.values())}

    def cases(self, setting):
        return on_both(setting, SEARCHES, self._runs)

    def outcome(self, setting, results):
        tables, plots, comparisons, data = [], [], [], {}
        for name, system in systems(setting).items():
            rows, series, data[name] = [], {label: [] for label in self._schedules}, {}
            for algorithm in SEARCHES:
                short = ALGORITHMS[algorithm]
                gains = {label: [] for label in self._schedules}
                for choice in setting.brief:
                    cycles = {schedule: results.cycles(case) for schedule, case in
                              self._runs(choice, system, algorithm).items()}
                    for label, schedule in self._schedules.items():
                        gains[label].append(ratio(cycles[BASELINE], cycles[schedule]))
                    rows.append((f"{short}: {choice.label}", *map(number, cycles.values()),
                                 *(times(values[-1]) for values in gains.values())))
                means = {label: mean(setting.brief, values) for label, values in gains.items()}
                rows.append((f"{short}: geometric mean", "", "", "",
                             *map(times, means.values())))
                for label, values in gains.items():
                    series[label] += [*values, means[label]]
                comparisons += [
                    Comparison(f"{name}, {short}: basic", f"about {times(published.BASIC)}",
                               times(means["basic"])),
                    Comparison(f"{name}, {short}: enhanced",
                               times(published.SPEEDUPS[name][algorithm]),
                               times(means["enhanced"]))]
                data[name][algorithm] = {"graphs": {
                    label: dict(zip(labels(setting), values)) for label, values in gains.items()},
                    "means": means}
            tables.append(Table(f"{name}: cycles", ("", "cores alone", *self._schedules, *(
                f"{label}: speedup" for label in self._schedules)), tuple(rows)))
            plots.append(Plot(name, "speedup over the cores alone", tuple(
                f"{ALGORITHMS[algorithm]} {label}" for algorithm in SEARCHES
                for label in with_mean(setting.brief)),
                {label: tuple(values) for label, values in series.items()}, reference=1.0,
                paper={"paper, basic": published.BASIC} | {
                    f"paper, enhanced, {ALGORITHMS[algorithm]}":
                        published.SPEEDUPS[name][algorithm] for algorithm in SEARCHES}))
            tables.append(self._phases(setting, results, name, system, data))
        return Outcome(tuple(tables), tuple(plots), tuple(comparisons), data, (
            where(setting), "An operation of the SCU takes a cycle for each `width` elements at "
            "best: the elements that it reads or the elements that it writes, whichever are more. "
            "An operation that filters or groups takes a cycle for each element, whatever the "
            "width."))

    def _phases(self, setting, results, name, system, data):
        """Cycles by phase, for each edge that is expanded."""
        counted = [choice for choice in setting.brief if choice.counts]
        columns = [(algorithm, schedule) for algorithm in SEARCHES
                   for schedule in (BASELINE, *self._schedules.values())]
        found = {}
        for algorithm, schedule in columns:
            runs = [self._runs(choice, system, algorithm) for choice in counted]
            edges = [counter(results, cases["scu"], "scu_elements", "expand edges")
                     for cases in runs]
            edges = total(edges)
            for phase, steps in _PHASES.items():
                cycles = [step_cycles(results, cases[schedule], *steps) for cases in runs]
                found[algorithm, schedule, phase] = ratio(
                    total(cycles), edges)
        data[name]["phases"] = {
            algorithm: {schedule: {phase: found[algorithm, schedule, phase] for phase in _PHASES}
                        for schedule in (BASELINE, *self._schedules.values())}
            for algorithm in SEARCHES}
        return Table(f"{name}: cycles by phase for each edge", ("", *(
            f"{ALGORITHMS[algorithm]}: {schedule}" for algorithm, schedule in columns)), tuple(
                (phase, *(_decimal(found[algorithm, schedule, phase])
                          for algorithm, schedule in columns)) for phase in _PHASES))


def _decimal(value):
    """Cycles for an edge, for a table."""
    return times(value).removesuffix("x")
