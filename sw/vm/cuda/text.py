"""The text of CUDA C for a program: what performs the structs of :mod:`sw.vm.c_program` by the
phases of ``runtime.cuh``, and the functions of the host.
"""

import itertools
import pathlib
import string
from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.facts import Deferred, known
from sw.vm.c_program import ProgramCode
from sw.vm.cuda.choices import DIRECTIONS, SCHEDULES, check_variant, choices
from sw.vm.cuda.loops import CudaLoop


__all__ = ["FUSED_CTAS", "CudaCode", "generate"]


#: An operator without a choice pulls if more than one of so many arcs leave its input: so it was
#: measured, of operators that leave rows early, and of others.
_PULL_SHARES = {True: 16, False: 2}

#: Most CTAs of a fused loop for each multiprocessor.
FUSED_CTAS = 2

#: Schedules that need a thread for each row; others need a warp, if rows are few.
_A_THREAD_A_ROW = ("vertex_based", "cm", "etwc")

_RUNTIME = pathlib.Path(__file__).with_name("runtime.cuh")

#: An operator of edges on the rows of blocks.
_BLOCKED = string.Template("""
struct ${name}blocks$blocks : $name {
    static constexpr bool whole = false;
    DEVICE const Rows &rows(const Call &call) { return call.blocks[$blocks].rows; }
    DEVICE word number(const Call &call) { return call.number; }
    DEVICE word place(const Call &call, wide i) { return call.first + (word)i; }
    DEVICE word vertex(const Call &call, word place) { return __ldg(&rows(call).vertices[place]); }
    DEVICE bool dense(const Call &) { return true; }
    DEVICE wide first_arc(const Call &call) { return call.first_arc; }
    DEVICE wide last_arc(const Call &call) { return call.last_arc; }
};
""")


def generate(program: ir.GraphProgram, variants=None, schedule=None, direction=None) -> "CudaCode":
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
    return CudaCode(program, variants, schedule, direction)


class CudaCode(ProgramCode):
    """The CUDA of a program. The parameters are those of :func:`generate`.

    Attributes
    ----------
    text : str
        The source, which includes only headers of the toolkit. Equal programs have equal texts.
    copies : set of str
        Vectors of which some operator makes a copy at its start.
    blocks : dict of (bool, int) to int
        The numbers of the rows in blocks: (whether arcs are reversed, vertices of a block).
    """

    def __init__(self, program, variants, schedule, direction):
        super().__init__(program, owners=False)
        self._variants, self._given = tuple(variants), (schedule, direction)
        self.copies: set[str] = set()
        #: {place of an operator: whether its filter may fail}.
        self._checked: dict[Any, bool] = {}
        self.blocks: dict[tuple[bool, int], int] = {}
        self.text = self._write(_RUNTIME.read_text(encoding="utf-8"), lambda: {
            "BLOCKS": len(self.blocks), "OPERATORS": len(self.edges), "FUSED_CTAS": FUSED_CTAS})

    @property
    def loses(self) -> bool:
        """Whether an operator may lose candidates."""
        return any(self._losing.values())

    @property
    def checks(self) -> bool:
        """Whether the filter of an operator of edges may fail."""
        return any(self._checked.values())

    def function(self, node, choice, direction, even) -> str:
        """The name of the function that performs an operator of edges by a choice; ``even`` is
        whether no row of the graph is long."""
        return _function(self.edges[node.position], choice.schedule(direction, even=even),
                         direction, self.block(node, direction, choice.size))

    def pull_share(self, node) -> int:
        """An operator of edges pulls, if nobody chose its direction, when more than one of so many
        arcs leave its input."""
        return _PULL_SHARES[self.facts(node, pull=True).exits]

    def chosen(self, node):
        """The choices of an operator of edges."""
        return choices(self.program, node, *self._given)

    def _wrapper(self, name, lines, waits=True):
        """The function that the host calls. It waits for the status if there is a result."""
        end = "return end(*call, status);" if waits else "return go_on(status);"
        inner = "".join(f"    {line}\n" for line in (*lines, end))
        self._parts.append(
            f'\nextern "C" int {name}(const Call *call, Status *status) {{\n{inner}}}\n')

    def _vertex_function(self, number, name):
        for phase in ("where", "total"):
            self._wrapper(f"{phase}_{number}", [f"launch<{phase}<{name}>>(call->count, *call);"])

    def _vertex_operator(self, node, name):
        self._wrapper(f"vertices_{self.vertices[node.position]}", [
            *(f"launch<{phase}>(call->vertices, *call);" for phase in self.kept(node)),
            f"launch<each<{name}>>(call->count, *call);", *self._settling(node)], waits=False)

    def _queue(self, number):
        for phase in ("split", "lowest"):
            self._wrapper(f"{phase}_{number}", [f"launch<{phase}<{number}>>(call->count, *call);"])

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
        facts = self.facts(node)
        self.copies.update(facts.copied)
        return [_both(f"keep<{self.number(vector)}, {str(vector in facts.at_sources).lower()}>"
                      for vector in facts.copied)] if facts.copied else []

    def _loop(self, node, number):
        fuses = node.metadata.get("needs_fusion")
        partly = fuses is None and node.metadata["can_fuse"] and self._own(node)
        return CudaLoop(self, f"loop_{number}", node, partly) if fuses or partly else None

    def _own(self, loop):
        """Whether a loop has operators of edges, for which nobody chose anything."""
        found = [choice.own for node in ir.instructions(loop.body)
                 if isinstance(node, ir.EdgeSetIterator) for choice in self.chosen(node)]
        return isinstance(loop, ir.WhileLoop) and bool(found) and all(found)

    # Edges

    def _edge_operator(self, node):
        number = self.edges[node.position]
        wanted: dict[tuple[str, str, int | None], None] = dict.fromkeys(
            (schedule, direction, None) for schedule, direction in self._variants)
        for choice in self.chosen(node):
            for direction, even in itertools.product(choice.directions, (False, True)):
                wanted[choice.schedule(direction, even=even), direction,
                       self.block(node, direction, choice.size)] = None
        for direction in dict.fromkeys(direction for _, direction, _ in wanted):
            self._checked[node.position] = self._edge_struct(node, direction)
        for direction, blocks in dict.fromkeys(key[1:] for key in wanted):
            if blocks is not None:
                self._parts.append(_BLOCKED.substitute(name=f"Edges{number}{direction}",
                                                       blocks=blocks))
        ends, waits = self._settling(node), node.tracking is not None
        if known(node, Deferred) is not None:
            self._wrapper(f"settle_{number}", ends, waits=False)
            ends = []
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
                arcs = "call->edges"
                if direction == "push" and schedule == "strict":
                    # Only the arcs that leave the input are known.
                    arcs = "(wide)call->count * CTA" if node.transposed else "call->arcs"
                threads = arcs if by_arcs else rows if schedule in _A_THREAD_A_ROW \
                    else f"(wide){rows} * WARP"
                lines.append(f"launch<{phases}>({threads}, *call);")
            lines += ends
            if node.tracking is not None:
                lines.append("make_output(*call);")
            elif schedule == "twc":
                lines.append("clear_buckets(*call);")
            self._wrapper(_function(number, schedule, direction, blocks), lines, waits)

    def block(self, node, direction, size) -> int | None:
        """The number of the rows in blocks of a size; None without EdgeBlocking."""
        if size is None:
            return None
        reverse = (direction == "push") == node.transposed
        return self.blocks.setdefault((reverse, size), len(self.blocks))

    def before(self, node, schedule, direction, blocks) -> list[tuple[str, str]]:
        """The phases before those of rows, with the numbers of their threads."""
        op, push = f"Edges{self.edges[node.position]}{direction}", direction == "push"
        marks = (not push or schedule == "edge_only") and node.input_vset != ir.ALL
        first, second, third = dict.fromkeys(self.kept(node), "call->vertices"), {}, {}
        if marks:
            wanted = "call->queue && !call->marked"
            first["clear_members"] = \
                f"{wanted} ? (call->vertices >> call->members_shift) / 4 + 1 : 0"
            second["set_members"] = f"{wanted} ? call->count : 0"
        if schedule == "strict" and push and node.input_vset != ir.ALL:
            first[f"sum_chunks<{op}>"] = \
                "call->queue && call->count > CHUNKS ? call->count : 0"
        if self._checked[node.position]:
            second[f"check<{op}>"] = "call->vertices"
        if schedule == "twc" and blocks is None:
            last = third if self._checked[node.position] else second
            last[f"classify<{op}>"] = "call->count" if push else "call->vertices"
        return [(_both(phases), next(iter(phases.values())) if len(phases) == 1
                 else "call->vertices") for phases in (first, second, third) if phases]

    def rows(self, node, schedule, direction, blocks) -> list[str]:
        """The phases that go through rows; with EdgeBlocking, those of each block."""
        op = f"Edges{self.edges[node.position]}{direction}"
        if blocks is None:
            return [f"{schedule}<{op}>", *([f"pieces<{op}>"] if schedule == "spread" else [])]
        op += f"blocks{blocks}"
        more = ["empty_buckets", f"classify<{op}>"] if schedule == "twc" else []
        return [*more, f"{schedule}<{op}>"]


def _both(phases) -> str:
    """Phases as one."""
    phases = list(phases)
    return phases[0] if len(phases) == 1 else f"both<{', '.join(phases)}>"


def _function(number, schedule, direction, blocks) -> str:
    """The name of the function of an operator of edges."""
    end = "" if blocks is None else f"_blocks{blocks}"
    return f"edges_{number}_{schedule}_{direction}{end}"
