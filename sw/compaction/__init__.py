"""Graph algorithms by stream compaction (Segura et al., ISCA 2019, algorithms 1 to 5).

Supersteps have two phases, and between them what is worked on lies in memory without gaps: the
*frontier* (the vertices to go on from) is expanded into the *edge frontier* (the other end of each
of their edges, and beside it a word of the vertex it came from), which is contracted into the next
frontier. An algorithm says what is given along an edge, what is tested of it, and what is kept; an
engine does the compaction:

:class:`~sw.compaction.cores.Cores`
    on the cores, fused with the algorithm's work or in kernels of its own;
:class:`~sw.compaction.unit.Unit`
    on the Stream Compaction Unit, plain or with filtering and grouping.

The schedules ``compact``, ``scu`` and ``scu-enhanced`` choose both. The graph is in compressed
sparse rows, and is pushed along.
"""

from sw.compaction.bfs import CompactBfs
from sw.compaction.pagerank import CompactPageRank
from sw.compaction.sssp import CompactSssp


__all__ = ["KINDS"]


#: The algorithms that there are by compaction, by name.
KINDS = {kind.name: kind for kind in (CompactBfs, CompactPageRank, CompactSssp)}
