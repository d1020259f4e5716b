"""What the kernels of a program do, and what is missing for fewer kernels and for less work."""

from typing import Any

from sw.compile.lower.dependence import may_tell
from sw.compile.lower.fuse import EDGES, WHERE
from sw.compile.lower.neighbor_tests import MISSING
from sw.compile.lower.places import place_of
from sw.compile.lowered import DROPS, LoweredKernel, LoweringDecision
from sw.lang import graph_ir as ir
from sw.lang.facts import suffices


__all__ = ["decisions", "kernels"]


#: What the kernels for sets and for words of the host do, by their kinds.
_UPKEEP = {"copy": "copy {}", "changed": "the set of the vertices whose {} has changed",
           "split": "the vertices below the threshold of {}, and the others",
           "least": "the least word of {}", "join": "the vertices of either set",
           "infinite": "no least word yet", "store": "one word of {}",
           "advance": "the next threshold between near and far vertices of {}",
           "leap": "the same from the least word of the far vertices of {} on",
           "renumber": "room for the numbers of launches",
           "restamp": "room for the numbers of supersteps of {}",
           "include": "one vertex of a set", "slot": "a word of the host"}


def kernels(run, task) -> list[LoweredKernel]:
    """The kernels of a :class:`~sw.compile.lower.algorithm.ProgramAlgorithm`."""
    found = []
    for name, (kind, what) in run.kernels(task).items():
        _, group = run.groups.kernel(name, task.plan.ways)
        if group is None:
            upkeep, of = what
            text = _UPKEEP[upkeep].format(", ".join(of) if isinstance(of, list) else
                                          getattr(of, "tracking", of))
            found.append(LoweredKernel(name, (("vertex", text),)))
            continue
        side = task.sides[run.side_of(task, name)] if kind == "gather" else None
        members = [pair for member in group for pair in _member(run, member, side)]
        made = [name for name in map(_made(run), group) if name]
        found.append(LoweredKernel(name, tuple(members), _input(run, group[0]),
                                   ", ".join(made) or None))
    return found


def _member(run, member, side):
    """The places of a member's functions, and their names."""
    if member.op.kind != EDGES:
        place = "vertex" if side is None else "finish" if member.on is None else "added"
        return [(place, member.op.what)]
    node = run.edges[member.op.what]
    test = "begin" if side.direction == "pull" else "edge"
    return [(test, node.to_filter)] * (node.to_filter is not None) + [("edge", node.apply_f)]


def _nodes(run, op) -> list[Any]:
    """The instructions that are an operator."""
    if op.kind == EDGES:
        return [run.edges[op.what]]
    field = "filter" if op.kind == WHERE else "apply_f" if op.kind == "vertices" else "function"
    return [node for node in ir.walk(*run.program.body)
            if getattr(node, field, None) == op.what and not isinstance(node, ir.EdgeSetIterator)]


def _input(run, head):
    names = dict.fromkeys(node.input_vset for node in _nodes(run, head.op))
    return None if head.op.every else ", ".join(names)


def _made(run):
    def made(member):
        if not run.dependence.makes_set(member):
            return None
        return ", ".join(dict.fromkeys(node.output_vset for node in _nodes(run, member.op)))
    return made


def decisions(run, task) -> list[LoweringDecision]:
    """What such a run has chosen, and what it lacks for fewer kernels and for less work."""
    return [*_of_groups(run), *_of_edges(run, task)]


def _of_edges(run, task):
    """The choices by who has the edges of a vertex."""
    follow = any(group[0].op.kind == "vertices" and group[0].op.every for group in run.groups.all)
    for side in task.sides.values():
        number, where = side.algorithm.number, side.algorithm.place
        node = run.edges[number]
        if side.schedule.drops_edges and side.config.graphpeg_filter:
            test = side.algorithm.unit_test(side)
            yield LoweringDecision(DROPS, test is not None,
                                   MISSING if test is None else test.text, where)
        if run.dependence.is_compared(node):
            told = may_tell(run.program, node)
            yield LoweringDecision(
                "changed vertices found behind the edges" if told else
                "changed vertices added at their edges", told,
                "a lane would wait for the answer of each edge of the longest row" if told else
                "reductions at the destination alone", where)
        lacks = "" if side.direction == "push" else side.algorithm.lacks_early_exit(side)
        if side.direction == "pull" and suffices(node, "any", "first"):
            yield LoweringDecision("early exit", lacks is None, lacks or "suffices", where)
        if side.direction == "pull" and lacks is not None:
            own = bool(side.algorithm.private(side))
            yield LoweringDecision("reductions in registers", own, "a lane has the edges of a row"
                                   if own else "a lane that has the edges of a row", where)
        if follow and node.tracking is None and all(
                len(group) == 1 for group in run.groups.of(number)):
            fact = "own words, or covered: a function needs words of other vertices" \
                if side.algorithm.owned(side) else "flow: sums are final only behind a barrier" \
                if side.direction == "push" else \
                "a lane, or a core, that has all edges of its vertex"
            yield LoweringDecision("functions of vertices behind the edges in one kernel", False,
                                   fact, where)


def _of_groups(run):
    program, found, dependence = run.program, [], run.dependence
    for group in run.groups.all:
        where = ", ".join(dict.fromkeys(
            f"line {node.position.line}" if isinstance(node, ir.VertexSum)
            else place_of(program, node) for node in _nodes(run, group[0].op)))
        if len(group) > 1:
            found.append(LoweringDecision(
                f"{' and '.join(str(member.op.what) for member in group[1:])} within the kernel",
                True, "what they read and write", where))
        for vector in dependence.copied(group[0].op):
            node = run.edges.get(group[0].op.what)
            if node is None or vector != node.tracking or not dependence.is_compared(node):
                found.append(LoweringDecision("start words without a copy", False,
                                              "stamps, apart or early", f"{where} ({vector})"))
    return found
