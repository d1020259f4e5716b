"""Coordinates: both ends of every edge."""

from sw.graph.compress import compress, expand
from .base import StorageFormat
from .compressed import CompressedRows
from .image import Image
from sw.kernels.options import Switch


__all__ = ["Coo", "CooImage"]


class CooImage(Image):
    """Both ends of every edge, ordered by base and then by neighbour (GRAssembler, 2.1.3).

    ``bases``, ``neighbors`` : uint32[num_edges]
    ``offsets`` : uint32[num_vertices + 1], with the option ``offsets``
        Where the edges of each vertex begin, and the end of the last. Without ``offsets`` no edge
        can be found from its vertex.
    ``weights`` : uint32[num_edges], if the graph has weights
    """

    format = "coo"
    OPTIONS = {"offsets": Switch(True, "with the place of each vertex's first edge")}

    def fill(self, bases, neighbors, weights):
        offsets, neighbors, weights = compress(bases, neighbors, weights, self.num_vertices,
                                               self.num_vertices)
        if self.options["offsets"]:
            self.arrays["offsets"] = offsets
        self.arrays["bases"] = expand(offsets)
        self.arrays["neighbors"] = neighbors
        if weights is not None:
            self.arrays["weights"] = weights

    def rows(self):
        return self.arrays["bases"], self.arrays["neighbors"], self.arrays.get("weights")

    @property
    def lacks(self):
        if self.options["offsets"]:
            return self.LACKS
        return {**self.LACKS, "getNeighbor": "it was built with offsets=no, so a vertex does not "
                "know its edges"}

    def layout(self):
        names = self.words("bases", "neighbors", *["weights"] * self.weighted,
                           entries=self.num_edges)
        if self.options["offsets"]:
            names |= self.words("offsets", entries=self.num_vertices + 1)
        return names


class Coo(StorageFormat):
    """Coordinates for kernels. If a schedule needs rows, the offsets give them."""
    name = "coo"

    def layouts(self, task):
        return [CompressedRows(task, *self.image.rows(), self.image.arrays.get("offsets"))]
