"""Text that is fit to be printed."""

import os

import pytest

from base.printable import LINE, PIECE, one_line, printable


@pytest.mark.parametrize("text, shown", [
    ("karate", "karate"), ("Straße, 図", "Straße, 図"), ("", ""),
    ("\x1b[31mred", "\\x1b[31mred"), ("a\tb\nc\r", "a\\tb\\nc\\r"),
    ("\x07\x7f\x9b", "\\x07\\x7f\\x9b"), ("\ud800", "\\ud800"),
    ("txt.\u202efnp", "txt.\\u202efnp"), ("a\u2028b", "a\\u2028b"), ("\0", "\\x00"),
    (os.fsdecode(b"caf\xe9.el"), "caf\\xe9.el"), ("\U000e0001", "\\U000e0001")])
def test_escapes(text, shown):
    assert printable(text) == shown
    assert shown.encode().decode() == shown and shown.isprintable()


def test_lines_may_stay():
    assert printable("a\nb\x1b", lines=True) == "a\nb\\x1b"


def test_long_text_is_cut():
    assert printable("a" * 10, 10) == "a" * 10
    assert printable("a" * 9 + "bb", 9) == "aaaaa…abb"
    for text in ("a" * 1_000_000, "\x1b" * 1_000_000, "\n" * 50):
        assert len(printable(text, 50)) == 50
    assert printable("first " + "x" * 1000 + " last", 40).startswith("first ")
    assert printable("first " + "x" * 1000 + " last", 40).endswith(" last")


def test_one_line():
    assert one_line("what\n  was \x1b wrong\t") == "what was \\x1b wrong"
    path = "/" + "x" * 1_000_000 + ".el"
    line = one_line(f"{path}: there is no such file; must be one")
    assert len(line) < PIECE + 50
    assert line.startswith("/xxx") and line.endswith("x.el: there is no such file; must be one")


def test_long_quotations_are_cut():
    line = one_line(f"there is no {'a b ' * 1000!r}; there are c, d")
    assert line.startswith("there is no 'a b") and line.endswith("'; there are c, d")
    assert len(line) < PIECE + 50


def test_a_line_is_bounded():
    line = one_line("first " + "a b " * 1_000_000 + "last")
    assert len(line) == LINE
    assert line.startswith("first a b") and line.endswith("b last")
    assert len(one_line(ValueError("\x1b " * 100_000))) <= LINE
