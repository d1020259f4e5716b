"""The grammar of numbers."""

import pytest

from base.numbers import integer, real


@pytest.mark.parametrize("text, value", [
    ("0", 0), ("12", 12), ("007", 7), ("-3", -3), ("0x1F", 31), ("-0Xa", -10),
    ("18446744073709551615", (1 << 64) - 1), ("9" * 40, int("9" * 40))])
def test_integer(text, value):
    assert integer(text) == value


@pytest.mark.parametrize("text", [
    "", "-", "+1", "1_000", " 1", "1 ", "1\n", "1.0", "1e3", "0x", "0b1", "0o7", "x", "٣", "３",
    "²", "0x１", "1\0", "9" * 41, "1" * 100_000, "--1", "0x-1"])
def test_no_integer(text):
    assert integer(text) is None


@pytest.mark.parametrize("text, value", [
    ("0", 0.0), ("2", 2.0), ("-2.5", -2.5), (".5", 0.5), ("1.", 1.0), ("1e-6", 1e-6),
    ("2.5E+3", 2500.0)])
def test_real(text, value):
    assert real(text) == value


@pytest.mark.parametrize("text", [
    "", ".", "-", "e3", "+1.0", "1_0.0", " 1.0", "1.0 ", "1.0\n", "1e", "1e999", "inf", "-inf",
    "nan", "infinity", "0x10", "٣", "１.5", "1,5", "0." + "1" * 40])
def test_no_real(text):
    assert real(text) is None
