"""Stream compaction by the unit, which also filters and groups (Segura et al., 4.4 to 4.6).

The unit removes edges that cannot matter before the cores see them. If there are weights, the unit
also groups the remaining edges by the cache line of their neighbours
(:mod:`sw.compile.compaction.unit`). Algorithms in which every edge matters run as with schedule
``scu``.
"""

from sw.compile.options import Choice, Integer
from sw.compile.schedules.edge_lists import WINDOWS
from sw.compile.schedules.scu import StreamCompaction


__all__ = ["EnhancedStreamCompaction"]


class EnhancedStreamCompaction(StreamCompaction):
    """The unit with its hash table."""
    name = "scu-enhanced"
    filters = True
    OPTIONS = {
        "windows": WINDOWS,
        "sets": Integer(1, 1 << 24, None, "sets of the filter's hash table; left "
                        "out, about half of the L2, or three quarters with weights, and no more "
                        "than the graph needs", worth=(64, 1024, 16384), power=True),
        "ways": Integer(1, 16, None, "entries of a set; left out, as many as a line has "
                        "room for", power=True),
        "grouping": Choice(("edges", "no"), "edges", "whether edges whose neighbours are in one "
                           "line are brought together, with weights"),
    }

    def idle(self, task):
        groups, maker = self.options.get("grouping") == "edges", self.maker(task)
        if not maker.filters:
            reason = ("the unit filters no edges, because every edge of "
                      f"{task.algorithm.name!r} matters")
            if task.algorithm.sent.drops:
                reason = ("the unit filters no edges, because the least source wins, and vertices "
                          "have other numbers")
            idle = dict.fromkeys(("sets", "ways"), reason)
            return idle | ({"grouping": reason} if groups else {})
        if groups and not maker.groups:
            return {"grouping": "edges are grouped if they have weights, and "
                                f"{task.algorithm.name!r} uses none"}
        return {}
