"""What a sweep measured: a row for each run, as a frame, a file, and tables for a terminal."""

import csv
import io
import math
import pathlib
import statistics
from typing import Any

from base.errors import UserError
from base.installation import need
from base.output import replacing
from sw.compile.options import word
from sw.device.result import frame_of
from sw.study.benchmarks.grid import geometric_mean
from sw.study.reproduce.outcome import Table, times


__all__ = ["SUFFIXES", "SweepResult", "rows_of", "shown", "speedups", "varied"]


#: Formats of :meth:`SweepResult.write`.
SUFFIXES = (".csv", ".parquet")

#: Columns behind what is said of a run, in front of its counters.
_MEASURED = ("status", "reason", "total_cycles", "cycles", "launch_cycles", "vertices", "arcs",
             "supersteps", "orders", "reached", "verified", "checksum")

#: Columns that are no axis by which cycles are compared.
_PLACES = ("graph", "algorithm", "seed")

#: Rows of the table of places, beyond which only the first are printed.
_ROWS = 40


def _row(said, record):
    """A row, from what is said of a run and its record."""
    status, reason = ("done", None) if "cycles" in record else next(
        (name, record[key]) for name, key in (("failed", "error"), ("refused", "refused"))
        if key in record)
    row = said | dict.fromkeys(_MEASURED) | {
        name: record[name] for name in _MEASURED if name in record}
    row |= {"status": status, "reason": reason, "plan": record.get("case", {}).get("plan")}
    return row | {f"counter_{name}": value for name, value in record.get("counters", {}).items()}


def rows_of(runs, columns) -> list:
    """Rows, each a dict by column.

    Parameters
    ----------
    runs : iterable of (dict, dict)
        What is said of each run, and its record.
    columns : list of str
        The names of what is said, in order.
    """
    rows = [_row(said, record) for said, record in runs]
    columns = dict.fromkeys([*columns, *(name for row in rows for name in row)])
    return [{name: row.get(name) for name in columns} for row in rows]


def varied(rows, columns) -> list:
    """The columns, of those that are said of runs, that have several values."""
    return [name for name in columns if len({row.get(name) for row in rows}) > 1]


def _place(row, columns, *but):
    return tuple(row.get(name) for name in columns if name not in but)


def speedups(rows, columns, axis) -> dict:
    """The speedups of each value of an axis over its first, at equal values of all other columns.

    Returns ``{value: [ratio of total cycles, ...]}``, in the order of the values. Runs of which one
    of the two did not end are left out.
    """
    values = list(dict.fromkeys(row.get(axis) for row in rows))
    cycles = {(row.get(axis), _place(row, columns, axis)): row["total_cycles"] for row in rows
              if row["status"] == "done"}
    places = dict.fromkeys(_place(row, columns, axis) for row in rows)
    return {value: [cycles[values[0], place] / cycles[value, place] for place in places
                    if (value, place) in cycles and (values[0], place) in cycles]
            for value in values}


def shown(table):
    """A :class:`~sw.study.reproduce.outcome.Table` as rich prints it: texts take several lines
    where the terminal is narrow, and no number is cut."""
    from rich import box
    from rich.table import Table as RichTable
    made = RichTable(title=table.title, title_justify="left", title_style="bold",
                     box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for index, name in enumerate(table.columns):
        number = bool(index) and all(row[index][:1] in "-0123456789" for row in table.rows)
        made.add_column(name, justify="right" if number else "left", no_wrap=number,
                        overflow="fold")
    for row in table.rows:
        made.add_row(*row)
    return made


def _text(value):
    """The value of an axis in a table."""
    return "-" if value is None else word(value)


def _name(column, value):
    """A value with its name, unless it speaks for itself."""
    return _text(value) if column in ("graph", "algorithm", "schedule", "preset") \
        else f"{column} {_text(value)}"


class SweepResult:
    """What a sweep measured.

    ``rows`` has a dict for each run: what the sweep says of it (``graph``, ``algorithm``,
    ``schedule``, fields of plan, hardware and memory, ``seed``); ``status``, which is ``"done"``,
    ``"refused"`` or ``"failed"``, and the ``reason``; ``total_cycles``, and ``cycles`` and
    ``launch_cycles`` of which they are the sum; figures of the run and of the graph; every counter
    as ``counter_NAME``.
    ``columns`` names what is said, ``notes`` the lines that belong to the figures.
    """

    def __init__(self, rows, columns, notes=()):
        self.rows, self.columns, self.notes = rows, list(columns), list(notes)

    def __len__(self):
        return len(self.rows)

    def __repr__(self):
        return f"<{type(self).__name__} of {self.summary}>"

    def _count(self, status):
        return sum(row["status"] == status for row in self.rows)

    @property
    def failed(self) -> int:
        """Runs that failed."""
        return self._count("failed")

    @property
    def summary(self) -> str:
        """The number of runs by status, in a few words."""
        return ", ".join([f"{self._count('done')} runs", *(
            f"{number} {status}" for status in ("refused", "failed")
            if (number := self._count(status)))])

    def frame(self) -> Any:
        """The rows as a pandas DataFrame. Raises UserError without pandas."""
        columns = {name: [row[name] for row in self.rows] for name in (self.rows or [{}])[0]}
        return frame_of(columns, range(len(self.rows)), "run", "a frame of a sweep")

    def write(self, path):
        """Write the rows as CSV, or as Parquet (which needs pyarrow) by the suffix of the name.
        Raises UserError."""
        suffix = pathlib.Path(path).suffix
        if suffix == ".parquet":
            need(f"writing {path}", "pyarrow")
            import pyarrow
            from pyarrow import parquet
            table, stream = pyarrow.Table.from_pylist(self.rows), io.BytesIO()
            parquet.write_table(table, stream)
            data = stream.getvalue()
        elif suffix == ".csv":
            text = io.StringIO()
            writer = csv.DictWriter(text, (self.rows or [{}])[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
            data = text.getvalue().encode()
        else:
            raise UserError(f"{path}: must end in {' or '.join(SUFFIXES)}")
        with replacing(path) as stream:
            stream.write(data)

    def table(self) -> str:
        """The tables for a terminal of 80 columns, as text: the fastest at each place, what each
        value of an axis gains, and what was refused."""
        from rich.console import Console
        text = io.StringIO()
        console = Console(file=text, width=80, highlight=False, markup=False)
        for table in self.tables():
            console.print(shown(table))
            console.print()
        return text.getvalue().rstrip() + "\n"

    def tables(self) -> list[Table]:
        """The tables of :meth:`table`, without those that would be empty."""
        return list(filter(None, (self._fastest(), self._gains(), self._reasons())))

    @property
    def axes(self) -> list:
        """The columns with several values by which cycles are compared."""
        return [name for name in varied(self.rows, self.columns) if name not in _PLACES]

    def _fastest(self):
        """The best run at each graph and algorithm, the mean of its seeds."""
        axes, rows = self.axes, []
        for (graph, algorithm), found in self._means().items():
            best = min(found, key=lambda key: found[key])
            first = next(iter(found))
            rows.append((_short(graph), algorithm, ", ".join(map(_name, axes, best)) or "-",
                         f"{found[best]:,.0f}", times(found[first] / found[best])))
        if not rows:
            return None
        first = ", ".join(map(_name, axes, _place(self.rows[0], axes)))
        title = f"The fastest on each graph, and its speedup over {first}" if axes else "Cycles"
        if len(rows) > _ROWS:
            title += f"; the first {_ROWS} of {len(rows)}"
        return Table(title, ("graph", "algorithm", "fastest", "cycles", "speedup"),
                     tuple(rows[:_ROWS]))

    def _means(self):
        """{(graph, algorithm): {values of the axes: mean cycles of the seeds}}."""
        axes, groups = self.axes, {}
        for row in self.rows:
            if row["status"] == "done":
                groups.setdefault((row["graph"], row["algorithm"]), {}).setdefault(
                    _place(row, axes), []).append(row["total_cycles"])
        return {place: {key: statistics.fmean(cycles) for key, cycles in found.items()}
                for place, found in groups.items()}

    def _gains(self):
        rows = []
        for axis in self.axes:
            first = True
            for value, ratios in speedups(self.rows, self.columns, axis).items():
                mean = geometric_mean(ratios)
                rows.append((axis if first else "", _text(value), str(len(ratios)), *(
                    times(each) for each in (
                        mean, *((min(ratios), max(ratios)) if ratios else (math.nan,) * 2)))))
                first = False
        return Table("Speedup of each value over the first of its axis, all else equal",
                     ("axis", "value", "runs", "mean", "least", "most"), tuple(rows)) \
            if rows else None

    def _reasons(self):
        """Refused and failed runs, by reason."""
        found = {}
        for row in self.rows:
            if row["status"] != "done":
                found.setdefault((row["status"], row["reason"]), []).append(row)
        names = [name for name in varied(self.rows, self.columns) if name != "seed"]
        return Table("Without a result", ("", "runs", "first", "reason"), tuple(
            (status, str(len(rows)), ", ".join(_name(name, rows[0][name]) for name in names),
             reason) for (status, reason), rows in found.items())) if found else None


def _short(graph):
    """The name of a graph in tables: that of its file, without the folder."""
    return pathlib.Path(graph).name
