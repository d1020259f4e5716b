"""Numbers of the host that a loop counts: where they are counted, and loops of a number of rounds.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.passes.normal.effects import is_plain, live_names, plain_names, reads_of, used_names
from sw.lang.passes.normal.functions import replaced
from sw.lang.passes.rewrite import changed_blocks
from sw.lang.types import Type
from sw.lang.uses import assigned, calls


__all__ = ["counted_first", "counted_loops", "counted_once"]


def _number(value, position):
    return ir.Literal(value=value, type=Type.WHOLE, position=position)


def _shifted(node, step):
    """A number of the host plus a constant."""
    return ir.Binary(operation="+", left=node, right=_number(step, node.position), type=Type.WHOLE,
                     position=node.position)


def _step(node, plain):
    """The constant by which an instruction increases a number of the host; None for any other."""
    match node:
        case ir.Assign(name=name, value=ir.Binary(
                operation="+" | "-" as operation, left=ir.HostName(name=left, type=Type.WHOLE),
                right=ir.Literal(value=step, type=Type.WHOLE))) \
                if left == name and name in plain and step:
            return step if operation == "+" else -step
    return None


def _counters(loop, plain) -> Iterator[tuple[int, Any, Any]]:
    """The places, in a loop's body, of counters: numbers that each round increases by a constant,
    and that nothing else in the loop changes."""
    for place, node in enumerate(loop.body):
        step = _step(node, plain)
        others = assigned(*loop.body[:place], *loop.body[place + 1:])
        if step is not None and node.name not in others | {getattr(loop, "name", None)}:
            yield place, node, step


def _reads(program, nodes, name):
    """Whether instructions read a number, those in them included."""
    return any(name in reads_of(program, part) for part in ir.instructions(nodes))


def _with_value(value, name, other):
    """An expression of the host with another one in place of a number."""
    def change(part):
        return other if isinstance(part, ir.HostName) and part.name == name else None

    return replaced(value, change)


def _start(program, body, place, name):
    """The place of the assignment that gives a number its value before an instruction of a block,
    if nothing reads the number between the two; else None."""
    for number in range(place - 1, -1, -1):
        node = body[number]
        if name in assigned(node):
            right = isinstance(node, ir.Assign) and node.value.type is Type.WHOLE
            return number if right else None
        if _reads(program, (node,), name):
            return None
    return None


def counted_first(program):
    """Counters are increased at the start of a round.

    A counter that nothing in the round reads before is moved there. One that nothing reads behind
    begins a step earlier, which the loop's condition takes into account, and which is made good
    behind the loop."""
    plain, live = plain_names(program), live_names(program)

    def block(body):
        for place, loop in enumerate(body):
            if not isinstance(loop, ir.WhileLoop | ir.ForLoop):
                continue
            for number, count, step in _counters(loop, plain):
                before, behind = loop.body[:number], loop.body[number + 1:]
                if all(_step(node, plain) for node in before):
                    continue
                moved = (count, *before, *behind)
                if not _reads(program, before, count.name):
                    return (*body[:place], dataclasses.replace(loop, body=moved),
                            *body[place + 1:])
                if id(loop) in live and not _reads(program, behind, count.name):
                    return _rotated(program, body, place, count, step, moved,
                                    count.name in live[id(loop)])
        return body

    return changed_blocks(program, block)


def _rotated(program, body, place, count, step, moved, is_live):
    """The block with a loop whose counter begins a step earlier."""
    loop, name = body[place], count.name
    this = ir.HostName(name=name, type=Type.WHOLE, position=count.position)
    first = _start(program, body, place, name)
    before = list(body[:place])
    if first is None:
        before.append(dataclasses.replace(count, value=_shifted(this, -step)))
    else:
        before[first] = dataclasses.replace(
            before[first], value=_shifted(before[first].value, -step))
    changes: dict = {"body": moved}
    if isinstance(loop, ir.WhileLoop):
        changes["condition"] = _with_value(loop.condition, name, _shifted(this, step))
    behind = (dataclasses.replace(count, value=_shifted(this, step)),) if is_live else ()
    return (*before, dataclasses.replace(loop, **changes), *behind, *body[place + 1:])


def counted_loops(program):
    """A loop that ends by its counter is one of a number of rounds. The number of rounds is known
    when the loop begins, and nothing reads the counter behind the loop. The counter goes if only
    the condition reads it, or if it counts from 0 as the new loop does."""
    plain, live = plain_names(program), live_names(program)

    def block(body):
        for place, loop in enumerate(body):
            if not isinstance(loop, ir.WhileLoop) or id(loop) not in live:
                continue
            for number, count, step in _counters(loop, plain):
                found = _counted(program, plain, body, place, (number, count, step))
                if found is not None and count.name not in live[id(loop)]:
                    return (*body[:place], found, *body[place + 1:])
        return body

    return changed_blocks(program, block)


def _counted(program, plain, body, place, counter):
    """The loop of a number of rounds, or None."""
    loop, (number, count, step) = body[place], counter
    first = _start(program, body, place, count.name)
    left = _rounds_left(loop.condition, count.name)
    if first is None or left is None or left[0] * step >= 0 \
            or (used_names(loop.condition) - {count.name}) & (
                assigned(loop) | assigned(*body[first + 1:place])) \
            or any(isinstance(part, ir.VertexSum) for part in ir.walk(loop.condition)):
        return None
    start = body[first].value
    if not is_plain(start, plain) or used_names(start) & assigned(*body[first:place], loop) \
            or any(isinstance(part, ir.VertexSum) for part in ir.walk(start)):
        return None
    # A limit that may be infinity is compared, and must not be computed with.
    if not all(is_plain(part, plain) for part in left[2]) and not (
            start == _number(0, start.position) and left == (-1, 0, left[2], [1])
            and step == 1):
        return None
    rounds = _sum(left, start, abs(step), loop.position)
    inner = loop.body[:number] + loop.body[number + 1:]
    reads_count = _reads(program, inner, count.name)
    name = count.name
    if reads_count:
        counts_rounds = step == 1 and isinstance(start, ir.Literal) and (
            (start.value == 0 and not _reads(program, loop.body[number + 1:], name))
            or (start.value == -1 and not _reads(program, loop.body[:number], name)))
        if not counts_rounds:
            inner, name = loop.body, f"{name}_round"
            while name in assigned(*program.body):
                name += "_"
    return ir.ForLoop(name=name, count=rounds, body=inner, label=loop.label,
                      metadata=loop.metadata, position=loop.position)


def _rounds_left(condition, name):
    """A condition as "this is above 0": the sign of the counter in it, a constant, and the terms
    that are added and those that are subtracted; None for any other condition."""
    match condition:
        case ir.Binary(operation="<" | ">" | ">=" | "<=" as operation, left=left, right=right) \
                if left.type is right.type is Type.WHOLE:
            pass
        case _:
            return None
    if operation in ("<", "<="):
        left, right = right, left
    constant = int(operation in (">=", "<="))
    found = _terms(left, 1) + _terms(right, -1)
    signs = [sign for sign, term in found if isinstance(term, ir.HostName) and term.name == name]
    others = [(sign, term) for sign, term in found
              if not (isinstance(term, ir.HostName) and term.name == name)]
    if len(signs) != 1 or any(name in used_names(term) for _, term in others):
        return None
    return signs[0], constant, [term for _, term in others], [sign for sign, _ in others]


def _terms(node, sign):
    match node:
        case ir.Binary(operation="+" | "-" as operation):
            return _terms(node.left, sign) + _terms(node.right,
                                                    sign if operation == "+" else -sign)
    return [(sign, node)]


def _sum(left, start, step, position):
    """The number of rounds: the terms of the condition, with the start in place of the counter."""
    sign, constant, terms, signs = left
    found: ir.Node = _number(constant, position)
    for part, positive in [*zip(terms, signs), (start, sign)]:
        if isinstance(found, ir.Literal) and found.value == 0 and positive > 0:
            found = part
        elif not (isinstance(part, ir.Literal) and part.value == 0):
            found = ir.Binary(operation="+" if positive > 0 else "-", left=found, right=part,
                              type=Type.WHOLE, position=position)
    if step == 1:
        return found
    return ir.Binary(operation="//", left=_shifted(found, step - 1), right=_number(step, position),
                     type=Type.WHOLE, position=position)


def counted_once(program):
    """A counter of a loop that numbers its rounds, from a constant in constant steps, is the number
    of the round. Nothing outside of the loop reads the counter, also by a function."""
    plain, live = plain_names(program), live_names(program)

    def block(body):
        for place, loop in enumerate(body):
            if not isinstance(loop, ir.ForLoop) or id(loop) not in live:
                continue
            for number, count, step in _counters(loop, plain):
                first = _start(program, body, place, count.name)
                start = None if first is None else body[first].value
                early = _reads(program, loop.body[:number], count.name)
                if isinstance(start, ir.Literal) and step == 1 \
                        and count.name not in live[id(loop)] \
                        and not (early and _reads(program, loop.body[number + 1:], count.name)) \
                        and not _reads_by_function(program, loop, count.name):
                    return (*body[:place], _with_round(loop, number, start.value + (not early)),
                            *body[place + 1:])
        return body

    return changed_blocks(program, block)


def _reads_by_function(program, loop, name):
    return any(name in used_names(part) for node in ir.instructions((loop,))
               for function in calls(node) for part in program.function(function).body)


def _with_round(loop, number, shift):
    """A loop without a counter, whose number in a round is that of the round, shifted."""
    count = loop.body[number]
    this = ir.HostName(name=loop.name, type=Type.WHOLE, position=count.position)
    value = _shifted(this, shift) if shift else this
    return dataclasses.replace(loop, body=tuple(
        _with_value(node, count.name, value)
        for node in loop.body[:number] + loop.body[number + 1:]))

