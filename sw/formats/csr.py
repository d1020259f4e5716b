"""Compressed sparse rows, and columns for pulling."""

import numpy as np

from sw.formats.base import StorageFormat
from sw.formats.compress import compress, expand
from sw.formats.image import Image


__all__ = ["Csr", "CsrImage"]


class CsrImage(Image):
    """Row offsets and one neighbour an edge; compressed columns when pulling (GRAssembler, 2.1.3;
    CR2, figure 3.1b).

    ``offsets`` : uint32[num_vertices + 1]
        Where each vertex's edges begin, and the end.
    ``neighbors`` : uint32[num_edges]
        Ascending within a vertex.
    ``weights`` : uint32[num_edges], if the graph has weights

    The base vertex of an edge is found by a binary search in the offsets.
    """

    format = "csr"

    def fill(self, bases, neighbors, weights):
        offsets, neighbors, weights = compress(bases, neighbors, weights, self.num_vertices,
                                               self.num_vertices)
        self.arrays["offsets"] = offsets
        self.arrays["neighbors"] = neighbors
        if weights is not None:
            self.arrays["weights"] = weights

    def rows(self):
        return (expand(self.arrays["offsets"]), self.arrays["neighbors"],
                self.arrays.get("weights"))

    def layout(self):
        return (self.words("offsets", entries=self.num_vertices + 1)
                | self.words("neighbors", *["weights"] * self.weighted, entries=self.num_edges))


class Csr(StorageFormat):
    """Row offsets and one neighbour an edge; rows by source when pushing, by destination when
    pulling.

    What is stored is what the kernel wants in its registers, so that none of it is computed there:

    ``offsets``
        Locations: of the first edge of each vertex's row and, behind the last vertex, of the end.
        The end is repeated, so the vertices beyond the last have empty rows.
    ``neighbors``
        The address of the neighbour's word in the vertex array that the algorithm reads there.
    ``weights``
        Only if the algorithm uses them: the weight of each edge, in the order of the neighbours.
    ``bases``
        Only if the schedule goes by edges: the same of the base vertex, in the algorithm's base
        array. With it the base of an edge is one coalesced load, 2|E| in all (SparseWeaver, table
        4.1), in place of a binary search in the offsets.

    An edge's location is its neighbour's address, or that divided by 4 where the schedule counts
    edges in steps of 1. If the schedule goes by edges, a block of edges that is only partly there
    is filled with edges from and to the padding vertex.
    """
    name = "csr"
    row_array = "offsets"

    def reserve(self, task):
        graph, schedule = task.graph, task.schedule
        if schedule.needs == "rows":
            task.buffers.reserve("offsets", task.vertex_words + 1)
            words = max(1, graph.num_edges) + schedule.overread(task)
        else:
            words = task.round_up(max(1, graph.num_edges), schedule.edge_block(task))
            task.buffers.reserve("bases", words)
        task.buffers.reserve("neighbors", words)
        if task.algorithm.weighted:
            task.buffers.reserve("weights", words)

    def build(self, task):
        graph, buffers, schedule = task.graph, task.buffers, task.schedule
        offsets, neighbors, weights = graph.csr(reverse=task.direction == "pull")
        target = buffers.address(task.algorithm.neighbor_array(task))
        target_pad = target + 4 * graph.num_vertices
        buffers.fill("neighbors", _addresses(target, neighbors), target_pad)
        if task.algorithm.weighted:
            buffers.fill("weights", weights)
        if schedule.needs == "rows":
            base = buffers.address("neighbors")
            if schedule.location_step == 4:
                locations = _addresses(base, offsets)
            else:
                locations = offsets + np.uint32(base // 4)
            buffers.fill("offsets", locations, int(locations[-1]))
        else:
            base = buffers.address(task.algorithm.base_array(task))
            vertices = np.repeat(np.arange(graph.num_vertices, dtype=np.uint32),
                                 np.diff(offsets.astype(np.int64)))
            buffers.fill("bases", _addresses(base, vertices), base + 4 * graph.num_vertices)

    def prepare(self, k):
        if k.task.schedule.needs == "edges":
            k.need("neighbors", "bases")
        if k.task.algorithm.weighted:
            k.need("neighbors", "weights")

    def get_neighbor(self, k, row, begin, end):
        k.a.lw(begin, row, 0)
        k.a.lw(end, row, 4)

    def get_edge(self, k, location, neighbors, weights=()):
        spacing = 4
        if k.task.schedule.needs == "edges":
            spacing = 4 * k.task.config.threads
        elif k.task.schedule.location_step == 1:
            k.a.slli(location, location, 2)
        for index, neighbor in enumerate(neighbors):
            k.a.lw(neighbor, location, spacing * index)
        if weights:
            with k.a.scope("weight_location") as (where,):
                k.a.add(where, location, k.constant(k.address("weights") - k.address("neighbors")))
                for index, weight in enumerate(weights):
                    k.a.lw(weight, where, spacing * index)

    def prefetch(self, k, location):
        k.a.lw(k.a.zero, location)

    def search_vid(self, k, location, bases):
        with k.a.scope("base_location") as (where,):
            k.a.add(where, location, k.constant(k.address("bases") - k.address("neighbors")))
            for index, base in enumerate(bases):
                k.a.lw(base, where, 4 * k.task.config.threads * index)


def _addresses(base, vertices):
    return (vertices << np.uint32(2)) + np.uint32(base)
