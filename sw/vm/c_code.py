"""Functions of a program as text that is both C++ and CUDA C.

A word is a ``word`` (uint32_t). An expression of GraphIR becomes one expression of C, whose value
is that of :mod:`sw.vm.evaluate`; :data:`HELPERS` has the functions that the text calls.

An error does not end a call. The call goes on with some legal word and reports a *fault*: its
number, which counts the places of possible faults in the order in which the reference evaluates
them, and a detail. The least report of all calls is the error that the reference finds. Faults of
reductions come last, because they are known when all calls are over.
"""

import re

from sw.lang import graph_ir as ir
from sw.lang.faults import ProgramFault, candidates, kinds_of, may_lose
from sw.lang.types import INFINITY, WORD, Type
from sw.vm.evaluate import fixed_word, literal_word


__all__ = ["HELPERS", "Faults", "FunctionCode", "literal_words"]


#: Functions that the text calls. Before them stands what a machine has of its own (``kernels.h`` of
#: the cpu, ``runtime.cuh`` of cuda): the types ``word``, ``wide`` (of 32 and 64 unsigned bits) and
#: ``Call``, with the words of vectors and what an operator is given; the macro ``INLINE``;
#: ``report(call, fault, detail)``, ``degree(rows, vertex)``, ``lose(call, vector, fault, vertex)``;
#: ``fresh`` and ``put``, of a word that others change or read at this moment; and the reductions,
#: ``reduce_min<tracked>(call, words, vertex, value)`` and its kind, of which ``same_…`` are for
#: elements that all calls reduce by one word.
HELPERS = """\
#define INFINITE 0xffffffffu
// Values for one element are gathered, and then reduced at once.
INLINE void gather_min(word &all, word value) { all = value < all ? value : all; }
INLINE void gather_max(word &all, word value) { all = value > all ? value : all; }
INLINE void gather_or(word &all, word value) { all |= value; }
INLINE void gather_add(wide &all, wide value) { all += value; }
INLINE word least(word a, word b) { return a < b ? a : b; }
INLINE word greatest(word a, word b) { return a > b ? a : b; }
INLINE word scaled(word a, word fraction) { return (word)((wide)a * fraction >> 32); }
INLINE word reciprocal(word a) {
    return a > 1 ? (word)(((wide)1 << 32) / a) : a ? INFINITE : 0;
}
INLINE word fits(const Call &call, word fault, wide a) {
    if (a >> 32) report(call, fault, 0);
    return (word)a;
}
// The operations of uint that may fail: `fault` is the number of the first of the kinds of faults
// that sw/lang/faults.py names for them, `at` the vertex to report.
INLINE word not_infinite(const Call &call, word fault, word at, word a) {
    if (a == INFINITE) report(call, fault, at);
    return a;
}
INLINE word limited(const Call &call, word fault, word at, wide exact, word a, word b) {
    if (exact < INFINITE) return (word)exact;
    if (a != INFINITE && b != INFINITE) report(call, fault, at);
    return INFINITE;
}
INLINE word uint_sum(const Call &call, word fault, word at, word a, word b) {
    return limited(call, fault, at, (wide)a + b, a, b);
}
INLINE void no_zero(const Call &call, word fault, word at, word a, word b) {
    if ((a == INFINITE && !b) || (b == INFINITE && !a)) report(call, fault, at);
}
INLINE word uint_multiple(const Call &call, word fault, word at, word a, word b) {
    return limited(call, fault, at, (wide)a * b, a, b);
}
INLINE word uint_product(const Call &call, word fault, word at, word a, word b) {
    no_zero(call, fault, at, a, b);
    return limited(call, fault + 1, at, (wide)a * b, a, b);
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
INLINE word candidate_product(const Call &call, word fault, word at, bool &lost, word a, word b) {
    no_zero(call, fault, at, a, b);
    return candidate(lost, (wide)a * b, a, b);
}
INLINE word below(const Call &call, word fault, word at, word a, word b) {
    if (a < b) report(call, fault, at);
    return a - b;
}
INLINE word difference(const Call &call, word fault, word at, word a, word b) {
    if (a == INFINITE || b == INFINITE) report(call, fault, at);
    return below(call, fault + 1, at, a, b);
}
INLINE word divisor(const Call &call, word fault, word at, word a) {
    if (a) return a;
    report(call, fault, at);
    return 1;
}
INLINE word divided(const Call &call, word fault, word at, word a, word b) {
    if (a == INFINITE || b == INFINITE) report(call, fault, at);
    return a / divisor(call, fault + 1, at, b);
}
INLINE word modulo(const Call &call, word fault, word at, word a, word b) {
    if (a == INFINITE || b == INFINITE) report(call, fault, at);
    return a % divisor(call, fault + 1, at, b);
}
INLINE word fixed_quotient(const Call &call, word fault, word at, word a, word b) {
    return a / divisor(call, fault + 1, at, not_infinite(call, fault, at, b));
}
INLINE word share(const Call &call, word fault, word at, word a, word b) {
    if (a == INFINITE || b == INFINITE) report(call, fault, at);
    if (a > b && b) report(call, fault + 1, at);
    const wide exact = (wide)a * reciprocal(b);
    return exact >> 32 ? INFINITE : (word)exact;
}
INLINE word shift(const Call &call, word fault, word at, word bits) {
    if (bits < 32) return bits;
    report(call, fault, at);
    return 0;
}
// The word of a stamped vector at the start of the round (sw/lang/facts.py).
INLINE word at_start(word now, word stamp) { return now < stamp ? now : INFINITE; }
INLINE word checked(const Call &call, word fault, word index, word num_vertices) {
    if (index < num_vertices) return index;
    report(call, fault, ~index);
    return 0;
}
"""

#: Operations by their names in C, and the words with which gathered reductions begin.
_REDUCTIONS = {"min": "min", "max": "max", "+": "add", "or": "or"}
_NEUTRAL = {"min": "word {} = INFINITE", "max": "word {} = 0", "+": "wide {} = 0",
            "or": "word {} = 0"}

_SIMPLE = {"&": "({} & {})", "|": "({} | {})", "^": "({} ^ {})", "min": "least({}, {})",
           "max": "greatest({}, {})", "and": "(word)({} && {})", "or": "(word)({} || {})",
           **{name: f"(word)({{}} {name} {{}})" for name in ("==", "!=", "<", "<=", ">", ">=")}}


def literal_words(literals, bits) -> list[int]:
    """The words of literals of fixed point, of up to 64 bits; larger ones stop at that."""
    return [min(fixed_word(node.value, bits), WORD * WORD - 1) for node in literals]


def _most(kind) -> int:
    """The largest word that a sum by ``+=`` may reach in a vector of this type."""
    return WORD - 1 if kind is Type.FIXED else INFINITY - 1


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


class FunctionCode:
    """Writes the body of a function.

    Parameters
    ----------
    writer : ProgramCode
        Has the numbers of vectors and values. The function's faults, literals of fixed point and
        uniforms are added to those of the program.
    function : Function
    facts : OperatorFacts

    Attributes
    ----------
    parameters : list of str
        The parameters' names in C, which the code around the body defines.
    result : str or None
        The expression of C that the function gives, once the body is written. If the function has
        no result, None.
    can_fail : bool
        Whether the function has possible faults, once the body is written.
    sums, losing : dict of str to int
        The faults of gathered sums, and of the reductions that may lose candidates, by vector.
    """

    def __init__(self, writer, function, facts):
        self.function, self._writer, self._facts = function, writer, facts
        self._last = next((node for node in reversed([*ir.walk(*function.body)])
                           if isinstance(node, ir.Reduce)), None)
        self._names: dict[str, str] = {}
        # {vector: the number of the fault of its reductions}.
        self._ends: dict[str, int] = {}
        self.parameters = [self._local(name) for name in function.parameters]
        self.result: str | None = None
        self.can_fail = False
        self.sums: dict[str, int | None] = {}
        self.losing: dict[str, int] = {}
        self._stored = function.touched().stores

    # Memory

    def _word(self, kind, vector, index):
        return f"call.{kind}[{self._writer.number(vector)}][{index}]"

    def _load(self, vector, index, live):
        """The expression of an element; ``live`` is whether it is the word of now, which only this
        call changes, and not that of the operator's start."""
        if vector in self._facts.copied and not live:
            return self._word("start", vector, index)
        word = self._word("now", vector, index)
        return word if live or vector not in self._facts.racing else f"fresh(&{word})"

    def _store(self, vector, index, value):
        """The statement that stores an element of the function's own vertex."""
        word = self._word("now", vector, index)
        return f"put(&{word}, {value});" if vector in self._facts.racing else f"{word} = {value};"

    def _reduce(self, node, index, value, fault):
        """The statement of a Reduce. ``fault`` is the number to report, with the vertex as detail,
        if a sum is too large; None if the operation is no sum."""
        name = _REDUCTIONS[node.operation]
        if node.vector in self._facts.gathered:
            self.sums[node.vector] = fault
            return f"gather_{name}(local.v{self._writer.number(node.vector)}, {value});"
        return self._in_memory(node.vector, node.operation, index, value, fault)

    def _in_memory(self, vector, operation, index, value, fault, whole=""):
        """The statement that reduces a word in memory. ``whole`` is the C expression of whether
        nobody else reduces it."""
        name = _REDUCTIONS[operation]
        way = "same" if vector in self._facts.equal and name != "add" and not whole else "reduce"
        tracked = ("true" if vector == self._facts.tracking else "false") + (whole and f", {whole}")
        more = "" if fault is None else \
            f", {_most(self._writer.program.vector(vector).type)}u, {fault}"
        return (f"{way}_{name}<{tracked}>(call, call.now[{self._writer.number(vector)}], {index}, "
                f"{value}{more});")

    def gathered(self) -> tuple[str, str, str]:
        """The declarations of what is gathered for a row, the statements that combine two threads'
        of it by ``over``, and those that reduce it at the vertex ``row``. Known once the body is
        written."""
        found = [(f"v{self._writer.number(vector)}", vector, operation)
                 for vector, operation in self._facts.gathered.items()]
        return ("".join(f"{_NEUTRAL[operation].format(name)};\n" for name, _, operation in found),
                "".join(f"over(local.{name}, gather_{_REDUCTIONS[operation]});\n"
                        for name, _, operation in found),
                "".join(self._in_memory(vector, operation, "row", f"local.{name}",
                                       self.sums[vector], "whole") + "\n"
                        for name, vector, operation in found))

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
                return f"{indent}{self._store(node.vector, index, self.value(node.value))}\n"
            case ir.Reduce():
                leave = f"{indent}local.done = true;\n" \
                    if self._facts.exits and node is self._last else ""
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
            self.losing[node.vector] = fault
            lines = (f"const word at = {index};", "bool lost = false;",
                     f"const word value = {value};", "if (lost && value == INFINITE) "
                     f"lose(call, {self._writer.number(node.vector)}, {fault}, at);",
                     self._reduce(node, "at", "value", None))
            inner = "".join(f"{indent}    {line}\n" for line in lines)
            return f"{indent}{{\n{inner}{indent}}}\n"
        value, fault = self.value(node.value), None
        if node.operation == "+":
            self.can_fail, fault = True, self._end("sum", node)
        return f"{indent}{self._reduce(node, index, value, fault)}\n"

    def _end(self, kind, node):
        """The number of the fault of a vector's reductions: their order decides which of them does
        not fit."""
        if node.vector not in self._ends:
            self._ends[node.vector] = self._writer.faults.add(kind, node)
        return self._ends[node.vector]

    def _local(self, name) -> str:
        """A variable's name in C."""
        plain = re.sub(r"\W", "_", name, flags=re.ASCII)
        return self._names.setdefault(name, f"l{len(self._names)}_{plain}")

    def _fault(self, kind, node):
        self.can_fail = True
        return self._writer.faults.add(kind, node)

    def _call(self, name, node, *operands, candidate=False):
        """The call of a function of :data:`HELPERS` for a node that may fail."""
        first, *_ = [self._fault(kind, node) for kind in kinds_of(node, candidate=candidate)]
        at = self.parameters[self.function.of_edge]
        return f"{name}({', '.join(['call', str(first), at, *operands])})"

    def _uniform(self, node):
        """The expression of a Uniform's word."""
        places = self._writer.uniforms
        return f"call.uniforms[{places.setdefault(node, len(places))}]"

    # Expressions

    def _checked(self, node, vertex):
        """The expression of a vertex, which is checked if it may be none."""
        index = self.value(vertex)
        if isinstance(vertex, ir.Local) and vertex.name in self.function.parameters[:2]:
            return index
        return f"checked(call, {self._fault('index', node)}, {index}, call.vertices)"

    def value(self, node, candidate=False) -> str:
        """The expression of C for an expression of GraphIR. For a candidate it sets ``lost`` if a
        sum or a product is above the largest number."""
        match node:
            case ir.Literal(type=Type.FIXED):
                places = self._writer.literals
                return self._fits(node, "call.literals["
                                        f"{places.setdefault(node, len(places))}]")
            case ir.Literal():
                return f"{literal_word(node, 0)}u"
            case ir.Uniform():
                return self._uniform(node)
            case ir.Local():
                return self._local(node.name)
            case ir.VectorLoad():
                own = self.function.parameter(node.index) == 0
                word = self._load(node.vector, self._checked(node, node.index),
                                 own and node.vector in self._stored)
                if node.vector not in self._facts.stamped:
                    return word
                return f"at_start({word}, {self._uniform(self._facts.stamped[node.vector])})"
            case ir.Degree():
                rows = "leaving" if node.leaving else "entering"
                return f"degree(call.{rows}, {self._checked(node, node.vertex)})"
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
        return f"fits(call, {self._fault('fits', node)}, {wide})"

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
                right = f"not_infinite(call, {fault}, {at}, {right})"
        if fixed:
            return self._fits(node, f"(wide){left} {name} {right}")
        function = {"+": "sum", "*": "product" if "zero" in kinds else "multiple"}[name]
        if not candidate:
            return self._call(f"uint_{function}", node, left, right)
        if function == "product":
            return self._call("candidate_product", node, "lost", left, right, candidate=True)
        return f"candidate_{function}(lost, {left}, {right})"
