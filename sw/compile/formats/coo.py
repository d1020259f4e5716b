"""Coordinates: both ends of every edge. With blocks they are Block-COO (GRAssembler, 2.5)."""

from sw.graph.compress import expand
from .csr import Csr
from .image import Image
from sw.compile.options import Switch


__all__ = ["Coo", "CooImage"]


class CooImage(Image):
    """Both ends of every edge, ordered by block if there are blocks, then by base and then by
    neighbour (GRAssembler, 2.1.3).

    ``bases``, ``neighbors`` : uint32[num_edges]
    ``offsets`` : uint32[num_vertices + 1], or with blocks uint32[virtual vertices + 1]
        With the option ``offsets``: where the edges of each row begin, and the end of the last.
        Without ``offsets`` no edge can be found from its vertex.
    ``row_bases`` : uint32[virtual vertices], with the option ``offsets`` and blocks
        The vertex of each row.
    ``weights`` : uint32[num_edges], if the graph has weights
    """

    format = "coo"
    UNBLOCKED = None
    OPTIONS = {
        "offsets": Switch(True, "with the place of each row's first edge, which getNeighbor needs"),
    }

    def fill(self, bases, neighbors, weights):
        owners, offsets, neighbors, weights = self.in_rows(bases, neighbors, weights)
        if self.options["offsets"]:
            self.keep_rows(owners, offsets)
        self.keep(bases=owners[expand(offsets)], neighbors=neighbors, weights=weights)

    def rows(self):
        return self.arrays["bases"], self.arrays["neighbors"], self.arrays.get("weights")

    @property
    def lacks(self):
        if self.options["offsets"]:
            return super().lacks
        return {**super().lacks, "getNeighbor": "it was built with offsets=no, so a vertex does "
                "not know its edges"}

    def layout(self):
        names = self.words("bases", "neighbors", *["weights"] * self.weighted,
                           entries=self.num_edges)
        if self.options["offsets"]:
            names |= self.row_layout()
        return names


class Coo(Csr):
    """Coordinates for kernels. If a schedule needs rows, the offsets give them."""
    name = "coo"
