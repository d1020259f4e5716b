"""A program in C, for all machines that compile it: what the code of operators has in common.

Operators and functions become structs of static functions. An operator of edges has one for each
direction: ``passes`` is its filter of destinations, ``edge`` performs an edge, and ``finish``
reduces what was gathered for a row (:mod:`sw.vm.operator_facts`); ``whole`` says that nobody else
gathers for it. Templates of the machine's own perform them: ``kernels.h`` of the cpu,
``runtime.cuh`` of cuda. There ``Edges<pull, transposed, every>`` has what a direction needs;
``every`` says that all vertices are in the input.
"""

import abc
import string
from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.facts import Deferred, known
from sw.vm.c_code import HELPERS, Faults, FunctionCode
from sw.vm.operator_facts import OperatorFacts, of_edges, of_vertices


__all__ = ["ProgramCode"]


_EDGES = string.Template("""
struct $name : Edges<$pull, $transposed, $every> {
    static constexpr bool weighted = $weighted, gathers = $gathers, exits = $exits;
    static constexpr bool tests = $tests, test_fails = $test_fails;
    struct Local {
$local        bool done = false;
    };
    INLINE bool passes(const Call &call, word $vertex) {
$test    }
    INLINE void edge(const Call &call, word $source, word $target, word$weight, Local &local) {
$body    }
    template <class Over> INLINE void combine(Local &local, Over over) {
$combine    }
    template <bool whole> INLINE void finish(const Call &call, word row, const Local &local) {
$finish    }
};
""")

_VERTICES = string.Template("""
struct $name {
    INLINE $type vertex(const Call &call, word $parameter) {
$body    }
};
""")


class ProgramCode(abc.ABC):
    """The text of a program.

    Parameters
    ----------
    program : GraphProgram
        After the passes up to :data:`sw.lang.passes.CHOSEN`.
    owners : bool
        As of :func:`~sw.vm.operator_facts.of_edges`.

    Attributes
    ----------
    vectors : tuple of str
        By number.
    edges, vertices : dict of Position to int
        The numbers of operators.
    functions : dict of str to int
        The numbers of functions, of which those of vertices that give a result are in the text.
    uniforms : dict of Uniform to int
        The places of values of the host.
    literals : dict of Literal to int
        The places of literals of fixed point, whose words depend on the number of fraction bits
        (:func:`~sw.vm.c_code.literal_words`).
    faults : Faults
    loops : dict of Position to FusedLoop
        The loops that are in the text.
    """

    def __init__(self, program, owners):
        self.program, self._owners = program, owners
        self.vectors = tuple(vector.name for vector in program.vectors)
        self.functions = {function.name: i for i, function in enumerate(program.functions)}
        self.edges: dict[Any, int] = {}
        self.vertices: dict[Any, int] = {}
        self.uniforms: dict[ir.Uniform, int] = {}
        self.literals: dict[ir.Literal, int] = {}
        self.faults = Faults()
        self.loops: dict[Any, Any] = {}
        #: Names of functions and places of operators that can fail.
        self._failing: set[Any] = set()
        #: {place of an operator: the faults of the vectors whose candidates it may lose}.
        self._losing: dict[Any, dict[str, int]] = {}
        self._parts: list[str] = []

    def number(self, vector) -> int:
        """The number of a vector."""
        return self.vectors.index(vector)

    def fails(self, key) -> bool:
        """Whether an operator, by its position, or a function of vertices, by its name, can
        fail."""
        return key in self._failing

    def facts(self, node, pull=False) -> OperatorFacts:
        """Those of an operator of edges in a direction, or of vertices."""
        if isinstance(node, ir.VertexSetIterator):
            return of_vertices(node)
        return of_edges(self.program, node, pull, self._owners)

    # For machines

    @abc.abstractmethod
    def _edge_operator(self, node):
        """Write an EdgeSetIterator."""

    @abc.abstractmethod
    def _vertex_operator(self, node, name):
        """Write what performs a VertexSetIterator, whose struct has this name."""

    @abc.abstractmethod
    def _vertex_function(self, number, name):
        """Write what performs filters and sums by a function of vertices, whose struct has this
        name."""

    def _queue(self, number):  # noqa: B027
        """Write what parts queues in the order of the vector with this number."""

    @abc.abstractmethod
    def _loop(self, node, number):
        """The :class:`~sw.vm.loop_code.LoopCode` of a loop; None if the host performs it."""

    # The text

    def _write(self, before, sizes) -> str:
        """The text. Before the program's own part stands what the machine has of its own, and
        before that the sizes, of at least 1, that ``sizes()`` gives when all else is written."""
        for node in ir.instructions(self.program.body):
            match node:
                case ir.EdgeSetIterator() if node.position not in self.edges:
                    self.edges[node.position] = len(self.edges)
                    self._edge_operator(node)
                case ir.VertexSetIterator() if node.position not in self.vertices:
                    number = self.vertices[node.position] = len(self.vertices)
                    self._vertex_operator(node, self._vertex_struct(
                        f"Vertices{number}", node.apply_f, self.facts(node), node.position))
        for vector in sorted({node.vector for node in ir.instructions(self.program.body)
                              if isinstance(node, ir.NewQueue)}):
            self._queue(self.number(vector))
        for name, number in self.functions.items():
            function = self.program.function(name)
            if function.gives is not None and not function.of_edge:
                self._vertex_function(number, self._vertex_struct(
                    f"Function{number}", name, OperatorFacts(), name))
        for node in ir.instructions(self.program.body):
            if isinstance(node, ir.WhileLoop | ir.ForLoop):
                loop = self._loop(node, len(self.loops))
                if loop is not None:
                    self._parts.append(loop.text())
                    self.loops[node.position] = loop.fused
        sizes = sizes() | {"VECTORS": len(self.vectors), "UNIFORMS": len(self.uniforms),
                  "LITERALS": len(self.literals)}
        defined = "".join(f"#define {name} {max(size, 1)}\n" for name, size in sizes.items())
        return "\n".join([defined, before, HELPERS, *self._parts])

    def _vertex_struct(self, name, function, facts, key):
        code = FunctionCode(self, self.program.function(function), facts)
        body = code.body("        ")
        if code.result is not None:
            body += f"        return {code.result};\n"
        self._parts.append(_VERTICES.substitute(
            name=name, parameter=code.parameters[0], body=body,
            type="void" if code.result is None else "word"))
        self._losing.setdefault(key, {}).update(code.losing)
        if code.can_fail or code.losing:
            self._failing.add(key)
        return name

    def _edge_struct(self, node, direction):
        """Write the struct of an operator of edges in a direction. Returns whether its
        filter can fail."""
        pull = direction == "pull"
        name, facts = f"Edges{self.edges[node.position]}{direction}", self.facts(node, pull)
        test, test_fails, vertex = "        return true;\n", False, "vertex"
        if node.to_filter is not None:
            code = FunctionCode(self, self.program.function(node.to_filter), facts)
            test = code.body("        ") + f"        return {code.result};\n"
            test_fails, [vertex] = code.can_fail, code.parameters
        code = FunctionCode(self, self.program.function(node.apply_f), facts)
        body = code.body("        ")
        source, target, *weight = code.parameters
        indented = ["".join(f"        {line}\n" for line in text.splitlines())
                    for text in code.gathered()]
        flags = {"pull": pull, "transposed": node.transposed, "every": node.input_vset == ir.ALL,
                 "weighted": bool(weight), "gathers": bool(facts.gathered), "exits": facts.exits,
                 "tests": node.to_filter is not None, "test_fails": test_fails}
        self._parts.append(_EDGES.substitute(
            {flag: str(value).lower() for flag, value in flags.items()}, name=name, vertex=vertex,
            test=test, source=source, target=target, weight="".join(f" {name}" for name in weight),
            body=body, **dict(zip(("local", "combine", "finish"), indented))))
        self._losing.setdefault(node.position, {}).update(code.losing)
        if code.can_fail or test_fails or (code.losing and known(node, Deferred) is None):
            self._failing.add(node.position)
        return test_fails
