"""A program for one run: the branches that its parameters decide are decided."""

from __future__ import annotations

import dataclasses
from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.types import Type
from sw.vm.host import host_value


__all__ = ["specialised"]


def specialised(program, values, graph):
    """The program without the branches of the host that a run never takes, and without the
    functions that nobody calls then; the same object if nothing is left out.

    Parameters
    ----------
    program : GraphProgram
    values : dict of str to number
        As of :func:`~sw.vm.arguments.arguments`.
    graph : Graph
    """
    changing = {node.name for node in ir.instructions(program.body)
                if isinstance(node, ir.Assign | ir.ForLoop)}
    constant = {name: value for name, value in values.items() if name not in changing}

    def condition(node) -> Any:
        """A condition, as a literal if it is known."""
        if isinstance(node, ir.Binary) and node.operation in ("and", "or"):
            left, right = condition(node.left), condition(node.right)
            if isinstance(left, ir.Literal):
                return left if bool(left.value) == (node.operation == "or") else right
            return _with(node, left=left, right=right)
        if any((isinstance(part, ir.HostName) and part.name not in constant)
               or isinstance(part, ir.VertexSum | ir.SetSize) for part in ir.walk(node)):
            return node
        return ir.Literal(value=bool(host_value(node, constant, graph)), type=Type.BOOL,
                          position=node.position)

    def block(body):
        found = []
        for node in body:
            match node:
                case ir.WhileLoop() | ir.ForLoop():
                    node = _with(node, body=block(node.body))
                case ir.HostBranch():
                    known = condition(node.condition)
                    if isinstance(known, ir.Literal):
                        found += block(node.then if known.value else node.otherwise)
                        continue
                    node = _with(node, condition=known, then=block(node.then),
                                 otherwise=block(node.otherwise))
            found.append(node)
        return ir.same(body, tuple(found))

    body = block(program.body)
    called = {getattr(node, field, None) for node in ir.walk(*body)
              for field in ("apply_f", "to_filter", "filter", "function")}
    return _with(program, body=body, functions=ir.same(program.functions, tuple(
        function for function in program.functions if function.name in called)))


def _with(node, **fields):
    """The node with other fields; the node itself if they are the same objects."""
    if all(getattr(node, name) is value for name, value in fields.items()):
        return node
    return dataclasses.replace(node, **fields)
