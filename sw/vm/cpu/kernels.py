"""The C++ of a program: kernels that perform the structs of :mod:`sw.vm.c_program` by the templates
of ``kernels.h``, and fused loops. A kernel does a part of an operator's work in one thread.
"""

import string

from sw.lang import graph_ir as ir
from sw.vm.c_program import ProgramCode
from sw.vm.loop_code import FAULT, LoopCode


__all__ = ["CpuCode"]


class CpuCode(ProgramCode):
    """The C++ of a program, which includes ``kernels.h``: ``text``.

    There are the kernels ``push…`` and ``pull…`` of operators of edges, ``filter…`` of those with
    :meth:`checks`, ``apply…`` of operators of vertices, and ``where…`` and ``total…`` of functions,
    with their numbers.
    """

    def __init__(self, program):
        super().__init__(program, owners=True)
        self._checked: set[int] = set()
        self.text = self._write('#include "kernels.h"\n', dict)
        given = ", ".join(f"{name}{{{', '.join(f'task.{source}[{i}]' for i in range(count))}}}"
                          for name, source, count in (
                              ("now", "vectors", len(self.vectors)),
                              ("start", "starts", len(self.vectors)),
                              ("uniforms", "uniforms", len(self.uniforms)),
                              ("literals", "literals", len(self.literals))))
        self.text = f"#define GIVEN {given}\n{self.text}"

    def checks(self, number) -> bool:
        """Whether the filter of an operator of edges may fail."""
        return number in self._checked

    def _kernel(self, name, performed):
        self._parts.append(f"KERNEL({name}, {performed})\n")

    def _edge_operator(self, node):
        number = self.edges[node.position]
        for direction in ("push", "pull"):
            if self._edge_struct(node, direction):
                self._checked.add(number)
            self._kernel(f"{direction}{number}", f"{direction}<Edges{number}{direction}>")
        if self.checks(number):
            self._kernel(f"filter{number}", f"check<Edges{number}push>")

    def _vertex_operator(self, node, name):
        self._kernel(f"apply{self.vertices[node.position]}", f"each<{name}>")

    def _vertex_function(self, number, name):
        for use in ("where", "total"):
            self._kernel(f"{use}{number}", f"{use}<{name}>")

    def _loop(self, node, number):
        fuses = node.metadata["can_fuse"] and node.metadata.get("needs_fusion", True)
        return _Loop(self, f"loop{number}", node) if fuses else None


_LOOP = string.Template("""
extern "C" int64_t $name(LoopMachine &machine,
        const EdgeOperator *const *operators, int64_t *numbers,
        const int64_t *constants, const word *words, Waiting *queues, wide &count) {
    word uniforms[UNIFORMS] = {};
$declared    const auto leave = [&](int64_t result) {
$kept        return result;
    };
$body    return leave(0);
}
""")


class _Loop(LoopCode):
    """A loop as a function that calls the runtime."""

    late, stopped, uniforms = "machine.late()", "machine.stopped()", "uniforms"

    def text(self):
        body, numbers = self.body(), range(len(self.fused.numbers))
        return _LOOP.substitute(
            name=self.fused.name, body=body,
            declared="".join(f"    int64_t number{i} = numbers[{i}];\n" for i in numbers),
            kept="".join(f"        numbers[{i}] = number{i};\n" for i in numbers))

    def size(self, number):
        return f"machine.size({number})"

    def is_vertex(self, value):
        return f"machine.is_vertex({value})"

    def move(self, source, target):
        return f"machine.move({source}, {target});"

    def dequeue(self, queue, source, target, indent):
        return f"{indent}machine.dequeue(queues[{queue}], {source}, {target});\n"

    @staticmethod
    def _call(name, *arguments):
        given = ", ".join(map(str, arguments))
        return f"if (!machine.{name}({given})) return leave({FAULT});\n"

    def operator(self, node, source, target, indent):
        writer, target = self.writer, -1 if target is None else target
        if isinstance(node, ir.EdgeSetIterator):
            joins = "true" if node.output_vset in self.queues else "false"
            call = self._call("edges", f"operators[{writer.edges[node.position]}]", source, target,
                              joins, "uniforms")
        else:
            kernel, copies = "where", ()
            if isinstance(node, ir.VertexFilter):
                kernel += str(writer.functions[node.filter])
            else:
                kernel = f"apply{writer.vertices[node.position]}"
                copies = writer.facts(node).copied
            numbers = ", ".join(str(writer.number(vector)) for vector in copies)
            table = f"(const int32_t[]){{{numbers}}}" if copies else "nullptr"
            call = self._call("vertices", kernel, table, len(copies), source, target, "uniforms")
        return f"{indent}++count;\n{indent}{call}"

    def total(self, function, source, name, indent):
        kernel = f"total{self.writer.functions[function]}"
        return indent + self._call("total", kernel, source, "uniforms", name)

    def settle(self, node, indent):
        return indent + self._call("settle")
