"""``graphloom campaign``: every legal value of every field of the configuration, built and run; or
the fuzzer."""

import os
import random
import time
from typing import Annotated

import typer

from sw.errors import UserError

from . import files, options


__all__ = ["register"]


_FUZZER = "Fuzzer"


def register(app):
    """Add the command."""
    app.command("campaign", epilog="Exit code: 0 if everything passed, 1 if not. Examples: "
                "graphloom campaign --results campaign.jsonl; graphloom campaign --list; "
                "graphloom campaign --only 3 --only 7; graphloom campaign --fuzz --files 500")(
                    _campaign)


@options.with_cluster
def _campaign(
        only: Annotated[list[int] | None, typer.Option(
            "--only", metavar="N", help="Check this configuration only; may be repeated. --list "
            "has the numbers.", show_default=False)] = None,
        list_: Annotated[bool, typer.Option(
            "--list", help="Show each configuration with the values that no earlier one has; check "
            "nothing.")] = False,
        instructions: Annotated[int, typer.Option(
            "--instructions", metavar="N", min=1, help="Instructions of random programs that each "
            "configuration executes; the last program is run to its end.")] = 50_000,
        seed: Annotated[int | None, typer.Option(
            "--seed", metavar="N", min=0, help="Seed of the first random program (each further "
            "program has the next seed), or of the fuzzer's cases. If left out, a seed is drawn "
            "and printed.",
            show_default=False)] = None,
        jobs: Annotated[int | None, typer.Option(
            "--jobs", metavar="N", min=1, help="Configurations, or processes of the fuzzer, at a "
            "time.",
            show_default="1, since a build uses all processors; with --fuzz all "
            "processors")] = None,
        cluster=None,
        results: Annotated[str | None, typer.Option(
            "--results", metavar="FILE", help="Keep the outcome of each configuration in this "
            "file, a line of JSON for each. A configuration that passed with the same sources and "
            "options is not checked again.", show_default=False)] = None,
        fuzz: Annotated[bool, typer.Option(
            "--fuzz", help="Run mutated command lines and mutated files, not configurations.",
            rich_help_panel=_FUZZER)] = False,
        lines: Annotated[int, typer.Option(
            "--lines", metavar="N", min=0, help="Number of mutated command lines.",
            rich_help_panel=_FUZZER)] = 2_000,
        files_: Annotated[int, typer.Option(
            "--files", metavar="N", min=0, help="Number of mutated files.",
            rich_help_panel=_FUZZER)] = 20_000,
        case: Annotated[str | None, typer.Option(
            "--case", metavar="line:N|file:N", help="Run this case only.", rich_help_panel=_FUZZER,
            show_default=False)] = None,
        keep: Annotated[str, typer.Option(
            "--keep", metavar="FOLDER", help="Folder that keeps the files that broke a rule.",
            rich_help_panel=_FUZZER)] = "results/fuzz",
        json: options.Json = None):
    """Build and run configurations that have every legal value of every field among them.

    Each configuration runs random programs, and every algorithm, schedule and direction. Programs
    run in lockstep with the instruction-set simulator if the configuration has one core and a
    trace port. Results, counters and the assertions of the RTL are checked.

    With --fuzz, the command line gets mutated arguments and files. No case may end in
    a traceback, hang, take much memory, or leave a file behind. docs/verification.md says more.
    """
    if not fuzz and case is not None:
        raise UserError(f"--case {case} selects a case of the fuzzer: give --fuzz as well")
    if fuzz and (only or list_ or results is not None or cluster is not None):
        raise UserError("--fuzz runs no configurations: leave out --only, --list, --results and "
                        "--cluster")
    if fuzz:
        from . import fuzz as fuzzer
        files.check(json, (".json",))
        return fuzzer.run(seed=_drawn() if seed is None else seed, lines=lines, files_=files_,
                          case=case, jobs=jobs or os.cpu_count() or 1, folder=keep, json=json)
    from campaign.covering import covering

    points = {point.number: point for point in covering()}
    for number in only or ():
        if number not in points:
            raise UserError(f"--only {number}: there are configurations 1 to {len(points)}")
    points = [points[number] for number in sorted(set(only or points))]
    if list_:
        _list(points)
        return 0
    files.distinct({"--results": results, "--json": json})
    files.check(results)
    files.check(json, (".json",))
    with options.executor("graphloom campaign", cluster, jobs, default=1) as executor:
        return _check(points, executor, instructions, seed, results, json)


def _check(points, executor, instructions, seed, results, json):
    """Check the points, and print and write the outcome. Returns the exit code."""
    from campaign.work import Work
    if executor.here:
        from sim import toolchain
        toolchain.verilator()          # told in one line if it is missing, before anything is done
        toolchain.compiler()
    began = time.perf_counter()
    if seed is None:
        seed = Work.begun(instructions, results)
        if seed is None:
            seed = _drawn()
        print(f"seed {seed}; to repeat: --seed {seed}", flush=True)
    work = Work(points, instructions=instructions, seed=seed, path=results)
    _run(work, executor)
    seconds = time.perf_counter() - began
    failed = _print(work, seconds)
    if json is not None:
        files.write_json(json, {
            "instructions": instructions, "seed": seed,
            "wall_seconds": round(seconds, 1) if executor.here else None,
            "covered": {name: list(values) for name, values in _covered(work).items()},
            "configurations": [work.records[point.number] for point in points]})
    return 1 if failed else 0


def _drawn():
    """A seed that nobody chose."""
    return random.SystemRandom().randrange(1 << 31)


def _table(**columns):
    """A table with a column for each name and how it is justified."""
    from rich import box
    from rich.table import Table
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name, justify in columns.items():
        table.add_column(name.replace("_", " "), justify=justify, no_wrap=justify == "right",
                         overflow="fold")
    return table


def _list(points):
    from hw.config import LEGAL

    from .execute import console
    table = _table(number="right", shape="left", configuration="left", first_to_have="left")
    for point in points:
        fields = " ".join(f"{name}={str(getattr(point.config, name)).lower()}" for name in LEGAL)
        first = ", ".join(f"{name} {str(value).lower()}" for name, value in point.first)
        table.add_row(str(point.number), _shape(point), fields, first)
    console().print(table)


def _shape(point):
    config = point.config
    return f"{config.cores} x " * (config.cores > 1) + f"{config.warps} x {config.threads}"


def _run(work, executor):
    """Check the points, and say what is going on."""
    from .execute import console, progress_display
    total, doing = len(work.points), {}
    err = console(stderr=True)
    with progress_display() as (show, _):
        def progress(point, text):
            doing[point.number] = f"{point.config.name}: {text}"
            show(f"{len(work.records)} of {total} done; " + "; ".join(doing.values()))

        def report(point, record):
            doing.pop(point.number, None)
            programs = record["lockstep_instructions"] + record["compared_instructions"]
            outcome = (f"{len(record['failures'])} FAILED" if record["failures"] else "passed")
            err.print(f"{len(work.records)} of {total}: {point.config.name}: {outcome}; "
                      f"{programs:,} instructions, {len(record['runs'])} runs"
                      + (f", {record['seconds']} s" if record["seconds"] is not None else ""))

        if work.records:
            err.print(f"{len(work.records)} of {total} passed before")
        work.run(executor, report, progress)


def _covered(work):
    """{field: values, or roles, of the points that passed}, in their order."""
    from campaign.covering import covered_by, required
    found = {name: set() for name in required()}
    for point in work.points:
        if not work.records[point.number]["failures"]:
            for name, value in covered_by(point.config).items():
                found[name].add(value)
    return {name: [value for value in values if value in found[name]]
            for name, values in required().items()}


def _print(work, seconds):
    """Print tables and failures; whether there are any."""
    from campaign.covering import required

    from .execute import console
    out, required_ = console(), required()
    table = _table(number="right", shape="left", in_lockstep="right", end_compared="right",
                   operations="right", runs="right", refused="right", build="right",
                   seconds="right", result="left")
    records = [(point, work.records[point.number]) for point in work.points]
    for point, record in records:
        build, all_ = record["build_seconds"], record["seconds"]
        table.add_row(
            str(point.number), _shape(point), f"{record['lockstep_instructions']:,}",
            f"{record['compared_instructions']:,}", str(record["operations"]),
            str(len(record["runs"])),
            str(len(record["refused"])), "-" if build is None else f"{build:.0f}",
            "-" if all_ is None else f"{all_:.0f}", "FAILED" if record["failures"] else "passed")
    out.print(table)
    out.print()
    table = _table(field="left", values="right", covered="right", those="left")
    for name, values in _covered(work).items():
        table.add_row(name, str(len(required_[name])), str(len(values)),
                      " ".join(str(value).lower() for value in values))
    out.print(table)
    out.print()
    failures = [(point, failure) for point, record in records for failure in record["failures"]]
    for point, failure in failures:
        out.print(f"{point.config.name}: {failure['what']}: {failure['message'].rstrip()}",
                  soft_wrap=True)
        out.print(f"reproduce: {failure['reproduce']}", soft_wrap=True)
    values = sum(map(len, _covered(work).values()))
    total = sum(map(len, required_.values()))
    bad = len({point.number for point, _ in failures})
    out.print(
        f"{len(records) - bad} of {len(records)} configurations passed, {values} of {total} "
        f"values covered; {sum(r['lockstep_instructions'] for _, r in records):,} instructions in "
        f"lockstep, {sum(r['compared_instructions'] for _, r in records):,} by their end; "
        f"{sum(r['operations'] for _, r in records)} operations of the SCU; "
        f"{sum(len(r['runs']) for _, r in records)} runs verified; {seconds:.0f} s")
    return bool(failures)
