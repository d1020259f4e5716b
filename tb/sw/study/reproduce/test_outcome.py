"""Outcomes of figures: numbers as text, tables, plots."""

import math

import pytest

from sw.study.reproduce import outcome
from sw.study.reproduce.outcome import Comparison, Outcome, Plot, Table
from sw.study.reproduce.plot import SUFFIXES, draw


def test_numbers():
    assert outcome.number(1234567) == "1,234,567"
    assert outcome.times(1.234) == "1.23x"
    assert outcome.percent(0.1234) == "12.3 %"
    for text in (outcome.number, outcome.times, outcome.percent):
        assert text(None) == "failed" and text(math.nan) == "-"


def test_ratios_and_means():
    assert outcome.ratio(3, 2) == 1.5
    assert outcome.ratio(None, 2) is None and outcome.ratio(2, None) is None
    assert math.isnan(outcome.ratio(2, 0))
    assert outcome.geometric_mean([1, 4, None, math.nan]) == pytest.approx(2)
    assert outcome.geometric_mean([None]) is None
    assert math.isnan(outcome.geometric_mean([])) and math.isnan(outcome.geometric_mean([0]))


def test_a_table_is_markdown():
    table = Table("Title", ("a", "b|c"), (("x", "1"), ("y", "failed")))
    assert table.markdown().splitlines() == [
        "**Title**", "", "| a | b\\|c |", "| --- | ---: |", "| x | 1 |", "| y | failed |"]
    with pytest.raises(ValueError, match="has not 2 cells"):
        Table("Title", ("a", "b"), (("x",),))


def test_comparisons_are_a_table():
    found = Outcome((), (), (Comparison("speedup", "2.00x", "1.50x"),))
    assert found.compared().rows == (("speedup", "2.00x", "1.50x"),)
    assert Outcome((), ()).compared() is None


def test_plots_are_drawn_and_the_same_each_time():
    plots = (Plot("bars", "height", ("one", "two"), {"a": (1.0, None), "b": (math.nan, 2.0)},
                  reference=1.0),
             Plot("others", "height", ("one",), {"a": (10.0,)}))
    files, again = draw(plots, "all"), draw(plots, "all")
    assert set(files) == set(SUFFIXES)
    assert files == again
    assert files[".png"].startswith(b"\x89PNG")
    text = files[".svg"].decode()
    for word in ("bars", "others", "height", "one", "two", "all"):
        assert f">{word}<" in text
    assert text.count(">failed<") == 1


def test_bars_that_stand_on_each_other():
    """The second bar begins where the first ends. A group that failed is marked once."""
    from matplotlib import pyplot

    from sw.study.reproduce import plot
    parts = {"a": (1.0, 2.0, None), "b": (0.5, math.nan, None)}
    figure, axes = pyplot.subplots()
    try:
        plot._bars(axes, Plot("bars", "height", ("one", "two", "three"), parts, stacked=True))
        assert [(bar.get_y(), bar.get_height()) for bar in axes.patches] == [
            (0, 1), (0, 2), (0, 0), (1, 0.5), (2, 0), (0, 0)]
        assert [text.get_text() for text in axes.texts] == ["failed"]
    finally:
        pyplot.close(figure)


def test_the_papers_numbers_are_lines():
    """Each has its name beside it, and no name is on another."""
    from matplotlib import pyplot

    from sw.study.reproduce import plot
    figure, axes = pyplot.subplots()
    try:
        plot._bars(axes, Plot("bars", "height", ("one",), {"a": (2.0,)}, reference=1.0,
                              paper={"upper": 1.51, "lower": 1.5}))
        assert [line.get_ydata()[0] for line in axes.lines] == [1.0, 1.5, 1.51]
        lower, upper = axes.texts
        assert (lower.get_text(), upper.get_text()) == ("lower: 1.5", "upper: 1.51")
        assert upper.get_position()[1] - lower.get_position()[1] > 0.05
    finally:
        pyplot.close(figure)


def test_bars_can_be_told_apart_in_grey():
    """Each has a hatching of its own, and all fills but one pair differ in lightness."""
    from matplotlib import colors

    from sw.study.reproduce import plot
    assert len({hatch for _, hatch in plot._BARS}) == len(plot._BARS)
    first = [sum(weight * part for weight, part in zip((0.3, 0.59, 0.11), colors.to_rgb(fill)))
             for fill, _ in plot._BARS[:4]]
    assert min(abs(one - other) for place, one in enumerate(first)
               for other in first[:place]) > 0.1


def test_a_drawing_for_a_page():
    """Short numbers, no date and no version, and a background of its own."""
    import re

    from sw.study.reproduce.plot import svg
    plots = (Plot("bars", "height", ("one", "two"), {"a": (1.0, None)}, paper={"paper": 0.5}),)
    text = svg(plots, "all")
    assert text == svg(plots, "all")
    assert ">paper: 0.5<" in text and "#ffffff" in text
    assert not re.search(r"\d\.\d{3}|atplotlib v|<dc:date>", text)
