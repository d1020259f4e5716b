"""Vertex mapping: a lane a vertex, whatever its edges.

The lane goes through its vertex's edges one after the other. Values of the vertex stay in
registers. One lane writes a vertex that collects, so pulling needs no atomics. But a warp takes as
many turns as the largest of its vertices has edges.

Where vertices have several words, ``vm:parallel=weights`` gives each of neighbouring lanes some
words of the same vertex (SparseWeaver, 4.6.9: weights first, then vertices). All these lanes go
through all edges of the vertex, so their loads of an edge are one access, and so are their loads of
neighbouring words.
"""

from sw.compile.options import Choice
from sw.compile.kernels.rows import Rows
from sw.compile.kernels.walk import UNROLL, Walk
from sw.compile.schedules.schedule import Schedule


__all__ = ["VertexMapping"]


class VertexMapping(Schedule):
    """Rounds of one vertex a lane (:class:`~sw.compile.kernels.walk.Walk`)."""
    name = "vm"
    compared = True
    owns_base = True
    OPTIONS = {"unroll": UNROLL,
               "parallel": Choice(("vertices", "weights"), "vertices", "whether neighbouring lanes "
                                  "take neighbouring vertices, or words of the same vertex (gcn)")}

    def check(self, task):
        super().check(task)
        if self._by_words and task.algorithm.words is None:
            raise self.refuse("with parallel=weights needs vertices of several words, and "
                              f"{task.algorithm.name!r} has one word for a vertex")

    @property
    def _by_words(self):
        return self.options.get("parallel") == "weights"

    def lanes_of_words(self, task):
        if not self._by_words:
            return 1
        return min(1 << (task.algorithm.words - 1).bit_length(), task.config.threads)

    def emit(self, k):
        width = self._width(k.task)
        walk = Walk(k, width)
        rows = Rows(k, sharing=width * self.lanes_of_words(k.task))
        rows.start()
        walk.rounds(rows)

    def _width(self, task):
        """Lanes that take consecutive edges of a vertex."""
        return 1
