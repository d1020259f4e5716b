"""UGF: one program, several machines; chapter 6 of the thesis and its appendix.

====================  =============================================================================
:mod:`.published`     the numbers of the thesis, and its slips
:mod:`.runs`          runs that the tables share
:mod:`.frameworks`    UGF's space of schedules beside others': tables 6.2, 6.3 and A.1
:mod:`.machines`      the CPU and the GPU: table 6.4
:mod:`.balance`       ways to balance the load: tables 6.5 and 6.6
:mod:`.fusion`        kernel fusion: section 6.1
:mod:`.blocking`      EdgeBlocking: table 6.7
:mod:`.lines`         lines of code: table 6.8
====================  =============================================================================

Table 6.9 is about the Swarm architecture, which has no machine here.
"""

from ..paper import Paper
from .balance import BalancedComponents, BalancedSearch
from .blocking import EdgeBlocking
from .frameworks import BestSchedules, OnPascal, OnVolta
from .fusion import KernelFusion
from .lines import ProgramLines
from .machines import CpuAndGpu


__all__ = ["UgfPaper"]


class UgfPaper(Paper):
    """The thesis on the Universal Graph Framework."""
    paper = "ugf"
    title = "UGF: one algorithm, its schedule, and several machines"
    source = ("A. R. Brahmakshatriya: Universal Graph Framework. Thesis, Massachusetts Institute "
              "of Technology, 2020; chapter 6 and appendix A")
    figures = (OnPascal(), OnVolta(), KernelFusion(), CpuAndGpu(), BalancedSearch(),
               BalancedComponents(), EdgeBlocking(), ProgramLines(), BestSchedules())
