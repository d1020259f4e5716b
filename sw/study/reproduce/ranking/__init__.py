"""The ranking of schedules on the RTL against that on a GPU, whose times are recorded.

====================  =============================================================================
:mod:`.recorded`      the recorded times of a GPU, and graphs of the same kind for the RTL
:mod:`.agreement`     how well two rankings agree
:mod:`.figures`       the correlations, the ways of each algorithm, and their work
====================  =============================================================================
"""

from ..paper import Paper
from .figures import Correlation, WaysOf, WorkOfWays


__all__ = ["RankingPaper"]


class RankingPaper(Paper):
    """The comparison with a GPU."""
    paper = "ranking"
    title = "The ranking of schedules in software on the RTL and on a GPU"
    source = "this project's own measurements: `graphloom bench ranking --vm cuda`"
    figures = (Correlation(), *map(WaysOf, ("bfs", "pagerank", "sssp", "cc")), WorkOfWays())
    preset = large = "gpu"
    beside = "GPU"
