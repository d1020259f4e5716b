"""What is read of each set that a program makes."""

from sw.lang import graph_ir as ir
from sw.lang.facts import Asked
from sw.lang.passes.liveness import aliases
from sw.lang.passes.rewrite import with_facts
from sw.lang.uses import values_of


__all__ = ["sets"]


def sets(program):
    """Mark operators that make a set with :class:`~sw.lang.facts.Asked`."""
    asked, names = _asked(program), aliases(program)

    def facts(node):
        if isinstance(node, ir.EdgeSetIterator | ir.VertexFilter) and node.output_vset is not None:
            name = node.output_vset
            # Nothing else ever is the set of all vertices, which may have begun under the name.
            found = frozenset().union(*(asked.get(each, frozenset())
                                        for each in names.get(name, {name}) - {ir.ALL}))
            yield Asked(asked=found, why="all readers of the name")

    return with_facts(program, facts)


def _asked(program):
    """{name: what is read of it}."""
    found: dict[str, set[str]] = {}
    for node in ir.instructions(program.body):
        for field in ("input_vset", "queue"):
            if hasattr(node, field):
                found.setdefault(getattr(node, field), set()).add("members")
        if isinstance(node, ir.EdgeSetIterator) and node.output_vset is not None:
            # A queue keeps the vertices that it has.
            found.setdefault(node.output_vset, set())
        for value in values_of(node):
            _of_value(value, found, truth=isinstance(node, ir.WhileLoop | ir.HostBranch))
    for function in program.functions:
        for part in ir.walk(*function.body):
            if isinstance(part, ir.Uniform):
                _of_value(part.value, found, truth=False)
    return found


def _of_value(node, found, truth):
    match node:
        case ir.SetSize():
            found.setdefault(node.name, set()).add("empty" if truth else "size")
        case ir.VertexSum():
            found.setdefault(node.input_vset, set()).add("members")
        case ir.Binary(operation=">" | "==" | "!=", left=ir.SetSize(name=name),
                       right=ir.Literal(value=0)) | ir.Binary(
                operation="<" | "==" | "!=", left=ir.Literal(value=0), right=ir.SetSize(name=name)):
            found.setdefault(name, set()).add("empty")
        case _:
            for part in node.parts():
                _of_value(part, found, truth=False)
