"""The record of a check, and parts that checks share."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


__all__ = ["LAST", "WORD", "ResultCheck", "first_difference", "row_sums", "rows_of", "sweeps"]


#: Values of a word, and the largest.
WORD = 1 << 32
LAST = WORD - 1


@dataclasses.dataclass(frozen=True)
class ResultCheck:
    """How the results of an algorithm are judged without the text that computed them."""
    way: str  #: The standard by which results are judged, in words that follow "wrong".
    #: ``fault(graph, values, words, bits)`` gives the first thing that is wrong, as a text, or
    #: None. ``values`` are the parameters of the run by name, ``words`` the results as uint32
    #: arrays by name, ``bits`` the fraction bits of fixed point.
    fault: Callable[[Any, dict, dict, int], str | None]


def first_difference(name, words, expected) -> str | None:
    """The text for the first vertex at which an array is not as expected; None if there is none."""
    wrong = np.flatnonzero(words != expected)
    if not len(wrong):
        return None
    vertex = wrong[0]
    return f"{name} of vertex {vertex} is {int(words[vertex])}, must be {int(expected[vertex])}"


def rows_of(offsets, neighbors, vertices) -> tuple[np.ndarray, np.ndarray]:
    """The arcs in the rows of some vertices: the row's vertex, and the neighbour, of each."""
    starts = offsets[vertices].astype(np.int64)
    counts = offsets[vertices + 1] - starts
    before = np.cumsum(counts) - counts
    places = np.arange(counts.sum()) + np.repeat(starts - before, counts)
    return np.repeat(vertices, counts), neighbors[places]


def row_sums(offsets, entries) -> np.ndarray:
    """The sum of the entries of each row, as uint64; 0 for a row without any."""
    sums = np.zeros(len(offsets) - 1, np.uint64)
    filled = np.flatnonzero(offsets[1:] != offsets[:-1])
    if len(filled):
        sums[filled] = np.add.reduceat(entries, offsets[filled].astype(np.int64))
    return sums


def sweeps(sweep, start, count) -> Iterator[np.ndarray]:
    """The words at the start and after each of ``count`` sweeps, less whole rounds of a cycle.

    ``sweep`` gives the words that follow from others, and from nothing else. The words are compared
    with those of an earlier sweep, whose number is the last power of two (Brent's algorithm). So
    the last words are those of the last sweep, whatever the number of sweeps.
    """
    words = earlier = start
    number = done = 0
    yield words
    while done < count:
        words = sweep(words)
        done += 1
        yield words
        if np.array_equal(words, earlier):
            count = done + (count - done) % (done - number)
        if done & (done - 1) == 0:
            earlier, number = words, done
