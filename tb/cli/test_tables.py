"""Tests of tables on the terminal: at no width is a number cut, or anything lost."""

import io
import pathlib
import re

import pytest
from hypothesis import given, settings, strategies as st
from rich.console import Console
from rich.text import Text

from sw.cli.tables import FittedTable
from tb import expected


EXPECTED = pathlib.Path(__file__).parent / "outputs_tables.txt"

def shown(table, width):
    """The lines of a table in a terminal of this width."""
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    console.print(table)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def compared():
    """A table as ``compare`` prints it, with figures of a long run."""
    table = FittedTable("<schedule", ">cycles", ">over weaver (stream)", ">instructions",
                        ">lanes of 16", "<largest stall", ">DRAM bytes")
    table.add_row("weaver (stream)", "1,062,722,717", "1.06x", "1,030,464,500", "16.0",
                  "memory 58 %", "33,102,848,000")
    table.add_row("vwc:width=4:unroll=2", "56,309,053", "0.58x", "1,049,572", "7.3",
                  "execution unit 18 %", "3,493,760")
    return table


@pytest.mark.parametrize("width, lines", [(200, 4), (100, 6), (80, 10), (60, 14), (40, 26)])
def test_a_comparison(width, lines):
    """At 100 columns titles take several lines; at 60 there are two blocks of columns."""
    found = shown(compared(), width)
    assert max(map(len, found)) <= width and len(found) <= lines
    words = " ".join(found).split()
    for cell in ("1,062,722,717", "1,030,464,500", "33,102,848,000", "56,309,053", "1.06x", "7.3"):
        assert words.count(cell) == 1
    assert "…" not in "".join(found)


_NUMBERS = st.builds("{:,}{}".format, st.integers(-10 ** 9, 10 ** 12), st.sampled_from(
    ["", " %", "x", " of 12"]))
_NAMES = st.sampled_from(["vm", "weaver (stream)", "rmat:scale=12,degree=16,seed=1", "-", "failed",
                          "a text of some words", "unroll=4, works=2", "x" * 40])
_TITLES = st.sampled_from(["", "cycles", "instructions", "mean active lanes, of 16", "over vm"])


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(40, 200), st.integers(1, 3), st.integers(0, 9))
def test_no_number_is_cut(data, width, texts, numbers):
    """Whatever the cells, every number stands whole on a line, and every text is there, maybe in
    pieces below each other."""
    rows = data.draw(st.lists(st.tuples(*[_NAMES] * texts, *[_NUMBERS] * numbers), min_size=1,
                              max_size=4))
    titles = data.draw(st.tuples(*[_TITLES] * (texts + numbers)))
    table = FittedTable(*("<>"[place >= texts] + title for place, title in enumerate(titles)))
    for row in rows:
        table.add_row(*row)
    found = shown(table, width)
    text = "\n".join(found)
    assert max(map(len, found)) <= width and "…" not in text
    for number in {cell for row in rows for cell in row[texts:]}:
        wanted = sum(row[texts:].count(number) for row in rows)
        assert len(re.findall(rf"(?:^|(?<= )){re.escape(number)}(?=$| )", text,
                              re.MULTILINE)) >= wanted
    letters = "".join(text.split())
    assert all(letters.count(letter) >= sum(cell.count(letter) for row in rows for cell in row)
               for letter in "abcdefghijklmnopqrstuvwxyz0123456789%(=:")


def counted():
    """A table with two columns that name the rows, and sections."""
    table = FittedTable("<graph", "<algorithm", *(f">over schedule{number}" for number in range(5)))
    for graph in ("rmat:scale=12,degree=16,seed=1", "karate"):
        for place, algorithm in enumerate(("pagerank", "bfs of parents, by the hub")):
            table.add_row(graph, algorithm, *(f"{1234 ** (column % 3 + place):,}"
                                              for column in range(4)), "12.5 %")
        table.add_section()
    return table


def listed():
    """A table without titles, with a text that takes several lines."""
    table = FittedTable("<", "<", ">", heading=False)
    table.add_row("one", "a text of several words; with 1,234,567 numbers, and\na second line",
                  "7 of 9")
    table.add_row("", "x" * 50 + " 12", "-")
    return table


def plain():
    """A table whose titles have no marks, and one of numbers alone."""
    table = FittedTable("seed", "MHz", "levels of logic")
    table.add_row("3", "61.25", "12")
    table.add_row("11", "7.5", "3")
    return table


@pytest.mark.parametrize("make", [compared, counted, listed, plain])
def test_at_every_width(make):
    """The whole table, in terminals of several widths."""
    expected.check(EXPECTED, make.__name__, "\n".join(
        line for width in (200, 110, 96, 80, 66, 52, 40, 31, 22)
        for line in (f"{width}:", *shown(make(), width))))


def test_sections_and_texts():
    """Control characters are printed as escapes, and count with their width."""
    table = FittedTable("<", "<found")
    table.add_row("a", Text("one two", "red"))
    table.add_section()
    table.add_row("b", "\x1b[31m three")
    assert shown(table, 40)[2:] == ["a   one two", "", "b   \\x1b[31m three"]
    assert shown(table, 12)[2:] == ["a one two", "", "b \\x1b[31m", "  three"]
    with pytest.raises(ValueError):
        table.add_row("c")


def test_names_of_rows_are_in_each_block():
    table = FittedTable("<graph", "<algorithm", *(f">schedule{number}" for number in range(6)))
    table.add_row("rmat:scale=12,degree=16,seed=1", "pagerank", *["1,234,567"] * 6)
    found = shown(table, 60)
    assert sum("pagerank" in line for line in found) == 2
    assert "".join(found).count("1,234,567") == 6
