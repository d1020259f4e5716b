"""``graphloom mutants``: planted faults, and whether the tests notice them."""

import fnmatch
from typing import Annotated

import typer

from base.errors import UserError
from base.installation import need, need_tree

from . import files
from .commands import app
from .progress import progress
from .options import folded, option
from .records import with_workers


_OPTIONS = (
    option("sample", int, None, "Run N mutants that operators make, drawn at random from all rooms "
           "in proportion to their places, at least one from each.", metavar="N", min=1),
    option("seed", int, None, "Seed of the draw.", metavar="N", min=0, show_default="1"),
    option("curated", bool, None, "Run the curated mutants: faults that operators cannot make."),
    option("room", list[str], None, "Only mutants of these rooms, such as hw/core or 'sw/*'; may "
           "be repeated.", metavar="GLOB"),
    option("file", list[str], None, "Only mutants of these source files; may be repeated.",
           metavar="GLOB"),
    option("show", bool, None, "Show each mutant as a diff, with the tests that ought to notice "
           "it; run nothing."),
    option("list_", bool, None, "Show each mutant's id and line; run nothing."),
)


@app.command("mutants", epilog="Exit code: 0 if every fault is noticed or judged, 1 if not. "
             "Examples: graphloom mutants --sample 300 --seed 7 --results mutants.jsonl; graphloom "
             "mutants --sample 20 --room hw/scu; graphloom mutants --curated; graphloom mutants "
             "--show ID")
@folded("choice", _OPTIONS)
@with_workers("Mutants at a time.")
def _mutants(
        names: Annotated[list[str] | None, typer.Argument(
            metavar="[ID]...", help="Mutants to run, by the ids that a sample or --list "
            "shows.")] = None,
        *,
        choice,
        workers,
        timeout: Annotated[float, typer.Option(
            metavar="SECONDS", min=1, help="Processor time for each process of a mutant's tests; "
            "each may wait for five times as long. A mutant that takes longer is noticed.")] = 200,
        results: Annotated[str | None, typer.Option(
            metavar="FILE", help="Keep the outcome of each mutant in this file, a line of JSON for "
            "each. What was noticed is not run again as long as its file is the same, nor what "
            "survived as long as all sources are.")] = None,
        json: Annotated[str | None, typer.Option(
            metavar="FILE", help="Write each mutant and its outcome.")] = None):
    """Plant faults, one at a time, and run the tests that ought to notice each fault.

    Operators make the faults from the sources: a negated condition, a missing assignment, a bound
    off by one. Each fault is planted in a copy of the sources, whose tests run until one fails; of
    a sample, only tests that call the function with the fault. A mutant that survives is a gap in
    the tests, unless checks/campaign/mutants/judged.toml says why not. docs/verification.md says
    more.
    """
    from checks.campaign.mutants.mutant import MutantError
    need_tree("graphloom mutants")
    if choice.seed is not None and choice.sample is None:
        raise UserError("--seed applies to --sample only: give --sample as well")
    if bool(names) + choice.curated + (choice.sample is not None) != 1:
        raise UserError("give one of --sample N, --curated, or the ids of mutants")
    try:
        mutants = _chosen(names, choice)
    except MutantError as error:
        raise UserError(str(error)) from None
    if choice.show or choice.list_:
        for mutant in mutants:
            print(mutant.diff() + "\n".join(f"tests: {one}" for one in mutant.notices)
                  if choice.show else f"{mutant.id}  line {mutant.line}")
        return 0
    need("graphloom mutants", "pytest", "test")
    files.check(results)
    files.check(json, (".json",))
    from checks.campaign.mutants.draw import judged
    from checks.campaign.mutants.run import MutantWork
    work = MutantWork(mutants, timeout=timeout, path=results, whole=choice.sample is None)
    with (workers.executor("graphloom mutants") as executor,
          progress(len(mutants), len(work.records), lambda mutant: mutant.id, _outcome)
          as (begun, ended, _)):
        work.run(executor, ended, begun)
    reasons = judged()
    files.write_json(json, {"mutants": [
        {"id": mutant.id, "file": mutant.file, "line": mutant.line, "diff": mutant.diff(),
         "judged": reasons.get(mutant.id), **work.records.get(mutant.id, {}),
         "outcome": work.outcome(mutant)} for mutant in mutants]})
    return 1 if _print(work, reasons) else 0


def _outcome(record):
    seconds = "" if record["seconds"] is None else f", {record['seconds']} s"
    return f"{record['outcome']}{seconds}"


def _chosen(names, choice):
    """The mutants of a command line."""
    from checks.campaign.mutants import curated
    from checks.campaign.mutants.draw import draw
    from checks.campaign.mutants.mutant import room
    from checks.campaign.mutants.places import files as sources, find
    rooms, globs = choice.room or [], choice.file or []

    def wanted(file):
        return ((not rooms or any(fnmatch.fnmatchcase(room(file), glob) for glob in rooms))
                and (not globs or any(fnmatch.fnmatchcase(file, glob) for glob in globs)))

    if names:
        if rooms or globs:
            raise UserError("--room and --file choose among many mutants: leave them out, or the "
                            "ids")
        return [find(name).mutant() if ":" in name else curated.find(name)
                for name in dict.fromkeys(names)]
    found = [fault.mutant() for fault in curated.faults() if wanted(fault.file)] \
        if choice.sample is None else draw(choice.sample, 1 if choice.seed is None else choice.seed,
                                           among=list(filter(wanted, sources())))
    if not found:
        raise UserError(f"{' '.join([*rooms, *globs])}: there is no mutant in such a room or file; "
                        "rooms are such as hw/core, files such as hw/core/alu.py")
    return found


def _print(work, reasons):
    """Print what was not noticed, and the score of each room. Returns whether there is a problem:
    a survivor that nobody has judged, or a test that fails without a fault."""
    from checks.campaign.mutants.run import NOTICED

    from .execute import console
    out = console()
    rooms, open_ = {}, 0

    for mutant in work.mutants:
        outcome = work.outcome(mutant)
        reason = reasons.get(mutant.id, "")
        row = rooms.setdefault(mutant.room, {"mutants": 0, "noticed": 0, "survived": 0, "judged": 0,
                                             "equivalent": 0})
        if outcome in NOTICED:
            row["noticed"] += 1
        elif outcome == "passed":
            row["survived"] += 1
            row["judged"] += bool(reason)
            row["equivalent"] += reason.startswith("equivalent: ")
            open_ += not reason
            out.say(f"survives: {mutant.id} (line {mutant.line})\n"
                    + (f"  {reason}" if reason else f"  again: ./graphloom mutants '{mutant.id}'"))
        else:
            open_ += 1
            out.say(f"{outcome}: {mutant.id}: {work.records.get(mutant.id, {}).get('detail', '')}")
            continue
        row["mutants"] += 1
    for test in sorted(work.unfair):
        out.say(f"fails without a fault, so that what it noticed does not count: {test}")
    _table(out, rooms)
    outcomes = [work.outcome(mutant) for mutant in work.mutants]
    out.say("noticed by: " + ", ".join(f"{outcomes.count(kind)} {kind}" for kind in NOTICED
                                       if kind in outcomes))
    return bool(open_ or work.unfair)


def _table(out, rooms):
    """The score of each room: noticed mutants among those that are not judged equivalent."""
    from .tables import FittedTable
    table = FittedTable("<room", ">mutants", ">noticed", ">survived", ">judged", ">score")
    total = {key: sum(row[key] for row in rooms.values()) for key in next(iter(rooms.values()))}
    for name, row in [*sorted(rooms.items()), ("all", total)]:
        among = row["mutants"] - row["equivalent"]
        score = f"{100 * row['noticed'] / among:.1f} %" if among else "-"
        figures = (str(row[key]) for key in ("mutants", "noticed", "survived", "judged"))
        table.add_row(name, *figures, score)
    out.print(table)
