"""The common part of all runs of a program on the device."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from base.errors import UserError
from sw.compile.algorithm import Algorithm, VertexName
from sw.compile.lower.emitter import degrees
from sw.compile.lower.queues import choose_delta
from sw.lang import graph_ir as ir
from sw.lang.needs import check_graph
from sw.lang.types import WORD, Type
from sw.vm import reach
from sw.vm.arguments import arguments, moved
from sw.vm.host import ProgramResult, perform
from sw.vm.reference import ReferenceMachine


__all__ = ["ProgramRun", "frozen", "of_graph"]


def of_graph(method) -> Any:
    """A cached property of runs. All runs of a class on one graph with equal parameters share its
    value, which nobody may change: its arrays are :func:`frozen`."""
    @functools.wraps(method)
    def value(self):
        key = type(self), method.__qualname__, *self._values.items()
        if key not in self.graph.derived:
            self.graph.derived[key] = method(self)
        return self.graph.derived[key]

    return functools.cached_property(value)


def frozen(arrays) -> dict:
    """``arrays``, a dict of arrays, which cannot be written from now on."""
    for array in arrays.values():
        array.setflags(write=False)
    return arrays


class ProgramRun(Algorithm):
    """One run of a program; :func:`~.algorithm.algorithm_of` makes a class for each program.

    Parameters
    ----------
    graph : Graph
    **given
        Parameters of the program.

    Attributes
    ----------
    MODEL : str
        The interpreter of the text; without a :attr:`check`, the name says that nothing else
        judges a result.
    text : GraphProgram
        The program as it is written, which the interpreter runs.
    program : GraphProgram
        The program, after all passes.
    delta_argument : str or None
        As of :func:`~.queues.delta_argument`.
    ways : sequence of str
        Of a hybrid that has run: the way of each execution of an operator of edges.
    """
    ways: Any = ()
    delta_argument: str | None = None
    directions = ("push", "pull")
    text: Any = None
    program: Any = None

    def __init__(self, graph, **given):
        super().__init__(graph)
        check_graph(self.program, graph)
        self._given = self.numbers_of(graph, given)
        self._values = arguments(self.program, self._given, graph)

    @classmethod
    def numbers_of(cls, graph, given) -> dict:
        """The parameters of a run, with numbers in place of names of vertices and of the words that
        may stand for a number: ``"auto"`` for a delta is :func:`~.queues.choose_delta`, and None
        is infinity. Raises UserError if a delta is out of range."""
        found = {name: graph.vertex(value) if cls.options[name][0] is VertexName
                 and (isinstance(value, str) or graph.names is not None) else value
                 for name, value in given.items()}
        name = cls.delta_argument
        if name in found:
            if found[name] in ("auto", None):
                found[name] = WORD - 1 if found[name] is None else choose_delta(graph)
            if not 0 < operator.index(found[name]) < WORD:
                raise UserError(f"{cls.name}: {name} is {found[name]}, must be from 1 to "
                                f"{WORD - 1}, or auto")
        return found

    @staticmethod
    def array(vector) -> str:
        """The name of a vector's array."""
        return f"vector_{vector}"

    @functools.cached_property
    def used_degrees(self) -> list:
        """The arrays of degrees that functions read."""
        return sorted({degrees(node.leaving) for node in ir.walk(*self.program.functions)
                       if isinstance(node, ir.Degree)})

    @of_graph
    def _interpreted(self):
        """The largest words of the interpreter's vectors (:meth:`largest`), and its result."""
        machine = ReferenceMachine(self.text, self.graph)
        result = perform(self.text, self.graph, machine, self._values)
        frozen(result.outputs)
        return machine.largest, result

    @property
    def _reference(self):
        """The result by the interpreter."""
        return self._interpreted[1]

    def largest(self, vector) -> int:
        """The largest word that a vector has between two operators of a run."""
        return self._interpreted[0][vector]

    @of_graph
    def bits(self) -> int:
        """Fraction bits of fixed point."""
        fixed = any(getattr(node, "type", None) is Type.FIXED for node in ir.walk(self.program))
        return (self._reference.fraction_bits or 0) if fixed else 0

    @property
    def may_fail(self) -> bool:
        """Whether a value may not fit (:mod:`sw.lang.faults`), as far as it is known without the
        interpreter."""
        return True

    def check_words(self):
        """Refuse a run with a value that does not fit, before the device begins: kernels notice
        nothing. The interpreter finds it."""
        if self.may_fail:
            _ = self._reference

    # Memory

    def fill_arrays(self, task, vectors, rest=None):
        """Fill the arrays of vectors and of degrees.

        Parameters
        ----------
        task : Task
        vectors : dict of str to uint32 array
            The words of the graph's vertices.
        rest : dict of str to int, optional
            The words behind the last vertex, by vector; else 0.
        """
        fill, to_device = task.buffers.fill, task.vertices.to_device
        for name, words in vectors.items():
            fill(self.array(name), to_device(words), (rest or {}).get(name, 0))
        for name in self.used_degrees:
            fill(name, to_device(getattr(self.graph, name).astype(np.uint32)))

    # Results

    def outputs(self, session):
        return {name: session.read_vertices(self.array(name)) for name in self.program.outputs}

    def derived(self, outputs):
        """``fraction_bits``, and each output of fixed point as float64, if there is any."""
        fixed = [name for name in outputs if self.program.vector(name).type is Type.FIXED]
        if not fixed:
            return {}
        result = ProgramResult(outputs, self.bits, 0, self.program.shares)
        return {"fraction_bits": np.int64(self.bits)} | {
            f"{name}_float": result.decimal(name) for name in fixed}

    def golden(self):
        return self._reference.outputs

    def fault(self, outputs):
        return self.fault_of(self.graph, self._values, outputs, self.bits)

    @classmethod
    def fault_of(cls, graph, values, outputs, bits) -> str | None:
        """As :meth:`fault`, of outputs of any machine with these parameters and fraction bits."""
        if cls.check is None:
            return None
        words = {name: array.view(np.uint32) for name, array in outputs.items()}
        return cls.check.fault(graph, values, words, bits or 0)

    def starts(self):
        return reach.starts(self.program, self._values)

    def reached(self, outputs):
        return reach.reached(self.program, outputs, self.bits)

    def notes(self, reached):
        return [*self.program.notes, *moved(self.program, self._given, self._values),
                *reach.notes(self.program, self._values, reached, self.graph)]

    def parameters(self):
        found: dict[str, Any] = {
            name: float(value) if argument.type is Type.DECIMAL else int(value)
            for argument in self.program.arguments
            for name, value in [(argument.name, self._values[argument.name])]}
        name = self.delta_argument
        if name is not None and found[name] == WORD - 1:
            found[name] = None
        return found | ({"directions": self.ways} if self.ways else {})
