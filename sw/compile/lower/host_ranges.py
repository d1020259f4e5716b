"""Which numbers of the host stay within a word while the device computes them."""

from __future__ import annotations

from typing import Any

from sw.compile.lower.host_actions import HostNumber
from sw.lang import graph_ir as ir
from sw.vm.host import MOST_ROUNDS


__all__ = ["Ranges", "fits"]


#: Limits of the numbers that a host of the device has.
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1

#: Rounds in which ranges may still grow.
_TRIES = 5


def fits(found) -> bool:
    """Whether all numbers of a range fit in a signed word."""
    low, high = found
    return low >= -(1 << 31) and high < 1 << 31


class Ranges:
    """The ranges of the numbers of a HostCode, as pairs of the least and the largest number.

    Attributes
    ----------
    numbers : dict of str to pair
    """

    def __init__(self, code, graph):
        self._vertices = graph.num_vertices
        values: dict[str, list[Any]] = {name: [] for name in code.numbers}
        for action in code.actions(HostNumber):
            values[action.name].append(action.value)
        self.numbers: dict[str, Any] = dict.fromkeys(values)
        counters = {name: _counted(name, found, code.numbers[name])
                    for name, found in values.items()}
        for name, found in counters.items():
            self.numbers[name] = found or (_LEAST, _MOST)
        self._narrow({name: found for name, found in values.items() if counters[name] is None},
                     code.numbers)

    def _narrow(self, values, first):
        """Find the ranges of numbers that are no counters, if these do not grow."""
        guesses = {name: None if first[name] is None else (int(first[name]), int(first[name]))
                   for name in values}
        whole = {name: self.numbers[name] for name in values}
        for _ in range(_TRIES):
            self.numbers |= guesses
            found = {name: _joined(guesses[name], *map(self.of, values[name])) for name in values}
            if found == guesses and None not in found.values():
                return
            guesses = found
        self.numbers |= whole

    def of(self, node) -> Any:
        """The range of an expression; None while nothing is known of a number in it."""
        match node:
            case ir.Literal():
                return int(node.value), int(node.value)
            case ir.HostName():
                return self.numbers[node.name]
            case ir.SetSize():
                return 0, self._vertices
            case ir.VertexSum():
                return 0, _MOST
            case ir.Select():
                return _joined(self.of(node.then), self.of(node.otherwise))
            case ir.Binary(operation="+" | "-" | "min" | "max" as way):
                both = self.of(node.left), self.of(node.right)
                return None if None in both else _combined(way, *both)
        return 0, 1


def _counted(name, values, first):
    """The range of a number that only gets constants, or grows and falls by constants."""
    constants, up, down = [] if first is None else [int(first)], 0, 0
    for value in values:
        match value:
            case ir.Literal():
                constants.append(int(value.value))
            case ir.Binary(operation="+" | "-" as way, left=ir.HostName(name=own),
                           right=ir.Literal(value=step)) if own == name:
                step = step if way == "+" else -step
                up, down = up + max(step, 0), down + max(-step, 0)
            case _:
                return None
    if not constants:
        return None
    return min(constants) - down * MOST_ROUNDS, max(constants) + up * MOST_ROUNDS


def _joined(*ranges):
    ranges = [each for each in ranges if each is not None]
    return (min(low for low, _ in ranges), max(high for _, high in ranges)) if ranges else None


def _combined(way, one, other):
    """The range of a sum, a difference, a minimum or a maximum."""
    match way:
        case "+":
            low, high = one[0] + other[0], one[1] + other[1]
        case "-":
            low, high = one[0] - other[1], one[1] - other[0]
        case "min":
            low, high = min(one[0], other[0]), min(one[1], other[1])
        case _:
            low, high = max(one[0], other[0]), max(one[1], other[1])
    return max(low, _LEAST), min(high, _MOST)
