"""A graph as CR2: its arrays, the neighbours of a vertex, the sizes of the subgraphs."""

from typing import Any

import numpy as np

from base.errors import UserError

from ..image import NOTHING, Image
from sw.compile.options import Choice, Integer, Switch
from .builder import array_name, fill_subgraphs, sort_edges
from .expand import expand_list, unpack
from .geometry import INTER, INTRA, PARTS, Geometry


__all__ = ["Cr2Image"]


class Cr2Image(Image):
    """Community-aware compressed regular storage (GRAssembler, chapter 3).

    For each PART, ``intra`` and ``inter``, and each DEGREE from 2^w down to 1:

    ``PART_DEGREE_bases``
        The base vertex of each record, ascending. A local ID in the intra-cluster graph (uint8 if
        the cluster has at most 256 vertices, else uint16); a global one (uint32) in the
        inter-cluster graph, and in both with ``bases=global``.
    ``PART_DEGREE_neighbors``
        Record r has neighbours ``r * DEGREE`` to ``(r + 1) * DEGREE - 1``. So a warp that takes one
        edge a lane reads them in one piece (3.4.2). Neighbours are local IDs in the intra-cluster
        graph, and global IDs in the other.
    ``PART_DEGREE_weights`` : uint32, if the graph has weights
        Beside the neighbours.
    ``intra_DEGREE_starts`` : uint32[clusters + 1], unless ``bases=global``
        Records ``starts[c]`` to ``starts[c + 1] - 1`` belong to cluster c, and their local bases
        are local to it. A record is in one cluster, and a warp meets clusters in ascending order.

    and once, unless ``expand=no``:

    ``expand_offsets`` : uint32[num_vertices + 1], ``expand_pointers`` : uint32[records]
        The expand list (:mod:`~sw.compile.formats.cr2.expand`). A pointer's offset is the record's
        number in its subgraph, over all clusters.

    With ``bases=global`` the arrays are those of algorithm 3.4, which takes the cluster from the
    base's upper bits. Local bases are described in 3.3.2 and 3.3.3.

    Methods of this class take and give the graph's numbers of vertices. Vertices should be
    reordered if the graph's numbers do not bring communities together (3.3.2).
    """

    format = "cr2"
    OPTIONS = {
        "cluster_bits": Integer(1, 16, 16, "N: a cluster has 2^N vertices; local IDs take 8 bits "
                                "up to 8, else 16", worth=(8, 12)),
        "warp_bits": Integer(0, 5, 5, "w: degrees of subgraphs are 2^0 to 2^w",
                             worth=(3, 4)),
        "bases": Choice(("local", "global"), "local", "IDs of base vertices inside clusters"),
        "expand": Switch(True, "with the expand list, which leads from a vertex to its records"),
    }
    UNBLOCKED = ("its clusters are blocks already, and cluster_bits sets their vertices; blocks "
                 "between clusters would split records, whose degrees are those of the vertices")
    LACKS = {"topologyGather": NOTHING}

    @property
    def geometry(self):
        """The :class:`Geometry` that the options make."""
        return Geometry(num_vertices=self.num_vertices, cluster_bits=self.options["cluster_bits"],
                        warp_bits=self.options["warp_bits"],
                        local_bases=self.options["bases"] == "local")

    @property
    def virtual(self):
        return True

    @property
    def lacks(self):
        if self.options["expand"]:
            return self.LACKS
        return {**self.LACKS, "initTopology": "it was built with expand=no, so no list leads from "
                "a vertex to its records and every super-step visits all of them"}

    def fill(self, bases, neighbors, weights):
        parts = sort_edges(self.geometry, bases, neighbors, weights)
        self.arrays, owners = fill_subgraphs(self.geometry, parts)
        if self.options["expand"]:
            offsets, pointers = expand_list(self.geometry, owners)
            self.arrays["expand_offsets"] = offsets
            self.arrays["expand_pointers"] = pointers

    def subgraphs(self):
        """The Degree-n subgraphs, as the kernels of a super-step visit them.

        Yields
        ------
        (part, k)
            The intra-cluster part first; in each part the largest degree first.
        """
        for part in (INTRA, INTER):
            for k in self.geometry.classes:
                yield part, k

    def of(self, part, k, what) -> Any:
        """An array of the Degree-2^k subgraph of a part; None if there is none."""
        return self.arrays.get(array_name(part, k, what))

    def records(self, part, k):
        """How many records the Degree-2^k subgraph of a part has."""
        return len(self.of(part, k, "bases"))

    def global_bases(self, part, k):
        """The base of each record of a subgraph, as a vertex of the image."""
        bases = self.of(part, k, "bases")
        starts = self.of(part, k, "starts")
        if starts is None:
            return bases
        clusters = np.repeat(np.arange(len(starts) - 1, dtype=np.uint32), np.diff(starts))
        return self.geometry.globally(clusters, bases)

    def rows(self):
        bases, neighbors, weights = [], [], []
        for part, k in self.subgraphs():
            own = np.repeat(self.global_bases(part, k), 1 << k)
            ends = self.of(part, k, "neighbors")
            if part == INTRA:
                ends = self.geometry.globally(own >> np.uint32(self.geometry.cluster_bits), ends)
            bases.append(own)
            neighbors.append(ends)
            weights.append(self.of(part, k, "weights"))
        bases, neighbors = np.concatenate(bases), np.concatenate(neighbors)
        return bases, neighbors, np.concatenate(weights) if self.weighted else None

    def image_vertex(self, vertex, what="vertex"):
        """The image's number of one of the graph's vertices.

        Raises
        ------
        UserError
            If there is no such vertex.
        """
        if not 0 <= vertex < self.num_vertices:
            raise UserError(f"{self.title}: {what} is {vertex}, must be from 0 to "
                            f"{self.num_vertices - 1}")
        return int(vertex if self.new_ids is None else self.new_ids[vertex])

    def neighbors(self, vertex):
        """The neighbours of a vertex (3.4.4): out-neighbours if the image is for pushing,
        in-neighbours if it is for pulling. Takes O(degree): it reads the vertex's pointers and the
        records to which they point.

        Returns
        -------
        (neighbors, weights)
            uint32[degree] each, in the order of the records; weights are None without weights.

        Raises
        ------
        UserError
            If there is no such vertex, or no expand list.
        """
        self.require("initTopology")
        vertex = self.image_vertex(vertex)
        offsets = self.arrays["expand_offsets"]
        pointers = self.arrays["expand_pointers"][offsets[vertex]:offsets[vertex + 1]]
        parts, logs, places = unpack(pointers, self.geometry.warp_bits)
        found, weights = [np.empty(0, dtype=np.uint32)], [np.empty(0, dtype=np.uint32)]
        for part, k, place in zip(parts.tolist(), logs.tolist(), places.tolist()):
            own = slice(place << k, (place + 1) << k)
            ends = self.of(part, k, "neighbors")[own]
            if part == INTRA:
                ends = self.geometry.globally(vertex >> self.geometry.cluster_bits, ends)
            found.append(ends)
            if self.weighted:
                weights.append(self.of(part, k, "weights")[own])
        found = np.concatenate(found)
        if self.new_ids is not None:
            found = self.old_ids[found]
        return found, np.concatenate(weights) if self.weighted else None

    def add_edge(self, source, destination, weight=None):
        """Add an edge (3.4.3), in O(|V| + records). It may be parallel to another.

        Raises
        ------
        UserError
            If there is no such vertex, or the weight is missing, superfluous or out of range.
        """
        from .update import add_edge
        add_edge(self, source, destination, weight)

    def delete_edge(self, source, destination, weight=None):
        """Delete an edge (3.4.3), in O(|V| + records). If there are parallel edges, the one with
        the given weight is deleted, or the lightest.

        Raises
        ------
        UserError
            If there is no such edge.
        """
        from .update import delete_edge
        delete_edge(self, source, destination, weight)

    @property
    def intra_share(self):
        """Part of the edges that is inside clusters; 0 if there are no edges."""
        inside = sum(self.records(INTRA, k) << k for k in self.geometry.classes)
        return inside / self.num_edges if self.num_edges else 0.0

    def sizes(self):
        """The subgraphs for a table: a dict each of part, degree, records, edges and bytes."""
        return [{"part": PARTS[part], "degree": 1 << k, "records": self.records(part, k),
                 "edges": self.records(part, k) << k,
                 "bytes": sum(array.nbytes for what in ("bases", "neighbors", "weights", "starts")
                              if (array := self.of(part, k, what)) is not None)}
                for part, k in self.subgraphs()]

    @property
    def expand_nbytes(self):
        """Bytes of the expand list; 0 without it."""
        return sum(self.arrays[name].nbytes for name in ("expand_offsets", "expand_pointers")
                   if name in self.arrays)

    def layout(self):
        shape = self.geometry
        names = {}
        for part, k in self.subgraphs():
            count = len(self.arrays.get(array_name(part, k, "bases"), ()))
            names[array_name(part, k, "bases")] = ((shape.base_dtype(part),), None)
            names[array_name(part, k, "neighbors")] = ((shape.neighbor_dtype(part),), count << k)
            if self.weighted:
                names |= self.words(array_name(part, k, "weights"), entries=count << k)
            if part == INTRA and shape.local_bases:
                names |= self.words(array_name(part, k, "starts"), entries=shape.clusters + 1)
        if self.options["expand"]:
            names |= self.words("expand_offsets", entries=self.num_vertices + 1)
            names |= self.words("expand_pointers",
                                entries=sum(len(self.arrays.get(array_name(part, k, "bases"), ()))
                                            for part, k in self.subgraphs()))
        return names

    def check(self):
        super().check()
        edges = sum(self.records(part, k) << k for part, k in self.subgraphs())
        if edges != self.num_edges:
            raise ValueError(f"its subgraphs have {edges} edges, must have {self.num_edges}")
