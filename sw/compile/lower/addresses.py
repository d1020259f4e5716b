"""Words that stand for vertices as addresses, so that following a word takes one load."""

from __future__ import annotations

from typing import Any

import numpy as np

from sw.compile.lower.dependence import behind_beginning
from sw.lang import facts
from sw.lang import graph_ir as ir
from sw.lang.facts import known
from sw.lang.types import WORD, Type
from sw.lang.uses import calls


__all__ = ["Addresses"]


class Addresses:
    """The vectors of a program whose words are addresses of vertices in the device's memory: all
    that have vertices, if functions go on from the vertices in words, and do nothing with them but
    what addresses can stand for.

    Parameters
    ----------
    program : GraphProgram
    array : callable
        ``array(vector)``: the name of a vector's array.

    Attributes
    ----------
    vectors : set of str
    array : str or None
        The array in which the addresses are; None if there are no such vectors.
    """

    def __init__(self, program, array):
        names = [vector.name for vector in program.vectors if vector.type is Type.VERTEX]
        self.vectors = set(names) if names and _fit(program, names) else set()
        self.array = array(names[0]) if self.vectors else None
        loops = [(node, fact.vector) for node in ir.instructions(program.body)
                 if isinstance(node, ir.WhileLoop)
                 and (fact := known(node, facts.OrderFree)) is not None]
        self._order_free = {vector for _, vector in loops}
        self._read_behind = _read_outside(program, [node for node, _ in loops])

    @property
    def any_order(self) -> bool:
        """Whether vertices may be ordered anew: every order gives each component the same word, and
        nobody asks which of its vertices the word is."""
        return self._are_labels and self.vectors.isdisjoint(self._read_behind)

    @property
    def _are_labels(self):
        return bool(self.vectors) and self.vectors <= self._order_free

    def follows(self, vectors) -> bool:
        """Whether words of these vectors, also those behind the last vertex, are vertices from
        which functions may go on without a test."""
        return self._are_labels and vectors <= self.vectors

    def fill(self, task, array, words):
        """Fill an array with the vertices ``words``. Behind the last vertex each word is
        its own."""
        buffers, places = task.buffers, task.vertices
        first = buffers.address(self.array)
        numbers = np.arange(buffers.words(array), dtype=np.uint32)
        found = places.to_device(words)
        some = found != WORD - 1
        if places.new_ids is not None:
            found = np.where(some, places.new_ids[np.where(some, found, 0)], found)
        filled = np.uint32(first) + 4 * numbers
        filled[:len(found)] = np.where(some, np.uint32(first) + 4 * found.astype(np.uint32), found)
        buffers.fill(array, filled)

    def read(self, session, vector, array):
        """The words of a vector, from its array."""
        words = session.read_vertices(array)
        return self._numbers(session, words) if vector in self.vectors else words

    def _numbers(self, session, words):
        """The vertices that words of the graph's vertices are addresses of. If vertices are ordered
        anew, the component's smallest vertex by the graph's numbers stands for its word. A word
        that is no vertex stays, so that the comparison with the reference finds it."""
        task = session.task
        found = (words - np.uint32(task.buffers.address(self.array))) >> np.uint32(2)
        found = np.where(words == WORD - 1, words, found).astype(np.uint32)
        if task.new_ids is not None:
            own = np.arange(len(found), dtype=np.uint32)
            smallest = np.full_like(own, len(own))
            vertex = found < len(own)
            np.minimum.at(smallest, found[vertex], own[vertex])
            found[vertex] = smallest[found[vertex]]
        return found


def _read_outside(program, loops):
    """The vectors that functions read that are called outside of these loops."""
    inside = {id(node) for node in ir.instructions(tuple(loops))}
    names = {name for node in ir.instructions(program.body) if id(node) not in inside
             for name in calls(node)}
    return set().union(*(program.function(name).reads() for name in names))


def _fit(program, names):
    """Whether addresses can stand for the vertices in these vectors."""
    nodes: list[Any] = [(function, node) for function in program.functions
                        for node in ir.walk(*function.body)]
    indices = [(function, getattr(node, "vertex" if isinstance(node, ir.Degree) else "index", None))
               for function, node in nodes]
    goes_on = any(index is not None and function.parameter(index) is None
                  for function, index in indices)
    stored = {node.vector for node in ir.instructions(behind_beginning(program))
              if isinstance(node, ir.ElementStore)} | {
        node.vector for node in ir.instructions(program.body) if isinstance(node, ir.NewQueue)}
    return (goes_on and not any(_needs_number(node) for _, node in nodes)
            and stored.isdisjoint(names)
            and all(known(program.vector(name), facts.Addressable) for name in names))


def _needs_number(node):
    """Whether a node of a function has a vertex as a number, or gives one."""
    match node:
        case ir.Uniform():
            return node.type is Type.VERTEX
        case ir.Literal():
            return node.type is Type.VERTEX and node.value != WORD - 1
        case ir.Unary():
            return Type.VERTEX in (node.type, getattr(node.operand, "type", None))
        case ir.Give():
            return node.value.type is Type.VERTEX
    return False
