"""CuSha's G-Shards: edges grouped by a range of destinations, each with its source's value."""

import numpy as np

from sw.graph.compress import expand, in_blocks
from sw.compile.asm.assembler import Condition
from sw.compile.kernels.passes import Pass
from .storage_format import StorageFormat
from .compressed import CompressedRows
from .image import Image
from sw.compile.options import Integer


__all__ = ["GShards", "GShardsImage"]


class GShardsImage(Image):
    """Shards of edges. The destinations of a shard are in one range of ``shard`` vertices, and its
    edges are ordered by source (CR2, 3.2 and figure 3.1c). Shards are the same for both directions.

    ``shard_offsets`` : uint32[shards + 1]
        Where the edges of each shard begin, and the end.
    ``dest_ids``, ``src_ids`` : uint32[num_edges]
        Ordered by shard, then source, then destination.
    ``weights`` : uint32[num_edges], if the graph has weights

    In a super-step the value of each edge's source lies beside the edge, in ``src_values``, which
    initTopology fills and topologyGather reads. These values belong to the algorithm. So
    ``src_values`` is no array of the image and counts in :attr:`scratch`.
    """

    format = "g-shards"
    OPTIONS = {"shard": Integer(1, (1 << 31) - 1, 4096, "vertices of a shard",
                                worth=(64, 512))}
    UNBLOCKED = "its shards are blocks already, and shard=N sets their vertices"
    LACKS = {"getNeighbor": "the edges of a vertex are scattered over its shard, or over all"}

    def fill(self, bases, neighbors, weights):
        sources, destinations = bases, neighbors
        if self.direction == "pull":
            sources, destinations = neighbors, bases
        shard = self.options["shard"]
        owners, offsets, destinations, weights = in_blocks(sources, destinations, weights,
                                                           self.num_vertices, shard)
        starts = np.zeros(-(-self.num_vertices // shard) + 1, dtype=np.uint32)
        np.cumsum(np.bincount(destinations // np.uint32(shard), minlength=len(starts) - 1),
                  out=starts[1:], dtype=np.uint32)
        self.keep(shard_offsets=starts, dest_ids=destinations, src_ids=owners[expand(offsets)],
                  weights=weights)

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


class _Shards(CompressedRows):
    """Both ends of every edge, and beside them ``src_values``, the word of each edge's source."""
    gathers = True

    def reserve(self):
        super().reserve()
        self.task.buffers.reserve(self.array("src_values"),
                                  self.task.buffers.words(self.array("neighbors")), edges=True)

    def get_edge(self, k, place, edges):
        super().get_edge(k, place, edges)
        self.load_beside(k, "src_values", place, [edge.value for edge in edges])

    @property
    def sources(self):
        """The array of the edges' sources, as addresses of the words that are gathered."""
        return self.array("bases" if self.task.direction == "push" else "neighbors")


class GShards(StorageFormat):
    """Before each super-step the value of every edge's source is copied to the edge."""
    name = "g-shards"

    def layouts(self, task):
        return [_Shards(task, *self.image.rows())]

    def passes(self, task):
        return [Pass("init_topology", self._gather_sources)]

    @staticmethod
    def _gather_sources(k):
        a, task, layout = k.a, k.task, k.layout
        words = task.buffers.words(layout.sources)
        step = 4 * task.config.threads
        unroll = task.schedule.edge_block(task) // task.config.threads
        pointer, index = a.regs("pointer", "index")
        k.lane_index(index, per_warp=unroll * task.config.threads)
        k.scaled(pointer, index, layout.sources)
        end = k.constant(k.address(layout.sources) + 4 * words, "end")
        values = k.distance(layout.sources, layout.array("src_values"))
        with a.while_uniform(Condition("ltu", pointer, end), "edges"):
            to = a.reg("to")
            words = a.regs(*(f"value{i}" for i in range(unroll)))
            for i, word in enumerate(words):
                a.lw(word, pointer, step * i)
            for word in words:
                a.lw(word, word)
            a.add(to, pointer, values)
            k.step(pointer, 4 * unroll * task.lanes)
            for i, word in enumerate(words):
                a.sw(word, to, step * i)
