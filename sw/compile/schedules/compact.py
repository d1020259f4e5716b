"""Stream compaction by the cores: supersteps expand the frontier into a list of edges, contract it.

The Stream Compaction Unit is measured against this schedule: the work on edges is the same, but the
cores make all lists (:mod:`sw.compile.compaction.expansion`).
"""

from sw.compile.compaction.expansion import ByCores
from sw.compile.options import Switch
from sw.compile.schedules.edge_lists import WINDOWS, EdgeLists


__all__ = ["Compact"]


class Compact(EdgeLists):
    """The cores make the lists."""
    name = "compact"
    OPTIONS = {"windows": WINDOWS,
               "fused": Switch(True, "whether the kernels that work on edges also look up the "
                                     "frontier and make the next; else other kernels do")}

    @property
    def notes(self):
        return not self.options.get("fused", False)

    def maker(self, task):
        return ByCores(task, self.notes)
