"""Ranges of the numbers of a fused loop's host.

===========  =================================================================
ranges       test_ranges: of assignments, in any order and as often as MOST_ROUNDS
what holds   test_every_number_is_in_its_range: whatever the host does
words        test_fits: what one signed word holds
===========  =================================================================
"""

import ast
import random
import types

import pytest

from sw.compile.lower.host_actions import HostNumber
from sw.compile.lower.host_ranges import Ranges, fits
from sw.lang import graph_ir as ir
from sw.lang.types import Type
from sw.vm.host import MOST_ROUNDS


LEAST, MOST = -(1 << 63), (1 << 63) - 1
VERTICES = 50


def number(text):
    """The expression of the host that a text means."""

    def read(tree):
        match tree:
            case ast.Constant(value=value):
                return ir.Literal(value=value, type=Type.WHOLE, position=None)
            case ast.Name(id=name):
                return ir.HostName(name=name, type=Type.WHOLE, position=None)
            case ast.BinOp(left=left, op=op, right=right):
                return both({ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}[type(op)], left, right)
            case ast.Call(func=ast.Name(id="len")):
                return ir.SetSize(name="s", position=None)
            case ast.Call(func=ast.Name(id="sum")):
                return ir.VertexSum(input_vset="s", function="f", type=Type.WHOLE, position=None)
            case ast.Call(func=ast.Name(id=name), args=[left, right]):
                return both(name, left, right)
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                return ir.Select(
                    condition=read(test),
                    then=read(then),
                    otherwise=read(otherwise),
                    type=Type.WHOLE,
                    position=None,
                )
            case ast.Compare(left=left, comparators=[right]):
                return both(">", left, right)
        raise AssertionError(text)

    def both(name, left, right):
        return ir.Binary(
            operation=name, left=read(left), right=read(right), type=Type.WHOLE, position=None
        )

    return read(ast.parse(text, mode="eval").body)


def ranges(first, values):
    """The Ranges of numbers with these first values and assignments, pairs of name and text."""
    found = [HostNumber(name, number(text), {}) for name, text in values]
    code = types.SimpleNamespace(numbers=first, actions=lambda kind: found)
    return Ranges(code, types.SimpleNamespace(num_vertices=VERTICES))


#: (first values; assignments; ranges).
RANGES = [
    ({"a": 2}, [("a", "7"), ("a", "4")], {"a": (2, 7)}),
    ({"a": None}, [("a", "7"), ("a", "3 - 1")], {"a": (2, 7)}),
    ({"a": 5}, [("a", "a + 3")], {"a": (5, 5 + 3 * MOST_ROUNDS)}),
    ({"a": 5}, [("a", "a - 2"), ("a", "1")], {"a": (1 - 2 * MOST_ROUNDS, 5)}),
    ({"a": 5}, [("a", "a - 2"), ("a", "a + 3")], {"a": (5 - 2 * MOST_ROUNDS,
                                                        5 + 3 * MOST_ROUNDS)}),
    ({"a": None}, [("a", "a + 1")], {"a": (LEAST, MOST)}),
    ({"a": 2, "b": 0}, [("a", "7"), ("b", "a")], {"b": (0, 7)}),
    ({"a": 2, "b": 0}, [("a", "7"), ("b", "a + a")], {"b": (0, 14)}),
    ({"a": 2, "b": 0}, [("a", "7"), ("b", "a - a")], {"b": (-5, 5)}),
    ({"a": 2, "b": 0}, [("a", "7"), ("b", "3 - a")], {"b": (-4, 1)}),
    ({"a": 2, "b": 5}, [("a", "7"), ("b", "min(a, 4)")], {"b": (2, 5)}),
    ({"a": 2, "b": 5}, [("a", "7"), ("b", "min(9, a)")], {"b": (2, 7)}),
    ({"a": 2, "b": 5}, [("a", "7"), ("b", "max(a, 4)")], {"b": (4, 7)}),
    ({"a": 2, "b": 9}, [("a", "7"), ("b", "max(8, a)")], {"b": (8, 9)}),
    ({"a": 2, "b": 9}, [("a", "7"), ("b", "max(a, a - 5)")], {"b": (2, 9)}),
    ({"a": 2, "b": 0}, [("b", "a if a > b else 9")], {"b": (0, 9)}),
    ({"a": 2, "b": 0}, [("b", "a > b")], {"b": (0, 1)}),
    ({"a": 2}, [("a", "len(s)")], {"a": (0, VERTICES)}),
    ({"a": 2}, [("a", "sum(s)")], {"a": (0, MOST)}),
    ({"a": 2}, [("a", "sum(s) + sum(s)")], {"a": (0, MOST)}),
    ({"a": 2}, [("a", "0 - sum(s) - sum(s)")], {"a": (LEAST, 2)}),
    ({"a": 2, "b": 0}, [("b", "a + b")], {"a": (2, 2), "b": (LEAST, MOST)}),
    # Four numbers in a chain are followed, and no more.
    (dict.fromkeys("abcde", 0), [("a", "4"), ("b", "a + 1"), ("c", "b + 1"), ("d", "c + 1"),
                                 ("e", "d + 1")], {"b": (0, 5), "e": (0, 8)}),
    (dict.fromkeys("abcdef", 0), [("a", "4"), ("b", "a + 1"), ("c", "b + 1"), ("d", "c + 1"),
                                  ("e", "d + 1"), ("f", "e + 1")], {"f": (LEAST, MOST)}),
    ({"a": 0, "b": 0}, [("a", "b"), ("b", "min(a + 1, 1)")], {"a": (0, 1), "b": (0, 1)}),
]


@pytest.mark.parametrize("first, values, expected", RANGES)
def test_ranges(first, values, expected):
    found = ranges(first, values).numbers
    assert {name: found[name] for name in expected} == expected


def _drawn(rng, depth=2):
    if not depth or rng.random() < .2:
        return rng.choice(["a", "b", "c", str(rng.randrange(9)), "len(s)"])
    one, other = _drawn(rng, depth - 1), _drawn(rng, depth - 1)
    return rng.choice([f"({one} + {other})", f"({one} - {other})", f"min({one}, {other})",
                       f"max({one}, {other})", f"({one} if {one} > {other} else {other})"])


def test_every_number_is_in_its_range():
    rng, known = random.Random(3), 0
    for _ in range(300):
        now = {name: rng.randrange(9) for name in "abc"}
        values = [(name, _drawn(rng)) for name in rng.choices("abc", k=rng.randrange(1, 4))]
        found = ranges(dict(now), values).numbers
        known += all(each != (LEAST, MOST) for each in found.values())
        for _ in range(40):
            name, text = rng.choice(values)
            size = rng.choice([0, 7, VERTICES])
            now[name] = eval(text.replace("len(s)", str(size)), dict(now))  # noqa: S307
            assert found[name][0] <= now[name] <= found[name][1], (values, now)
    assert known > 60


def test_fits():
    assert fits((-1 << 31, (1 << 31) - 1))
    assert not fits((-1 << 31, 1 << 31)) and not fits((-(1 << 31) - 1, 0))
