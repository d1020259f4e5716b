"""Rows of the same length."""

import numpy as np

from sw.compile.formats.storage_format import Layout
from sw.compile.kernels.kernel import log2


__all__ = ["FixedRows"]


class FixedRows(Layout):
    """Rows of the same number of places, one row behind the other.

    A row begins at its number times the row length. The row of an edge is the edge's place divided
    by the row length. So no offsets are read, and no bases if rows are the vertices.

    ``row_bases``
        Only of virtual rows: the address of the base vertex's word in the algorithm's base array.

    Parameters
    ----------
    task : sw.compile.task.Task
    image : sw.compile.formats.image.Image
    width : int
        Places of a row.
    row_bases : uint32[rows], optional
        The rows' vertices, if rows are virtual.
    """

    def __init__(self, task, image, width, row_bases=None):
        super().__init__(task)
        self.image, self.width, self._row_bases = image, width, row_bases
        self.virtual = row_bases is not None
        self.rows = image.num_vertices if row_bases is None else len(row_bases)
        self.edges = width * self.rows

    @property
    def base_array(self) -> str:
        """The array that base vertices are in."""
        return self.task.algorithm.base_array(self.task)

    def owners(self, rows):
        """The vertices of rows; for virtual rows behind the last, the padding vertex."""
        if self._row_bases is None:
            return rows
        vertices = np.append(self._row_bases, np.uint32(self.image.num_vertices))
        return vertices[np.minimum(rows, np.uint32(self.rows))]

    def reserve_bases(self, places):
        """Reserve the bases of virtual rows, of which kernels by edges go through ``places``."""
        if self.virtual:
            by_rows = self.task.schedule.needs == "rows"
            self.task.buffers.reserve(self.array("row_bases"), self.rows + self.task.rows_over
                                      if by_rows else -(-places // self.width))

    def build_bases(self):
        """Fill the bases of virtual rows."""
        if self.virtual:
            self.task.buffers.fill(self.array("row_bases"), *self.task.vertices.addresses(
                self.base_array, self._row_bases))

    @property
    def _first_base(self):
        """The array with the base of row 0, and further rows from there on."""
        return self.array("row_bases") if self.virtual else self.base_array

    def row_of(self, k, vertex, into):
        k.a.add(into, vertex.reg, k.constant(-k.address(vertex.array)))
        return into

    def first_place(self, k, row, into):
        """The address of a row's first place."""
        k.shifted(into, row, log2(self.edge_bytes) - 2)     # from four times its number
        k.times(into, into, self.width)
        k.a.add(into, into, k.constant(k.address(self.array("neighbors"))))

    def get_base(self, k, row, into):
        k.a.add(into, row, k.constant(k.address(self._first_base)))
        k.a.lw(into, into)

    def search_vid(self, k, location, bases):
        place = k.a.reg("place")
        k.a.add(place, location, k.constant(-k.address(self.array("neighbors"))))
        k.shifted(place, place, -log2(self.edge_bytes))
        for index, base in enumerate(bases):
            if index:
                k.a.addi(place, place, self.edges_apart(k))
            k.divided(base, place, self.width)
            k.a.slli(base, base, 2)
            k.a.add(base, base, k.constant(k.address(self._first_base)))
        if self.virtual:
            for base in bases:
                k.a.lw(base, base)
