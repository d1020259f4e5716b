"""SAGE: tiles that partition themselves, stay resident and are stolen, and reordering by samples.

====================  =============================================================================
:mod:`.published`     the numbers of the paper's text and tables
:mod:`.runs`          the runs that the figures share, and their cycles by graph and way
:mod:`.orders`        orderings under resident tiles, round by round, and their time
:mod:`.speed`         SAGE against other systems, its parts one by one, and the share of tiling
:mod:`.beyond`        edges in slow memory, and two devices
====================  =============================================================================
"""

from ..paper import Paper
from .beyond import OutOfCore, TwoDevices
from .orders import LinesByOrdering, Orders, ReorderingTime, Rounds
from .speed import Parts, Systems, TilingShare


__all__ = ["SagePaper"]


class SagePaper(Paper):
    """The paper on SAGE."""
    paper = "sage"
    title = "Self-adaptive Graph Traversal on GPUs"
    source = ("M. Sha, Y. Li, K.-L. Tan: Self-adaptive Graph Traversal on GPUs. SIGMOD 2021, "
              "doi 10.1145/3448016.3457279")
    figures = (LinesByOrdering(), Orders(), Rounds(), Systems(), OutOfCore(), TwoDevices(), Parts(),
               ReorderingTime(), TilingShare())
