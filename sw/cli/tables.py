"""Tables on the terminal; above all those that ``run`` and ``compare`` print, from the counters of
runs.

A :class:`FittedTable` fits any width, and never cuts a number. Where its columns have no room side
by side, the gaps between columns shrink first, and titles and texts take several lines. If that is
not enough, the columns are printed in several blocks below each other, each with the first columns.
"""

import collections
import dataclasses
import json
import operator
import re

from rich import box
from rich.cells import cell_len
from rich.table import Table as RichTable
from rich.text import Text

from base.printable import printable
from hw.isa import PHASES
from sim.meanings import meaning
from sw.device.result import STALL_LABELS


__all__ = ["FittedTable", "compared_table", "counters_table", "phases_table", "print_heads",
           "runs_table"]


#: A cell that is one number, with what belongs to it: 1,234 or 12.5 % or 3 of 4.
_NUMBER = re.compile(r"[-+~]?\d\S*( \S{1,3}| of \d\S*)?")

#: Pieces of a text, between which a line may end: a number stays whole.
_PIECE = re.compile(r"(?:\d[\d.,]*\d|[^\s,;:=/])*(?:(?<=\d) %)?[,;:=/]*\s*")

#: Characters up to which a word of a text or title keeps its column wide.
_WORD = 14

#: Characters that a column of texts gets before other columns go below.
_HANDY = 24

#: Characters between two columns, the widest gap first.
_GAPS = (3, 2, 1)


@dataclasses.dataclass
class _Column:
    """A column of a :class:`FittedTable`. Plainly mutable: rows add cells."""
    title: str
    right: bool  #: Whether it is set to the right.
    cells: list[Text] = dataclasses.field(default_factory=list)

    @property
    def content(self) -> int:
        """The width at which no cell is broken."""
        return max([1, *(cell.cell_len for cell in self.cells)])

    @property
    def natural(self) -> int:
        """The width at which neither the title nor a cell is broken."""
        return max(self.content, cell_len(self.title))

    @property
    def tight(self) -> int:
        """The width at which only the title is broken, between words."""
        return max([self.content, *map(cell_len, self.title.split())])

    @property
    def handy(self) -> int:
        """The width at which hardly a cell is broken."""
        return min(self.tight, max(self.least, _HANDY))

    @property
    def least(self) -> int:
        """The least width at which no number is broken."""
        words = [min(_WORD, cell_len(word)) for word in self.title.split()]
        for cell in self.cells:
            words.append(cell.cell_len if _NUMBER.fullmatch(cell.plain) else min(
                _WORD, max((cell_len(piece.rstrip()) for piece in _PIECE.findall(cell.plain)),
                           default=0)))
        return max([1, *words])


class FittedTable:
    """A table without rows.

    Parameters
    ----------
    *titles : str
        A title begins with ``<`` for a column that is set to the left, and ``>`` for one to the
        right. Of titles without such a mark the first is to the left, others to the right. The
        columns before the first one to the right, or else the first column, name the rows.
    heading : bool
        Whether the titles are printed.
    """

    def __init__(self, *titles: str, heading: bool = True) -> None:
        self._heading, self._sections = heading, set()
        self._columns = []
        for number, title in enumerate(titles):
            right = title[0] == ">" if title[:1] in ("<", ">") else number > 0
            self._columns.append(_Column(title[title[:1] in ("<", ">"):], right))
        rights = [column.right for column in self._columns]
        self._keys = max(1, rights.index(True) if True in rights else 1)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self._columns[0].cells)

    def add_row(self, *cells: str | Text) -> None:
        """Add a row: a cell for each column, a text or a rich Text."""
        for column, cell in zip(self._columns, cells, strict=True):
            column.cells.append(cell if isinstance(cell, Text)
                                else Text(printable(cell, lines=True)))

    def add_section(self) -> None:
        """Leave a line free below the last row."""
        self._sections.add(self.rows - 1)

    def __rich_console__(self, console, options):
        width = options.max_width
        for number, (columns, widths, gap) in enumerate(self._blocks(width)):
            if number:
                yield Text()
            yield self._block(columns, widths, gap)

    def _blocks(self, width):
        """(columns, their widths, the gap) of each block in a terminal of this width."""
        columns = self._columns
        for gap in _GAPS:
            room = width - gap * (len(columns) - 1)
            for measure in ("natural", "tight"):
                widths = [getattr(column, measure) for column in columns]
                if sum(widths) <= room:
                    return [(columns, widths, gap)]
        if sum(column.least for column in columns) <= room:
            return [(columns, _shared(columns, room), gap)]
        wide, narrow = ([*self._parts(width, operator.attrgetter(measure))]
                        for measure in ("handy", "least"))
        return wide if len(wide) <= len(narrow) else narrow

    def _parts(self, width, measure):
        """The blocks of a table that is too wide for one; ``measure`` gives the width of a column
        that decides which columns have room in a block."""
        keys, others = self._columns[:self._keys], self._columns[self._keys:]
        widest = max(map(measure, others), default=0)
        if len(keys) > 1 and sum(measure(column) + 1 for column in keys) + widest > width:
            keys = [_joined(keys)]
        while others:
            taken, room = [], width - sum(measure(column) + 1 for column in keys)
            while others and (not taken or measure(others[0]) <= room):
                room -= measure(others[0]) + 1
                taken.append(others.pop(0))
            block = [*keys, *taken]
            yield block, _shared(block, width - len(block) + 1), 1

    def _block(self, columns, widths, gap):
        """A rich table of these columns, in which nothing is left to break."""
        table = RichTable(box=box.SIMPLE_HEAD if self._heading else None, show_edge=False,
                          pad_edge=False, show_header=self._heading,
                          padding=(0, gap - 1 if self._heading else gap, 0, 0))
        for column, width in zip(columns, widths):
            table.add_column(_broken(Text(column.title), width), width=width, no_wrap=True,
                             justify="right" if column.right else "left")
        for row, cells in enumerate(zip(*(column.cells for column in columns))):
            table.add_row(*map(_broken, cells, widths), end_section=row in self._sections)
        return table


def _joined(columns):
    """One column in the place of several that name the rows."""
    return _Column(" ".join(column.title for column in columns).strip(), False, [
        Text(" ").join([cell for cell in cells if cell.plain])
        for cells in zip(*(column.cells for column in columns))])


def _shared(columns, room):
    """The widths of columns that have so much room together: each has its least width if there is
    room for all, and what is left goes to the narrowest of those that lack some."""
    widths = [column.least for column in columns]
    tight = [column.tight for column in columns]
    if sum(widths) > room:                      # the first column is broken anywhere
        widths[0] = max(1, room - sum(widths[1:]))
    for _ in range(room - sum(widths)):
        lacking = [place for place, width in enumerate(widths) if width < tight[place]]
        if lacking:
            widths[min(lacking, key=lambda place: widths[place])] += 1
    return widths


def _broken(text, width):
    """A text in lines of at most this width, broken between its pieces, or else anywhere."""
    if text.cell_len <= width and "\n" not in text.plain:
        return text
    lines = []
    for line in text.split("\n"):
        ends, used, place = [], 0, 0
        for piece in _PIECE.findall(line.plain):
            if used and used + cell_len(piece.rstrip()) > width:
                ends.append(place)
                used = 0
            while cell_len(piece.rstrip()) > width:
                place, piece = place + width, piece[width:]
                ends.append(place)
            used, place = used + cell_len(piece), place + len(piece)
        lines += line.divide(ends)
    for line in lines:
        line.rstrip()
    return Text("\n").join(line for line in lines if line.plain)


def _ratio(above, below, text="{:.1f}", scale=1):
    return text.format(scale * above / below) if below else "-"


def _at_once(result):
    return ", ".join(f"{name}={value}" for name, value in result.used.items()) or "-"


def _start(result):
    """The rows about the search that a run is, if it is one."""
    for name, vertex in result.starts.items():
        yield name, str(vertex)
    if result.reached is not None:
        yield "vertices reached", f"{result.reached:,} of {result.vertices:,}"


def _rows(result, rival, units):
    """(name, value) for each row of a column; None begins a new section. ``rival`` is as of
    :func:`compared_table`, or None. ``units`` has the area of each unit that hands out edges, if
    they differ."""
    c = result.counters
    cycles = result.cycles
    threads = result.config.threads

    def of(name):
        return c.get(name, 0)

    yield from _start(result)
    if not result.timed:
        yield "launches", f"{result.orders:,}"
        yield "at once", _at_once(result)
        yield "instructions", f"{of('instructions'):,}"
        yield "thread instructions", f"{of('lanes'):,}"
        yield f"mean active lanes, of {threads}", _ratio(of("lanes"), of("instructions"))
        return
    yield "cycles", f"{cycles:,}"
    yield "launches", f"{result.orders:,}"
    yield "cycles of launches", f"{result.launch_cycles:,}"
    yield "total cycles", f"{result.total_cycles:,}"
    if rival is not None:
        yield f"speedup over {rival[0]}", _ratio(rival[1].total_cycles, result.total_cycles,
                                                 "{:.2f}x")
    yield "at once", _at_once(result)
    if units:
        yield "unit that hands out edges", result.config.gather
        yield "LUT4 of the unit", units.get(result.config.gather, "-")
    yield None
    yield "instructions", f"{of('instructions'):,}"
    yield f"mean active lanes, of {threads}", _ratio(of("lanes"), of("instructions"))
    yield "instructions per cycle", _ratio(of("instructions"), cycles, "{:.3f}")
    slots = of("cycles") * result.config.cores
    stalled = sum(of(name) for name in STALL_LABELS)
    yield "stalls, of all cycles", _ratio(stalled, slots, "{:.1f} %", 100)
    for name, text in STALL_LABELS.items():
        yield f"  {text}", _ratio(of(name), slots, "{:.1f} %", 100)
    yield None
    yield "L1 hit rate", _ratio(of("l1_load_hits"), of("l1_loads"), "{:.1f} %", 100)
    yield "mean loads under way", _ratio(of("loads_under_way"), slots, "{:.1f}")
    yield "coalescer busy", _ratio(of("coalescer_busy"), slots, "{:.1f} %", 100)
    yield "lines per access", _ratio(of("l1_accesses"), of("memory_instructions"), "{:.2f}")
    part = result.config.line_bytes // result.config.sectors
    yield "bytes used, of fetched by L1", _ratio(4 * of("load_words"), part * of("l1_fetches"),
                                                 "{:.0f} %", 100)
    yield "  of read from DRAM", _ratio(4 * of("load_words"), of("dram_bytes_read"), "{:.0f} %",
                                        100)
    yield "DRAM bytes", f"{of('dram_bytes_read') + of('dram_bytes_written'):,}"
    if "dram_activates" in result.counters:
        yield "  row hits", _ratio(of("dram_row_hits"), of("dram_column_reads")
                                   + of("dram_column_writes"), "{:.1f} %", 100)
        yield "  activates", f"{of('dram_activates'):,}"
        yield "  refreshes", f"{of('dram_refreshes'):,}"
        yield "  turns between reads and writes", f"{of('dram_turn_rounds'):,}"
    if "slow_bytes_read" in result.counters:
        yield "  slow memory", f"{of('slow_bytes_read') + of('slow_bytes_written'):,}"
    if "port_0_busy" in result.counters:
        ports = range(result.config.memory_ports)
        yield "bus of a memory port busy", _ratio(
            sum(of(f"port_{port}_busy") for port in ports), len(ports) * cycles, "{:.1f} %", 100)
        yield "  of the busiest", _ratio(
            max(of(f"port_{port}_busy") for port in ports), cycles, "{:.1f} %", 100)


def _areas(lanes) -> dict:
    """{unit that hands out edges: LUT4 that it adds to a core of so many lanes}, as text, by the
    syntheses that are kept."""
    from synth.overhead import UNIT_NAMES

    from .pages import OVERHEAD
    rows = json.loads(OVERHEAD.read_text())["rows"] if OVERHEAD.exists() else []
    found = {row["unit"]: row["added"]["lut4"] for row in rows if row["lanes"] == lanes}
    return {"none": "0"} | {unit: f"{found[name]:,}" for unit, name in UNIT_NAMES.items()
                            if name in found}


def compared_table(runs, rival) -> FittedTable:
    """A row for each run, the one of the fewest cycles first, with what matters most.

    Parameters
    ----------
    runs : list of (str, Result)
        The name of each row, and the run.
    rival : (str, Result)
        The run over which the others have a speedup.
    """
    threads = {result.config.threads for _, result in runs}
    lanes = f">lanes of {threads.pop()}" if len(threads) == 1 else ">lanes"
    table = FittedTable("<schedule", ">cycles", f">over {rival[0]}", ">instructions", lanes,
                        "<largest stall", ">DRAM bytes")
    for name, result in sorted(runs, key=lambda run: run[1].total_cycles):
        c = collections.Counter(result.counters)
        stall = max(STALL_LABELS, key=lambda cause: c[cause])
        slots = c["cycles"] * result.config.cores
        table.add_row(
            name, f"{result.total_cycles:,}",
            _ratio(rival[1].total_cycles, result.total_cycles, "{:.2f}x"),
            f"{c['instructions']:,}", _ratio(c["lanes"], c["instructions"]),
            f"{STALL_LABELS[stall]} {_ratio(c[stall], slots, '{:.0f} %', 100)}",
            f"{c['dram_bytes_read'] + c['dram_bytes_written']:,}")
    return table


def runs_table(runs, rival=None) -> FittedTable:
    """A column for each run, with all figures but the counters that few ask for. If the units that
    hand out edges differ, the table has them, and their area. The parameters are those of
    :func:`compared_table`; without a rival there are no speedups."""
    table, units = FittedTable("<", *(f">{name}" for name, _ in runs)), {}
    if len({result.config.gather for _, result in runs}) > 1:
        units = _areas(runs[0][1].config.threads)
    for cells in zip(*(list(_rows(result, rival, units)) for _, result in runs)):
        if cells[0] is None:
            table.add_section()
        else:
            table.add_row(cells[0][0], *(value for _, value in cells))
    return table


def phases_table(result) -> FittedTable:
    """Table of the warps' cycles by phase, in all and for each core."""
    cores = result.phases.sum(axis=1)
    columns = [cores.sum(axis=0), *(cores if len(cores) > 1 else ())]
    table = FittedTable("<phase", ">of the warps' cycles",
                        *(f">core {index}" for index in range(len(columns) - 1)))
    for phase, name in enumerate(PHASES):
        table.add_row(name, *(_ratio(int(column[phase]), int(column[-1]), "{:.1f} %", 100)
                              for column in columns))
    return table


def print_heads(out, heads):
    """Print the heads of a result (:mod:`sw.device.head`)."""
    for head in heads:
        out.print(f"\n{head.title}")
        if head.rows:
            table = FittedTable(*(f">{column}" for column in head.columns))
            for row in head.rows:
                table.add_row(*row)
            out.print(table)


def counters_table(counters) -> FittedTable:
    """Every counter with its meaning."""
    table = FittedTable("<counter", ">value", "<meaning")
    for name, value in counters.items():
        table.add_row(name, f"{value:,}", meaning(name))
    return table
