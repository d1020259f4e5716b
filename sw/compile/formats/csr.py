"""Compressed sparse rows, and columns for pulling."""

from sw.graph.compress import expand
from .storage_format import StorageFormat
from .compressed import CompressedRows
from .image import Image


__all__ = ["Csr", "CsrImage"]


class CsrImage(Image):
    """Row offsets and one neighbour an edge; compressed columns when pulling (GRAssembler, 2.1.3;
    CR2, figure 3.1b).

    ``offsets`` : uint32[num_vertices + 1], or with blocks uint32[virtual vertices + 1]
        Where each row's edges begin, and the end.
    ``row_bases`` : uint32[virtual vertices], with blocks
        The vertex of each row.
    ``neighbors`` : uint32[num_edges]
        Ascending within a row.
    ``weights`` : uint32[num_edges], if the graph has weights

    The base vertex of an edge is found by a binary search in the offsets.
    """

    format = "csr"
    UNBLOCKED = None

    def fill(self, bases, neighbors, weights):
        owners, offsets, neighbors, weights = self.in_rows(bases, neighbors, weights)
        self.keep_rows(owners, offsets)
        self.keep(neighbors=neighbors, weights=weights)

    def rows(self):
        return (self.owners(expand(self.arrays["offsets"])), self.arrays["neighbors"],
                self.arrays.get("weights"))

    def layout(self):
        return (self.row_layout()
                | self.words("neighbors", *["weights"] * self.weighted, entries=self.num_edges))


class Csr(StorageFormat):
    """Rows by source when pushing, by destination when pulling."""
    name = "csr"

    def layouts(self, task):
        return [CompressedRows(task, *self.image.rows(), self.image.arrays.get("offsets"),
                               self.image.row_bases)]
