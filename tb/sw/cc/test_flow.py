"""Blocks, post-dominators and loops of a function.

========================  ========================================================================
dominators                test_dominators: against networkx, on random graphs
blocks                    test_blocks: where lanes meet; test_a_loop_without_an_end
jumps                     test_refused
========================  ========================================================================
"""

import random

import networkx
import pytest

from base.errors import UserError
from sw.cc.assembly import read_unit
from sw.cc.flow import EXIT, AsmFlow, immediate_dominators


def flow(text):
    """The flow of a function ``f`` with this text."""
    unit = read_unit("\t.type\tf,@function\nf:\n" + text + "\t.size\tf, .-f\n", "f.c")
    return AsmFlow(unit.functions[0])


def test_dominators():
    draw = random.Random(1)
    for _ in range(200):
        size = draw.randrange(1, 12)
        successors = {node: [draw.randrange(size) for _ in range(draw.randrange(4))]
                      for node in range(size)}
        there = {0, *networkx.descendants(networkx.DiGraph(successors), 0)}
        successors = {node: following for node, following in successors.items() if node in there}
        expected = networkx.immediate_dominators(networkx.DiGraph(successors), 0)
        assert immediate_dominators(successors, 0) == {
            node: above for node, above in expected.items() if node != 0}


def test_blocks():
    """A loop with a condition in it."""
    found = flow("\tli\ta1, 0\n.L1:\n\tbeqz\ta0, .L2\n\taddi\ta1, a1, 1\n.L2:\n"
                 "\taddi\ta0, a0, -1\n\tbgtz\ta0, .L1\n\tret\n")
    assert found.targets == {0: [1], 1: [2], 2: [4, 3], 3: [4], 4: [2, 5], 5: [EXIT]}
    assert found.predecessors[4] == [2, 3]
    assert found.meets == {0: 1, 1: 2, 2: 4, 3: 4, 4: 5, 5: EXIT}
    assert found.region(2) == {3} and found.region(4) == {2, 3, 4}
    assert found.loops[4].header == 2 and found.loops[4].body == {2, 3, 4}
    assert set(found.loops) == {4} and found.branches == [2, 4]


def test_a_loop_without_an_end():
    """A way to the exit is added, so that the branch has a place where its lanes meet."""
    found = flow("\tbeqz\ta0, .L2\n.L1:\n\taddi\ta0, a0, 1\n\tj\t.L1\n.L2:\n\tret\n")
    assert found.meets[1] == EXIT and EXIT in found.successors[2]
    assert found.loops == {}


@pytest.mark.parametrize("line, reason", [
    ("jr\ta0", "address that is computed"), ("tail\tg", "another function"),
    ("j\tg", "outside the function")])
def test_refused(line, reason):
    with pytest.raises(UserError, match=f"in f: a jump to .*{reason}"):
        flow(f"\t.file\t0 \"f.c\"\n\t.loc\t0 7 0\n\t{line}\n")
