"""Vertex mapping: a lane a vertex, whatever its edges.

The lane goes through its vertex's edges one after the other. Values of the vertex stay in
registers. One lane writes a vertex that collects, so pulling needs no atomics. But a warp takes as
many turns as the largest of its vertices has edges.
"""

from sw.kernels.rows import Rows
from sw.kernels.walk import UNROLL, Walk
from sw.schedules.schedule import Schedule


__all__ = ["VertexMapping"]


class VertexMapping(Schedule):
    """Rounds of one vertex a lane (:class:`~sw.kernels.walk.Walk`)."""
    name = "vm"
    owns_base = True
    OPTIONS = {"unroll": UNROLL}

    def init_global(self, k):
        self._walk = Walk(k, self, self.lanes_apart)
        self._rows = Rows(k, sharing=self.lanes_apart)
        self._rows.start()

    def get_next_edge(self, k):
        self._walk.rounds(self._rows)
