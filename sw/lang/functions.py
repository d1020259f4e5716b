"""Functions of edges and of vertices: from Python's syntax trees to GraphIR."""

import ast
from typing import Any

from sw.lang.expressions import Expressions, coerced, place
from sw.lang.graph_ir import (Branch, Function, Give, Let, Local, Reduce, VectorLoad, VectorStore,
                              Binary, walk)
from sw.lang.types import RESERVED, LanguageError, Type


__all__ = ["names_of_host", "read_function"]


#: Types of vectors that have a reduction.
_REDUCTIONS = {"min": (Type.UINT, Type.VERTEX, Type.FIXED),
               "max": (Type.UINT, Type.VERTEX, Type.FIXED),
               "+": (Type.UINT, Type.FIXED), "or": (Type.UINT, Type.BOOL)}

_INSTEAD = "min(…), .max(…), += or |="


def read_function(host, vectors, tree) -> Function:
    """The function of a syntax tree.

    Parameters
    ----------
    host : HostExpressions
    vectors : dict of str to Type
    tree : ast.FunctionDef

    Raises
    ------
    LanguageError
        If it is not of the language.
    """
    arguments = tree.args
    names = [argument.arg for argument in arguments.args]
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults \
            or arguments.posonlyargs or not 1 <= len(names) <= 3:
        host.fail(tree, f"function {tree.name!r} must have the parameters (v) of a vertex, or "
                        "(src, dst) or (src, dst, weight) of an edge")
    for argument in arguments.args:
        if argument.arg in RESERVED:
            host.fail(argument, f"{argument.arg!r} has a meaning of its own in the language, and "
                                "cannot be a parameter")
    types = dict.fromkeys(names[:2], Type.VERTEX) | dict.fromkeys(names[2:], Type.UINT)
    reader = _Body(host, vectors, tree, names, types)
    body = reader.block(tree.body, last=True)
    function = Function(name=tree.name, parameters=tuple(names), body=body,
                        position=place(host.file, tree))
    _check_changes(function)
    return function


def names_of_host(tree) -> frozenset[str]:
    """The names to which a program gives a meaning outside of its functions."""
    found, waiting = {argument.arg for argument in tree.args.args}, list(tree.body)
    while waiting:
        match waiting.pop():
            case ast.FunctionDef(name=name):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                found.add(name)
            case ast.While() | ast.If() as node:
                waiting += [*node.body, *node.orelse]
            case ast.For(target=ast.Name(id=name)) as node:
                found.add(name)
                waiting += node.body
    return frozenset(found)


def _check_changes(function):
    """Each vector is stored, or changed by one reduction."""
    ways: dict[str, Any] = {}
    for node in walk(*function.body):
        if isinstance(node, VectorStore | Reduce):
            way = node.operation if isinstance(node, Reduce) else "="
            other = ways.setdefault(node.vector, way)
            if other != way:
                raise LanguageError(node.position, f"function {function.name!r} changes "
                                    f"{node.vector!r} by {other} and by {way}: their order would "
                                    "decide; use one of them")


class _Body:
    """Reads the statements of a function."""

    def __init__(self, host, vectors, tree, names, types):
        self._file, self._tree, self._vertices = host.file, tree, names[:2]
        self._own = names[0] if len(names) == 1 else None
        self._taken = host.taken
        self._vectors, self._names = vectors, types
        self._fixed = set(names)
        self._kinds = dict(types)
        self._read = Expressions(host, vectors, types)

    def _fail(self, tree, message):
        raise LanguageError(place(self._file, tree), message)

    def block(self, trees, last=False):
        """The nodes of a list of statements; only the last of a function may give a result."""
        found = []
        for i, tree in enumerate(trees):
            if isinstance(tree, ast.Pass) or (isinstance(tree, ast.Expr) and isinstance(
                    tree.value, ast.Constant) and isinstance(tree.value.value, str)):
                continue
            if isinstance(tree, ast.Return):
                if not last or i < len(trees) - 1:
                    self._fail(tree, "return must be the last statement of a function; "
                                     "a if c else b is a value by a condition")
                found.append(self._give(tree))
                continue
            found.append(self._statement(tree))
        return tuple(found)

    def _give(self, tree):
        if tree.value is None:
            self._fail(tree, "return needs a value")
        value: Any = self._read.read(tree.value)
        if value.type in (Type.WHOLE, Type.DECIMAL):
            value = coerced(value, Type.UINT)
        return Give(value=value, position=place(self._file, tree))

    def _statement(self, tree):
        at = place(self._file, tree)
        match tree:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return self._let(tree, name, self._read.read(value))
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                both = ast.copy_location(ast.BinOp(ast.copy_location(ast.Name(name), tree), op,
                                                   value), tree)
                return self._let(tree, name, self._read.read(both))
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=vector), slice=index)],
                            value=value):
                return self._store(tree, vector, index, self._read.read(value))
            case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=vector), slice=index),
                               op=ast.Add() | ast.BitOr(), value=value):
                name = "+" if isinstance(tree.op, ast.Add) else "or"
                return self._reduce(tree, name, vector, index, value)
            case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=vector), slice=index) as word,
                               op=op, value=value):
                both = ast.copy_location(ast.BinOp(word, op, value), tree)
                return self._store(tree, vector, index, self._read.read(both))
            case ast.Expr(value=ast.Call(func=ast.Attribute(
                    value=ast.Subscript(value=ast.Name(id=vector), slice=index),
                    attr="min" | "max" as name), args=[value], keywords=[])):
                return self._reduce(tree, name, vector, index, value)
            case ast.If(test=test, body=then, orelse=otherwise):
                condition = coerced(self._read.read(test), Type.BOOL)
                before = dict(self._names)
                first = self.block(then)
                after, self._read.names = dict(self._names), self._names
                self._reset(before)
                second = self.block(otherwise)
                self._reset({name: kind for name, kind in self._names.items() if name in after})
                return Branch(condition=condition, then=first, otherwise=second, position=at)
            case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
                return self._fail(tree, f"a function cannot call {name!r}: functions of the "
                                        "language call no functions, nor themselves")
        return self._fail(tree, f"{ast.unparse(tree).splitlines()[0]!r} is no statement of a "
                                "function; there are assignments, the reductions x[v]."
                                f"{_INSTEAD}, if, and return")

    def _reset(self, names):
        self._names.clear()
        self._names.update(names)

    def _let(self, tree, name, value):
        if name in RESERVED:
            self._fail(tree, f"{name!r} has a meaning of its own in the language, and cannot be "
                             "assigned")
        if name in self._fixed or name in self._vectors:
            self._fail(tree, f"{name!r} is a {'parameter' if name in self._fixed else 'vector'}, "
                             "and cannot be assigned")
        if name in self._taken:
            self._fail(tree, f"{name!r} is a name of the host, which a function cannot change: its "
                             "calls have no order. A vector keeps a word for each vertex, "
                             "SET.sum(function) adds words up, and a word of a call needs another "
                             "name")
        if name in self._kinds:
            value = coerced(value, self._kinds[name])
        elif value.type is Type.WHOLE:
            value = coerced(value, Type.UINT)
        elif value.type is Type.DECIMAL:
            self._fail(tree, f"the type of {name!r} is not known: a decimal may be fixed or a "
                             "fraction; combine it with a value of either type")
        self._names[name] = self._kinds[name] = value.type
        return Let(name=name, value=value, position=place(self._file, tree))

    def _store(self, tree, vector, index, value):
        kind = self._read.vector(tree, vector)
        vertex = self._read.vertex(index)
        if not (isinstance(vertex, Local) and vertex.name == self._own):
            which = ast.unparse(index)
            self._fail(tree, f"several calls may store to {vector}[{which}] at a time, and their "
                             f"order would decide; use {vector}[{which}].{_INSTEAD}")
        return VectorStore(vector=vector, index=vertex, value=coerced(value, kind),
                           position=place(self._file, tree))

    def _reduce(self, tree, name, vector, index, value):
        kind = self._read.vector(tree, vector)
        if kind not in _REDUCTIONS[name]:
            few = " or ".join(kind.value for kind in _REDUCTIONS[name])
            self._fail(tree, f"{vector!r} is of type {kind.value}; {name} reduces vectors of type "
                             f"{few}")
        vertex, at = self._read.vertex(index), place(self._file, tree)
        node = coerced(self._read.read(value), kind)
        if isinstance(vertex, Local) and vertex.name == self._own:
            # Nobody else has this vertex.
            word = VectorLoad(vector=vector, index=vertex, type=kind, position=at)
            return VectorStore(vector=vector, index=vertex, value=Binary(
                operation=("or" if kind is Type.BOOL else "|") if name == "or" else name,
                left=word, right=node, type=kind, position=at), position=at)
        return Reduce(operation=name, vector=vector, index=vertex, value=node, position=at)
