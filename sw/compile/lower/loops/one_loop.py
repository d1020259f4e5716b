"""Programs that are one loop: what the forms of loops have in common.

Such a program is a beginning, which the host performs before the device starts, and then one loop.
The whole loop becomes an :class:`~sw.compile.algorithm.Algorithm` with a frontier of the kernel
compiler, and takes every schedule that hand-written kernels could take. A form of loops is a class
that recognizes its loops by GraphIR (:meth:`~sw.compile.lower.run.ProgramRun.form_of`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from sw.lang import graph_ir as ir
from sw.vm.host import Machine, perform
from sw.compile.lower.emitter import Emitter
from sw.compile.lower.run import ProgramRun, frozen, of_graph


__all__ = ["BEGINNING", "BareMachine", "Beginning", "LoopRun", "at_parameter", "loads",
           "only_loop", "start_of"]


#: Instructions of the host that may stand before the loop.
BEGINNING = ir.Assign | ir.ElementStore | ir.NewVertexSet | ir.NewQueue


def only_loop(program):
    """The loop at a program's end, if nothing but a beginning stands before it; else None."""
    *before, loop = program.body or (None,)
    if isinstance(loop, ir.WhileLoop) and all(isinstance(node, BEGINNING) for node in before):
        return loop
    return None


def start_of(program, name):
    """The expression of the vertex with which a set or queue begins, if it is one vertex; else
    None."""
    for node in program.body:
        if isinstance(node, ir.NewVertexSet | ir.NewQueue) and node.name == name:
            return node.vertices[0] if len(node.vertices) == 1 else None
    return None


@dataclasses.dataclass(frozen=True, eq=False)
class Beginning:
    """The state of a run before its loop."""
    arrays: dict  #: dict of str to uint32 array. By the names of the vectors.
    #: dict of str to value. The host's variables. Sets are lists of vertices; the set of all
    #: vertices is None.
    values: dict
    queues: dict  #: dict of str to WaitingQueue
    word: Callable[[Any], int]  #: The word of a Uniform.


class _AtLoop(Exception):
    """The beginning is over."""


class BareMachine(Machine):
    """A machine for programs of a form, which have no other operators than those of the form."""

    def make_set(self, vertices) -> Any:
        return vertices

    def size(self, vset) -> int:
        raise self._absent("size")

    def edges(self, node, vset, uniforms) -> Any:
        raise self._absent("edges")

    def vertices(self, node, vset, uniforms):
        raise self._absent("vertices")

    def where(self, node, vset, uniforms) -> Any:
        raise self._absent("where")

    def total(self, node, vset, uniforms) -> int:
        raise self._absent("total")

    def join(self, vset, other) -> Any:
        raise self._absent("join")

    def split(self, vset, vector, threshold) -> tuple[Any, Any]:
        raise self._absent("split")

    def least(self, vset, vector) -> int:
        raise self._absent("least")

    def read(self, vector) -> np.ndarray:
        raise self._absent("read")

    @staticmethod
    def _absent(operator):
        return AssertionError(f"a program of this form has no {operator}")


class _BeginningMachine(BareMachine):
    """Performs a beginning. Its sets are lists of vertices.

    Parameters
    ----------
    loop : callable
        Called for the loop, with the arrays and what :meth:`~sw.vm.host.Machine.loop` gets.
    """

    def __init__(self, loop):
        self._loop = loop
        self._arrays: dict[str, np.ndarray] = {}

    def start(self, bits, arrays):
        self._arrays = arrays

    def store(self, vector, vertex, word):
        self._arrays[vector][vertex] = word

    def loop(self, node, values, queues, evaluate, word):
        return self._loop(self._arrays, values, queues, word)


class LoopRun(ProgramRun):
    """One run of a program of one loop."""

    def __init__(self, graph, **given):
        super().__init__(graph, **given)
        _ = self.beginning              # refuses values that do not fit

    @of_graph
    def beginning(self) -> Beginning:
        """The state before the loop."""
        found = []

        def stop(*state):
            found.append(Beginning(*state))
            raise _AtLoop

        with contextlib.suppress(_AtLoop):
            perform(self.program, self.graph, _BeginningMachine(stop), self._values, self.bits)
        frozen(found[0].arrays)
        return found[0]

    # Memory

    @functools.cached_property
    def vectors(self) -> list:
        """The vectors in the device's memory: the outputs, and those that functions read or
        change."""
        used = set(self.program.outputs)
        for function in self.program.functions:
            used |= function.reads() | function.writes()
        return [vector.name for vector in self.program.vectors if vector.name in used]

    def reserve(self, task):
        self.reserve_arrays(task, map(self.array, self.vectors))

    def fill(self, task, rest):
        """Fill the vectors; ``rest`` has the words behind the last vertex, by vector."""
        self.fill_arrays(task, {name: self.beginning.arrays[name] for name in self.vectors}, rest)

    # Kernels

    def emitter(self, k, known=None):
        """An Emitter for functions whose words of the host are constants."""
        return Emitter(k, self.bits, lambda node: k.constant(self.beginning.word(node)),
                       self.array, {}, known)


def loads(node):
    """The VectorLoads in an expression or statement."""
    return [part for part in ir.walk(node) if isinstance(part, ir.VectorLoad)]


def at_parameter(function, index, number):
    """Whether an expression is the function's parameter of that number."""
    return isinstance(index, ir.Local) and index.name in function.parameters[number:number + 1]
