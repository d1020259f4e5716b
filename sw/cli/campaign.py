"""``graphloom campaign``: every legal value of every field of the configuration, built and run; or
the fuzzer; or floating point alone."""

import os
import random
import time
from typing import Annotated

import typer

from base.errors import UserError
from base.installation import need

from . import c_functions, files, options
from .commands import app
from .fuzz import OPTIONS, run
from .progress import progress
from .options import folded, option
from .records import with_workers


#: Operands of floating-point operations that are compared at a time, and differences shown.
_FLOATS, _SHOWN = 100_000, 20

_OPTIONS = (
    option("only", list[int], None, "Check this configuration only; may be repeated. --list has "
           "the numbers.", metavar="N"),
    option("list_", bool, None, "Show each configuration with the values that no earlier one has; "
           "check nothing."),
    option("instructions", int, None, "Instructions of random programs that each configuration "
           "executes; the last program is run to its end.", default=50_000, metavar="N", min=1),
    option("results", str, None, "Keep the outcome of each configuration in this file, a line of "
           "JSON for each. A configuration that passed with the same sources and options is not "
           "checked again.", metavar="FILE"),
    option("floats", int, None, "Compare the floating-point units with Berkeley SoftFloat on so "
           "many random operands in each pipeline, and build no configuration.", metavar="N",
           min=1),
    c_functions.OPTION,
)


@app.command("campaign", epilog="Exit code: 0 if everything passed, 1 if not. Examples: graphloom "
             "campaign --results campaign.jsonl; graphloom campaign --list; graphloom campaign "
             "--only 3 --only 7; graphloom campaign --fuzz --files 500; graphloom campaign "
             "--floats 10000000")
@folded("asked", _OPTIONS)
@folded("fuzzing", OPTIONS)
@with_workers("Configurations, or processes of the fuzzer, at a time.",
              default="1, since a build uses all processors; with --fuzz all processors")
def _campaign(
        asked,
        fuzzing,
        workers,
        seed: Annotated[int | None, typer.Option(
            metavar="N", min=0, help="Seed of the first random program (each further program has "
            "the next seed), or of the fuzzer's cases. If left out, a seed is drawn and "
            "printed.")] = None,
        json: options.Json = None):
    """Build and run configurations that have every legal value of every field among them.

    Each configuration runs random programs, and every algorithm, schedule and direction. Programs
    run in lockstep with the instruction-set simulator if the configuration has one core and a
    trace port. Results, counters and the assertions of the RTL are checked.

    With --floats, lanes of the floating-point units alone are compared with Berkeley SoftFloat.

    With --c, random functions of C are compiled for all lanes and compared (docs/c.md).

    With --fuzz, the command line gets mutated arguments and files. No case may end in
    a traceback, hang, take much memory, or leave a file behind. docs/verification.md says more.
    """
    if not fuzzing.fuzz and fuzzing.case is not None:
        raise UserError(f"--case {fuzzing.case} selects a case of the fuzzer: give --fuzz as well")
    if fuzzing.fuzz and (asked.only or asked.list_ or asked.results is not None
                         or workers.cluster is not None):
        raise UserError("--fuzz runs no configurations: leave out --only, --list, --results and "
                        "--cluster")
    if asked.floats is not None and (
            fuzzing.fuzz or asked.only or asked.list_ or asked.results is not None
            or json is not None or workers.cluster is not None):
        raise UserError("--floats runs no configurations: leave out --fuzz, --only, --list, "
                        "--results, --json and --cluster")
    if asked.floats is not None:
        return _floats(asked.floats, _drawn() if seed is None else seed)
    if asked.c is not None:
        if (fuzzing.fuzz or asked.only or asked.list_ or asked.results is not None
                or asked.floats is not None or workers.cluster is not None):
            raise UserError("--c runs no configurations: leave out --fuzz, --floats, --only, "
                            "--list, --results and --cluster")
        files.check(json, (".json",))
        return c_functions.run(asked.c, _drawn() if seed is None else seed, json)
    if fuzzing.fuzz:
        files.check(json, (".json",))
        return run(fuzzing, _drawn() if seed is None else seed,
                   workers.jobs or os.cpu_count() or 1, json)
    from checks.campaign.covering import covering

    points = {point.number: point for point in covering()}
    for number in asked.only or ():
        if number not in points:
            raise UserError(f"--only {number}: there are configurations 1 to {len(points)}")
    points = [points[number] for number in sorted(set(asked.only or points))]
    if asked.list_:
        return _list(points)
    files.distinct({"--results": asked.results, "--json": json})
    files.check(asked.results)
    files.check(json, (".json",))
    with workers.executor("graphloom campaign", default=1) as executor:
        return _check(points, executor, asked, seed, json)


def _check(points, executor, asked, seed, json):
    """Check the points, and print and write the outcome. Returns the exit code."""
    from checks.campaign.work import Work
    if executor.here:
        from sim import toolchain
        toolchain.verilator()          # told in one line if it is missing, before anything is done
        toolchain.compiler()
    began = time.perf_counter()
    if seed is None:
        seed = Work.begun(asked.instructions, asked.results)
        if seed is None:
            seed = _drawn()
        print(f"seed {seed}; to repeat: --seed {seed}", flush=True)
    work = Work(points, instructions=asked.instructions, seed=seed, path=asked.results)
    with progress(len(points), len(work.records), lambda point: point.config.name, _outcome) \
            as (begun, ended, _):
        work.run(executor, ended, begun)
    seconds = time.perf_counter() - began
    failed = _print(work, seconds)
    files.write_json(json, {
        "instructions": asked.instructions, "seed": seed,
        "wall_seconds": round(seconds, 1) if executor.here else None,
        "covered": {name: list(values) for name, values in _covered(work).items()},
        "configurations": [work.records[point.number] for point in points]})
    return 1 if failed else 0


def _floats(count, seed):
    """Compare the floating-point units with SoftFloat. Returns the exit code."""
    need("graphloom campaign --floats", "softfloatpy")
    import numpy

    from checks.campaign import floats
    print(f"seed {seed}; to repeat: --seed {seed}", flush=True)
    wrong = 0
    for long in (False, True):
        batch, rng = floats.FloatBatch(long), numpy.random.default_rng(seed)
        began = time.perf_counter()
        for first in range(0, count, _FLOATS):
            rows = floats.drawn(rng, min(_FLOATS, count - first))
            found = floats.differences(rows, batch.run(rows), floats.softfloat(rows))
            for line in found[:max(0, _SHOWN - wrong)]:
                print(line, flush=True)
            wrong += len(found)
        print(f"{'long' if long else 'short'} pipeline: {count:,} operands, "
              f"{time.perf_counter() - began:.1f} s, {wrong:,} differences", flush=True)
    return 1 if wrong else 0


def _outcome(record):
    programs = record["lockstep_instructions"] + record["compared_instructions"]
    return ((f"{len(record['failures'])} FAILED" if record["failures"] else "passed")
            + f"; {programs:,} instructions, {len(record['runs'])} runs"
            + (f", {record['seconds']} s" if record["seconds"] is not None else ""))


def _drawn():
    """A seed that nobody chose."""
    return random.SystemRandom().randrange(1 << 31)


def _list(points):
    from hw.config import LEGAL

    from .execute import console
    from .tables import FittedTable
    table = FittedTable(">number", "<shape", "<configuration", "<first to have")
    for point in points:
        fields = " ".join(f"{name}={str(getattr(point.config, name)).lower()}" for name in LEGAL)
        first = ", ".join(f"{name} {str(value).lower()}" for name, value in point.first)
        table.add_row(str(point.number), _shape(point), fields, first)
    console().print(table)
    return 0


def _shape(point):
    config = point.config
    return f"{config.cores} x " * (config.cores > 1) + f"{config.warps} x {config.threads}"


def _covered(work):
    """{field: values, or roles, of the points that passed}, in their order."""
    from checks.campaign.covering import covered_by, required
    found = {name: set() for name in required()}
    for point in work.points:
        if not work.records[point.number]["failures"]:
            for name, value in covered_by(point.config).items():
                found[name].add(value)
    return {name: [value for value in values if value in found[name]]
            for name, values in required().items()}


def _print(work, seconds):
    """Print tables and failures; whether there are any."""
    from checks.campaign.covering import required

    from .execute import console
    from .tables import FittedTable
    out, required_ = console(), required()
    table = FittedTable(">number", "<shape", ">in lockstep", ">end compared", ">operations",
                        ">runs", ">refused", ">build", ">seconds", "<result")
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
    table = FittedTable("<field", ">values", ">covered", "<those")
    for name, values in _covered(work).items():
        table.add_row(name, str(len(required_[name])), str(len(values)),
                      " ".join(str(value).lower() for value in values))
    out.print(table)
    out.print()
    failures = [(point, failure) for point, record in records for failure in record["failures"]]
    for point, failure in failures:
        out.say(f"{point.config.name}: {failure['what']}: {failure['message'].rstrip()}")
        out.say(f"reproduce: {failure['reproduce']}")
    values = sum(map(len, _covered(work).values()))
    total = sum(map(len, required_.values()))
    bad = len({point.number for point, _ in failures})
    out.print(f"{len(records) - bad} of {len(records)} configurations passed, {values} of {total} "
              f"values covered; {sum(r['lockstep_instructions'] for _, r in records):,} "
              f"instructions in lockstep, {sum(r['compared_instructions'] for _, r in records):,} "
              f"by their end; {sum(r['operations'] for _, r in records)} operations of the SCU; "
              f"{sum(len(r['runs']) for _, r in records)} runs verified; {seconds:.0f} s")
    return bool(failures)
