"""A graph in a storage format: named arrays, as they lie in the device's memory.

An image is the host's side of a format, independent of kernels. It is made from a
:class:`~sw.graph.Graph` for one direction. In a push, an edge is found from its source: the source
is its *base* and the destination its *neighbour*. In a pull, the destination is the base and the
source the neighbour. So the rows of a compressed format are the sources when pushing, and the
destinations when pulling.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

import numpy as np

from hw.isa import MemoryMap
from sw.errors import UserError
from sw.graph.npz import shown

from sw.kernels import options as _options

if TYPE_CHECKING:
    from typing import Any, Self

    from sw.graph.graph import Graph


__all__ = ["ABSENT", "DIRECTIONS", "METHODS", "NOTHING", "Image"]


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

#: The reason for which a format whose rows are the vertices has nothing to prepare.
NOTHING = "its rows are the vertices, so there is no virtual topology to make"


class Image:
    """A graph in a storage format. Base of the formats' classes.

    A subclass sets :attr:`format`, :attr:`OPTIONS` and :attr:`LACKS`. Its :meth:`fill` makes
    :attr:`arrays`, and its :meth:`rows` lists the edges from the arrays. Every module of
    ``sw.formats`` that has such a class is found, without an import elsewhere.

    Attributes
    ----------
    format : str
        Its name for users.
    VERSION : int
        Version of the arrays' meaning; a saved image of another version is refused.
    OPTIONS : dict
        Options by name (:mod:`sw.kernels.options`).
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
        Arrays that the host needs to understand the others and the device does not.
    """

    format: Any = None
    VERSION = 1
    OPTIONS: dict[str, _options.Option] = {}
    LACKS = {"initTopology": NOTHING, "topologyGather": NOTHING}

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
            For an option that does not exist, for a value out of range, with the range, and for a
            graph that does not fit in the format.
        """
        if direction not in DIRECTIONS:
            raise UserError(f"direction is {direction!r}, must be push or pull")
        values = _options.settle(cls.OPTIONS, given, f"format {cls.format}")
        image = cls(title=graph.name, direction=direction, num_vertices=graph.num_vertices,
                    num_edges=graph.num_edges, weighted=graph.weights is not None, options=values)
        bases, neighbors = graph.src, graph.dst
        if direction == "pull":
            bases, neighbors = neighbors, bases
        try:
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
            Read-only.
        weights : uint32[num_edges] or None
            Read-only.
        """
        raise NotImplementedError

    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The edges as ``(bases, neighbors, weights)``, uint32 each, in the format's order.
        ``weights`` is ``None`` if the graph has no weights."""
        raise NotImplementedError

    def edges(self):
        """The graph's edges, from the arrays alone: ``(sources, destinations, weights)``."""
        bases, neighbors, weights = self.rows()
        return (bases, neighbors, weights) if self.direction == "push" \
            else (neighbors, bases, weights)

    def refuse_larger(self, nbytes):
        """Raise UserError if a padded array would not fit in the device's memory. This is checked
        before the array is made, since a few bytes of options may ask for any size."""
        if nbytes > MEMORY:
            raise UserError(f"{self.title}: format {self.format} would take {nbytes:,} bytes, the "
                            f"device's memory has {MEMORY:,} at most")

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
        return False

    @property
    def lacks(self):
        """Which of :data:`METHODS` this image lacks, and why: ``{method: reason}``."""
        return self.LACKS

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

    def words(self, *names, entries=None) -> dict[str, tuple]:
        """Part of :meth:`layout`: arrays of uint32."""
        return {name: ((np.dtype(np.uint32),), entries) for name in names}

    def __repr__(self):
        given = "".join(f":{name}={value}" for name, value in self.options.items())
        return (f"<{self.format}{given} of {self.title}, {self.direction}: {self.nbytes} bytes>")
