"""Rows of local memory by which kernels and a unit that reads memory speak (:mod:`hw.gather.eghw`).

A warp has a row of vertex IDs, which it writes, and a row of the neighbours of its edges, which the
unit writes. With weights a third row has the weights.
"""

from hw.isa import Csr
from hw.operations import GatherSetting
from sw.compile.kernels.kernel import log2


__all__ = ["EdgeRecords"]


#: The places in local memory.
_IDS, _RECORDS = "vertex_ids", "records"


class EdgeRecords:
    """The rows of a warp, in a kernel. The constructor emits the prologue: the unit's settings, and
    the places of the lane's words.

    Parameters
    ----------
    k : Kernel
        Its layout is plain (:attr:`~sw.compile.formats.storage_format.Layout.plain`).
    """

    def __init__(self, k):
        self._k = k
        a, task, threads = k.a, k.task, k.config.threads
        ids, records = (task.local.address(place) for place in (_IDS, _RECORDS))
        base, weighted = task.algorithm.base_array(task), task.algorithm.weighted
        for setting, value in (
                (GatherSetting.OFFSETS, k.address(k.layout.row_array) - k.address(base)),
                (GatherSetting.WEIGHTS, k.address(k.layout.array("weights"))
                 - k.address(k.layout.array("neighbors")) if weighted else 0),
                (GatherSetting.IDS, ids), (GatherSetting.RECORDS, records)):
            with a.scope("setting") as (word,):
                a.li(word, value)
                a.gather_set(word, setting)
        self._id, self._record, warp, lane = a.regs("id_place", "record", "warp", "lane")
        a.csrr(warp, Csr.WARP_ID)
        a.csrr(lane, Csr.THREAD_ID)
        a.slli(lane, lane, 2)
        for place, rows, first in ((self._id, 1, ids), (self._record, 1 + weighted, records)):
            a.slli(place, warp, log2(4 * threads * rows))
            a.add(place, place, lane)
            a.add(place, place, k.constant(first))

    @staticmethod
    def reserve(task):
        """Reserve the rows. The sides of a hybrid share them, since their kernels never run
        together. Raises UserError if local memory is full."""
        for place, rows in ((_IDS, 1), (_RECORDS, 1 + task.algorithm.weighted)):
            task.local.share(place, rows * task.config.threads, "warp",
                             align=task.config.threads)

    def register(self, rows):
        """Write the ID of the lane's vertex, or that the vertex is not in the frontier, and
        register the warp's row. ``rows`` are :class:`~sw.compile.kernels.rows.Rows`, without
        ranges."""
        a, word = self._k.a, rows.vertex.reg
        if rows.conditional:
            word, absent = a.regs("id", "absent")
            rows.test(absent)
            a.addi(absent, absent, -1)              # all ones if the vertex is not in the frontier
            a.or_(word, rows.vertex.reg, absent)
        a.sw(word, self._id)
        a.weaver_reg(a.zero, a.zero, a.zero)

    @staticmethod
    def parts(edge) -> list:
        """The registers of an edge's record."""
        return [edge.neighbor.reg] + [edge.weight] * (edge.weight is not None)

    def load(self, edge):
        """Load the lane's record."""
        for number, register in enumerate(self.parts(edge)):
            self._k.a.lw(register, self._record, 4 * self._k.config.threads * number)
