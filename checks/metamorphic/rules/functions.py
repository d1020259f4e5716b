"""Rules for statements of functions, and for functions."""

import ast
import copy

from checks.metamorphic.rules.rule import rule
from checks.metamorphic.rules.text import drawn, stored_in, with_names


__all__ = ["copy_function", "nest_condition", "rename", "reorder_declarations", "reorder_results"]


@rule("same")
def nest_condition(text, rng):
    """``if a: if b:`` for ``if a and b:``."""
    node = drawn(rng, (node for function in text.functions.values() for node in ast.walk(function)
                       if isinstance(node, ast.If) and not node.orelse
                       and isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)))
    if node is None:
        return False
    first, *others = node.test.values
    inner = others[0] if len(others) == 1 else ast.BoolOp(op=ast.And(), values=others)
    node.test, node.body = first, [ast.If(test=inner, body=node.body, orelse=[])]
    return True


@rule("same")
def rename(text, rng):
    """Other names of vectors that are not returned, of functions, variables and sets."""
    tree = text.tree
    kept = text.parameters | {*text.outputs}
    names = ({*text.vectors, *text.functions} | stored_in(*text.host())
             | {part.id for function in text.functions.values() for part in ast.walk(function)
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
             | {argument.arg for function in text.functions.values()
                for argument in function.args.args}) - kept
    other = {name: f"{name}_{rng.randint(0, 9)}" for name in sorted(names)}
    tree.body = [with_names(node, other) for node in tree.body]
    return True


@rule("same")
def copy_function(text, rng):
    """A function that is called twice has a twin for one of the calls."""
    calls = [node for node in ast.walk(ast.Module(text.host(), [])) if isinstance(node, ast.Name)
             and node.id in text.functions]
    node = drawn(rng, (node for node in calls
                       if sum(other.id == node.id for other in calls) > 1))
    if node is None:
        return False
    function = text.functions[node.id]
    twin = copy.deepcopy(function)
    twin.name = node.id = text.fresh("twin")
    text.tree.body.insert(text.tree.body.index(function), twin)
    return True


@rule("same")
def reorder_declarations(text, rng):
    """Vectors and functions in another order."""
    body = text.tree.body
    places = [place for place, node in enumerate(body)
              if text.declares(node) or isinstance(node, ast.FunctionDef)]
    nodes = [body[place] for place in places]
    rng.shuffle(nodes)
    for place, node in zip(places, nodes, strict=True):
        body[place] = node
    return True


@rule("same")
def reorder_results(text, rng):
    """Results in another order."""
    value = text.tree.body[-1].value
    if not isinstance(value, ast.Tuple):
        return False
    value.elts.reverse()
    return True
