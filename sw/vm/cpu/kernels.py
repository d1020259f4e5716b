"""The C++ of a program: a kernel for each operator and direction.

A kernel does a part of an operator's work in one thread. ``machine.h`` has the types and the
reductions, :mod:`sw.vm.c_code` writes the bodies.
"""

import dataclasses
import string

from sw.lang import graph_ir as ir
from sw.lang.passes.races import shared
from sw.vm.c_code import HELPERS, Faults, most
from sw.vm.cpu.bodies import TaskCode, declarations
from sw.vm.cpu.loops import CpuLoop


__all__ = ["Arcs", "Kernels"]


_VERTICES = string.Template("""\
    for (wide i = first; i < last; ++i) {
        const word vertex = task.list ? task.list[i] : (word)i;
        const word $parameter = vertex;
$body    }
""")

#: A filter that cannot fail is evaluated for each arc.
_FILTER = string.Template("""\
    const auto wanted = [&](word $vertex) BODY -> word {
$body    };
""")

#: For another the bits of all vertices are made before, as the reference evaluates it for all.
_MAKE_FILTER = """\
    for (wide i = first; i < last; ++i)
        task.wanted[i >> 6] |= (wide)(wanted(i) != 0) << (i & 63);
"""
_MADE_FILTER = """\
    const auto wanted = [&](word vertex) BODY { return has(task.wanted, vertex); };
"""

_PUSH = string.Template("""\
$filter\
    const word *const neighbors = task.along.neighbors;
    each_arc(task, first, last, [&](word $source, wide arc) BODY {
        const word $target = neighbors[arc];
        $test
        $weight
$body    });
""")

_PULL = string.Template("""\
$filter\
    const word *const offsets = task.against.offsets;
    const word *const neighbors = task.against.neighbors;
    const word *const weights = task.against.weights;
    const wide *const among = task.among;
    const auto rows = [&](bool whole) BODY {
        for (word $target = first; $target < last; ++$target) {
            const wide begin = offsets[$target], end = offsets[$target + 1];
            if (begin == end) continue;
            $test
            $before
            for (wide arc = begin; arc < end; ++arc) {
                const word $source = neighbors[arc];
                if (!whole && !has(among, $source)) continue;
                $weight
$body                $leave
            }
            $after
        }
    };
    if (among) rows(false);
    else rows(true);
""")


@dataclasses.dataclass(frozen=True)
class Arcs:
    """The kernels of an EdgeSetIterator."""
    node: ir.EdgeSetIterator
    push: str  #: Names of kernels.
    pull: str  #: Names of kernels.
    #: The kernel of a filter that may fail, which is evaluated for all vertices before.
    filter: str | None
    uniforms: list  #: list of Uniform
    #: Vectors to copy before the operator, whole, or the elements of its sources.
    copies: tuple[int, ...]
    sparse: tuple[int, ...]  #: See `copies`.
    owned: bool  #: Whether pull needs no atomics, and whether it leaves rows early.
    exits: bool  #: Whether pull needs no atomics, and whether it leaves rows early.
    result: int  #: 0 if it has none, 1 if pull adds each vertex once, else 2.


class Kernels:
    """All kernels of a program.

    Parameters
    ----------
    program : GraphProgram
        After the passes.

    Attributes
    ----------
    text : str
        The C++, which includes ``machine.h``.
    faults : Faults
        The places where a run may fail, by the numbers that kernels report.
    literals : list of Literal
        Literals of fixed point, by number.
    arcs : dict of Position to Arcs
    functions : dict
        {(name of a function, "apply", "where" or "total"): (kernel, list of Uniform)}.
    vertex_operators : list of VertexSetIterator
    loops : dict of Position to FusedLoop
    """

    def __init__(self, program):
        self.program = program
        self.faults = Faults()
        self.literals: list[ir.Literal] = []
        self.arcs: dict = {}
        self.functions: dict = {}
        self.vertex_operators: list[ir.VertexSetIterator] = []
        self._numbers = {vector.name: i for i, vector in enumerate(program.vectors)}
        self._parts = ['#include "machine.h"\n', HELPERS]
        self._parts.append("INLINE word degree(const word *offsets, word vertex) {\n"
                           "    return offsets[vertex + 1] - offsets[vertex];\n}\n")
        for node in ir.walk(*program.body):
            match node:
                case ir.EdgeSetIterator():
                    self._edges(node)
                case ir.VertexSetIterator():
                    self._vertices(node.apply_f, "apply")
                    self.vertex_operators.append(node)
                case ir.VertexFilter():
                    self._vertices(node.filter, "where")
                case ir.VertexSum():
                    self._vertices(node.function, "total")
        self.loops: dict = {}
        for node in ir.instructions(program.body):
            if isinstance(node, ir.WhileLoop | ir.ForLoop) and node.metadata["can_fuse"] \
                    and node.metadata.get("needs_fusion", True):
                loop = CpuLoop(self, f"loop{len(self.loops)}", node)
                self._parts.append(loop.text())
                self.loops[node.position] = loop.fused
        self.text = "\n".join(self._parts)

    def number(self, vector):
        """The number of a vector."""
        return self._numbers[vector]

    def _kernel(self, name, *codes, text):
        self._parts.append(f'extern "C" void {name}(const Task &task, Worker &errors, wide first, '
                           f"wide last) {{\n{declarations(*codes)}{text}}}\n")
        return name

    # Vertices

    def _vertices(self, name, use):
        if (name, use) in self.functions:
            return
        code = TaskCode(self, self.program.function(name))
        body = code.text({"apply": None, "where": "if ({}) append(errors, vertex);",
                          "total": "errors.total += {};"}[use])
        text = _VERTICES.substitute(parameter=code.parameters[0], body=body)
        kernel = self._kernel(f"{use}{len(self.functions)}", code, text=text)
        self.functions[name, use] = kernel, code.uniforms

    # Edges

    def _edges(self, node):
        if node.position in self.arcs:
            return
        number, function = len(self.arcs), self.program.function(node.apply_f)
        reduces = [part for part in ir.walk(*function.body) if isinstance(part, ir.Reduce)]
        owned = frozenset(reduce.vector for reduce in reduces
                          if not shared(function, reduce, 1))
        copied = node.metadata["start_copies"]
        fresh = frozenset(function.writes() - set(copied))
        exits = all(_settles(part, function, owned) for part in function.body)

        first = len({part for part in ir.walk(*function.body) if isinstance(part, ir.Uniform)})
        push_filter, filter_text, kernel = self._filter(node, number, first)
        push = TaskCode(self, function, fresh=fresh, tracking=node.tracking)
        pull = TaskCode(self, function, fresh=fresh, owned=owned, tracking=node.tracking)
        filters = [push_filter] if push_filter else []
        self._push(f"push{number}", push, filters, filter_text)
        self._pull(f"pull{number}", pull, filters, filter_text, exits)

        sparse = {vector for vector in copied if self._of_sources(node, function, vector)}
        self.arcs[node.position] = Arcs(
            node, f"push{number}", f"pull{number}", kernel,
            push.uniforms + (push_filter.uniforms if push_filter else []),
            tuple(self._numbers[vector] for vector in copied if vector not in sparse),
            tuple(self._numbers[vector] for vector in copied if vector in sparse),
            owned >= function.writes(), exits,
            0 if node.tracking is None else 1 if node.tracking in owned else 2)

    def _of_sources(self, node, function, vector):
        """Whether an operator reads a vector only at the sources of its edges."""
        if node.input_vset == ir.ALL:
            return False
        if node.to_filter is not None and vector in self.program.function(node.to_filter).reads():
            return False
        return all(isinstance(part.index, ir.Local) and part.index.name == function.parameters[0]
                   for part in ir.walk(*function.body)
                   if isinstance(part, ir.VectorLoad) and part.vector == vector)

    def _filter(self, node, number, first):
        """The code of a filter, the text of its lambda ``wanted``, and the kernel that makes its
        bits if it may fail."""
        if node.to_filter is None:
            return None, "", None
        code = TaskCode(self, self.program.function(node.to_filter), first=first)
        body = code.text("return {};", 2)
        text = _FILTER.substitute(vertex=code.parameters[0], body=body)
        if not code.can_fail:
            return code, text, None
        return code, _MADE_FILTER, self._kernel(f"filter{number}", code,
                                                text=text + _MAKE_FILTER)

    def _push(self, name, code, filters, filter_text):
        source, target, *weight = code.parameters
        body = code.text(levels=2)
        return self._kernel(name, code, *filters, text=_PUSH.substitute(
            filter=filter_text, source=source, target=target, body=body,
            test=f"if (!wanted({target})) return;" if filters else "",
            weight=f"const word {weight[0]} = task.along.weights[arc];" if weight else ""))

    def _pull(self, name, code, filters, filter_text, exits):
        source, target, *weight = code.parameters
        body = code.text(levels=4)
        before, after = [], []
        for vector, fault in code.sums.items():
            array = code.array("now", vector)
            number = self._numbers[vector]
            before.append(f"{'word' if fault is None else 'wide'} sum{number} = {array}[{target}];")
            if fault is not None:
                limit = most(self.program.vector(vector).type)
                after.append(f"if (sum{number} > {limit}u && sum{number} != {array}[{target}]) "
                             f"report(errors, {fault}, {target});")
            found = f" append(errors, {target});" if vector == code.tracking else ""
            after.append(f"if ((word)sum{number} != {array}[{target}]) {{ put({array} + {target}, "
                         f"(word)sum{number});{found} }}")
        return self._kernel(name, code, *filters, text=_PULL.substitute(
            filter=filter_text, source=source, target=target, body=body,
            before="\n            ".join(before), after="\n            ".join(after),
            test=f"if (!wanted({target})) continue;" if filters else "",
            weight=f"const word {weight[0]} = weights[arc];" if weight else "",
            leave="break;" if exits else ""))


def _settles(node, function, owned):
    """Whether, of the arcs that enter a vertex, the first one that counts settles a statement's
    effect: rows are in ascending order of the source."""
    if not isinstance(node, ir.Reduce) or node.operation == "+" or node.vector not in owned:
        return False
    if node.operation == "min" and isinstance(node.value, ir.Local) \
            and node.value.name == function.parameters[0]:
        return True
    changing = {function.parameters[0], *function.parameters[2:]}
    return not any(isinstance(part, ir.Local) and part.name in changing
                   for part in ir.walk(node.value))
