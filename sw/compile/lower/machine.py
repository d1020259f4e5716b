"""The device as a GraphVM, while it runs a program: operators are launches of kernels."""

import weakref
from typing import Any

import numpy as np

from sw.vm.host import Machine
from sw.compile.lower.kernels import INPUT, OTHER, OUTPUT, SLOTS, THRESHOLD, VERTEX, WORD


__all__ = ["Begun", "DeviceSet", "RtlMachine"]


class Begun(Exception):
    """The part of a program before its first operator is over."""


class DeviceSet:
    """A set of vertices in the device's memory.

    Parameters
    ----------
    number : int
        The number of its array.
    count : int or None
        Its vertices, if they were counted.
    """

    def __init__(self, number, count=None):
        self.number, self.count = number, count


class RtlMachine(Machine):
    """Launches kernels through a session.

    The first contents of memory hold the results of the instructions before the first operator. A
    machine without a session finds these: it raises :class:`Begun` at the first operator.

    Parameters
    ----------
    parent : ProgramAlgorithm
    session : object, optional
        As of :meth:`~sw.compile.algorithm.Algorithm.drive`.

    Attributes
    ----------
    supersteps : int
        Executions of operators of edges.
    """

    def __init__(self, parent, session=None):
        self._parent = parent
        self._session: Any = session
        self._free = list(range(parent.num_sets - 1, 0, -1))
        self._slots: dict[int, int] = {}
        self._turns: dict[int, int] = {}
        self.supersteps = 0
        self._begun = False
        self.arrays: dict[str, np.ndarray] = {}
        self.sets: dict[int, list] = {}

    def start(self, bits, arrays):
        self.arrays = arrays

    # Sets

    def _new(self, count=None):
        """A set in an array that no other set has."""
        vset = DeviceSet(self._free.pop(), count)
        weakref.finalize(vset, self._free.append, vset.number)
        return vset

    def make_set(self, vertices):
        if vertices is None:
            return DeviceSet(0, self._parent.graph.num_vertices)
        vertices = sorted(set(vertices))
        vset = self._new(len(vertices))
        if not self._begun:
            self.sets[vset.number] = vertices
            return vset
        self._output(vset)
        self._set(WORD, 0)
        self._launch("fill")
        for vertex in vertices:
            self._set_vertex(vertex)
            self._launch("include")
        return vset

    def size(self, vset):
        if vset.count is None:
            vset.count = int(self._device().read(f"set{vset.number}", 1)[0])
        return vset.count

    # Launches

    def _device(self):
        """The session. Raises Begun if there is none."""
        if self._session is None:
            raise Begun
        return self._session

    def _launch(self, kernel, argument=0):
        session = self._device()
        self._begun = True
        session.launch(kernel, argument)

    def _set(self, slot, word):
        """Give a slot its word."""
        if self._slots.get(slot) != word:
            self._launch(f"slot{slot}", word)
            self._slots[slot] = word

    def _set_vertex(self, vertex):
        """Give the slot of a vertex the device's number of one."""
        self._set(VERTEX, self._device().task.vertices.number(vertex))

    def _distance(self, vset):
        return self._parent.distance(vset.number)

    def _input(self, vset):
        self._set(INPUT, self._distance(vset))

    def _output(self, vset, slot=OUTPUT):
        """The set will be made: its place in a slot, its count 0."""
        self._slots[slot] = self._distance(vset)
        self._launch(f"output{slot}", self._slots[slot])

    # Operators

    def _begin(self, node, vset, uniforms):
        """Give an iterator its words and its input set, and make its copies. Returns its number.
        """
        number = self._parent.numbers[node.position]
        self._take(vset, uniforms)
        if self._parent.copied(node):
            self._launch(f"copy{number}")
        return number

    def _take(self, vset, uniforms):
        """Give a kernel its words of the host and its input set."""
        self._device()
        for node, word in uniforms.items():
            number = self._parent.slots.get(node)
            if number is not None:
                self._set(SLOTS + number, word)
        self._input(vset)

    def edges(self, node, vset, uniforms):
        number = self._begin(node, vset, uniforms)
        # Supersteps are told apart by the last bit of their numbers.
        self._turns[number] = self._turns.get(number, -1) + 1
        self._launch(f"edges{number}", self._turns[number])
        self.supersteps += 1
        if node.tracking is None:
            return None
        changed = self._new()
        self._output(changed)
        self._launch(f"changed{number}")
        return changed

    def vertices(self, node, vset, uniforms):
        self._launch(f"vertices{self._begin(node, vset, uniforms)}")

    def where(self, name, vset, uniforms):
        self._take(vset, uniforms)
        found = self._new()
        self._output(found)
        self._launch(f"where_{name}")
        return found

    def total(self, name, vset, uniforms):
        before = self._results()
        self._take(vset, uniforms)
        self._launch(f"total_{name}")
        return (self._results() - before) % (1 << 64)

    def _results(self):
        low, high = self._device().read("results", 2).tolist()
        return low | high << 32

    def join(self, vset, other):
        joined = self._new()
        self._input(vset)
        self._set(OTHER, self._distance(other))
        self._output(joined)
        self._launch("join")
        return joined

    def split(self, vset, vector, threshold):
        parts = self._new(), self._new()
        self._input(vset)
        self._set(THRESHOLD, threshold % (1 << 32))
        for part, slot in zip(parts, (OUTPUT, OTHER)):
            self._output(part, slot)
        self._launch(f"split_{vector}")
        return parts

    def least(self, vset, vector):
        self._input(vset)
        self._launch("infinite")
        self._launch(f"least_{vector}")
        return int(self._device().read("least", 1)[0])

    def store(self, vector, vertex, word):
        if not self._begun:
            self.arrays[vector][vertex] = word
            return
        self._set_vertex(vertex)
        self._set(WORD, word)
        self._launch(f"store_{vector}")

    def read(self, vector):
        return self._device().read_vertices(self._parent.array(vector))
