"""The host's part of a :mod:`.sweep`."""

from __future__ import annotations

from typing import Any

from sw.vm.reference import ReferenceMachine
from sw.compile.lower.loops.one_loop import BareMachine
from sw.compile.lower.machine import Begun


__all__ = ["MOST_ROUNDS", "RoundCounter", "SweepMachine"]


#: Most supersteps of a fused loop that the host counts beforehand.
MOST_ROUNDS = 1 << 20


class SweepMachine(BareMachine):
    """The host of a run. Without a session it performs what stands before the first round's edges,
    by the interpreter, and raises Begun there. With a session it launches kernels, and the
    interpreter keeps only the words that a sum of the host needs.

    Parameters
    ----------
    parent : Sweep
    session : object, optional
        As of :meth:`~sw.compile.algorithm.Algorithm.drive`.

    Attributes
    ----------
    rounds : int
        Rounds that were begun.
    """

    def __init__(self, parent, session=None):
        self._parent = parent
        self._session: Any = session
        self._host = ReferenceMachine(parent.program, parent.graph)
        self._all = self._host.make_set(None)
        self._waits = self._ahead = False
        self.rounds = 0

    def start(self, bits, arrays):
        self._host.start(bits, arrays)

    def size(self, vset):
        return len(self._all) if vset is None else vset

    def store(self, vector, vertex, word):
        self._host.store(vector, vertex, word)

    def words(self, vector):
        """The words of a vector that the interpreter has."""
        return self._host.read(vector)

    def vertices(self, node, vset, uniforms):
        if node.apply_f in self._parent.form.before and (
                self._session is None or self._parent.asks):
            self._host.vertices(node, self._all, uniforms)

    def edges(self, node, vset, uniforms):
        if self._session is None:
            raise Begun
        self._finish(more=True)
        self._ahead = False
        added = self._parent.begin_round(self._session, self.rounds)
        self.rounds += 1
        self._waits = True
        return added

    def _finish(self, more):
        """End the round that has begun; ``more`` tells whether another one follows."""
        if self._waits and not self._ahead:
            self._parent.end_round(self._session, self.rounds - 1, more)
        self._waits = False

    def total(self, node, vset, uniforms):
        self._finish(more=True)
        self._ahead = True
        for vector in self._parent.shown:
            self._host.fill(vector, self.read(vector))
        return self._host.total(node, self._all, uniforms)

    def read(self, vector):
        if self._session is None:
            raise Begun                 # there is no round
        self._finish(more=False)
        return self._session.read_vertices(self._parent.array(vector))


class RoundCounter(BareMachine):
    """Counts the rounds of a loop in which the host does not ask the machine anything.

    Parameters
    ----------
    size : int
        Vertices of the graph.

    Attributes
    ----------
    rounds : int
        They are counted to one more than :data:`MOST_ROUNDS`.
    """

    def __init__(self, size):
        self._size, self.rounds = size, 0

    def start(self, bits, arrays):
        pass

    def size(self, vset):
        return self._size

    def store(self, vector, vertex, word):
        pass

    def vertices(self, node, vset, uniforms):
        pass

    def edges(self, node, vset, uniforms):
        self.rounds += 1
        if self.rounds > MOST_ROUNDS:
            raise Begun

    def read(self, vector):
        raise Begun
