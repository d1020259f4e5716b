"""Rules for sets and the operators over them."""

import ast
import copy

from checks.metamorphic.rules.rule import rule
from checks.metamorphic.rules.text import (application, cannot_fail, drawn, is_label, names_in,
                                           own_vertices, parsed, parsed_value, put_in_place,
                                           with_names)


__all__ = ["alias", "filter_for_guard", "guard_for_filter", "length_of_set", "move",
           "number_for_flag", "queue_for_set", "split_apply", "split_filter", "transpose_twice"]


def _assigned_sets(text):
    """(block, place, name, chain) of the operators that make a set."""
    for block in text.blocks():
        for place, node in enumerate(block):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)],
                                value=ast.Call(func=ast.Attribute(
                                    attr="apply_modified" | "where"))):
                    yield block, place, name, node


def _is_own(function):
    """Whether a function is one of vertices, and names words of its own vertex only."""
    own = own_vertices(function)
    return len(own) == 1 and all(
        isinstance(part.slice, ast.Name) and part.slice.id == own[0]
        for part in ast.walk(function) if isinstance(part, ast.Subscript))


@rule("same")
def alias(text, rng):
    """The next function is applied to a set by another name."""
    found = [(block, place, name) for block, place, name, _ in _assigned_sets(text)
             if place + 1 < len(block) and (application(block[place + 1]) or ("",))[0] == name]
    chosen = drawn(rng, found)
    if chosen is None:
        return False
    block, place, name = chosen
    other = text.fresh("same")
    block.insert(place + 1, parsed(f"{other} = {name}"))
    block[place + 2] = with_names(block[place + 2], {name: other})
    return True


@rule("same")
def move(text, rng):
    """A result has a name of its own before it gets the right one."""
    chosen = drawn(rng, _assigned_sets(text))
    if chosen is None:
        return False
    block, place, name, node = chosen
    other = text.fresh("next")
    node.targets[0].id = other
    last = place + 1
    if last < len(block) and (application(block[last]) or ("",))[0] == name and rng.random() < 0.7:
        block[last] = with_names(block[last], {name: other})
        last += 1
    block.insert(last, parsed(f"{name} = {other}"))
    return True


@rule("same")
def split_filter(text, rng):
    """``s.where(f)`` with ``return a and b`` as two filters."""
    found = []
    for block, place, name, node in _assigned_sets(text):
        if node.value.func.attr != "where":
            continue
        function = text.functions.get(node.value.args[0].id)
        match function and function.body:
            case [ast.Return(value=ast.BoolOp(op=ast.And()))]:
                found.append((block, place, name, node, function))
    chosen = drawn(rng, found)
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
        parsed(f"{between} = {ast.unparse(whole)}.where({names[0]})"),
        parsed(f"{name} = {between}.where({names[1]})")]
    return True


@rule("same")
def guard_for_filter(text, rng):
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
                            case [ast.Return(value=value)] \
                                    if cannot_fail(value, own_vertices(test)):
                                found.append((statement, node, chain, test, value))
    chosen = drawn(rng, found)
    if chosen is None:
        return False
    statement, node, chain, test, value = chosen
    call = statement.value
    function = text.functions[call.args[0].id]
    target = function.args.args[1].arg
    guarded = copy.deepcopy(function)
    guarded.name = text.fresh("guarded")
    guarded.body = [ast.If(test=with_names(value, {test.args.args[0].arg: target}),
                           body=guarded.body, orelse=[])]
    text.tree.body.insert(text.tree.body.index(function), guarded)
    call.args[0] = ast.Name(guarded.name)
    put_in_place(text, node, chain)
    return True


@rule("same")
def split_apply(text, rng):
    """A function of vertices as two, applied one after the other. The second reads no variable of
    the first, and no word that the first changes at another vertex."""
    found = []
    for block in text.blocks():
        for place, node in enumerate(block):
            applied = application(node)
            if applied is None or is_label(block[place - 1]):
                continue
            function = text.functions[applied[1]]
            for cut in range(1, len(function.body)):
                first, second = function.body[:cut], function.body[cut:]
                local = {part.id for part in ast.walk(ast.Module(first, []))
                         if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
                if _is_own(function) and not local & names_in(*second):
                    found.append((block, place, applied[0], function, cut))
    chosen = drawn(rng, found)
    if chosen is None:
        return False
    block, place, name, function, cut = chosen
    calls = []
    for part in (function.body[:cut], function.body[cut:]):
        piece = copy.deepcopy(function)
        piece.name, piece.body = text.fresh("piece"), copy.deepcopy(part)
        text.tree.body.insert(text.tree.body.index(function), piece)
        calls.append(parsed(f"{name}.apply({piece.name})"))
    place = block.index(next(node for node in block if application(node) == (name, function.name)))
    block[place:place + 1] = calls
    return True


@rule("same")
def filter_for_guard(text, rng):
    """``t = s.where(f)``, ``t.apply(g)`` for a function with one condition, which cannot fail."""
    found = []
    for block in text.blocks():
        for place, node in enumerate(block):
            applied = application(node)
            function = applied and text.functions[applied[1]]
            match function and function.body:
                case [ast.If(test=test, orelse=[])] if cannot_fail(test, own_vertices(function)) \
                        and not is_label(block[place - 1]) and _is_own(function):
                    found.append((block, place, applied[0], function))
    chosen = drawn(rng, found)
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
    place = block.index(next(node for node in block if application(node) == (name, function.name)))
    block[place:place + 1] = [parsed(f"{some} = {name}.where({names[0]})"),
                              parsed(f"{some}.apply({names[1]})")]
    return True


@rule("same")
def transpose_twice(text, rng):
    """The edges with their ends exchanged, twice."""
    node = drawn(rng, (node for statement in text.host() for node in ast.walk(statement)
                       if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
                       and node.value.id == text.tree.args.args[0].arg
                       and node.attr in ("from_", "to", "apply", "apply_modified")))
    if node is None:
        return False
    node.value = parsed_value(f"{node.value.id}.transpose().transpose()")
    return True


@rule("same")
def length_of_set(text, rng):
    """``while len(s) > 0`` for ``while s``."""
    node = drawn(rng, (node for block in text.blocks() for node in block
                       if isinstance(node, ast.While) and isinstance(node.test, ast.Name)))
    if node is None:
        return False
    node.test = parsed_value(rng.choice(["len({})>0", "len({})!=0", "0<len({})", "len({})>=1",
                                        "not len({})==0"]).format(node.test.id))
    return True


@rule("same")
def queue_for_set(text, rng):
    """A queue without delta for the set of a loop that lowers a vector."""
    for place, node in enumerate(text.tree.body):
        match node:
            case ast.While(test=ast.Name(id=name), body=[*labels, ast.Assign(
                    targets=[ast.Name(id=same)], value=ast.Call(
                        func=ast.Attribute(attr="apply_modified"),
                        args=[ast.Name(id=function), ast.Name(id=vector)])) as step]) \
                    if name == same and all(map(is_label, labels)):
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
        text.tree.body[text.tree.body.index(start)] = parsed(
            ast.unparse(start).replace("vertexset(", f"PriorityQueue({vector}, "))
        node.body = [parsed(f"{near} = {name}.dequeue()"), *labels, parsed(
            f"edges.from_({near}).apply_update_priority({function}, {name})")]
        return True
    return False


@rule("same")
def number_for_flag(text, rng):
    """``x[v].max(1)`` for ``x[v] |= True``, where nobody reads the flag."""
    found = []
    for name, node in text.vectors.items():
        right = ast.unparse(node.value) == "vector(bool, False)" and name not in text.outputs
        for function in text.functions.values():
            for part in ast.walk(function):
                if not (isinstance(part, ast.Subscript) and names_in(part.value) == {name}):
                    continue
                right = right and any(
                    (isinstance(each, ast.AugAssign) and each.target is part
                     and ast.unparse(each.value) == "True")
                    or (isinstance(each, ast.Assign) and each.targets[0] is part
                        and ast.unparse(each.value) == "False") for each in ast.walk(function))
        if right:
            found.append(name)
    name = drawn(rng, found)
    if name is None:
        return False
    text.vectors[name].value = parsed_value("vector(uint, 0)")
    for function in text.functions.values():
        for block in [function.body, *(node.body for node in ast.walk(function)
                                       if isinstance(node, ast.If))]:
            for place, node in enumerate(block):
                line = ast.unparse(node)
                if isinstance(node, ast.AugAssign) and line.startswith(f"{name}["):
                    block[place] = parsed(f"{ast.unparse(node.target)}.max(1)")
                elif isinstance(node, ast.Assign) and line.startswith(f"{name}["):
                    block[place] = parsed(f"{ast.unparse(node.targets[0])} = 0")
    return True
