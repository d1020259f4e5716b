"""GraphIR: a program as data (UGF, table 4.1).

The arguments of an instruction come from the text. Its metadata, a dictionary under the names of
the thesis, come from passes (:mod:`sw.lang.passes`), and so do facts (:mod:`sw.lang.facts`). A
GraphVM may add metadata of its own.

========================  ======================================================================
expressions               :class:`Literal`, :class:`Uniform`, :class:`Local`,
                          :class:`VectorLoad`, :class:`Degree`, :class:`Unary`, :class:`Binary`,
                          :class:`Select`
statements of functions   :class:`Let`, :class:`VectorStore`, :class:`Reduce`, :class:`Branch`,
                          :class:`Give`
instructions of the host  :class:`Assign`, :class:`ElementStore`, :class:`NewVertexSet`,
                          :class:`NewQueue`, :class:`Dequeue`, :class:`EdgeSetIterator`,
                          :class:`VertexSetIterator`, :class:`VertexFilter`,
                          :class:`WhileLoop`, :class:`ForLoop`, :class:`HostBranch`
expressions of the host   :class:`Literal`, :class:`HostName`, :class:`SetSize`,
                          :class:`GraphSize`, :class:`VertexSum`, :class:`Unary`,
                          :class:`Binary`, :class:`Select`
========================  ======================================================================

Operators are named as Python writes them. ``min`` and ``max`` are operators too, ``recip`` is the
reciprocal of a number as a fraction, and ``times`` a number of times a fraction, at most the
largest fraction. Nodes cannot be changed; a pass makes new ones by
``dataclasses.replace``. Two nodes are equal if they mean the same, wherever they stand.
"""

import dataclasses
import functools
import itertools
import operator
import typing
from collections.abc import Callable, Iterator, Set
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, TypeAlias

from sw.lang.types import Position, Type


__all__ = ["ALL", "Argument", "Assign", "Binary", "Branch", "Degree", "Dequeue", "EdgeSetIterator",
           "ElementStore", "ForLoop", "Function", "Give", "GraphProgram", "GraphSize",
           "HostBranch", "HostName", "Let", "Literal", "Local", "NewQueue", "NewVertexSet", "Node",
           "Reduce", "Select", "SetSize", "Touched", "Unary", "Uniform", "Vector", "VectorLoad",
           "VectorStore", "Value", "VertexFilter", "VertexSetIterator", "VertexSum", "WhileLoop",
           "instructions", "once", "same", "walk"]


#: A node that has a ``type``.
Value: TypeAlias = Any

#: The name of the set of all vertices.
ALL = "vertices"


def same(old: tuple, new: tuple) -> tuple:
    """The old tuple if the new one has the same objects, else the new one."""
    return old if len(old) == len(new) and all(map(operator.is_, old, new)) else new


def once(found: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of a node that is computed once for each node object, which keeps the value."""
    key = f"_{found.__module__}.{found.__qualname__}"

    @functools.wraps(found)
    def kept(node):
        values = node.__dict__
        if key not in values:
            values[key] = found(node)
        return values[key]

    return kept


@typing.dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclasses.dataclass(frozen=True, kw_only=True)
class Node:
    """Base of all nodes, each of which is a frozen dataclass with named fields."""
    position: Position = dataclasses.field(compare=False, repr=False)  #: The place in the text.

    def __hash__(self):
        return _hash(self)

    def __init_subclass__(cls):
        cls.__hash__ = Node.__hash__            # dataclasses leave it
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)

    def __getstate__(self):
        """The fields alone: hashes, which :func:`once` keeps, are of this process."""
        return {name: getattr(self, name) for name in _field_names(type(self))}

    @once
    def parts(self) -> tuple["Node", ...]:
        """The nodes right below this one, in the order of the fields."""
        found: list[Node] = []
        for name in _field_names(type(self)):
            value = getattr(self, name)
            if isinstance(value, Node):
                found.append(value)
            elif isinstance(value, tuple):
                found += [part for part in value if isinstance(part, Node)]
        return tuple(found)

    def with_parts(self, change: Callable[[Any], Any]) -> Any:
        """The node with ``change(part)`` in place of each of :meth:`parts`; the node itself if
        these are the same objects."""
        changes: dict[str, Any] = {}
        for name in _field_names(type(self)):
            value = getattr(self, name)
            if isinstance(value, Node):
                new = change(value)
            elif isinstance(value, tuple) and value and isinstance(value[0], Node):
                new = same(value, tuple(map(change, value)))
            else:
                continue
            if new is not value:
                changes[name] = new
        return dataclasses.replace(self, **changes) if changes else self


@once
def _hash(node):
    return hash((type(node), *(getattr(node, field.name) for field in dataclasses.fields(node)
                               if field.compare)))


@functools.cache
def _field_names(kind: type[Node]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


@once
def _below(node):
    found, waiting = [], [node]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += node.parts()[::-1]
    return tuple(found)


def walk(*nodes: Node) -> Iterator[Node]:
    """The nodes and all nodes below them, each before the nodes below it."""
    return itertools.chain.from_iterable(map(_below, nodes))


# Expressions

class Literal(Node):
    """A number of the text. For the types FIXED and FRACTION it is the number, not its word."""
    value: int | Fraction
    type: Type


class Uniform(Node):
    """A value that the host computes before an operator begins, the same for all calls.

    ``value`` is an expression of the host. A DECIMAL or WHOLE becomes a word of ``type``.
    """
    value: Value
    type: Type


class Local(Node):
    """A parameter or a local variable of a function."""
    name: str
    type: Type


class VectorLoad(Node):
    """An element of a vector, as it was when the operator began; see docs/language.md for the
    exceptions."""
    vector: str
    index: Value
    type: Type


class Degree(Node):
    """The number of arcs that leave a vertex, or enter it."""
    vertex: Value
    leaving: bool
    type: ClassVar[Type] = Type.UINT


class Unary(Node):
    """``not``, ``~``, ``recip``, or ``uint`` or ``vertex``: the same word with another type."""
    operation: str
    operand: Value
    type: Type


class Binary(Node):
    """An operation of two values."""
    operation: str
    left: Value
    right: Value
    type: Type


class Select(Node):
    """``then if condition else otherwise``. Only the one that is chosen is evaluated."""
    condition: Value
    then: Value
    otherwise: Value
    type: Type


# Statements of functions

class Let(Node):
    """A local variable gets a value."""
    name: str
    value: Value


class VectorStore(Node):
    """The element of the function's own vertex gets a value."""
    vector: str
    index: Value
    value: Value


class Reduce(Node):
    """An element is combined with a value: ``min``, ``max``, ``+`` or ``or``.

    Metadata: ``is_atomic``, whether several calls may reduce one element at a time.
    """
    operation: str
    vector: str
    index: Value
    value: Value
    metadata: dict = dataclasses.field(default_factory=dict, compare=False)


class Branch(Node):
    """``if``: one of two lists of statements."""
    condition: Value
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...]


class Give(Node):
    """The result of a function: of a filter a BOOL, of a summed function a number."""
    value: Value


class Touched(NamedTuple):
    """The vectors that a function of vertices touches."""
    own: Set[str]  #: Reads at its own vertex.
    others: Set[str]  #: Reads at any other vertex.
    stores: Set[str]  #: Stores, which are at its own vertex.
    reduces: Set[str]  #: Reduces, at any vertex.

    @property
    def writes(self) -> Set[str]:
        """All that it changes."""
        return self.stores | self.reduces


class Function(Node):
    """A function of an edge (``src``, ``dst``, and maybe ``weight``) or of a vertex."""
    name: str
    parameters: tuple[str, ...]  #: Two or three for an edge, one for a vertex.
    body: tuple[Node, ...]

    @property
    def of_edge(self) -> bool:
        """Whether it is called for edges."""
        return len(self.parameters) > 1

    @property
    def weighted(self) -> bool:
        """Whether it takes the weight of an edge."""
        return len(self.parameters) == 3

    @property
    def gives(self) -> Type | None:
        """The type of its result; None if it has none."""
        last = self.body[-1] if self.body else None
        return last.value.type if isinstance(last, Give) else None

    def parameter(self, index: Node) -> int | None:
        """The number of the parameter that an index is, or None."""
        if isinstance(index, Local) and index.name in self.parameters:
            return self.parameters.index(index.name)
        return None

    @once
    def touched(self) -> Touched:
        """What it touches; ``own`` is of a function of a vertex."""
        own, others, stores, reduces = set(), set(), set(), set()
        for node in walk(*self.body):
            match node:
                case VectorLoad():
                    (own if self.parameter(node.index) == 0 else others).add(node.vector)
                case VectorStore():
                    stores.add(node.vector)
                case Reduce():
                    reduces.add(node.vector)
        return Touched(*map(frozenset, (own, others, stores, reduces)))

    @once
    def reads(self) -> frozenset[str]:
        """The vectors that it reads."""
        return frozenset(node.vector for node in walk(*self.body) if isinstance(node, VectorLoad))

    @once
    def writes(self) -> frozenset[str]:
        """The vectors that it changes."""
        return frozenset(node.vector for node in walk(*self.body)
                         if isinstance(node, VectorStore | Reduce))


# Expressions of the host

class HostName(Node):
    """A parameter of the program, or a variable of the host."""
    name: str
    type: Type


class SetSize(Node):
    """The number of vertices in a set or queue."""
    name: str
    type: ClassVar[Type] = Type.WHOLE


class GraphSize(Node):
    """``num_vertices`` or ``num_edges``."""
    count: str
    type: ClassVar[Type] = Type.WHOLE


class VertexSum(Node):
    """The sum of a function over the vertices of a set: WHOLE, or DECIMAL if the function's
    results are fixed."""
    input_vset: str
    function: str
    type: Type


# Instructions of the host

class Assign(Node):
    """A variable of the host gets a value. A set that is assigned to another name is moved."""
    name: str
    value: Value


class ElementStore(Node):
    """The host stores an element of a vector."""
    vector: str
    index: Value
    value: Value


class NewVertexSet(Node):
    """A set of some vertices."""
    name: str
    vertices: tuple[Node, ...]


class NewQueue(Node):
    """A queue of vertices, by the word that a vertex has in ``vector``.

    Without ``delta`` all queued vertices are ready.
    """
    name: str
    vector: str
    delta: Value
    vertices: tuple[Node, ...]


class Dequeue(Node):
    """A new set of the vertices that are ready, which leave the queue.

    Ready are the queued vertices whose word is below the threshold. If there are none, the
    threshold grows by ``delta`` until there are.
    """
    output_vset: str
    queue: str


class EdgeSetIterator(Node):
    """Calls a function for edges."""
    input_vset: str  #: Sources of the edges; :data:`ALL` for all.
    apply_f: str  #: The function.
    to_filter: str | None  #: A filter of the edges' destinations, by the words at the start.
    #: A new set, or a queue: the vertices whose element of ``tracking`` the operator changed.
    output_vset: str | None
    tracking: str | None  #: A vector.
    transposed: bool  #: Whether an arc's ends change places.
    label: str | None
    #: ``is_all_edges``, ``requires_output``, ``apply_deduplication``, ``output_representation``,
    #: ``can_reuse_frontier``, ``is_edge_parallel``, ``direction``, ``pull_input_frontier``,
    #: ``edge_blocking``, ``blocking_size``; ``start_copies``, the vectors whose reads see a copy
    #: that is made before the operator begins; ``owner_copies``, the same where one worker has all
    #: edges of a destination; ``stamped``, see :mod:`sw.lang.passes.races`.
    metadata: dict = dataclasses.field(default_factory=dict)


class VertexSetIterator(Node):
    """Calls a function for the vertices of a set.

    Metadata: ``is_all_vertices``, ``is_parallel``, ``start_copies`` as above.
    """
    input_vset: str
    apply_f: str
    label: str | None
    metadata: dict = dataclasses.field(default_factory=dict)


class VertexFilter(Node):
    """A new set of the vertices of a set for which a filter is true."""
    output_vset: str
    input_vset: str
    filter: str
    metadata: dict = dataclasses.field(default_factory=dict)


class WhileLoop(Node):
    """A loop while a condition holds.

    Metadata: ``needs_fusion``; ``can_fuse``, whether it can be one kernel.
    """
    condition: Value
    body: tuple[Node, ...]
    label: str | None
    metadata: dict = dataclasses.field(default_factory=dict)


class ForLoop(Node):
    """A loop of a number of rounds, which are numbered from 0.

    Metadata: ``needs_fusion``, ``can_fuse`` as above.
    """
    name: str
    count: Value
    body: tuple[Node, ...]
    label: str | None
    metadata: dict = dataclasses.field(default_factory=dict)


class HostBranch(Node):
    """``if`` of the host."""
    condition: Value
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...]


# Programs

class Vector(Node):
    """A word for each vertex."""
    name: str
    type: Type
    variable: str  #: The name of the vertex in ``initial``.
    initial: Value  #: The element of a vertex at the start.
    metadata: dict = dataclasses.field(default_factory=dict, compare=False)


class Argument(Node):
    """A parameter of a program."""
    name: str
    type: Type  #: UINT, VERTEX, WHOLE, DECIMAL or BOOL.
    default: int | Fraction | None  #: None if it must be given.


class GraphProgram(Node):
    """A program."""
    name: str
    summary: str  #: The first paragraph of its docstring, as one line.
    weighted: bool  #: Whether a function takes the weights of edges.
    arguments: tuple[Argument, ...]
    vectors: tuple[Vector, ...]
    functions: tuple[Function, ...]
    body: tuple[Node, ...]  #: Instructions of the host.
    outputs: tuple[str, ...]  #: The vectors that it returns.
    #: The returned vectors of fixed point whose values are divided by the number of vertices, when
    #: they are given as decimals.
    shares: frozenset[str] = frozenset()
    needs: tuple[str, ...] = ()  #: Facts that its graph must have (:mod:`sw.lang.needs`).
    #: What a user should know of the text's meaning here, a line each.
    notes: tuple[str, ...] = dataclasses.field(default=(), compare=False)

    def function(self, name: str) -> Function:
        """The function of that name."""
        return _by_name(self)[name]

    def vector(self, name: str) -> Vector:
        """The vector of that name."""
        return next(vector for vector in self.vectors if vector.name == name)


@once
def _by_name(program):
    return {function.name: function for function in program.functions}


def instructions(body: tuple[Node, ...]) -> Iterator[Node]:
    """The instructions of the host, those of a loop after the loop."""
    for node in body:
        yield node
        match node:
            case WhileLoop() | ForLoop():
                yield from instructions(node.body)
            case HostBranch():
                yield from instructions(node.then)
                yield from instructions(node.otherwise)
