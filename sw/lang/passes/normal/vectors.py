"""Vectors: without those that nobody needs, and one way to set a flag."""

import dataclasses
from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.passes.normal.effects import drops
from sw.lang.passes.normal.functions import replaced
from sw.lang.passes.rewrite import changed_blocks
from sw.lang.types import Type
from sw.lang.uses import assigned


__all__ = ["flags", "needed_vectors"]


def needed_vectors(program):
    """The vectors that are returned, or that decide about what is. A vector goes with all that
    changes it, if none of this may fail. A result tells the number of fraction bits of a run that
    has fixed point, so the run must keep some."""
    fixed = any(program.vector(name).type is Type.FIXED for name in program.outputs)
    asked = set(program.outputs) | {
        node.tracking for node in ir.instructions(program.body)
        if isinstance(node, ir.EdgeSetIterator) and node.tracking is not None} | {
        node.vector for node in ir.instructions(program.body) if isinstance(node, ir.NewQueue)}
    for vector in program.vectors:
        if vector.name not in asked and not _is_read(program, vector.name) \
                and (fixed or vector.type is not Type.FIXED) and _may_go(program, vector):
            return _without(program, vector.name)
    return program


def _writes(node, name):
    return isinstance(node, ir.VectorStore | ir.Reduce) and node.vector == name


def _is_read(program, name):
    """Whether a function reads a vector, but to change it."""
    def reads(node):
        if _writes(node, name):
            return False
        if isinstance(node, ir.VectorLoad) and node.vector == name:
            return True
        return any(map(reads, node.parts()))

    return any(reads(node) for function in program.functions for node in function.body)


def _may_go(program, vector):
    """Whether neither a vector's first words nor its changes may fail."""
    vertices = {argument.name for argument in program.arguments
                if argument.type is Type.VERTEX} - assigned(*program.body)
    for node in ir.instructions(program.body):
        if isinstance(node, ir.ElementStore) and node.vector == vector.name and not (
                isinstance(node.index, ir.HostName) and node.index.name in vertices
                and isinstance(node.value, ir.Literal) and 0 <= node.value.value <= 3):
            return False
    return drops(program, (vector.initial,), (vector.variable,)) and all(
        drops(program, (node,), function.parameters) for function in program.functions
        for node in ir.walk(*function.body) if _writes(node, vector.name))


def _without(program, name):
    """The program without a vector and its changes."""
    def block(body):
        found = []
        for node in body:
            if _writes(node, name):
                continue
            if isinstance(node, ir.Branch):
                node = dataclasses.replace(node, then=block(node.then),
                                           otherwise=block(node.otherwise))
            found.append(node)
        return tuple(found)

    program = changed_blocks(program, lambda body: tuple(
        node for node in body
        if not (isinstance(node, ir.ElementStore) and node.vector == name)))
    return dataclasses.replace(
        program, vectors=tuple(vector for vector in program.vectors if vector.name != name),
        functions=tuple(dataclasses.replace(function, body=block(function.body))
                        for function in program.functions))


def flags(program):
    """A vector of numbers that are 0 and 1 and only set by edges, is set by ``|=``. If nobody reads
    the numbers, but whether they have changed, they are truth values."""
    for vector in program.vectors:
        if vector.type is Type.UINT and _is_flag(program, vector):
            hidden = vector.name not in program.outputs and not any(
                isinstance(part, ir.VectorLoad) and part.vector == vector.name
                for part in ir.walk(*program.functions)) and not any(
                isinstance(node, ir.NewQueue) and node.vector == vector.name
                for node in ir.instructions(program.body))
            program = _as_flag(program, vector.name, Type.BOOL if hidden else Type.UINT)
    return program


def _is_flag(program, vector):
    """Whether the words of a vector are 0 and 1, and edges take the larger one."""
    writes: list[Any] = [part for part in ir.walk(*program.functions)
                         if _writes(part, vector.name)]
    stores = [node for node in ir.instructions(program.body)
              if isinstance(node, ir.ElementStore) and node.vector == vector.name]
    values: list[Any] = [vector.initial, *(node.value for node in (*writes, *stores))]
    reduces = [node for node in writes if isinstance(node, ir.Reduce)]
    return bool(reduces) and all(node.operation in ("max", "or") for node in reduces) and all(
        isinstance(value, ir.Literal) and value.value in (0, 1) for value in values)


def _as_flag(program, name, kind):
    def change(part):
        if not _writes(part, name) and not (
                isinstance(part, ir.ElementStore) and part.vector == name):
            return None
        value = dataclasses.replace(part.value, type=kind)
        if isinstance(part, ir.Reduce):
            return dataclasses.replace(part, operation="or", value=value)
        return dataclasses.replace(part, value=value)

    return dataclasses.replace(
        program, functions=tuple(replaced(function, change) for function in program.functions),
        body=tuple(replaced(node, change) for node in program.body),
        vectors=tuple(dataclasses.replace(vector, type=kind, initial=dataclasses.replace(
            vector.initial, type=kind)) if vector.name == name else vector
            for vector in program.vectors))

