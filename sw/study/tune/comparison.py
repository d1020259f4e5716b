"""Strategies against each other, on a table of the cycles of every candidate.

A table comes from an exhaustive search without early termination. On the table a search costs no
simulation, so it can be repeated with many seeds. A trial that would be stopped at a limit costs
exactly this limit: the simulator stops at the limit too.
"""

import dataclasses
import statistics

from sw.study.tune.search import Tuner
from sw.study.tune.strategies import make


__all__ = ["Costs", "CandidateTable", "compare", "replay"]


@dataclasses.dataclass(frozen=True)
class CandidateTable:
    """All candidates of a space."""
    space: object  #: Space
    ask: object  #: Gives the :class:`~sw.study.tune.candidates.Candidate` of a plan.
    cycles: dict[str, int]  #: Cycles of each candidate that runs to its end, by its digest.

    @property
    def fewest(self) -> int:
        """The fewest cycles of all."""
        return min(self.cycles.values())

    def within(self, part) -> int:
        """The number of candidates whose cycles are above the fewest by at most this part."""
        return sum(cycles <= (1 + part) * self.fewest for cycles in self.cycles.values())


@dataclasses.dataclass(frozen=True)
class Costs:
    """The costs of a search until a candidate is near the best."""
    trials: int
    cycles: int  #: Cycles that were simulated.
    full: int  #: Cycles of the same trials without early termination.


def replay(table, strategy, seed, part) -> Costs | None:
    """Search a table, from the default plan, until a trial's cycles are above the fewest of all
    by at most ``part``. None if the strategy ends before."""
    search = Tuner(table.space, table.ask, make(strategy, table.space, seed),
                    starts=[table.space.default])
    cycles = full = 0
    for trial in search.trials():
        if trial is None:
            raise RuntimeError("a strategy waits, though no trial is running")
        own = table.cycles.get(trial.candidate.digest)
        if own is None:
            search.ended(trial, {"status": "failed"})
            continue
        full += own
        if trial.limit is not None and own > trial.limit:
            cycles += trial.limit
            search.ended(trial, {"status": "stopped", "cycles": trial.limit})
            continue
        cycles += own
        search.ended(trial, {"status": "done", "cycles": own})
        if own <= (1 + part) * table.fewest:
            return Costs(len(search.outcomes), cycles, full)
    return None


def compare(table, strategies, seeds, part) -> dict:
    """The costs of each strategy over seeds 1 to ``seeds``: ``reached``, the number of searches
    that came near the best, and over these the medians ``trials`` and ``cycles``, and ``left``, the
    share of the cycles that early termination left. The last three are None if no search came near.
    """
    found = {}
    for strategy in strategies:
        costs = [each for seed in range(1, seeds + 1)
                 if (each := replay(table, strategy, seed, part)) is not None]
        found[strategy] = {"reached": len(costs)} | ({
            "trials": statistics.median(each.trials for each in costs),
            "cycles": statistics.median(each.cycles for each in costs),
            "left": sum(each.cycles for each in costs) / sum(each.full for each in costs),
        } if costs else dict.fromkeys(("trials", "cycles", "left")))
    return found
