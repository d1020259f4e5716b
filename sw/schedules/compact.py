"""Stream compaction by the cores: supersteps expand the frontier into a list of edges, contract it.

The Stream Compaction Unit is measured against this schedule: the algorithms are the same, but the
cores make all lists (:mod:`sw.compaction`). Lanes share every list evenly, whatever the degrees.
"""

from sw.compaction import KINDS
from sw.compaction.base import Rows
from sw.compaction.cores import Cores
from sw.compaction.expansion import OVERREAD
from sw.kernels.options import Integer, Switch
from sw.schedules.base import Schedule


__all__ = ["Compact"]


#: How much of a list a warp works on at once.
WINDOWS = Integer(1, 8, None, "elements of a list that a lane works on at once; left out, 4")


class Compact(Schedule):
    """Compaction by the cores, and the common part of all schedules by compaction."""
    name = "compact"
    AT_ONCE = "windows"
    OPTIONS = {"windows": WINDOWS,
               "fused": Switch(True, "whether the kernels that work on the kept elements also "
                                     "make the lists; else kernels of their own make them")}

    def algorithm(self, kind):
        if kind.name not in KINDS:
            raise self.refuse(f"has no way to run {kind.name!r}, in which no frontier is expanded; "
                              f"it has {', '.join(KINDS)}")
        return KINDS[kind.name]

    def directions(self, kind):
        return KINDS[kind.name].directions if kind.name in KINDS else ()

    def check(self, task):
        super().check(task)
        if task.format.name != "csr" or task.format.image.virtual:
            raise self.refuse("expands compressed rows, where the edges of a vertex are one after "
                              f"another, and not format {task.plan.format!r}; it has csr without "
                              "blocks")

    def engine(self, task):
        """The engine that makes the lists (:class:`sw.compaction.engine.Engine`)."""
        return Cores(task, self.options)

    def layouts(self, task):
        return [Rows(task)]

    def overread(self, task):
        return OVERREAD
