"""``graphloom mutants``: planted faults, and whether the tests notice them."""

import fnmatch
import random
from typing import Annotated

import typer

from sw.errors import UserError
from sw.installation import need, need_tree

from . import files, options


__all__ = ["register"]


def register(app):
    """Add the command."""
    app.command("mutants", epilog="Exit code: 0 if the tests and proofs notice every fault that "
                "they ought to notice, 1 if not. Examples: graphloom mutants --results "
                "mutants.jsonl; graphloom mutants --list; graphloom mutants --only 'hw/scu*'; "
                "graphloom mutants --sample 10 --seed 3")(_mutants)


@options.with_cluster
def _mutants(
        names: Annotated[list[str] | None, typer.Argument(
            metavar="[NAME]...", help="Mutants to run; all of them by default.",
            show_default=False)] = None,
        list_: Annotated[bool, typer.Option(
            "--list", help="Show each mutant, its place and the tests that ought to notice it; run "
            "nothing.")] = False,
        only: Annotated[list[str] | None, typer.Option(
            "--only", metavar="GLOB", help="Run mutants whose name, file or folder matches, such "
            "as 'hw/core' or '*scu*'; may be repeated.", show_default=False)] = None,
        sample: Annotated[int | None, typer.Option(
            "--sample", metavar="N", min=1, help="Run N mutants, drawn at random.",
            show_default=False)] = None,
        seed: Annotated[int | None, typer.Option(
            "--seed", metavar="N", min=0, help="Seed of the draw.", show_default="1")] = None,
        jobs: Annotated[int | None, typer.Option(
            "--jobs", metavar="N", min=1, help="Mutants at a time.",
            show_default="as many as there are processors")] = None,
        cluster=None,
        timeout: Annotated[float, typer.Option(
            "--timeout", metavar="SECONDS", min=1, help="Time for the tests of one mutant. A "
            "mutant that takes longer counts as killed.")] = 900,
        results: Annotated[str | None, typer.Option(
            "--results", metavar="FILE", help="Keep the outcome of each mutant in this file, a "
            "line of JSON for each. Mutants in the file with the same sources are not run again.",
            show_default=False)] = None,
        json: Annotated[str | None, typer.Option(
            "--json", metavar="FILE", help="Write each mutant and its outcome.",
            show_default=False)] = None):
    """Plant faults, one at a time, and run the tests or the proof that ought to notice each fault.

    Each fault is planted in a copy of the sources. A mutant is killed if its tests fail. A mutant
    that survives is a gap in the tests, unless the table says why it may survive.
    docs/verification.md says more.
    """
    from campaign.mutants.mutant import MutantError
    from campaign.mutants.table import MUTANTS

    if seed is not None and sample is None:
        raise UserError("--seed applies to --sample only: give --sample as well")
    mutants = _chosen(MUTANTS, names, only)
    if sample is not None:
        drawn = set(random.Random(1 if seed is None else seed).sample(
            range(len(mutants)), min(sample, len(mutants))))
        mutants = [mutant for index, mutant in enumerate(mutants) if index in drawn]
    if list_:
        _list(mutants)
        return 0
    need_tree("graphloom mutants")
    need("graphloom mutants", "pytest")
    files.check(results)
    files.check(json, (".json",))
    from campaign.mutants.run import MutantWork
    work = MutantWork(mutants, timeout=timeout, path=results)
    with options.executor("graphloom mutants", cluster, jobs) as executor:
        try:
            for mutant in mutants:
                mutant.patched()
        except MutantError as error:
            raise UserError(f"{error}: correct campaign/mutants/table") from None
        _run(work, executor)
    failed = _print(work)
    if json is not None:
        files.write_json(json, {"mutants": [
            {"name": mutant.name, "file": mutant.file, "place": mutant.place, "old": mutant.old,
             "new": mutant.new, "noticed_by": list(mutant.notices), "survives": mutant.survives,
             **work.records.get(mutant.name, {"outcome": "not run"})} for mutant in mutants]})
    return 1 if failed else 0


def _chosen(mutants, names, only):
    """The mutants that names or patterns choose. Raises UserError for an unknown name."""
    known = {mutant.name: mutant for mutant in mutants}
    for name in names or ():
        if name not in known:
            raise UserError(f"there is no mutant {name!r}; --list shows all {len(known)}")
    chosen = [known[name] for name in dict.fromkeys(names or known)]
    if only:
        chosen = [mutant for mutant in chosen
                  if any(fnmatch.fnmatchcase(text, glob) for glob in only
                         for text in (mutant.name, mutant.file, mutant.room))]
        if not chosen:
            raise UserError(f"--only {' '.join(only)}: no mutant matches; --list shows all")
    return chosen


def _list(mutants):
    from rich import box
    from rich.table import Table

    from .execute import console
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for title in ("mutant", "place", "noticed by", "survives"):
        table.add_column(title, overflow="fold")
    for mutant in mutants:
        table.add_row(mutant.name, f"{mutant.file} {mutant.place}", "\n".join(mutant.notices),
                      mutant.survives)
    out = console()
    out.print(table)
    out.print(f"{len(mutants)} mutants")


def _run(work, executor):
    """Run the mutants, and show the progress."""
    from .execute import console, progress_display
    total, doing = len(work.mutants), set()
    err = console(stderr=True)
    if work.records:
        err.print(f"{len(work.records)} of {total} were run before")
    with progress_display() as (show, _):
        def begun(mutant):
            doing.add(mutant.name)
            show(f"{len(work.records)} of {total} done; {', '.join(sorted(doing))}")

        def report(mutant, record):
            doing.discard(mutant.name)
            seconds = "" if record["seconds"] is None else f", {record['seconds']} s"
            err.print(f"{len(work.records)} of {total}: {mutant.name}: {record['outcome']}"
                      f"{seconds}", soft_wrap=True, markup=False)
        work.run(executor, report, begun)


def _print(work):
    """Print the survivors and the share of killed mutants. Returns whether there is a problem."""
    from campaign.mutants.run import KILLED, agrees

    from .execute import console
    out = console()
    bad = 0

    def say(text):
        out.print(text, soft_wrap=True, markup=False)
    for notices, record in work.unfair.items():
        bad += 1
        say(f"without a fault: {', '.join(notices)}: {record['outcome']}: {record['detail']}")
    done = [(mutant, work.records[mutant.name]) for mutant in work.mutants
            if mutant.name in work.records]
    for mutant, record in done:
        killed = record["outcome"] in KILLED
        if agrees(mutant, record):
            if not killed:
                say(f"{mutant.name} survives: {mutant.survives}")
            continue
        bad += 1
        if killed:
            say(f"{mutant.name} is killed ({record['outcome']}), but the table says that it "
                f"survives: {mutant.survives}")
        else:
            say(f"{mutant.name} SURVIVES ({record['outcome']}): {mutant.file}, "
                f"{', '.join(mutant.notices)}: {record['detail']}")
    outcomes = [record["outcome"] for _, record in done]
    killed = [outcome for outcome in outcomes if outcome in KILLED]
    kinds = ", ".join(f"{outcomes.count(kind)} {kind}" for kind in KILLED if kind in outcomes)
    share = f"{100 * len(killed) / len(done):.1f} %" if done else "none"
    say(f"{len(killed)} of {len(done)} mutants killed ({share})" + f": {kinds}" * bool(kinds)
        + f"; {len(work.mutants) - len(done)} not run" * (len(done) < len(work.mutants)))
    return bad
