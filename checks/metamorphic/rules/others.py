"""Rules that ask for more work, or for something else."""

import ast

from checks.metamorphic.rules.rule import rule
from checks.metamorphic.rules.text import (application, drawn, names_in, own_vertices, parsed,
                                           put_in_place)


__all__ = ["count_twice", "sum_for_least", "vector_of_edges", "vector_of_vertices",
           "without_filter"]


@rule("more")
def vector_of_vertices(text, rng):
    """A result more, of the vertices to which a function is applied."""
    calls = {found[1] for block in text.blocks() for node in block if (found := application(node))}
    function = drawn(rng, sorted(name for name in calls
                                 if len(own_vertices(text.functions[name])) == 1))
    if function is None:
        return False
    name, function = text.fresh("more"), text.functions[function]
    text.add_vector(name, "uint", "0")
    function.body.append(parsed(f"{name}[{own_vertices(function)[0]}] = 1"))
    return _return(text, name)


@rule("more")
def vector_of_edges(text, rng):
    """A result more, of the destinations of edges."""
    function = drawn(rng, (function for function in text.functions.values()
                           if len(own_vertices(function)) == 2))
    if function is None:
        return False
    name = text.fresh("more")
    text.add_vector(name, "uint", "0")
    function.body.append(parsed(f"{name}[{own_vertices(function)[1]}].max(1)"))
    return _return(text, name)


def _return(text, name):
    last = text.tree.body[-1]
    values = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
    last.value = ast.Tuple(elts=[*values, ast.Name(name)], ctx=ast.Load())
    return True


@rule("other")
def sum_for_least(text, rng):
    """``+`` in place of the smallest."""
    found = []
    for function in text.functions.values():
        if len(own_vertices(function)) < 2:
            continue
        for block in [function.body, *(node.body for node in ast.walk(function)
                                       if isinstance(node, ast.If))]:
            for place, node in enumerate(block):
                match node:
                    case ast.Expr(value=ast.Call(func=ast.Attribute(
                            value=ast.Subscript() as target, attr="min"), args=[value])):
                        found.append((block, place, target, value))
    chosen = drawn(rng, found)
    if chosen is None:
        return False
    block, place, target, value = chosen
    block[place] = parsed(f"{ast.unparse(target)} += {ast.unparse(value)}")
    return True


@rule("other")
def without_filter(text, rng):
    """A filter of destinations is left out."""
    node = drawn(rng, (node for statement in text.host() for node in ast.walk(statement)
                       if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
                       and node.func.attr == "to"))
    if node is None:
        return False
    put_in_place(text, node, node.func.value)
    return True


@rule("other")
def count_twice(text, rng):
    """A counter whose number functions read counts twice as fast."""
    found = [node for block in text.blocks() for node in block
             if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
             and isinstance(node.value, ast.Constant)
             and any(node.target.id in names_in(*function.body)
                     for function in text.functions.values())]
    node = drawn(rng, found)
    if node is None:
        return False
    node.value = ast.Constant(2 * node.value.value)
    return True
