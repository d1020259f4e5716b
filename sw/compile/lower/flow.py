"""What is known of words between the operators of a program: which are read again, and which are
the same constant at all vertices.

Both follow from the steps of the program as the machine sees them (:mod:`.fuse`), on all ways
through it.
"""

from __future__ import annotations

from sw.lang import graph_ir as ir
from sw.lang.passes.chain import chained, guarded, stored_for_sure, unconditional
from sw.lang.types import Type


__all__ = ["WordFlow", "live_before", "reachable"]


class WordFlow:
    """The words at the steps of a program.

    Parameters
    ----------
    program : GraphProgram
    first : tuple
        The first steps.
    read : callable
        ``read(node)``: the vectors whose words an operator of edges reads in memory, but for those
        that it defines.
    collected : callable
        ``collected(node)``: the vectors that an operator of edges reduces in registers of lanes
        that have all edges of their vertex, with the words that change nothing there.

    Attributes
    ----------
    marks : frozenset of Position
        The operators of edges for which every accepted edge changes the tracked word, which nobody
        reads: neither it nor what clears it needs memory.
    defined : dict of Position to frozenset of str
        The vectors that an operator of edges defines: it collects all of each word in a register,
        and in memory there is the word that changes nothing.
    """

    def __init__(self, program, first, read, collected):
        self._program, self._read = program, read
        self._events = reachable(*first)
        self._constants = self._find_constants(first)
        self.marks = self._find_marks()
        self.defined = {event.node.position: frozenset(
            vector for vector, word in collected(event.node).items()
            if self._constants[id(event)].get(vector) == word)
            for event in self._events
            if event.kind == "op" and isinstance(event.node, ir.EdgeSetIterator)}
        self._live = live_before(self._events, self._touched)

    def live(self, event) -> frozenset:
        """The vectors with words that are read from a step on, before they are all stored."""
        return self._live[id(event)]

    def _find_marks(self):
        read = set(self._program.outputs) | {
            part.vector for function in self._program.functions
            for part in ir.walk(*function.body) if isinstance(part, ir.VectorLoad)} | {
            node.vector for node in ir.instructions(self._program.body)
            if isinstance(node, ir.NewQueue)}
        found, others = {}, set()
        for event in self._events:
            node = event.node
            if event.kind != "op" or not isinstance(node, ir.EdgeSetIterator):
                continue
            start = self._constants[id(event)].get(node.tracking)
            reduces = [part for part in ir.walk(*self._program.function(node.apply_f).body)
                       if isinstance(part, ir.Reduce)]
            function = self._program.function(node.apply_f)
            accepted = function.body if node.to_filter is not None else \
                guarded(unconditional(function, node.tracking)[1])[1]
            changes = start is not None and node.tracking not in read and all(
                any(part is each for each in accepted)
                and function.parameter(part.index) == 1
                and _changes(part.operation, start, _word(part.value))
                for part in reduces if part.vector == node.tracking)
            if changes:
                found[node.position] = node.tracking
            others |= {part.vector for part in reduces} - ({node.tracking} if changes else set())
        return frozenset(place for place, vector in found.items() if vector not in others)

    # Words that are read again

    def _touched(self, event):
        """``(read, stored)``: the vectors that a step reads, and of which it stores all words."""
        node, none = event.node, frozenset()
        if event.kind == "flush":
            if node is None:
                return frozenset(self._program.outputs), none
            if isinstance(node, ir.NewQueue | ir.Dequeue | ir.EdgeSetIterator):
                return frozenset(vector.name for vector in self._program.vectors), none
            return none, none
        if event.kind != "op":
            return none, none
        if isinstance(node, ir.EdgeSetIterator):
            defined = self.defined[node.position]
            marks = {node.tracking} if node.position in self.marks else set()
            return self._read(node) - defined - marks, defined
        function = self._function(node)
        return _read_first(function), frozenset(stored_for_sure(function)) \
            if node.input_vset == ir.ALL else none

    def _function(self, node):
        name = next(name for field in ("apply_f", "filter", "function")
                    if (name := getattr(node, field, None)) is not None)
        return self._program.function(name)

    # Constants

    def _find_constants(self, first):
        """{id of a step: {vector: word}}, before it."""
        stored = {node.vector for node in ir.instructions(self._program.body)
                  if isinstance(node, ir.ElementStore)}
        begins = {vector.name: word for vector in self._program.vectors
                  if vector.name not in stored
                  and (word := _word(vector.initial)) is not None}
        found, waiting = {}, [(event, begins) for event in first]
        while waiting:
            event, words = waiting.pop()
            before = found.get(id(event))
            if before is not None:
                words = {name: word for name, word in before.items() if words.get(name) == word}
                if words == before:
                    continue
            found[id(event)] = words
            words = self._constants_behind(event, words)
            waiting += [(following, words) for following in event.after]
        return found

    def _constants_behind(self, event, words):
        if event.kind != "op":
            return words
        node = event.node
        if isinstance(node, ir.EdgeSetIterator):
            written = self._program.function(node.apply_f).writes()
            return {name: word for name, word in words.items() if name not in written}
        function = self._function(node)
        words = {name: word for name, word in words.items() if not any(
            (isinstance(part, ir.Reduce) and part.vector == name)
            or (isinstance(part, ir.VectorStore) and part.vector == name
                and _word(part.value) != word) for part in ir.walk(*function.body))}
        if getattr(node, "input_vset", None) == ir.ALL:
            words |= {vector: word for vector, value in stored_for_sure(function).items()
                      if (word := _word(value)) is not None and sum(
                          isinstance(part, ir.VectorStore) and part.vector == vector
                          for part in ir.walk(*function.body)) == 1}
        return words


@ir.once
def _read_first(function):
    """The vectors whose words a function of vertices reads before it stores them."""
    return frozenset(chained([function]).reads())


def _word(value):
    """The word of a literal, or None."""
    if not isinstance(value, ir.Literal) or value.type is Type.VERTEX \
            or (value.type in (Type.FIXED, Type.FRACTION) and value.value):
        return None
    return int(value.value)


def _changes(operation, word, value):
    """Whether a reduction by a value surely changes a word."""
    if value is None:
        return False
    return {"min": value < word, "max": value > word, "+": value != 0,
            "or": word | value != word}[operation]


def reachable(*first) -> list:
    """The steps that are reached from the first, each once."""
    found, waiting = {}, list(first)
    while waiting:
        step = waiting.pop()
        if id(step) not in found:
            found[id(step)] = step
            waiting += step.after
    return list(found.values())


def live_before(steps, touched) -> dict:
    """{id of a step: what is read from it on, before it is written}. ``touched(step)`` gives what a
    step reads, and what it writes."""
    live, uses = {id(step): frozenset() for step in steps}, [touched(step) for step in steps]
    changes = True
    while changes:
        changes = False
        for step, (read, written) in reversed([*zip(steps, uses)]):
            after = frozenset().union(*(live[id(each)] for each in step.after))
            found = after - written | read
            if found != live[id(step)]:
                live[id(step)], changes = found, True
    return live
