"""How kernels read formats that keep the edges of a row one after another."""

import numpy as np

from sw.formats.base import StorageFormat


__all__ = ["CompressedRows"]


class CompressedRows(StorageFormat):
    """Offsets of rows and one neighbour an edge.

    What is stored is what the kernel wants in its registers, so that none of it is computed there:

    ``offsets``
        Locations: of the first edge of each row and, behind the last row, of the end. The end is
        repeated, so the rows beyond the last are empty.
    ``row_bases``
        Only of virtual rows: the address of the base vertex's word in the algorithm's base array.
    ``neighbors``
        The address of the neighbour's word in the vertex array that the algorithm reads there.
    ``weights``
        Only if the algorithm uses them: the weight of each edge, in the order of the neighbours.
    ``bases``
        Only if the schedule goes by edges: like ``row_bases``, for each edge. With it the base of
        an edge is one coalesced load, 2|E| in all (SparseWeaver, table 4.1), in place of a binary
        search in the offsets.

    An edge's location is its neighbour's address, or that divided by 4 where the schedule counts
    edges in steps of 1. If the schedule goes by edges, a block of edges that is only partly there
    is filled with edges from and to the padding vertex.

    Attributes
    ----------
    offsets_array, bases_array : str
        Names of the image's arrays that become ``offsets`` and ``row_bases``.
    """
    row_array = "offsets"
    offsets_array, bases_array = "offsets", "bases"

    def check(self, task):
        self.image.require("getNeighbor" if task.schedule.needs == "rows" else "searchVID")

    @property
    def rows(self):
        return len(self.image.arrays[self.offsets_array]) - 1

    def reserve(self, task):
        buffers, schedule = task.buffers, task.schedule
        edges = max(1, self.image.num_edges)
        if schedule.needs == "rows":
            rows = self.rows + task.rows_over
            buffers.reserve("offsets", rows + 1)
            if self.virtual:
                buffers.reserve("row_bases", rows)
            words = edges + schedule.overread(task)
        else:
            words = task.round_up(edges, schedule.edge_block(task))
            buffers.reserve("bases", words)
        buffers.reserve("neighbors", words)
        if task.algorithm.weighted:
            buffers.reserve("weights", words)

    def build(self, task):
        buffers, arrays = task.buffers, self.image.arrays
        bases, neighbors, weights = self.image.rows()
        buffers.fill("neighbors", *self._addresses(task, task.algorithm.neighbor_array, neighbors))
        if task.algorithm.weighted:
            buffers.fill("weights", weights)
        if task.schedule.needs == "edges":
            buffers.fill("bases", *self._addresses(task, task.algorithm.base_array, bases))
            return
        first = buffers.address("neighbors")
        if task.schedule.location_step == 4:
            locations = _scaled(first, arrays[self.offsets_array])
        else:
            locations = arrays[self.offsets_array] + np.uint32(first // 4)
        buffers.fill("offsets", locations, int(locations[-1]))
        if self.virtual:
            buffers.fill("row_bases", *self._addresses(task, task.algorithm.base_array,
                                                       arrays[self.bases_array]))

    def _addresses(self, task, array, vertices):
        """Addresses of vertices in one of the algorithm's arrays, and the padding vertex's."""
        start = task.buffers.address(array(task))
        return _scaled(start, vertices), start + 4 * self.image.num_vertices

    def prepare(self, k):
        if k.task.schedule.needs == "edges":
            k.need("neighbors", "bases")
        elif self.virtual:
            k.need("offsets", "row_bases")
        if k.task.algorithm.weighted:
            k.need("neighbors", "weights")

    def get_neighbor(self, k, row, begin, end):
        k.a.lw(begin, row, 0)
        k.a.lw(end, row, 4)

    def get_base(self, k, row, into):
        with k.a.scope("row_base") as (where,):
            k.a.add(where, row, k.constant(k.address("row_bases") - k.address("offsets")))
            k.a.lw(into, where)

    def get_edge(self, k, location, neighbors, weights=()):
        spacing = 4
        if k.task.schedule.needs == "edges":
            spacing = 4 * k.task.config.threads
        elif k.task.schedule.location_step == 1:
            k.a.slli(location, location, 2)
        for index, neighbor in enumerate(neighbors):
            k.a.lw(neighbor, location, spacing * index)
        if weights:
            self._load_beside(k, "weights", location, weights, spacing)

    def prefetch(self, k, location):
        k.a.lw(k.a.zero, location)

    def search_vid(self, k, location, bases):
        self._load_beside(k, "bases", location, bases, 4 * k.task.config.threads)

    @staticmethod
    def _load_beside(k, array, location, into, spacing):
        """Load the words of an array that belong to the edges at ``location``."""
        with k.a.scope("where") as (where,):
            k.a.add(where, location, k.constant(k.address(array) - k.address("neighbors")))
            for index, register in enumerate(into):
                k.a.lw(register, where, spacing * index)


def _scaled(start, numbers):
    return (numbers << np.uint32(2)) + np.uint32(start)
