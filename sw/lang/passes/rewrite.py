"""Changing the instructions of a program. What does not change stays the same object."""

import dataclasses

from sw.lang import graph_ir as ir
from sw.lang.facts import Range, Stamps
from sw.lang.flow import hand_on


__all__ = ["changed", "changed_blocks", "marked", "with_facts"]


def marked(node, **metadata):
    """The instruction with more metadata."""
    return dataclasses.replace(node, metadata=node.metadata | metadata)


def _with_blocks(node, change):
    """A node with ``change(block)`` in place of each block right below it."""
    changes = {}
    for name in ("body", "then", "otherwise"):
        body = getattr(node, name, None)
        if body:
            new = ir.same(body, change(body))
            if new is not body:
                changes[name] = new
    return dataclasses.replace(node, **changes) if changes else node


def changed(program, change):
    """The program with ``change(instruction)`` in place of each instruction, from the inside out.
    """
    def block(body):
        return tuple(change(_with_blocks(node, block)) for node in body)

    return _with_blocks(program, block)


def changed_blocks(program, change):
    """The program with ``change(block)`` in place of each block, a tuple of instructions, from the
    inside out."""
    def block(body):
        return change(ir.same(body, tuple(_with_blocks(node, block) for node in body)))

    return _with_blocks(program, block)


def with_facts(program, facts):
    """The program with more facts: ``facts(node)`` gives those of an instruction, a vector or a
    reduction, as they stand in ``program``; None in place of a fact is left out."""
    kinds = set()

    def block(body):
        return tuple(map(one, body))

    def one(node):
        found = {fact.key: fact for fact in facts(node) if fact is not None}
        kinds.update(found)
        node = _with_blocks(node, block)
        return marked(node, **found) if found else node

    functions = tuple(_with_blocks(function, block) for function in program.functions)
    changes = {"vectors": ir.same(program.vectors, block(program.vectors)),
               "functions": ir.same(program.functions, functions)}
    new = dataclasses.replace(_with_blocks(program, block), **changes)
    if kinds.isdisjoint({Range.key, Stamps.key}):
        hand_on(program, new)
    return new
