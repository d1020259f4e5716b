"""Rows of the same length."""

from sw.formats.base import Layout
from sw.kernels.kernel import log2


__all__ = ["FixedRows"]


class FixedRows(Layout):
    """A row for each vertex, all with the same number of places, one row behind the other.

    A row begins at its number times the row length. The base of an edge is the edge's place divided
    by the row length. So no offsets and no bases are read.

    Parameters
    ----------
    task : sw.runtime.task.Task
    image : sw.formats.image.Image
    width : int
        Places of a row.
    """

    def __init__(self, task, image, width):
        super().__init__(task)
        self.image, self.width = image, width
        self.rows = image.num_vertices
        self.edges = width * self.rows

    @property
    def base_array(self) -> str:
        """The array that base vertices are in."""
        return self.task.algorithm.base_array(self.task)

    def row_of(self, k, vertex, into):
        k.a.add(into, vertex.reg, k.constant(-k.address(vertex.array)))
        return into

    def first_place(self, k, row, into):
        """The address of a row's first place."""
        k.shifted(into, row, log2(self.edge_bytes) - 2)     # from four times its number
        k.times(into, into, self.width)
        k.a.add(into, into, k.constant(k.address(self.array("neighbors"))))

    def search_vid(self, k, location, bases):
        place = k.a.reg("place")
        k.a.add(place, location, k.constant(-k.address(self.array("neighbors"))))
        k.shifted(place, place, -log2(self.edge_bytes))
        for index, base in enumerate(bases):
            if index:
                k.a.addi(place, place, self.edges_apart)
            k.divided(base, place, self.width)
            k.a.slli(base, base, 2)
            k.a.add(base, base, k.constant(k.address(self.base_array)))
