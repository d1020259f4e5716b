"""Changing the instructions of a program."""

import dataclasses

from sw.lang import graph_ir as ir


__all__ = ["changed", "changed_blocks", "marked"]


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
