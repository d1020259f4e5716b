"""Reductions: a word is combined with another one, in a register or in memory.

A lane that owns a base vertex collects in registers of its own (:class:`Private`). Whoever shares
the vertex merges these registers, and one lane stores them at the end.
"""

import contextlib

from sw.lang.passes.accesses import IDENTITY


__all__ = ["ATOMICS", "Private", "combine", "improves", "reduce_word"]


#: What the atomics of reductions do: ``reduce`` takes the old word only where the kernel needs it;
#: with ``return`` each lane waits for the old word, as text for a GPU does that looks whether a sum
#: still fits. Then the hardware cannot combine the lanes of a word. ``test`` is that, and a lane
#: reads the word first where it takes a minimum, a maximum or bits: it performs the atomic only if
#: this would change the word. The L1 may have an older word, which costs an atomic at most.
ATOMICS = ("reduce", "return", "test")


def improves(k, operation, word, before, into):
    """``into`` = 1 if a word is better than the one before, by a reduction; else 0."""
    if operation == "min":
        k.a.sltu(into, word, before)
    elif operation == "max":
        k.a.sltu(into, before, word)
    else:
        lacks = k.a.reg("lacks")
        k.a.xori(lacks, before, -1)
        k.a.and_(lacks, lacks, word)
        k.a.snez(into, lacks)


def combine(k, operation, into, word):
    """``into`` = itself and a word, by a reduction."""
    a = k.a
    if operation == "min":
        k.minimum(into, word, into)
    elif operation == "max":
        k.maximum(into, word, into)
    else:
        (a.add if operation == "+" else a.or_)(into, into, word)


def reduce_word(k, operation, word, pointer, changed=None, later=None, fresh=False, tested=False):
    """The word at an address is combined with a word, by an atomic. ``changed``, a register,
    becomes 0 unless this changes it, and if ``fresh``, unless it changes the reduction's identity;
    else another number. What waits for the atomic's answer is added to the list ``later``, if
    there is one, to be called. ``tested``: the lanes have read that the word would change."""
    a, before, atomics = k.a, k.a.zero, k.task.plan.atomics
    needed = changed is not None and (fresh or operation != "+")
    waits = atomics != "reduce" and not needed
    if needed or waits:
        before = a.reg("before")
    with contextlib.ExitStack() as inside:
        if atomics == "test" and operation != "+" and not tested:
            better = a.reg("better")
            a.lw(before, pointer)
            improves(k, operation, word, before, better)
            inside.enter_context(a.if_(better))
        {"min": a.amominu_w, "max": a.amomaxu_w, "+": a.amoadd_w, "or": a.amoor_w}[operation](
            before, word, pointer)

    def compare():
        if fresh:
            first = a.reg("first")
            if IDENTITY[operation]:
                a.sltu(changed, word, before)
                a.addi(first, before, 1)
                a.seqz(first, first)
            else:
                a.snez(changed, word)
                a.seqz(first, before)
            a.and_(changed, changed, first)
            return
        match operation:
            case "min":
                a.sltu(changed, word, before)
            case "max":
                a.sltu(changed, before, word)
            case "+":
                a.mv(changed, word)         # a sum does not pass 32 bits
            case _:
                a.or_(changed, word, before)
                a.xor(changed, changed, before)

    def finish():
        if changed is not None:
            compare()
        if waits:
            a.mv(before, before)

    finish() if later is None else later.append(finish)


class Private:
    """The registers in which a lane collects for its base vertex.

    Parameters
    ----------
    k : Kernel
        In the prologue.
    operations : dict of str to str
        By name, the reductions by which words are collected.

    Attributes
    ----------
    words : dict of str to GeneralRegister
        The registers, by name.
    """

    def __init__(self, k, operations):
        self._k, self._operations = k, operations
        self.words = {name: k.a.reg(name) for name in operations}

    def clear(self):
        """Each active lane starts: nothing has been collected."""
        for name, word in self.words.items():
            identity = IDENTITY[self._operations[name]]
            self._k.a.mv(word, self._k.full if identity else self._k.a.zero)

    def take(self, name, word):
        """Each active lane collects a word: that of an edge, or what another lane has collected."""
        combine(self._k, self._operations[name], self.words[name], word)
