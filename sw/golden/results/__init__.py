"""Checks of the results of named algorithms, which share no text with the algorithms.

The interpreter runs the text of a program, so a wrong text has the interpreter on its side. A check
knows what is asked: it finds a property by which the words are right, or computes them in another
way.
"""

from . import bc, bfs, components, kcore, label_propagation, mis, pagerank, sssp
from .check import ResultCheck


__all__ = ["CHECKS", "ResultCheck"]


#: The check of each named program.
CHECKS = {
    "bc": ResultCheck("by Brandes' equations", bc.fault),
    "bfs": ResultCheck("by the edges", bfs.fault),
    "cc": ResultCheck("by contraction of the edges", components.fault),
    "kcore": ResultCheck("by peeling", kcore.fault),
    "label_propagation": ResultCheck("by its equations", label_propagation.fault),
    "mis": ResultCheck("by the edges", mis.fault),
    "pagerank": ResultCheck("by a model of the sweeps", pagerank.fault),
    "sssp": ResultCheck("by the edges", sssp.fault),
}
