"""Edges of a row one after another, found by offsets."""

import numpy as np

from sw.compile.formats.storage_format import Layout, load_edge
from sw.compile.kernels.kernel import log2


__all__ = ["AddressedEdges", "CompressedRows", "addresses"]


def addresses(start, numbers, width=4):
    """Addresses of items of ``width`` bytes, a power of two, by their numbers in an array that
    begins at ``start``; uint32."""
    return (numbers << np.uint32(log2(width))) + np.uint32(start)


class AddressedEdges(Layout):
    """Edges whose weights are in the buffer ``weights``, and whose neighbours are in the buffer
    ``neighbors``, as addresses in the algorithm's neighbour array. An edge's location is the
    address of its stored neighbour, divided by 4 if the schedule counts edges."""

    def get_edge(self, k, place, edges):
        for index, edge in enumerate(edges):
            load_edge(k, edge.neighbor.reg, place, offset=self.spacing(k) * index)
        if edges[0].weight:
            self.load_beside(k, "weights", place, [edge.weight for edge in edges])

    def prefetch(self, k, place):
        k.a.lw(k.a.zero, place)

    def load_beside(self, k, array, location, into):
        """Load the words of an array that belong to the edges at ``location``."""
        where = k.a.reg("where")
        k.a.add(where, location, k.distance(self.array("neighbors"), self.array(array)))
        for index, register in enumerate(into):
            load_edge(k, register, where, offset=self.spacing(k) * index)


class CompressedRows(AddressedEdges):
    """Offsets of rows and one neighbour an edge.

    The stored values are those that the kernel needs in registers, so it computes none of them:

    ``offsets``
        The location of the first edge of each row and, behind the last row, of the end. The end is
        repeated, so the rows beyond the last are empty.
    ``row_bases``
        Only of virtual rows: the address of the base vertex's word in the algorithm's base array.
    ``neighbors``
        The address of the neighbour's item in the vertex array that the algorithm reads there.
    ``weights``
        Only if the algorithm uses them: the weight of each edge, in the order of the neighbours.
    ``bases``
        Only if the schedule goes by edges: like ``row_bases``, for each edge. It replaces a binary
        search in the offsets by one coalesced load of an edge's base, 2|E| in all (SparseWeaver,
        table 4.1).

    If the schedule goes by edges, an incomplete block of edges is filled with edges from and to the
    padding vertex.

    Parameters
    ----------
    task : sw.compile.task.Task
    bases, neighbors : uint32[edges]
        Ends of the edges, row by row.
    weights : uint32[edges] or None
    offsets : uint32[rows + 1], optional
        Needed by schedules that go by rows.
    row_bases : uint32[rows], optional
        The rows' vertices, if rows are virtual.
    """

    def __init__(self, task, bases, neighbors, weights, offsets=None, row_bases=None):
        super().__init__(task)
        self._bases, self._neighbors, self._weights = bases, neighbors, weights
        self._offsets, self._row_bases = offsets, row_bases
        self.virtual = row_bases is not None
        self.plain = not self.virtual
        self.edges = len(neighbors)

    @property
    def row_array(self):
        return self.array("offsets")

    @property
    def rows(self):
        assert self._offsets is not None        # asked for by schedules that go by rows only
        return len(self._offsets) - 1

    def reserve(self):
        buffers, schedule, task = self.task.buffers, self.task.schedule, self.task
        if schedule.needs == "rows":
            rows = self.rows + task.rows_over
            buffers.reserve(self.array("offsets"), rows + 1)
            if self.virtual:
                buffers.reserve(self.array("row_bases"), rows)
        else:
            buffers.reserve(self.array("bases"), self.places, edges=True)
        self.reserve_edges()

    def build(self):
        buffers, task = self.task.buffers, self.task
        words, padding = self.neighbor_words()
        shift = task.schedule.neighbor_shift(task)
        buffers.fill(self.array("neighbors"), words >> shift, padding >> shift)
        if task.algorithm.weighted:
            buffers.fill(self.array("weights"), self._weights)
        base_array = task.algorithm.base_array(task)
        if task.schedule.needs == "edges":
            buffers.fill(self.array("bases"), *task.vertices.addresses(base_array, self._bases))
            return
        first = buffers.address(self.array("neighbors"))
        assert self._offsets is not None
        if task.schedule.counts_edges:
            locations = self._offsets + np.uint32(first // 4)
        else:
            locations = addresses(first, self._offsets)
        buffers.fill(self.array("offsets"), locations, int(locations[-1]))
        if self.virtual:
            buffers.fill(self.array("row_bases"),
                         *task.vertices.addresses(base_array, self._row_bases))

    def neighbor_words(self):
        """The words that represent the neighbours, and the word for the padding vertex."""
        return self.task.vertices.addresses(self.task.algorithm.neighbor_array(self.task),
                                          self._neighbors)

    def get_neighbor(self, k, row, begin, end):
        self.get_neighbor_behind(k, row, 0, begin, end)

    def get_neighbor_behind(self, k, row, distance, begin, end):
        k.a.lw(begin, row, distance)
        k.a.lw(end, row, distance + 4)

    def get_base(self, k, row, into):
        where = k.a.reg("row_base")
        k.a.add(where, row, k.distance(self.array("offsets"), self.array("row_bases")))
        k.a.lw(into, where)

    def search_vid(self, k, location, bases):
        self.load_beside(k, "bases", location, bases)
