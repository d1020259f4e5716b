"""Edge blocking: coordinates, grouped by a range of neighbours."""

import numpy as np

from sw.graph.compress import compress, expand
from .base import StorageFormat
from .compressed import CompressedRows
from .image import NOTHING, Image
from sw.kernels.options import Integer, Switch


__all__ = ["BlockCoo", "BlockCooImage", "blocked"]


def blocked(bases, neighbors, weights, num_vertices, size):
    """Edges ordered by block of ``size`` neighbours, then by base, then by neighbour.

    Returns
    -------
    block_offsets : uint32[blocks + 1]
        Where the edges of each block begin, and the end of the last block.
    bases, neighbors : uint32[num_edges]
    weights : uint32[num_edges] or None
    """
    offsets, neighbors, weights = compress(bases, neighbors, weights, num_vertices, num_vertices)
    bases = expand(offsets)
    blocks = -(-num_vertices // size)
    block = neighbors // np.uint32(size)
    # There are few blocks, and numpy sorts narrow integers stably by counting.
    order = np.argsort(block.astype(np.min_scalar_type(blocks)), kind="stable")
    starts = np.zeros(blocks + 1, dtype=np.uint32)
    np.cumsum(np.bincount(block, minlength=blocks), out=starts[1:], dtype=np.uint32)
    return (starts, bases[order], neighbors[order],
            None if weights is None else weights[order])


class BlockCooImage(Image):
    """Coordinates in blocks. The neighbours of a block's edges are in one range of ``block``
    vertices, so the neighbours' values stay in the cache (GraphIt's EdgeBlocking: UGF, 5.2.3,
    algorithm 2; GRAssembler, 2.5). When pushing, blocks are by destination, as in GraphIt.

    ``block_offsets`` : uint32[blocks + 1]
        Where the edges of each block begin, and the end.
    ``bases``, ``neighbors`` : uint32[num_edges]
        Ordered by block, then base, then neighbour.
    ``weights`` : uint32[num_edges], if the graph has weights
    ``virtual_bases`` : uint32[virtual vertices], with the option ``virtual``
        A vertex that has edges in a block is a virtual vertex there.
    ``virtual_offsets`` : uint32[virtual vertices + 1], likewise
        Where the edges of each virtual vertex begin, and the end.
    """

    format = "block-coo"
    OPTIONS = {
        "block": Integer(1, (1 << 31) - 1, 4096, "vertices of a block", worth=(64, 512)),
        "virtual": Switch(True, "with the virtual vertices that getNeighbor needs"),
    }
    LACKS = {"initTopology": "no list leads from a vertex to its parts in the blocks, so every "
             "super-step visits all of them", "topologyGather": NOTHING}

    @property
    def lacks(self):
        if self.options["virtual"]:
            return self.LACKS
        return {**self.LACKS, "getNeighbor": "it was built with virtual=no, so there are no rows"}

    @property
    def virtual(self):
        return self.options["virtual"]

    def fill(self, bases, neighbors, weights):
        starts, bases, neighbors, weights = blocked(bases, neighbors, weights, self.num_vertices,
                                                    self.options["block"])
        self.arrays["block_offsets"] = starts
        self.arrays["bases"] = bases
        self.arrays["neighbors"] = neighbors
        if weights is not None:
            self.arrays["weights"] = weights
        if self.options["virtual"]:
            begins = np.ones(self.num_edges, dtype=bool)
            begins[1:] = bases[1:] != bases[:-1]
            begins[starts[:-1][starts[:-1] < self.num_edges]] = True
            first = np.flatnonzero(begins)
            self.arrays["virtual_bases"] = bases[first]
            self.arrays["virtual_offsets"] = np.append(first, self.num_edges).astype(np.uint32)

    def rows(self):
        return self.arrays["bases"], self.arrays["neighbors"], self.arrays.get("weights")

    def layout(self):
        names = self.words("bases", "neighbors", *["weights"] * self.weighted,
                           entries=self.num_edges)
        names |= self.words("block_offsets",
                            entries=-(-self.num_vertices // self.options["block"]) + 1)
        if self.options["virtual"]:
            count = len(self.arrays.get("virtual_bases", ()))
            names |= self.words("virtual_bases") | self.words("virtual_offsets", entries=count + 1)
        return names


class BlockCoo(StorageFormat):
    """Block after block, by edges or by the parts of vertices in the blocks."""
    name = "block-coo"

    def layouts(self, task):
        arrays = self.image.arrays
        return [CompressedRows(task, *self.image.rows(), arrays.get("virtual_offsets"),
                               arrays.get("virtual_bases"))]
