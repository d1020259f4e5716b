"""GraphPEG: edges gathered by hardware, and exchanged between cores, on this hardware.

====================  =============================================================================
:mod:`.published`     the numbers of the paper's abstract, and of the notes on the paper
:mod:`.runs`          the systems that are compared, and their runs
:mod:`.speed`         GraphPEG against stand-ins and our units, and the share of balancing
:mod:`.exchange`      the exchange of edges between cores
:mod:`.sizes`         the table, the buffer and the loads under way; the area
====================  =============================================================================
"""

from ..paper import Paper
from .exchange import Exchange, Thresholds
from .sizes import AddedArea, Sizes
from .speed import Balancing, Throughput


__all__ = ["GraphPegPaper"]


class GraphPegPaper(Paper):
    """The paper on GraphPEG, as far as its abstract and a reader's notes tell."""
    paper = "graphpeg"
    title = "GraphPEG: a unit that gathers edges, and cores that exchange them"
    source = ("Y. Lü, H. Guo, L. Huang, Q. Yu, L. Shen, N. Xiao, Z. Wang: GraphPEG: Accelerating "
              "Graph Processing on GPUs. ACM TACO 18, 2021, doi 10.1145/3450440")
    figures = (Throughput(), Balancing(), Exchange(), Thresholds(), Sizes(), AddedArea())
