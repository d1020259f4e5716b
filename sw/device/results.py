"""The results of several schedules on one graph, side by side."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from base.errors import UserError
from base.installation import need
from base.printable import PIECE, printable

from .result import STALL_LABELS, frame_of

if TYPE_CHECKING:
    from typing import Any

    from .result import Result


__all__ = ["Results"]


#: What :meth:`Results.plot` can show.
_PLOTS = ("cycles", "stalls")

#: {part of a bar: its colour}. A colour means one thing in all plots.
_COLOURS = {"device": "0.45", "instructions": "0.45", "host, for launches": "0.75", **{
    name: f"C{place}" for place, name in enumerate(["issued", *STALL_LABELS.values(), "other"])}}

#: Causes of stalls below this share of all cycles, in every run, are drawn as one.
_SMALL = 0.01


class Results(Sequence["Result"]):
    """Runs of one algorithm on one graph, in their order; :meth:`sw.device.device.Device.compare`
    makes them. ``results["em"]`` is the run of a schedule, ``results[0]`` the first one.

    ``repr`` and notebooks show the table of :meth:`rows`.

    Parameters
    ----------
    results : iterable of Result
        At least one.
    """

    def __init__(self, results: Any) -> None:
        self._results: tuple[Result, ...] = tuple(results)

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, index: int | str) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> Results: ...

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Results(self._results[index])
        if not isinstance(index, str):
            return self._results[index]
        for result in self._results:
            if result.schedule == index:
                return result
        raise UserError(f"there is no run of schedule {index!r}; there are "
                        f"{', '.join(self.schedules)}")

    @property
    def schedules(self) -> list[str]:
        """The schedule of each run."""
        return [str(result.schedule) for result in self._results]

    @property
    def best(self) -> Result:
        """The run with the least cost."""
        return min(self._results, key=_cost)

    def rows(self) -> list[dict[str, Any]]:
        """For each run, by name: ``schedule``, ``cycles`` with those of the host for launches,
        ``speedup`` over the first run, ``instructions``, ``lanes`` that are active on average, the
        largest ``stall`` and its ``stall_share`` of all cycles, and ``dram_bytes``. What needs
        cycles is left out where there are none."""
        first, rows = self._results[0], []
        for result in self._results:
            row: dict[str, Any] = {"schedule": str(result.schedule)}
            if result.timed:
                row |= {"cycles": result.total_cycles,
                        "speedup": first.total_cycles / max(1, result.total_cycles)}
            row |= {"instructions": result.instructions, "lanes": result.active_lanes}
            if result.timed:
                stall, share = next(iter(result.stalls.items()))
                row |= {"stall": stall, "stall_share": share, "dram_bytes": result.dram_bytes}
            rows.append(row)
        return rows

    def frame(self) -> Any:
        """A pandas frame with a row for each run, by its schedule: :meth:`rows`, and every counter
        as ``counter_NAME``. Raises UserError if pandas is not installed."""
        rows = [row | {f"counter_{name}": value for name, value in result.counters.items()}
                for row, result in zip(self.rows(), self._results)]
        titles = dict.fromkeys(title for row in rows for title in row if title != "schedule")
        return frame_of({title: [row.get(title) for row in rows] for title in titles},
                        self.schedules, "schedule", "frame()")

    def plot(self, what: str = "cycles", axes: Any = None) -> Any:
        """Draw a bar for each run with matplotlib.

        Parameters
        ----------
        what : str
            ``"cycles"``: the device's, and those of the host for launches (instructions, where
            there are no cycles). ``"stalls"``: what became of the cycles of the cores, as shares.
        axes : matplotlib.axes.Axes, optional
            Where to draw; left out, a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        UserError
            If matplotlib is not installed, or there is nothing of the kind to draw.
        """
        if what not in _PLOTS:
            raise UserError(f"there is no plot {what!r}; there are {', '.join(_PLOTS)}")
        if what == "stalls" and not self._results[0].timed:
            raise UserError("there are no stalls without cycles: the functional simulator has none")
        need("plot()", "matplotlib")
        if axes is None:
            from matplotlib import pyplot
            axes = pyplot.subplots(figsize=(7, 1.2 + 0.4 * len(self)), layout="constrained")[1]
        parts = self._stalls() if what == "stalls" else self._cycles()
        left = [0.0] * len(self)
        for name, lengths in parts.items():
            axes.barh(range(len(self)), lengths, left=left, label=name, color=_COLOURS[name])
            left = [before + length for before, length in zip(left, lengths)]
        axes.set_yticks(range(len(self)), self.schedules)
        axes.invert_yaxis()
        if what == "cycles":
            for place, result in enumerate(self._results):
                text = f" {_cost(result):,}" + " (best)" * (result is self.best)
                axes.text(left[place], place, text, va="center")
            axes.set_xlim(0, 1.3 * max(left))
        axes.set_xlabel("share of all cycles" if what == "stalls" else
                        "cycles" if self._results[0].timed else "instructions")
        axes.set_title(self._subject())
        if len(parts) > 1:
            axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        return axes

    def _cycles(self):
        """The parts of the costs, by name: of each run its number."""
        if not self._results[0].timed:
            return {"instructions": [result.instructions for result in self._results]}
        return {"device": [result.cycles for result in self._results],
                "host, for launches": [result.launch_cycles for result in self._results]}

    def _stalls(self):
        """What became of the cycles, by name: of each run its share."""
        found = [result.stalls for result in self._results]
        large = {name for stalls in found for name, share in stalls.items() if share >= _SMALL}
        parts = {"issued": [1 - sum(stalls.values()) for stalls in found]}
        parts |= {name: [stalls[name] for stalls in found] for name in STALL_LABELS.values()
                  if name in large}
        return parts | {"other": [sum(share for name, share in stalls.items() if name not in large)
                                  for stalls in found]}

    # As text

    def _cells(self):
        """The table as text: its titles, and the cells of each run."""
        texts = {"schedule": str, "cycles": "{:,}".format, "speedup": "{:.2f}x".format,
                 "instructions": "{:,}".format, "lanes": "{:.1f}".format, "stall": str,
                 "stall_share": lambda share: f"{100 * share:.0f} %", "dram_bytes": "{:,}".format}
        rows = self.rows()
        return ([name.replace("_", " ").replace("dram", "DRAM") for name in rows[0]],
                [[texts[name](value) for name, value in row.items()] for row in rows])

    def _subject(self):
        return f"{self._results[0].algorithm} on {printable(self._results[0].graph, PIECE)}"

    def _title(self):
        first = self._results[0]
        return (f"{self._subject()}: {first.vertices:,} vertices, {first.edges:,} arcs; best: "
                f"{self.best.schedule}")

    def __repr__(self) -> str:
        titles, rows = self._cells()
        widths = [max(map(len, column)) for column in zip(titles, *rows)]
        words = [place for place, name in enumerate(titles) if name in ("schedule", "stall")]
        lines = ["  ".join(cell.ljust(width) if place in words else cell.rjust(width)
                           for place, (cell, width) in enumerate(zip(row, widths)))
                 for row in [titles, *rows]]
        return "\n".join([self._title(), *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        """The table for notebooks, the best run in bold letters."""
        titles, rows = self._cells()
        best = self._results.index(self.best)
        body = "".join(f"<tr{' style=font-weight:bold' * (place == best)}>"
                       + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
                       for place, row in enumerate(rows))
        head = "".join(f"<th>{title}</th>" for title in titles)
        return f"<p>{html.escape(self._title())}</p><table><tr>{head}</tr>{body}</table>"


def _cost(result):
    """What a run costs: its cycles with those of launches, else its instructions."""
    return result.total_cycles if result.timed else result.instructions
