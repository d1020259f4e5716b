"""The text of CUDA C for a program: the phases of each operator, and the functions of the host.

An operator of edges becomes a struct of static functions for the templates of ``runtime.cuh``. It
goes through *rows*: in ``push`` the arcs that leave the sources, in ``pull`` the arcs that enter
the destinations. Reductions at the row's own vertex are *gathered*: each thread combines its
values, a warp combines those of its threads, and one lane reduces the word in memory.
"""

import dataclasses
import pathlib
import string
from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.facts import AccessSet, known
from sw.vm.c_code import HELPERS, Faults, FunctionCode, leaves_early, literal_words, most
from sw.vm.cuda.choices import DIRECTIONS, SCHEDULES, check_variant, choices
from sw.vm.cuda.loops import CudaLoop
from sw.vm.loop_code import FusedLoop


__all__ = ["FUSED_CTAS", "GeneratedCuda", "PULL_SHARE", "generate"]


#: An operator without a choice pulls if more than one of so many arcs leave its input.
PULL_SHARE = 16

#: Most CTAs of a fused loop for each multiprocessor.
FUSED_CTAS = 2

_RUNTIME = pathlib.Path(__file__).with_name("runtime.cuh")

_MACROS = ("#define INLINE DEVICE\n"
           "#define ERRORS const Call &\n")

_REDUCTIONS = {"min": "min", "max": "max", "+": "add", "or": "or"}

#: The word with which a gathered reduction begins.
_NEUTRAL = {"min": "word {} = NONE", "max": "word {} = 0", "+": "wide {} = 0", "or": "word {} = 0"}

#: An operator of edges in a direction, for the schedules of runtime.cuh.
_EDGES = string.Template("""
struct $name {
    static constexpr bool weighted = $weighted, gathers = $gathers;
    struct Local {
$local        bool done = false;
    };
    DEVICE const Rows &rows(const Call &call) { return call.$side; }
    DEVICE word number(const Call &call) { return $number; }
    DEVICE word place(const Call &call, wide i) { return $row; }
    DEVICE word vertex(const Call &, word place) { return place; }
    DEVICE bool dense(const Call &call) { return $dense; }
    DEVICE wide first_arc(const Call &) { return 0; }
    DEVICE wide last_arc(const Call &call) { return call.edges; }
    DEVICE bool active(const Call &call, word row) { return $active; }
    DEVICE bool wanted(const Call &call, word row) { return $wanted; }
    DEVICE void edge(const Call &call, word row, word neighbor, word weight, Local &local) {
        if (!$counts) return;
$parameters$body    }
    DEVICE void combine(Local &local) {
$combine    }
    DEVICE void finish(const Call &call, word row, const Local &local) {
$finish    }
};
""")

#: The same operator on the rows of blocks.
_BLOCKED = string.Template("""
struct ${name}blocks$blocks : $name {
    DEVICE const Rows &rows(const Call &call) { return call.blocks[$blocks].rows; }
    DEVICE word number(const Call &call) { return call.number; }
    DEVICE word place(const Call &call, wide i) { return call.first + (word)i; }
    DEVICE word vertex(const Call &call, word place) { return __ldg(&rows(call).vertices[place]); }
    DEVICE bool dense(const Call &) { return true; }
    DEVICE wide first_arc(const Call &call) { return call.first_arc; }
    DEVICE wide last_arc(const Call &call) { return call.last_arc; }
};
""")

#: A function of vertices with a result.
_RESULT = string.Template("""
struct $name {
    DEVICE word result(const Call &call, word own) {
        const word $parameter = own;
$body        return $result;
    }
};
""")

#: An operator of vertices.
_VERTICES = string.Template("""
struct $name {
    DEVICE void vertex(const Call &call, word own) {
        const word $parameter = own;
$body    }
};
""")


@dataclasses.dataclass(frozen=True)
class GeneratedCuda:
    """The CUDA of a program."""
    program: ir.GraphProgram
    #: The source, which includes only headers of the toolkit. Equal programs have equal texts.
    text: str
    vectors: tuple[str, ...]  #: The names of the vectors by number.
    uniforms: dict[ir.Uniform, int]  #: The place of each in ``Call.uniforms``.
    literals: tuple[ir.Literal, ...]  #: Literals of fixed point by number.
    faults: Faults  #: Possible faults by number.
    copies: frozenset[str]  #: Vectors of which some operator makes a copy at its start.
    loses: bool  #: Whether an operator may lose candidates.
    edges: dict[Any, int]  #: dict of Position to int. The numbers of the operators.
    vertices: dict[Any, int]  #: dict of Position to int. The numbers of the operators.
    functions: dict[str, int]  #: The numbers of the functions.
    #: dict of (bool, int) to int. The numbers of the rows in blocks: (whether arcs are reversed,
    #: vertices of a block).
    blocks: dict[tuple[bool, int], int]
    #: dict of Position to FusedLoop. The loops that are kernels. The function of a loop has its
    #: name.
    loops: dict[Any, FusedLoop]

    def function(self, node, choice, direction) -> str:
        """The name of the function that performs an operator of edges by a choice."""
        reverse = (direction == "push") == node.transposed
        blocks = None if choice.size is None else self.blocks[reverse, choice.size]
        return _function(self.edges[node.position], choice.schedule, direction, blocks)

    def literal_words(self, bits: int) -> list[int]:
        """The words of the literals with these fraction bits, of up to 64 bits."""
        return literal_words(self.literals, bits)


def generate(program: ir.GraphProgram, variants=None, schedule=None,
             direction=None) -> GeneratedCuda:
    """The CUDA of a program.

    Parameters
    ----------
    program : GraphProgram
        After the passes up to :data:`sw.lang.passes.CHOSEN`.
    variants : sequence of (str, str), optional
        Schedules and directions, for each of which every operator of edges gets a function beside
        those for its own choices. All of them, unless given.
    schedule, direction : str, optional
        For all operators of edges, in place of their own.

    Raises
    ------
    UserError
        If a schedule or a direction is unknown.
    """
    if variants is None:
        variants = [(schedule, direction) for schedule in SCHEDULES for direction in DIRECTIONS]
    for each in variants:
        check_variant(*each)
    return _Writer(program, variants, schedule, direction).generated()


class _DeviceCode(FunctionCode):
    """A function in a struct of the device.

    Parameters
    ----------
    writer : _Writer
    function : Function
    copies : sequence of str
        Vectors whose reads go to a copy.
    gathered : dict of str to str, optional
        The vectors that are only reduced at the row's vertex, and the reductions.
    tracking : str, optional
        The vector whose changes lead to the output.
    stamped, leave
        As of :class:`~sw.vm.c_code.FunctionCode`.
    """

    errors, num_vertices = "call", "call.vertices"

    def __init__(self, writer, function, copies=(), gathered=None, tracking=None, stamped=None,
                 leave=""):
        super().__init__(function, writer.faults, writer.literals, stamped, leave)
        self._writer, self._copies = writer, copies
        self._tracking = tracking
        #: {vector: the number of the fault} of the reductions that may lose candidates.
        self.losing: dict[str, int] = {}
        self.gathered = gathered or {}

    def load(self, vector, index, live):
        array = "start" if vector in self._copies and not live else "now"
        return f"call.{array}[{self._writer.number(vector)}][{index}]"

    def store(self, vector, index, value):
        return f"call.now[{self._writer.number(vector)}][{index}] = {value};"

    def reduce(self, node, index, value, fault):
        number, name = self._writer.number(node.vector), _REDUCTIONS[node.operation]
        if node.vector in self.gathered:
            self._writer.sums[node.vector] = fault
            return f"gather_{name}(local.v{number}, {value});"
        return self.reduction(node.vector, name, index, value, fault)

    def reduction(self, vector, name, index, value, fault):
        """The statement that reduces a word in memory."""
        tracked = "true" if vector == self._tracking else "false"
        more = "" if fault is None else \
            f", {most(self._writer.program.vector(vector).type)}u, {fault}"
        return (f"reduce_{name}<{tracked}>(call, call.now[{self._writer.number(vector)}], {index}, "
                f"{value}{more});")

    def lose(self, node, fault):
        self.losing[node.vector] = fault
        return f"lose(call, {self._writer.number(node.vector)}, at);"

    def degree(self, vertex, leaving):
        return f"degree(call.{'leaving' if leaving else 'entering'}, {vertex})"

    def uniform(self, number):
        place = self._writer.uniforms.setdefault(self.uniforms[number],
                                                 len(self._writer.uniforms))
        return f"call.uniforms[{place}]"

    def literal(self, number):
        return f"call.literals[{number}]"


class _Writer:
    """Writes the text of one program."""

    def __init__(self, program, variants, schedule, direction):
        self.program, self._variants = program, tuple(variants)
        self._given = schedule, direction
        self._vectors = tuple(vector.name for vector in program.vectors)
        self.functions = {function.name: i for i, function in enumerate(program.functions)}
        self._edges: dict[Any, int] = {}
        self.vertices: dict[Any, int] = {}
        self._failing: set = set()
        #: {place of an operator: the faults of the vectors whose candidates it may lose}.
        self._losing: dict[Any, dict[str, int]] = {}
        self._checks: dict[Any, str | None] = {}
        self.blocks: dict[tuple[bool, int], int] = {}
        self._loops: dict[Any, Any] = {}
        self._copies: set[str] = set()
        self._parts: list[str] = []
        self.faults = Faults()
        self.literals: list[ir.Literal] = []
        self.uniforms: dict[ir.Uniform, int] = {}
        self.sums: dict[str, int | None] = {}

    def number(self, vector) -> int:
        """The number of a vector."""
        return self._vectors.index(vector)

    def generated(self) -> GeneratedCuda:
        """The text with its tables."""
        for node in ir.instructions(self.program.body):
            match node:
                case ir.EdgeSetIterator():
                    self._edge_operator(node)
                case ir.VertexSetIterator():
                    self._vertex_operator(node)
        for function in self.program.functions:
            if function.gives is not None and not function.of_edge:
                self._vertex_function(function)
        for vector in sorted({node.vector for node in ir.instructions(self.program.body)
                              if isinstance(node, ir.NewQueue)}):
            number = self.number(vector)
            self._wrapper(f"split_{number}", [f"launch<split<{number}>>(call->count, *call);"])
            self._wrapper(f"lowest_{number}", [f"launch<lowest<{number}>>(call->count, *call);"])
        for node in ir.instructions(self.program.body):
            if isinstance(node, ir.WhileLoop | ir.ForLoop) and node.metadata.get("needs_fusion"):
                loop = CudaLoop(self, len(self._loops), node)
                self._parts.append(loop.text())
                self._loops[node.position] = loop.fused
        sizes = {"VECTORS": self._vectors, "UNIFORMS": self.uniforms, "LITERALS": self.literals,
                 "BLOCKS": self.blocks, "OPERATORS": self._edges}
        numbers = {name: max(len(values), 1) for name, values in sizes.items()}
        numbers |= {"PULL_SHARE": PULL_SHARE, "FUSED_CTAS": FUSED_CTAS}
        text = "".join([
            *(f"#define {name} {number}\n" for name, number in numbers.items()), "\n",
            _RUNTIME.read_text(encoding="utf-8"), "\n", _MACROS, HELPERS, *self._parts])
        return GeneratedCuda(
            program=self.program, text=text, vectors=self._vectors, uniforms=self.uniforms,
            literals=tuple(self.literals), faults=self.faults,
            copies=frozenset(self._copies), loses=any(self._losing.values()), edges=self._edges,
            vertices=self.vertices, functions=self.functions, blocks=self.blocks, loops=self._loops)

    def fails(self, node) -> bool:
        """Whether an operator can fail."""
        return node.position in self._failing

    def chosen(self, node):
        """The choices of an operator of edges."""
        return choices(node, *self._given)

    def _result(self, name, code):
        """A struct with the result of a function of vertices."""
        body = code.body("        ")
        self._parts.append(_RESULT.substitute(name=name, parameter=code.parameters[0], body=body,
                                              result=code.result))

    def _wrapper(self, name, lines, begins=True, waits=True):
        """The function that the host calls. It waits for the status unless nothing is in it."""
        around = ("begin(*call);" if begins else None,
                  "return end(*call, status);" if waits else "return go_on(status);")
        inner = "".join(f"    {line}\n" for line in (around[0], *lines, around[1]) if line)
        self._parts.append(
            f'\nextern "C" int {name}(const Call *call, Status *status) {{\n{inner}}}\n')

    def _vertex_function(self, function):
        """The functions of a function that gives a result: a filter, and a sum."""
        number = self.functions[function.name]
        code = _DeviceCode(self, function)
        self._result(f"Function{number}", code)
        if code.can_fail:
            self._failing.add(function.name)
        for phase in ("where", "total"):
            self._wrapper(f"{phase}_{number}",
                          [f"launch<{phase}<Function{number}>>(call->count, *call);"])

    def number_of(self, node) -> int:
        """The number of an operator of edges."""
        return self._edges[node.position]

    def function_fails(self, name) -> bool:
        """Whether a filter or a sum can fail."""
        return name in self._failing

    def _vertex_operator(self, node):
        number = self.vertices.setdefault(node.position, len(self.vertices))
        code = _DeviceCode(self, self.program.function(node.apply_f), node.metadata["start_copies"])
        self._parts.append(_VERTICES.substitute(
            name=f"Vertices{number}", parameter=code.parameters[0], body=code.body("        ")))
        self._losing[node.position] = code.losing
        fails = code.can_fail or bool(code.losing)
        if fails:
            self._failing.add(node.position)
        before = [f"launch<{phase}>(call->vertices, *call);" for phase in self.kept(node)]
        self._wrapper(f"vertices_{number}",
                      [*before, f"launch<each<Vertices{number}>>(call->count, *call);",
                       *self._settling(node)], fails, fails)

    def settles(self, node) -> list[str]:
        """The phases that end an operator that may lose candidates."""
        return [f"settle<{self.number(vector)}, {fault}>"
                for vector, fault in self._losing[node.position].items()]

    def _settling(self, node):
        """The lines of these phases."""
        return [f"launch<{phase}>(call->vertices / 32 + 1, *call);"
                for phase in self.settles(node)]

    def kept(self, node) -> list[str]:
        """The phase that copies vectors, if there are any to copy."""
        copies = node.metadata["start_copies"]
        self._copies.update(copies)
        return [_both(f"keep<{self.number(vector)}>" for vector in copies)] if copies else []

    # Edges

    def _edge_operator(self, node):
        number = self._edges.setdefault(node.position, len(self._edges))
        copies, tested, fails = node.metadata["start_copies"], None, False
        if node.to_filter is not None:
            tested = f"Edges{number}Filter"
            code = _DeviceCode(self, self.program.function(node.to_filter), copies,
                               stamped=node.metadata.get("stamped"))
            self._result(tested, code)
            fails = code.can_fail
        # A filter that can fail is evaluated for all vertices.
        self._checks[node.position] = tested if fails else None
        wanted: dict[tuple[str, str, int | None], None] = dict.fromkeys(
            (schedule, direction, None) for schedule, direction in self._variants)
        for choice in self.chosen(node):
            for direction in choice.directions:
                wanted[choice.schedule, direction, self.block(node, direction, choice.size)] = None
        for direction in dict.fromkeys(direction for _, direction, _ in wanted):
            fails |= self._edge_struct(node, number, direction, copies, tested)
        for direction, blocks in dict.fromkeys(key[1:] for key in wanted):
            if blocks is not None:
                self._parts.append(_BLOCKED.substitute(name=f"Edges{number}{direction}",
                                                       blocks=blocks))
        # A fixpoint loop knows its lost candidates when it ends.
        ends = [] if node.metadata.get("any_order") else self._settling(node)
        if node.metadata.get("any_order"):
            self._wrapper(f"settle_{number}", self._settling(node))
        if fails or ends:
            self._failing.add(node.position)
        waits = fails or bool(ends) or node.tracking is not None
        for schedule, direction, blocks in wanted:
            lines = [f"launch<{phase}>({threads}, *call);"
                     for phase, threads in self.before(node, schedule, direction, blocks)]
            rows = "call->count" if direction == "push" else "call->vertices"
            phases = ", ".join(self.rows(node, schedule, direction, blocks))
            by_arcs = schedule in ("edge_only", "strict")
            if blocks is not None:
                lanes = "WARP" if schedule == "twc" else "1"
                lines.append(f"launch_blocks<{blocks}, {lanes}, {phases}>"
                             f"({str(by_arcs).lower()}, *call);")
            else:
                arcs = "call->arcs" if direction == "push" and schedule == "strict" \
                    else "call->edges"
                threads = arcs if by_arcs else f"(wide){rows} * WARP" if schedule == "twc" else rows
                lines.append(f"launch<{phases}>({threads}, *call);")
            lines += ends
            if node.tracking is not None:
                lines.append("make_output(*call);")
            self._wrapper(_function(number, schedule, direction, blocks), lines,
                          waits or schedule == "twc", waits)

    def block(self, node, direction, size) -> int | None:
        """The number of the rows in blocks of a size; None without EdgeBlocking."""
        if size is None:
            return None
        reverse = (direction == "push") == node.transposed
        return self.blocks.setdefault((reverse, size), len(self.blocks))

    def before(self, node, schedule, direction, blocks) -> list[tuple[str, str]]:
        """The phases before those of rows, with the numbers of their threads."""
        number, checked = self._edges[node.position], self._checks[node.position]
        op, push = f"Edges{number}{direction}", direction == "push"
        marks = (not push or schedule == "edge_only") and node.input_vset != ir.ALL
        first = dict.fromkeys(self.kept(node), "call->vertices")
        second = {}
        if marks:
            first["clear_members"] = "call->queue ? call->vertices / 4 + 1 : 0"
            second["set_members"] = "call->queue ? call->count : 0"
        if schedule == "strict" and push and node.input_vset != ir.ALL:
            first[f"sum_chunks<{op}>"] = "call->queue ? call->count : 0"
        if checked is not None:
            second[f"check<{checked}>"] = "call->vertices"
        if schedule == "twc" and blocks is None:
            second[f"classify<{op}>"] = "call->count" if push else "call->vertices"
        return [(_both(phases), next(iter(phases.values())) if len(phases) == 1
                 else "call->vertices") for phases in (first, second) if phases]

    def rows(self, node, schedule, direction, blocks) -> list[str]:
        """The phases that go through rows; with EdgeBlocking, those of each block."""
        op = f"Edges{self._edges[node.position]}{direction}"
        if blocks is None:
            return [f"{schedule}<{op}>"]
        op += f"blocks{blocks}"
        more = ["empty_buckets", f"classify<{op}>"] if schedule == "twc" else []
        return [*more, f"{schedule}<{op}>"]

    def _edge_struct(self, node, number, direction, copies, tested):
        """The struct of an operator of edges in a direction. Returns whether it can fail."""
        function, push = self.program.function(node.apply_f), direction == "push"
        at_row = known(node, AccessSet).changed_at("src" if push else "dst")
        found = {part.vector: part.operation for part in ir.walk(*function.body)
                 if isinstance(part, ir.Reduce) and part.vector in at_row}
        exits = not push and leaves_early(self.program, node)
        code = _DeviceCode(self, function, copies, found, node.tracking,
                           node.metadata.get("stamped"), "local.done = true;" if exits else "")
        gathered = [(vector, self.number(vector), operation)
                    for vector, operation in found.items()]
        filtered = f"{tested}::result(call, {{}})" if tested else "true"
        source, target = ("row", "neighbor") if push else ("neighbor", "row")
        names = dict(zip(code.parameters, (source, target, "weight")))
        member = "true" if node.input_vset == ir.ALL else "member(call, {})"
        self._parts.append(_EDGES.substitute(
            name=f"Edges{number}{direction}",
            weighted=str(function.weighted).lower(), gathers=str(bool(gathered)).lower(),
            side="entering" if push == node.transposed else "leaving",
            number="call.count" if push else "call.vertices",
            row="::vertex(call, i)" if push else "(word)i",
            dense="!call.queue" if push else "true",
            active=member.format("row") if push else "true",
            wanted="true" if push else filtered.format("row"),
            counts=filtered.format("neighbor") if push else member.format("neighbor"),
            parameters="".join(f"        const word {name} = {value};\n"
                               for name, value in names.items()),
            body=code.body("        "),
            local="".join(f"        {_NEUTRAL[operation].format(f'v{i}')};\n"
                          for _, i, operation in gathered),
            combine="".join(f"        over_warp(local.v{i}, gather_{_REDUCTIONS[operation]});\n"
                            for _, i, operation in gathered),
            finish="".join("        " + code.reduction(vector, _REDUCTIONS[operation], "row",
                                                       f"local.v{i}", self.sums[vector]) + "\n"
                           for vector, i, operation in gathered)))
        self._losing.setdefault(node.position, {}).update(code.losing)
        return code.can_fail


def _both(phases) -> str:
    """Phases as one."""
    phases = list(phases)
    return phases[0] if len(phases) == 1 else f"both<{', '.join(phases)}>"


def _function(number, schedule, direction, blocks) -> str:
    """The name of the function of an operator of edges."""
    end = "" if blocks is None else f"_blocks{blocks}"
    return f"edges_{number}_{schedule}_{direction}{end}"
