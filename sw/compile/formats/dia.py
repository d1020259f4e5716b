"""Diagonals: edges between vertices whose numbers differ by little, and coordinates for the rest.
"""

import numpy as np

from sw.graph.compress import compress, expand
from .storage_format import StorageFormat, load_edge
from .compressed import CompressedRows
from .fixed import FixedRows
from .image import Image, refuse_larger
from sw.compile.options import Choice, Integer


__all__ = ["Dia", "DiaImage"]


class DiaImage(Image):
    """A flag for each place on a few diagonals of the adjacency matrix, and coordinates for the
    other edges (GRAssembler, 2.1.3). Only the first of parallel edges can be on a diagonal.

    The paper's ``plus`` and ``minus`` are two diagonals: the edges to v + 1 and to v - 1.

    On a diagonal consecutive vertices have consecutive neighbours, so their values are read in
    order. Only the other edges are in blocks.

    ``diagonals`` : int32[diagonals]
        Neighbour minus base, for each diagonal.
    ``present`` : uint8[num_vertices * diagonals]
        Whether vertex v has the edge on diagonal i, at ``v * diagonals + i``.
    ``values`` : uint32[num_vertices * diagonals], if the graph has weights
        The weights of these edges; 0 where there is no edge.
    ``rest_offsets`` : uint32[num_vertices + 1], or with blocks uint32[virtual vertices + 1]
        Where the other edges of each row begin, and the end.
    ``row_bases`` : uint32[virtual vertices], with blocks
        The vertex of each row of the rest.
    ``rest_bases``, ``rest_neighbors`` : uint32[edges of the rest]
    ``rest_weights`` : uint32[edges of the rest], if the graph has weights
    """

    format = "dia"
    UNBLOCKED = None
    OPTIONS = {
        "diagonals": Integer(1, 64, 2, "number of diagonals", worth=(1, 2, 4)),
        "choose": Choice(("near", "full"), "near", "diagonals to take: the nearest (+1, -1, +2, "
                         "...), or the diagonals with the most edges"),
    }

    def _distances(self, bases, neighbors):
        count = self.options["diagonals"]
        near = [sign * (1 + step // 2) for step in range(count) for sign in (1 - 2 * (step % 2),)]
        if self.options["choose"] == "near":
            return np.array(near, dtype=np.int32)
        distances, edges = np.unique(neighbors.astype(np.int64) - bases, return_counts=True)
        best = distances[np.lexsort((distances < 0, abs(distances), -edges))][:count].tolist()
        best += [distance for distance in near if distance not in best][:count - len(best)]
        return np.array(best, dtype=np.int32)

    def fill(self, bases, neighbors, weights):
        offsets, neighbors, weights = compress(bases, neighbors, weights, self.num_vertices,
                                               self.num_vertices)
        bases = expand(offsets)
        diagonals = self._distances(bases, neighbors)
        count = len(diagonals)
        refuse_larger(self, (1 if weights is None else 5) * count * self.num_vertices)
        repeated = np.zeros(self.num_edges, dtype=bool)
        repeated[1:] = (bases[1:] == bases[:-1]) & (neighbors[1:] == neighbors[:-1])
        present = np.zeros((self.num_vertices, count), dtype=np.uint8)
        values = None if weights is None else np.zeros(present.shape, dtype=np.uint32)
        distance = neighbors.astype(np.int64) - bases
        rest = np.ones(self.num_edges, dtype=bool)
        for column, diagonal in enumerate(diagonals):
            here = (distance == diagonal) & ~repeated
            present[bases[here], column] = 1
            if values is not None and weights is not None:
                values[bases[here], column] = weights[here]
            rest &= ~here
        self.keep(diagonals=diagonals, present=present.reshape(-1))
        if values is not None and weights is not None:
            self.arrays["values"] = values.reshape(-1)
            weights = weights[rest]
        owners, offsets, neighbors, weights = self.in_rows(bases[rest], neighbors[rest], weights)
        self.keep_rows(owners, offsets, "rest_offsets")
        self.keep(rest_bases=owners[expand(offsets)], rest_neighbors=neighbors,
                  rest_weights=weights)

    def rows(self):
        diagonals = self.arrays["diagonals"]
        place = np.flatnonzero(self.arrays["present"])
        vertex, column = np.divmod(place, len(diagonals))
        bases = np.concatenate([vertex.astype(np.uint32), self.arrays["rest_bases"]])
        neighbors = np.concatenate([(vertex + diagonals[column]).astype(np.uint32),
                                    self.arrays["rest_neighbors"]])
        if not self.weighted:
            return bases, neighbors, None
        return bases, neighbors, np.concatenate([self.arrays["values"][place],
                                                 self.arrays["rest_weights"]])

    def layout(self):
        count = self.options["diagonals"]
        names = self.words("rest_bases", "rest_neighbors", *["rest_weights"] * self.weighted,
                           entries=len(self.arrays.get("rest_bases", ())))
        names |= self.row_layout("rest_offsets")
        names |= self.words(*["values"] * self.weighted, entries=self.num_vertices * count)
        names["diagonals"] = ((np.dtype(np.int32),), count)
        names["present"] = ((np.dtype(np.uint8),), self.num_vertices * count)
        return names


class _Diagonals(FixedRows):
    """The flags of all places on the diagonals, row by row.

    ``present``, ``values``
        As in the image.
    ``distances``
        Distance of each diagonal, in bytes of the algorithm's neighbour array.

    The diagonal of a place is its number in the row. Its neighbour is the base plus the diagonal's
    distance. A place whose flag is 0 has a void edge.
    """
    voids = True
    edge_bytes = 1
    based = True
    prefetches = False

    def __init__(self, task, image):
        super().__init__(task, image, len(image.arrays["diagonals"]))
        self._distances = image.arrays["diagonals"]
        self.ascending &= bool((np.diff(self._distances) > 0).all())

    def reserve(self):
        buffers, schedule, task = self.task.buffers, self.task.schedule, self.task
        places = self.places
        if schedule.needs == "rows":
            places = self.width * (self.rows + task.rows_over)
        buffers.reserve(self.array("neighbors"), places, 1, edges=True)
        buffers.reserve(self.array("distances"), self.width)
        if task.algorithm.weighted:
            buffers.reserve(self.array("values"), places, edges=True)

    def build(self):
        buffers, arrays = self.task.buffers, self.image.arrays
        buffers.fill(self.array("neighbors"), arrays["present"])
        buffers.fill(self.array("distances"), self._neighbor_bytes * self._distances)
        if self.task.algorithm.weighted:
            buffers.fill(self.array("values"), arrays["values"])

    @property
    def _neighbor_bytes(self):
        return self.task.buffers.width(self.task.algorithm.neighbor_array(self.task))

    def _padding(self, k):
        task = self.task
        return (k.address(task.algorithm.neighbor_array(task))
                + self._neighbor_bytes * task.graph.num_vertices)

    def get_neighbor(self, k, row, begin, end):
        self.first_place(k, row, begin)
        k.a.addi(end, begin, self.width)

    def get_edge(self, k, place, edges):
        a = k.a
        number = a.reg("place")
        a.add(number, place, k.constant(-k.address(self.array("neighbors"))))
        for index, edge in enumerate(edges):
            a.lbu(edge.neighbor.reg, place, self.spacing(k) * index)
        if edges[0].weight:
            where = a.reg("where")
            a.slli(where, number, 2)
            a.add(where, where, k.constant(k.address(self.array("values"))))
            for index, edge in enumerate(edges):
                load_edge(k, edge.weight, where, offset=4 * self.spacing(k) * index)
        for index, edge in enumerate(edges):
            if index:
                a.addi(number, number, self.spacing(k))
            self._neighbor(k, number, edge)

    def _neighbor(self, k, place, edge):
        """Compute the address of a place's neighbour from the flag of the place."""
        a, neighbor = k.a, edge.neighbor.reg
        distance, other = a.regs("distance", "other")
        number = k.number(edge.base, other)
        k.times(distance, number, self.width)
        a.sub(distance, place, distance)
        a.slli(distance, distance, 2)
        a.add(distance, distance, k.constant(k.address(self.array("distances"))))
        a.lw(distance, distance)
        a.neg(neighbor, neighbor)
        base = k.pointer(edge.base, edge.neighbor.array, other)
        if self.task.algorithm.void_edge == "self":
            a.and_(neighbor, neighbor, distance)
            a.add(neighbor, neighbor, base)
            return
        padding = k.constant(self._padding(k))
        a.add(distance, distance, base)
        k.select(neighbor, neighbor, distance, padding)


class Dia(StorageFormat):
    """First the diagonals, then the rest."""
    name = "dia"

    def layouts(self, task):
        arrays = self.image.arrays
        return [_Diagonals(task, self.image),
                CompressedRows(task, arrays["rest_bases"], arrays["rest_neighbors"],
                               arrays.get("rest_weights"), arrays["rest_offsets"],
                               self.image.row_bases)]
