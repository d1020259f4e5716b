"""Rewrites of programs as texts. A rule looks for the places of a program where its side condition
holds, changes one, and says whether there was any.

A rule is of a kind:

``same``
    The variant does no more work. The pass ``normal`` undoes these.
``more``
    The variant does more work, and has the base's results and maybe more.
``other``
    The variant means something else.
"""

import ast
import copy
import itertools
import random
from collections.abc import Callable
from typing import Any, NamedTuple


__all__ = ["RULES", "Rule"]


class Rule(NamedTuple):
    """A rewrite."""
    name: str
    kind: str  #: ``same``, ``more`` or ``other``.
    #: Changes a program's syntax tree; whether it did.
    apply: Callable[["Text", random.Random], bool]


#: {name: rule}
RULES: dict[str, Rule] = {}

_TURNED = {ast.Eq: ast.Eq, ast.NotEq: ast.NotEq, ast.Lt: ast.Gt, ast.Gt: ast.Lt,
           ast.LtE: ast.GtE, ast.GtE: ast.LtE}
_NEGATED = {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt,
            ast.Gt: ast.LtE, ast.LtE: ast.Gt}
_REDUCTIONS = ("min", "max")


def _rule(kind):
    def mark(function):
        name = function.__name__.strip("_")
        RULES[name] = Rule(name, kind, function)
        return function

    return mark


class Text:
    """A program as a syntax tree.

    Parameters
    ----------
    tree : ast.FunctionDef
        The program, which rules change.

    Attributes
    ----------
    functions : dict of str to ast.FunctionDef
    vectors : dict of str to ast.Assign
    """

    def __init__(self, tree):
        self.tree = tree

    @property
    def functions(self) -> dict[str, Any]:
        """The functions of edges and vertices."""
        return {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}

    @property
    def vectors(self) -> dict[str, Any]:
        """The declarations of vectors."""
        return {node.targets[0].id: node for node in self.tree.body if self.declares(node)}

    @staticmethod
    def declares(node):
        """Whether a statement makes a vector."""
        match node:
            case ast.Assign(targets=[ast.Name()], value=ast.Call(func=ast.Name(id="vector"))):
                return True
        return False

    @property
    def parameters(self) -> set[str]:
        """The names of the program's parameters."""
        return {argument.arg for argument in self.tree.args.args}

    @property
    def outputs(self) -> list[str]:
        """The vectors that the program returns."""
        value = self.tree.body[-1].value
        values = value.elts if isinstance(value, ast.Tuple) else [value]
        return [each.left.id if isinstance(each, ast.BinOp) else each.id for each in values]

    def host(self) -> list:
        """The statements of the host at the top, without the declarations."""
        return [node for node in self.tree.body if not self.declares(node) and not isinstance(
            node, ast.FunctionDef) and not _is_docstring(node)]

    def blocks(self) -> list[list]:
        """The lists of statements of the host, the outer ones first."""
        found = [self.tree.body]
        for block in found:
            for node in block:
                if isinstance(node, ast.While | ast.If | ast.For):
                    found += [body for body in (node.body, node.orelse) if body]
        return found

    def fresh(self, name) -> str:
        """A name that the program does not have."""
        taken = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)} | {
            node.arg for node in ast.walk(self.tree) if isinstance(node, ast.arg)} | {
            *self.functions}
        number = 1
        while f"{name}{number}" in taken:
            number += 1
        return f"{name}{number}"

    def add_vector(self, name, kind, initial):
        """Declare a vector."""
        place = next(place for place, node in enumerate(self.tree.body) if self.declares(node))
        self.tree.body.insert(place, _statement(f"{name} = vector({kind}, {initial})"))


def _is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_label(node):
    return isinstance(node, ast.AnnAssign)


def _statement(text) -> Any:
    return ast.parse(text).body[0]


def _expression(text) -> Any:
    return ast.parse(text, mode="eval").body


def _names(*nodes) -> set[str]:
    return {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)}


def _stored(*nodes) -> set[str]:
    """The names that statements assign, and the vectors that they change."""
    found = set()
    for node in nodes:
        for part in ast.walk(node):
            match part:
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(
                        target=ast.Name(id=name)) | ast.For(target=ast.Name(id=name)):
                    found.add(name)
                case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]) \
                        | ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name))):
                    found.add(name)
                case ast.Call(func=ast.Attribute(value=ast.Subscript(value=ast.Name(id=name)))):
                    found.add(name)
    return found


def _count(tree, name) -> int:
    return sum(isinstance(part, ast.Name) and part.id == name for part in ast.walk(tree))


def _with_names(node, names) -> Any:
    """A copy with other names."""
    node = copy.deepcopy(node)
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in names:
            part.id = names[part.id]
        elif isinstance(part, ast.arg | ast.FunctionDef):
            field = "arg" if isinstance(part, ast.arg) else "name"
            setattr(part, field, names.get(getattr(part, field), getattr(part, field)))
    return node


class _Swap(ast.NodeTransformer):
    """Puts a node in the place of another."""

    def __init__(self, old, new):
        self._old, self._new = old, new

    def visit(self, node):
        return self._new if node is self._old else super().generic_visit(node)


def _replace(text, old, new):
    _Swap(old, new).visit(text.tree)
    ast.fix_missing_locations(text.tree)


def _safe(node, own=()) -> bool:
    """Whether an expression cannot fail, as far as its syntax shows: names, numbers, words of the
    own vertex, comparisons, and what cannot fail of these."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Subscript(slice=ast.Name(id=name)):
            return name in own
        case ast.Compare(left=left, comparators=[right]):
            return _safe(left, own) and _safe(right, own)
        case ast.BoolOp(values=values):
            return all(_safe(value, own) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _safe(operand, own)
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr() | ast.BitXor(), left=left, right=right):
            return _safe(left, own) and _safe(right, own)
        case ast.Call(func=ast.Attribute(attr="out_degree" | "in_degree"),
                      args=[ast.Name(id=name)]):
            return name in own
        case ast.Call(func=ast.Name(id="uint" | "min" | "max"), args=args):
            return all(_safe(value, own) for value in args)
    return False


def _own(function) -> tuple:
    return tuple(argument.arg for argument in function.args.args[:2])


def _expressions(text, kind):
    """The expressions of a kind in functions and in the host's instructions, each with the vertices
    of its function."""
    for function in text.functions.values():
        for statement in function.body:
            for node in ast.walk(statement):
                if isinstance(node, kind):
                    yield node, _own(function)
    for statement in text.host()[:-1]:
        for node in ast.walk(statement):
            if isinstance(node, kind):
                yield node, ()


def _pick(rng, places):
    places = list(places)
    return rng.choice(places) if places else None


# Expressions

@_rule("same")
def _swap_operands(text, rng):
    """Operands of + * & | ^ min max == != change places; one of them cannot fail."""
    commutes = ast.Add | ast.Mult | ast.BitAnd | ast.BitOr | ast.BitXor
    found = []
    for node, own in _expressions(text, ast.BinOp | ast.Call):
        match node:
            case ast.BinOp(left=left, right=right) if isinstance(node.op, commutes):
                fits = _safe(left, own) or _safe(right, own)
            case ast.Call(func=ast.Name(id="min" | "max"), args=[left, right]):
                fits = _safe(left, own) or _safe(right, own)
            case _:
                fits = False
        if fits and ast.unparse(left) != ast.unparse(right):
            found.append(node)
    node = _pick(rng, found)
    if isinstance(node, ast.BinOp):
        node.left, node.right = node.right, node.left
    elif node is not None:
        node.args.reverse()
    return node is not None


@_rule("same")
def _turn_comparison(text, rng):
    """``a < b`` for ``b > a``."""
    node = _pick(rng, (node for node, own in _expressions(text, ast.Compare)
                       if _safe(node.left, own) or _safe(node.comparators[0], own)))
    if node is None:
        return False
    node.left, node.comparators[0] = node.comparators[0], node.left
    node.ops = [_TURNED[type(node.ops[0])]()]
    return True


@_rule("same")
def _negate_comparison(text, rng):
    """``not (a < b)`` for ``a >= b``."""
    node = _pick(rng, (node for node, _ in _expressions(text, ast.Compare)))
    if node is None:
        return False
    inner = ast.Compare(left=node.left, ops=[_NEGATED[type(node.ops[0])]()],
                        comparators=node.comparators)
    _replace(text, node, ast.UnaryOp(op=ast.Not(), operand=inner))
    return True


@_rule("same")
def _reorder_parts(text, rng):
    """The parts of ``and`` and ``or`` in another order; none can fail."""
    node = _pick(rng, (node for node, own in _expressions(text, ast.BoolOp) if _safe(node, own)))
    if node is not None:
        node.values.reverse()
    return node is not None


@_rule("same")
def _spell_number(text, rng):
    """A whole number as a sum."""
    node = _pick(rng, (node for node, _ in _expressions(text, ast.Constant)
                       if type(node.value) is int and node.value < 1 << 31))
    if node is None:
        return False
    part = rng.randint(0, min(node.value, 9))
    _replace(text, node, _expression(f"{part} + {node.value - part}"))
    return True


@_rule("same")
def _name_part(text, rng):
    """A part of a statement of a function gets a name; it cannot fail, and the function has not
    stored its words before."""
    found = []
    for function in text.functions.values():
        own = _own(function)
        for place, statement in enumerate(function.body):
            head = [statement.test] if isinstance(statement, ast.If) else [
                getattr(statement, "value", None)]
            for part in head:
                for node in ast.walk(part) if part is not None else ():
                    named = isinstance(node, ast.Subscript | ast.Compare | ast.BoolOp) \
                        and not (isinstance(node, ast.Subscript) and _is_target(function, node))
                    if named and _safe(node, own) \
                            and not _names(node) & _stored(*function.body[:place]):
                        found.append((function, place, node))
    chosen = _pick(rng, found)
    if chosen is None:
        return False
    function, place, node = chosen
    name = text.fresh("part")
    _replace(text, node, ast.Name(name))
    function.body.insert(place, ast.Assign(targets=[ast.Name(name)], value=node))
    return True


def _is_target(function, node):
    """Whether an element is what a statement changes, and no value."""
    return any((isinstance(part, ast.Attribute) and part.value is node and part.attr in _REDUCTIONS)
               or (isinstance(part, ast.AugAssign) and part.target is node)
               for part in ast.walk(function))


# Functions

@_rule("same")
def _nest_condition(text, rng):
    """``if a: if b:`` for ``if a and b:``."""
    node = _pick(rng, (node for function in text.functions.values() for node in ast.walk(function)
                       if isinstance(node, ast.If) and not node.orelse
                       and isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)))
    if node is None:
        return False
    first, *others = node.test.values
    inner = others[0] if len(others) == 1 else ast.BoolOp(op=ast.And(), values=others)
    node.test, node.body = first, [ast.If(test=inner, body=node.body, orelse=[])]
    return True


@_rule("same")
def _rename(text, rng):
    """Other names of vectors that are not returned, of functions, variables and sets."""
    tree = text.tree
    kept = text.parameters | {*text.outputs}
    names = ({*text.vectors, *text.functions} | _stored(*text.host())
             | {part.id for function in text.functions.values() for part in ast.walk(function)
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
             | {argument.arg for function in text.functions.values()
                for argument in function.args.args}) - kept
    other = {name: f"{name}_{rng.randint(0, 9)}" for name in sorted(names)}
    tree.body = [_with_names(node, other) for node in tree.body]
    return True


@_rule("same")
def _copy_function(text, rng):
    """A function that is called twice has a twin for one of the calls."""
    calls = [node for node in ast.walk(ast.Module(text.host(), [])) if isinstance(node, ast.Name)
             and node.id in text.functions]
    node = _pick(rng, (node for node in calls
                       if sum(other.id == node.id for other in calls) > 1))
    if node is None:
        return False
    function = text.functions[node.id]
    twin = copy.deepcopy(function)
    twin.name = node.id = text.fresh("twin")
    text.tree.body.insert(text.tree.body.index(function), twin)
    return True


@_rule("same")
def _reorder_declarations(text, rng):
    """Vectors and functions in another order."""
    body = text.tree.body
    places = [place for place, node in enumerate(body)
              if text.declares(node) or isinstance(node, ast.FunctionDef)]
    nodes = [body[place] for place in places]
    rng.shuffle(nodes)
    for place, node in zip(places, nodes, strict=True):
        body[place] = node
    return True


@_rule("same")
def _reorder_results(text, rng):
    """Results in another order."""
    value = text.tree.body[-1].value
    if not isinstance(value, ast.Tuple):
        return False
    value.elts.reverse()
    return True


# Sets

def _assigned_sets(text):
    """(block, place, name, chain) of the operators that make a set."""
    for block in text.blocks():
        for place, node in enumerate(block):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)],
                                value=ast.Call(func=ast.Attribute(
                                    attr="apply_modified" | "where"))):
                    yield block, place, name, node


def _applied(node):
    """(set, function) of ``set.apply(function)``; else None."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="apply"),
                                     args=[ast.Name(id=function)])):
            return name, function
    return None


@_rule("same")
def _alias(text, rng):
    """The next function is applied to a set by another name."""
    found = [(block, place, name) for block, place, name, _ in _assigned_sets(text)
             if place + 1 < len(block) and (_applied(block[place + 1]) or ("",))[0] == name]
    chosen = _pick(rng, found)
    if chosen is None:
        return False
    block, place, name = chosen
    other = text.fresh("same")
    block.insert(place + 1, _statement(f"{other} = {name}"))
    block[place + 2] = _with_names(block[place + 2], {name: other})
    return True


@_rule("same")
def _move(text, rng):
    """A result has a name of its own before it gets the right one."""
    chosen = _pick(rng, _assigned_sets(text))
    if chosen is None:
        return False
    block, place, name, node = chosen
    other = text.fresh("next")
    node.targets[0].id = other
    last = place + 1
    if last < len(block) and (_applied(block[last]) or ("",))[0] == name and rng.random() < 0.7:
        block[last] = _with_names(block[last], {name: other})
        last += 1
    block.insert(last, _statement(f"{name} = {other}"))
    return True


@_rule("same")
def _split_filter(text, rng):
    """``s.where(f)`` with ``return a and b`` as two filters."""
    found = []
    for block, place, name, node in _assigned_sets(text):
        if node.value.func.attr != "where":
            continue
        function = text.functions.get(node.value.args[0].id)
        match function and function.body:
            case [ast.Return(value=ast.BoolOp(op=ast.And()))]:
                found.append((block, place, name, node, function))
    chosen = _pick(rng, found)
    if chosen is None:
        return False
    block, _, name, node, function = chosen
    tests = function.body[0].value.values
    rest = tests[1] if len(tests) == 2 else ast.BoolOp(op=ast.And(), values=tests[1:])
    names = [text.fresh("first"), text.fresh("second")]
    for called, test in zip(names, (tests[0], rest), strict=True):
        part = copy.deepcopy(function)
        part.name, part.body = called, [ast.Return(value=copy.deepcopy(test))]
        text.tree.body.insert(text.tree.body.index(function), part)
    between = text.fresh("some")
    whole, place = node.value.func.value, block.index(node)
    block[place:place + 1] = [
        _statement(f"{between} = {ast.unparse(whole)}.where({names[0]})"),
        _statement(f"{name} = {between}.where({names[1]})")]
    return True


@_rule("same")
def _guard_for_filter(text, rng):
    """A condition in the function of edges in place of ``.to(filter)``, which cannot fail."""
    found = []
    for block in text.blocks():
        for statement in block:
            for node in ast.walk(statement) if not isinstance(
                    statement, ast.While | ast.If | ast.For | ast.FunctionDef) else ():
                match node:
                    case ast.Call(func=ast.Attribute(value=chain, attr="to"),
                                  args=[ast.Name(id=name)]):
                        test = text.functions[name]
                        match test.body:
                            case [ast.Return(value=value)] if _safe(value, _own(test)):
                                found.append((statement, node, chain, test, value))
    chosen = _pick(rng, found)
    if chosen is None:
        return False
    statement, node, chain, test, value = chosen
    call = statement.value
    function = text.functions[call.args[0].id]
    target = function.args.args[1].arg
    guarded = copy.deepcopy(function)
    guarded.name = text.fresh("guarded")
    guarded.body = [ast.If(test=_with_names(value, {test.args.args[0].arg: target}),
                           body=guarded.body, orelse=[])]
    text.tree.body.insert(text.tree.body.index(function), guarded)
    call.args[0] = ast.Name(guarded.name)
    _replace(text, node, chain)
    return True


@_rule("same")
def _split_apply(text, rng):
    """A function of vertices as two, applied one after the other. The second reads no variable of
    the first, and no word that the first changes at another vertex."""
    found = []
    for block in text.blocks():
        for place, node in enumerate(block):
            applied = _applied(node)
            if applied is None or _is_label(block[place - 1]):
                continue
            function = text.functions[applied[1]]
            own = _own(function)[0]
            for cut in range(1, len(function.body)):
                first, second = function.body[:cut], function.body[cut:]
                local = {part.id for part in ast.walk(ast.Module(first, []))
                         if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
                plain = all(isinstance(part.slice, ast.Name) and part.slice.id == own
                            for part in ast.walk(function) if isinstance(part, ast.Subscript))
                if plain and not local & _names(*second):
                    found.append((block, place, applied[0], function, cut))
    chosen = _pick(rng, found)
    if chosen is None:
        return False
    block, place, name, function, cut = chosen
    calls = []
    for part in (function.body[:cut], function.body[cut:]):
        piece = copy.deepcopy(function)
        piece.name, piece.body = text.fresh("piece"), copy.deepcopy(part)
        text.tree.body.insert(text.tree.body.index(function), piece)
        calls.append(_statement(f"{name}.apply({piece.name})"))
    place = block.index(next(node for node in block if _applied(node) == (name, function.name)))
    block[place:place + 1] = calls
    return True


@_rule("same")
def _filter_for_guard(text, rng):
    """``t = s.where(f)``, ``t.apply(g)`` for a function with one condition, which cannot fail."""
    found = []
    for block in text.blocks():
        for place, node in enumerate(block):
            applied = _applied(node)
            function = applied and text.functions[applied[1]]
            match function and function.body:
                case [ast.If(test=test, orelse=[])] if _safe(test, _own(function)) \
                        and not _is_label(block[place - 1]) and all(
                            isinstance(part.slice, ast.Name) and part.slice.id == _own(function)[0]
                            for part in ast.walk(function) if isinstance(part, ast.Subscript)):
                    found.append((block, place, applied[0], function))
    chosen = _pick(rng, found)
    if chosen is None:
        return False
    block, place, name, function = chosen
    names = text.fresh("test"), text.fresh("inner")
    for called, body in zip(names, ([ast.Return(value=function.body[0].test)],
                                    function.body[0].body), strict=True):
        part = copy.deepcopy(function)
        part.name, part.body = called, copy.deepcopy(body)
        text.tree.body.insert(text.tree.body.index(function), part)
    some = text.fresh("some")
    place = block.index(next(node for node in block if _applied(node) == (name, function.name)))
    block[place:place + 1] = [_statement(f"{some} = {name}.where({names[0]})"),
                              _statement(f"{some}.apply({names[1]})")]
    return True


@_rule("same")
def _transpose_twice(text, rng):
    """The edges with their ends exchanged, twice."""
    node = _pick(rng, (node for statement in text.host() for node in ast.walk(statement)
                       if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
                       and node.value.id == text.tree.args.args[0].arg
                       and node.attr in ("from_", "to", "apply", "apply_modified")))
    if node is None:
        return False
    node.value = _expression(f"{node.value.id}.transpose().transpose()")
    return True


@_rule("same")
def _length_of_set(text, rng):
    """``while len(s) > 0`` for ``while s``."""
    node = _pick(rng, (node for block in text.blocks() for node in block
                       if isinstance(node, ast.While) and isinstance(node.test, ast.Name)))
    if node is None:
        return False
    node.test = _expression(rng.choice(["len({})>0", "len({})!=0", "0<len({})", "len({})>=1",
                                        "not len({})==0"]).format(node.test.id))
    return True


@_rule("same")
def _queue_for_set(text, rng):
    """A queue without delta for the set of a loop that lowers a vector."""
    for place, node in enumerate(text.tree.body):
        match node:
            case ast.While(test=ast.Name(id=name), body=[*labels, ast.Assign(
                    targets=[ast.Name(id=same)], value=ast.Call(
                        func=ast.Attribute(attr="apply_modified"),
                        args=[ast.Name(id=function), ast.Name(id=vector)])) as step]) \
                    if name == same and all(map(_is_label, labels)):
                pass
            case _:
                continue
        reads = ast.unparse(step.value.func.value) == f"edges.from_({name})"
        lowers = f"{vector}[dst].min(" in ast.unparse(text.functions[function])
        start = next((each for each in text.tree.body[:place] if ast.unparse(each).startswith(
            f"{name} = vertexset(")), None)
        uint = ast.unparse(text.vectors[vector]).startswith(f"{vector} = vector(uint")
        if not (reads and lowers and uint and start is not None):
            continue
        near = text.fresh("near")
        text.tree.body[text.tree.body.index(start)] = _statement(
            ast.unparse(start).replace("vertexset(", f"PriorityQueue({vector}, "))
        node.body = [_statement(f"{near} = {name}.dequeue()"), *labels, _statement(
            f"edges.from_({near}).apply_update_priority({function}, {name})")]
        return True
    return False


@_rule("same")
def _number_for_flag(text, rng):
    """``x[v].max(1)`` for ``x[v] |= True``, where nobody reads the flag."""
    found = []
    for name, node in text.vectors.items():
        right = ast.unparse(node.value) == "vector(bool, False)" and name not in text.outputs
        for function in text.functions.values():
            for part in ast.walk(function):
                if not (isinstance(part, ast.Subscript) and _names(part.value) == {name}):
                    continue
                right = right and any(
                    (isinstance(each, ast.AugAssign) and each.target is part
                     and ast.unparse(each.value) == "True")
                    or (isinstance(each, ast.Assign) and each.targets[0] is part
                        and ast.unparse(each.value) == "False") for each in ast.walk(function))
        if right:
            found.append(name)
    name = _pick(rng, found)
    if name is None:
        return False
    text.vectors[name].value = _expression("vector(uint, 0)")
    for function in text.functions.values():
        for block in [function.body, *(node.body for node in ast.walk(function)
                                       if isinstance(node, ast.If))]:
            for place, node in enumerate(block):
                line = ast.unparse(node)
                if isinstance(node, ast.AugAssign) and line.startswith(f"{name}["):
                    block[place] = _statement(f"{ast.unparse(node.target)}.max(1)")
                elif isinstance(node, ast.Assign) and line.startswith(f"{name}["):
                    block[place] = _statement(f"{ast.unparse(node.targets[0])} = 0")
    return True


# Numbers of the host

def _read_between(text, name, nodes):
    """Whether instructions read a number, also by functions that they call."""
    names = _names(*nodes)
    return name in names or any(name in _names(*text.functions[called].body)
                                for called in names & text.functions.keys())


@_rule("same")
def _rotate_counter(text, rng):
    """A counter that a loop increases first is increased last, and starts a step later. Neither the
    condition nor what stands behind the loop reads it."""
    found = []
    for block in text.blocks():
        for place, loop in enumerate(block):
            match loop:
                case ast.While(body=[ast.AugAssign(target=ast.Name(id=name), op=ast.Add(),
                                                   value=ast.Constant(value=int(step)))
                                     as count, *rest]) if rest:
                    pass
                case _:
                    continue
            start = next((node for node in block[:place] if isinstance(node, ast.Assign)
                          and ast.unparse(node.targets[0]) == name
                          and isinstance(node.value, ast.Constant)), None)
            if start is None or name in _names(loop.test) | _stored(*rest) \
                    or _read_between(text, name, block[place + 1:]) or block is not text.tree.body \
                    or _read_between(text, name, block[block.index(start) + 1:place]):
                continue
            found.append((loop, count, start, step))
    chosen = _pick(rng, found)
    if chosen is None:
        return False
    loop, count, start, step = chosen
    loop.body = [*loop.body[1:], count]
    start.value = ast.Constant(start.value.value + step)
    return True


def _plain_rounds(text):
    """(block, place, loop) of ``for`` loops over a number that the loop does not change."""
    for block in text.blocks():
        for place, node in enumerate(block):
            if isinstance(node, ast.For) and not _names(node.iter) & _stored(*node.body):
                yield block, place, node


def _behind_labels(block, place):
    """The place before the labels of a statement."""
    while place and _is_label(block[place - 1]):
        place -= 1
    return place


@_rule("same")
def _while_for_for(text, rng):
    """``i = 0``, ``while i < n``, ``i += 1`` for ``for i in range(n)``."""
    chosen = _pick(rng, _plain_rounds(text))
    if chosen is None:
        return False
    block, place, loop = chosen
    name, count = loop.target.id, loop.iter.args[0]
    block[place] = ast.While(
        test=ast.Compare(left=ast.Name(name), ops=[ast.Lt()], comparators=[count]),
        body=[*loop.body, _statement(f"{name} += 1")], orelse=[])
    block.insert(_behind_labels(block, place), _statement(f"{name} = 0"))
    return True


@_rule("same")
def _count_down(text, rng):
    """A loop of some rounds counts how many are left."""
    chosen = _pick(rng, (each for each in _plain_rounds(text) if not _read_between(
        text, each[2].target.id, each[2].body)))
    if chosen is None:
        return False
    block, place, loop = chosen
    name = text.fresh("rounds_left")
    step = _statement(f"{name} -= 1")
    body = [step, *loop.body] if rng.random() < 0.5 else [*loop.body, step]
    test = rng.choice(["{} > 0", "{} >= 1", "0 < {}"]).format(name)
    block[place] = ast.While(test=_expression(test), body=body, orelse=[])
    block.insert(_behind_labels(block, place),
                 _statement(f"{name} = {ast.unparse(loop.iter.args[0])}"))
    return True


@_rule("same")
def _unused_counter(text, rng):
    """A counter of rounds that nobody reads."""
    found = [(block, place) for block in text.blocks() for place, node in enumerate(block)
             if isinstance(node, ast.While | ast.For)]
    chosen = _pick(rng, found)
    if chosen is None:
        return False
    block, place = chosen
    name = text.fresh("unused")
    body = block[place].body
    body.insert(len(body) if rng.random() < 0.5 else 0, _statement(f"{name} += 1"))
    block.insert(_behind_labels(block, place), _statement(f"{name} = 0"))
    return True


@_rule("same")
def _unused_vector(text, rng):
    """A vector that nobody reads."""
    function = _pick(rng, (function for function in text.functions.values()
                           if not any(isinstance(node, ast.Return) for node in function.body)))
    if function is None:
        return False
    name, own = text.fresh("unread"), _own(function)
    text.add_vector(name, "uint", rng.choice(["0", "7"]))
    function.body.append(_statement(f"{name}[{own[0]}] = 1" if len(own) == 1
                                    else f"{name}[{own[1]}].max({rng.randint(1, 3)})"))
    return True


@_rule("same")
def _unused_number(text, rng):
    """A number of the host that nobody reads, and one that is read once."""
    place = text.tree.body.index(text.host()[0])
    while _is_label(text.tree.body[place]):
        place += 1
    graph = text.tree.args.args[0].arg
    text.tree.body.insert(_behind_labels(text.tree.body, place), _statement(
        f"{text.fresh('size')} = {graph}.num_vertices + {rng.randint(1, 5)}"))
    return True


@_rule("same")
def _reorder_start(text, rng):
    """Neighbouring instructions before the first loop change places, where neither needs the other.
    """
    body = text.tree.body
    found = []
    for place, (one, other) in enumerate(itertools.pairwise(body)):
        simple = all("= vertexset(" in ast.unparse(node) or (
            isinstance(node, ast.Assign) and not text.declares(node)
            and not isinstance(node.value, ast.Call | ast.BinOp)) for node in (one, other))
        if simple and not _stored(one) & (_names(other)) and not _stored(other) & _names(one):
            found.append(place)
    place = _pick(rng, found)
    if place is None:
        return False
    body[place], body[place + 1] = body[place + 1], body[place]
    return True


# More work

@_rule("more")
def _vector_of_vertices(text, rng):
    """A result more, of the vertices to which a function is applied."""
    calls = {applied[1] for block in text.blocks() for node in block if (applied := _applied(node))}
    function = _pick(rng, sorted(calls))
    if function is None:
        return False
    name, function = text.fresh("more"), text.functions[function]
    text.add_vector(name, "uint", "0")
    function.body.append(_statement(f"{name}[{_own(function)[0]}] = 1"))
    return _return(text, name)


@_rule("more")
def _vector_of_edges(text, rng):
    """A result more, of the destinations of edges."""
    function = _pick(rng, (function for function in text.functions.values()
                           if len(_own(function)) == 2))
    if function is None:
        return False
    name = text.fresh("more")
    text.add_vector(name, "uint", "0")
    function.body.append(_statement(f"{name}[{_own(function)[1]}].max(1)"))
    return _return(text, name)


def _return(text, name):
    last = text.tree.body[-1]
    values = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
    last.value = ast.Tuple(elts=[*values, ast.Name(name)], ctx=ast.Load())
    return True


# Another meaning

@_rule("other")
def _sum_for_least(text, rng):
    """``+`` in place of the smallest."""
    found = []
    for function in text.functions.values():
        if len(_own(function)) < 2:
            continue
        for block in [function.body, *(node.body for node in ast.walk(function)
                                       if isinstance(node, ast.If))]:
            for place, node in enumerate(block):
                match node:
                    case ast.Expr(value=ast.Call(func=ast.Attribute(
                            value=ast.Subscript() as target, attr="min"), args=[value])):
                        found.append((block, place, target, value))
    chosen = _pick(rng, found)
    if chosen is None:
        return False
    block, place, target, value = chosen
    block[place] = _statement(f"{ast.unparse(target)} += {ast.unparse(value)}")
    return True


@_rule("other")
def _without_filter(text, rng):
    """A filter of destinations is left out."""
    node = _pick(rng, (node for statement in text.host() for node in ast.walk(statement)
                       if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
                       and node.func.attr == "to"))
    if node is None:
        return False
    _replace(text, node, node.func.value)
    return True


@_rule("other")
def _count_twice(text, rng):
    """A counter whose number functions read counts twice as fast."""
    found = [node for block in text.blocks() for node in block
             if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
             and isinstance(node.value, ast.Constant)
             and any(node.target.id in _names(*function.body)
                     for function in text.functions.values())]
    node = _pick(rng, found)
    if node is None:
        return False
    node.value = ast.Constant(2 * node.value.value)
    return True
