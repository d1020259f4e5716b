"""Changing the instructions of a program."""

import dataclasses

from sw.lang import graph_ir as ir


__all__ = ["changed", "changed_blocks", "marked", "with_facts"]


def marked(node, **metadata):
    """The instruction with more metadata."""
    return dataclasses.replace(node, metadata=node.metadata | metadata)


def changed(program, change):
    """The program with ``change(instruction)`` in place of each instruction, from the inside out.
    """
    def block(body):
        return tuple(one(node) for node in body)

    def one(node):
        match node:
            case ir.WhileLoop() | ir.ForLoop():
                node = dataclasses.replace(node, body=block(node.body))
            case ir.HostBranch():
                node = dataclasses.replace(node, then=block(node.then),
                                           otherwise=block(node.otherwise))
        return change(node)

    return dataclasses.replace(program, body=block(program.body))


def with_facts(program, facts):
    """The program with more facts: ``facts(node)`` gives those of an instruction, a vector or a
    reduction, as they stand in ``program``; None in place of a fact is left out."""
    def one(node):
        found = {fact.key: fact for fact in facts(node) if fact is not None}
        match node:
            case ir.WhileLoop() | ir.ForLoop():
                node = dataclasses.replace(node, body=block(node.body))
            case ir.HostBranch() | ir.Branch():
                return dataclasses.replace(node, then=block(node.then),
                                           otherwise=block(node.otherwise))
        return marked(node, **found) if found else node

    def block(body):
        return tuple(one(node) for node in body)

    return dataclasses.replace(
        program, vectors=block(program.vectors), body=block(program.body), functions=tuple(
            dataclasses.replace(function, body=block(function.body))
            for function in program.functions))


def changed_blocks(program, change):
    """The program with ``change(block)`` in place of each block, a tuple of instructions, from the
    inside out."""
    def block(body):
        return change(tuple(one(node) for node in body))

    def one(node):
        match node:
            case ir.WhileLoop() | ir.ForLoop():
                inner = block(node.body)
                return node if inner == node.body else dataclasses.replace(node, body=inner)
            case ir.HostBranch():
                then, otherwise = block(node.then), block(node.otherwise)
                return node if (then, otherwise) == (node.then, node.otherwise) \
                    else dataclasses.replace(node, then=then, otherwise=otherwise)
        return node

    return dataclasses.replace(program, body=block(program.body))
