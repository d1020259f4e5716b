"""Plots of a figure's outcome, as PNG and SVG. The same outcome gives the same bytes."""

import contextlib
import math


__all__ = ["SUFFIXES", "draw"]


#: The files that a figure's plot is written to.
SUFFIXES = (".png", ".svg")

#: Inches: of a plot, at least, and of each group in it; and the height of a plot.
_WIDTH, _GROUP, _HEIGHT = 10.0, 0.8, 3.6

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


def _bars(axes, plot):
    """Draw one plot: bars side by side in each group, or on each other, and where one failed, the
    word."""
    from .outcome import FAILED
    beside = 1 if plot.stacked else max(1, len(plot.series))
    width, bottoms = 0.8 / beside, [0] * len(plot.groups)
    for index, (name, values) in enumerate(plot.series.items()):
        places = [group - 0.4 + width * (index % beside + 0.5)
                  for group in range(len(plot.groups))]
        heights = [0 if value is None or math.isnan(value) else value for value in values]
        bars = axes.bar(places, heights, width, bottom=bottoms, label=name)
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
    axes.set_xticks(range(len(plot.groups)), plot.groups,
                    rotation=30 if len(plot.groups) > 9 else 0,
                    ha="right" if len(plot.groups) > 9 else "center")
    axes.set_ylabel(plot.label)
    axes.set_title(plot.title, loc="left", fontsize=10)
    axes.legend(fontsize=7, ncols=max(1, min(len(plot.series), 6)), frameon=False)


def draw(plots, title):
    """Draw the plots of a figure below each other.

    Parameters
    ----------
    plots : tuple of Plot
        At least one.
    title : str
        Above all of them.

    Returns
    -------
    dict of str to bytes
        What is to be in the file of each of :data:`SUFFIXES`.
    """
    import io

    import matplotlib
    matplotlib.use("agg")
    from matplotlib import pyplot
    with matplotlib.rc_context(_STYLE), contextlib.ExitStack() as stack:
        width = max(_WIDTH, _GROUP * max(len(plot.groups) for plot in plots))
        figure, grid = pyplot.subplots(len(plots), 1, squeeze=False,
                                       figsize=(width, _HEIGHT * len(plots)))
        stack.callback(pyplot.close, figure)
        figure.suptitle(title, fontsize=11)
        for axes, plot in zip(grid[:, 0], plots):
            _bars(axes, plot)
        files = {}
        for suffix in SUFFIXES:
            stream = io.BytesIO()
            # Without a date, so that the same figures give the same file.
            metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
            figure.savefig(stream, format=suffix[1:], dpi=150, metadata=metadata)
            files[suffix] = stream.getvalue()
    return files
