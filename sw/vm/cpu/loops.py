"""Loops of the host as C++: a loop whose operators are short would mostly be work of Python.

A loop is *fused* if the host does nothing in it but go through edges and sets, count, and compare.
Its whole numbers are of 64 bits, so it only adds to them, one at a time. The loop returns now and
then, so that Python sees signals, and is entered again.
"""

import dataclasses

from sw.lang import graph_ir as ir
from sw.lang.types import WORD, Type


__all__ = ["AGAIN", "LARGEST", "FusedLoop", "fused"]


#: Result of a loop that must be entered again. The result is 0 at the end of a loop, -1 after an
#: error of an operator, and 1 more than the number of a uniform that does not fit.
AGAIN = -2

#: Largest number with which a loop may be entered.
LARGEST = 1 << 33

_OPERATIONS = {"+": "({} + {})", "-": "({} - {})", "and": "({} && {})", "or": "({} || {})",
               "min": "smaller({}, {})", "max": "larger({}, {})",
               **{name: f"({{}} {name} {{}})" for name in ("==", "!=", "<", "<=", ">", ">=")}}


@dataclasses.dataclass
class FusedLoop:
    """A loop as a function of C++.

    Parameters
    ----------
    name : str
        The function.
    queues : list of str
        Queues that the loop uses.
    numbers : list of str
        Variables of the host that the loop changes.
    sets : list of str
        Sets that the loop uses, and changes if they are in ``changed``.
    constants : list of Node
        Numbers and truth values that do not change in the loop.
    words, checked : list of Uniform
        Those that are the same in all rounds, and the others.
    """
    name: str
    queues: list[str] = dataclasses.field(default_factory=list)
    numbers: list[str] = dataclasses.field(default_factory=list)
    sets: list[str] = dataclasses.field(default_factory=list)
    changed: set[str] = dataclasses.field(default_factory=set)
    constants: list = dataclasses.field(default_factory=list)
    words: list = dataclasses.field(default_factory=list)
    checked: list = dataclasses.field(default_factory=list)


class _NotFused(Exception):
    """The loop needs the host."""


def fused(kernels, name, loop):
    """A loop and its text, or None if it cannot be fused.

    Parameters
    ----------
    kernels : Kernels
        Its kernels are written before.
    name : str
        The name of the function.
    loop : WhileLoop
    """
    try:
        writer = _Writer(kernels, name, loop)
        return writer.fused, writer.text(loop)
    except _NotFused:
        return None


class _Writer:
    """Writes one loop."""

    def __init__(self, kernels, name, loop):
        self._kernels, self.fused = kernels, FusedLoop(name)
        self._queues = {node.name for node in ir.instructions(kernels.program.body)
                        if isinstance(node, ir.NewQueue)}
        for node in ir.instructions(loop.body):
            match node:
                case ir.Assign(value=value) if value.type in (Type.WHOLE, Type.BOOL):
                    self._number(self.fused.numbers, node.name)
                case ir.EdgeSetIterator() | ir.VertexFilter() if node.output_vset is not None:
                    self.fused.changed.add(node.output_vset)
                case ir.Dequeue():
                    self.fused.changed.update((node.output_vset, node.queue))
                case ir.EdgeSetIterator() | ir.VertexSetIterator() | ir.HostBranch():
                    pass
                case _:
                    raise _NotFused

    def text(self, loop):
        condition = self._value(loop.condition)
        body = self._block(loop.body, "        ")
        numbers = range(len(self.fused.numbers))
        declared = "".join(f"    int64_t number{i} = numbers[{i}];\n" for i in numbers)
        kept = "".join(f"        numbers[{i}] = number{i};\n" for i in numbers)
        return (f'extern "C" int64_t {self.fused.name}(const Calls &calls, Machine *machine,\n'
                "        const EdgeOperator *const *operators, int64_t *numbers,\n"
                "        const int64_t *constants, const word *words, Waiting *queues, "
                "wide &count) {\n"
                f"{declared}"
                "    const auto leave = [&](int64_t result) {\n"
                f"{kept}"
                "        return result;\n"
                "    };\n"
                "    for (;;) {\n"
                f"        if (!{condition}) return leave(0);\n"
                f"        if (calls.late(machine)) return leave({AGAIN});\n"
                f"{body}"
                "    }\n"
                "}\n")

    @staticmethod
    def _number(items, item):
        """The number of an item in a list, to which it is appended if it is new."""
        if item not in items:
            items.append(item)
        return items.index(item)

    def _set(self, name):
        return self._number(self.fused.sets, name)

    # Expressions

    def _varies(self, node):
        """Whether an expression of the host may change in the loop."""
        for part in ir.walk(node):
            match part:
                case ir.HostName() | ir.SetSize() if part.name in {*self.fused.numbers,
                                                                   *self.fused.changed}:
                    return True
                case ir.VertexSum():
                    return True
        return False

    def _value(self, node) -> str:
        if node.type not in (Type.WHOLE, Type.BOOL):
            raise _NotFused
        if not self._varies(node):
            return f"constants[{self._number(self.fused.constants, node)}]"
        match node:
            case ir.HostName():
                return f"number{self.fused.numbers.index(node.name)}"
            case ir.SetSize():
                return f"calls.size(machine, {self._set(node.name)})"
            case ir.Unary(operation="not"):
                return f"(!{self._value(node.operand)})"
            case ir.Select():
                return (f"({self._value(node.condition)} ? {self._value(node.then)} : "
                        f"{self._value(node.otherwise)})")
            case ir.Binary() if node.operation in _OPERATIONS:
                return _OPERATIONS[node.operation].format(self._value(node.left),
                                                          self._value(node.right))
        raise _NotFused

    def _uniforms(self, uniforms, indent):
        """Statements that make the words of an operator's uniforms."""
        words, lines = [], []
        for node in uniforms:
            if not self._varies(node.value):
                words.append(f"words[{self._number(self.fused.words, node)}]")
                continue
            if node.type not in (Type.UINT, Type.VERTEX, Type.BOOL):
                raise _NotFused
            number = self._number(self.fused.checked, node)
            words.append(f"(word)value{number}")
            if words.count(words[-1]) > 1:
                continue
            legal = f"value{number} >= 0 && value{number} < {WORD}ll"
            if node.type is Type.VERTEX:
                legal = f"calls.is_vertex(machine, value{number})"
            lines += [f"const int64_t value{number} = {self._value(node.value)};",
                      f"if (!({legal})) return leave({number + 1});"]
        lines.append(f"const word uniforms[] = {{{', '.join([*words, '0'])}}};")
        return "".join(f"{indent}{line}\n" for line in lines)

    # Instructions

    def _block(self, body, indent):
        return "".join(self._instruction(node, indent) for node in body)

    def _instruction(self, node, indent):
        inner = indent + "    "
        match node:
            case ir.Assign():
                added = [part for part in ir.walk(node.value)
                         if isinstance(part, ir.HostName) and self._varies(part)]
                if len(added) > 1:
                    raise _NotFused
                number = self.fused.numbers.index(node.name)
                return f"{indent}number{number} = {self._value(node.value)};\n"
            case ir.HostBranch():
                return (f"{indent}if ({self._value(node.condition)}) {{\n"
                        f"{self._block(node.then, inner)}{indent}}} else {{\n"
                        f"{self._block(node.otherwise, inner)}{indent}}}\n")
            case ir.Dequeue():
                number = self._number(self.fused.queues, node.queue)
                return (f"{indent}calls.dequeue(machine, queues[{number}], {self._set(node.queue)},"
                        f" {self._set(node.output_vset)});\n")
        source = self._set(node.input_vset)
        target = getattr(node, "output_vset", None)
        target = -1 if target is None else self._set(target)
        uniforms, call = self._call(node, source, target)
        return (f"{indent}{{\n{self._uniforms(uniforms, inner)}{inner}++count;\n"
                f"{inner}if (!{call}) return leave(-1);\n{indent}}}\n")

    def _call(self, node, source, target):
        """The uniforms of an operator, and the text of its call."""
        if isinstance(node, ir.EdgeSetIterator):
            arcs = self._kernels.arcs[node.position]
            number = list(self._kernels.arcs).index(node.position)
            joins = "true" if node.output_vset in self._queues else "false"
            return arcs.uniforms, (f"calls.edges(machine, operators[{number}], {source}, {target}, "
                                   f"{joins}, uniforms)")
        filters = isinstance(node, ir.VertexFilter)
        kernel, uniforms = self._kernels.functions[
            (node.filter, "where") if filters else (node.apply_f, "apply")]
        copies = () if filters else node.metadata["start_copies"]
        numbers = ", ".join(str(self._kernels.number(vector)) for vector in copies)
        table = f"(const int32_t[]){{{numbers}}}" if copies else "nullptr"
        return uniforms, (f"calls.vertices(machine, {kernel}, {table}, {len(copies)}, {source}, "
                          f"{target}, uniforms)")
