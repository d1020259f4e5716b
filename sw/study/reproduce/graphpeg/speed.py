"""GraphPEG against the frameworks' stand-ins and the other units, and the share of balancing."""

from sw.study.benchmarks.grid import Grid
from sw.study.benchmarks.units import GRAPHPEG, PhasedRun, phase_share, schedule_of

from ..outcome import Comparison, Outcome, bars, by_rows, number, percent, times
from ..paper import Figure
from ..setting import GraphChoice, where
from . import published
from .runs import (ALGORITHMS, CORE, GUNROCK, SEP_GRAPH, STAND_INS, UNITS_SHOWN, run, stand_ins,
                   units)


__all__ = ["Balancing", "Throughput"]


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

    def grid(self, setting):
        graphs = [GraphChoice(f"{degree}", f"powerlaw:vertices={_ARCS // degree},"
                              f"edges={_ARCS},seed=1", undirected=False) for degree in _DEGREES]

        def make(choice, name):
            unit = _SCHEDULES[name]
            return run(setting, choice, "pagerank", schedule_of(unit) if unit else name,
                       run_class=PhasedRun, direction="push", phases=True,
                       **{"gather": unit} if unit else {})
        return Grid({"graph": graphs, "schedule": _SCHEDULES}, make)

    def results(self, setting, found):
        shares = found.value("phases").map(lambda phases: phase_share(phases, _BALANCING))
        by_name = shares.split("schedule")
        return Outcome(
            (by_rows("The share of balancing", ("", *_SCHEDULES), (
                (f"mean degree {degree.label}", its.cells(percent))
                for degree, its in shares.split("graph").items())),),
            (bars("PageRank", "share of balancing", by_name, mean=None),),
            tuple(Comparison(f"{name}: least to largest mean degree",
                             "falls" if name not in UNITS_SHOWN else "-",
                             " to ".join(percent(list(its)[place]) for place in (0, -1)))
                  for name, its in by_name.items()),
            {f"{degree.label}: {name}": share for (degree, name), share in shares.items()},
            (where(setting), CORE))


#: GraphPEG is compared with all of these.
_RIVALS = (GUNROCK, SEP_GRAPH, *(name for name in UNITS_SHOWN if name != GRAPHPEG))

#: Counters that say where the cycles go.
_COUNTERS = {"instructions": "instructions", "memory_instructions": "memory instructions",
             "l1_accesses": "accesses of the L1", "weaver_waits": "cycles in which a pop waits"}


class Throughput(Figure):
    """The abstract's speedups."""
    name = "speed"
    title = "GraphPEG over stand-ins for Gunrock and SEP-Graph, and over the other units"
    source = "abstract"
    method = (f"`{GUNROCK}` is a stand-in: the fastest of the schedules {', '.join(STAND_INS)}, "
              f"pushing, with a queue. `{SEP_GRAPH}` is a stand-in: the fastest of these schedules "
              "pushing, pulling or changing direction, with a queue, a bitmap or a bytemap; its "
              "asynchronous mode is missing. SSSP near first (`--delta auto`) is not among them: "
              "it was slower in 15 of 16 pairs of runs. Each unit has the better of its "
              "directions. The abstract has six algorithms and six graphs, which the notes do not "
              "name. Means are geometric.")

    def grid(self, setting):
        ways = {(algorithm, choice): stand_ins(setting, choice, algorithm)
                | units(setting, choice, algorithm)
                for algorithm in ALGORITHMS for choice in setting.brief}
        return Grid({"algorithm": ALGORITHMS, "graph": setting.brief,
                     "system": (*_RIVALS, GRAPHPEG)},
                    lambda algorithm, choice, name: ways[algorithm, choice][name])

    def results(self, setting, found):
        tables, plots, best = [], [], found.best()
        gains = found.cycles / found.cycles.at(system=GRAPHPEG)
        for algorithm, over in gains.split("algorithm").items():
            over = {rival: over.at(system=rival) for rival in _RIVALS}
            tables.append(by_rows(f"{algorithm}: cycles", ("graph", *_RIVALS, GRAPHPEG), [
                *((choice.label, its.cells(lambda each: f"{number(each[1])} ({each[0] or '-'})"))
                  for choice, its in best.at(algorithm=algorithm).split("graph").items()),
                ("mean of GraphPEG over it", [times(each.mean()) for each in over.values()],
                 times(1.0))]))
            plots.append(bars(algorithm, "speedup of GraphPEG", over, reference=1.0, paper={
                f"abstract, over {GUNROCK}": published.OVER[GUNROCK][0]}))
        tables.append(self._reasons(setting, found.value("counters")))
        comparisons = []
        for rival in _RIVALS:
            its = gains.at(system=rival)
            theirs = [times(value) for value in published.OVER.get(rival, ())] or ["-", "-"]
            ours = its.mean("algorithm", "graph"), max(its.known, default=None)
            comparisons += [Comparison(f"over {rival}: {what}", paper, times(value))
                            for what, paper, value in zip(("mean", "at most"), theirs, ours)]
        return Outcome(tables, plots, comparisons, best.map(
            lambda each: dict(zip(("way", "cycles"), each))).nested(), (where(setting), CORE))

    @staticmethod
    def _reasons(setting, counters):
        """The counters of the Weaver without rounds and of GraphPEG on the first graph."""
        names, first = ("weaver (stream)", GRAPHPEG), setting.brief[0]
        return by_rows(f"Where the cycles go, on {first.label}", ("", *names), (
            (f"{algorithm}: {text}", [number((its.at(system=name) or {}).get(counter))
                                      for name in names])
            for algorithm, its in counters.at(graph=first).split("algorithm").items()
            for counter, text in _COUNTERS.items()))
