"""Functions of vertices behind the edges: a lane that has done all edges of a vertex goes on there.

Words that the lane has collected are in registers, and so are those that it loaded when it began
with the vertex. Words that edges of other lanes may still read are stored in the other array of
their vector (:meth:`~sw.compile.lower.dependence.Dependence.swapped`).
"""

from __future__ import annotations

from typing import Any

from sw.compile.lower.dependence import own_loads, sum_name
from sw.compile.lower.fuse import TOTAL
from sw.compile.lower.kernels import add_total, count, joined
from sw.lang import graph_ir as ir
from sw.lang.passes.chain import loaded_behind, stored_for_sure


__all__ = ["Finish"]


class Finish:
    """The functions of a kernel, in its prologue.

    Parameters
    ----------
    k : Kernel
    parent : ProgramAlgorithm
    group : Group
        It begins with an operator of edges.
    turned : frozenset of str
        The vectors whose words are in their other array.
    words : list of dict
        As of :meth:`~sw.compile.lower.algorithm.ProgramAlgorithm.load_words`.

    Attributes
    ----------
    chain : Function or None
        The functions as one; None if nothing is left to do.
    """

    def __init__(self, k, parent, group, turned, words):
        chain = parent.groups.chain(group) if len(group) > 1 else None
        sums = [number for number, member in enumerate(group) if member.op.kind == TOTAL]
        self.chain: Any = chain if chain is not None and (chain.body or sums) else None
        self._parent, self._group, self._turned = parent, group, turned
        self._live = parent.groups.live(group) if self.chain is not None else None
        if self.chain is None:
            return
        self._words = joined(words)
        self._swapped = parent.dependence.swapped(group)
        node = parent.edges[group[0].op.what]
        collected = parent.dependence.collected(node)
        self._known = {load: k.a.reg(load.vector) for load in own_loads(chain, collected)}
        for load in self._loads(self._swapped):
            self._known.setdefault(load, k.a.reg(load.vector))
        self._kept = [vector for vector in sorted(self._swapped)
                      if vector not in stored_for_sure(chain)]
        self._sums = {number: k.a.regs("low", "high") for number in sums}
        for register in (word for pair in self._sums.values() for word in pair):
            k.a.mv(register, k.a.zero)

    def _loads(self, vectors):
        """The loads of some vectors at the lane's vertex."""
        return list(dict.fromkeys(part for part in ir.walk(*self.chain.body)
                                  if isinstance(part, ir.VectorLoad) and part.vector in vectors))

    def stores(self, vector) -> bool:
        """Whether the word that a lane has collected must be in memory."""
        if self.chain is None:
            return True
        if vector in loaded_behind(self.chain.body):
            return True
        return vector in self._live and vector not in stored_for_sure(self.chain)

    def begin(self, k, base):
        """A lane begins with a vertex."""
        if self.chain is not None:
            self._emitter(k, self._turned).load_own(self._known, base)

    def run(self, k, base, collected):
        """A lane has done all edges of a vertex. ``collected`` has the registers of the words that
        it has collected, by vector."""
        if self.chain is None:
            return
        k.phase(5)
        parent, turned = self._parent, self._turned
        for vector in self._kept:
            k.a.sw(self._kept_word(k, vector, base),
                   k.pointer(base, parent.arrays(turned ^ self._swapped)(vector),
                             k.a.reg("pointer")))
        behind = loaded_behind(self.chain.body)
        known = self._known | {load: collected[load.vector] for load in self._loads(collected)
                               if load.vector not in behind}
        emitter = self._emitter(k, turned ^ self._swapped, known)
        emitter.run(self.chain, [base])
        for number, (low, high) in self._sums.items():
            self._count(k, base, low, high, emitter.local(sum_name(self._group, number)))
        k.phase(3)

    def _kept_word(self, k, vector, base):
        """A vertex may keep its word, which goes into the other array, too."""
        word = next((word for load, word in self._known.items() if load.vector == vector), None)
        if word is None:
            word = k.a.reg(vector)
            k.a.lw(word, k.pointer(base, self._parent.arrays(self._turned)(vector), word))
        return word

    def _count(self, k, base, low, high, word):
        """Add a vertex's word to a sum, if there is the vertex."""
        a, there, summed = k.a, k.a.reg("there"), k.a.reg("summed")
        end = k.constant(k.address(base.array) + 4 * k.task.graph.num_vertices, "end")
        a.sltu(there, base.reg, end)
        a.neg(there, there)
        a.and_(summed, word, there)
        count(k, low, high, summed)

    def end(self, k):
        """All vertices are done."""
        if self.chain is not None:
            for low, high in self._sums.values():
                add_total(k, low, high)

    def _emitter(self, k, turned, known=None):
        return self._parent.emitter(k, self._words, (), turned, known)
