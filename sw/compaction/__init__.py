"""Graph algorithms by stream compaction (Segura et al., ISCA 2019, algorithms 1 to 5).

Supersteps have two phases, and the lists between them have no gaps. The *frontier* is a list of
vertices. It is expanded into the *edge frontier*: the other end of each of their edges, with a word
of the source vertex beside it. The edge frontier is contracted into the next frontier. An algorithm
defines the value sent along an edge, the test of an edge, and the elements to keep. An engine does
the compaction:

:class:`~sw.compaction.cores.Cores`
    on the cores, fused with the algorithm's work or in kernels of its own;
:class:`~sw.compaction.unit.Unit`
    on the Stream Compaction Unit, plain or with filtering and grouping.

The schedules ``compact``, ``scu`` and ``scu-enhanced`` choose algorithm and engine. The graph is in
compressed sparse rows, and all algorithms push.
"""

from sw.compaction.bfs import CompactBfs
from sw.compaction.pagerank import CompactPageRank
from sw.compaction.sssp import CompactSssp


__all__ = ["KINDS"]


#: The algorithms by compaction, by name.
KINDS = {kind.name: kind for kind in (CompactBfs, CompactPageRank, CompactSssp)}
