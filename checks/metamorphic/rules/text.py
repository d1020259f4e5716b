"""A program as a text that rules change, and what they ask of it."""

import ast
import copy
from typing import Any


__all__ = ["Text", "application", "cannot_fail", "drawn", "expressions_of", "is_docstring",
           "is_label", "names_in", "own_vertices", "parsed", "parsed_value", "put_in_place",
           "stored_in", "with_names"]


class Text:
    """A program as a syntax tree.

    Parameters
    ----------
    tree : ast.FunctionDef
        The program, which rules change.

    Attributes
    ----------
    functions : dict of str to ast.FunctionDef
    vectors : dict of str to ast.Assign
    """

    def __init__(self, tree):
        self.tree = tree

    @property
    def functions(self) -> dict[str, Any]:
        """The functions of edges and vertices."""
        return {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}

    @property
    def vectors(self) -> dict[str, Any]:
        """The declarations of vectors."""
        return {node.targets[0].id: node for node in self.tree.body if self.declares(node)}

    @staticmethod
    def declares(node):
        """Whether a statement makes a vector."""
        match node:
            case ast.Assign(targets=[ast.Name()], value=ast.Call(func=ast.Name(id="vector"))):
                return True
        return False

    @property
    def parameters(self) -> set[str]:
        """The names of the program's parameters."""
        return {argument.arg for argument in self.tree.args.args}

    @property
    def outputs(self) -> list[str]:
        """The vectors that the program returns."""
        value = self.tree.body[-1].value
        values = value.elts if isinstance(value, ast.Tuple) else [value]
        return [each.left.id if isinstance(each, ast.BinOp) else each.id for each in values]

    def host(self) -> list:
        """The statements of the host at the top, without the declarations."""
        return [node for node in self.tree.body if not self.declares(node) and not isinstance(
            node, ast.FunctionDef) and not is_docstring(node)]

    def blocks(self) -> list[list]:
        """The lists of statements of the host, the outer ones first."""
        found = [self.tree.body]
        for block in found:
            for node in block:
                if isinstance(node, ast.While | ast.If | ast.For):
                    found += [body for body in (node.body, node.orelse) if body]
        return found

    def fresh(self, name) -> str:
        """A name that the program does not have."""
        taken = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)} | {
            node.arg for node in ast.walk(self.tree) if isinstance(node, ast.arg)} | {
            *self.functions}
        number = 1
        while f"{name}{number}" in taken:
            number += 1
        return f"{name}{number}"

    def add_vector(self, name, kind, initial):
        """Declare a vector."""
        place = next(place for place, node in enumerate(self.tree.body) if self.declares(node))
        self.tree.body.insert(place, parsed(f"{name} = vector({kind}, {initial})"))


def is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_label(node):
    return isinstance(node, ast.AnnAssign)


def parsed(text) -> Any:
    return ast.parse(text).body[0]


def parsed_value(text) -> Any:
    return ast.parse(text, mode="eval").body


def names_in(*nodes) -> set[str]:
    return {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)}


def stored_in(*nodes) -> set[str]:
    """The names that statements assign, and the vectors that they change."""
    found = set()
    for node in nodes:
        for part in ast.walk(node):
            match part:
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(
                        target=ast.Name(id=name)) | ast.For(target=ast.Name(id=name)):
                    found.add(name)
                case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]) \
                        | ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name))):
                    found.add(name)
                case ast.Call(func=ast.Attribute(value=ast.Subscript(value=ast.Name(id=name)))):
                    found.add(name)
    return found


def with_names(node, names) -> Any:
    """A copy with other names."""
    node = copy.deepcopy(node)
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in names:
            part.id = names[part.id]
        elif isinstance(part, ast.arg | ast.FunctionDef):
            field = "arg" if isinstance(part, ast.arg) else "name"
            setattr(part, field, names.get(getattr(part, field), getattr(part, field)))
    return node


class _Swap(ast.NodeTransformer):
    """Puts a node in the place of another."""

    def __init__(self, old, new):
        self._old, self._new = old, new

    def visit(self, node):
        return self._new if node is self._old else super().generic_visit(node)


def put_in_place(text, old, new):
    _Swap(old, new).visit(text.tree)
    ast.fix_missing_locations(text.tree)


def cannot_fail(node, own=()) -> bool:
    """Whether an expression cannot fail, as far as its syntax shows: names, numbers, words of the
    own vertex, comparisons, and what cannot fail of these."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Subscript(slice=ast.Name(id=name)):
            return name in own
        case ast.Compare(left=left, comparators=[right]):
            return cannot_fail(left, own) and cannot_fail(right, own)
        case ast.BoolOp(values=values):
            return all(cannot_fail(value, own) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return cannot_fail(operand, own)
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr() | ast.BitXor(), left=left, right=right):
            return cannot_fail(left, own) and cannot_fail(right, own)
        case ast.Call(func=ast.Attribute(attr="out_degree" | "in_degree"),
                      args=[ast.Name(id=name)]):
            return name in own
        case ast.Call(func=ast.Name(id="uint" | "min" | "max"), args=args):
            return all(cannot_fail(value, own) for value in args)
    return False


def own_vertices(function) -> tuple:
    return tuple(argument.arg for argument in function.args.args[:2])


def expressions_of(text, kind):
    """The expressions of a kind in functions and in the host's instructions, each with the vertices
    of its function."""
    for function in text.functions.values():
        for statement in function.body:
            for node in ast.walk(statement):
                if isinstance(node, kind):
                    yield node, own_vertices(function)
    for statement in text.host()[:-1]:
        for node in ast.walk(statement):
            if isinstance(node, kind):
                yield node, ()


def drawn(rng, places):
    places = list(places)
    return rng.choice(places) if places else None


def application(node):
    """(set, function) of ``set.apply(function)``; else None."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="apply"),
                                     args=[ast.Name(id=function)])):
            return name, function
    return None
