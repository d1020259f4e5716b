"""Functions of a program as text that is both C++ and CUDA C.

A word is a ``word`` (uint32_t). An expression of GraphIR becomes one expression of C, whose value
is that of :mod:`sw.vm.evaluate`; :data:`HELPERS` has the functions that the text calls.

An error does not end a call. The call goes on with some legal word and reports a *fault*: its
number, which counts the places of possible faults in the order in which the reference evaluates
them, and a detail. The least report of all calls is the error that the reference finds. Faults of
reductions come last, because they are known when all calls are over.
"""

import abc
import re

from sw.lang import graph_ir as ir
from sw.lang.facts import suffices
from sw.lang.faults import ProgramFault, can_fail, candidates, kinds_of, may_lose
from sw.lang.types import INFINITY, WORD, Type
from sw.vm.evaluate import fixed_word


__all__ = ["HELPERS", "Faults", "FunctionCode", "leaves_early", "literal_words", "most"]


#: Functions that the text calls. Before them stand the types ``word`` and ``wide`` (of 32 and 64
#: unsigned bits), the macros ``INLINE`` (``static inline`` or ``__device__``) and ``ERRORS`` (the
#: type of where errors go), and ``report(errors, fault, detail)``.
HELPERS = """\
#define INFINITE 0xffffffffu
INLINE word least(word a, word b) { return a < b ? a : b; }
INLINE word greatest(word a, word b) { return a > b ? a : b; }
INLINE word scaled(word a, word fraction) { return (word)((wide)a * fraction >> 32); }
INLINE word reciprocal(word a) {
    return a > 1 ? (word)(((wide)1 << 32) / a) : a ? INFINITE : 0;
}
INLINE word fits(ERRORS errors, word fault, wide a) {
    if (a >> 32) report(errors, fault, 0);
    return (word)a;
}
// The operations of uint that may fail: `fault` is the number of the first of the kinds of faults
// that sw/lang/faults.py names for them, `at` the vertex to report.
INLINE word not_infinite(ERRORS errors, word fault, word at, word a) {
    if (a == INFINITE) report(errors, fault, at);
    return a;
}
INLINE word limited(ERRORS errors, word fault, word at, wide exact, word a, word b) {
    if (exact < INFINITE) return (word)exact;
    if (a != INFINITE && b != INFINITE) report(errors, fault, at);
    return INFINITE;
}
INLINE word uint_sum(ERRORS errors, word fault, word at, word a, word b) {
    return limited(errors, fault, at, (wide)a + b, a, b);
}
INLINE void no_zero(ERRORS errors, word fault, word at, word a, word b) {
    if ((a == INFINITE && !b) || (b == INFINITE && !a)) report(errors, fault, at);
}
INLINE word uint_multiple(ERRORS errors, word fault, word at, word a, word b) {
    return limited(errors, fault, at, (wide)a * b, a, b);
}
INLINE word uint_product(ERRORS errors, word fault, word at, word a, word b) {
    no_zero(errors, fault, at, a, b);
    return limited(errors, fault + 1, at, (wide)a * b, a, b);
}
INLINE word candidate(bool &lost, wide exact, word a, word b) {
    if (exact < INFINITE) return (word)exact;
    if (a != INFINITE && b != INFINITE) lost = true;
    return INFINITE;
}
INLINE word candidate_sum(bool &lost, word a, word b) {
    return candidate(lost, (wide)a + b, a, b);
}
INLINE word candidate_multiple(bool &lost, word a, word b) {
    return candidate(lost, (wide)a * b, a, b);
}
INLINE word candidate_product(ERRORS errors, word fault, word at, bool &lost, word a, word b) {
    no_zero(errors, fault, at, a, b);
    return candidate(lost, (wide)a * b, a, b);
}
INLINE word below(ERRORS errors, word fault, word at, word a, word b) {
    if (a < b) report(errors, fault, at);
    return a - b;
}
INLINE word difference(ERRORS errors, word fault, word at, word a, word b) {
    if (a == INFINITE || b == INFINITE) report(errors, fault, at);
    return below(errors, fault + 1, at, a, b);
}
INLINE word divisor(ERRORS errors, word fault, word at, word a) {
    if (a) return a;
    report(errors, fault, at);
    return 1;
}
INLINE word divided(ERRORS errors, word fault, word at, word a, word b) {
    if (a == INFINITE || b == INFINITE) report(errors, fault, at);
    return a / divisor(errors, fault + 1, at, b);
}
INLINE word modulo(ERRORS errors, word fault, word at, word a, word b) {
    if (a == INFINITE || b == INFINITE) report(errors, fault, at);
    return a % divisor(errors, fault + 1, at, b);
}
INLINE word fixed_quotient(ERRORS errors, word fault, word at, word a, word b) {
    return a / divisor(errors, fault + 1, at, not_infinite(errors, fault, at, b));
}
INLINE word share(ERRORS errors, word fault, word at, word a, word b) {
    if (a == INFINITE || b == INFINITE) report(errors, fault, at);
    if (a > b && b) report(errors, fault + 1, at);
    const wide exact = (wide)a * reciprocal(b);
    return exact >> 32 ? INFINITE : (word)exact;
}
INLINE word shift(ERRORS errors, word fault, word at, word bits) {
    if (bits < 32) return bits;
    report(errors, fault, at);
    return 0;
}
// The word of a stamped vector at the start of the round (sw/lang/facts.py).
INLINE word at_start(word now, word stamp) { return now < stamp ? now : INFINITE; }
INLINE word checked(ERRORS errors, word fault, word index, word num_vertices) {
    if (index < num_vertices) return index;
    report(errors, fault, ~index);
    return 0;
}
"""

_SIMPLE = {"&": "({} & {})", "|": "({} | {})", "^": "({} ^ {})", "min": "least({}, {})",
           "max": "greatest({}, {})", "and": "(word)({} && {})", "or": "(word)({} || {})",
           **{name: f"(word)({{}} {name} {{}})" for name in ("==", "!=", "<", "<=", ">", ">=")}}


def literal_words(literals, bits) -> list[int]:
    """The words of literals of fixed point, of up to 64 bits; larger ones stop at that."""
    return [min(fixed_word(node.value, bits), WORD * WORD - 1) for node in literals]


def most(kind) -> int:
    """The largest word that a sum by ``+=`` may reach in a vector of this type."""
    return WORD - 1 if kind is Type.FIXED else INFINITY - 1


def leaves_early(program, node) -> bool:
    """Whether a worker that has all edges of a destination, in the order of their sources, may
    leave them behind the first that is accepted: it decides the words, and the others have no
    faults of their own."""
    function = program.function(node.apply_f)
    return suffices(node, "any", "first") and (not can_fail(function) or all(
        isinstance(part, ir.Reduce) for part in function.body))


class Faults:
    """The possible faults of a program, by number."""

    #: The number of the first fault of a reduction.
    _ENDS = 1 << 24

    def __init__(self):
        self._calls: list[ProgramFault] = []
        self._ends: list[ProgramFault] = []

    def __getitem__(self, number: int) -> ProgramFault:
        return self._calls[number] if number < self._ENDS else self._ends[number - self._ENDS]

    def add(self, kind, node) -> int:
        """The number of a new fault."""
        first, faults = (self._ENDS, self._ends) if kind in ("sum", "lost") else (0, self._calls)
        faults.append(ProgramFault(kind, node))
        return first + len(faults) - 1


class FunctionCode(abc.ABC):
    """Writes the body of a function. A GraphVM says how memory is reached.

    Parameters
    ----------
    function : Function
    faults : Faults
        Possible faults of the program; those of the function are added.
    literals : list of Literal
        Literals of fixed point of the program; those of the function are appended. Their words
        depend on the number of fraction bits (:func:`literal_words`).
    stamped : dict of str to Uniform, optional
        Vectors whose words of now tell those of the start, and the stamp of the round.
    leave : str
        A statement behind the last reduction.

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

    def __init__(self, function, faults, literals, stamped=None, leave=""):
        self.function, self._faults, self._literals = function, faults, literals
        self._stamped, self._leave = stamped or {}, leave
        self._last = next((node for node in reversed([*ir.walk(*function.body)])
                           if isinstance(node, ir.Reduce)), None)
        self._names: dict[str, str] = {}
        # {vector: the number of the fault of its reductions}.
        self._ends: dict[str, int] = {}
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
        if a sum passes :func:`most`; None if the operation is no sum."""

    @abc.abstractmethod
    def lose(self, node, fault) -> str:
        """The statement that marks the vertex ``at`` as one that has lost a candidate of a Reduce.
        ``fault`` is the number to report if the vertex is at infinity in the end."""

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
                leave = f"{indent}{self._leave}\n" if self._leave and node is self._last else ""
                return self._reduction(node, indent) + leave
            case ir.Branch():
                inner = indent + "    "
                condition = self.value(node.condition)
                then = self._block(node.then, inner)
                otherwise = self._block(node.otherwise, inner)
                return (f"{indent}if ({condition}) {{\n{then}{indent}}} else {{\n{otherwise}"
                        f"{indent}}}\n")
            case ir.Give():
                self.result = self.value(node.value)
                if kinds_of(node):
                    self.result = self._call("not_infinite", node, self.result)
        return ""

    def _reduction(self, node, indent):
        index = self._checked(node, node.index)
        if may_lose(node):
            value, fault = self.value(node.value, True), self._end("lost", node)
            return (f"{indent}{{\n{indent}    const word at = {index};\n"
                    f"{indent}    bool lost = false;\n{indent}    const word value = {value};\n"
                    f"{indent}    if (lost && value == INFINITE) {self.lose(node, fault)}\n"
                    f"{indent}    {self.reduce(node, 'at', 'value', None)}\n{indent}}}\n")
        value, fault = self.value(node.value), None
        if node.operation == "+":
            self.can_fail, fault = True, self._end("sum", node)
        return f"{indent}{self.reduce(node, index, value, fault)}\n"

    def _end(self, kind, node):
        """The number of the fault of a vector's reductions: their order decides which of them does
        not fit."""
        if node.vector not in self._ends:
            self._ends[node.vector] = self._faults.add(kind, node)
        return self._ends[node.vector]

    def _local(self, name) -> str:
        """A variable's name in C."""
        plain = re.sub(r"\W", "_", name, flags=re.ASCII)
        return self._names.setdefault(name, f"l{len(self._names)}_{plain}")

    def _fault(self, kind, node):
        self.can_fail = True
        return self._faults.add(kind, node)

    def _call(self, name, node, *operands, candidate=False):
        """The call of a function of :data:`HELPERS` for a node that may fail."""
        first, *_ = [self._fault(kind, node) for kind in kinds_of(node, candidate=candidate)]
        at = self.parameters[self.function.of_edge]
        return f"{name}({', '.join([self.errors, str(first), at, *operands])})"

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

    def value(self, node, candidate=False) -> str:
        """The expression of C for an expression of GraphIR. For a candidate it sets ``lost`` if a
        sum or a product is above the largest number."""
        match node:
            case ir.Literal(type=Type.FIXED):
                return self._fits(node, self.literal(self._number(self._literals, node)))
            case ir.Literal(type=Type.FRACTION):
                return f"{min(round(node.value * WORD), WORD - 1)}u"
            case ir.Literal():
                return f"{int(node.value)}u"
            case ir.Uniform():
                return self.uniform(self._number(self.uniforms, node))
            case ir.Local():
                return self._local(node.name)
            case ir.VectorLoad():
                own = not self.function.of_edge and isinstance(node.index, ir.Local) \
                    and node.index.name == self.function.parameters[0]
                word = self.load(node.vector, self._checked(node, node.index),
                                 own and node.vector in self._stored)
                if node.vector not in self._stamped:
                    return word
                stamp = self._number(self.uniforms, self._stamped[node.vector])
                return f"at_start({word}, {self.uniform(stamp)})"
            case ir.Degree():
                return self.degree(self._checked(node, node.vertex), node.leaving)
            case ir.Unary():
                return self._unary(node, self.value(node.operand))
            case ir.Select():
                condition = self.value(node.condition)
                then, otherwise = (self.value(part, candidate)
                                   for part in (node.then, node.otherwise))
                return f"({condition} ? {then} : {otherwise})"
            case ir.Binary(operation="times"):
                return self._call("share", node, self.value(node.left),
                                  self.value(node.right.operand))
        inner = candidate and bool(candidates(node))
        left = self.value(node.left, inner)
        return self._binary(node, left, self.value(node.right, inner), candidate)

    def _unary(self, node, operand) -> str:
        if node.operation == "recip":
            return f"reciprocal({self._call('not_infinite', node, operand)})"
        return {"not": "(word)!{}", "~": "~{}"}.get(node.operation, "{}").format(operand)

    def _fits(self, node, wide):
        return f"fits({self.errors}, {self._fault('fits', node)}, {wide})"

    def _binary(self, node, left, right, candidate):
        name, fixed = node.operation, node.type is Type.FIXED
        if name in _SIMPLE:
            return _SIMPLE[name].format(left, right)
        kinds = kinds_of(node)
        match name:
            case "<<" | ">>":
                return f"({left} {name} {self._call('shift', node, right) if kinds else right})"
            case "-":
                return self._call("below" if fixed else "difference", node, left, right)
            case "/" if kinds:
                return self._call("fixed_quotient", node, left, right)
            case "//" | "%" if "division" in kinds:
                return self._call("divided" if name == "//" else "modulo", node, left, right)
            case "/" | "//" | "%":
                left = self._call("not_infinite", node, left) if kinds else left
                return f"({left} {name[0]} {right})"
            case "*" if Type.FRACTION in (node.left.type, node.right.type):
                left = self._call("not_infinite", node, left) if kinds else left
                return f"scaled({left}, {right})"
            case "*" if fixed:
                fault = self._fault("infinite", node)
                at = self.parameters[self.function.of_edge]
                right = f"not_infinite({self.errors}, {fault}, {at}, {right})"
        if fixed:
            return self._fits(node, f"(wide){left} {name} {right}")
        function = {"+": "sum", "*": "product" if "zero" in kinds else "multiple"}[name]
        if not candidate:
            return self._call(f"uint_{function}", node, left, right)
        if function == "product":
            return self._call("candidate_product", node, "lost", left, right, candidate=True)
        return f"candidate_{function}(lost, {left}, {right})"
