"""The share of balancing in the cycles, by the mean degree of the graph."""

from hw.isa import PHASES
from sw.benchmarks.units import GRAPHPEG, PhasedRun, schedule_of

from ..outcome import Comparison, Outcome, Plot, Table, percent, ratio
from ..paper import Figure
from ..setting import GraphChoice, where
from .runs import CORE, UNITS_SHOWN, run


__all__ = ["Balancing"]


#: Mean degrees, and the arcs of every graph.
_DEGREES, _ARCS = (2, 4, 8, 16, 32), 32768

#: The phases in which warps find their edges, and not work on them.
_BALANCING = ("registration", "work ID")

#: Schedules by name, each with its unit.
_SCHEDULES = {"vwc": None, "cm": None, "twc": None, "weaver (stream)": "stream",
              GRAPHPEG: GRAPHPEG}


class Balancing(Figure):
    """The overhead of balancing."""
    name = "balance"
    title = "the share of balancing by mean degree"
    source = "notes on section 2 (the overhead of Gunrock on graphs of small average out-degree)"
    method = (f"PageRank, one iteration, on graphs of a power law with {_ARCS:,} arcs and fewer "
              "and fewer vertices. The kernels mark all phases, which costs instructions. "
              f"Balancing is the share of the phases {' and '.join(_BALANCING)} in the cycles of "
              "all warps. With a unit, the wait for the unit's answer counts as balancing.")

    def _graphs(self):
        return {degree: GraphChoice(f"{degree}", f"powerlaw:vertices={_ARCS // degree},"
                                    f"edges={_ARCS},seed=1", undirected=False)
                for degree in _DEGREES}

    def _runs(self, setting):
        return {(degree, name): run(
            setting, choice, "pagerank", schedule_of(unit) if unit else name,
            run_class=PhasedRun, direction="push", phases=True, **{"gather": unit} if unit else {})
            for degree, choice in self._graphs().items() for name, unit in _SCHEDULES.items()}

    def cases(self, setting):
        return list(self._runs(setting).values())

    def outcome(self, setting, results):
        shares = {}
        for key, case in self._runs(setting).items():
            phases = results.value(case, "phases")
            cycles = None if phases is None else dict(zip(PHASES, phases))
            shares[key] = None if cycles is None else ratio(
                sum(cycles[name] for name in _BALANCING), sum(cycles.values()))
        rows = [(f"mean degree {degree}", *(percent(shares[degree, name]) for name in _SCHEDULES))
                for degree in _DEGREES]
        plot = Plot("PageRank", "share of balancing", tuple(map(str, _DEGREES)), {
            name: tuple(shares[degree, name] for degree in _DEGREES) for name in _SCHEDULES})
        comparisons = [Comparison(
            f"{name}: least to largest mean degree",
            "falls" if name not in UNITS_SHOWN else "-",
            f"{percent(shares[_DEGREES[0], name])} to {percent(shares[_DEGREES[-1], name])}")
            for name in _SCHEDULES]
        return Outcome((Table("The share of balancing", ("", *_SCHEDULES), tuple(rows)),), (plot,),
                       tuple(comparisons), {f"{degree}: {name}": share
                                            for (degree, name), share in shares.items()},
                       (where(setting), CORE))
