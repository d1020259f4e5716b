"""A graph as a list of arcs, and the compressed rows made from it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from base.errors import UserError
from sw.graph.compress import compress, expand
from sw.graph.names import place
from sw.graph.objects import GraphObjects

if TYPE_CHECKING:
    from typing import TypeVar

    from numpy.typing import ArrayLike, NDArray

    Words = NDArray[np.uint32]
    Array = TypeVar("Array", bound=NDArray[np.generic])


__all__ = ["Graph", "LIMIT", "WEIGHT_LIMIT", "check_density"]


#: A graph has fewer vertices and fewer arcs than this: numbers have 32 bits, and -1 stays free.
LIMIT = 1 << 31

#: Weights are less than this.
WEIGHT_LIMIT = 1 << 32

_SPARSE_VERTICES = 1 << 22
_VERTICES_PER_ARC = 32


def check_density(num_vertices: int, num_edges: int, name: str, hint: str = "") -> None:
    """Refuse a graph of many more vertices than arcs.

    All work on a graph takes memory for each vertex. Without this rule a file of one line, whose
    vertex has a large number, would take all memory.

    Parameters
    ----------
    num_vertices, num_edges : int
        Size of the graph.
    name : str
        Its name in the error.
    hint : str
        The end of the error.

    Raises
    ------
    UserError
        If there are more than 4,194,304 vertices and more than 32 for each arc.
    """
    if num_vertices > max(_SPARSE_VERTICES, _VERTICES_PER_ARC * num_edges):
        raise UserError(f"{name}: {num_vertices} vertices are too many for {num_edges} arcs: a "
                        f"graph of more than {_SPARSE_VERTICES} vertices must have an arc for "
                        f"every {_VERTICES_PER_ARC}{hint}")


def _words(values: ArrayLike, what: str, limit: int, graph_name: str) -> Words:
    """``values`` as a read-only uint32 array, refused unless all are integers below ``limit``."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise UserError(f"{graph_name}: {what} has {array.ndim} dimensions, must have 1")
    if array.size == 0:
        array = array.astype(np.uint32)
    if array.dtype.kind not in "iu":
        raise UserError(f"{graph_name}: {what} is of type {array.dtype}, must be of integers")
    if array.size and (int(array.min()) < 0 or int(array.max()) >= limit):
        at = int(np.flatnonzero((array < 0) | (array >= limit))[0])
        raise UserError(f"{graph_name}: {what} of arc {at} is {int(array[at])}, must be from 0 to "
                        f"{limit - 1}")
    array = np.ascontiguousarray(array, dtype=np.uint32).view()
    array.flags.writeable = False
    return array


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _by_weight(rows: Words, neighbors: Words, weights: Words) -> Words:
    """The weights of arcs in rows, those of parallel arcs in ascending order."""
    same = (rows[1:] == rows[:-1]) & (neighbors[1:] == neighbors[:-1])
    if not same.any():
        return weights
    first = np.concatenate([[True], ~same])                 # of its parallel arcs
    alone = first & np.concatenate([~same, [True]])
    among = np.flatnonzero(~alone)
    order = np.lexsort((weights[among], np.cumsum(first)[among]))
    weights = weights.copy()
    weights[among] = weights[among][order]
    return weights


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Graph(GraphObjects):
    """A directed graph that may have self-loops and parallel arcs.

    A graph cannot be changed. The arrays are read-only, and methods that change something return a
    new graph. :class:`~sw.graph.objects.GraphObjects` makes graphs of other libraries' objects.

    Raises
    ------
    UserError
        If there is no vertex, an arc ends at a vertex that does not exist, a weight does not fit,
        the arrays differ in length, or there are 2**31 or more vertices or arcs.
    """

    num_vertices: int  #: Vertices, at least 1; they are numbered from 0.
    src: Words  #: Arc ``i`` goes from ``src[i]`` to ``dst[i]``: integers, kept as uint32.
    dst: Words  #: See `src`.
    #: Weight of each arc, 0 to 2**32 - 1, kept as uint32. ``None``: the graph has no weights.
    weights: Words | None = None
    name: str = "graph"  #: Its name in tables and errors.
    #: A graph of the same vertices, whose orderings (:mod:`sw.graph.order`) these vertices get,
    #: too. ``None``: its own.
    ordered_as: Graph | None = None
    #: The id of each vertex in its file, or its name in the object that the graph was made of:
    #: integers, text, or objects. ``None``: its number.
    names: NDArray[Any] | None = None

    if TYPE_CHECKING:
        def __init__(self, num_vertices: int, src: ArrayLike, dst: ArrayLike,
                     weights: ArrayLike | None = None, name: str = "graph",
                     ordered_as: Graph | None = None,
                     names: NDArray[Any] | None = None) -> None: ...

    def __post_init__(self) -> None:
        num_vertices = int(self.num_vertices)
        if num_vertices < 1:
            raise UserError(f"{self.name}: the graph is empty, it must have at least 1 vertex")
        if num_vertices >= LIMIT:
            raise UserError(f"{self.name}: {num_vertices} vertices are too many, "
                            f"at most {LIMIT - 1}")
        if len(self.src) >= LIMIT:
            raise UserError(f"{self.name}: {len(self.src)} arcs are too many, at most {LIMIT - 1}")
        for field in ("dst", "weights"):
            array = getattr(self, field)
            if array is not None and len(array) != len(self.src):
                raise UserError(f"{self.name}: {field} has {len(array)} entries, must have "
                                f"{len(self.src)} as src has")
        if self.names is not None and len(self.names) != num_vertices:
            raise UserError(f"{self.name}: names has {len(self.names)} entries, must have "
                            f"{num_vertices}, one for each vertex")
        set_field = functools.partial(object.__setattr__, self)
        set_field("num_vertices", num_vertices)
        set_field("src", _words(self.src, "src", num_vertices, self.name))
        set_field("dst", _words(self.dst, "dst", num_vertices, self.name))
        if self.weights is not None:
            set_field("weights", _words(self.weights, "weight", WEIGHT_LIMIT, self.name))

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else ", weighted"
        return f"<Graph {self.name}: {self.num_vertices} vertices, {self.num_edges} arcs{weighted}>"

    @property
    def num_edges(self) -> int:
        """Number of arcs."""
        return len(self.src)

    @functools.cached_property
    def out_degrees(self) -> NDArray[np.int64]:
        """Arcs that leave each vertex, as int64."""
        return _frozen(np.bincount(self.src, minlength=self.num_vertices))

    @functools.cached_property
    def in_degrees(self) -> NDArray[np.int64]:
        """Arcs that enter each vertex, as int64."""
        return _frozen(np.bincount(self.dst, minlength=self.num_vertices))

    @functools.cached_property
    def left(self) -> NDArray[np.bool_]:
        """Whether an arc leads from each vertex to another one."""
        return self._ends_apart(self.src)

    @functools.cached_property
    def entered(self) -> NDArray[np.bool_]:
        """Whether an arc leads to each vertex from another one."""
        return self._ends_apart(self.dst)

    def _ends_apart(self, ends: Words) -> NDArray[np.bool_]:
        found = np.zeros(self.num_vertices, bool)
        found[ends if self.loopless else ends[self.src != self.dst]] = True
        return _frozen(found)

    @functools.cached_property
    def loopless(self) -> bool:
        """Whether no arc leads from a vertex to itself."""
        return not bool((self.src == self.dst).any())

    @functools.cached_property
    def simple(self) -> bool:
        """Whether there are neither self-loops nor parallel arcs."""
        rows, neighbors = self.arcs_in_rows
        return self.loopless and not bool(((rows[1:] == rows[:-1])
                                           & (neighbors[1:] == neighbors[:-1])).any())

    @property
    def symmetric(self) -> bool:
        """Whether each arc has one back, whatever its weight."""
        return self.one_way is None

    @functools.cached_property
    def one_way(self) -> tuple[int, int] | None:
        """The ends of an arc without one back; None if there is no such arc."""
        (offsets, neighbors, _), (others, starts, _) = self.csr(), self.csr(reverse=True)
        if np.array_equal(offsets, others) and np.array_equal(neighbors, starts):
            return None
        alone = np.flatnonzero(~self._returned)
        return (int(self.src[alone[0]]), int(self.dst[alone[0]])) if len(alone) else None

    @property
    def num_returned(self) -> int:
        """The number of arcs between two vertices that have an arc back."""
        return int(np.count_nonzero(self._returned & (self.src != self.dst)))

    @functools.cached_property
    def _returned(self) -> NDArray[np.bool_]:
        """Whether each arc has one back."""
        size = np.uint64(self.num_vertices)
        forth = np.sort(self.src.astype(np.uint64) * size + self.dst)
        back = self.dst.astype(np.uint64) * size + self.src
        places = np.searchsorted(forth, back)
        return _frozen(forth[np.minimum(places, len(forth) - 1)] == back)

    @property
    def arcs_in_rows(self) -> tuple[Words, Words]:
        """The starts and ends of all arcs, in the order of :meth:`csr`."""
        offsets, neighbors, _ = self.csr()
        return expand(offsets), neighbors

    @functools.cached_property
    def derived(self) -> dict[Hashable, Any]:
        """Results that others computed of this graph and keep while it exists, by their keys."""
        return {}

    def undirected(self) -> Graph:
        """This graph and the reverse of each of its arcs; a self-loop is its own reverse.

        A graph that has the reverses of all its arcs already, of the same weights, is given back as
        it is. In any other, an arc whose reverse is in the graph is doubled; ``simplify()`` removes
        the copies.
        """
        if np.array_equal(self.out_degrees, self.in_degrees) and all(
                np.array_equal(row, column) for row, column in zip(
                    self.csr(), self.csr(reverse=True))
                if row is not None and column is not None):
            return self
        turned = self.src != self.dst
        weights = self.weights
        if weights is not None:
            weights = np.concatenate([weights, weights[turned]])
        return dataclasses.replace(
            self, src=np.concatenate([self.src, self.dst[turned]]),
            dst=np.concatenate([self.dst, self.src[turned]]), weights=weights)

    def weighted(self, heaviest: int, seed: int = 0) -> Graph:
        """This graph with random weights from 1 to ``heaviest``; itself if it has weights.

        Raises UserError if ``heaviest`` is no weight.
        """
        if not 1 <= heaviest < WEIGHT_LIMIT:
            raise UserError(f"{self.name}: weights up to {heaviest}: must be 1 to "
                            f"{WEIGHT_LIMIT - 1}")
        if self.weights is not None:
            return self
        rng = np.random.Generator(np.random.PCG64(seed))
        return dataclasses.replace(self, weights=rng.integers(
            1, heaviest, size=self.num_edges, dtype=np.uint32, endpoint=True))

    def simplify(self) -> Graph:
        """This graph without self-loops, and with the lightest of any parallel arcs only.

        The arcs come ordered by ``src``, then ``dst``.
        """
        offsets, dst, weights = self.csr()
        src = expand(offsets)
        kept = src != dst
        kept[1:] &= (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])
        return dataclasses.replace(self, src=src[kept], dst=dst[kept],
                                   weights=None if weights is None else weights[kept])

    @property
    def hub(self) -> int:
        """The vertex with the most out-arcs; of several the one with the lowest number."""
        return int(np.argmax(self.out_degrees))

    def vertex(self, name: Any) -> int:
        """The number of the vertex that ``name`` means.

        Parameters
        ----------
        name : object
            A name, or the text of one. ``"hub"`` for :attr:`hub`, unless a vertex has this name. A
            number, if there are no names or they are no integers.

        Raises
        ------
        UserError
            If there is no such vertex, or several have this name.
        """
        found = place(self.names, name, self.num_vertices, self.name)
        if found is not None:
            return found
        if name == "hub":
            return self.hub
        named = f"0 to {self.num_vertices - 1}" if self.names is None else ", ".join(
            map(str, self.names[:3].tolist())) + ", ..." * (self.num_vertices > 3)
        raise UserError(f"{self.name} has no vertex {str(name)[:40]!r}; its vertices are {named}")

    def csr(self, reverse: bool = False) -> tuple[Words, Words, Words | None]:
        """The compressed rows of the graph; made once and kept, the arrays are read-only.

        Parameters
        ----------
        reverse : bool
            ``False``: row ``v`` holds the ends of the arcs that leave ``v``. ``True``: the starts
            of the arcs that enter ``v`` (the compressed columns).

        Returns
        -------
        offsets : uint32[num_vertices + 1]
            Row ``v`` is ``offsets[v]`` to ``offsets[v + 1] - 1``.
        neighbors : uint32[num_edges]
            Ascending within a row; parallel arcs by ascending weight.
        weights : uint32[num_edges] or None
            Weight of each arc, in the order of `neighbors`.
        """
        return self._columns if reverse else self._rows

    @functools.cached_property
    def _rows(self) -> tuple[Words, Words, Words | None]:
        return self._compressed(self.src, self.dst)

    @functools.cached_property
    def _columns(self) -> tuple[Words, Words, Words | None]:
        return self._compressed(self.dst, self.src)

    def _compressed(self, major: Words, minor: Words) -> tuple[Words, Words, Words | None]:
        offsets, neighbors, weights = compress(major, minor, self.weights, self.num_vertices,
                                               self.num_vertices)
        if weights is not None:
            weights = _frozen(_by_weight(expand(offsets), neighbors, weights))
        return _frozen(offsets), _frozen(neighbors), weights
