"""Tigr's virtual vertices: rows of K edges at most."""

import numpy as np

from sw.graph.compress import expand
from .csr import Csr
from .image import NOTHING, Image
from sw.compile.options import Integer


__all__ = ["Tigr", "TigrImage"]


class TigrImage(Image):
    """Compressed rows whose vertices are split into virtual vertices of at most ``k`` edges (CR2,
    3.2 and figure 3.1d).

    A vertex of degree d has ceil(d / k) virtual vertices, one after another. The last of them has
    the remaining edges. A vertex without edges has no virtual vertex. With blocks, the edges of a
    vertex in each block are split so.

    ``bases`` : uint32[virtual vertices]
        The vertex to which each virtual vertex belongs.
    ``offsets`` : uint32[virtual vertices + 1]
        Where the edges of each virtual vertex begin, and the end of the last.
    ``neighbors`` : uint32[num_edges]
        Ascending within a virtual vertex.
    ``weights`` : uint32[num_edges], if the graph has weights
    """

    format = "tigr"
    UNBLOCKED = None
    OPTIONS = {"k": Integer(1, 1 << 16, 8, "edges of a virtual vertex, at most",
                            worth=(4, 16, 32))}
    LACKS = {"initTopology": "no list leads from a vertex to its virtual vertices, so every "
             "super-step visits all of them", "topologyGather": NOTHING}

    def fill(self, bases, neighbors, weights):
        k = self.options["k"]
        owners, offsets, neighbors, weights = self.in_rows(bases, neighbors, weights)
        parts = -(-np.diff(offsets).astype(np.int64) // k)
        first = np.cumsum(parts) - parts
        rows = np.repeat(np.arange(len(owners), dtype=np.uint32), parts)
        steps = np.arange(len(rows), dtype=np.int64) - np.repeat(first, parts)
        self.keep(bases=owners[rows],
                  offsets=np.append(offsets[rows] + steps * k, self.num_edges).astype(np.uint32),
                  neighbors=neighbors, weights=weights)

    def rows(self):
        virtual = expand(self.arrays["offsets"])
        return (self.arrays["bases"][virtual], self.arrays["neighbors"],
                self.arrays.get("weights"))

    @property
    def row_bases(self):
        return self.arrays["bases"]

    @property
    def virtual(self):
        return True

    def layout(self):
        count = len(self.arrays["bases"]) if "bases" in self.arrays else 0
        return (self.words("bases") | self.words("offsets", entries=count + 1)
                | self.words("neighbors", *["weights"] * self.weighted, entries=self.num_edges))


class Tigr(Csr):
    """Rows are virtual vertices."""
    name = "tigr"
