"""Plots of a figure's outcome, as PNG and SVG. The same outcome gives the same bytes.

Bars differ by colour, by lightness and by hatching, so they can be told apart in grey and by
colour-blind eyes. The numbers of a paper are labelled lines.
"""

import contextlib
import io
import math
import re


__all__ = ["SUFFIXES", "draw", "svg"]


#: The suffixes of the files of a figure's plot.
SUFFIXES = (".png", ".svg")

#: In inches: the least width of a plot, the width of each group in it, and the height of a plot.
_WIDTH, _GROUP, _HEIGHT = 10.0, 0.8, 3.6

#: The same of a plot on a page of the documentation: width at least, and height.
_PAGE = 8.4, 2.8

_STYLE: dict = {
    "svg.hashsalt": "graphloom",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "figure.constrained_layout.use": True,
}


#: Fill and hatching of the bars, in turn. The colours are those of Okabe and Ito.
_BARS = (("#0072b2", ""), ("#f0e442", "//"), ("#d55e00", ".."), ("#ffffff", "xx"),
         ("#009e73", "\\\\"), ("#cc79a7", "++"), ("#56b4e9", "--"), ("#555555", "oo"))

#: Lines of the paper's numbers, in turn.
_LINES = ("--", "-.", ":", (0, (6, 1, 1, 1)))


def _bars(axes, plot, colours=None):
    """Draw one plot: bars side by side in each group, or stacked. A failed bar is the word
    "failed"."""
    from .outcome import FAILED
    beside = 1 if plot.stacked else max(1, len(plot.series))
    width, bottoms = 0.8 / beside, [0] * len(plot.groups)
    for index, (name, values) in enumerate(plot.series.items()):
        places = [group - 0.4 + width * (index % beside + 0.5)
                  for group in range(len(plot.groups))]
        heights = [0 if value is None or math.isnan(value) else value for value in values]
        colour, hatch = _BARS[index % len(_BARS)]
        bars = axes.bar(places, heights, width, bottom=bottoms, label=name,
                        color=(colours or {}).get(name, colour),
                        hatch=hatch, edgecolor="#222222", linewidth=0.5)
        if plot.stacked:
            bottoms = [bottom + height for bottom, height in zip(bottoms, heights)]
        for bar, value in zip(bars, values):
            if value is None and index < beside:
                # In the middle of the bar's place, whatever the axis.
                axes.text(bar.get_x() + width / 2, 0.02, FAILED, rotation=90, fontsize=6,
                          ha="center", va="bottom", color="gray",
                          transform=axes.get_xaxis_transform())
    if plot.reference is not None:
        axes.axhline(plot.reference, color="black", linewidth=0.8)
    _paper(axes, plot.paper)
    axes.set_xticks(range(len(plot.groups)), plot.groups,
                    rotation=30 if len(plot.groups) > 9 else 0,
                    ha="right" if len(plot.groups) > 9 else "center")
    axes.set_ylabel(plot.label)
    axes.set_title(plot.title, loc="left", fontsize=10)


def _legends(figure, grid, plots):
    """Explain the bars: once below all plots if they have the same bars, else in each plot."""
    one = len({tuple(plot.series) for plot in plots}) == 1
    for axes in (grid[0] if one else grid[:, 0]):
        options = {"fontsize": 8, "frameon": False,
                   "ncols": max(1, min(len(plots[0].series), 8 if one else 6))}
        if one:
            figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", **options)
        else:
            axes.legend(**options)


def _paper(axes, numbers):
    """Draw the paper's numbers as lines, and name them beside the plot, none on another."""
    lowest = -math.inf
    for index, (name, value) in enumerate(sorted(numbers.items(), key=lambda item: item[1])):
        axes.axhline(value, color="black", linewidth=1.2, linestyle=_LINES[index % len(_LINES)])
        low, high = axes.get_ylim()
        lowest = max((value - low) / (high - low), lowest + 0.06 * (name.count("\n") + 1))
        axes.text(1.01, lowest, f"{name}: {value:.3g}", fontsize=8, va="center",
                  transform=axes.transAxes)


@contextlib.contextmanager
def _drawn(plots, title, least=_WIDTH, height=_HEIGHT, colours=None):
    """The figure with the plots below each other, of that height each."""
    import matplotlib
    matplotlib.use("agg")
    from matplotlib import pyplot
    with matplotlib.rc_context(_STYLE):
        width = max(least, _GROUP * max(len(plot.groups) for plot in plots))
        figure, grid = pyplot.subplots(len(plots), 1, squeeze=False,
                                       figsize=(width, height * len(plots)))
        try:
            figure.suptitle(title, fontsize=11)
            for axes, plot in zip(grid[:, 0], plots):
                _bars(axes, plot, colours)
            _legends(figure, grid, plots)
            yield figure
        finally:
            pyplot.close(figure)


def draw(plots, title):
    """Draw the plots of a figure, at least one, below each other. Returns the contents of the file
    with each of :data:`SUFFIXES`."""
    files = {}
    with _drawn(plots, title) as figure:
        for suffix in SUFFIXES:
            stream = io.BytesIO()
            # Without a date, so that the same figures give the same file.
            metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
            figure.savefig(stream, format=suffix[1:], dpi=150, metadata=metadata)
            files[suffix] = stream.getvalue()
    return files


def svg(plots, title, colours=None) -> str:
    """Draw the plots of a figure as SVG for a page of the documentation.

    Coordinates have two decimals, so the last bit of a machine's arithmetic does not show. The
    parameters are those of :func:`draw`; ``colours`` gives the bars of some names their colours.
    """
    with _drawn(plots, title, *_PAGE, colours=colours) as figure:
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = re.sub(r"-?\d+\.\d{3,}", lambda match: f"{round(float(match[0]), 2):g}",
                  stream.getvalue())
    return re.sub(r" +$", "", text, flags=re.MULTILINE)
