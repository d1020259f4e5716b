"""The results of a figure: tables, plots, and the paper's numbers beside ours.

A number that is missing because a run failed is None everywhere, and is shown as failed. A number
that is not defined is NaN, and is not shown.
"""

import dataclasses
import math
from typing import Any

from sw.study.benchmarks.grid import geometric_mean, ratio


__all__ = ["FAILED", "Comparison", "Outcome", "Plot", "Table", "bars", "by_columns", "by_rows",
           "decimal", "extremes", "geometric_mean", "number", "percent", "ratio", "times"]


#: Text in place of a number that is missing because a run failed.
FAILED = "failed"


def _shown(value, text):
    if value is None:
        return FAILED
    return "-" if isinstance(value, float) and math.isnan(value) else text(value)


def number(value) -> str:
    """A whole number for a table."""
    return _shown(value, lambda value: f"{value:,}")


def times(value) -> str:
    """A ratio for a table."""
    return _shown(value, lambda value: f"{value:.2f}x")


def percent(value) -> str:
    """A share, from 0 to 1, for a table."""
    return _shown(value, lambda value: f"{100 * value:.1f} %")


def decimal(value) -> str:
    """A number with two decimals for a table."""
    return _shown(value, lambda value: f"{value:.2f}")


def extremes(values, text=times, word="and") -> str:
    """The least and the largest of the values of runs that did not fail, as one text."""
    known = [value for value in values if value is not None]
    return f"{text(min(known))} {word} {text(max(known))}" if known else FAILED


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of text."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  #: The rows, each as long as ``columns``.

    def __post_init__(self):
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.title}: {row} has not {len(self.columns)} cells")

    def markdown(self) -> str:
        """The table in Markdown, its title above it."""
        rule = ["---"] + ["---:"] * (len(self.columns) - 1)
        lines = [self.columns, rule, *self.rows]
        return f"**{self.title}**\n\n" + "\n".join(
            "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


@dataclasses.dataclass(frozen=True)
class Plot:
    """Bars in groups."""
    title: str  #: Title above the plot, and label of the axis of values.
    label: str  #: Title above the plot, and label of the axis of values.
    groups: tuple[str, ...]  #: Names of the groups.
    series: dict[str, tuple]  #: A value for each group, by the name of the bars.
    reference: float | None = None  #: Value at which a line is drawn, to compare the bars with.
    stacked: bool = False  #: Whether the bars of a group stand on each other: its parts.
    #: Numbers of the paper for the same values, by what they are: a labelled line each.
    paper: dict[str, float] = dataclasses.field(default_factory=dict)


def by_columns(title, *columns) -> Table:
    """A table from its columns: each a head, and its cells."""
    heads, cells = zip(*columns)
    return Table(title, heads, tuple(zip(*cells, strict=True)))


def by_rows(title, columns, rows) -> Table:
    """A table from its rows: each the cells, of which some may be lists of cells."""
    return Table(title, tuple(columns), tuple(
        tuple(cell for each in row for cell in ([each] if isinstance(each, str) else each))
        for row in rows))


def bars(title, text, series, mean=geometric_mean, **options) -> Plot:
    """A plot, under a title and with a label of the axis of values, of cubes with one axis by the
    names of the bars.

    ``mean`` is the mean over the graphs, which are the last group; with None there is no such
    group. ``options`` are further fields of :class:`Plot`."""
    first = next(iter(series.values()))
    [axis] = first.axes
    labels = first.labels(axis)
    return Plot(title, text, labels if mean is None else (*labels, "mean"), {
        name: tuple(cube) if mean is None else (*cube, cube.reduce(mean, axis))
        for name, cube in series.items()}, **options)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The paper's number beside ours."""
    what: str  #: The measured quantity.
    paper: str  #: The number as text, with its unit.
    ours: str  #: The number as text, with its unit.


@dataclasses.dataclass(frozen=True)
class Outcome:
    """All results of a figure."""
    #: iterable. Items of :class:`Table`, :class:`Plot` and :class:`Comparison`; kept as tuples.
    tables: Any
    plots: Any  #: See `tables`.
    comparisons: Any = ()  #: See `tables`.
    #: The numbers of the tables and plots, for JSON.
    data: dict = dataclasses.field(default_factory=dict)
    notes: Any = ()  #: tuple of str. Sentences that explain the numbers.

    def __post_init__(self):
        for name in ("tables", "plots", "comparisons", "notes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def compared(self, beside="paper"):
        """The comparisons with what stands ``beside`` ours, as a :class:`Table`; None if there are
        none."""
        if not self.comparisons:
            return None
        return Table(f"The {beside} and this", ("", beside, "here"),
                     tuple((each.what, each.paper, each.ours) for each in self.comparisons))
