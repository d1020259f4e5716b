"""``graphloom diff``: two files of results beside each other, such as before and after a change."""

from collections import Counter
from typing import Annotated

import typer

from base.errors import UserError

from . import benches, options
from .commands import app


#: Rows of a table of counters or runs; ``--all`` shows more.
_ROWS = 20


@app.command("diff", epilog="Examples: graphloom run bfs karate --json before.json; graphloom run "
             "bfs karate --set l1_bytes=4096 --json after.json; graphloom diff before.json "
             "after.json")
def _diff(
        before: Annotated[str, typer.Argument(
            metavar="BEFORE", help="Results of run, compare or sweep: a file of --json, or the "
            "folder of a sweep.")],
        after: Annotated[str, typer.Argument(metavar="AFTER", help="Other results.")],
        json: options.Json = None,
        every: Annotated[bool, typer.Option(
            "--all", help=f"Show more than {_ROWS} counters and runs.")] = False):
    """Show what differs between two results: configuration, graph and plan, and every counter.

    The largest relative change comes first. Of several runs, those are compared that have the
    algorithm, the graph and the plan in common.
    """
    from sw.show.diff import pairs, runs_in

    from . import files
    from .execute import console
    files.distinct({"--json": json}, (before, after))
    files.check(json, (".json",))
    first, second = runs_in(before), runs_in(after)
    try:
        found, *left = pairs(first, second)
    except UserError as error:
        raise UserError(f"{before}, {after}: {error}") from None
    value = {"before": before, "after": after, "pairs": [pair.record() for pair in found],
             "alone": [[side.name for side in sides] for sides in left]}
    files.write_json(json, value)
    out, rows = console(), None if every else _ROWS
    _differences(out, found)
    for path, sides in zip((before, after), left):
        for name, count in Counter(side.name for side in sides).items():
            out.say(f"only in {path}: {name}" + (f", {count} runs" if count > 1 else ""))
    out.print()
    if len(found) == 1:
        _one(out, found[0], rows)
    else:
        _many(out, found, rows)


def _differences(out, found):
    """What differs but the figures, each once."""
    counts = Counter(item for pair in found for item in pair.differs.items())
    for (name, (one, other)), count in counts.items():
        out.say(f"{name}: {_value(one)} -> {_value(other)}"
                + (f" ({count} of {len(found)} runs)" if count < len(found) else ""))
    if not counts:
        out.say("configuration, graph and plan are the same")
    if any(pair.first.sources != pair.second.sources for pair in found):
        out.say("measured with different sources of Graphloom")
    wrong = [pair for pair in found if pair.first.checksum != pair.second.checksum
             and pair.first.key("algorithm", "graph") == pair.second.key("algorithm", "graph")]
    if wrong:
        out.say(f"the results differ: {wrong[0].first.name}")


def _value(value):
    return "-" if value is None else str(value)


def _change(ratio):
    """A ratio of two figures as text."""
    if ratio in (0, float("inf")):
        return "gone" if ratio == 0 else "new"
    return f"{ratio:.2f}x" if ratio >= 2 or ratio <= 0.5 else f"{100 * (ratio - 1):+.1f} %"


def _one(out, pair, rows):
    """Every counter of a pair."""
    changes = list(pair.changes.items())
    if not changes:
        out.say(f"{pair.first.name}: all {pair.same} figures are the same")
        return
    out.say(f"{pair.first.name}:")
    if "total_cycles" in pair.changes:
        before, after, ratio = pair.changes["total_cycles"]
        out.say(f"{before:,} -> {after:,} total cycles, {_change(ratio)}")
    table = benches.table(("counter",), ("before", "after", "change"))
    for name, (before, after, ratio) in changes[:rows]:
        table.add_row(name, f"{before:,}", f"{after:,}", _change(ratio))
    out.print(table)
    _rest(out, len(changes), rows, "counters")
    out.say(f"{pair.same} figures are the same")


def _rest(out, number, rows, what):
    if rows is not None and number > rows:
        out.say(f"{number - rows} more {what}: --all")


def _many(out, found, rows):
    """The cycles of each pair, and the counters of all together."""
    from sw.show.diff import compared, size

    cost = "total_cycles" if "total_cycles" in found[0].first.figures else "instructions"
    table = benches.table(("run",), (cost, "after", "change"))
    ranked = sorted(found, key=lambda pair: -size(_ratio(pair, cost)))
    for pair in ranked[:rows]:
        table.add_row(pair.first.name, f"{pair.first.figures[cost]:,}",
                      f"{pair.second.figures[cost]:,}", _change(_ratio(pair, cost)))
    out.print(table)
    _rest(out, len(found), rows, "runs")
    table = benches.table(("counter, after over before",), ("mean", "least", "most"))
    changes = list(compared(found).items())
    for name, ratios in changes[:rows]:
        table.add_row(name, *map(_change, ratios))
    out.print()
    out.print(table)
    _rest(out, len(changes), rows, "counters")


def _ratio(pair, cost):
    return pair.second.figures[cost] / pair.first.figures[cost]
