"""The text of CUDA C for a program: a kernel for each operator and schedule, and its wrappers.

An operator of edges becomes a struct of static functions for the templates of ``runtime.cuh``. It
goes through *rows*: in ``push`` the arcs that leave the sources, in ``pull`` the arcs that enter
the destinations. Reductions at the row's own vertex are *gathered*: each thread combines its
values, a warp combines those of its threads, and one lane reduces the word in memory.
"""

import dataclasses
import pathlib
import string
from typing import Any

from sw.errors import UserError
from sw.lang import graph_ir as ir
from sw.vm.c_code import HELPERS, ProgramFault, FunctionCode, literal_words


__all__ = ["DIRECTIONS", "GeneratedCuda", "SCHEDULES", "check_variant", "generate"]


#: {schedule: what one vertex or edge gets}. Each is the name of a kernel of runtime.cuh.
SCHEDULES = {"vertex_based": "a thread a vertex", "wm": "a warp a vertex",
             "etwc": "threads, warps and CTAs for parts of a vertex's edges",
             "edge_only": "a thread an edge"}

#: Directions, with the kind of output set: push appends to a queue in the kernel; pull marks
#: vertices, and a second kernel makes a queue of them.
DIRECTIONS = {"push": "FUSED", "pull": "UNFUSED"}

_RUNTIME = pathlib.Path(__file__).with_name("runtime.cuh")

_MACROS = ("#define INLINE __device__ inline\n"
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
    static __device__ const Rows &rows(const Call &call) { return call.$side; }
    static __device__ word number(const Call &call) { return $number; }
    static __device__ word row(const Call &call, wide i) { return $row; }
    static __device__ bool active(const Call &call, word row) { return $active; }
    static __device__ bool wanted(const Call &call, word row) { return $wanted; }
    static __device__ void edge(const Call &call, word row, word neighbor, word weight,
                                Local &local) {
        if (!$counts) return;
$parameters$body        local.done = $done;
    }
    static __device__ void combine(Local &local) {
$combine    }
    static __device__ void finish(const Call &call, word row, const Local &local) {
$finish    }
};
""")

#: A function of vertices with a result.
_RESULT = string.Template("""
struct $name {
    static __device__ word result(const Call &call, word own) {
        const word $parameter = own;
$body        return $result;
    }
};
""")

#: An operator of vertices.
_VERTICES = string.Template("""
struct $name {
    static __device__ void vertex(const Call &call, word own) {
        const word $parameter = own;
$body    }
};
""")


@dataclasses.dataclass(frozen=True)
class GeneratedCuda:
    """The CUDA of a program.

    Parameters
    ----------
    program : GraphProgram
    text : str
        The source, which includes only headers of the toolkit. Equal programs have equal texts.
    vectors : tuple of str
        The names of the vectors by number.
    uniforms : dict of Uniform to int
        The place of each in ``Call.uniforms``.
    literals : tuple of Literal
        Literals of fixed point by number.
    faults : tuple of ProgramFault
        Possible faults by number.
    copies : frozenset of str
        Vectors of which some operator makes a copy at its start.
    edges, vertices : dict of Position to int
        The numbers of the operators.
    functions : dict of str to int
        The numbers of the functions.
    """
    program: ir.GraphProgram
    text: str
    vectors: tuple[str, ...]
    uniforms: dict[ir.Uniform, int]
    literals: tuple[ir.Literal, ...]
    faults: tuple[ProgramFault, ...]
    copies: frozenset[str]
    edges: dict[Any, int]
    vertices: dict[Any, int]
    functions: dict[str, int]

    def literal_words(self, bits: int) -> list[int]:
        """The words of the literals with these fraction bits, of up to 64 bits."""
        return literal_words(self.literals, bits)


def check_variant(schedule: str, direction: str) -> None:
    """Raise UserError if this GraphVM has no such schedule or direction."""
    if schedule not in SCHEDULES:
        raise UserError(f"schedule {schedule!r} must be one of {', '.join(SCHEDULES)}")
    if direction not in DIRECTIONS:
        raise UserError(f"direction {direction!r} must be one of {', '.join(DIRECTIONS)}")


def generate(program: ir.GraphProgram, variants=None) -> GeneratedCuda:
    """The CUDA of a program.

    Parameters
    ----------
    program : GraphProgram
        After all passes (:func:`sw.lang.passes.analysed`).
    variants : sequence of (str, str), optional
        Schedules and directions, for each of which every operator of edges gets a kernel. All of
        them, unless given.

    Raises
    ------
    UserError
        If a schedule or a direction is unknown.
    """
    if variants is None:
        variants = [(schedule, direction) for schedule in SCHEDULES for direction in DIRECTIONS]
    for schedule, direction in variants:
        check_variant(schedule, direction)
    return _Writer(program, variants).generated()


class _DeviceCode(FunctionCode):
    """A function in a struct of the device.

    Parameters
    ----------
    writer : _Writer
    function : Function
    copies : sequence of str
        Vectors whose reads go to a copy.
    row : int, optional
        The parameter whose vertex is that of the row, for functions of edges.
    output : str
        The kind of output set: UNTRACKED, FUSED or UNFUSED.
    tracking : str, optional
        The vector whose changes lead to the output.
    """

    errors, num_vertices = "call", "call.vertices"

    def __init__(self, writer, function, copies=(), row=None, output="UNTRACKED", tracking=None):
        super().__init__(function, writer.faults, writer.literals)
        self._writer, self._copies = writer, copies
        self._output, self._tracking = output, tracking
        self.gathered = {} if row is None else self._gathered(function.parameters[row])
        self.first_counts = row is not None and bool(self.gathered) and self._first_counts(row)

    def _gathered(self, own):
        """{vector: the operation} of the vectors that are only reduced at the row's vertex."""
        found: dict[str, list[ir.Reduce]] = {}
        for node in ir.walk(*self.function.body):
            if isinstance(node, ir.Reduce):
                found.setdefault(node.vector, []).append(node)
        return {vector: nodes[0].operation for vector, nodes in found.items()
                if all(isinstance(node.index, ir.Local) and node.index.name == own
                       for node in nodes)}

    def _first_counts(self, row):
        """Whether the first edge of a row, by the number of the neighbour, decides the result: it
        is the least neighbour, or all edges reduce by one value."""
        match self.function.body:
            case (ir.Reduce(operation="min" | "max" | "or" as operation, value=value),):
                other = self.function.parameters[1 - row]
                names = {node.name for node in ir.walk(value) if isinstance(node, ir.Local)}
                return names <= {self.function.parameters[row]} or (
                    operation == "min" and isinstance(value, ir.Local) and value.name == other)
        return False

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
        output = self._output if vector == self._tracking else "UNTRACKED"
        more = "" if fault is None else f", {fault}"
        return (f"reduce_{name}<{output}>(call, call.now[{self._writer.number(vector)}], {index}, "
                f"{value}{more});")

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

    def __init__(self, program, variants):
        self._program, self._variants = program, tuple(variants)
        self._vectors = tuple(vector.name for vector in program.vectors)
        self._functions = {function.name: i for i, function in enumerate(program.functions)}
        self._edges: dict[Any, int] = {}
        self._vertices: dict[Any, int] = {}
        self._copies: set[str] = set()
        self._parts: list[str] = []
        self.faults: list[ProgramFault] = []
        self.literals: list[ir.Literal] = []
        self.uniforms: dict[ir.Uniform, int] = {}
        self.sums: dict[str, int | None] = {}

    def number(self, vector) -> int:
        """The number of a vector."""
        return self._vectors.index(vector)

    def generated(self) -> GeneratedCuda:
        """The text with its tables."""
        for node in ir.instructions(self._program.body):
            match node:
                case ir.EdgeSetIterator():
                    self._edge_operator(node)
                case ir.VertexSetIterator():
                    self._vertex_operator(node)
        for function in self._program.functions:
            if function.gives is not None and not function.of_edge:
                self._vertex_function(function)
        sizes = {"VECTORS": self._vectors, "UNIFORMS": self.uniforms, "LITERALS": self.literals}
        text = "".join([
            *(f"#define {name} {max(len(values), 1)}\n" for name, values in sizes.items()), "\n",
            _RUNTIME.read_text(encoding="utf-8"), "\n", _MACROS, HELPERS, *self._parts])
        return GeneratedCuda(
            program=self._program, text=text, vectors=self._vectors, uniforms=self.uniforms,
            literals=tuple(self.literals), faults=tuple(self.faults),
            copies=frozenset(self._copies),
            edges=self._edges, vertices=self._vertices, functions=self._functions)

    def _result(self, name, code):
        """A struct with the result of a function of vertices."""
        body = code.body("        ")
        self._parts.append(_RESULT.substitute(name=name, parameter=code.parameters[0], body=body,
                                              result=code.result))

    def _wrapper(self, name, lines, waits=True):
        """The function that the host calls. It waits for the status unless nothing is in it."""
        around = ("begin(*call);", "return end(*call, status);") if waits else \
            (None, "return go_on(status);")
        inner = "".join(f"    {line}\n" for line in (around[0], *lines, around[1]) if line)
        self._parts.append(
            f'\nextern "C" int {name}(const Call *call, Status *status) {{\n{inner}}}\n')

    def _vertex_function(self, function):
        """The kernels of a function that gives a result: a filter, and a sum."""
        number = self._functions[function.name]
        self._result(f"Function{number}", _DeviceCode(self, function))
        self._wrapper(f"where_{number}", [f"launch(where<Function{number}>, call->count, *call);"])
        self._wrapper(f"total_{number}", [f"launch(total<Function{number}>, call->count, *call);"])

    def _vertex_operator(self, node):
        number = self._vertices.setdefault(node.position, len(self._vertices))
        copies = node.metadata["start_copies"]
        code = _DeviceCode(self, self._program.function(node.apply_f), copies)
        self._parts.append(_VERTICES.substitute(
            name=f"Vertices{number}", parameter=code.parameters[0], body=code.body("        ")))
        self._wrapper(f"vertices_{number}",
                      [*self._kept(copies), f"launch(each<Vertices{number}>, call->count, *call);"],
                      code.can_fail)

    def _kept(self, copies):
        """Statements that copy vectors."""
        self._copies.update(copies)
        return [f"keep(*call, {self.number(vector)});" for vector in copies]

    def _edge_operator(self, node):
        number = self._edges.setdefault(node.position, len(self._edges))
        copies = node.metadata["start_copies"]
        keep, checks, tested = self._kept(copies), [], None
        waits = node.tracking is not None
        if node.to_filter is not None:
            tested = f"Edges{number}Filter"
            code = _DeviceCode(self, self._program.function(node.to_filter), copies)
            self._result(tested, code)
            waits |= code.can_fail
            if code.can_fail:
                checks = [f"launch(check<{tested}>, call->vertices, *call);"]
        for direction in dict.fromkeys(direction for _, direction in self._variants):
            waits |= self._edge_struct(node, number, direction, copies, tested)
        for schedule, direction in self._variants:
            push = direction == "push"
            rows = "call->count" if push else "call->vertices"
            threads = {"wm": f"(wide){rows} * WARP", "edge_only": "call->edges"}.get(schedule, rows)
            lines = [*keep, *checks]
            if not push or schedule == "edge_only":
                lines.append("make_bitmap(*call);")
            lines.append(f"launch({schedule}<Edges{number}{direction}>, {threads}, *call);")
            if node.tracking is not None and DIRECTIONS[direction] == "UNFUSED":
                lines.append("launch(collect, call->vertices, *call);")
            self._wrapper(f"edges_{number}_{schedule}_{direction}", lines, waits)

    def _edge_struct(self, node, number, direction, copies, tested):
        """The struct of an operator of edges in a direction. Returns whether it can fail."""
        function, push = self._program.function(node.apply_f), direction == "push"
        code = _DeviceCode(self, function, copies, 0 if push else 1,
                           DIRECTIONS[direction] if node.tracking else "UNTRACKED", node.tracking)
        gathered = [(vector, self.number(vector), operation)
                    for vector, operation in code.gathered.items()]
        filtered = f"{tested}::result(call, {{}})" if tested else "true"
        source, target = ("row", "neighbor") if push else ("neighbor", "row")
        names = dict(zip(code.parameters, (source, target, "weight")))
        self._parts.append(_EDGES.substitute(
            name=f"Edges{number}{direction}",
            weighted=str(function.weighted).lower(), gathers=str(bool(gathered)).lower(),
            side="entering" if push == node.transposed else "leaving",
            number="call.count" if push else "call.vertices",
            row="vertex(call, i)" if push else "(word)i",
            active="member(call, row)" if push else "true",
            wanted="true" if push else filtered.format("row"),
            counts=filtered.format("neighbor") if push else "member(call, neighbor)",
            parameters="".join(f"        const word {name} = {value};\n"
                               for name, value in names.items()),
            body=code.body("        "),
            done=str(code.first_counts).lower(),
            local="".join(f"        {_NEUTRAL[operation].format(f'v{i}')};\n"
                          for _, i, operation in gathered),
            combine="".join(f"        over_warp(local.v{i}, gather_{_REDUCTIONS[operation]});\n"
                            for _, i, operation in gathered),
            finish="".join("        " + code.reduction(vector, _REDUCTIONS[operation], "row",
                                                       f"local.v{i}", self.sums[vector]) + "\n"
                           for vector, i, operation in gathered)))
        return code.can_fail
