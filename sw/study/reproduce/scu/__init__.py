"""The Stream Compaction Unit, as Segura et al. measure it, on two systems. The systems have the
same relation as the paper's: :func:`sw.study.reproduce.scu.runs.systems`.

====================  =============================================================================
:mod:`.published`     the numbers of the paper
:mod:`.runs`          the systems, the runs, and the values of their records
:mod:`.speed`         the share of compaction on the cores, and time with the SCU: figures 1, 10, 11
:mod:`.workload`      work that is left, coalescing, bandwidth: figures 12 and 13, sections 4.4, 4.5
:mod:`.beside`        the SCU beside the Weaver and the schedules in software, in no paper
====================  =============================================================================

Energy (figure 9) is not measured: Graphloom has no model of the energy of an access.
"""

from ..paper import Paper
from .beside import Schedules
from .speed import BasicAndEnhanced, CompactionShare, Time
from .workload import Bandwidth, Coalescing, Reductions


__all__ = ["ScuPaper"]


class ScuPaper(Paper):
    """The paper on the SCU."""
    paper = "scu"
    title = "SCU: A GPU Stream Compaction Unit for Graph Processing"
    source = ("A. Segura, J.-M. Arnau, A. González: SCU: A GPU Stream Compaction Unit for Graph "
              "Processing. ISCA 2019")
    figures = (CompactionShare(), Reductions(), Time(), BasicAndEnhanced(), Coalescing(),
               Bandwidth(), Schedules())
