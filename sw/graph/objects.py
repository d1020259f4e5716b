"""Graphs from the objects of other libraries, and back.

=================================  ===========================================================
object                             vertices; arcs and weights
=================================  ===========================================================
networkx graph, of all four kinds  its nodes; an edge without direction is two arcs
igraph graph                       its vertices, named by their attribute ``name``; likewise
scipy sparse matrix or array       rows; an entry in row ``i`` and column ``j`` is an arc
pandas or polars frame             what occurs in two columns; a third has the weights
numpy array of 2 or 3 columns      likewise
pairs or triples in any order      likewise
=================================  ===========================================================

The libraries are recognised by the names of their types: none is imported here, unless an object of
it is to be made.

Vertices that are whole numbers from 0 keep their numbers. Any others are numbered and stay the
``names`` of the graph: nodes in the order of their graph, values of edges in ascending order.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from base.errors import UserError

from .titles import known_columns

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from typing import Self

    from numpy.typing import NDArray


__all__ = ["GraphObjects"]


#: The method that takes an object, by the package and the name of its type or of a base of it.
_TAKEN_BY = {("networkx", "Graph"): "from_networkx", ("igraph", "Graph"): "from_igraph",
             ("scipy", "sparray"): "from_scipy", ("scipy", "spmatrix"): "from_scipy",
             ("pandas", "DataFrame"): "from_frame", ("polars", "DataFrame"): "from_frame"}

_WEIGHT = "weight"
_HINT = "; weight_scale=X multiplies by X and rounds, no_weights=True drops weights"
_IDS = "; relabel=True numbers the ids that occur"


class GraphObjects:
    """What a :class:`~sw.graph.graph.Graph` can be made of, and what can be made of it.

    All that make a graph take these options:

    ``weight_scale``
        Factor for the weights; the products are rounded to the nearest integer. Left out, weights
        must be integers from 0 to 2**32 - 1, as in files.
    ``no_weights``
        Whether weights are left out.
    ``name``
        The graph's name in tables and errors.

    They raise UserError, which names the edge or the column, for what is no graph.
    """

    if TYPE_CHECKING:
        num_vertices: int
        src: NDArray[np.uint32]
        dst: NDArray[np.uint32]
        weights: NDArray[np.uint32] | None
        names: NDArray[Any] | None

        def __init__(self, num_vertices: int, src: Any, dst: Any, weights: Any = None,
                     name: str = "graph", ordered_as: Any = None, names: Any = None) -> None: ...

    @classmethod
    def of(cls, thing: Any, **options: Any) -> Self:
        """The graph of any of the objects; a graph itself stays. ``options`` are those of the
        method for its kind; None leaves an option out."""
        if isinstance(thing, cls):
            return thing
        method = next((_TAKEN_BY[kind] for base in type(thing).__mro__
                       if (kind := (base.__module__.partition(".")[0], base.__name__))
                       in _TAKEN_BY), None)
        if method is None and isinstance(thing, Iterable) and not isinstance(thing, Mapping | str):
            method = "from_edges"
        if method is None:
            raise UserError(f"no graph can be made of an object of type {type(thing).__name__}; "
                            "it can of a graph of networkx or igraph, a sparse matrix of scipy, a "
                            "frame of pandas or polars, an array, or pairs of vertices")
        make = getattr(cls, method)
        given = {name: value for name, value in options.items()
                 if not (value is None or value is False)}
        for name in given.keys() - inspect.signature(make).parameters.keys():
            raise UserError(f"{name} does not apply to an object of type {type(thing).__name__}")
        return make(thing, **given)

    @classmethod
    def from_networkx(cls, graph: Any, weight: str | None = None, *,
                      weight_scale: float | None = None, no_weights: bool = False,
                      name: str | None = None) -> Self:
        """The graph of a networkx ``Graph``, ``DiGraph``, ``MultiGraph`` or ``MultiDiGraph``.

        Parameters
        ----------
        graph : networkx.Graph
        weight : str, optional
            The attribute of edges that is their weight; left out, ``"weight"`` if an edge has it.
            An edge without the attribute has weight 1, as in networkx.
        weight_scale, no_weights, name
            As of the class; the name is the graph's own if it has one.
        """
        name = name or str(graph.name or "graph")
        nodes = list(graph)
        numbers = {node: number for number, node in enumerate(nodes)}
        names = None
        if any(type(node) is not int or not 0 <= node < len(nodes) for node in nodes):
            names = _array(nodes)
        else:
            numbers = {node: node for node in nodes}
        edges = list(graph.edges(data=True))
        values = None
        known = sorted({str(key) for *_, data in edges for key in data})
        if _chosen(weight, known, bool(edges), name):
            key = weight or _WEIGHT
            values = [data.get(key, 1) for *_, data in edges]
        ends = np.array([(numbers[src], numbers[dst]) for src, dst, _ in edges],
                        np.int64).reshape(-1, 2)
        return cls(len(nodes), *_arcs(ends, _weights(values, name, weight_scale, no_weights),
                                      graph.is_directed()), name=name, names=names)

    @classmethod
    def from_igraph(cls, graph: Any, weight: str | None = None, *,
                    weight_scale: float | None = None, no_weights: bool = False,
                    name: str | None = None) -> Self:
        """The graph of an igraph ``Graph``; its vertices' attribute ``name`` are the names.

        Parameters
        ----------
        graph : igraph.Graph
        weight : str, optional
            The attribute of edges that is their weight; left out, ``"weight"`` if there is one.
        weight_scale, no_weights, name
            As of the class.
        """
        name = name or "graph"
        known = graph.es.attributes()
        values = graph.es[weight or _WEIGHT] if _chosen(weight, known, True, name) else None
        names = _array(graph.vs["name"]) if "name" in graph.vs.attributes() else None
        ends = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
        return cls(graph.vcount(), *_arcs(ends, _weights(values, name, weight_scale, no_weights),
                                          graph.is_directed()), name=name, names=names)

    @classmethod
    def from_scipy(cls, matrix: Any, *, weight_scale: float | None = None,
                   no_weights: bool = False, name: str | None = None) -> Self:
        """The graph of a square sparse matrix or array: an entry in row ``i`` and column ``j`` is
        an arc from ``i`` to ``j``. Its value is the weight, but a truth value is none.

        Parameters
        ----------
        matrix : scipy.sparse array or matrix
            Of any format; an entry that is 0 and stored is an arc.
        weight_scale, no_weights, name
            As of the class.
        """
        name = name or "graph"
        if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
            raise UserError(f"{name}: a matrix of shape {matrix.shape} is not a graph, must be "
                            "square")
        matrix = matrix.tocoo()
        return cls(matrix.shape[0], matrix.row, matrix.col,
                   _weights(matrix.data, name, weight_scale, no_weights), name)

    @classmethod
    def from_frame(cls, frame: Any, columns: str | Sequence[Hashable] | None = None, *,
                   relabel: bool = False, weight_scale: float | None = None,
                   no_weights: bool = False, name: str | None = None) -> Self:
        """The graph of a pandas or polars frame with a row for each arc.

        Parameters
        ----------
        frame : DataFrame
        columns : str or sequence, optional
            The columns of source, destination and perhaps weight, as a sequence of their labels or
            as ``"SRC,DST[,WEIGHT]"``. Left out, they are found by names such as ``source``,
            ``target`` and ``weight``, or are the only two, or the three of a frame without names.
        relabel : bool
            Whether whole numbers are names of vertices, too, and not numbers from 0.
        weight_scale, no_weights, name
            As of the class.
        """
        name = name or "frame"
        labels = list(frame.columns)
        if isinstance(columns, str):
            columns = [label.strip() for label in columns.split(",")]
        picked = _picked(labels, columns, name)
        values = [frame[label].to_numpy() for label in picked]
        return cls._of_columns(values, [f"column {label!r}" for label in picked], None, relabel,
                               (weight_scale, no_weights), name)

    @classmethod
    def from_edges(cls, edges: Any, *, num_vertices: int | None = None, relabel: bool = False,
                   weight_scale: float | None = None, no_weights: bool = False,
                   name: str | None = None) -> Self:
        """The graph of arcs ``(source, destination)`` or ``(source, destination, weight)``.

        Parameters
        ----------
        edges : array[arcs, 2 or 3] or iterable of tuples
        num_vertices : int, optional
            Vertices, if there may be more than the largest number says.
        relabel : bool
            Whether whole numbers are names of vertices, too, and not numbers from 0.
        weight_scale, no_weights, name
            As of the class.
        """
        name = name or "graph"
        if isinstance(edges, np.ndarray):
            if edges.ndim != 2 or edges.shape[1] not in (2, 3):
                raise UserError(
                    f"{name}: an array of shape {edges.shape} is no list of edges, must be (edges, "
                    "2) or (edges, 3); scipy.sparse.coo_array makes a graph of a matrix")
            columns = list(edges.T)
        else:
            columns = _columns(list(edges), name)
        return cls._of_columns(columns, ("source", "destination", "weight"), num_vertices,
                               relabel, (weight_scale, no_weights), name)

    @classmethod
    def _of_columns(cls, columns, titles, num_vertices, relabel, weighing, name) -> Self:
        """The graph of two or three columns; ``weighing`` is the scale, and whether weights are
        left out."""
        src, dst = (_vertices(column, f"{name}: {title}")
                    for column, title in zip(columns[:2], titles))
        values = columns[2] if len(columns) == 3 else None
        weights = _weights(values, name, *weighing)
        names = None
        if relabel or {src.dtype.kind, dst.dtype.kind} - {"i", "u"}:
            src, dst, names = _numbered(src, dst, name)
            found = len(names)
        else:
            found = int(max(src.max(), dst.max())) + 1 if len(src) else 0
            if len(src) and min(src.min(), dst.min()) < 0:
                raise UserError(f"{name}: a vertex is {min(src.min(), dst.min())}, must be at "
                                f"least 0{_IDS}")
        return cls(found if num_vertices is None else num_vertices, src, dst, weights, name,
                   names=names)

    # Back

    @property
    def labels(self) -> list[Any]:
        """The name of each vertex; its number if there are no names."""
        return list(range(self.num_vertices)) if self.names is None else self.names.tolist()

    def to_networkx(self) -> Any:
        """A networkx ``DiGraph``, or ``MultiDiGraph`` if there are parallel arcs, of the
        :attr:`labels`; weights are the attribute ``"weight"``. Its ``to_undirected()`` makes one
        edge of two arcs."""
        import networkx
        pairs = self.src.astype(np.uint64) << np.uint64(32) | self.dst
        parallel = len(np.unique(pairs)) < len(pairs)
        made = networkx.MultiDiGraph() if parallel else networkx.DiGraph()
        labels = self.labels
        made.add_nodes_from(labels)
        ends = ((labels[src], labels[dst])
                for src, dst in zip(self.src.tolist(), self.dst.tolist()))
        if self.weights is None:
            made.add_edges_from(ends)
        else:
            made.add_weighted_edges_from((*pair, weight)
                                         for pair, weight in zip(ends, self.weights.tolist()))
        return made

    def to_igraph(self) -> Any:
        """A directed igraph ``Graph``; names are the attribute ``"name"`` of its vertices, weights
        the attribute ``"weight"`` of its edges."""
        import igraph
        return igraph.Graph(
            self.num_vertices, np.stack([self.src, self.dst], axis=1).tolist(), directed=True,
            vertex_attrs={} if self.names is None else {"name": self.labels},
            edge_attrs={} if self.weights is None else {_WEIGHT: self.weights.tolist()})

    def to_scipy(self) -> Any:
        """A ``scipy.sparse.coo_array`` of the weights, or of truth values if there are none."""
        import scipy.sparse
        values = np.ones(len(self.src), bool) if self.weights is None else self.weights
        shape = self.num_vertices, self.num_vertices
        return scipy.sparse.coo_array((values, (self.src, self.dst)), shape)

    def to_pandas(self) -> Any:
        """A pandas frame with a row for each arc: ``source``, ``target`` and, if there are
        weights, ``weight``. Vertices are the :attr:`labels`."""
        import pandas
        ends = {"source": self.src, "target": self.dst}
        if self.names is not None:
            ends = {title: self.names[numbers] for title, numbers in ends.items()}
        return pandas.DataFrame(ends if self.weights is None else ends | {_WEIGHT: self.weights})


def _array(values):
    """A sequence as an array of integers of 64 bits, of reals or of text where all values are of
    this kind, else of objects."""
    kinds = {type(value) for value in values}

    def all_of(*bases):
        return kinds and all(issubclass(kind, bases) for kind in kinds) and bool not in kinds
    if all_of(int, np.integer):
        for kind in (np.int64, np.uint64):
            try:
                return np.array(values, kind)
            except OverflowError:
                continue
    elif all_of(int, float, np.integer, np.floating):
        return np.array(values, np.float64)
    elif all_of(str) or kinds == {bool}:
        return np.array(values)
    return np.fromiter(values, object, len(values))


def _chosen(weight, known, has_edges, name):
    """Whether edges with the attributes ``known`` have weights. Raises UserError if they lack the
    one that is asked for."""
    if weight is not None and has_edges and weight not in known:
        raise UserError(f"{name}: no edge has the attribute {weight!r}; edges have "
                        f"{', '.join(map(repr, known)) or 'no attributes'}")
    return (weight or _WEIGHT) in known


def _weights(values, name, scale, dropped):
    """The weights of a column of values, or None."""
    if values is None or dropped:
        return None
    from .weights import Weighing           # which imports the graph, which is made of this module
    array = values if isinstance(values, np.ndarray) and values.dtype != object else _array(
        list(values))
    return Weighing(scale, hint=_HINT).apply(array, name)


def _arcs(ends, weights, directed):
    """Source, destination and weights of edges; both ways if they have no direction, but a
    self-loop once."""
    src, dst = ends.T
    if directed:
        return src, dst, weights
    turned = src != dst
    both = np.concatenate([src, dst[turned]]), np.concatenate([dst, src[turned]])
    return *both, None if weights is None else np.concatenate([weights, weights[turned]])


def _columns(rows, name):
    """The columns of a list of pairs or of triples."""
    kinds = set(map(type, rows))
    if str in kinds or not all(hasattr(kind, "__len__") for kind in kinds) \
            or set(map(len, rows)) not in ({2}, {3}, set()):
        for number, row in enumerate(rows):
            fits = hasattr(row, "__len__") and not isinstance(row, str) and len(row) in (2, 3)
            if not fits or len(row) != len(rows[0]):
                must = f"{len(rows[0])} values as the first" if number else "a pair or a triple"
                raise UserError(f"{name}: edge {number} is {str(row)[:40]!r}, must be {must}")
    return [_array(column) for column in zip(*rows)] or [np.empty(0, np.int64)] * 2


def _picked(labels, columns, name):
    """The labels of a frame that have source, destination and perhaps weight."""
    has = f"it has {', '.join(map(repr, labels))}"
    if columns is not None:
        if len(columns) not in (2, 3):
            raise UserError(f"{name}: columns {columns!r} must be source, destination and perhaps "
                            "weight")
        for label in columns:
            if labels.count(label) != 1:
                number = "more than one" if label in labels else "no"
                raise UserError(f"{name}: there is {number} column {label!r}; {has}")
        return columns
    places = known_columns([str(label) for label in labels])
    if places is None and (len(labels) == 2 or labels == [0, 1, 2]):
        places = range(len(labels))
    if places is None:
        raise UserError(f"{name}: the columns do not tell source and destination: {has}; "
                        "columns=(SRC, DST) or (SRC, DST, WEIGHT) names them")
    return [labels[place] for place in places]


def _vertices(column, where):
    """A column of vertices as integers, text or objects. Raises UserError for a value that is
    missing, or that is no vertex."""
    if column.dtype == object and not isinstance(next(iter(column), None), str):
        column = _array(column.tolist())
    if column.dtype.kind == "f":
        wrong = np.flatnonzero((column != np.floor(column)) | np.isinf(column))
        if len(wrong):
            value = column[wrong[0]]
            raise UserError(f"{where} of edge {wrong[0]} is {value}, must be a vertex")
        column = column.astype(np.int64)
    return column


def _numbered(src, dst, name):
    """Numbers of values in ascending order, or as they occur where they have no order; and the
    values."""
    if {src.dtype.kind, dst.dtype.kind} == {"i"}:
        names, found = np.unique(np.concatenate([src, dst]), return_inverse=True)
        return found[:len(src)], found[len(src):], names
    values = [*src.tolist(), *dst.tolist()]
    try:
        unique = dict.fromkeys(values)
    except TypeError:
        raise UserError(f"{name}: vertices must be numbers, text or other values that can be keys "
                        "of a dict") from None
    for value in unique:
        if value is None or type(value).__name__ in ("NAType", "NaTType") or (
                isinstance(value, float) and math.isnan(value)):
            raise UserError(f"{name}: edge {values.index(value) % len(src)} lacks a vertex: "
                            f"{value}")
    try:
        order = sorted(unique)
    except TypeError:
        order = list(unique)
    numbers = {value: number for number, value in enumerate(order)}
    found = np.fromiter((numbers[value] for value in values), np.int64, len(values))
    return found[:len(src)], found[len(src):], _array(order)
