"""The common part of all runs of a program on the device."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from sw.kernels.algorithm import Algorithm
from sw.lang import graph_ir as ir
from sw.lang.types import Type
from sw.vm.host import ProgramResult, arguments, perform
from sw.vm.reference import ReferenceMachine


__all__ = ["ProgramRun"]


class ProgramRun(Algorithm):
    """One run of a program; :func:`sw.vm.rtl.algorithm_of` makes a class for each program.

    Parameters
    ----------
    graph : Graph
    **given
        Parameters of the program.

    Attributes
    ----------
    program : GraphProgram
        The program, after all passes.
    """
    directions = ("push", "pull")
    program: Any = None

    def __init__(self, graph, **given):
        super().__init__(graph)
        self._values = arguments(self.program, self.numbers_of(graph, given), graph.num_vertices)

    @classmethod
    def numbers_of(cls, graph, given) -> dict:
        """The parameters of a run, with numbers in place of the words that may stand for one: for
        ``"hub"`` the vertex with the most out-arcs."""
        return {name: graph.hub if value == "hub" else value for name, value in given.items()}

    @staticmethod
    def array(vector) -> str:
        """The name of a vector's array."""
        return f"vector_{vector}"

    @staticmethod
    def degrees(leaving) -> str:
        """The name of the array of degrees."""
        return "out_degrees" if leaving else "in_degrees"

    @functools.cached_property
    def used_degrees(self) -> list:
        """The arrays of degrees that functions read."""
        return sorted({self.degrees(node.leaving) for node in ir.walk(*self.program.functions)
                       if isinstance(node, ir.Degree)})

    @functools.cached_property
    def _interpreted(self):
        """The interpreter after its run, and the result."""
        machine = ReferenceMachine(self.program, self.graph)
        return machine, perform(self.program, self.graph, machine, self._values)

    @property
    def _reference(self):
        """The result by the interpreter."""
        return self._interpreted[1]

    def largest(self, vector) -> int:
        """The largest word that a vector has between two operators of a run."""
        return self._interpreted[0].largest[vector]

    @functools.cached_property
    def bits(self) -> int:
        """Fraction bits of fixed point."""
        fixed = any(getattr(node, "type", None) is Type.FIXED for node in ir.walk(self.program))
        return (self._reference.fraction_bits or 0) if fixed else 0

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

    def parameters(self):
        return {name: float(value) if argument.type is Type.DECIMAL else int(value)
                for argument in self.program.arguments
                for name, value in [(argument.name, self._values[argument.name])]}
