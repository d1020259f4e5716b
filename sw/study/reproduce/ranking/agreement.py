"""How well two rankings of the same ways agree."""

import dataclasses
import math
from typing import Any

import numpy as np


__all__ = ["Agreement", "agreement"]


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Two measures of some ways, ``here`` and ``there``, compared. A number is NaN where fewer than
    three ways are known."""
    ways: int  #: Ways that both have.
    spearman: float  #: Spearman's rank correlation.
    significant: bool  #: Whether it is, at 5 %, of one side.
    pearson: float  #: Pearson's correlation of the logarithms.
    #: The value there of the best way here, over the best value there: 1 if the best is the same.
    regret: float

    def to_json(self) -> dict:
        """The fields."""
        return dataclasses.asdict(self)


def agreement(here, there) -> Agreement:
    """Compare the values of ways: ``{way: number}``; less is better. Ways that only one has, or
    whose number is None, do not count."""
    from scipy import stats
    ways = [way for way, value in here.items()
            if value is not None and there.get(way) is not None]
    if len(ways) < 3:
        return Agreement(len(ways), math.nan, False, math.nan, math.nan)
    ours = np.array([here[way] for way in ways], float)
    theirs = np.array([there[way] for way in ways], float)
    rank: Any = stats.spearmanr(ours, theirs, alternative="greater")
    straight: Any = stats.pearsonr(np.log(ours), np.log(theirs))
    return Agreement(len(ways), float(rank.statistic), bool(rank.pvalue < 0.05),
                     float(straight.statistic), float(theirs[ours.argmin()] / theirs.min()))
