"""Functions of a program as text that is both C++ and CUDA C.

A word is a ``word`` (uint32_t). An expression of GraphIR becomes one expression of C, whose value
is that of :mod:`sw.vm.evaluate`; :data:`HELPERS` has the functions that the text calls.

An error does not end a call. The call goes on with some legal word and reports a *fault*: its
number, which counts the places of possible faults in the order in which the reference evaluates
them, and a detail. The least report of all calls is the error that the reference finds.
"""

import abc
import dataclasses
import re
from typing import Any

from sw.errors import UserError
from sw.lang import graph_ir as ir
from sw.lang.types import WORD, Type
from sw.vm.evaluate import DoesNotFitFixed, fixed_word


__all__ = ["HELPERS", "ProgramFault", "FunctionCode", "literal_words"]


#: Functions that the text calls. Before them stand the types ``word`` and ``wide`` (of 32 and 64
#: unsigned bits), the macros ``INLINE`` (``static inline`` or ``__device__``) and ``ERRORS`` (the
#: type of where errors go), and ``report(errors, fault, detail)``.
HELPERS = """\
INLINE word least(word a, word b) { return a < b ? a : b; }
INLINE word greatest(word a, word b) { return a > b ? a : b; }
INLINE word saturated(wide a) { return a >> 32 ? 0xffffffffu : (word)a; }
INLINE word difference(word a, word b) { return a > b ? a - b : 0; }
INLINE word divided(word a, word b) { return b ? a / b : 0xffffffffu; }
INLINE word modulo(word a, word b) { return b ? a % b : a; }
INLINE word scaled(word a, word fraction) { return (word)((wide)a * fraction >> 32); }
INLINE word reciprocal(word a) {
    return a > 1 ? (word)(((wide)1 << 32) / a) : a ? 0xffffffffu : 0;
}
INLINE word fits(ERRORS errors, word fault, wide a) {
    if (a >> 32) report(errors, fault, 0);
    return (word)a;
}
INLINE word fixed_difference(ERRORS errors, word fault, word a, word b) {
    if (a < b) report(errors, fault, 0);
    return a - b;
}
INLINE word quotient(ERRORS errors, word fault, word a, word b) {
    if (!b) report(errors, fault, 0);
    return b ? a / b : 0;
}
INLINE word checked(ERRORS errors, word fault, word index, word num_vertices) {
    if (index < num_vertices) return index;
    report(errors, fault, ~index);
    return 0;
}
"""

_SIMPLE = {"&": "({} & {})", "|": "({} | {})", "^": "({} ^ {})", "<<": "({} << ({} & 31))",
           ">>": "({} >> ({} & 31))", "min": "least({}, {})", "max": "greatest({}, {})",
           "//": "divided({}, {})", "%": "modulo({}, {})", "times": "saturated((wide){} * {})",
           "and": "(word)({} && {})", "or": "(word)({} || {})",
           **{name: f"(word)({{}} {name} {{}})" for name in ("==", "!=", "<", "<=", ">", ">=")}}


@dataclasses.dataclass(frozen=True)
class ProgramFault:
    """A place of a program where a run may fail.

    Parameters
    ----------
    kind : str
        ``index``, ``fits``, ``below`` (a difference), ``division`` or ``sum`` (of a reduction).
    node : Node
    """
    kind: str
    node: Any

    def error(self, program, num_vertices, bits, detail) -> UserError:
        """The error as the reference raises it.

        Parameters
        ----------
        program : GraphProgram
        num_vertices : int
        bits : int
            Fraction bits of FIXED.
        detail : int
            The detail that was reported: of an index its complement, of a sum the vertex.
        """
        node, at = self.node, self.node.position
        match self.kind:
            case "index":
                index = detail ^ WORD - 1
                what = "the degree of" if isinstance(node, ir.Degree) else node.vector
                return UserError(f"{at}: {what}[{index}]: there is no such vertex; the graph has "
                                 f"{num_vertices}")
            case "fits":
                return DoesNotFitFixed(f"{at}: a value of fixed point does not fit in a word with "
                                       f"{bits} fraction bits")
            case "below":
                return UserError(f"{at}: a difference of fixed point is below 0")
            case "division":
                return UserError(f"{at}: division by 0")
        kind = DoesNotFitFixed if program.vector(node.vector).type is Type.FIXED else UserError
        return kind(f"{at}: {node.vector}[{detail}] does not fit in 32 bits")


def literal_words(literals, bits) -> list[int]:
    """The words of literals of fixed point, of up to 64 bits; larger ones stop at that."""
    return [min(fixed_word(node.value, bits), WORD * WORD - 1) for node in literals]


class FunctionCode(abc.ABC):
    """Writes the body of a function. A GraphVM says how memory is reached.

    Parameters
    ----------
    function : Function
    faults : list of ProgramFault
        Possible faults of the program; those of the function are appended. A fault's number is its
        place in the list.
    literals : list of Literal
        Literals of fixed point of the program; those of the function are appended. Their words
        depend on the number of fraction bits (:func:`literal_words`).

    Attributes
    ----------
    parameters : list of str
        The parameters' names in C, which the code around the body defines.
    uniforms : list of Uniform
        The function's values that are the same for all calls, by number.
    result : str or None
        The expression of C that the function gives, once the body is written. If the function has
        no result, None.
    can_fail : bool
        Whether the function has possible faults, once the body is written.
    """

    #: The expression of C for where errors go.
    errors = "errors"

    #: The expression of C for the number of vertices.
    num_vertices = "num_vertices"

    def __init__(self, function, faults, literals):
        self.function, self._faults, self._literals = function, faults, literals
        self._names: dict[str, str] = {}
        self._sums: dict[str, int] = {}
        self.parameters = [self._local(name) for name in function.parameters]
        self.uniforms: list[ir.Uniform] = []
        self.result: str | None = None
        self.can_fail = False
        self._stored = {node.vector for node in ir.walk(*function.body)
                        if isinstance(node, ir.VectorStore)}

    # For GraphVMs

    @abc.abstractmethod
    def load(self, vector, index, live) -> str:
        """The expression of an element; ``live`` is whether it is the word of now, which only this
        call changes, and not that of the operator's start."""

    @abc.abstractmethod
    def store(self, vector, index, value) -> str:
        """The statement that stores an element of the function's own vertex."""

    @abc.abstractmethod
    def reduce(self, node, index, value, fault) -> str:
        """The statement of a Reduce. ``fault`` is the number to report, with the vertex as detail,
        if a sum passes 32 bits; None if the operation is no sum."""

    @abc.abstractmethod
    def degree(self, vertex, leaving) -> str:
        """The expression of a vertex's number of arcs."""

    def uniform(self, number) -> str:
        """The expression of a Uniform's word."""
        return f"uniform{number}"

    def literal(self, number) -> str:
        """The expression of a word of :func:`literal_words`, of 64 bits."""
        return f"literal{number}"

    # Statements

    def body(self, indent="    ") -> str:
        """The statements of the function, and the declarations of its variables."""
        statements = self._block(self.function.body, indent)
        variables = [name for name in self._names.values() if name not in self.parameters]
        return "".join(f"{indent}word {name} = 0;\n" for name in variables) + statements

    def _block(self, body, indent):
        return "".join(self._statement(node, indent) for node in body)

    def _statement(self, node, indent):
        match node:
            case ir.Let():
                value = self.value(node.value)
                return f"{indent}{self._local(node.name)} = {value};\n"
            case ir.VectorStore():
                index = self.value(node.index)
                return f"{indent}{self.store(node.vector, index, self.value(node.value))}\n"
            case ir.Reduce():
                index, value = self._checked(node, node.index), self.value(node.value)
                fault = None
                if node.operation == "+":
                    # The order of several sums decides which of them passes 32 bits.
                    fault = self._sums.get(node.vector)
                    if fault is None:
                        fault = self._sums[node.vector] = self._fault("sum", node)
                return f"{indent}{self.reduce(node, index, value, fault)}\n"
            case ir.Branch():
                inner = indent + "    "
                condition = self.value(node.condition)
                then = self._block(node.then, inner)
                otherwise = self._block(node.otherwise, inner)
                return (f"{indent}if ({condition}) {{\n{then}{indent}}} else {{\n{otherwise}"
                        f"{indent}}}\n")
            case ir.Give():
                self.result = self.value(node.value)
        return ""

    def _local(self, name) -> str:
        """A variable's name in C."""
        plain = re.sub(r"\W", "_", name, flags=re.ASCII)
        return self._names.setdefault(name, f"l{len(self._names)}_{plain}")

    def _fault(self, kind, node):
        self.can_fail = True
        self._faults.append(ProgramFault(kind, node))
        return len(self._faults) - 1

    @staticmethod
    def _number(nodes, node):
        """The number of a node in a list, to which it is appended if it is new."""
        if node not in nodes:
            nodes.append(node)
        return nodes.index(node)

    # Expressions

    def _checked(self, node, vertex):
        """The expression of a vertex, which is checked if it may be none."""
        index = self.value(vertex)
        if isinstance(vertex, ir.Local) and vertex.name in self.function.parameters[:2]:
            return index
        return f"checked({self.errors}, {self._fault('index', node)}, {index}, {self.num_vertices})"

    def value(self, node) -> str:
        """The expression of C for an expression of GraphIR."""
        match node:
            case ir.Literal(type=Type.FIXED):
                return self._fits(node, self.literal(self._number(self._literals, node)))
            case ir.Literal(type=Type.FRACTION):
                return f"{min(round(node.value * WORD), WORD - 1)}u"
            case ir.Literal():
                return f"{node.value}u"
            case ir.Uniform():
                return self.uniform(self._number(self.uniforms, node))
            case ir.Local():
                return self._local(node.name)
            case ir.VectorLoad():
                own = not self.function.of_edge and isinstance(node.index, ir.Local) \
                    and node.index.name == self.function.parameters[0]
                return self.load(node.vector, self._checked(node, node.index),
                                 own and node.vector in self._stored)
            case ir.Degree():
                return self.degree(self._checked(node, node.vertex), node.leaving)
            case ir.Unary():
                return self._unary(node.operation, self.value(node.operand))
            case ir.Select():
                condition, then = self.value(node.condition), self.value(node.then)
                return f"({condition} ? {then} : {self.value(node.otherwise)})"
        left = self.value(node.left)
        return self._binary(node, left, self.value(node.right))

    @staticmethod
    def _unary(operation, operand) -> str:
        form = {"not": "(word)!{}", "~": "~{}", "recip": "reciprocal({})"}.get(operation, "{}")
        return form.format(operand)

    def _fits(self, node, wide):
        return f"fits({self.errors}, {self._fault('fits', node)}, {wide})"

    def _binary(self, node, left, right):
        name = node.operation
        if name in _SIMPLE:
            return _SIMPLE[name].format(left, right)
        if name == "/":
            fault = self._fault("division", node)
            return f"quotient({self.errors}, {fault}, {left}, {right})"
        if name == "-":
            if node.type is not Type.FIXED:
                return f"difference({left}, {right})"
            fault = self._fault("below", node)
            return f"fixed_difference({self.errors}, {fault}, {left}, {right})"
        if Type.FRACTION in (node.left.type, node.right.type):
            return f"scaled({left}, {right})"
        wide = f"(wide){left} {name} {right}"
        return self._fits(node, wide) if node.type is Type.FIXED else f"saturated({wide})"
