"""Statements of functions, and the functions of a program."""

import dataclasses

from sw.lang import graph_ir as ir
from sw.lang.effects import negated
from sw.lang.faults import is_candidate
from sw.lang.passes.normal.effects import drops, fails
from sw.lang.passes.rewrite import changed
from sw.lang.types import Type
from sw.lang.uses import CALLED, calls


__all__ = ["locals_of", "plain_statements", "renamed", "replaced", "used_functions"]


def replaced(node, change):
    """A node with ``change(part)`` in place of each part of it, from the inside out; a part for
    which that is None stays."""
    node = node.with_parts(lambda part: replaced(part, change))
    found = change(node)
    return node if found is None else found


def renamed(node, names):
    """A node of a function with other names of its variables and parameters."""
    def change(part):
        if isinstance(part, ir.Local | ir.Let) and part.name in names:
            return dataclasses.replace(part, name=names[part.name])
        return None

    return replaced(node, change)


def locals_of(*nodes) -> list[str]:
    """The variables that statements of a function assign, once for each assignment."""
    return [part.name for part in ir.walk(*nodes) if isinstance(part, ir.Let)]


# Statements

def plain_statements(program):
    """The functions of a program in fewer statements."""
    def change(node):
        if not isinstance(node, ir.Function):
            return node
        body = _Body(program, node).block(node.body)
        return node if body == node.body else dataclasses.replace(node, body=body)

    return program.with_parts(change)


class _Body:
    """The statements of a function."""

    def __init__(self, program, function):
        self._program, self._function = program, function

    def _fails(self, *nodes):
        return fails(nodes, self._function.parameters)

    def _drops(self, *nodes):
        return drops(self._program, nodes, self._function.parameters)

    def block(self, body):
        """The statements in place of some."""
        found: list = []
        for node in body:
            if isinstance(node, ir.Branch):
                node = dataclasses.replace(node, then=self.block(node.then),
                                           otherwise=self.block(node.otherwise))
                found += self._branch(node)
            else:
                found.append(node)
        return tuple(self._without_variables(found))

    def _branch(self, node):
        """The statements in place of a branch: none of an empty one, those of a branch that is
        certain, and one branch for nested ones."""
        if not node.then and not node.otherwise:
            return [] if self._drops(node.condition) else [node]
        if isinstance(node.condition, ir.Literal):
            chosen, other = (node.then, node.otherwise) if node.condition.value \
                else (node.otherwise, node.then)
            # What a branch assigns is not known behind it, and a value of the host is always read.
            words = [part for part in ir.walk(*other) if isinstance(part, ir.Uniform)]
            return [node] if locals_of(*chosen) or not self._drops(*words) else list(chosen)
        if node.then == node.otherwise and not locals_of(*node.then) \
                and self._drops(node.condition):
            return list(node.then)
        condition = negated(node.condition)
        if not node.then:
            return [dataclasses.replace(node, condition=condition, then=node.otherwise,
                                        otherwise=())]
        if node.otherwise:
            negative = isinstance(node.condition, ir.Unary | ir.Binary) \
                and node.condition.operation in ("not", "!=", ">=")
            return [dataclasses.replace(node, condition=condition, then=node.otherwise,
                                        otherwise=node.then)] if negative else [node]
        match node.then:
            case (ir.Branch(otherwise=()) as inner,):
                both = ir.Binary(operation="and", left=node.condition, right=inner.condition,
                                 type=Type.BOOL, position=node.condition.position)
                return [dataclasses.replace(node, condition=both, then=inner.then)]
        return [node]

    def _without_variables(self, body):
        """The statements without variables that are used once, or are another name."""
        everywhere = locals_of(*self._function.body)
        for place, node in enumerate(body):
            if not isinstance(node, ir.Let) or everywhere.count(node.name) > 1:
                continue
            rest = body[place + 1:]
            uses, here = (sum(isinstance(part, ir.Local) and part.name == node.name
                              for part in ir.walk(*nodes))
                          for nodes in (self._function.body, rest))
            if not uses and self._drops(node.value):
                return self._without_variables([*body[:place], *rest])
            if not uses or uses != here or not self._may_move(node, rest, uses):
                continue
            rest = [_with_value(part, node.name, node.value) for part in rest]
            return self._without_variables([*body[:place], *rest])
        return body

    def _may_move(self, let, rest, uses):
        """Whether a variable's value may be computed where it is used: it is the same there, it
        does not fail or would fail all the same, as the first, and it is computed as often."""
        if isinstance(let.value, ir.Literal | ir.Uniform) or (
                isinstance(let.value, ir.Local) and let.value.name in self._function.parameters):
            return True
        if uses > 1:
            return False
        place = next(place for place, node in enumerate(rest) if any(
            isinstance(part, ir.Local) and part.name == let.name for part in ir.walk(node)))
        between, user = rest[:place], rest[place]
        inside = (user,) if isinstance(user, ir.Branch) else ()
        loads = {part.vector for part in ir.walk(let.value) if isinstance(part, ir.VectorLoad)}
        names = {part.name for part in ir.walk(let.value) if isinstance(part, ir.Local)}
        if any(isinstance(part, ir.VectorStore) and part.vector in loads
               for part in ir.walk(*between, *inside)) \
                or names & set(locals_of(*between, *inside)):
            return False
        if not self._fails(let.value):
            return True
        # As a candidate it would not fail.
        return (not isinstance(user, ir.Branch)
                and not (isinstance(user, ir.Reduce) and is_candidate(user))
                and not self._fails(*between, user) and _is_certain(user, let.name))


def _with_value(node, name, value):
    """A statement with a value in place of a variable."""
    def change(part):
        return value if isinstance(part, ir.Local) and part.name == name else None

    return replaced(node, change)


def _is_certain(node, name):
    """Whether a statement evaluates a variable, whatever the words are."""
    if isinstance(node, ir.Local):
        return node.name == name
    parts = node.parts()
    if isinstance(node, ir.Select):
        parts = (node.condition,)
    elif isinstance(node, ir.Binary) and node.operation in ("and", "or"):
        parts = (node.left,)
    return any(_is_certain(part, name) for part in parts)


# Functions

def used_functions(program):
    """The program with the functions that it calls, in the order of their first calls. Of equal
    ones it has the first."""
    nodes = list(ir.instructions(program.body))
    order = list(dict.fromkeys(name for node in nodes for name in calls(node)))
    meanings = {name: _meaning(program.function(name)) for name in order}
    names = {name: next(other for other in order if meanings[other] == meanings[name])
             for name in order}
    if any(name != other for name, other in names.items()):
        program = _calling(program, names)
    functions = tuple(program.function(name) for name in order if names[name] == name)
    return program if functions == program.functions \
        else dataclasses.replace(program, functions=functions)


def _meaning(function):
    """A function without the names of its parameters."""
    names = {name: f"{place}" for place, name in enumerate(function.parameters)}
    return len(names), tuple(renamed(node, names) for node in function.body)


def _calling(program, names):
    """The program with calls of other functions."""
    def summed(part):
        if isinstance(part, ir.VertexSum):
            return dataclasses.replace(part, function=names[part.function])
        return None

    def change(node):
        changes = {field: names[getattr(node, field)] for field in CALLED
                   if getattr(node, field, None) is not None}
        for field in ("condition", "count", "value"):
            if isinstance(getattr(node, field, None), ir.Node):
                changes[field] = replaced(getattr(node, field), summed)
        return dataclasses.replace(node, **changes) if changes else node

    return changed(program, change)
