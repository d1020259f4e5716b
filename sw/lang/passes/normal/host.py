"""Instructions of the host: without those that nobody needs, and in one order."""

import dataclasses
import itertools
from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.passes.normal.effects import (drops, has_sum, host_fails, live_names, plain_names,
                                           reads_of, used_names)
from sw.lang.passes.normal.functions import replaced
from sw.lang.passes.normal.words import Speller
from sw.lang.passes.rewrite import changed_blocks
from sw.lang.types import Type
from sw.lang.uses import assigned, calls, values_of, written


__all__ = ["in_order", "needed", "plain_branches", "steady_values"]


def needed(program):
    """The instructions that change what the program returns, or that may fail."""
    live, plain = live_names(program), plain_names(program)

    def dead(node):
        known = live.get(id(node))
        match node:
            case ir.Assign():
                return known is not None and node.name not in known \
                    and not host_fails(program, node.value, plain)
            case ir.NewVertexSet():
                return known is not None and node.name not in known and all(
                    _is_vertex(program, vertex) for vertex in node.vertices)
            case ir.VertexFilter():
                function = program.function(node.filter)
                return known is not None and node.output_vset not in known \
                    and drops(program, function.body, function.parameters)
            case ir.VertexSetIterator():
                return node.label is None and not program.function(node.apply_f).body
            case ir.EdgeSetIterator():
                return node.label is None and node.output_vset is None \
                    and not program.function(node.apply_f).body and (
                        node.to_filter is None or drops(
                            program, program.function(node.to_filter).body,
                            program.function(node.to_filter).parameters))
            case ir.HostBranch(then=(), otherwise=()):
                return not host_fails(program, node.condition, plain)
        return False

    return changed_blocks(program, lambda body: tuple(
        node for node in body if not dead(node)))


def _is_vertex(program, value):
    """Whether an expression of the host is a vertex for sure."""
    return isinstance(value, ir.HostName) and value.name in {
        argument.name for argument in program.arguments if argument.type is Type.VERTEX} \
        - assigned(*program.body)


def plain_branches(program):
    """Loops and branches whose condition is a set, in place of the set's size above 0; branches
    whose condition is certain, and branches in branches."""
    def one(node):
        match node:
            case ir.WhileLoop() | ir.HostBranch() if _asks_size(node.condition):
                node = dataclasses.replace(node, condition=node.condition.left)
        match node:
            case ir.HostBranch(condition=ir.Literal(value=value)):
                return node.then if value else node.otherwise
            case ir.HostBranch(then=(ir.HostBranch(otherwise=()) as inner,), otherwise=()) \
                    if node.condition.type is inner.condition.type is Type.BOOL \
                    and not has_sum(inner.condition):
                both = ir.Binary(operation="and", left=node.condition, right=inner.condition,
                                 type=Type.BOOL, position=node.condition.position)
                return (dataclasses.replace(node, condition=both, then=inner.then),)
        return (node,)

    return changed_blocks(program, lambda body: tuple(
        part for node in body for part in one(node)))


def _asks_size(node):
    return isinstance(node, ir.Binary) and node.operation == ">" and isinstance(
        node.left, ir.SetSize) and isinstance(node.right, ir.Literal) and node.right.value == 0


def steady_values(program):
    """The host's variables that have one value, which parameters and the graph decide, are the
    value. A number that only the next instruction reads, is computed there."""
    plain, live = plain_names(program), live_names(program)
    given = {argument.name for argument in program.arguments}
    nodes = list(ir.instructions(program.body))
    names = [name for node in nodes for name in assigned(node)
             if not isinstance(node, ir.WhileLoop | ir.HostBranch)]
    steady = given - set(names)
    for node in program.body:
        if isinstance(node, ir.Assign) and names.count(node.name) == 1 \
                and node.value.type is not Type.VERTEXSET and node.name not in given \
                and used_names(node.value) <= steady \
                and not host_fails(program, node.value, plain) \
                and not has_sum(node.value):
            return _with_value(program, node.name, node.value)

    def block(body):
        for place, (one, other) in enumerate(itertools.pairwise(body)):
            if isinstance(one, ir.Assign) and _is_only_for(program, one, other, live) \
                    and not has_sum(one.value) and not host_fails(program, one.value, plain):
                return (*body[:place], replaced(other, _by(one.name, one.value)),
                        *body[place + 2:])
        return tuple(node for node in body if not (
            isinstance(node, ir.Assign) and isinstance(node.value, ir.HostName)
            and node.value.name == node.name))

    return changed_blocks(program, block)


def _is_only_for(program, one, other, live):
    """Whether a number is read by the next instruction only, and there once."""
    reads = [part for part in ir.walk(*values_of(other))
             if isinstance(part, ir.HostName) and part.name == one.name]
    return (isinstance(other, ir.Assign | ir.ElementStore | ir.NewVertexSet) and len(reads) == 1
            and reads[0].type is one.value.type is not Type.VERTEXSET and id(other) in live
            and (one.name not in live[id(other)] or one.name in assigned(other))
            and not any(one.name in used_names(part) for name in calls(other)
                        for part in program.function(name).body))


def _by(name, value):
    def change(part):
        return value if isinstance(part, ir.HostName) and part.name == name else None

    return change


def _with_value(program, name, value):
    """The program with an expression in place of a variable of the host, wherever it is read."""
    change = _by(name, value)
    return dataclasses.replace(
        program, functions=tuple(replaced(function, change) for function in program.functions),
        body=tuple(replaced(node, change) for node in program.body))


def in_order(program):
    """Neighbouring instructions of the host in one order, where neither needs the other: elements,
    sets, numbers, names of sets."""
    speller, plain = Speller(program), plain_names(program)

    def key(node) -> Any:
        match node:
            case ir.ElementStore():
                return 0, speller.colour(node.vector)
            case ir.NewVertexSet() | ir.NewQueue():
                return 1, ()
            case ir.Assign(value=ir.HostName(type=Type.VERTEXSET)):
                return 3, ()
            case ir.Assign():
                return 2, ()
        return None

    def may_fail(node):
        match node:
            case ir.Assign():
                return host_fails(program, node.value, plain)
            case ir.ElementStore():
                return not (_is_vertex(program, node.index) and isinstance(
                    node.value, ir.Literal | ir.HostName) and (
                        _is_vertex(program, node.value) or isinstance(node.value, ir.Literal)))
            case ir.NewVertexSet():
                return not all(_is_vertex(program, vertex) for vertex in node.vertices)
        return True

    def commute(one, other):
        first, second = reads_of(program, one), reads_of(program, other)
        if assigned(one) & (second | assigned(other)) or assigned(other) & first:
            return False
        if calls(one) or calls(other) or written(program, one) & written(program, other):
            return False
        return not (may_fail(one) and may_fail(other))

    def block(body):
        found = list(body)
        for _ in found:
            for place in range(len(found) - 1):
                one, other = found[place:place + 2]
                keys = key(one), key(other)
                if None not in keys and keys[1] < keys[0] and commute(one, other):
                    found[place:place + 2] = other, one
        return tuple(found)

    return changed_blocks(program, block)
