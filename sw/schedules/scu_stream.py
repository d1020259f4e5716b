"""Stream compaction by the unit in one pass over the edges.

The unit expands the frontier, adds weights, filters as ``scu-enhanced`` does, and stores the edges
that are left, all with one operation. The paper's operations (Segura et al., 3.1) take four passes
for this, and six with weights. Nothing is grouped.
"""

from sw.schedules.scu_enhanced import EnhancedStreamCompaction


__all__ = ["StreamingCompaction"]


class StreamingCompaction(EnhancedStreamCompaction):
    """The unit with its streaming operation."""
    name = "scu-stream"
    streams = True
    OPTIONS = {name: option for name, option in EnhancedStreamCompaction.OPTIONS.items()
               if name != "grouping"}
