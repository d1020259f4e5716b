"""Rules for numbers of the host, and for what nobody needs."""

import ast
import itertools

from checks.metamorphic.rules.rule import rule
from checks.metamorphic.rules.text import (drawn, is_label, names_in, own_vertices, parsed,
                                           parsed_value, stored_in)


__all__ = ["count_down", "reorder_start", "rotate_counter", "unused_counter", "unused_number",
           "unused_vector", "while_for_for"]


def _read_between(text, name, nodes):
    """Whether instructions read a number, also by functions that they call."""
    names = names_in(*nodes)
    return name in names or any(name in names_in(*text.functions[called].body)
                                for called in names & text.functions.keys())


@rule("same")
def rotate_counter(text, rng):
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
            if start is None or name in names_in(loop.test) | stored_in(*rest) \
                    or _read_between(text, name, block[place + 1:]) or block is not text.tree.body \
                    or _read_between(text, name, block[block.index(start) + 1:place]):
                continue
            found.append((loop, count, start, step))
    chosen = drawn(rng, found)
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
            if isinstance(node, ast.For) and not names_in(node.iter) & stored_in(*node.body):
                yield block, place, node


def _behind_labels(block, place):
    """The place before the labels of a statement."""
    while place and is_label(block[place - 1]):
        place -= 1
    return place


@rule("same")
def while_for_for(text, rng):
    """``i = 0``, ``while i < n``, ``i += 1`` for ``for i in range(n)``."""
    chosen = drawn(rng, _plain_rounds(text))
    if chosen is None:
        return False
    block, place, loop = chosen
    name, count = loop.target.id, loop.iter.args[0]
    block[place] = ast.While(
        test=ast.Compare(left=ast.Name(name), ops=[ast.Lt()], comparators=[count]),
        body=[*loop.body, parsed(f"{name} += 1")], orelse=[])
    block.insert(_behind_labels(block, place), parsed(f"{name} = 0"))
    return True


@rule("same")
def count_down(text, rng):
    """A loop of some rounds counts how many are left."""
    chosen = drawn(rng, (each for each in _plain_rounds(text) if not _read_between(
        text, each[2].target.id, each[2].body)))
    if chosen is None:
        return False
    block, place, loop = chosen
    name = text.fresh("rounds_left")
    step = parsed(f"{name} -= 1")
    body = [step, *loop.body] if rng.random() < 0.5 else [*loop.body, step]
    test = rng.choice(["{} > 0", "{} >= 1", "0 < {}"]).format(name)
    block[place] = ast.While(test=parsed_value(test), body=body, orelse=[])
    block.insert(_behind_labels(block, place),
                 parsed(f"{name} = {ast.unparse(loop.iter.args[0])}"))
    return True


@rule("same")
def unused_counter(text, rng):
    """A counter of rounds that nobody reads."""
    found = [(block, place) for block in text.blocks() for place, node in enumerate(block)
             if isinstance(node, ast.While | ast.For)]
    chosen = drawn(rng, found)
    if chosen is None:
        return False
    block, place = chosen
    name = text.fresh("unused")
    body = block[place].body
    body.insert(len(body) if rng.random() < 0.5 else 0, parsed(f"{name} += 1"))
    block.insert(_behind_labels(block, place), parsed(f"{name} = 0"))
    return True


@rule("same")
def unused_vector(text, rng):
    """A vector that nobody reads."""
    function = drawn(rng, (function for function in text.functions.values()
                           if not any(isinstance(node, ast.Return) for node in function.body)))
    if function is None:
        return False
    name, own = text.fresh("unread"), own_vertices(function)
    text.add_vector(name, "uint", rng.choice(["0", "7"]))
    function.body.append(parsed(f"{name}[{own[0]}] = 1" if len(own) == 1
                                    else f"{name}[{own[1]}].max({rng.randint(1, 3)})"))
    return True


@rule("same")
def unused_number(text, rng):
    """A number of the host that nobody reads, and one that is read once."""
    place = text.tree.body.index(text.host()[0])
    while is_label(text.tree.body[place]):
        place += 1
    graph = text.tree.args.args[0].arg
    text.tree.body.insert(_behind_labels(text.tree.body, place), parsed(
        f"{text.fresh('size')} = {graph}.num_vertices + {rng.randint(1, 5)}"))
    return True


@rule("same")
def reorder_start(text, rng):
    """Neighbouring instructions before the first loop change places, where neither needs the other.
    """
    body = text.tree.body
    found = []
    for place, (one, other) in enumerate(itertools.pairwise(body)):
        simple = all("= vertexset(" in ast.unparse(node) or (
            isinstance(node, ast.Assign) and not text.declares(node)
            and not isinstance(node.value, ast.Call | ast.BinOp)) for node in (one, other))
        if simple and not stored_in(one) & names_in(other) \
                and not stored_in(other) & names_in(one):
            found.append(place)
    place = drawn(rng, found)
    if place is None:
        return False
    body[place], body[place + 1] = body[place + 1], body[place]
    return True
