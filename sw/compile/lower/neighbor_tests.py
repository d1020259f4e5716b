"""Tests of edges that a unit can make before a warp has the edge.

An operator's kernel reads words of an edge's ends, and does nothing for the edge if a condition is
false. It may read them at any time within the operator's launch, as other lanes are on other edges.
So a unit may read them before, and drop the edge if a part of the condition is false: one that
compares a word of the edge's neighbour with a number, or with a word of its base vertex, to which
the weight may be added. An edge that is handed out is tested again.
"""

import dataclasses
from typing import Any

from hw.operations import EdgeTest, GatherSetting
from sw.lang import facts
from sw.lang import graph_ir as ir
from sw.lang.facts import known
from sw.lang.predicates import TURNED
from sw.lang.types import WORD, Type


__all__ = ["MISSING", "NeighborTest", "neighbor_test"]


#: What an operator without such a test lacks.
MISSING = ("a comparison of a word at the other end of an edge with a number, or with a word of "
           "its base vertex")

_RELATIONS = {"<": EdgeTest.BELOW, ">": EdgeTest.ABOVE, "==": EdgeTest.EQUAL,
              "<=": EdgeTest.BELOW | EdgeTest.EQUAL, ">=": EdgeTest.ABOVE | EdgeTest.EQUAL,
              "!=": EdgeTest.ABOVE | EdgeTest.BELOW}


@dataclasses.dataclass(frozen=True)
class NeighborTest:
    """An edge counts only if ``word operation other``, and with ``weighted`` if ``word operation
    other + weight``.

    Attributes
    ----------
    vector : str
        That of the neighbour's word.
    operation : str
        A comparison.
    other
        A VectorLoad at the base vertex, a Literal or a Uniform.
    weighted : bool
    """
    vector: str
    operation: str
    other: Any
    weighted: bool = False

    @property
    def text(self) -> str:
        """In words."""
        other = f"{self.other.vector} of the base vertex" if self._of_base else "a number"
        return f"{self.vector} {self.operation} {other}{' + weight' * self.weighted}"

    @property
    def vectors(self) -> list[str]:
        """The vectors whose words are compared."""
        return [self.vector, *([self.other.vector] if self._of_base else [])]

    @property
    def _of_base(self):
        return isinstance(self.other, ir.VectorLoad)

    @property
    def asks_never(self) -> bool:
        """Whether it asks if a stamp was never stored."""
        return (self.operation in ("==", "!=") and isinstance(self.other, ir.Literal)
                and self.other.value == WORD - 1)

    def settings(self, k, array, stamped, value) -> dict:
        """The settings of the unit: of each GatherSetting a number or a register.

        Parameters
        ----------
        k : Kernel
        array : callable
            ``array(vector)``: the array in which the operator reads a vector.
        stamped : dict of str to register
            Vectors whose words are stamps, and the stamp of this superstep: a word that is not
            smaller was all ones when the superstep began.
        value : callable
            ``value(node)``: the register with the value of a Literal or a Uniform.
        """
        task, relation = k.task, _RELATIONS[self.operation]
        found = {GatherSetting.VALUES: k.way(
            task.algorithm.neighbor_array(task), array(self.vector))[1]}
        if self._of_base:
            found[GatherSetting.BASES] = k.way(
                task.algorithm.base_array(task), array(self.other.vector))[1]
            relation |= EdgeTest.BASE
        elif self.vector in stamped:
            relation = _RELATIONS[">=" if self.operation == "==" else "<"]
            found[GatherSetting.BOUND] = stamped[self.vector]
        else:
            found[GatherSetting.BOUND] = value(self.other)
        return found | {GatherSetting.TEST: int(relation | EdgeTest.WEIGHT * self.weighted)}


def neighbor_test(conditions, relaxed, node, function, pulls) -> NeighborTest | None:
    """The first test that an operator has, or None.

    Parameters
    ----------
    conditions : list of (Function, expression)
        Conditions without which an edge does nothing, each with the function it stands in: one of
        the edge, or one of its neighbour alone.
    relaxed : Effect or None
        The effect without whose improvement an edge does nothing.
    node : EdgeSetIterator
    function : Function
        That of the edge.
    pulls : bool
        Whether the base vertex is the destination.
    """
    if relaxed is not None:
        found = _of_relaxation(relaxed, node, function, pulls)
        if found is not None:
            return found
    for within, condition in conditions:
        for part in _parts(condition):
            found = _of_comparison(part, within, pulls)
            if found is not None:
                return found
    return None


def _of_relaxation(effect, node, function, pulls):
    """An edge improves the word of its destination by the word of its source."""
    if effect.kind not in ("min", "max") or function.parameter(effect.index) != 1:
        return None
    worse = ">" if effect.kind == "min" else "<"
    if isinstance(effect.value, ir.Literal | ir.Uniform):
        return None if pulls else NeighborTest(effect.vector, worse, effect.value)
    sent = known(node, facts.Sent)
    if sent is None or sent.form == "other" or _end(sent.value, function) != 0:
        return None
    weighted = sent.form == "sum" and len(function.parameters) > 2
    if not pulls:
        return NeighborTest(effect.vector, worse, sent.value, weighted)
    if weighted:
        return None
    load = ir.VectorLoad(vector=effect.vector, index=effect.index, type=sent.value.type,
                         position=effect.node.position)
    return NeighborTest(sent.value.vector, TURNED[worse], load)


def _of_comparison(node, function, pulls):
    """A condition that is a comparison of a word of the neighbour."""
    neighbor = (not pulls if function.of_edge else 0)
    zero = ir.Literal(value=0, type=Type.BOOL, position=node.position)
    match node:
        case ir.VectorLoad() if _end(node, function) == neighbor:
            return NeighborTest(node.vector, "!=", zero)
        case ir.Unary(operation="not", operand=ir.VectorLoad() as load) \
                if _end(load, function) == neighbor:
            return NeighborTest(load.vector, "==", zero)
        case ir.Binary() if node.operation in _RELATIONS:
            for load, other, name in ((node.left, node.right, node.operation),
                                      (node.right, node.left, TURNED[node.operation])):
                if _end(load, function) == neighbor and (
                        isinstance(other, ir.Literal | ir.Uniform)
                        or (function.of_edge and _end(other, function) == 1 - neighbor)):
                    return NeighborTest(load.vector, name, other)
    return None


def _parts(condition):
    """The conditions that must all be true."""
    if isinstance(condition, ir.Binary) and condition.operation == "and":
        yield from _parts(condition.left)
        yield from _parts(condition.right)
    else:
        yield condition


def _end(node, function):
    """The number of the parameter at which a word is loaded; None if it is none."""
    return function.parameter(node.index) if isinstance(node, ir.VectorLoad) else None
