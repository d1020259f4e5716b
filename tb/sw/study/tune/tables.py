"""Spaces and tables without a planner, whose best points are known."""

import hashlib

from sw.study.tune.candidates import Candidate
from sw.study.tune.points import Axis
from sw.study.tune.space import Space


__all__ = ["Table", "separable"]


class Table:
    """A space of 3 schedules, one with an option of 4 values, 3 formats and 2 splits: 36 points.

    Parameters
    ----------
    cost : callable
        Cycles of a point, given as dict; None if the planner refuses it.
    same : callable, optional
        A value that is the same for points whose plans are equal.
    """

    def __init__(self, cost, same=lambda point: tuple(point.items())):
        self.space = Space("pagerank")
        self.space.axes = [
            Axis("schedule", ("em", "vm", "vwc"), "vm"),
            Axis("vwc:width", (2, 4, 8, 16), 8, ("schedule", "vwc")),
            Axis("format", ("coo", "csr", "ell"), "csr"),
            Axis("split", ("static", "counter"), "static")]
        self.space._settle({})
        self.cost, self._same = cost, same
        self.asked = []

    def ask(self, plan):
        """The answer of the planner about a plan."""
        point = dict(self.space.point_of(plan))
        self.asked.append(plan)
        if self.cost(point) is None:
            return Candidate(plan, reason=f"{point['schedule']} is refused")
        digest = hashlib.sha256(repr(self._same(point)).encode()).hexdigest()
        return Candidate(plan, digest)

    def measure(self, trial):
        """The record of a trial."""
        cycles = self.cost(dict(self.space.point_of(trial.candidate.plan)))
        if trial.limit is not None and cycles > trial.limit:
            return {"status": "stopped", "cycles": trial.limit}
        return {"status": "done", "cycles": cycles}

    def costs(self):
        """The cycles of each point that is not refused."""
        points = [self.space.at(index) for index in range(self.space.size)]
        return {point: cost for point in points if (cost := self.cost(dict(point))) is not None}


def separable(point):
    """A cost to which each axis contributes alone. The best is 100: em would be refused, so it is
    vwc:width=4 on ell with the counter."""
    if point["schedule"] == "em":
        return None
    width = {2: 40, 4: 10, 8: 30, 16: 90}[point["vwc:width"]] if "vwc:width" in point else 60
    return 50 + width + {"coo": 70, "csr": 35, "ell": 25}[point["format"]] \
        + {"static": 31, "counter": 15}[point["split"]]
