"""Expressions of the host ahead of a run: what is constant, and what a device can compute."""

from __future__ import annotations

import dataclasses
from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.types import Type
from sw.lang.uses import choices
from sw.vm.host import host_value


__all__ = ["check", "folded", "substituted"]


#: Operations that the device does with the host's numbers that change.
_OPERATIONS = frozenset({"+", "-", "min", "max", "and", "or", "not",
                         "==", "!=", "<", "<=", ">", ">="})

#: The operands of expressions of the host.
_PARTS = {ir.Unary: ("operand",), ir.Binary: ("left", "right"),
          ir.Select: ("condition", "then", "otherwise")}


def folded(node, numbers, size, graph) -> Any:
    """An expression of the host with constants in place of what does not change.

    Parameters
    ----------
    node : Node
    numbers : dict of str to number
        The host's variables that do not change.
    size : callable
        ``size(name)``: the number of vertices of a set; None if it is not known ahead.
    graph : Graph
    """
    def fold(node):
        match node:
            case ir.HostName() if node.name in numbers:
                return _literal(node, numbers[node.name])
            case ir.GraphSize():
                return _literal(node, host_value(node, {}, graph))
            case ir.SetSize():
                known = size(node.name)
                return node if known is None else _literal(node, known)
            case ir.Literal() | ir.HostName() | ir.VertexSum():
                return node
        parts = {field: fold(getattr(node, field)) for field in _PARTS[type(node)]}
        match node, *parts.values():
            case ir.Binary(operation="and" | "or" as way), ir.Literal(value=value), other:
                return other if bool(value) == (way == "and") else parts["left"]
            case ir.Select(), ir.Literal(value=value), then, otherwise:
                return then if value else otherwise
        node = dataclasses.replace(node, **parts)
        if all(isinstance(part, ir.Literal) for part in parts.values()):
            return _literal(node, host_value(node, {}, graph))
        return node

    return fold(node)


def _literal(node, value):
    return ir.Literal(value=value, type=node.type, position=node.position)


def substituted(node, values) -> Any:
    """An expression with others in place of some names."""
    if isinstance(node, ir.HostName):
        return values.get(node.name, node)
    return dataclasses.replace(node, **{
        field: substituted(getattr(node, field), values) for field in _PARTS.get(type(node), ())})


def check(node, refuse):
    """Check that the device can compute an expression; else ``refuse(part, reason)`` is called,
    which raises."""
    parts = list(ir.walk(node))
    for part in parts:
        if getattr(part, "type", None) is Type.DECIMAL or (
                isinstance(part, ir.Literal) and part.value != int(part.value)):
            refuse(part, "a sum of decimals" if isinstance(part, ir.VertexSum) else
                   "this is computed with decimals")
    for part in parts:
        if isinstance(part, ir.Unary | ir.Binary) and part.operation not in _OPERATIONS:
            refuse(part, f"{part.operation} of a number that changes")
    for part in parts:
        for choice in choices(part):
            total = next((each for each in ir.walk(choice) if isinstance(each, ir.VertexSum)), None)
            if total is not None:
                refuse(total, "this sum is computed in some rounds only; give it a name before")
