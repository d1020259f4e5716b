"""Statements of GraphIt, translated to Python's syntax trees."""

import ast
from typing import Any

from sw.lang.graphit_expressions import ExpressionTranslator
from sw.lang.graphit_items import argument_number
from sw.lang.graphit_text import (called, kind_of, made, name_of, names_in, number_of,
                                  parameters_of, tokens_of, vector_of)
from sw.lang.graphit_types import SCALARS


__all__ = ["StatementTranslator"]


class StatementTranslator(ExpressionTranslator):
    """Translates statements."""

    def _block(self, tree):
        """The statements of a block. Sets that have been made and deleted are watched in it."""
        found: list[Any] = []
        fresh: dict[str, Any] = {}      # {set: its statement, while nothing but addVertex follows}
        gone: dict[str, int] = {}       # {deleted set: line}
        for statement in tree.children:
            label, bare = statement.children
            target = name_of(bare.children[0]) if bare.data == "assign" else \
                str(bare.children[0]) if bare.data == "variable" else None
            added = self._added(bare)
            if bare.data == "delete":
                self._delete(bare, gone)
                fresh.pop(str(bare.children[0]), None)
                continue
            for token in tokens_of(bare):
                if str(token) in gone and not (target and token is tokens_of(bare)[0]):
                    self._fail(token, f"{str(token)!r} was deleted in line {gone[str(token)]}")
                if added is None and token.type == "NAME":
                    fresh.pop(str(token), None)
            if added is not None:
                self._add_vertex(bare, added, fresh, found)
                continue
            nodes = self._statement(bare)
            name = "" if label is None else str(label).strip("# \t\n")
            if name and nodes and _takes_label(nodes[0]):
                found.append(self._at(label, ast.AnnAssign(
                    self._name(label, name), self._name(label, "Label"), None, 1)))
            found += nodes
            if target:
                gone.pop(target, None)
            match nodes:
                case [ast.Assign(targets=[ast.Name(id=name)],
                                 value=ast.Call(func=ast.Name(id="vertexset")))]:
                    fresh[name] = nodes[0]
                    gone.pop(name, None)
        return found

    def _delete(self, tree, gone):
        name = tree.children[0]
        if self._in_function:
            self._fail(tree, "a function deletes no sets")
        if str(name) in gone:
            self._fail(name, f"{str(name)!r} was deleted in line {gone[str(name)]}")
        if str(name) in (self._graph, self._all):
            self._fail(name, f"{str(name)!r} is a constant, and cannot be deleted")
        gone[str(name)] = name.line

    def _added(self, tree):
        """The set and the vertex of ``set.addVertex(vertex)``, or None."""
        if tree.data != "operator" or kind_of(tree.children[0]) != "method":
            return None
        root, name, given = tree.children[0].children
        if name != "addVertex":
            return None
        vertices = [] if given is None else given.children
        if name_of(root) is None or len(vertices) != 1:
            self._fail(tree, "addVertex is set.addVertex(vertex)")
        return name_of(root), vertices[0]

    def _add_vertex(self, tree, added, fresh, found):
        """Put a vertex into a new set; the set is made here, where the vertex is known."""
        name, vertex = added
        if name not in fresh:
            self._fail(tree, f"addVertex must follow `var {name} : vertexset{{Vertex}} = new "
                             "vertexset{Vertex}(0);` in its block, before the set is used")
        node = fresh[name]
        found.remove(node)
        node.value.args.append(self._expression(vertex))
        found.append(node)

    def _statement(self, tree):
        match tree.data:
            case "variable":
                return self._variable(tree)
            case "assign" | "reduce":
                return self._assign(tree)
            case "operator":
                return self._operator(tree)
            case "while":
                condition, block = tree.children
                return [self._at(tree, ast.While(self._condition(condition),
                                                 self._filled(block), []))]
            case "if":
                return [self._if(tree, tree.children)]
            case "for":
                return self._for(tree)
        return self._fail(tree, "break ends a loop of main")

    def _operator(self, tree):
        call = tree.children[0]
        if called(call) in ("atomicAdd", "writeMin", "writeMax"):
            return self._assign(self._written_reduction(call))
        if kind_of(call) == "method" and name_of(call.children[0]) in self._queues:
            return self._assign(self._priority_update(call))
        return [self._at(tree, ast.Expr(self._expression(call)))]

    def _written_reduction(self, call):
        """``atomicAdd(x, v, n)`` as ``x[v] += n``, and so on."""
        name, given = call.children
        by = {"atomicAdd": "+=", "writeMin": "min=", "writeMax": "max="}[str(name)]
        if given is None or len(given.children) != 3:
            self._fail(call, f"{name} takes a vector, a vertex and a number")
        vector, index, value = given.children
        return made(call, f"__x[__y] {by} __z;", __x=vector, __y=index, __z=value)[0].children[1]

    def _priority_update(self, call):
        """``q.updatePriorityMin(v, old, new)`` as ``x[v] min= new``."""
        queue, name, given = call.children
        values = [] if given is None else given.children
        if name != "updatePriorityMin" or not 2 <= len(values) <= 3:
            self._fail(name, "the priority of a vertex changes by q.updatePriorityMin(vertex, "
                       "number) only; a vector counts what is subtracted, and main finds the "
                       "vertices below a number by vertices.filter(f)")
        vector = self._priorities.get(name_of(queue))
        if len(values) == 3 and vector_of(values[1]) != vector:
            self._fail(values[1], f"the second argument must be {vector}[…], the number that falls")
        if vector is None:
            self._fail(queue, f"{name_of(queue)!r} is made nowhere: {name_of(queue)} = new "
                       "priority_queue{Vertex}(int)(false, false, vector, 1, 2, false, vertex);")
        return made(call, f"{vector}[__y] min= __z;", __y=values[0],
                    __z=values[-1])[0].children[1]

    def _filled(self, block):
        """The statements of a block, at least one."""
        return self._block(block) or [self._at(block, ast.Pass())]

    def _if(self, tree, children):
        condition, block, *others = children
        rest: list[Any] = []
        if len(others) > 1:
            rest = [self._if(tree, others)]
        elif others[0] is not None:
            rest = self._block(others[0])
        return self._at(tree, ast.If(self._condition(condition), self._filled(block), rest))

    def _for(self, tree):
        name, first, last, block = tree.children
        low, high = self._expression(first), self._expression(last)
        target, rounds, begin = str(name), high, []
        if not (isinstance(low, ast.Constant) and low.value == 0):
            # The loop counts its rounds from 0.
            rounds = self._at(last, ast.BinOp(high, ast.Sub(), low))
            target = f"{name}_from_0"
            number = self._at(name, ast.BinOp(self._name(name, target), ast.Add(), low))
            begin = [self._at(name, ast.Assign([self._name(name, str(name))], number))]
        return [self._at(tree, ast.For(self._name(name, target),
                                       self._call(last, "range", rounds),
                                       [*begin, *self._filled(block)], []))]

    def _variable(self, tree):
        name, kind, value = tree.children
        if str(name) in (self._graph, self._all, *self._scalars):
            self._fail(name, f"{str(name)!r} is a constant, and cannot be a variable")
        if kind.data == "scalar_type":
            self._kind(kind)
        if value is None:
            if self._in_function:
                self._fail(tree, f"variable {str(name)!r} needs a value")
            return []       # the first assignment makes it
        if kind.data == "queue_type":
            self._queues.add(str(name))
        if self._is_argument(str(name), value):
            return []
        node = self._typed(str(name), value)
        if isinstance(node, ast.Attribute) and node.attr == "num_vertices":
            self._counts.add(str(name))
        return [self._at(tree, ast.Assign([self._name(name, self._local(str(name)))], node))]

    def _is_argument(self, name, value):
        """Whether a variable of main is a parameter of the program."""
        number = 0 if self._in_function else argument_number(value)
        if self._named_arguments.get(number) != name:
            return False
        self._argument(value)
        return True

    def _typed(self, name, value):
        """The value of a variable, as one of its type."""
        kind = (self._own | self._locals if self._in_function else {}).get(
            name, self._of_main.get(name))
        if kind == "bool" and kind_of(value) == "integer" and number_of(
                value.children[0]) in (0, 1):
            return self._at(value, ast.Constant(number_of(value.children[0]) == 1))
        return self._of_type(value, kind) if kind in SCALARS and kind != "bool" \
            else self._expression(value)

    def _assign(self, tree):
        target, value = tree.children[0], tree.children[-1]
        vector, name = vector_of(target), name_of(target)
        if kind_of(target) not in ("name", "element"):
            self._fail(target, "a variable or an element of a vector can be assigned")
        if name in (self._graph, self._all, *self._scalars):
            self._fail(target, f"{name!r} is a constant, and cannot be assigned")
        if self._in_function and name is not None and name not in self._locals:
            self._fail(target, f"{name!r} is no variable of this function, and it "
                       "changes no others: its calls have no order. A vector keeps a number for "
                       f"each vertex; a variable of a call is declared: var {name} : int = …;")
        if tree.data == "assign" and name is not None and self._is_argument(name, value):
            return []
        self._counts.discard(name)
        right = self._none_or(value, vector) if name is None \
            else self._typed(name, value)
        left = self._target(target)
        if tree.data == "reduce":
            return [self._reduced(tree, vector, left, right)]
        if vector and self._in_function and len(parameters_of(
                self._functions[self._current])) > 1:
            return [self._stored_by_edge(tree, vector, left, right)]
        return [self._at(tree, ast.Assign([left], right))]

    def _reduced(self, tree, vector, left, right):
        by = "".join(str(tree.children[1]).split()).removesuffix("=")
        if by in ("+", "|") and vector in self._marked:
            self._fail(tree, f"{vector!r} has -1 among its elements, with which nothing is added; "
                             "begin with 0")
        if by in ("+", "|"):
            op = ast.Add() if by == "+" else ast.BitOr()
            return self._at(tree, ast.AugAssign(left, op, right))
        if vector in self._unset:
            self._fail(tree, f"{vector!r} has -1 among its elements, which is below all others for "
                       f"{by}= of GraphIt, and no vertex here: begin with another number, such as "
                       "2147483647 or 0")
        if vector is None:
            both = self._call(tree, by, left, right)
            return self._at(tree, ast.Assign([left], both))
        return self._at(tree, ast.Expr(self._method(tree, left, by, [right])))

    def _stored_by_edge(self, tree, vector, left, right):
        """A store by a function of edges: it is a sum, or the compare-and-swap of a filter."""
        target, value = tree.children
        if kind_of(value) == "arithmetic" and value.children[1] == "+":
            for own, added in (value.children[::2], value.children[::-2]):
                if own == target and vector not in names_in(added):
                    return self._at(tree, ast.AugAssign(left, ast.Add(), self._expression(added)))
        if vector not in self._of_vertices | self._marked or not self._filters.may_store(
                self._current, vector, target.children[1]):
            self._fail(tree, f"several edges may store to {vector}[…] at a time, and their "
                             "order would decide: use min=, max=, += or |=, or have the "
                             f"operator go to(filter) with output = ({vector}[v] == -1)")
        return self._at(tree, ast.Expr(self._method(tree, left, "min", [right])))


def _takes_label(node):
    """Whether a statement is a loop or an operator."""
    match node:
        case ast.While() | ast.For():
            return True
        case ast.Assign(value=call) | ast.Expr(value=call):
            return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) \
                and call.func.attr.startswith("apply")
    return False
