"""The C++ of a program: a kernel for each operator and direction.

A kernel does a part of an operator's work in one thread. ``machine.h`` has the types and the
reductions, :mod:`sw.vm.c_code` writes the bodies.
"""

import dataclasses
import string

from sw.lang import graph_ir as ir
from sw.lang.facts import AccessSet, Apart, known, suffices
from sw.vm.c_code import HELPERS, Faults, leaves_early, most
from sw.vm.cpu.bodies import TaskCode, Threads, declarations
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
$body            }
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
    #: The vectors that push copies before: whole, and the elements of its sources.
    push_copies: tuple[tuple[int, ...], tuple[int, ...]]
    pull_copies: tuple[tuple[int, ...], tuple[int, ...]]  #: Those that pull copies.
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
        self._filters: set[str] = set()
        self._numbers = {vector.name: i for i, vector in enumerate(program.vectors)}
        self._parts = ['#include "machine.h"\n', HELPERS]
        self._parts.append("INLINE word degree(const word *offsets, word vertex) {\n"
                           "    return offsets[vertex + 1] - offsets[vertex];\n}\n")
        for node in ir.walk(*program.body):
            match node:
                case ir.EdgeSetIterator():
                    self._edges(node)
                case ir.VertexSetIterator():
                    others = frozenset(access.vector for access in known(node, AccessSet).function
                                       if access.kind == "load" and access.at == "elsewhere")
                    self._vertices(node.apply_f, "apply", fresh=others)
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

    def _vertices(self, name, use, fresh=frozenset()):
        if (name, use) in self.functions:
            return
        code = TaskCode(self, self.program.function(name), threads=Threads(fresh=fresh))
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
        written, owned = (touched := known(node, AccessSet)).writes, touched.changed_at("dst")
        first = len({part for part in ir.walk(*function.body) if isinstance(part, ir.Uniform)})
        stamped = node.metadata.get("stamped", {})
        exits = leaves_early(self.program, node)
        reduces = [part.vector for part in ir.walk(*function.body) if isinstance(part, ir.Reduce)]
        equal = frozenset(vector for vector in reduces if reduces.count(vector) == 1) \
            if suffices(node, "any") else frozenset()

        def code(threads, leave=""):
            return TaskCode(self, function, threads=threads, stamped=stamped,
                            tracking=node.tracking, leave=leave)

        shared, owner = node.metadata["start_copies"], node.metadata["owner_copies"]
        still = {"src"} if known(node, Apart) else set()
        fresh = _racing(touched, shared, still)
        filters, filter_text, kernel = self._filter(node, number, first, fresh)
        push = code(Threads(fresh=fresh, equal=equal))
        self._push(f"push{number}", push, filters, filter_text)
        fresh = _racing(touched, owner, still | {"dst"})
        filters, filter_text, _ = self._filter(node, number, first, fresh)
        pull = code(Threads(owned, fresh), "break;" if exits else "")
        self._pull(f"pull{number}", pull, filters, filter_text)
        self.arcs[node.position] = Arcs(
            node, f"push{number}", f"pull{number}", kernel,
            push.uniforms + (filters[0].uniforms if filters else []),
            self._copies(node, shared), self._copies(node, owner), owned >= written, exits,
            0 if node.tracking is None else 1 if node.tracking in owned else 2)

    def _copies(self, node, vectors):
        """The numbers of vectors to copy whole, and of those to copy where the sources are."""
        function = self.program.function(node.apply_f)
        sparse = [vector for vector in vectors if self._of_sources(node, function, vector)]
        return (tuple(self._numbers[vector] for vector in vectors if vector not in sparse),
                tuple(self._numbers[vector] for vector in sparse))

    def _of_sources(self, node, function, vector):
        """Whether an operator reads a vector only at the sources of its edges."""
        if node.input_vset == ir.ALL:
            return False
        if node.to_filter is not None and vector in self.program.function(node.to_filter).reads():
            return False
        return all(isinstance(part.index, ir.Local) and part.index.name == function.parameters[0]
                   for part in ir.walk(*function.body)
                   if isinstance(part, ir.VectorLoad) and part.vector == vector)

    def _filter(self, node, number, first, fresh):
        """The code of a filter, in a list, the text of its lambda ``wanted``, and the kernel that
        makes its bits if it may fail."""
        if node.to_filter is None:
            return [], "", None
        code = TaskCode(self, self.program.function(node.to_filter), first=first,
                        threads=Threads(fresh=fresh), stamped=node.metadata.get("stamped"))
        body = code.text("return {};", 2)
        text = _FILTER.substitute(vertex=code.parameters[0], body=body)
        if not code.can_fail:
            return [code], text, None
        kernel = f"filter{number}"
        if kernel not in self._filters:
            self._filters.add(self._kernel(kernel, code, text=text + _MAKE_FILTER))
        return [code], _MADE_FILTER, kernel

    def _push(self, name, code, filters, filter_text):
        source, target, *weight = code.parameters
        body = code.text(levels=2)
        return self._kernel(name, code, *filters, text=_PUSH.substitute(
            filter=filter_text, source=source, target=target, body=body,
            test=f"if (!wanted({target})) return;" if filters else "",
            weight=f"const word {weight[0]} = task.along.weights[arc];" if weight else ""))

    def _pull(self, name, code, filters, filter_text):
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
            weight=f"const word {weight[0]} = weights[arc];" if weight else ""))


def _racing(touched, copies, still):
    """The vectors that are read while other threads change them: those without a copy, but for
    words at ends where only those at destinations change, and not these words at that time."""
    loads = {access for access in touched.function | touched.filter if access.kind == "load"}
    quiet = touched.changed_at("dst") - {load.vector for load in loads if load.at not in still}
    return touched.writes - quiet - set(copies)
