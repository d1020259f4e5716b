"""The share of the time that is compaction: figure 1."""

from ..outcome import Comparison, Outcome, Plot, Table, number, percent, ratio
from ..paper import Figure
from ..setting import with_mean
from . import published
from .runs import ALGORITHMS, UNFUSED, average, labels, run, step_cycles, systems, where


__all__ = ["CompactionShare"]


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

    def cases(self, setting):
        return [run(choice, system, algorithm, UNFUSED)
                for system in systems(setting).values() for algorithm in ALGORITHMS
                for choice in setting.brief]

    def outcome(self, setting, results):
        tables, plots, comparisons, data = [], [], [], {}
        low, high = (percent(value) for value in published.SHARE)
        for name, system in systems(setting).items():
            shares, cells = {}, {choice.label: [] for choice in setting.brief}
            for algorithm in ALGORITHMS:
                values = []
                for choice in setting.brief:
                    case = run(choice, system, algorithm, UNFUSED)
                    cycles = results.cycles(case)
                    values.append(ratio(step_cycles(results, case, *_COMPACTION), cycles))
                    cells[choice.label] += [number(cycles), percent(values[-1])]
                shares[algorithm] = (*values, average(setting.brief, values))
            rows = [(label, *found) for label, found in cells.items()]
            rows.append(("mean", *(cell for values in shares.values()
                                   for cell in ("", percent(values[-1])))))
            tables.append(Table(f"{name}: cycles, and the share of compaction in them", (
                "graph", *(f"{short}: {what}" for short in ALGORITHMS.values()
                           for what in ("cycles", "compaction"))), tuple(rows)))
            plots.append(Plot(name, "share of the cycles", with_mean(setting.brief), {
                ALGORITHMS[algorithm]: values for algorithm, values in shares.items()},
                paper=dict(zip(("paper's least", "paper's largest"), published.SHARE))))
            comparisons += [Comparison(f"{name}, {short}: compaction", f"{low} to {high}",
                                       percent(shares[algorithm][-1]))
                            for algorithm, short in ALGORITHMS.items()]
            data[name] = {algorithm: dict(zip((*labels(setting), "mean"), values))
                          for algorithm, values in shares.items()}
        return Outcome(tuple(tables), tuple(plots), tuple(comparisons), data, (where(setting),))
