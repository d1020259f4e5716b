"""The results of a figure: tables, plots, and the paper's numbers beside ours.

A number that is missing because a run failed is None everywhere, and is shown as failed. A number
that is not defined is NaN, and is not shown.
"""

import dataclasses
import math

from sw.benchmarks import schedules


__all__ = ["FAILED", "Comparison", "Outcome", "Plot", "Table", "geometric_mean", "number",
           "percent", "ratio", "times"]


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


def ratio(above, below):
    """The quotient of two numbers; None if either failed, NaN if it is not defined."""
    if above is None or below is None:
        return None
    return above / below if below else math.nan


def geometric_mean(values):
    """The geometric mean of the values that are neither None (failed) nor NaN (not defined). None
    if all values failed, NaN if there is no value."""
    values = list(values)
    good = [value for value in values if value is not None and value > 0]
    return None if not good and None in values else schedules.geometric_mean(good)


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of text.

    Parameters
    ----------
    title : str
    columns : tuple of str
    rows : tuple of tuple of str
        The rows, each as long as ``columns``.
    """
    title: str
    columns: tuple
    rows: tuple

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

    def rich(self):
        """The table for a terminal."""
        from rich import box
        from rich.table import Table as RichTable
        table = RichTable(title=self.title, title_justify="left", title_style="bold",
                          box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for index, name in enumerate(self.columns):
            table.add_column(name, justify="right" if index else "left", no_wrap=True)
        for row in self.rows:
            table.add_row(*row)
        return table


@dataclasses.dataclass(frozen=True)
class Plot:
    """Bars in groups.

    Parameters
    ----------
    title, label : str
        Title above the plot, and label of the axis of values.
    groups : tuple of str
        Names of the groups.
    series : dict of str to tuple
        A value for each group, by the name of the bars.
    reference : float or None
        Value at which a line is drawn, to compare the bars with.
    stacked : bool
        Whether the bars of a group stand on each other: its parts.
    paper : dict of str to float
        Numbers of the paper for the same values, by what they are: a labelled line each.
    """
    title: str
    label: str
    groups: tuple
    series: dict
    reference: float | None = None
    stacked: bool = False
    paper: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The paper's number beside ours.

    Parameters
    ----------
    what : str
        The measured quantity.
    paper, ours : str
        The number as text, with its unit.
    """
    what: str
    paper: str
    ours: str


@dataclasses.dataclass(frozen=True)
class Outcome:
    """All results of a figure.

    Parameters
    ----------
    tables, plots, comparisons : tuple
        Items of :class:`Table`, :class:`Plot` and :class:`Comparison`.
    data : dict
        The numbers of the tables and plots, for JSON.
    notes : tuple of str
        Sentences that explain the numbers.
    """
    tables: tuple
    plots: tuple
    comparisons: tuple = ()
    data: dict = dataclasses.field(default_factory=dict)
    notes: tuple = ()

    def compared(self):
        """The comparisons as a :class:`Table`; None if there are none."""
        if not self.comparisons:
            return None
        return Table("The paper and this", ("", "paper", "here"),
                     tuple((each.what, each.paper, each.ours) for each in self.comparisons))
