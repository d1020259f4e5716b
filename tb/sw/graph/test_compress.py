"""Rows by counting, blocks of neighbours and runs, against plain Python."""

import numpy as np
import pytest

from sw.graph import compress
from tb.sw.graphs import random_graph


def _rows(owners, offsets, neighbors, weights):
    """(owner, the neighbours, the weights) of each row."""
    return [(owner, neighbors[begin:end].tolist(),
             None if weights is None else weights[begin:end].tolist())
            for owner, begin, end in zip(owners.tolist(), offsets[:-1], offsets[1:])]


@pytest.mark.parametrize("block", [1, 2, 3, 7, 19, 20, 21, 100])
@pytest.mark.parametrize("weighted", [False, True])
def test_blocks(block, weighted):
    """In a block a vertex has a row if it has edges there; the blocks follow each other."""
    graph = random_graph(20, 60, seed=3, weights=weighted)
    parts = graph.src, graph.dst, graph.weights
    arcs = sorted(zip(graph.src.tolist(), graph.dst.tolist(), range(60)))
    expected, first = [], [0]
    for number in range(-(-20 // block)):
        for vertex in range(20):
            own = [(dst, place) for src, dst, place in arcs
                   if src == vertex and dst // block == number]
            if own:
                expected.append((vertex, [dst for dst, _ in own], [
                    int(graph.weights[place]) for _, place in own] if weighted else None))
        first.append(len(expected))
    found = compress.in_blocks(*parts, 20, block)
    assert [array.dtype for array in found[:3]] == [np.uint32] * 3
    assert _rows(*found) == expected
    rows = compress.compress(*parts, 20, 20)
    *again, begins = compress.rows_in_blocks(rows, block)
    assert _rows(*again) == expected
    assert begins.tolist() == first and begins.dtype == np.uint32


def test_no_blocks():
    """Every vertex has a row, and parallel edges keep their order."""
    bases, neighbors = np.array([2, 0, 2, 2], np.uint32), np.array([1, 3, 0, 1], np.uint32)
    weights = np.array([9, 8, 7, 1], np.uint32)
    found = compress.in_blocks(bases, neighbors, weights, 4, None)
    assert _rows(*found) == [(0, [3], [8]), (1, [], []), (2, [0, 1, 1], [7, 9, 1]), (3, [], [])]
    assert compress.in_blocks(bases, neighbors, None, 4, None)[3] is None
    offsets, neighbors, _ = compress.compress(bases, neighbors, None, 3, 5)
    assert offsets.tolist() == [0, 1, 1, 4] and neighbors.tolist() == [3, 0, 1, 1]
    assert compress.expand(offsets).tolist() == [0, 2, 2, 2]


@pytest.mark.parametrize("dtype", [np.uint32, np.int64, np.float64])
def test_group(dtype):
    """Values keep their order in a row, equal ones too; there may be more values than rows."""
    rows = np.array([1, 0, 1, 3, 1, 0, 3], np.uint32)
    values = np.array([5, 9, 5, 2, 0, 3, 2]).astype(dtype)
    offsets, found = compress.group(rows, values, 5)
    assert offsets.tolist() == [0, 2, 5, 5, 7, 7] and offsets.dtype == np.uint32
    assert found.tolist() == [9, 3, 5, 5, 0, 2, 2] and found.dtype == dtype
    offsets, found = compress.group(rows[:1], values[:1], 9)
    assert offsets.tolist() == [0, 0] + [1] * 8 and found.tolist() == [5]


@pytest.mark.parametrize("limit, dtype", [(7, np.int32), ((1 << 31) - 1, np.int32),
                                          (1 << 31, np.int64)])
def test_indices(limit, dtype):
    """scipy takes signed numbers; words are seen as such without a copy."""
    words = np.array([3, 5], np.uint32)
    found = compress._indices(words, limit)
    assert found.tolist() == [3, 5] and found.dtype == dtype
    assert np.shares_memory(found, words) == (dtype is np.int32)
    assert compress._indices(words.astype(np.int64), limit).dtype == dtype


@pytest.mark.parametrize("length", [1, 2, 3, 8])
def test_runs(length):
    array = np.arange(100, 108)
    for starts in ([], [0], [8 - length, 0, (8 - length) // 2]):
        found = compress.gather_runs(array, np.array(starts, int), length)
        assert found.tolist() == [100 + start + place for start in starts
                                  for place in range(length)]
        assert not np.shares_memory(found, array)
