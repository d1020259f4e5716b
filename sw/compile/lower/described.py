"""What the kernels of a program do that runs operator by operator, and what it lacks for less."""

from typing import Any

from sw.compile.lower.places import place_of
from sw.compile.lowered import LoweredKernel, LoweringDecision
from sw.lang import graph_ir as ir


__all__ = ["decisions", "kernels"]


#: What the kernels for sets and for words of the host do, by their kinds.
_UPKEEP = {"copy": "copy {}", "changed": "the set of the vertices whose {} has changed",
           "split": "the vertices below the threshold of {}, and the others",
           "least": "the least word of {}", "join": "the vertices of either set",
           "infinite": "no least word yet", "store": "one word of {}",
           "fill": "a set of all vertices, or of none", "include": "one vertex of a set",
           "slot": "a word of the host", "output": "the place of a set"}


def kernels(run, task) -> list[LoweredKernel]:
    """The kernels of a :class:`~sw.compile.lower.algorithm.ProgramAlgorithm`."""
    nodes = {name: node for number, node in _operators(run).items()
             for name in (f"edges{number}", f"vertices{number}")}
    found = []
    for name, (kind, what) in run.kernels(task).items():
        node: Any = nodes.get(name)
        if kind == "gather":
            tests = [("edge", node.to_filter)] if node.to_filter is not None else []
            if task.sides[name].direction == "pull":
                tests = [("begin", test) for _, test in tests]
            found.append(LoweredKernel(name, (*tests, ("edge", node.apply_f)), _set(node)))
        elif what[0] == "vertices":
            found.append(LoweredKernel(name, (("vertex", node.apply_f),), _set(node)))
        elif what[0] in ("where", "total"):
            found.append(LoweredKernel(name, (("vertex", what[1]),)))
        else:
            upkeep, of = what
            text = _UPKEEP[upkeep].format(", ".join(of) if isinstance(of, list) else of)
            found.append(LoweredKernel(name, (("vertex", text),)))
    return found


def _operators(run):
    """The operators by their numbers."""
    return {run.numbers[node.position]: node for node in ir.instructions(run.program.body)
            if isinstance(node, ir.EdgeSetIterator | ir.VertexSetIterator)}


def _set(node):
    return None if node.input_vset == ir.ALL else node.input_vset


def decisions(run) -> list[LoweringDecision]:
    """What such a run lacks for fewer kernels and for less work."""
    program, found = run.program, []
    loop = next((node for node in ir.instructions(program.body)
                 if isinstance(node, ir.WhileLoop | ir.ForLoop)), None)
    if loop is not None:
        found.append(LoweringDecision("one kernel a round", False, _lacks_form(program),
                              place_of(program, loop)))
    for node in _operators(run).values():
        where = place_of(program, node)
        found += [LoweringDecision("start words without a copy", False, "stamps, apart or early",
                           f"{where} ({vector})") for vector in node.metadata["start_copies"]]
        if isinstance(node, ir.VertexSetIterator):
            found.append(LoweringDecision("a function of vertices within another kernel", False,
                                  "dependence between operators", where))
            continue
        if node.tracking is not None:
            found.append(LoweringDecision("changed vertices added at their edges", False, "changes",
                                  where))
        if node.input_vset != ir.ALL or node.output_vset is not None:
            found.append(LoweringDecision("a frontier for its sets", False, "members", where))
    filters = [node for node in ir.walk(*program.body)
               if isinstance(node, ir.VertexFilter | ir.VertexSum)]
    found += [LoweringDecision("a filter or a sum within another kernel", False,
                       "dependence between operators", f"line {node.position.line}")
              for node in filters]
    if run.slots:
        lines = sorted({node.position.line for node in run.slots})
        found.append(LoweringDecision("words of the host without kernels", False, "affine",
                                      ", ".join(f"line {line}" for line in lines)))
    return found


def _lacks_form(program):
    """Why a program with a loop is of no form of loops, as far as its text tells."""
    loops = [node for node in ir.instructions(program.body)
             if isinstance(node, ir.WhileLoop | ir.ForLoop)]
    if len(loops) > 1:
        return f"a program of one loop: this one has {len(loops)}"
    if program.body[-1] is not loops[0]:
        return "a loop at the program's end"
    edges = [node for node in ir.instructions(loops[0].body)
             if isinstance(node, ir.EdgeSetIterator)]
    if len(edges) != 1:
        return f"a loop of one operator of edges: this one has {len(edges)}"
    fixpoint = loops[0].metadata.get("is_fixpoint", False)
    return ("a reduction whose worst word stays worst" if fixpoint else
            "early (the loop is no fixpoint), stamps of a search that is known, or a round of all "
            "vertices whose functions may be one kernel")
