"""The table that ``run`` and ``compare`` print, from the counters of a run."""

from rich import box
from rich.table import Table

from hw.isa import PHASES
from hw.registers import COUNTERS
from hw.stalls import STALLS


__all__ = ["counters_table", "phases_table", "runs_table"]


_STALLS = {**{f"stall_{name}": stall.label for name, stall in STALLS.items()},
           "stall_idle": "no warp left"}


def _ratio(above, below, text="{:.1f}", scale=1):
    return text.format(scale * above / below) if below else "-"


def _rows(result, first):
    """(name, value) for each row of a column; None begins a new section."""
    c = result.counters
    cycles = result.cycles
    threads = result.config.threads

    def of(name):
        return c.get(name, 0)

    yield "cycles", f"{cycles:,}"
    yield "launches", f"{result.orders:,}"
    yield "cycles of launches", f"{result.launch_cycles:,}"
    yield "total cycles", f"{result.total_cycles:,}"
    yield f"speedup over {first.schedule}", _ratio(first.total_cycles, result.total_cycles,
                                                   "{:.2f}x")
    yield "at once", ", ".join(f"{name}={value}" for name, value in result.used.items()) or "-"
    yield None
    yield "instructions", f"{of('instructions'):,}"
    yield f"mean active lanes, of {threads}", _ratio(of("lanes"), of("instructions"))
    yield "instructions per cycle", _ratio(of("instructions"), cycles, "{:.3f}")
    slots = of("cycles") * result.config.cores
    yield "stalls, of all cycles", _ratio(sum(of(name) for name in _STALLS), slots, "{:.1f} %",
                                          100)
    for name, text in _STALLS.items():
        yield f"  {text}", _ratio(of(name), slots, "{:.1f} %", 100)
    yield None
    yield "L1 hit rate", _ratio(of("l1_load_hits"), of("l1_loads"), "{:.1f} %", 100)
    yield "lines per access", _ratio(of("l1_accesses"), of("memory_instructions"), "{:.2f}")
    yield "DRAM bytes", f"{of('dram_bytes_read') + of('dram_bytes_written'):,}"


def runs_table(results) -> Table:
    """A table with one column per result, and the speedups over the first result if there are
    several."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("", no_wrap=True)
    for result in results:
        table.add_column(result.schedule, justify="right", no_wrap=True)
    for cells in zip(*(list(_rows(result, results[0])) for result in results)):
        if cells[0] is None:
            table.add_section()
        elif len(results) > 1 or not cells[0][0].startswith("speedup"):
            table.add_row(cells[0][0], *(value for _, value in cells))
    return table


def phases_table(result) -> Table:
    """Table of the warps' cycles by phase, in all and for each core."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("phase", no_wrap=True)
    cores = result.phases.sum(axis=1)
    columns = [cores.sum(axis=0), *(cores if len(cores) > 1 else ())]
    for index in range(len(columns)):
        table.add_column(f"core {index - 1}" if index else "of the warps' cycles", justify="right",
                         no_wrap=True)
    for phase, name in enumerate(PHASES):
        table.add_row(name, *(_ratio(int(column[phase]), int(column[-1]), "{:.1f} %", 100)
                              for column in columns))
    return table


def counters_table(counters) -> Table:
    """Every counter with its meaning."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("counter", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("meaning")
    for name, value in counters.items():
        table.add_row(name, f"{value:,}", COUNTERS.get(name, ""))
    return table
