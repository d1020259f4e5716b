"""CuSha's G-Shards: edges grouped by a range of destinations, each with its source's value."""

import numpy as np

from .blockcoo import blocked
from .image import Image
from .options import Integer


__all__ = ["GShardsImage"]


class GShardsImage(Image):
    """Shards of edges whose destinations are in one range of ``shard`` vertices, in each by source
    (CR2, 3.2 and figure 3.1c). They are the same for both directions.

    ``shard_offsets`` : uint32[shards + 1]
        Where the edges of each shard begin, and the end.
    ``dest_ids``, ``src_ids`` : uint32[num_edges]
        Ordered by shard, then source, then destination.
    ``weights`` : uint32[num_edges], if the graph has weights

    In a super-step the value of each edge's source lies beside it: ``src_values``, which
    initTopology fills and topologyGather reads. It is the algorithm's, so it is no array of the
    image and counts in :attr:`scratch`.
    """

    format = "g-shards"
    OPTIONS = {"shard": Integer(1, (1 << 31) - 1, 4096, "vertices of a shard")}
    LACKS = {"getNeighbor": "the edges of a vertex are scattered over its shard, or over all"}

    def fill(self, bases, neighbors, weights):
        sources, destinations = bases, neighbors
        if self.direction == "pull":
            sources, destinations = neighbors, bases
        starts, sources, destinations, weights = blocked(
            sources, destinations, weights, self.num_vertices, self.options["shard"])
        self.arrays["shard_offsets"] = starts
        self.arrays["dest_ids"] = destinations
        self.arrays["src_ids"] = sources
        if weights is not None:
            self.arrays["weights"] = weights

    def rows(self):
        ends = self.arrays["src_ids"], self.arrays["dest_ids"]
        return (*(ends if self.direction == "push" else ends[::-1]), self.arrays.get("weights"))

    @property
    def scratch(self):
        return {"src_values": (np.dtype(np.uint32), self.num_edges)}

    def layout(self):
        return (self.words("dest_ids", "src_ids", *["weights"] * self.weighted,
                           entries=self.num_edges)
                | self.words("shard_offsets",
                             entries=-(-self.num_vertices // self.options["shard"]) + 1))
