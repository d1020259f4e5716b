"""Flags of searches, as the numbers of the rounds that set them.

A *flag* is a vector with one word at the start and one other word that is stored. It does not tell
whether it was set before a round, but the number of the round does. So edges may read it while it
changes, and the functions that set it join the kernel of the edges
(:class:`~sw.lang.facts.Stamps`). A flag that is a result is made of the numbers at the end.
"""

import dataclasses
import itertools
import operator
from typing import Any

from sw.lang import facts
from sw.lang import graph_ir as ir
from sw.lang.facts import known
from sw.lang.passes import analysed
from sw.lang.passes.rewrite import changed
from sw.lang.types import WORD, Type
from sw.lang.uses import calls


__all__ = ["numbered"]


_COMPARISONS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
                "<=": operator.le, ">=": operator.ge}


def numbered(program) -> ir.GraphProgram:
    """The program, analysed, with numbers in place of the flags that become stamps so."""
    for vector in program.vectors:
        loop, word = _loop_of(program, vector)
        if loop is not None:
            other, name = _with_numbers(program, vector, loop, word)
            other = analysed(other)
            stamps = [known(node, facts.Stamps) for node in ir.instructions(other.body)
                      if isinstance(node, ir.WhileLoop | ir.ForLoop)]
            if any(found is not None and found.stamp(name) for found in stamps):
                program = other
    return program


def _is(node, kind, vector):
    return isinstance(node, kind) and node.vector == vector.name


def _loop_of(program, vector) -> Any:
    """The loop in which functions of vertices set a flag that edges read there, if nothing else
    sets it behind the start of the loop; and the word of a flag that is set. Else None, None."""
    changes: dict[str, list[Any]] = {function.name: [
        node for node in ir.walk(*function.body) if _is(node, ir.VectorStore | ir.Reduce, vector)]
        for function in program.functions}
    nodes = list(ir.instructions(program.body))
    setters = [node for node in nodes if any(changes[name] for name in calls(node))]
    place, loop = next(((place, node) for place, node in enumerate(program.body)
                        if isinstance(node, ir.WhileLoop | ir.ForLoop)
                        and any(each is setter for each in node.body for setter in setters)),
                       (0, None))
    if loop is None or vector.type not in (Type.BOOL, Type.UINT) \
            or not isinstance(vector.initial, ir.Literal):
        return None, None
    stores = [node for node in nodes if _is(node, ir.ElementStore, vector)]
    writes: list[Any] = [*stores, *itertools.chain(*changes.values())]
    early = all(any(node is each for each in program.body[:place]) for node in stores)
    only = all(isinstance(node, ir.VertexSetIterator) and any(node is each for each in loop.body)
               for node in setters)
    words = {node.value.value if isinstance(node.value, ir.Literal)
             and not isinstance(node, ir.Reduce) else None for node in writes}
    readers = [name for node in loop.body if isinstance(node, ir.EdgeSetIterator)
               for name in calls(node)]
    read = any(_is(part, ir.VectorLoad, vector) for name in readers
               for part in ir.walk(*program.function(name).body))
    if early and only and read and len(words) == 1 and not words & {None, vector.initial.value}:
        return loop, writes[0].value
    return None, None


def _with_numbers(program, vector, loop, word):
    """The program with the number of the loop's round in place of a flag, which has this word
    where it is set; and the vector's name."""
    names = {vector.name for vector in program.vectors} | {
        part.name for part in ir.walk(program) if isinstance(part, ir.HostName | ir.Local)}
    name, counter = (_new(f"{vector.name}_{what}", names) for what in ("round", "rounds"))

    def literal(value, node, kind=Type.UINT):
        return ir.Literal(value=value, type=kind, position=node.position)

    def assign(node, value):
        return ir.Assign(name=counter, value=value, position=node.position)

    def count(node):
        return ir.HostName(name=counter, type=Type.WHOLE, position=node.position)

    def is_set(load, so=True):
        return ir.Binary(operation="!=" if so else "==", left=dataclasses.replace(
            load, vector=name, type=Type.UINT), right=literal(WORD - 1, load), type=Type.BOOL,
            position=load.position)

    def flag(load):
        if vector.type is Type.BOOL:
            return is_set(load, word.value)
        return ir.Select(condition=is_set(load), then=word, otherwise=vector.initial,
                         type=vector.type, position=load.position)

    def value(node):
        match node:
            case ir.Binary(left=load, right=ir.Literal(value=other)) if _is(
                    load, ir.VectorLoad, vector) and node.operation in _COMPARISONS:
                before, behind = (_COMPARISONS[node.operation](each, other)
                                  for each in (vector.initial.value, word.value))
                return literal(behind, node, Type.BOOL) if before == behind \
                    else is_set(load, behind)
            case ir.Unary(operation="not", operand=load) if _is(load, ir.VectorLoad, vector):
                return is_set(load, not word.value)
        node = node.with_parts(value)
        if _is(node, ir.VectorLoad, vector):
            return flag(node)
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
            ir.VectorStore(vector=vector.name, index=own, value=flag(load),
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
