"""The phases of the gather kernel: pushing and pulling (figure 4.17), and with the unit that
generates edges (figure 4.18)."""

from hw.isa import PHASES

from ..outcome import Comparison, Outcome, Plot, Table, number, percent, ratio, times
from ..paper import Figure
from ..setting import mean, where, with_mean
from . import published
from .runs import GENERATORS, HARDWARE, WEAVERS, run


__all__ = ["EdgeGeneration", "Phases"]


#: The phases of the gather kernel.
_PHASES = PHASES[:-1]

_METHOD = ("The kernels mark all phases, which costs instructions. Cycles are of all warps "
           "together, without those of the phase `apply`.")


class _Breakdown:
    """The cycles of runs by phase.

    Parameters
    ----------
    runs : dict of str to PhasedRun
        The runs, by their names in tables.
    results : Results

    Attributes
    ----------
    totals : dict of str to int or None
        The cycles of all phases, by run.
    data : dict
        The cycles by phase, by run.
    table, plot
    """
    def __init__(self, runs, results):
        self.totals, self.data = {}, {}
        rows, series = [], {phase: [] for phase in _PHASES}
        for label, case in runs.items():
            found = results.value(case, "phases")
            self.data[label] = cycles = dict(zip(PHASES, found or [None] * len(PHASES)))
            total = self.totals[label] = None if found is None else sum(found[:len(_PHASES)])
            shares = {phase: ratio(cycles[phase], total) for phase in _PHASES}
            rows.append((label, number(total), *map(percent, shares.values())))
            for phase, value in shares.items():
                series[phase].append(value)
        self.table = Table("Cycles of all warps by phase", ("", "cycles", *_PHASES), tuple(rows))
        self.plot = Plot("phases", "of the warps' cycles", tuple(runs), {
            phase: tuple(values) for phase, values in series.items()}, stacked=True)


class Phases(Figure):
    """Figure 4.17."""
    name = "fig4.17"
    title = "phases of the gather kernel, pushing and pulling"
    source = "figure 4.17, section 4.6.7"
    method = (f"PageRank, one iteration. {_METHOD} Without rounds, warps register rows while "
              "others work on edges.")

    def _runs(self, setting):
        return {(choice.label, name): {f"{choice.label}, {name}, {direction}": run(
            setting, choice, "pagerank", name, direction, phases=True)
            for direction in ("push", "pull")} for choice in setting.brief for name in WEAVERS}

    def cases(self, setting):
        return [case for ways in self._runs(setting).values() for case in ways.values()]

    def outcome(self, setting, results):
        runs = self._runs(setting)
        found = _Breakdown({label: case for ways in runs.values() for label, case in ways.items()},
                           results)
        apart = {name: [] for name in WEAVERS}
        for (_, name), ways in runs.items():
            both = ratio(*(found.data[label]["registration"] for label in ways))
            if both is not None:
                apart[name].append(abs(both - 1))
        comparisons = [Comparison(f"{name}: registration, push against pull, at most",
                                  f"below {percent(published.REGISTRATION)}",
                                  percent(max(values, default=None)))
                       for name, values in apart.items()]
        return Outcome((found.table,), (found.plot,), tuple(comparisons), found.data,
                       (where(setting), HARDWARE))


class EdgeGeneration(Figure):
    """Figure 4.18."""
    name = "fig4.18"
    title = "phases of the gather kernel, with the unit that generates edges"
    source = "figure 4.18, section 4.6.8"
    method = (f"PageRank, one iteration, pulling. {_METHOD} Phase `work ID` has the wait for the "
              "unit, which with EGHW reads the edges; `edge access` then loads the records.")
    _names = (*WEAVERS, *GENERATORS)

    def _runs(self, setting):
        return {choice.label: {name: run(setting, choice, "pagerank", name, "pull", phases=True)
                               for name in self._names} for choice in setting.brief}

    def cases(self, setting):
        return [case for ways in self._runs(setting).values() for case in ways.values()]

    def outcome(self, setting, results):
        runs = self._runs(setting)
        found = _Breakdown({f"{choice}, {name}": case for choice, ways in runs.items()
                            for name, case in ways.items()}, results)
        paper, *others = self._names
        slower = {name: [ratio(found.totals[f"{choice}, {name}"],
                               found.totals[f"{choice}, {paper}"]) for choice in runs]
                  for name in others}
        rows = [(name, *map(times, values), times(mean(setting.brief, values)))
                for name, values in slower.items()]
        first = next(iter(GENERATORS))
        comparisons = [
            Comparison(f"{name}: cycles over those of {paper}",
                       times(published.GENERATION) if name == first else "",
                       times(mean(setting.brief, slower[name]))) for name in GENERATORS]
        return Outcome(
            (found.table, Table(f"Cycles over those of {paper}",
                                ("", *with_mean(setting.brief)), tuple(rows))),
            (found.plot,), tuple(comparisons), found.data, (where(setting), HARDWARE))
