"""Tables of nextpnr's results."""

from .tables import FittedTable


__all__ = ["path_table", "print_placements"]


def _signal(name):
    """A signal without the name that the unit has in its wrapper."""
    from synth.wrapper import UNIT
    return (name or "").replace(f"{UNIT}.", "", 1)


def path_table(steps) -> FittedTable:
    """The places on a path: where it begins, what follows each wire, where it ends."""
    table = FittedTable("ns", "<at", "<signal")
    last = len(steps) - 1
    for number, step in enumerate(steps):
        if number in (0, last) or step.kind not in ("logic", "clk-to-q"):
            table.add_row(f"{step.time:.2f}", step.kind, _signal(step.signal))
    return table


def print_placements(out, placements):
    """The frequency of each seed, and the critical path of the slowest."""
    from synth.place import spread
    found = spread(placements)
    table = FittedTable("seed", "MHz", "levels", "from", "to", "seconds")
    for placement in placements:
        ends = [_signal(step.signal) for step in placement.path] or [""]
        table.add_row(str(placement.seed), f"{placement.frequency:.1f}", str(placement.levels),
                      ends[0], ends[-1], f"{placement.seconds:.0f}")
    out.print(f"placed, {len(placements)} seed{'s' * (len(placements) > 1)}: median "
              f"{found.median:.1f} MHz, {found.low:.1f} to {found.high:.1f}")
    out.print(table)
    slowest = min(placements, key=lambda placement: placement.frequency)
    out.print(f"\ncritical path with seed {slowest.seed}:")
    out.print(path_table(slowest.path))
