"""Fused loops in C++, for the machine of ``runtime.cpp``."""

from sw.lang import graph_ir as ir
from sw.vm.loop_code import FAULT, LoopCode


__all__ = ["CpuLoop"]


class CpuLoop(LoopCode):
    """Writes one loop.

    Parameters
    ----------
    kernels : Kernels
        Its kernels are written before.
    name : str
        The name of the function.
    loop : WhileLoop or ForLoop
    """

    late, stopped = "calls.late(machine)", "calls.stopped(machine)"

    def __init__(self, kernels, name, loop):
        super().__init__(kernels.program, name, loop)
        self._kernels = kernels

    def text(self) -> str:
        """The function. The sets and numbers that it uses are known from then on."""
        body = self.body()
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
                f"{body}"
                "    return leave(0);\n"
                "}\n")

    def size(self, number):
        return f"calls.size(machine, {number})"

    def is_vertex(self, value):
        return f"calls.is_vertex(machine, {value})"

    def move(self, source, target):
        return f"calls.move(machine, {source}, {target});"

    def dequeue(self, queue, source, target, indent):
        return f"{indent}calls.dequeue(machine, queues[{queue}], {source}, {target});\n"

    def operator(self, node, uniforms, indent):
        source = self.set(node.input_vset)
        target = getattr(node, "output_vset", None)
        target = -1 if target is None else self.set(target)
        given, call = self._call(node, source, target)
        return (f"{uniforms(given, indent)}{indent}++count;\n"
                f"{indent}if (!{call}) return leave({FAULT});\n")

    def total(self, node, name, uniforms, indent):
        inner = indent + "    "
        kernel, given = self._kernels.functions[node.function, "total"]
        return (f"{indent}int64_t {name} = 0;\n{indent}{{\n{uniforms(given, inner)}"
                f"{inner}if (!calls.total(machine, {kernel}, {self.set(node.input_vset)}, uniforms,"
                f" {name})) return leave({FAULT});\n{indent}}}\n")

    def settle(self, loop, indent):
        return f"{indent}if (!calls.settle(machine)) return leave({FAULT});\n"

    def _call(self, node, source, target):
        """The uniforms of an operator, and the text of its call."""
        if isinstance(node, ir.EdgeSetIterator):
            arcs = self._kernels.arcs[node.position]
            number = list(self._kernels.arcs).index(node.position)
            joins = "true" if node.output_vset in self.queues else "false"
            return arcs.uniforms, (f"calls.edges(machine, operators[{number}], {source}, {target}, "
                                   f"{joins}, uniforms)")
        filters = isinstance(node, ir.VertexFilter)
        kernel, given = self._kernels.functions[
            (node.filter, "where") if filters else (node.apply_f, "apply")]
        copies = () if filters else node.metadata["start_copies"]
        numbers = ", ".join(str(self._kernels.number(vector)) for vector in copies)
        table = f"(const int32_t[]){{{numbers}}}" if copies else "nullptr"
        return given, (f"calls.vertices(machine, {kernel}, {table}, {len(copies)}, {source}, "
                       f"{target}, uniforms)")
