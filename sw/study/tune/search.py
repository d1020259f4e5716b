"""The search: asks a strategy for plans, and has each tried unless the answer is known.

A plan that the planner refuses costs nothing. Neither does a plan with the digest of another plan:
it has the other plan's outcome. A trial is stopped at the fewest cycles so far (GRAssembler, 2.4),
because a plan that needs more cannot be the best.
"""

import collections
import dataclasses

from sw.study.tune.candidates import Candidate
from sw.study.tune.strategies import WAIT, TrialOutcome


__all__ = ["Trial", "Tuner", "whole"]


@dataclasses.dataclass(frozen=True)
class Trial:
    """A plan to be run."""
    candidate: Candidate
    limit: int | None  #: The cycles at which the run is stopped.


class Tuner:
    """A search.

    Its state: ``outcomes``, (plan, record) of each trial that has ended, by the candidate's digest;
    ``refused``, the number of refused points by the reason; ``merged``, the points whose plan is
    equal to an earlier one's; ``fewest``, the fewest cycles of any trial, known ones among them, or
    None; and ``repeated``, the trials that were known.

    Parameters
    ----------
    space : Space
    ask : callable
        Gives the :class:`~sw.study.tune.candidates.Candidate` of a plan.
    strategy : Strategy
    trials : int, optional
        Trials after which the search ends; those that were known count.
    starts : iterable of points
        Points that are tried first.
    known : dict of str to dict
        Records of earlier trials (``status``, ``cycles``, ``digest``), by the plan's text.
    limit : int, optional
        Cycles at which every trial is stopped; with ``stop`` also at the fewest cycles so far.
    """

    def __init__(self, space, ask, strategy, trials=None, starts=(), known=None, limit=None,
                 stop=True):
        self.space, self._ask, self.strategy = space, ask, strategy
        self._limit, self._stop, self._most = limit, stop, trials
        self._starts = list(dict.fromkeys(starts))
        known = (known or {}).values()
        self.fewest = min((record["cycles"] for record in known if record["status"] == "done"),
                          default=None)
        self._known = {record["digest"]: record for record in known if self._counts(record)}
        self.outcomes, self.refused = {}, collections.Counter()
        self.merged = self.repeated = 0
        self._running = {}              # points of each digest that is being run
        self._seen = set()

    @property
    def count(self) -> int:
        """Trials so far, those included that are running."""
        return len(self.outcomes) + len(self._running)

    def trials(self):
        """The trials, each asked for when there is a place for it; None if the strategy must first
        be told of a running trial."""
        while self._most is None or self.count < self._most:
            point = self._starts.pop(0) if self._starts else self.strategy.propose()
            if point is None:
                break
            if point is WAIT:
                yield None
                continue
            trial = self._trial(point)
            if trial is not None:
                yield trial

    def _trial(self, point):
        """The trial of a point, or None if its outcome needs no run."""
        candidate = self.space.candidate(point, self._ask)
        digest, new = candidate.digest, point not in self._seen
        self._seen.add(point)
        if digest is None:
            self.refused[candidate.reason] += new
            self.strategy.told(point, TrialOutcome("refused"))
        elif digest in self._running:
            self.merged += new
            self._running[digest].append(point)
        elif digest in self.outcomes:
            self.merged += new
            self.strategy.told(point, _outcome(self.outcomes[digest][1]))
        else:
            self._running[digest] = [point]
            if digest not in self._known:
                return Trial(candidate, self._limit_now())
            self.repeated += 1
            self._end(candidate, self._known[digest])
        return None

    def _counts(self, record):
        """Whether a known record tells as much as a new trial would."""
        now = self._limit_now()
        return record["status"] == "done" or (record["status"] == "stopped" and now is not None
                                              and record["cycles"] >= now)

    def _limit_now(self):
        limits = [self._limit, self.fewest if self._stop else None]
        return min((limit for limit in limits if limit is not None), default=None)

    def ended(self, trial, record):
        """A trial has ended with this record of :func:`sw.study.tune.runs.measure`."""
        self._end(trial.candidate, whole(record))

    def _end(self, candidate, record):
        if record["status"] == "done":
            self.fewest = min(filter(None, (self.fewest, record["cycles"])))
        self.outcomes[candidate.digest] = candidate.plan, record
        for point in self._running.pop(candidate.digest):
            self.strategy.told(point, _outcome(record))

    def run(self, measure):
        """Run all trials here, one after another; ``measure(trial)`` gives a trial's record."""
        for trial in self.trials():
            self.ended(trial, measure(trial))


def whole(record) -> dict:
    """A trial's record, with the status that is missing if its process died."""
    return {"status": "failed"} | record


def _outcome(record):
    return TrialOutcome(record["status"], record.get("cycles"))
