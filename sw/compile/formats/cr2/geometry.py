"""Clusters, local and global vertex IDs, and the degrees of subgraphs (CR2, table 3.2)."""

import dataclasses

import numpy as np


__all__ = ["INTER", "INTRA", "PARTS", "Geometry"]


INTRA, INTER = 0, 1

#: Names of the two parts of the graph, by number.
PARTS = ("intra", "inter")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Geometry:
    """The shape of a CR2 graph."""

    num_vertices: int  #: |V|.
    #: N: a cluster has 2^N vertices, so it is 2^N x 2^N places of the adjacency matrix.
    cluster_bits: int
    warp_bits: int  #: w: the degrees of the subgraphs are 2^0 to 2^w.
    #: Whether base vertices of the intra-cluster graph are local IDs, as neighbours always are.
    local_bases: bool

    @property
    def clusters(self):
        """How many clusters there are; the last may be smaller than the others."""
        return -(-self.num_vertices >> self.cluster_bits)

    @property
    def classes(self):
        """The logarithms of the subgraphs' degrees, the largest first: w to 0."""
        return range(self.warp_bits, -1, -1)

    @property
    def local_mask(self):
        """The bits of a vertex ID that are its local ID."""
        return np.uint32((1 << self.cluster_bits) - 1)

    @property
    def local_dtype(self):
        """The type of a stored local ID: 8 bits up to N = 8, else 16."""
        return np.dtype(np.uint8 if self.cluster_bits <= 8 else np.uint16)

    def neighbor_dtype(self, part):
        """The type of stored neighbours: local IDs inside clusters, global IDs between clusters."""
        return self.local_dtype if part == INTRA else np.dtype(np.uint32)

    def base_dtype(self, part):
        """The type of stored base vertices."""
        return self.local_dtype if part == INTRA and self.local_bases else np.dtype(np.uint32)

    def is_inter(self, bases, neighbors):
        """Whether edges go from one cluster to another."""
        return ((bases ^ neighbors) >> np.uint32(self.cluster_bits)) != 0

    def local(self, vertices):
        """Local IDs of vertices, in :attr:`local_dtype`."""
        return (vertices & self.local_mask).astype(self.local_dtype)

    def globally(self, clusters, locals_):
        """Vertices from clusters and local IDs: (cluster << N) | local (equation 3.1)."""
        return (np.asarray(clusters, dtype=np.uint32) << np.uint32(self.cluster_bits)
                | np.asarray(locals_, dtype=np.uint32))
