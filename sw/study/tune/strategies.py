"""Strategies: the order in which points of the space are tried.

A strategy proposes points one by one, and is told the outcome of each. It is told outcomes in the
order in which they come. With the same seed and the same outcomes in the same order, it proposes
the same points.
"""

import dataclasses
import random

from base.errors import UserError


__all__ = ["STRATEGIES", "WAIT", "Coordinate", "Exhaustive", "TrialOutcome", "Random", "Strategy",
           "make"]


#: The proposal of a strategy that must first be told the outcomes of earlier points.
WAIT = object()


@dataclasses.dataclass(frozen=True)
class TrialOutcome:
    """The outcome of a point."""
    #: ``"done"``: it has run to its end. ``"stopped"``: it was stopped at a limit. ``"refused"``:
    #: the planner refuses it. ``"failed"``: the run failed.
    status: str
    #: The cycles of a run to its end, or the limit at which the run was stopped.
    cycles: int | None = None


class Strategy:
    """Base of the strategies. ``seed`` is that of all that is drawn at random."""
    name: str

    def __init__(self, space, seed):
        self.space, self.seed = space, seed

    def propose(self):
        """The next point; :data:`WAIT`; or None if there is no further point."""
        raise NotImplementedError

    def told(self, point, outcome):
        """The outcome of a point, which may be a point that the strategy has not proposed."""


class Exhaustive(Strategy):
    """All points, in the order of the axes."""
    name = "exhaustive"

    def __init__(self, space, seed):
        super().__init__(space, seed)
        self._next = iter(range(space.size))

    def propose(self):
        index = next(self._next, None)
        return None if index is None else self.space.at(index)


class Random(Strategy):
    """All points, each once, in random order."""
    name = "random"

    def __init__(self, space, seed):
        super().__init__(space, seed)
        self._random = random.Random(seed)
        self._left, self._moved = space.size, {}

    def propose(self):
        if not self._left:
            return None
        # Fisher and Yates's shuffle, of which only the moved entries are kept.
        drawn = self._random.randrange(self._left)
        self._left -= 1
        index = self._moved.get(drawn, drawn)
        self._moved[drawn] = self._moved.pop(self._left, self._left)
        return self.space.at(index)


class Coordinate(Strategy):
    """Coordinate descent: one axis after another, from the best point that it is told first.

    The strategy tries all values of an axis, and goes on from the best point. The search ends when
    a round over all axes has found nothing better. If no point works yet, the strategy draws
    points at random until one works.
    """
    name = "coordinate"

    def __init__(self, space, seed):
        super().__init__(space, seed)
        self._draw = Random(space, seed)
        self._best = None               # (cycles, point)
        self._waiting = set()
        self._proposals = self._walk()

    def propose(self):
        return next(self._proposals, None)

    def told(self, point, outcome):
        self._waiting.discard(point)
        if outcome.status == "done" and (self._best is None or outcome.cycles < self._best[0]):
            self._best = outcome.cycles, point

    def _try(self, points):
        """Propose points, and wait for all outcomes."""
        self._waiting = set(points)
        yield from points
        while self._waiting:
            yield WAIT

    def _walk(self):
        while self._best is None:
            point = self._draw.propose()
            if point is None:
                return
            yield from self._try([point])
        still = -1                      # axes without gain since the one with the last gain
        while True:
            for axis in list(self.space.axes):
                before = self._best
                point = before[1]
                if axis in self.space.axes_of(point):
                    yield from self._try([self.space.change(point, axis.name, value)
                                          for value in axis.values
                                          if value != dict(point)[axis.name]])
                still = 0 if self._best is not before else still + 1
                if still == len(self.space.axes) - 1:
                    return


def _tpe(space, seed):
    from sw.study.tune.tpe import Tpe
    return Tpe(space, seed)


#: The strategies by name. Optuna is imported only for ``tpe``.
STRATEGIES = {"tpe": _tpe, "random": Random, "exhaustive": Exhaustive, "coordinate": Coordinate}


def check(name):
    """Raise UserError if there is no strategy of this name."""
    if name not in STRATEGIES:
        raise UserError(f"there is no strategy {name!r}; there are {', '.join(STRATEGIES)}")


def make(name, space, seed=1) -> Strategy:
    """A strategy. Raises UserError if there is none of this name."""
    check(name)
    return STRATEGIES[name](space, seed)
