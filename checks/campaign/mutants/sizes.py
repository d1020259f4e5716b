"""Sizes in RTL: the width of a signal or of a field, the end of a range, the depth of a memory.

A change that makes a size larger is hardly ever a fault: a wider signal or field has zeros above,
and further rows of a memory are never read. :func:`only_larger` says whether a change does nothing
else. It tries several values for what it does not know. The changes that make a size smaller
remain. A number that goes round by its width is an exception, which the rule does not know: faults
of that kind are for the curated list.
"""

import ast
import operator


__all__ = ["begins", "only_larger"]


#: Constructors with sizes, and helpers of that name: places of the arguments, and keywords.
_SIZED = {
    "Signal": ((0,), ("shape",)), "signal": ((0,), ()), "In": ((0,), ()),
    "Out": ((0,), ()), "unsigned": ((0,), ()), "signed": ((0,), ()),
    "StructLayout": ((0,), ()), "ArrayLayout": ((0, 1), ()),
    "Memory": ((), ("shape", "depth")),
}

#: Functions of sizes whose result grows with each argument.
_GROWING = {
    "range": lambda *ends: ends[min(1, len(ends) - 1)], "min": min, "max": max,
    "index_bits": int.bit_length, "ceil_log2": int.bit_length, "bits_for": int.bit_length,
}

_ARITHMETIC = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}

#: Values of what is not known, in turn. All sizes of the hardware lie in this range.
_VALUES = (4, 8, 2, 16, 1, 32)


def _called(node):
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def begins(node):
    """The sizes that a call has as its arguments, as nodes."""
    if not isinstance(node, ast.Call) or _called(node) not in _SIZED:
        return
    places, words = _SIZED[_called(node)]
    for argument in (*(node.args[place] for place in places if place < len(node.args)),
                     *(word.value for word in node.keywords if word.arg in words)):
        for size in argument.values if isinstance(argument, ast.Dict) else (argument,):
            yield from (size.body, size.orelse) if isinstance(size, ast.IfExp) else (size,)


def only_larger(size, changed) -> bool:
    """Whether a size is at least as large after a change, whatever the values of its names."""
    names = list(dict.fromkeys((*_names(size), *_names(changed))))
    try:
        for turn in range(len(_VALUES)):
            values = {name: _VALUES[(turn + index) % len(_VALUES)]
                      for index, name in enumerate(names)}
            if _value(changed, values) < _value(size, values):
                return False
    except (ValueError, ZeroDivisionError):  # such as a shift by less than nothing
        return False
    return True


def _parts(node):
    """The operands of a node that is understood, else None."""
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return node.left, node.right
    if isinstance(node, ast.Call) and _called(node) in _GROWING and node.args and (
            len(node.args) > 1 or _called(node) not in ("min", "max")):
        return node.args
    return None


def _names(node):
    """What is not known in a size, as text."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return
    parts = _parts(node)
    if parts is None:
        yield ast.dump(node)
    else:
        for part in parts:
            yield from _names(part)


def _value(node, values):
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    parts = _parts(node)
    if parts is None:
        return values[ast.dump(node)]
    found = [_value(part, values) for part in parts]
    if isinstance(node, ast.BinOp):
        return _ARITHMETIC[type(node.op)](*found)
    return _GROWING[_called(node)](*found)
