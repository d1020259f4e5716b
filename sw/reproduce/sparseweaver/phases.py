"""The phases of the gather kernel, pushing and pulling: figure 4.17."""

from hw.isa import PHASES

from ..outcome import Comparison, Outcome, Plot, Table, number, percent, ratio
from ..paper import Figure
from ..setting import where
from . import published
from .runs import HARDWARE, WEAVERS, run


__all__ = ["Phases"]


class Phases(Figure):
    """Figure 4.17."""
    name = "fig4.17"
    title = "phases of the gather kernel, pushing and pulling"
    source = "figure 4.17, section 4.6.7"
    method = ("PageRank, one iteration. The kernels mark all phases, which costs instructions. "
              "Cycles are of all warps together, without those of the phase `apply`. Without "
              "rounds, warps register rows while others work on edges.")
    _phases = PHASES[:-1]

    def _runs(self, setting):
        return {(choice, name): {direction: run(
            setting, choice, "pagerank", name, direction, phases=True)
            for direction in ("push", "pull")} for choice in setting.brief for name in WEAVERS}

    def cases(self, setting):
        return [case for ways in self._runs(setting).values() for case in ways.values()]

    def outcome(self, setting, results):
        rows, groups, series, data = [], [], {phase: [] for phase in self._phases}, {}
        apart = {name: [] for name in WEAVERS}
        for (choice, name), ways in self._runs(setting).items():
            registered = {}
            for direction, case in ways.items():
                found = results.value(case, "phases")
                cycles = dict(zip(PHASES, found or [None] * len(PHASES)))
                total = None if found is None else sum(found[:len(self._phases)])
                shares = {phase: ratio(cycles[phase], total) for phase in self._phases}
                registered[direction] = cycles["registration"]
                label = f"{choice.label}, {name}, {direction}"
                rows.append((label, number(total), *map(percent, shares.values())))
                groups.append(label)
                for phase, value in shares.items():
                    series[phase].append(value)
                data[label] = cycles
            both = ratio(registered["push"], registered["pull"])
            apart[name].append(None if both is None else abs(both - 1))
        comparisons = []
        for name, values in apart.items():
            known = [value for value in values if value is not None]
            comparisons.append(Comparison(
                f"{name}: registration, push against pull, at most",
                f"below {percent(published.REGISTRATION)}", percent(max(known, default=None))))
        return Outcome(
            (Table("Cycles of all warps by phase", ("", "cycles", *self._phases), tuple(rows)),),
            (Plot("phases", "of the warps' cycles", tuple(groups), {
                phase: tuple(values) for phase, values in series.items()}, stacked=True),),
            tuple(comparisons), data, (where(setting), HARDWARE))
