"""Diagonals: edges between vertices whose numbers differ by little, and coordinates for the rest.
"""

import numpy as np

from sw.graph.compress import compress, expand
from .image import Image
from .options import Choice, Integer


__all__ = ["DiaImage"]


class DiaImage(Image):
    """A flag for each place on a few diagonals of the adjacency matrix; the other edges, and all
    but the first of parallel ones, as coordinates (GRAssembler, 2.1.3).

    Two diagonals are the paper's ``plus`` and ``minus``: the edges to v + 1 and to v - 1.

    ``diagonals`` : int32[diagonals]
        Neighbour minus base, for each.
    ``present`` : uint8[num_vertices * diagonals]
        Whether vertex v has the edge on diagonal i, at ``v * diagonals + i``.
    ``values`` : uint32[num_vertices * diagonals], if the graph has weights
        The weights of these edges, 0 where there is none.
    ``rest_offsets`` : uint32[num_vertices + 1]
        Where the other edges of each vertex begin, and the end.
    ``rest_bases``, ``rest_neighbors`` : uint32[edges of the rest]
    ``rest_weights`` : uint32[edges of the rest], if the graph has weights
    """

    format = "dia"
    OPTIONS = {
        "diagonals": Integer(1, 64, 2, "how many"),
        "choose": Choice(("near", "full"), "near", "which: the nearest (+1, -1, +2, ...), or those "
                         "with the most edges"),
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
        self.refuse_larger((1 if weights is None else 5) * count * self.num_vertices)
        repeated = np.zeros(self.num_edges, dtype=bool)
        repeated[1:] = (bases[1:] == bases[:-1]) & (neighbors[1:] == neighbors[:-1])
        present = np.zeros((self.num_vertices, count), dtype=np.uint8)
        values = None if weights is None else np.zeros(present.shape, dtype=np.uint32)
        distance = neighbors.astype(np.int64) - bases
        rest = np.ones(self.num_edges, dtype=bool)
        for column, diagonal in enumerate(diagonals):
            here = (distance == diagonal) & ~repeated
            present[bases[here], column] = 1
            if values is not None:
                values[bases[here], column] = weights[here]
            rest &= ~here
        self.arrays["diagonals"] = diagonals
        self.arrays["present"] = present.reshape(-1)
        if values is not None:
            self.arrays["values"] = values.reshape(-1)
            self.arrays["rest_weights"] = weights[rest]
        self.arrays["rest_bases"], self.arrays["rest_neighbors"] = bases[rest], neighbors[rest]
        starts = np.zeros(self.num_vertices + 1, dtype=np.uint32)
        np.cumsum(np.bincount(bases[rest], minlength=self.num_vertices), out=starts[1:],
                  dtype=np.uint32)
        self.arrays["rest_offsets"] = starts

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
        names |= self.words("rest_offsets", entries=self.num_vertices + 1)
        names |= self.words(*["values"] * self.weighted, entries=self.num_vertices * count)
        names["diagonals"] = ((np.dtype(np.int32),), count)
        names["present"] = ((np.dtype(np.uint8),), self.num_vertices * count)
        return names
