"""GRAssembler, a graph framework whose schedules, formats and algorithms are independent.

====================  =============================================================================
:mod:`.published`     the numbers of the paper
:mod:`.overall`       the best of all candidates: figure 2.8, table 2.6, section 2.5.2
:mod:`.choices`       one choice beside another: figures 2.3, 2.9b and 2.10
:mod:`.operations`    barriers, atomics and shuffles: table 4.1
:mod:`.lines`         lines of code: section 2.5.3
====================  =============================================================================

Figure 2.9a is figure 2.9 of :mod:`sw.study.reproduce.cr2`. Table 4.1 counts the same schedules.
"""

from ..paper import Paper
from .choices import PageRankPlans, Formats, Shards
from .lines import LinesOfCode
from .operations import OperationCounts
from .overall import BestPlans, Overall, Tuning


__all__ = ["GrassemblerPaper"]


class GrassemblerPaper(Paper):
    """The thesis's chapter on GRAssembler, and table 4.1."""
    paper = "grassembler"
    title = "GRAssembler: decoupling schedules and storage formats"
    source = ("S. Jeong: Decoupling Scheduling and Storage Formats for Balanced Graph Processing "
              "on a GPU. Dissertation, Yonsei University, 2024; chapters 2 and 4")
    figures = (Formats(), Overall(), BestPlans(), Tuning(), LinesOfCode(), Shards(),
               PageRankPlans(), OperationCounts())
