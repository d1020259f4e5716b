"""A graph in a storage format: named arrays, as they lie in the device's memory.

An image is the host's side of a format, independent of kernels. It is made from a
:class:`~sw.graph.Graph` for one direction. In a push, an edge is found from its source: the source
is its *base* and the destination its *neighbour*. In a pull, the destination is the base and the
source the neighbour. So the rows of a compressed format are the sources when pushing, and the
destinations when pulling.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING

import numpy as np

from base.errors import UserError
from hw.isa import MemoryMap
from sw.graph.compress import in_blocks
from sw.graph.npz import shown
from sw.graph.order import ORDERS, ROUNDS, new_ids

from sw.compile import options as _options

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from sw.graph.graph import Graph


__all__ = ["ABSENT", "DIRECTIONS", "METHODS", "NOTHING", "Image", "refuse_larger"]


DIRECTIONS = ("push", "pull")

#: The value of an empty place in formats with padding.
ABSENT = 0xFFFF_FFFF

#: Bytes of global memory that the device can address.
MEMORY = (1 << 32) - MemoryMap.GLOBAL

#: The interface of a storage format (GRAssembler, table 2.3).
METHODS = types.MappingProxyType({
    "getNeighbor": "the edges of a row, as first and end",
    "getEdge": "source, destination and weight of an edge, given its row's vertex",
    "searchVID": "the base vertex of an edge",
    "initTopology": "data to make before each super-step",
    "topologyGather": "data gathered beforehand, by edge",
})

#: The reason for which a format with blocks has nothing to prepare.
_SCATTERED = ("no list leads from a vertex to its parts in the blocks, so every super-step visits "
              "all of them")

#: The reason for which a format whose rows are the vertices has nothing to prepare.
NOTHING = "its rows are the vertices, so there is no virtual topology to make"


def refuse_larger(image, nbytes):
    """Raise UserError if a padded array of an image would not fit in the device's memory. This is
    checked before the array is made, since a few bytes of options may ask for any size."""
    if nbytes > MEMORY:
        raise UserError(f"{image.title}: format {image.format} would take {nbytes:,} bytes, the "
                        f"device's memory has {MEMORY:,} at most")


class Image:
    """A graph in a storage format. Base of the formats' classes.

    A subclass sets :attr:`format`, :attr:`OPTIONS` and :attr:`LACKS`. Its :meth:`fill` makes
    :attr:`arrays`, and its :meth:`rows` lists the edges from the arrays. Every module of
    ``sw.compile.formats`` that has such a class is found, without an import elsewhere.

    Some options are of all formats. With ``reorder``, the arrays hold new numbers of the vertices
    (:mod:`sw.graph.order`; ``rounds`` and ``sample`` are of one of the orderings), and
    ``host["new_ids"]`` has the new number of each of the graph's vertices. With ``block``, edges
    are grouped by the range of their neighbours. So a kernel works on a range whose values stay in
    the cache (GraphIt's EdgeBlocking: UGF, 5.2.3; GRAssembler, 2.4.2 and 2.5). When pushing, ranges
    are of destinations, as in GraphIt. A vertex has a row in every block in which it has edges, its
    virtual vertex there.

    Attributes
    ----------
    format : str
        Its name for users.
    VERSION : int
        Version of the arrays' meaning; a saved image of another version is refused.
    OPTIONS : dict
        Options by name (:mod:`sw.compile.options`). A subclass names its own options only, and
        gets those of this class too.
    UNBLOCKED : str or None
        The reason for which the format has no option ``block``; None if it has.
    LACKS : dict
        The :data:`METHODS` that all images of the format lack, each with the reason.
    title : str
        The graph's name, for messages.
    direction : str
        ``"push"`` or ``"pull"``.
    num_vertices, num_edges : int
        Size of the graph.
    weighted : bool
        Whether edges have weights.
    options : dict
        The value of each option. If the default is to choose by the graph, the chosen value.
    arrays : dict of str to array
        The arrays in the device's memory, little-endian: vertices, edge numbers and weights in 32
        bits, IDs local to a cluster in 8 or 16.
    host : dict of str to array
        Arrays that the host needs to understand the others and the device does not: ``new_ids``,
        if the vertices are reordered.
    """

    format: Any = None
    VERSION = 1
    OPTIONS: dict[str, _options.Option] = {
        "reorder": _options.Choice(tuple(ORDERS), "none", "how vertices are numbered: as the graph "
                                   "has them, by community, for a small bandwidth, by common "
                                   "in-neighbours, or by what tiles read together"),
        "rounds": _options.Integer(1, 100, None, "rounds of reorder=sage; left out, "
                                   f"{ROUNDS}", worth=()),
        "sample": _options.Integer(1, 100, None, "percentage of the vertices whose tiles a sweep "
                                   "of reorder=sage samples; left out, 100", worth=()),
        "block": _options.Integer(1, (1 << 31) - 1, None, "vertices of a block of neighbours; left "
                                  "out, there are no blocks", worth=(64, 512, 4096)),
    }
    UNBLOCKED: str | None = "its rows are not divided by neighbours"
    LACKS = {"initTopology": NOTHING, "topologyGather": NOTHING}

    def __init_subclass__(cls):
        cls.OPTIONS = {**cls.OPTIONS, **Image.OPTIONS}
        if cls.UNBLOCKED is not None:
            del cls.OPTIONS["block"]

    def __init__(self, *, title, direction, num_vertices, num_edges, weighted, options):
        self.title = title
        self.direction = direction
        self.num_vertices = num_vertices
        self.num_edges = num_edges
        self.weighted = weighted
        self.options = options
        self.arrays = {}
        self.host = {}

    @classmethod
    def settle(cls, given: Mapping[str, object]) -> dict[str, Any]:
        """The value of each option: the value given, else the default.

        Raises
        ------
        UserError
            For an option that does not exist, for a value out of range, with the range, and for
            blocks that the format cannot have, with the reason.
        """
        if cls.UNBLOCKED is not None and "block" in given:
            raise UserError(f"format {cls.format} has no option 'block': {cls.UNBLOCKED}")
        return _options.settle(cls.OPTIONS, given, f"format {cls.format}")

    @classmethod
    def build(cls, graph: Graph, direction: str = "push", **given: object) -> Self:
        """Make the image of a graph.

        Parameters
        ----------
        graph : Graph
            The graph to store.
        direction : str
            ``"push"`` or ``"pull"``.
        given
            Options; numbers and words may be spelled as on the command line.

        Raises
        ------
        UserError
            As of :meth:`settle`, and for a graph that does not fit in the format.
        """
        if direction not in DIRECTIONS:
            raise UserError(f"direction is {direction!r}, must be push or pull")
        values = cls.settle(given)
        image = cls(title=graph.name, direction=direction, num_vertices=graph.num_vertices,
                    num_edges=graph.num_edges, weighted=graph.weights is not None, options=values)
        try:
            bases, neighbors = graph.src, graph.dst
            ordered = graph.ordered_as or graph
            ids = new_ids(values["reorder"], ordered.src, ordered.dst, graph.num_vertices,
                          values["rounds"], values["sample"])
            if ids is not None:
                image.host["new_ids"] = ids
                bases, neighbors = ids[bases], ids[neighbors]
            if direction == "pull":
                bases, neighbors = neighbors, bases
            image.fill(bases, neighbors, graph.weights)
        except MemoryError:
            raise UserError(f"{graph.name}: this machine has too little memory to build format "
                            f"{cls.format}") from None
        return image

    def fill(self, bases, neighbors, weights):
        """Make :attr:`arrays` from the edges, in the graph's order.

        Parameters
        ----------
        bases, neighbors : uint32[num_edges]
            Vertices by the image's numbers. Read-only.
        weights : uint32[num_edges] or None
            Read-only.
        """
        raise NotImplementedError

    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The edges as ``(bases, neighbors, weights)``, uint32 each, in the format's order and by
        the image's numbers. ``weights`` is ``None`` if the graph has no weights."""
        raise NotImplementedError

    def edges(self):
        """The graph's edges, from the arrays alone: ``(sources, destinations, weights)``."""
        bases, neighbors, weights = self.rows()
        if self.new_ids is not None:
            bases, neighbors = self.old_ids[bases], self.old_ids[neighbors]
        return (bases, neighbors, weights) if self.direction == "push" \
            else (neighbors, bases, weights)

    @property
    def block(self) -> int | None:
        """Vertices of a block; None if there are no blocks."""
        return self.options.get("block")

    @property
    def new_ids(self) -> Any:
        """The image's number of each of the graph's vertices, uint32; None if they are the same."""
        return self.host.get("new_ids")

    @functools.cached_property
    def old_ids(self):
        """If vertices are reordered: the graph's number of each of the image's, as uint32."""
        old = np.empty(self.num_vertices, dtype=np.uint32)
        old[self.new_ids] = np.arange(self.num_vertices, dtype=np.uint32)
        return old

    # Rows of the vertices, or with blocks of the virtual vertices: an array of offsets and, with
    # blocks, ``row_bases``, the vertex of each row.

    def in_rows(self, bases, neighbors, weights):
        """The edges in rows, and in blocks if there are blocks
        (:func:`sw.graph.compress.in_blocks`)."""
        return in_blocks(bases, neighbors, weights, self.num_vertices, self.block)

    def keep(self, **arrays):
        """Store arrays by name, except those that are None."""
        self.arrays |= {name: array for name, array in arrays.items() if array is not None}

    def keep_rows(self, owners, offsets, name="offsets"):
        """Store the arrays of rows."""
        self.keep(**{name: offsets, "row_bases": None if self.block is None else owners})

    @property
    def row_bases(self) -> Any:
        """The vertex of each virtual row; None if rows are the vertices."""
        return self.arrays.get("row_bases")

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self.num_vertices if self.block is None \
            else len(self.arrays.get("row_bases", ()))

    def owners(self, rows):
        """The vertices of rows, by the rows' numbers."""
        return rows if self.row_bases is None else self.row_bases[rows]

    def row_layout(self, name="offsets"):
        """Part of :meth:`layout`: the arrays of rows."""
        names = self.words(name, entries=self.num_rows + 1)
        return names if self.block is None else names | self.words("row_bases")

    @property
    def nbytes(self):
        """Bytes in the device's memory; vertex values are the algorithm's and do not count."""
        return sum(array.nbytes for array in self.arrays.values())

    @property
    def scratch(self):
        """Memory that a super-step needs beside the arrays: ``{name: (dtype, entries)}``."""
        return {}

    @property
    def virtual(self):
        """Whether the rows of getNeighbor are virtual vertices: a vertex may have several or none,
        and a row's vertex is read from an array of the image."""
        return self.block is not None

    @property
    def lacks(self):
        """Which of :data:`METHODS` this image lacks, and why: ``{method: reason}``."""
        if self.block is None:
            return self.LACKS
        return {**self.LACKS, "initTopology": _SCATTERED}

    def require(self, method):
        """Raise UserError, with the reason, if the image lacks one of :data:`METHODS`."""
        if method not in METHODS:
            raise ValueError(f"no method {method!r}")
        reason = self.lacks.get(method)
        if reason is not None:
            raise UserError(f"format {self.format} has no {method}: {reason}")

    def layout(self):
        """``{name: (dtypes, entries)}`` of the required arrays: the possible dtypes, and the number
        of entries, or None if only the contents tell. This depends on ``num_vertices``,
        ``num_edges``, ``weighted`` and ``options``. A loaded file is checked against it."""
        raise NotImplementedError

    def check(self):
        """Raise ValueError if the arrays are not those of this format. Contents are not checked.
        """
        expected = self.layout()
        for name in self.arrays:
            if name not in expected:
                raise ValueError(f"array {shown(name)} does not belong to format {self.format}")
        for name in expected:
            if name not in self.arrays:
                raise ValueError(f"array {name} is missing")
        for name, (dtypes, entries) in expected.items():
            array = self.arrays[name]
            if array.ndim != 1 or array.dtype not in dtypes:
                raise ValueError(f"{name} is of type {array.dtype} with {array.ndim} dimensions")
            if entries is not None and len(array) != entries:
                raise ValueError(f"{name} has {len(array)} entries, must have {entries}")
        wanted = [] if self.options["reorder"] == "none" else ["new_ids"]
        if list(self.host) != wanted:
            raise ValueError(f"it has {', '.join(map(shown, self.host)) or 'nothing'} for the "
                             f"host, must have {', '.join(wanted) or 'nothing'}")
        if wanted and not np.array_equal(np.sort(self.new_ids), np.arange(self.num_vertices)):
            raise ValueError("new_ids are not the vertices, each once")

    def words(self, *names, entries=None) -> dict[str, tuple]:
        """Part of :meth:`layout`: arrays of uint32."""
        return {name: ((np.dtype(np.uint32),), entries) for name in names}
