"""What an instruction of the host uses: expressions, functions, names and vectors."""

from sw.lang import graph_ir as ir
from sw.lang.types import Type


__all__ = ["CALLED", "assigned", "called", "calls", "choices", "set_names",
           "values_of", "written"]


#: The fields of instructions with the name of a function.
CALLED = ("to_filter", "apply_f", "filter")


def values_of(node) -> list:
    """The expressions of the host in an instruction, without those of the instructions in it."""
    match node:
        case ir.WhileLoop() | ir.HostBranch():
            return [node.condition]
        case ir.ForLoop():
            return [node.count]
        case ir.Assign():
            return [node.value]
        case ir.ElementStore():
            return [node.index, node.value]
        case ir.NewVertexSet():
            return [*node.vertices]
        case ir.NewQueue():
            return [*node.vertices, *([] if node.delta is None else [node.delta])]
    return []


def set_names(*nodes) -> set[str]:
    """The sets that expressions of the host read."""
    found = set()
    for part in ir.walk(*nodes):
        match part:
            case ir.SetSize():
                found.add(part.name)
            case ir.VertexSum():
                found.add(part.input_vset)
            case ir.HostName(type=Type.VERTEXSET):
                found.add(part.name)
    return found


def choices(node) -> tuple:
    """The operands of an expression that are evaluated only if another one decides so."""
    match node:
        case ir.Select():
            return node.then, node.otherwise
        case ir.Binary(operation="and" | "or"):
            return (node.right,)
    return ()


def called(node) -> tuple[str | None, str | None]:
    """The function of an operator, and its filter of destinations; (None, None) of any other
    instruction."""
    match node:
        case ir.EdgeSetIterator():
            return node.apply_f, node.to_filter
        case ir.VertexSetIterator():
            return node.apply_f, None
        case ir.VertexFilter():
            return node.filter, None
    return None, None


def calls(node) -> list[str]:
    """The functions that an instruction calls, in order, without those of the instructions in it.
    """
    names = [getattr(node, field, None) for field in CALLED]
    return [name for name in names if name is not None] + [
        part.function for part in ir.walk(*values_of(node)) if isinstance(part, ir.VertexSum)]


def assigned(*nodes) -> frozenset[str]:
    """The names of the host that instructions change, those in them included."""
    names: set = set()
    for node in ir.instructions(nodes):
        match node:
            case ir.Assign() | ir.NewVertexSet() | ir.NewQueue() | ir.ForLoop():
                names.add(node.name)
            case ir.EdgeSetIterator() | ir.VertexFilter():
                names.add(node.output_vset)
            case ir.Dequeue():
                names |= {node.output_vset, node.queue}
    return frozenset(names - {None})


def written(program, *body) -> set[str]:
    """The vectors that instructions write, and those in them."""
    found = set()
    for node in ir.instructions(body):
        if isinstance(node, ir.ElementStore):
            found.add(node.vector)
        elif isinstance(node, ir.EdgeSetIterator | ir.VertexSetIterator):
            found |= program.function(node.apply_f).writes()
    return found
