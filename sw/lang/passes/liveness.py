"""Which operators may build their result in the memory of their input (UGF, 5.1.1)."""

from sw.lang import graph_ir as ir
from sw.lang.passes.rewrite import changed, marked
from sw.lang.types import Type
from sw.lang.uses import calls, set_names, values_of


__all__ = ["aliases", "last_reads", "liveness"]


def liveness(program):
    """Mark operators with ``can_reuse_frontier``: the set that they read is not read again before
    its name gets another set, nor by another name that may be of the same set."""
    dead = last_reads(program)

    def change(node):
        if isinstance(node, ir.EdgeSetIterator) and node.metadata["requires_output"]:
            return marked(node, can_reuse_frontier=node.input_vset != ir.ALL and id(node) in dead)
        return node

    return changed(program, change)


def last_reads(program) -> set[int]:
    """The ``id`` of each operator whose input set is not read again, under whatever name."""
    sized = {function.name: set_names(*function.body) for function in program.functions}
    dead: set[int] = set()
    _block(program.body, set(), dead, aliases(program), sized)
    return dead


def aliases(program) -> dict[str, set[str]]:
    """{name: all names that may be of the same set}, wherever in the program."""
    groups: dict[str, set[str]] = {}
    for node in ir.instructions(program.body):
        match node:
            case ir.Assign(value=ir.HostName(name=other, type=Type.VERTEXSET)):
                both = groups.get(node.name, {node.name}) | groups.get(other, {other})
                groups |= dict.fromkeys(both, both)
    return groups


def _read(node, sized):
    """The sets that an instruction reads by itself, without the instructions in it."""
    names = set_names(*values_of(node)) | {getattr(node, "input_vset", None)}
    return names.union(*(sized[name] for name in calls(node))) - {None}


def _written(node):
    match node:
        case ir.Assign() | ir.NewVertexSet() | ir.NewQueue():
            return {node.name}
        case ir.Dequeue() | ir.VertexFilter() | ir.EdgeSetIterator():
            return {node.output_vset}
    return set()


def _block(body, live, dead, aliases, sized):
    """The names that are live before a block, of those behind it; adds to ``dead`` the operators
    whose input is not live behind them."""
    for node in reversed(body):
        match node:
            case ir.WhileLoop() | ir.ForLoop():
                # A name that is live at the end of a round is live behind the loop or before one.
                around = live | _read(node, sized)
                while True:
                    inside = _block(node.body, around, set(), aliases, sized)
                    if inside <= around:
                        break
                    around |= inside
                _block(node.body, around, dead, aliases, sized)
                live = around
            case ir.HostBranch():
                live = (_block(node.then, live, dead, aliases, sized)
                        | _block(node.otherwise, live, dead, aliases, sized)
                        | _read(node, sized))
            case _:
                after = live - _written(node)
                if isinstance(node, ir.EdgeSetIterator | ir.VertexSetIterator | ir.VertexFilter) \
                        and after.isdisjoint(aliases.get(node.input_vset, {node.input_vset})):
                    dead.add(id(node))
                live = after | _read(node, sized)
    return live
