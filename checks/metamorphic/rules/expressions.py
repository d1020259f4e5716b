"""Rules for expressions."""

import ast

from checks.metamorphic.rules.rule import rule
from checks.metamorphic.rules.text import (cannot_fail, drawn, expressions_of, names_in,
                                           own_vertices, parsed_value, put_in_place, stored_in)


__all__ = ["name_part", "negate_comparison", "reorder_parts", "spell_number", "swap_operands",
           "turn_comparison"]


_TURNED = {ast.Eq: ast.Eq, ast.NotEq: ast.NotEq, ast.Lt: ast.Gt, ast.Gt: ast.Lt,
           ast.LtE: ast.GtE, ast.GtE: ast.LtE}
_NEGATED = {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt,
            ast.Gt: ast.LtE, ast.LtE: ast.Gt}
_REDUCTIONS = ("min", "max")


@rule("same")
def swap_operands(text, rng):
    """Operands of + * & | ^ min max == != change places; one of them cannot fail."""
    commutes = ast.Add | ast.Mult | ast.BitAnd | ast.BitOr | ast.BitXor
    found = []
    for node, own in expressions_of(text, ast.BinOp | ast.Call):
        match node:
            case ast.BinOp(left=left, right=right) if isinstance(node.op, commutes):
                fits = cannot_fail(left, own) or cannot_fail(right, own)
            case ast.Call(func=ast.Name(id="min" | "max"), args=[left, right]):
                fits = cannot_fail(left, own) or cannot_fail(right, own)
            case _:
                fits = False
        if fits and ast.unparse(left) != ast.unparse(right):
            found.append(node)
    node = drawn(rng, found)
    if isinstance(node, ast.BinOp):
        node.left, node.right = node.right, node.left
    elif node is not None:
        node.args.reverse()
    return node is not None


@rule("same")
def turn_comparison(text, rng):
    """``a < b`` for ``b > a``."""
    node = drawn(rng, (node for node, own in expressions_of(text, ast.Compare)
                       if cannot_fail(node.left, own) or cannot_fail(node.comparators[0], own)))
    if node is None:
        return False
    node.left, node.comparators[0] = node.comparators[0], node.left
    node.ops = [_TURNED[type(node.ops[0])]()]
    return True


@rule("same")
def negate_comparison(text, rng):
    """``not (a < b)`` for ``a >= b``."""
    node = drawn(rng, (node for node, _ in expressions_of(text, ast.Compare)))
    if node is None:
        return False
    inner = ast.Compare(left=node.left, ops=[_NEGATED[type(node.ops[0])]()],
                        comparators=node.comparators)
    put_in_place(text, node, ast.UnaryOp(op=ast.Not(), operand=inner))
    return True


@rule("same")
def reorder_parts(text, rng):
    """The parts of ``and`` and ``or`` in another order; none can fail."""
    node = drawn(rng, (node for node, own in expressions_of(text, ast.BoolOp)
                       if cannot_fail(node, own)))
    if node is not None:
        node.values.reverse()
    return node is not None


@rule("same")
def spell_number(text, rng):
    """A whole number as a sum."""
    node = drawn(rng, (node for node, _ in expressions_of(text, ast.Constant)
                       if type(node.value) is int and node.value < 1 << 31))
    if node is None:
        return False
    part = rng.randint(0, min(node.value, 9))
    put_in_place(text, node, parsed_value(f"{part} + {node.value - part}"))
    return True


@rule("same")
def name_part(text, rng):
    """A part of a statement of a function gets a name; it cannot fail, and the function has not
    stored its words before."""
    found = []
    for function in text.functions.values():
        own = own_vertices(function)
        for place, statement in enumerate(function.body):
            head = [statement.test] if isinstance(statement, ast.If) else [
                getattr(statement, "value", None)]
            for part in head:
                for node in ast.walk(part) if part is not None else ():
                    named = isinstance(node, ast.Subscript | ast.Compare | ast.BoolOp) \
                        and not (isinstance(node, ast.Subscript) and _is_target(function, node))
                    if named and cannot_fail(node, own) \
                            and not names_in(node) & stored_in(*function.body[:place]):
                        found.append((function, place, node))
    chosen = drawn(rng, found)
    if chosen is None:
        return False
    function, place, node = chosen
    name = text.fresh("part")
    put_in_place(text, node, ast.Name(name))
    function.body.insert(place, ast.Assign(targets=[ast.Name(name)], value=node))
    return True


def _is_target(function, node):
    """Whether an element is what a statement changes, and no value."""
    return any((isinstance(part, ast.Attribute) and part.value is node and part.attr in _REDUCTIONS)
               or (isinstance(part, ast.AugAssign) and part.target is node)
               for part in ast.walk(function))
