"""Flags of searches, as the numbers of the rounds that set them.

A flag does not tell whether it was set before a round, but the number of the round does. So edges
may read it while it changes, and the functions that set it join the kernel of the edges
(:class:`~sw.lang.facts.Stamps`). A flag that is a result is made of the numbers at the end.
"""

import dataclasses
import itertools
from typing import Any

from sw.lang import facts
from sw.lang import graph_ir as ir
from sw.lang.facts import known
from sw.lang.passes import analysed
from sw.lang.passes.rewrite import changed
from sw.lang.types import WORD, Type
from sw.lang.uses import calls


__all__ = ["numbered"]


def numbered(program) -> ir.GraphProgram:
    """The program, analysed, with numbers in place of the flags that become stamps so."""
    for vector in program.vectors:
        loop = _loop_of(program, vector)
        if loop is not None:
            other, name = _with_numbers(program, vector, loop)
            other = analysed(other)
            stamps = [known(node, facts.Stamps) for node in ir.instructions(other.body)
                      if isinstance(node, ir.WhileLoop | ir.ForLoop)]
            if any(found is not None and found.stamp(name) for found in stamps):
                program = other
    return program


def _is(node, kind, vector):
    return isinstance(node, kind) and node.vector == vector.name


def _loop_of(program, vector) -> Any:
    """The loop in which functions of vertices set a flag that edges read there, if it begins as
    false, and nothing else sets it behind the start of the loop; else None."""
    changes: dict[str, list[Any]] = {function.name: [
        node for node in ir.walk(*function.body) if _is(node, ir.VectorStore | ir.Reduce, vector)]
        for function in program.functions}
    nodes = list(ir.instructions(program.body))
    setters = [node for node in nodes if any(changes[name] for name in calls(node))]
    place, loop = next(((place, node) for place, node in enumerate(program.body)
                        if isinstance(node, ir.WhileLoop | ir.ForLoop)
                        and any(each is setter for each in node.body for setter in setters)),
                       (0, None))
    if loop is None or vector.type is not Type.BOOL or not _is_literal(vector.initial, False):
        return None
    stores = [node for node in nodes if _is(node, ir.ElementStore, vector)]
    writes: list[Any] = [*stores, *itertools.chain(*changes.values())]
    early = all(any(node is each for each in program.body[:place]) for node in stores)
    only = all(isinstance(node, ir.VertexSetIterator) and any(node is each for each in loop.body)
               for node in setters)
    true = all(_is_literal(node.value, True) and not isinstance(node, ir.Reduce)
               for node in writes)
    readers = [name for node in loop.body if isinstance(node, ir.EdgeSetIterator)
               for name in calls(node)]
    read = any(_is(part, ir.VectorLoad, vector) for name in readers
               for part in ir.walk(*program.function(name).body))
    return loop if early and only and true and read else None


def _is_literal(node, value):
    return isinstance(node, ir.Literal) and bool(node.value) is value


def _with_numbers(program, vector, loop):
    """The program with the number of the loop's round in place of a flag, and the vector's name."""
    names = {vector.name for vector in program.vectors} | {
        part.name for part in ir.walk(program) if isinstance(part, ir.HostName | ir.Local)}
    name, counter = (_new(f"{vector.name}_{what}", names) for what in ("round", "rounds"))

    def literal(value, node, kind=Type.UINT):
        return ir.Literal(value=value, type=kind, position=node.position)

    def assign(node, value):
        return ir.Assign(name=counter, value=value, position=node.position)

    def count(node):
        return ir.HostName(name=counter, type=Type.WHOLE, position=node.position)

    def is_set(load):
        return ir.Binary(operation="!=", left=dataclasses.replace(
            load, vector=name, type=Type.UINT), right=literal(WORD - 1, load), type=Type.BOOL,
            position=load.position)

    def value(node):
        node = node.with_parts(value)
        if _is(node, ir.VectorLoad, vector):
            return is_set(node)
        if _is(node, ir.VectorStore, vector):
            return dataclasses.replace(node, vector=name, value=ir.Uniform(
                value=count(node), type=Type.UINT, position=node.position))
        return node

    def instruction(node):
        if _is(node, ir.ElementStore, vector):
            return dataclasses.replace(node, vector=name, value=literal(0, node))
        if node.position == loop.position and isinstance(node, type(loop)):
            more = ir.Binary(operation="+", left=count(node), type=Type.WHOLE,
                             right=literal(1, node, Type.WHOLE), position=node.position)
            return dataclasses.replace(node, body=(assign(node, more), *node.body))
        return node

    functions = [dataclasses.replace(function, body=tuple(map(value, function.body)))
                 for function in program.functions]
    body = [assign(loop, literal(0, loop, Type.WHOLE)), *changed(program, instruction).body]
    vectors = [dataclasses.replace(vector, name=name, type=Type.UINT, metadata={},
                                   initial=literal(WORD - 1, vector))]
    if vector.name in program.outputs:
        own = ir.Local(name="v", type=Type.VERTEX, position=loop.position)
        load = ir.VectorLoad(vector=name, index=own, type=Type.UINT, position=loop.position)
        function = ir.Function(name=_new(f"{vector.name}_set", names), parameters=("v",), body=(
            ir.VectorStore(vector=vector.name, index=own, value=is_set(load),
                           position=loop.position),), position=loop.position)
        functions.append(function)
        vectors.append(vector)
        body.append(ir.VertexSetIterator(input_vset=ir.ALL, apply_f=function.name, label=None,
                                         position=loop.position))
    return dataclasses.replace(program, body=tuple(body), functions=tuple(functions), vectors=tuple(
        each for one in program.vectors
        for each in (vectors if one.name == vector.name else [one]))), name


def _new(name, names):
    """A name that the program has not."""
    while name in names:
        name += "_"
    return name
