"""Ellpack: a row of the same length for every vertex, and another format for the rest."""

import numpy as np

from sw.graph.compress import expand
from sw.compile.kernels.kernel import log2
from sw.compile.options import Choice, Integer

from .storage_format import StorageFormat
from .compressed import AddressedEdges, CompressedRows
from .fixed import FixedRows
from .image import ABSENT, Image, refuse_larger


__all__ = ["Ell", "EllImage", "usual_width"]


def usual_width(degrees):
    """The default width: the largest width that a third of the rows fill, at least 1.

    An entry is read about three times as fast as an edge of a list. So a column pays if a third of
    the rows fill it (Bell and Garland's rule for the hybrid format, SC 2009, without its floor of
    4096 rows).
    """
    if not len(degrees):
        return 1
    third = -(-len(degrees) // 3)
    return max(1, int(np.partition(degrees, len(degrees) - third)[len(degrees) - third]))


class EllImage(Image):
    """Ellpack, with coordinates or compressed rows for the edges beyond its width (GRAssembler,
    2.1.3).

    Rows are the vertices, or with blocks the virtual vertices.

    ``data`` : uint32[rows * width]
        The first edges of row r, ascending, from ``r * width`` on; :data:`ABSENT` behind them.
    ``counts`` : uint8, uint16 or uint32[rows]
        How many of a row's places are filled, in the narrowest type that holds the width.
    ``row_bases`` : uint32[rows], with blocks
        The vertex of each row.
    ``rest_offsets`` : uint32[rows + 1]
        Where the other edges of each row begin, and the end.
    ``rest_neighbors`` : uint32[edges of the rest]
    ``rest_bases`` : uint32[edges of the rest], with ``rest=coo``
    ``weights``, ``rest_weights`` : uint32, if the graph has weights
        Beside ``data`` (0 where there is no edge) and ``rest_neighbors``.

    Edge ``e`` of the first part is in row ``e // width``. Kernels go through the two parts as two
    layouts, one after the other (GRAssembler, algorithm 2.1, line 2).
    """

    format = "ell"
    UNBLOCKED = None
    OPTIONS = {
        "width": Integer(1, 1 << 16, None, "edges of a row; left out, the largest that a third of "
                         "the rows fill", worth=(1, 2, 4, 8, 16)),
        "rest": Choice(("coo", "csr"), "coo", "format of the edges beyond the width"),
    }

    def fill(self, bases, neighbors, weights):
        owners, offsets, neighbors, weights = self.in_rows(bases, neighbors, weights)
        degrees = np.diff(offsets)
        width = self.options["width"]
        if width is None:
            width = min(usual_width(degrees), 1 << 16)
            self.options["width"] = width
        refuse_larger(self, 4 * width * len(owners))
        counts = np.minimum(degrees, np.uint32(width))
        filled = np.arange(width, dtype=np.uint32) < counts[:, None]
        rows = expand(offsets)
        first = np.arange(self.num_edges, dtype=np.uint32) - offsets[rows] < width
        self.arrays["counts"] = counts.astype(np.min_scalar_type(width))
        rest = np.zeros(len(offsets), dtype=np.uint32)
        np.cumsum(degrees - counts, out=rest[1:], dtype=np.uint32)
        self.keep_rows(owners, rest, "rest_offsets")
        if self.options["rest"] == "coo":
            self.arrays["rest_bases"] = owners[rows[~first]]
        for name, values, empty in (("data", neighbors, ABSENT), ("weights", weights, 0)):
            if values is None:
                continue
            data = np.full(filled.shape, empty, dtype=np.uint32)
            data[filled] = values[first]
            self.arrays[name] = data.reshape(-1)
            self.arrays["rest_" + {"data": "neighbors"}.get(name, name)] = values[~first]

    def rows(self):
        counts, width = self.arrays["counts"], self.options["width"]
        filled = (np.arange(width) < counts[:, None]).reshape(-1)
        first = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
        bases = self.owners(np.concatenate([first, expand(self.arrays["rest_offsets"])]))
        neighbors = np.concatenate([self.arrays["data"][filled], self.arrays["rest_neighbors"]])
        if not self.weighted:
            return bases, neighbors, None
        return bases, neighbors, np.concatenate([self.arrays["weights"][filled],
                                                 self.arrays["rest_weights"]])

    def layout(self):
        width = self.options["width"]
        rest = len(self.arrays.get("rest_neighbors", ()))
        names = self.words("data", *["weights"] * self.weighted,
                           entries=self.num_rows * width)
        names |= self.words("rest_neighbors", *["rest_weights"] * self.weighted,
                            *["rest_bases"] * (self.options["rest"] == "coo"), entries=rest)
        names |= self.row_layout("rest_offsets")
        names["counts"] = ((np.min_scalar_type(width),), self.num_rows)
        return names


class _Regular(FixedRows, AddressedEdges):
    """The rows of the same length.

    ``neighbors`` and ``weights``
        ``data`` and ``weights`` of the image, with addresses for neighbours, and void edges in
        empty places.
    ``counts``
        As in the image; 0 behind the last row.
    """
    voids = True

    @property
    def _counts(self):
        return self.image.arrays["counts"]

    def reserve(self):
        buffers, schedule, task = self.task.buffers, self.task.schedule, self.task
        if schedule.needs == "rows":
            buffers.reserve(self.array("counts"), self.rows + task.rows_over,
                            self._counts.itemsize)
        self.reserve_bases(self.places)
        self.reserve_edges()

    def build(self):
        buffers, task = self.task.buffers, self.task
        data = self.image.arrays["data"]
        words = buffers.words(self.array("neighbors"))
        own = self.owners(np.arange(words, dtype=np.uint32) // np.uint32(self.width))
        neighbors, padding = task.vertices.addresses(task.algorithm.neighbor_array(task), own)
        if task.algorithm.void_edge == "padding":
            neighbors[:] = padding
        present = data != ABSENT
        neighbors[:len(data)][present] = task.vertices.addresses(
            task.algorithm.neighbor_array(task), data[present])[0]
        buffers.fill(self.array("neighbors"), neighbors >> task.schedule.neighbor_shift(task))
        self.build_bases()
        if task.schedule.needs == "rows":
            buffers.fill(self.array("counts"), self._counts)
        if task.algorithm.weighted:
            buffers.fill(self.array("weights"), self.image.arrays["weights"])

    def get_neighbor(self, k, row, begin, end):
        width = self._counts.itemsize
        k.shifted(end, row, log2(width) - 2)
        k.a.add(end, end, k.constant(k.address(self.array("counts"))))
        k.load(end, end, width)
        self.first_place(k, row, begin)
        if self.task.schedule.counts_edges:
            k.a.srli(begin, begin, 2)
        else:
            k.a.slli(end, end, 2)
        k.a.add(end, end, begin)


class Ell(StorageFormat):
    """First the rows of the same length, then the rest."""
    name = "ell"

    def layouts(self, task):
        image, arrays = self.image, self.image.arrays
        return [_Regular(task, image, image.options["width"], image.row_bases),
                CompressedRows(task, image.owners(expand(arrays["rest_offsets"])),
                               arrays["rest_neighbors"], arrays.get("rest_weights"),
                               arrays["rest_offsets"], image.row_bases)]
