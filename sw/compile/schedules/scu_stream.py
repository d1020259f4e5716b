"""Stream compaction by the unit in one pass over the edges, beside the cores.

The unit expands the frontier, adds weights, filters as ``scu-enhanced`` does, and stores the edges
that are left, all with one operation. The paper's operations (Segura et al., 3.1) take four passes
for this, and six with weights. Nothing is grouped.

The unit also looks up the rows of the frontier, if it is a list and the format stores whole rows.
It makes the edges in pieces. The cores contract a piece while the unit makes the next one; in
the paper, one of the two always waits for the other.
"""

from sw.compile.compaction.unit import MOST_PIECES
from sw.compile.options import Choice, Integer
from sw.compile.schedules.scu_enhanced import EnhancedStreamCompaction


__all__ = ["StreamingCompaction"]


class StreamingCompaction(EnhancedStreamCompaction):
    """The unit with its streaming operation."""
    name = "scu-stream"
    compared = streams = True
    OPTIONS = {
        **{name: option for name, option in EnhancedStreamCompaction.OPTIONS.items()
           if name != "grouping"},
        "rows": Choice(("unit", "cores"), None, "who looks up the rows of the frontier; left out, "
                       "the unit where it can"),
        "pieces": Integer(1, MOST_PIECES, None, "pieces of a list of edges, one of which the cores "
                          "contract while the unit makes the next; left out, by the number of "
                          "edges"),
    }
