"""``graphloom sweep``: graphs x algorithms x schedules x hardware x seeds, in one go."""

import os
import pathlib
from typing import Annotated

import typer

from base.errors import UserError
from base.installation import PROGRAM, need
from base import numbers

from . import options
from .commands import app
from .completion import many
from .options import option
from .records import with_workers


_AXES, _FILES = "Axes", "Files"

#: Options that are a key of a sweep's file, and that key.
_OPTIONS = (
    option("graphs", list[str], _AXES, "A graph; may be repeated.", flags="--graph",
           metavar="GRAPH"),
    option("algorithms", list[str], _AXES, "An algorithm, or the text of a plan such as "
           "'bfs(source=3) direction=push'; may be repeated.", flags="--algorithm", metavar="NAME"),
    option("schedules", str, _AXES, "Schedules: {schedules}.", metavar="A,B,...",
           show_default="the best in software, and weaver", autocompletion=many("schedules")),
    option("repeats", int, _AXES, "Seeds of each graph that is drawn at random.", metavar="N",
           min=1, show_default="1"),
    option("choose", list[str], _AXES, "Values of a further field of the plan, e.g. "
           "direction=pull,push; may be repeated.", metavar="FIELD=A,B"),
    option("preset", str, _AXES, "Hardware to start from.", metavar="A,B", show_default="default"),
    option("set_", list[str], _AXES, "Values of a field of the hardware, e.g. "
           "l1_bytes=4096,16384; may be repeated.", metavar="FIELD=A,B"),
    option("dram", list[str], _AXES, "Values of a field of the simulated DRAM, e.g. "
           "latency=100,400; may be repeated.", metavar="FIELD=A,B"),
    option("undirected", bool, "Graph", "Add the reverse of each arc of all graphs."),
    option("weights", int, "Graph", "Random weights from 1 to N for graphs without weights.",
           metavar="N", min=1),
    option("max_cycles", int, "Hardware", "Give up a run after this many cycles.", metavar="N",
           min=1),
    option("launch_cycles", int, "Hardware", "Cycles of the host for each launch.", metavar="N",
           min=0, show_default="those of the host port"),
)


@app.command("sweep", epilog="Exit code: 0; 1 if a run failed. Examples: graphloom sweep "
             "caches.toml; graphloom sweep --graph karate --graph road:side=32 --algorithm bfs "
             "--schedules vm,weaver --set l1_bytes=4096,16384")
@options.folded("axes", [*_OPTIONS], lambda **values: values)
@with_workers()
def _sweep(
        axes,
        workers,
        file: Annotated[str | None, typer.Argument(
            metavar="[FILE.toml]", help="What to run (docs/sweep.md). An option takes the place of "
            "the same axis of the file.", show_default=False)] = None,
        *,
        output: Annotated[str | None, typer.Option(
            "-o", "--output", metavar="DIR", help="Folder for runs.jsonl and runs.csv, a row for "
            "each run. A folder with a part of the same sweep is gone on with.",
            rich_help_panel=_FILES, show_default="results/FILE")] = None,
        table: Annotated[str | None, typer.Option(
            metavar="FILE.parquet|.csv", help="Write the rows to this file as well.",
            rich_help_panel=_FILES)] = None,
        report: Annotated[str | None, typer.Option(
            metavar="DIR", help="Make the pages of `graphloom report` as well.",
            rich_help_panel=_FILES)] = None):
    """Run the product of graphs, algorithms, schedules and hardware, and compare the costs.

    Every result is checked. A run that the machine refuses is shown with its reason, and ends
    nothing. After an interruption, the same command goes on with the runs that are missing.
    """
    from sw.study.sweep.rows import SUFFIXES, shown
    from sw.study.sweep.runs import RECORDS, SweepRun
    from sw.study.sweep.spec import SweepSpec

    from . import files
    from .benches import outcome
    from .execute import console
    from .progress import progress
    record, place = _record(file, axes)
    output = output or f"results/{pathlib.Path(file).stem if file else 'sweep'}"
    files.distinct({"--table": table}, [file] if file else ())
    files.check(table, SUFFIXES)
    if table is not None and table.endswith(".parquet"):
        need("graphloom sweep --table FILE.parquet", "pyarrow")
    if report is not None:
        need("graphloom sweep --report", "plotly")
        from sw.show.report import build, folder
        folder.check(report)
    run = SweepRun(SweepSpec(record, place), output)
    batch, out = run.batch, console()
    reads = [name for case in batch.cases for name in case.reads]
    try:
        with workers.executor("graphloom sweep", dict.fromkeys(reads)) as executor, progress(
                len(batch.cases), len(batch.records), lambda case: case.describe(), outcome) \
                as (begun, ended, _):
            result = run.run(executor, ended, begun)
    except KeyboardInterrupt:
        options.note(f"{len(batch.records)} of {len(batch.cases)} runs are in {output}; the same "
                     "command goes on")
        raise
    for each in result.tables():
        out.print(shown(each))
        out.print()
    out.notes(result.notes)
    if table is not None:
        result.write(table)
    if report is not None:
        build.build([os.path.join(output, RECORDS)], report)
        out.say(f"{report}/index.html: the plots; open it in a browser")
    out.say(f"{result.summary}, in {output}"
            + (f"; {PROGRAM} report {output} -o DIR makes plots" if report is None else ""))
    return 1 if result.failed else 0


def _record(file, axes):
    """The record of a sweep, and the places of its keys: an option, or a line of the file."""
    from sw.study.sweep.spec import read, spelled
    record, in_file = ({}, lambda path: "") if file is None else read(file)
    given, flags = {}, {}
    for each in _OPTIONS:
        value = axes[each.name]
        if value is None or value is False or value == []:    # 0 is a value
            continue
        flag = options.flag(each.name.removesuffix("s") if each.name in ("graphs", "algorithms")
                            else each.name)
        if each.name in ("graphs", "algorithms", "repeats", "max_cycles", "launch_cycles"):
            given[each.name], flags[each.name,] = value, flag
        elif each.name == "schedules":
            given[each.name], flags[each.name,] = options.names(value, flag), flag
        else:
            key = _TABLES[each.name]
            fields = (_fields(value, flag) if isinstance(value, list) else
                      {each.name: options.names(value, flag) if each.name == "preset" else value})
            if isinstance(record.get(key), list):
                raise UserError(f"{flag}: {in_file((key,))} are several tables, which no option "
                                "changes")
            given[key] = {**record.get(key, {}), **given.get(key, {}), **fields}
            flags |= {(key, name): flag for name in fields}
    if file is None and not {"graphs", "algorithms"} <= given.keys():
        raise UserError("give FILE.toml, or --graph and --algorithm")

    def place(path):
        for end in (1, 2):
            if path[:end] in flags:
                return f"{flags[path[:end]]} {spelled(path[end - 1:])}" if end == 2 \
                    else flags[path[:end]]
        return in_file(path)
    return record | given, place


#: {option: the table of a sweep's file that it changes}.
_TABLES = {"choose": "plan", "preset": "hardware", "set_": "hardware", "dram": "dram",
           "undirected": "graph", "weights": "graph"}


def _fields(assignments, flag):
    """``FIELD=A,B`` texts as a table: numbers and truth values as TOML has them."""
    found = {}
    for text in assignments:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not equals:
            raise UserError(f"{flag} {text}: must be FIELD=A,B")
        if name in found:
            raise UserError(f"{flag} {text}: {name} is given twice")
        found[name] = [_value(each) for each in options.names(values, f"{flag} {name}")]
    return found


def _value(text):
    number = numbers.integer(text)
    return {"true": True, "false": False}.get(text, text) if number is None else number
