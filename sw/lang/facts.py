"""Facts: what is known of a program's instructions, whatever the graph, the plan and the machine.

A fact is an object in the metadata of a node, under its :attr:`Fact.key`; :func:`known` looks one
up. A pass of :mod:`sw.lang.passes` has proved it, and :attr:`Fact.why` names the premisses. A fact
permits something to a compiler. Where there is none, nothing is known, and to do without is always
right. :mod:`sw.vm.adversary` performs programs with every freedom that their facts give.

================================  ================================================================
node                              its facts
================================  ================================================================
``Reduce``                        :class:`Identity`
``EdgeSetIterator``               :class:`AccessSet`, :class:`Membership`,
                                  :class:`Asked`, :class:`Early`, :class:`Deferred`,
                                  :class:`Superset`, :class:`Apart`, :class:`Settles`,
                                  :class:`Suffices`, :class:`Changes`, :class:`Closed`,
                                  :class:`Drops`, :class:`Fails`, :class:`Sent`,
                                  :class:`Needs`, :class:`Void`
``VertexSetIterator``             :class:`AccessSet`, :class:`Membership`
``VertexFilter``                  :class:`AccessSet`, :class:`Membership`, :class:`Asked`
``WhileLoop``, ``ForLoop``        :class:`Affine`, :class:`Stamps`, :class:`OneWay`,
                                  :class:`OrderFree`
``Vector``                        :class:`Range`, :class:`Addressable`
================================  ================================================================

Words of these texts:

*O*
    An operator of edges: the node that has the fact.
*S, T*
    The set O goes out from, and its ``to_filter``. An edge is *accepted* if its source is in S, T
    is true at its destination, and the conditions that stand around the reductions are true. An
    operator without T accepts as if T were true.
*src, dst*
    The first and the second parameter of O's function: the edge's ends after ``transpose()``.
*τ*
    The vector of ``O.tracking``.
*start word, racing word*
    The word of a vertex when O begins; any word that it has from then until O ends. A racing word
    tells nothing of when other words were read: a core may see that a vertex was added to a set,
    and still have its word from before, because the L1s of cores do not follow each other.
*L*
    The innermost loop around O. A *round* is one pass through its body.
*predicate*
    A tuple of BOOL expressions of GraphIR, all of which must be true; () is true everywhere. The
    vertex is ``Local(SELF)``. Names of the host in a ``Uniform`` have the values that they have
    when the instruction that has the fact is performed.
"""

import dataclasses
import typing
from typing import Any, ClassVar, NamedTuple

from sw.lang import graph_ir as ir


__all__ = ["SELF", "Access", "AccessSet", "Addressable", "Affine", "Apart", "Asked", "Changes",
           "Closed", "Deferred", "Drops", "Early", "Fact", "Fails", "Identity", "Line",
           "Membership", "Needs", "OneWay", "OrderFree", "Range", "Sent", "Settles", "Stamp",
           "Stamps", "Suffices", "Superset", "Void", "deferring", "known", "suffices"]


#: The name of the vertex in a predicate.
SELF = "v"


@typing.dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclasses.dataclass(frozen=True, kw_only=True)
class Fact:
    """Base of all facts, each of which is a frozen dataclass with named fields.

    Attributes
    ----------
    key : str
        The name under which the fact stands in metadata; the class's own.
    """
    key: ClassVar[str]
    why: str = dataclasses.field(compare=False)  #: The premisses, in a few words.

    def __init_subclass__(cls, key):
        cls.key = key
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)


def known(node, kind) -> Any:
    """The fact of a class that a node has, or None."""
    return node.metadata.get(kind.key)


def suffices(node, *ways) -> bool:
    """Whether, for each reduction of an operator, one accepted edge suffices in one of these ways
    (:class:`Suffices`)."""
    fact = known(node, Suffices)
    return fact is not None and bool(fact.edges) and all(way in ways for way in fact.edges)


def deferring(loop) -> Any:
    """The operator of edges whose lost candidates are errors when a loop ends (:class:`Deferred`),
    or None. Loops in it have their own."""
    def operators(body):
        for node in body:
            match node:
                case ir.EdgeSetIterator():
                    yield node
                case ir.HostBranch():
                    yield from operators((*node.then, *node.otherwise))

    return next((node for node in operators(loop.body) if known(node, Deferred)), None)


# Of reductions

class Identity(Fact, key="identity"):
    """Reducing by this word changes no word. So parts of a reduction may be reduced apart, each
    from this word on, and an edge may do nothing by sending it."""
    word: int


# Of all operators

class Access(NamedTuple):
    """One way in which an operator touches a vector.

    ``kind`` is ``load``, ``store``, or a reduction: ``min``, ``max``, ``+``, ``or``. ``at`` is the
    vertex: ``own`` of a function of vertices; ``src`` or ``dst`` of one of edges; ``elsewhere``
    for any other index.
    """
    vector: str
    kind: str
    at: str

    def __str__(self) -> str:
        return f"{self.kind} {self.vector}[{self.at}]"


class AccessSet(Fact, key="accesses"):
    """All that the operator touches; always known."""
    function: frozenset[Access]  #: By ``apply_f``, or by ``filter`` of a VertexFilter.
    filter: frozenset[Access] = frozenset()  #: By ``to_filter``, at ``dst``.

    @property
    def writes(self) -> frozenset[str]:
        """The vectors that the function changes."""
        return frozenset(access.vector for access in self.function if access.kind != "load")

    def changed_at(self, place: str) -> frozenset[str]:
        """The vectors that the function changes at this vertex only."""
        return self.writes - {access.vector for access in self.function
                              if access.kind != "load" and access.at != place}


class Membership(Fact, key="members"):
    """The input set is exactly the vertices at which a predicate is true when the operator begins.

    So nobody needs to keep the set, as long as the words and the host's numbers stay. Without this
    fact the set must be kept.
    """
    test: tuple[Any, ...]  #: A predicate; () for all vertices.


class Asked(Fact, key="asked"):
    """What is ever read of the set that the operator makes, under whatever name.

    ``asked`` has ``members`` if an operator goes through it or a queue takes it, ``size`` if its
    size is computed with, ``empty`` if it is only asked whether there are any. An empty ``asked``:
    nobody reads the set. Without this fact, all may be read.
    """
    asked: frozenset[str]


# Of operators of edges

class Apart(Fact, key="apart"):
    """No vertex is in S and has T true, when O begins.

    So a word that O changes at ``dst`` only is a start word at ``src``, racing or not.
    """


class Early(Fact, key="early"):
    """Loads of these vectors at ``src`` by O may give any racing word, in every round of L. Members
    of S may also wait for a later round of L; functions of L that go through O's result go through
    those whose words have changed, and not through those that wait. All vectors end in the same
    words.

    The number of rounds of L may differ, and S of each round; S's union over all rounds is the
    same. An accepted edge that changes no word needs no other reads.
    """
    vectors: frozenset[str]


class Deferred(Fact, key="deferred"):
    """A candidate that O loses (:mod:`sw.lang.faults`) is an error if its vertex is at ``infinity``
    when L ends, and not before. In whatever order O's edges come, and whichever racing words it
    reads at ``src``, L then ends with the same error, or with none. Nothing else in L can fail.
    Implies :class:`Early`.

    What the language means hangs on this fact, so the interpreter asks for it, too.
    """


class Superset(Fact, key="superset"):
    """O may go through edges of vertices outside of S, too, in every round, where a predicate is
    true at the source by its words of then: they change nothing, or what an edge of S would change
    anyway. Implies :class:`Early`."""
    test: tuple[Any, ...] = ()  #: A predicate; () for all vertices.


class Settles(Fact, key="settles"):
    """T is false at a vertex when O begins again in L, once an edge was accepted there (if
    ``functions`` is empty), or once O has changed τ there and the ``functions`` have run over O's
    result. It stays false in L.

    ``functions`` are names of functions of vertices that L applies to O's result, in this order.
    If they run at an earlier time (when a vertex is added to the result), T is false from then on.
    """
    functions: tuple[str, ...]


class Suffices(Fact, key="suffices"):
    """Which accepted edges of one destination decide the word there, within one O.

    ``edges`` has for each reduction, in the order of ``walk(*function.body)``: ``any`` if any one
    accepted edge gives the word that all of them give; ``first`` if the one with the smallest
    source does; None if all are needed. Loads at ``dst`` give start words. All reductions of the
    function stand under the same conditions, so that one edge performs all or none.
    """
    edges: tuple[str | None, ...]


class Changes(Fact, key="changes"):
    """When an accepted edge changes τ at its destination, so that the vertex is in O's result.

    ``by`` is ``certain``: always. So O's result is the destinations of accepted edges. ``addend``:
    if, and only if, the value of the reduction by ``+`` is not 0; the result is the destinations
    with such an edge. ``atomic``: the result is the vertices at which a reduction's old word
    differs from the new one. Without this fact start words and words at the end must be compared.

    ``fresh`` says that when O begins, each word of τ is the reduction's identity. So of the
    reductions that change a word, exactly one finds the identity there.
    """
    by: str
    fresh: bool = False


class Closed(Fact, key="closed"):
    """In L, T is true at no destination of an edge that leaves a member of S of an earlier round.

    So S may have members of earlier rounds of L, whose edges are not accepted: with a stamp, a
    vertex with any smaller stamp.
    """


class Drops(Fact, key="drops"):
    """An edge may be left out if another accepted edge with the same ``dst`` and a key that is no
    larger is taken in, by this O or, if ``ever``, by O in an earlier round of L, too.

    ``by`` is the key: ``any`` if all edges have the same key; ``source``, the number of the source;
    ``value``, the value that the edge brings by ``min``; ``largest value``: by ``max``, so there
    the other key must be no smaller.
    """
    by: str
    ever: bool


class Fails(Fact, key="fails_for_ever"):
    """An edge that is refused by older words at ``dst``, of the same run of L, may be left out: it
    would be refused by the words of now, too.

    Refused is an edge for which T or a condition is false, or whose values are no improvements:
    reductions by ``+`` always are. Words at ``src`` are as usual, not older.
    """


class Sent(Fact, key="sent"):
    """The source enters O's function by one expression only.

    ``value`` is an expression of ``src``, words at ``src`` and the host's numbers; None if nothing
    of the source enters. ``form`` says what the reductions bring: ``sent`` the value itself;
    ``sum`` the value plus the weight; ``other`` any function of it, of words at ``dst``, ``dst``
    itself and the weight. A reduction whose value has neither the source nor the weight does not
    count, unless it is of a vector in ``value``.
    """
    value: Any
    form: str


class Needs(Fact, key="accept_needs"):
    """What is read to tell whether an edge is accepted, and whether it improves a word; always
    known.

    ``test`` is a set of ``dst word`` and ``src word`` (words of vectors), ``dst`` and ``src`` (the
    vertices' numbers), ``weight``, ``elsewhere``. ``improvement`` is what a test for an improvement
    by the value reads beside it, of the reductions that are no ``+``.
    """
    test: frozenset[str]
    improvement: frozenset[str]


class Void(Fact, key="void"):
    """Edges that change nothing.

    ``itself``: an edge of weight 0 from a vertex to itself, for every vertex. ``source``: words of
    a vertex that is not there, by vector, with which an edge of weight 0 from it changes nothing;
    None if there are none. ``target``: words with which T is false, so that an edge to it does
    nothing; None if there are none.
    """
    itself: bool
    source: tuple[tuple[str, int], ...] | None
    target: tuple[tuple[str, int], ...] | None


# Of loops

class Line(NamedTuple):
    """A number of the host in the rounds 0, 1, … of a loop: at the beginning of round k it is
    ``start + step * k``. ``start`` is None if it is the number's value when the loop begins, which
    the host knows then. ``place`` is the index in the loop's body of the one instruction that adds
    ``step``, so behind it the number is ``start + step * (k + 1)``; -1 for the number of a ForLoop,
    which is ``step * k`` in the whole round.
    """
    name: str
    start: int | None
    step: int
    place: int

    def __str__(self) -> str:
        start = self.name if self.start is None else self.start
        return f"{self.name} = {start} + {self.step} k, changed at {self.place}"


class Affine(Fact, key="affine"):
    """Numbers of the host that can be computed from the number of the round. Numbers that L does
    not assign stay, and are not named here; all others that are not named are unknown."""
    lines: tuple[Line, ...]

    def line(self, name) -> Line | None:
        """The line of a number, or None."""
        return next((line for line in self.lines if line.name == name), None)


class Stamp(NamedTuple):
    """A vector whose words say when they were stored.

    When L begins, each word is ``never``, which is ``infinity``, or smaller than all stamps. In
    round k it is changed only from ``never`` to the stamp of the round, which is a number, larger
    than all stamps before: ``number + plus``, with the value of ``number`` at the beginning of the
    round. ``first`` is the stamp of round 0, or None if only the host knows it; ``step`` is the
    difference of the stamps of one round and the next.
    """
    vector: str
    never: int
    number: str
    plus: int
    first: int | None
    step: int

    def __str__(self) -> str:
        first = "" if self.first is None else f", from {self.first}"
        return f"{self.vector} = {self.number} + {self.plus}{first} by {self.step}"


class Stamps(Fact, key="stamps"):
    """Vectors that are stamped in L. Of a racing word w in the round with stamp n, the start word
    is w if w < n, else ``never``. So loads of them need no copies, and the old word of an atomic
    ``min`` with n tells exactly one lane that it was the first."""
    stamps: tuple[Stamp, ...]

    def stamp(self, vector) -> Stamp | None:
        """The stamp of a vector, or None."""
        return next((stamp for stamp in self.stamps if stamp.vector == vector), None)


class OneWay(Fact, key="one_way"):
    """Vectors whose words only fall in L, and only rise in L (bits of an ``or`` are only gained,
    so words rise). A vector that L does not write is in neither."""
    falls: frozenset[str]
    rises: frozenset[str]


class OrderFree(Fact, key="order_free"):
    """Every order of calls, and reads of racing words of the vector by all operators of L, end in
    the same words of all vectors that are read behind L. The number of rounds may differ.

    The vector's words are then the least vertices of the components of the graph. Only L changes
    it, and what else L changes does not depend on it."""
    vector: str


# Of vectors

class Range(Fact, key="range"):
    """All words that the vector ever has in a run are in this interval, both ends included. Of
    fixed point and fractions nothing is known; always known otherwise."""
    least: int
    most: int


class Addressable(Fact, key="addressable"):
    """The vector has vertices or ``none``, which are only used as an index, compared with other
    vertices, in ``min`` and ``max``, and stored in vectors that are addressable too. So words may
    be addresses, in the order of the vertices' numbers. Vectors of one ``group`` must be addresses
    together."""
    group: frozenset[str]
