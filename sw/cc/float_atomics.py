"""Arithmetic of floats by atomics, as ``+=`` of an ``_Atomic float``.

Clang makes a loop of it: calculate a new value from the old one, and replace the word if it is
still the old one. Each step rounds, so the last bits of the result depend on the order in which
lanes come. The smallest and the largest do not, nor does a float that is only stored.

From an ``amocas.w`` two values are followed back, through copies, the frame and arithmetic: the one
that it expects, and the one that it writes. If the second comes from the first by an operation that
rounds, it is such a loop. A larger atomic is a call with pointers to its values: there it is enough
that a loop has both the call and an operation that rounds.
"""

import re

from sw.cc.assembly import ARGUMENTS
from sw.cc.flow import ENTRY, EXIT, reached


__all__ = ["rounding_atomic"]


_ROUNDS = re.compile(r"f(?:n?m)?(?:add|sub|mul|div|sqrt)\.s")

#: The same as functions, where the hardware has no floats, each with its words of arguments.
_CALLED = {f"__{name}{kind}f3": words for name in ("add", "sub", "mul", "div")
           for kind, words in (("s", 2), ("d", 4))} | {
    "__extendsfdf2": 1, "__truncdfsf2": 2, "fmaf": 3, "sqrtf": 1, "fma": 6, "sqrt": 2}

_FRAME = re.compile(r"-?\d+\(sp\)")


def rounding_atomic(flow):
    """The first atomic of a function (:class:`sw.cc.flow.AsmFlow`) that writes what it has
    calculated by rounding from what it expects; or None."""
    values = _Values(flow)
    for node in flow.targets:
        for index, line in enumerate(flow.blocks[node].lines):
            if line.name.startswith("amocas.") and values.rounds(
                    node, index, line.operands[1], values.origins(node, index, line.operands[0])):
                return line
            if (line.callee or "").startswith("__atomic_compare_exchange") and \
                    any(_rounding(other) for around in _loop(flow, node)
                        for other in flow.blocks[around].lines):
                return line
    return None


def _loop(flow, node):
    """The blocks on the ways from a block back to it."""
    after = flow.targets | {EXIT: []}
    return {other for other in reached(node, after) - {EXIT} if node in reached(other, after)}


def _rounding(line):
    return line.callee in _CALLED or bool(_ROUNDS.fullmatch(line.name))


def _copied(line):
    """The register, or place in the frame, of which an instruction writes a copy; or None."""
    if line.name == "mv" or _stores_to_frame(line):
        return line.operands[0 if line.name == "sw" else 1]
    return line.operands[1] if line.name == "lw" and _FRAME.fullmatch(line.operands[1]) else None


def _stores_to_frame(line):
    return line.name == "sw" and _FRAME.fullmatch(line.operands[1]) is not None


class _Values:
    """Follows the values of a function back."""

    def __init__(self, flow):
        self._flow = flow
        self._lines = {node: flow.blocks[node].lines for node in flow.targets}

    def _definitions(self, node, index, place):
        """Where the value of a place was written that an instruction finds there: (block, number
        of the instruction), or None for the entry."""
        found, seen, left = set(), set(), [(node, index)]
        while left:
            at, end = left.pop()
            for number in reversed(range(end)):
                line = self._lines[at][number]
                if place in line.written or (
                        _stores_to_frame(line) and line.operands[1] == place):
                    found.add((at, number))
                    break
            else:
                if at == ENTRY:
                    found.add(None)
                for before in self._flow.predecessors[at]:
                    if before not in seen:
                        seen.add(before)
                        left.append((before, len(self._lines[before])))
        return found

    def origins(self, node, index, place):
        """The same, behind copies."""
        found, seen, left = set(), set(), [(node, index, place)]
        while left:
            for definition in self._definitions(*left.pop()):
                source = definition and _copied(self._lines[definition[0]][definition[1]])
                if source is None:
                    found.add(definition)
                elif definition not in seen:
                    seen.add(definition)
                    left.append((*definition, source))
        return found - {None}

    def rounds(self, node, index, place, expected):
        """Whether a value comes from one of the instructions ``expected`` by rounding."""
        seen, left = set(), [(node, index, place, False)]
        while left:
            *at, rounded = left.pop()
            for definition in self.origins(*at):
                if definition in expected:
                    if rounded:
                        return True
                    continue
                line = self._lines[definition[0]][definition[1]]
                also = rounded or _rounding(line)
                if (definition, also) not in seen:
                    seen.add((definition, also))
                    left += [(*definition, name, also) for name in self._operands(line)]
        return False

    @staticmethod
    def _operands(line):
        """What an instruction calculates from; nothing for loads, atomics and other calls."""
        if line.is_call:
            return ARGUMENTS[:_CALLED.get(line.callee, 0)]
        return () if "(" in "".join(line.operands) else line.read
