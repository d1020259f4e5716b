"""Relaxations: operators whose edges do nothing unless they improve a word at their destination.

Reads may be early (:class:`~sw.lang.facts.Early`), and words at destinations only become better. So
an edge that does not improve the word that a lane has read there improves no later word either, and
needs no atomic. If a vertex gets a better word after a lane has read the old one, it is in the set
of the next superstep.
"""

import dataclasses

from sw.compile.kernels.reductions import improves, reduce_word
from sw.lang import facts
from sw.lang import graph_ir as ir
from sw.lang.effects import UNKNOWN, effects
from sw.lang.facts import known
from sw.lang.passes.chain import guarded, unconditional
from sw.lang.passes.early import is_improvement
from sw.lang.types import WORD, Type


__all__ = ["Relaxation", "overwritten"]


def overwritten(program, function, tracking) -> frozenset:
    """The vectors, but for the tracked one, that a function of edges only reduces by numbers than
    which no word of theirs is smaller (of ``min``; larger of ``max``). Whatever the word was, the
    number is the word behind the reduction, so a store will do."""
    found: dict[str, bool] = {}
    for node in ir.walk(*function.body):
        if isinstance(node, ir.Reduce) and node.vector != tracking:
            found[node.vector] = found.get(node.vector, True) and _overwrites(program, node)
    return frozenset(vector for vector, always in found.items() if always)


def _overwrites(program, node):
    if not isinstance(node.value, ir.Literal) or node.value.type not in (Type.UINT, Type.BOOL):
        return False
    words, word = known(program.vector(node.vector), facts.Range), int(node.value.value)
    least, most = (words.least, words.most) if words else (0, WORD - 1)
    return {"min": word <= least, "max": word >= most,
            "or": word == (1 << most.bit_length()) - 1}.get(node.operation, False)


class Relaxation:
    """The only effect of an operator's function, but for those of
    :func:`~sw.lang.passes.chain.unconditional`.

    Parameters
    ----------
    parent : ProgramAlgorithm
    node : EdgeSetIterator
    always, function : tuple of Reduce, Function
        As of :func:`~sw.lang.passes.chain.unconditional`.

    Attributes
    ----------
    always : tuple of Reduce
        The reductions that are performed at each edge, before edges are accepted.
    function : Function
        The rest, without a test whether the effect improves a word, as the reduction makes the test
        anyway.
    effect : Effect
    """

    def __init__(self, parent, node, always, function):
        self._parent, self._node, self.always = parent, node, always
        self.effect, = effects(function)
        condition, body = guarded(function)
        if condition is not None and is_improvement(condition, self.effect):
            function = dataclasses.replace(function, body=body)
        self.function = function
        self._conditions = [test for test in self.effect.conditions
                            if not is_improvement(test, self.effect)]

    @classmethod
    def of(cls, parent, node):
        """That of an operator whose reductions tell which vertices it changes, or None."""
        always, function = unconditional(parent.program.function(node.apply_f), node.tracking)
        found = effects(function)
        if len(found) != 1 or known(node, facts.Early) is None:
            return None
        for part in ir.walk(found[0].value, *found[0].conditions):
            if isinstance(part, ir.Local) and part.name == UNKNOWN:
                return None
            index = getattr(part, "vertex" if isinstance(part, ir.Degree) else "index", None)
            if index is not None and function.parameter(index) is None:
                return None
        return cls(parent, node, always, function)

    def load(self, k, values, words):
        """The register with the word that an edge may improve; loads what the edge brings."""
        for load, word in words.known.items():
            if isinstance(load, ir.VectorLoad) and load.vector == self.effect.vector \
                    and self.function.parameter(load.index) == 1:
                return word
        before = k.a.reg("before")
        k.a.lw(before, k.pointer(values[1], self._parent.array(self.effect.vector), before))
        return before

    def value(self, k, edge, values, words, fits):
        """The register with what an edge brings, which has these values for the function's
        parameters. ``fits`` says that no sum passes 32 bits, if
        sources are in the operator's set."""
        def expression(node):
            return words.expression(self.function, node, values)

        sent = known(self._node, facts.Sent)
        if sent is None or sent.form != "sum" or edge.weight is None or edge.value is not None:
            return expression(self.effect.value)
        k.add_word(edge.weight, expression(sent.value), fits)
        return edge.weight

    def passes(self, values, words):
        """The registers that are 1 where an edge fulfils the further conditions, else 0."""
        return [words.expression(self.function, test, values)
                for test in self._conditions]

    def improves(self, k, word, before, into):
        """``into`` = 1 if an edge that brings a word improves the word before, else 0."""
        improves(k, self.effect.kind, word, before, into)

    def reduce(self, k, word, target, changed):
        """An edge that is accepted: ``changed`` = 0 unless it improves the word at its target."""
        pointer = k.a.reg("pointer")
        reduce_word(k, self.effect.kind, word,
                    k.pointer(target, self._parent.array(self.effect.vector), pointer), changed,
                    tested=True)
