"""The phases of the gather kernel: pushing and pulling (figure 4.17), and with the unit that
generates edges (figure 4.18)."""

from hw.isa import PHASES
from sw.study.benchmarks.grid import Grid, label

from ..outcome import Comparison, Outcome, Plot, by_rows, number, percent, ratio, times
from ..paper import Figure
from ..setting import where, with_mean
from . import published
from .runs import GENERATORS, HARDWARE, WEAVERS, run


__all__ = ["EdgeGeneration", "Phases"]


#: The phases of the gather kernel.
_PHASES = PHASES[:-1]

_METHOD = ("The kernels mark all phases, which costs instructions. Cycles are of all warps "
           "together, without those of the phase `apply`.")


def _breakdown(cycles, data):
    """The table and the plot of the cycles of each phase, by the name of a run. ``data`` gets them
    by the names of phases."""
    rows, series = [], []
    for name, found in cycles.items():
        data[name] = dict(zip(PHASES, found or [None] * len(PHASES)))
        total = _total(found)
        shares = [ratio(data[name][phase], total) for phase in _PHASES]
        rows.append((name, number(total), list(map(percent, shares))))
        series.append(shares)
    return (by_rows("Cycles of all warps by phase", ("", "cycles", *_PHASES), rows),
            Plot("phases", "of the warps' cycles", tuple(cycles),
                 dict(zip(_PHASES, zip(*series))), stacked=True))


def _total(phases):
    return None if phases is None else sum(phases[:len(_PHASES)])


class Phases(Figure):
    """Figure 4.17."""
    name = "fig4.17"
    title = "phases of the gather kernel, pushing and pulling"
    source = "figure 4.17, section 4.6.7"
    method = (f"PageRank, one iteration. {_METHOD} Without rounds, warps register rows while "
              "others work on edges.")

    def grid(self, setting):
        return Grid({"graph": setting.brief, "weaver": WEAVERS, "direction": ("push", "pull")},
                    lambda choice, name, direction: run(setting, choice, "pagerank", name,
                                                        direction, phases=True))

    def results(self, setting, found):
        phases, data = found.value("phases"), {}
        table, plot = _breakdown({", ".join(map(label, key)): value
                                  for key, value in phases.items()}, data)
        registration = phases.map(
            lambda each: dict(zip(PHASES, each))["registration"] if each else None)
        apart = (registration.at(direction="push") / registration.at(direction="pull")).map(
            lambda both: both if both is None else abs(both - 1))
        return Outcome((table,), (plot,), tuple(
            Comparison(f"{name}: registration, push against pull, at most",
                       f"below {percent(published.REGISTRATION)}",
                       percent(max(values.known, default=None)))
            for name, values in apart.split("weaver").items()), data, (where(setting), HARDWARE))


class EdgeGeneration(Figure):
    """Figure 4.18."""
    name = "fig4.18"
    title = "phases of the gather kernel, with the unit that generates edges"
    source = "figure 4.18, section 4.6.8"
    method = (f"PageRank, one iteration, pulling. {_METHOD} Phase `work ID` has the wait for the "
              "unit, which with EGHW reads the edges; `edge access` then loads the records.")
    _names = (*WEAVERS, *GENERATORS)

    def grid(self, setting):
        return Grid({"graph": setting.brief, "unit": self._names}, lambda choice, name: run(
            setting, choice, "pagerank", name, "pull", phases=True))

    def results(self, setting, found):
        phases, data = found.value("phases"), {}
        table, plot = _breakdown({", ".join(map(label, key)): value
                                  for key, value in phases.items()}, data)
        paper, *others = self._names
        totals = phases.map(_total)
        slower = (totals / totals.at(unit=paper)).split("unit")
        first = next(iter(GENERATORS))
        return Outcome(
            (table, by_rows(f"Cycles over those of {paper}", ("", *with_mean(setting.brief)), (
                (name, slower[name].cells(times, times(slower[name].mean())))
                for name in others))), (plot,),
            tuple(Comparison(f"{name}: cycles over those of {paper}",
                             times(published.GENERATION) if name == first else "",
                             times(slower[name].mean())) for name in GENERATORS),
            data, (where(setting), HARDWARE))
