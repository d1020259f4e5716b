"""The shape of a program: what is left of its GraphIR without names, places and labels."""

from sw.lang import graph_ir as ir
from sw.lang.uses import calls


__all__ = ["shape"]


#: Fields with names of the program.
_NAMED = {"name", "vector", "tracking", "input_vset", "output_vset", "queue", "apply_f",
          "to_filter", "filter", "function", "variable", "parameters", "outputs"}

_LEFT_OUT = {"position", "label", "metadata"}


def shape(program: ir.GraphProgram) -> tuple:
    """The shape of a program. Two programs of one shape differ in names and in the order of
    vectors, functions and results."""
    numbers: dict[str, int] = {ir.ALL: 0} | {
        argument.name: place for place, argument in enumerate(program.arguments, 1)}
    vectors = {vector.name: vector for vector in program.vectors}
    seen: list = []

    def number(name, local) -> int:
        known = local if name in local else numbers
        if name not in known:
            numbers[name] = len(numbers)
            if name in vectors:
                vector = vectors[name]
                seen.append((numbers[name], vector.type,
                             of(vector.initial, {vector.variable: -1})))
        return known[name] if name in known else numbers[name]

    def of(value, local):
        if isinstance(value, tuple):
            return tuple(of(each, local) for each in value)
        if not isinstance(value, ir.Node):
            return value
        if isinstance(value, ir.Let) and value.name not in local:
            local[value.name] = -10 - len(local)
        found: list = [type(value).__name__]
        for name, part in vars(value).items():
            if name in _LEFT_OUT or name.startswith("_"):
                continue
            named = name in _NAMED and isinstance(part, str)
            found.append(number(part, local) if named else of(part, local))
        functions = calls(value) if isinstance(value, _INSTRUCTIONS) else []
        for each in functions:
            if each not in done:
                done.add(each)
                function = program.function(each)
                own = {parameter: -1 - place
                       for place, parameter in enumerate(function.parameters)}
                found.append((len(function.parameters), of(function.body, own)))
        return tuple(found)

    done: set[str] = set()
    body = of(program.body, {})
    outputs = sorted(number(name, {}) for name in program.outputs)
    return (body, tuple(seen), tuple(outputs), program.needs,
            tuple(sorted(number(name, {}) for name in program.shares)),
            tuple((argument.type, argument.default) for argument in program.arguments))


_INSTRUCTIONS = (ir.Assign, ir.EdgeSetIterator, ir.VertexSetIterator, ir.VertexFilter,
                 ir.WhileLoop, ir.ForLoop, ir.HostBranch)
