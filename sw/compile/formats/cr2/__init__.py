"""CR2: community-aware, compressed, regular storage (GRAssembler, chapter 3).

====================  =============================================================================
:mod:`.geometry`      clusters, local and global vertex IDs, degrees (table 3.2, equation 3.1)
:mod:`.builder`       the builder (algorithms 3.1 to 3.3)
:mod:`.expand`        the expand list and its packed pointers (3.3.4, figure 3.6)
:mod:`.update`        adding and deleting an edge (3.4.3)
:mod:`.image`         the arrays, the neighbours of a vertex (3.4.4), the sizes of the subgraphs
:mod:`.format`        the layouts of a kernel: all records, or the records of the frontier
:mod:`.records`       how a kernel reads a subgraph (3.4.2)
:mod:`.active`        how a kernel finds the records of the frontier's vertices (3.5.3)
====================  =============================================================================

Terms: an edge is *intra*-cluster if both its ends are in one cluster of 2^N vertices, else
*inter*-cluster. A vertex's edges of either kind are split into *records*, its virtual vertices, of
2^k edges each; the records of one k are the Degree-2^k subgraph, which needs no offsets.
"""

from .format import Cr2
from .geometry import Geometry
from .image import Cr2Image


__all__ = ["Cr2", "Cr2Image", "Geometry"]
