"""Fused loops as kernels (UGF, 5.2.1): one launch for a loop, with a barrier of the grid after each
phase of an operator. ``runtime.cuh`` has the grid, sets and queues.

The host and a kernel share an array of integers of 64 bits, the *state*: the numbers that the loop
changes, the threshold and the width of the steps of its queues, the sets (a place and a size each),
the result, a fault, the operators that were performed, and the last stamp; then the constants and
the words.
"""

import string

from sw.lang import graph_ir as ir
from sw.lang.facts import Deferred, known
from sw.vm.loop_code import FAULT, LoopCode


__all__ = ["CudaLoop", "LoopWords"]


#: Whether CTAs sum chunks of the rows of `strict` before it begins.
_CHUNKED = "grid.call.queue && grid.call.count > CHUNKS"

_KERNEL = string.Template("""
__global__ void __launch_bounds__(CTA) kernel_$name(
        const __grid_constant__ Call given, Loop *loop, int64_t *state,
        const __grid_constant__ Places<$places> places) {
    Grid grid(given, loop);
$declared    const auto leave = [&](int64_t result) {
        if (thread() == 0) {
$kept        }
    };
    const auto unused = [&](word *other = nullptr) {
        return places.unused(Set{other, 0}$sets);
    };
    const auto large = [&]() { return false$larger; };
$body    leave(0);
}

extern "C" int $name(const Call *call, Loop *loop, int64_t *state, word *const *at) {
    Places<$places> places;
    for (int i = 0; i < $places; i++) {
        places.at[i] = at[i];
    }
    return launch_loop(kernel_$name, *call, loop, state, places);
}
""")


class LoopWords:
    """Where the parts of a state begin.

    Parameters
    ----------
    fused : FusedLoop

    Attributes
    ----------
    numbers, thresholds, sets, end, constants, words : int
        ``end`` is where the result, the fault, the operators and the stamp are.
    size : int
        Integers of the state.
    """

    def __init__(self, fused):
        self.fused = fused
        self.numbers = 0
        self.thresholds = len(fused.numbers)
        self.sets = self.thresholds + 2 * len(fused.queues)
        self.end = self.sets + 2 * len(fused.sets)
        self.constants = self.end + 4
        self.words = self.constants + len(fused.constants)
        self.size = self.words + len(fused.words)

    @property
    def places(self) -> int:
        """Places for sets: an operator may make two while all sets are in use."""
        return len(self.fused.sets) + 2


class CudaLoop(LoopCode):
    """Writes one loop: its kernel, and the function that launches it."""

    late, large, uniforms = "grid.late()", "large()", "grid.call.uniforms"

    def text(self):
        body = self.body()
        fused, layout = self.fused, LoopWords(self.fused)
        declared, kept = [], []
        for i in range(len(fused.numbers)):
            declared.append(f"int64_t number{i} = state[{layout.numbers + i}];")
            kept.append(f"state[{layout.numbers + i}] = number{i};")
        for i in range(len(fused.queues)):
            place = layout.thresholds + 2 * i
            declared += [f"int64_t threshold{i} = state[{place}];",
                         f"const int64_t delta{i} = state[{place + 1}];"]
            kept.append(f"state[{place}] = threshold{i};")
        for i in range(len(fused.sets)):
            place = layout.sets + 2 * i
            declared.append(f"Set set{i} = {{reinterpret_cast<word *>(state[{place}]), "
                            f"(wide)state[{place + 1}]}};")
            kept += [f"state[{place}] = reinterpret_cast<int64_t>(set{i}.list);",
                     f"state[{place + 1}] = set{i}.size;"]
        for name, values, begin in (("constants", fused.constants, layout.constants),
                                    ("words", fused.words, layout.words)):
            given = ", ".join(f"state[{begin + i}]" for i in range(len(values)))
            if given:
                declared.append(f"const int64_t {name}[] = {{{given}}};")
        ends = ("result", "grid.call.status->fault", "grid.count", "grid.call.stamp")
        kept += [f"state[{layout.end + i}] = {value};" for i, value in enumerate(ends)]
        return _KERNEL.substitute(
            name=fused.name, places=layout.places, body=body,
            declared="".join(f"    {line}\n" for line in declared),
            kept="".join(f"            {line}\n" for line in kept),
            sets="".join(f", set{i}" for i in range(len(fused.sets))),
            larger="".join(f" || grid.large(set{i})" for i in range(len(fused.sets))))

    def size(self, number):
        return f"(int64_t)(word)set{number}.size"

    def is_vertex(self, value):
        return f"{value} >= 0 && {value} < grid.call.vertices"

    def move(self, source, target):
        return f"set{target} = set{source};"

    def dequeue(self, queue, source, target, indent):
        name = self.fused.queues[queue]
        [node] = [node for node in ir.instructions(self.writer.program.body)
                  if isinstance(node, ir.NewQueue) and node.name == name]
        vector = self.writer.number(node.vector)
        return (f"{indent}grid.dequeue<{vector}>(delta{queue}, threshold{queue}, set{source}, "
                f"set{target}, unused);\n")

    def total(self, function, source, name, indent):
        phase = f"total<Function{self.writer.functions[function]}>"
        return (f"{indent}grid.begin(set{source});\n{self._runs([phase], indent)}"
                f"{self._failure(self.writer.fails(function), indent)}"
                f"{indent}{name} = __ldcg(&grid.call.status->total);\n")

    def settle(self, node, indent):
        phases = self.writer.settles(node)
        if not phases:
            return ""
        return (f"{indent}grid.begin(Set());\n{self._runs(phases, indent)}"
                f"{self._failure(True, indent)}")

    def operator(self, node, source, target, indent):
        writer = self.writer
        text = f"{indent}grid.begin(set{source});\n{indent}++grid.count;\n"
        if target is not None:
            text += f"{indent}grid.call.output = unused();\n"
        if isinstance(node, ir.VertexFilter):
            text += self._runs([f"where<Function{writer.functions[node.filter]}>"], indent)
        elif isinstance(node, ir.VertexSetIterator):
            text += self._runs([*writer.kept(node),
                                f"each<Vertices{writer.vertices[node.position]}>"], indent)
        else:
            text += self._edges(node, source, indent)
        if not isinstance(node, ir.VertexFilter) and known(node, Deferred) is None:
            text += self._runs(writer.settles(node), indent)
        text += self._failure(writer.fails(getattr(node, "filter", node.position)), indent)
        if target is None:
            return text
        if getattr(node, "output_vset", None) in self.queues:
            return f"{text}{indent}grid.join_queue(set{target}, grid.made(), unused);\n"
        return f"{text}{indent}set{target} = grid.made();\n"

    @staticmethod
    def _runs(phases, indent):
        return "".join(f"{indent}grid.run<{phase}>();\n" for phase in phases)

    @staticmethod
    def _failure(fails, indent):
        return f"{indent}if (grid.failed()) return leave({FAULT});\n" if fails else ""

    def _edges(self, node, source, indent):
        """Statements that perform an operator of edges by its choices."""
        first, *others = self.writer.chosen(node)
        text = self._chosen(node, first, indent + "    " * bool(others))
        if not others:
            return text
        return (f"{indent}if ({self.size(source)} >= grid.call.least["
                f"{self.writer.edges[node.position]}]) {{\n"
                f"{self._chosen(node, others[0], indent + '    ')}{indent}}} else {{\n"
                f"{text}{indent}}}\n")

    def _chosen(self, node, choice, indent):
        if choice.direction is not None:
            return self._directed(node, choice, choice.direction, indent)
        push, pull = (self._directed(node, choice, direction, indent + "    ")
                      for direction in choice.directions)
        return (f"{indent}if (grid.pulls({self.writer.pull_share(node)})) {{\n{pull}{indent}}} "
                f"else {{\n{push}{indent}}}\n")

    def _directed(self, node, choice, direction, indent):
        writer, creation = self.writer, choice.creation(direction)
        blocks = writer.block(node, direction, choice.size)
        fields = {"creation": creation, "deduplication": choice.deduplication,
                  "members_shift": choice.members_shift}
        text = "".join(f"{indent}grid.call.{name} = {value};\n" for name, value in fields.items())
        schedule = choice.schedule(direction, fused=True)
        for phase, _ in writer.before(node, schedule, direction, blocks):
            text += f"{indent}if ({_CHUNKED})\n    " * phase.startswith("sum_chunks")
            text += self._runs([phase], indent)
        phases = writer.rows(node, schedule, direction, blocks)
        if blocks is None:
            first, *more = phases
            text += self._runs([first], indent)
            for phase in more:
                text += f"{indent}if ({phase}::needed(grid.call))\n    "
                text += self._runs([phase], indent)
        else:
            text += f"{indent}grid.run_blocks<{blocks}, {', '.join(phases)}>();\n"
        if node.tracking is not None and (creation != "FUSED"
                                          or choice.deduplication in ("BITS", "BYTES")):
            text += self._runs(["collect"], indent)
        return text
