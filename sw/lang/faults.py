"""Where functions of a program may fail, and with which errors.

Arithmetic of words is exact, or it is an error of the run. :func:`kinds_of` says which errors an
expression may have; every machine notices them, and :class:`ProgramFault` has their text.

The value of a ``.min(...)`` reduction is a *candidate*. A number above the largest, which a sum or
product of a candidate gives, loses against every number, so it is no error by itself: the candidate
is ``infinity``. If the vertex is still at ``infinity`` when the operator ends (or the loop, by the
fact :class:`~sw.lang.facts.Deferred`), a number that does not fit is *lost*, which is an error.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from base.errors import UserError
from sw.lang import graph_ir as ir
from sw.lang.types import INFINITY, LARGEST, WORD, Type


__all__ = ["DoesNotFitFixed", "LostCandidate", "ProgramFault", "can_fail", "candidates",
           "is_candidate", "kinds_of", "may_lose"]


class DoesNotFitFixed(UserError):
    """A value of fixed point that does not fit with this number of fraction bits."""


class LostCandidate(UserError):
    """A number that cannot be represented has reached a vertex, and no other has."""


_NAMES = {"+": "a sum", "-": "a difference", "*": "a product", "//": "a quotient",
          "%": "a remainder", "/": "a quotient", "times": "a quotient", "recip": "a quotient"}


@dataclasses.dataclass(frozen=True)
class ProgramFault:
    """A place of a program where a run may fail."""
    #: ``index``: a vertex that does not exist; ``fits``: a value of fixed point that does not fit;
    #: ``large``: a uint above the largest; ``below``: a difference below 0; ``infinite``: an
    #: operation that has no meaning for infinity; ``zero``: infinity times 0; ``division``: by 0;
    #: ``above``: a fraction above 1; ``shift``: by more than a word has bits; ``summed``: infinity
    #: in a sum over a set; ``sum``: a reduction by ``+=`` that does not fit; ``lost``: a reduction
    #: by ``.min`` whose smallest candidate does not fit.
    kind: str
    node: Any  #: The node of the GraphIR.

    def error(self, program, num_vertices, bits, detail) -> UserError:
        """The error.

        Parameters
        ----------
        program : GraphProgram
        num_vertices : int
        bits : int
            Fraction bits of FIXED.
        detail : int
            The complement of the index for ``index``, else the vertex: that of the call, or the
            destination of its edge.
        """
        node = self.node
        if self.kind == "index":
            index = detail ^ WORD - 1
            what = "the degree of" if isinstance(node, ir.Degree) else node.vector
            return UserError(f"{node.position}: {what}[{index}]: there is no such vertex; the "
                             f"graph has {num_vertices}")
        if self.kind == "fits":
            return DoesNotFitFixed(f"{node.position}: a value of fixed point does not fit in a "
                                   f"word with {bits} fraction bits")
        if self.kind in ("sum", "lost"):
            text = f"{node.position}: {node.vector}[{detail}] does not fit in 32 bits"
            if program.vector(node.vector).type is Type.FIXED:
                return DoesNotFitFixed(text)
            kind = LostCandidate if self.kind == "lost" else UserError
            return kind(f"{text}: the largest number is {LARGEST}")
        return UserError(f"{node.position}: at vertex {detail}, {self._text()}")

    def _text(self):
        name = getattr(self.node, "operation", "")
        what = _NAMES.get(name, "this")
        match self.kind:
            case "large":
                return f"{what} does not fit in 32 bits: the largest number is {LARGEST}"
            case "below":
                return f"{what} is below 0, and words have no sign; max(a, b) - b stops at 0"
            case "infinite":
                return f"{what} of infinity has no value; compare with infinity before"
            case "zero":
                return "infinity times 0 has no value"
            case "division":
                return "this is a division by 0"
            case "above":
                return "a quotient is above 1, and a fraction is at most 1; // gives a uint"
            case "shift":
                return "a shift is by more than 31 bits"
        return "a sum over a set has infinity in it; take only the vertices without it"


def candidates(node) -> tuple:
    """The parts of a candidate that are candidates themselves: if one of them is above the largest
    number, so is the whole, or another part decides it."""
    match node:
        case ir.Binary(operation="+" | "*" | "min" | "max", type=Type.UINT) \
                if node.left.type is node.right.type:
            return node.left, node.right
        case ir.Select():
            return node.then, node.otherwise
    return ()


def may_lose(node) -> bool:
    """Whether a Reduce takes candidates that may be above the largest number."""
    return is_candidate(node) and any(
        candidate and isinstance(part, ir.Binary) and part.operation in ("+", "*")
        and bool(candidates(part)) for part, candidate in _parts((node,), False))


def is_candidate(node) -> bool:
    """Whether a Reduce takes candidates."""
    return node.operation == "min" and node.value.type is Type.UINT


def kinds_of(node, parameters=(), candidate=False) -> tuple[str, ...]:
    """The kinds of faults of one node, without those below it, in the order in which they count.

    Parameters
    ----------
    node : Node
        An expression or a statement of a function.
    parameters : tuple of str
        The function's parameters; a weight is no index.
    candidate : bool
        Whether the node is a candidate.
    """
    match node:
        case ir.VectorLoad() | ir.Reduce():
            sums = ("sum",) if isinstance(node, ir.Reduce) and node.operation == "+" else ()
            return (*_index(node.index, parameters), *sums)
        case ir.Degree():
            return _index(node.vertex, parameters)
        case ir.Literal(type=Type.FIXED):
            return ("fits",)
        case ir.Unary(operation="recip"):
            return ("infinite",)
        case ir.Give() if node.value.type is Type.UINT:
            return ("summed",)
        case ir.Binary():
            return _of_binary(node, candidate)
    return ()


def _index(vertex, parameters):
    known = isinstance(vertex, ir.Local) and vertex.name in parameters
    return () if known else ("index",)


def _of_binary(node, candidate):
    kinds = {node.left.type, node.right.type}
    fixed, uint = Type.FIXED in kinds, Type.UINT in kinds
    match node.operation:
        case "+" if uint:
            return () if candidate else ("large",)
        case "+" if fixed:
            return ("fits",)
        case "-":
            return ("infinite", "below") if uint else ("below",)
        case "times":
            return "infinite", "above"
        case "*" if Type.FRACTION in kinds:
            return ("infinite",) if uint else ()
        case "*" if fixed:
            return "infinite", "fits"
        case "*":
            zero = () if _positive(node.left) or _positive(node.right) else ("zero",)
            return zero if candidate else (*zero, "large")
        case "/" | "//" | "%":
            if not _positive(node.right):
                return "infinite", "division"
            return () if fixed else ("infinite",)
        case "<<" | ">>":
            right = node.right
            return () if isinstance(right, ir.Literal) and right.value < 32 else ("shift",)
    return ()


def _positive(node):
    """Whether a value is known to be a number above 0."""
    return isinstance(node, ir.Literal) and 0 < node.value < INFINITY


def can_fail(function) -> bool:
    """Whether a call of a function may fail, but for a candidate that is lost."""
    return any(kinds_of(node, function.parameters, candidate)
               for node, candidate in _parts(function.body, False))


def _parts(nodes, candidate) -> Iterator[tuple[Any, bool]]:
    """All nodes below some, and whether each is a candidate."""
    for node in nodes:
        yield node, candidate
        inner = candidates(node) if candidate else ()
        if isinstance(node, ir.Reduce) and is_candidate(node):
            inner = (node.value,)
        for part in node.parts():
            yield from _parts((part,), any(part is each for each in inner))
