"""``graphloom list``: algorithms, schedules, formats, frontiers, and every combination of them."""

import sys
from typing import Annotated, Any

import typer

from base.errors import UserError

from . import combinations, files, options
from .commands import app
from .options import folded, option
from .records import with_machine, with_workers


#: Parts that can be listed, and the functions of each part's package: one gives all names, one
#: gives the part of a name.
_PARTS = {
    "algorithms": ("names", "find"),
    "schedules": ("names", "make"),
    "formats": ("image_names", "find_image"),
    "frontiers": ("names", "summary"),
}

_COMBINATIONS = "combinations"

_RUNNING = "Combinations"


_OPTIONS = (
    option("only", list[str], _RUNNING, "List only combinations with this value, e.g. format=cr2 "
           "or frontier=own; may be repeated.", metavar="AXIS=VALUE"),
    option("all_axes", bool, _RUNNING, "Also combine with deduplication, the least number of "
           "warps, and near and far. Minutes, without --run."),
    option("run", bool, _RUNNING, "Run the combinations that work, on three small graphs, and "
           "compare each result with the golden model."),
    option("functional", bool, _RUNNING, "Run the combinations on the functional simulator, not on "
           "the RTL."),
    option("sample", int, _RUNNING, "Run N combinations, drawn at random.", metavar="N", min=1),
    option("seed", int, _RUNNING, "Seed of the draw.", metavar="N", min=0, show_default="1"),
)


@app.command("list", epilog="Examples: graphloom list; graphloom list formats; graphloom list "
             "combinations --json combinations.json; graphloom list combinations --run --only "
             "format=cr2; graphloom list combinations --only algorithm=FILE.py; graphloom list "
             "combinations --all-axes --run --functional --sample 100. Exit code: 1 if a run "
             "failed, or planning has faults.")
@folded("asked", _OPTIONS)
@with_workers(panel=_RUNNING)
@with_machine()
def _list(
        what: Annotated[str | None, typer.Argument(
            metavar=f"[{'|'.join([*_PARTS, _COMBINATIONS])}]", help="Part to list. If left out: "
            "every part, and the number of combinations.")] = None,
        *,
        machine,
        asked,
        workers,
        results: options.Results = None,
        json: Annotated[str | None, typer.Option(
            metavar="FILE", help="Write the whole list to a file as well.",
            rich_help_panel="Files")] = None):
    """List algorithms, schedules, formats and frontiers, or the combinations that work.

    A combination works if the planner accepts it for this hardware and each of three small graphs.
    To plan all of them takes some forty seconds of a processor. The list gives the reason for each
    combination that is refused, and ends with the number of both. A program of a file is named by
    --only algorithm=FILE.py. With --run, those that work are run, and those whose program
    does not fit are counted apart.
    """
    legal = [*_PARTS, _COMBINATIONS]
    if what is not None and what not in legal:
        raise UserError(f"there is no list of {what!r}; there are {', '.join(legal)}")
    _check_given(what, asked, machine, {
        "--jobs": workers.jobs, "--cluster": workers.cluster, "--results": results})
    wanted = combinations.only(asked.only)
    config = machine.config(wanted.get("schedule", ()))
    files.distinct({"--json": json, "--results": results})
    files.check(json, (".json",))
    files.check(results)
    found = {part: _described(part) for part in _PARTS if what in (None, part)}
    for part, entries in found.items():
        _print_part(part, entries)
    failed = 0
    if what is None:
        combinations.print_number()
    elif what == _COMBINATIONS:
        from sw.study.combinations import combinations as every
        combined = list(every(config, wanted, asked.all_axes))
        found |= combinations.to_json(config, combined)
        combinations.print_all(combined, each=not asked.run)
        failed = found["faults"]
        if asked.run:
            with workers.executor("graphloom list combinations --run") as executor:
                ran = combinations.run(config, combined, asked, executor, results, machine.words())
            failed, found = failed + ran["failed"], found | ran
    files.write_json(json, found)
    return 1 if failed else 0


def _check_given(what, asked, machine, of_runs):
    """Refuse options that would do nothing."""
    of_runs = {"--functional": asked.functional, "--sample": asked.sample, "--seed": asked.seed,
               **of_runs}
    for given, message in (
            (asked.all_axes, "--all-axes adds to combinations: give list combinations --all-axes"),
            (asked.run, "--run runs combinations: give list combinations --run"),
            (machine.words(), "--preset and --set name the hardware of combinations: give list "
             "combinations"),
            (asked.only, "--only selects combinations: give list combinations --only")):
        if given and what != _COMBINATIONS:
            raise UserError(message)
    for name, value in of_runs.items():
        if not (value is None or value is False or asked.run):
            raise UserError(f"{name} applies to runs only: give --run as well")
    if asked.seed is not None and asked.sample is None:
        raise UserError("--seed applies to --sample only: give --sample as well")


def _described(part):
    """The entries of a part, by name: the summary and the options of each."""
    from sw.compile import algorithms, formats, schedules
    from sw.compile import frontiers
    module = {"algorithms": algorithms, "schedules": schedules, "formats": formats,
              "frontiers": frontiers}[part]
    package, (names, find) = module.__name__, _PARTS[part]
    found = {}
    for name in getattr(module, names)():
        kind: Any = getattr(module, find)(name)
        # A frontier is a sentence, and a program's class is in no module. In the other packages
        # each entry is one module, or one package whose modules share the class.
        if part == "frontiers":
            text = kind
        elif hasattr(kind, "program"):
            text = kind.__doc__ or ""
        else:
            home = kind.__module__.removeprefix(f"{package}.").partition(".")[0]
            text = sys.modules[f"{package}.{home}"].__doc__ or ""
        entry: dict[str, Any] = {"summary": " ".join(text.split("\n\n")[0].split())}
        if part == "algorithms":
            entry |= {"directions": list(kind.directions), "options": list(kind.options)}
        if hasattr(kind, "OPTIONS"):
            entry["options"] = {
                option: {"default": value.default, "legal": value.legal, "what": value.doc}
                for option, value in kind.OPTIONS.items()}
        found[name] = entry
    return found


def _print_part(part, entries):
    from .execute import console
    from .tables import FittedTable
    out = console()
    out.print(f"{part}: {len(entries)}", style="bold")
    table = FittedTable("<", "<", heading=False)
    for name, entry in entries.items():
        table.add_row(f"  {name}", entry["summary"])
        if "directions" in entry:
            parameters = ", ".join(entry["options"]) or "none"
            table.add_row("", f"directions: {', '.join(entry['directions'])}; parameters: "
                          f"{parameters}")
        elif "options" in entry:
            for option, value in entry["options"].items():
                table.add_row("", f":{option}={_default(value['default'])}  {value['what']} "
                              f"({value['legal']})")
    out.print(table)
    out.print()


def _default(value):
    """The text of a default. A value that is chosen for each graph has no default."""
    from sw.compile.options import word
    return "..." if value is None else word(value)
