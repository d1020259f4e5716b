"""The head of a result: by the kind of an array, not by the program."""

import numpy as np

from sw.device.head import heads
from sw.lang import programs


def head(program, name, values, derived=None, names=None):
    outputs = {name: np.array(values, np.uint32)}
    found, = heads(programs.find(program), outputs, derived or {}, names)
    return found


def test_fixed_point():
    """The five largest, with the names of their vertices; of equal ones the first."""
    rank = np.array([0.1, 0.3, 0.2, 0.3, 0, 0.05])
    found = head("pagerank", "rank", [0] * 6, {"rank_float": rank}, np.array(list("abcdef")))
    assert found.title == "rank: the largest" and found.columns == ("vertex", "rank")
    assert found.rows == (("b", "0.3"), ("d", "0.3"), ("c", "0.2"), ("a", "0.1"), ("f", "0.05"))


def test_groups():
    """Values that stand for their own group are groups; others are not."""
    found = head("cc", "label", [0, 0, 2, 0, 2, 5])
    assert found.title == "label: 3 groups, the largest"
    assert found.rows == (("0", "3"), ("2", "2"), ("5", "1"))
    found = head("bfs", "parent", [0, 0, 1, 2 ** 32 - 1], names=np.array([70, 80, 90, 100]))
    assert found.title == "parent: the most frequent of 2"
    assert found.rows == (("70", "2"), ("80", "1"), ("none", "1"))


def test_histograms():
    found = head("bfs", "depth", [0, 1, 1, 2, 2 ** 32 - 1])
    assert found.rows == (("0", "1"), ("1", "2"), ("2", "1"), ("infinity", "1"))
    found = head("sssp", "distance", [*range(1000), 2 ** 32 - 2, 2 ** 32 - 1])
    assert found.rows == (("0 to 429,496,729", "1,000"),
                          ("3,865,470,570 to 4,294,967,294", "1"), ("infinity", "1"))
    assert sum(int(count) for _, count in head("kcore", "core", np.arange(77) % 23).rows) == 77


def test_rows_of_values_and_nothing():
    values = np.array([[1, 2], [3, 4]])
    found, = heads(None, {"output": values}, {"output_float": values / 2})
    assert found.title == "output: 2 values a vertex, from 0.5 to 2" and not found.rows
    assert heads(programs.find("cc"), {"label": np.zeros(0, np.uint32)}, {}) == []
