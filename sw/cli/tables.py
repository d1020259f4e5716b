"""Tables on the terminal; above all the one that ``run`` and ``compare`` print, from the counters
of a run."""

import json

from rich import box
from rich.table import Table

from hw.isa import PHASES
from hw.registers import COUNTERS
from hw.stalls import STALLS


__all__ = ["counters_table", "new_table", "phases_table", "runs_table"]


_STALLS = {**{f"stall_{name}": stall.label for name, stall in STALLS.items()},
           "stall_idle": "no warp left"}


def new_table(*titles) -> Table:
    """A table without rows. A title begins with ``<`` for a column that is set to the left, ``>``
    for one to the right, and ``|`` for one to the left that may take several lines. Of titles
    without such a mark the first is to the left, others to the right."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for number, title in enumerate(titles):
        if not title.startswith(("<", ">", "|")):
            title = f"{'>' if number else '<'}{title}"
        folds = title[0] == "|"
        table.add_column(title[1:], justify="right" if title[0] == ">" else "left",
                         no_wrap=not folds, overflow="fold" if folds else "ellipsis")
    return table


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


def _rows(result, first, units):
    """(name, value) for each row of a column; None begins a new section. ``units`` has the area of
    each unit that hands out edges, if they differ."""
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
    yield f"speedup over {first.schedule}", _ratio(first.total_cycles, result.total_cycles,
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
    yield "stalls, of all cycles", _ratio(sum(of(name) for name in _STALLS), slots, "{:.1f} %", 100)
    for name, text in _STALLS.items():
        yield f"  {text}", _ratio(of(name), slots, "{:.1f} %", 100)
    yield None
    yield "L1 hit rate", _ratio(of("l1_load_hits"), of("l1_loads"), "{:.1f} %", 100)
    yield "lines per access", _ratio(of("l1_accesses"), of("memory_instructions"), "{:.2f}")
    yield "DRAM bytes", f"{of('dram_bytes_read') + of('dram_bytes_written'):,}"
    if "slow_bytes_read" in result.counters:
        yield "  slow memory", f"{of('slow_bytes_read') + of('slow_bytes_written'):,}"


def _areas(lanes) -> dict:
    """{unit that hands out edges: LUT4 that it adds to a core of so many lanes}, as text, by the
    syntheses that are kept."""
    from synth.overhead import UNIT_NAMES

    from .pages import OVERHEAD
    rows = json.loads(OVERHEAD.read_text())["rows"] if OVERHEAD.exists() else []
    found = {row["unit"]: row["added"]["lut4"] for row in rows if row["lanes"] == lanes}
    return {"none": "0"} | {unit: f"{found[name]:,}" for unit, name in UNIT_NAMES.items()
                            if name in found}


def runs_table(results) -> Table:
    """A table with one column per result, and the speedups over the first result if there are
    several. If their units that hand out edges differ, the table has them, and their area."""
    table = new_table("<", *(f">{result.schedule}" for result in results))
    units = {}
    if len({result.config.gather for result in results}) > 1:
        units = _areas(results[0].config.threads)
    for cells in zip(*(list(_rows(result, results[0], units)) for result in results)):
        if cells[0] is None:
            table.add_section()
        elif len(results) > 1 or not cells[0][0].startswith("speedup"):
            table.add_row(cells[0][0], *(value for _, value in cells))
    return table


def phases_table(result) -> Table:
    """Table of the warps' cycles by phase, in all and for each core."""
    cores = result.phases.sum(axis=1)
    columns = [cores.sum(axis=0), *(cores if len(cores) > 1 else ())]
    table = new_table("<phase", ">of the warps' cycles",
                      *(f">core {index}" for index in range(len(columns) - 1)))
    for phase, name in enumerate(PHASES):
        table.add_row(name, *(_ratio(int(column[phase]), int(column[-1]), "{:.1f} %", 100)
                              for column in columns))
    return table


def counters_table(counters) -> Table:
    """Every counter with its meaning."""
    table = new_table("<counter", ">value", "|meaning")
    for name, value in counters.items():
        table.add_row(name, f"{value:,}", COUNTERS.get(name, ""))
    return table
