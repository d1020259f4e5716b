"""``graphloom lang``: programs of the algorithm language, and what the compiler makes of them."""

import dataclasses
import textwrap
from typing import Annotated

import typer

from base.errors import UserError
from base.printable import PIECE, printable

from . import lowering, options
from .commands import App
from .records import with_machine


__all__ = ["app"]


#: In place of a pass: the program as it is written.
_TEXT = "text"

#: Where there is no terminal, a line of progress is printed for one text in so many.
_EVERY = 25

app = App(help="Look at programs of the algorithm language.", no_args_is_help=True)


@app.command("list", epilog="Example: graphloom lang list")
def _list():
    """List the programs that Graphloom has, their labels and the passes of the compiler."""
    from sw.lang import programs
    from sw.lang.passes import LOWER, PASSES
    from sw.lang.schedule import labelled
    found = [programs.find(name) for name in programs.names()]
    width = max(len(program.name) for program in found)
    indent = " " * (width + 4)
    print("Programs:")
    for program in found:
        print(textwrap.fill(f"  {program.name:{width}}  {program.summary}", 100,
                            subsequent_indent=indent))
        parameters = ", ".join(argument.name for argument in program.arguments) or "none"
        print(f"{indent}parameters: {parameters}; results: {', '.join(program.outputs)}; labels: "
              f"{', '.join(labelled(program)) or 'none'}")
    print(textwrap.fill(f"Passes: {', '.join([*PASSES, LOWER])}", 100, subsequent_indent="  "))


@app.command("show", epilog="Examples: graphloom lang show bfs --after liveness; graphloom lang "
             "show bfs --schedule s0=fusion --schedule s0:s1=etwc,push,no_dedup; graphloom lang "
             "show FILE.gt; graphloom lang show bfs --after lower --plan 'direction=pull "
             "schedule=em'")
@with_machine()
def _show(
        program: Annotated[str, typer.Argument(
            metavar="PROGRAM", help="A name of `graphloom lang list`, or a file: FILE.py in the "
            "syntax of Python, FILE.gt in that of GraphIt.")],
        after: Annotated[str | None, typer.Option(
            metavar="PASS", help="Stop after this pass of the compiler; `text` is before the "
            "first.", show_default="the last pass")] = None,
        schedule: Annotated[list[str] | None, typer.Option(
            metavar="LABEL=SCHEDULE", help="Schedule of a labelled operator or loop, in place of "
            "one of FILE.gt; may be repeated.")] = None,
        name: Annotated[str | None, typer.Option(
            metavar="NAME", help="The program, where FILE.py has several.")] = None,
        *,
        machine,
        graph: Annotated[str | None, typer.Option(
            metavar="GRAPH", help="With --after lower: the graph of the plan.",
            show_default=lowering.GRAPH, rich_help_panel="Kernels")] = None,
        plan: Annotated[str | None, typer.Option(
            metavar="TEXT", help="With --after lower: the text of a plan behind the program's "
            "name, as in 'schedule=em direction=pull' or '(source=3) schedule=vm'.",
            rich_help_panel="Kernels")] = None):
    """Show the GraphIR of a program: arguments in (), metadata in <>.

    With --after lower, show what became of the program under a plan: its kernels, what each does
    and where, and every choice that was taken, or refused for a fact that is missing.
    """
    from sw.lang import programs
    from sw.lang.passes import LOWER, PASSES, analysed
    from sw.lang.schedule import applied, read_schedules
    from sw.lang.show import shown
    if after not in (None, _TEXT, LOWER, *PASSES):
        raise UserError(f"--after {after}: there is no such pass; there are "
                        f"{', '.join([*PASSES, LOWER])}, and {_TEXT}, the program as it is written")
    given = read_schedules(schedule or [])
    if after == LOWER:
        request = lowering.LoweringRequest(program, name, graph, plan, given)
        print(lowering.text(request, machine), end="")
        return
    for option, value in {"--graph": graph, "--plan": plan,
                          machine.words()[0] if machine.words() else "": machine.words()}.items():
        if value:
            raise UserError(f"{option}: only --after {LOWER} has a plan")
    found, own = programs.open_program(program, name)
    found = applied(found, own | given)
    text = shown(found if after == _TEXT else analysed(found, after))
    print(printable(text, lines=True), end="")


@app.command("check", epilog="Exit code: 0 all texts are read, and right where they run; 1 some "
             "are not; 2 there are none. Examples: graphloom lang check apps; graphloom lang check "
             "mine.gt --vm reference,cpu,rtl --graph rmat:scale=6,degree=4,seed=1")
def _check(
        places: Annotated[list[str], typer.Argument(
            metavar="FOLDER|FILE", help="A folder, whose FILE.gt and FILE.py with programs are "
            "read, or such files.")],
        vm: Annotated[str | None, typer.Option(
            metavar="A,B,...", help="Run what is read: reference (the interpreter), cpu, cuda, or "
            "rtl (the RTL's kernels on the functional simulator), and compare the results with the "
            "interpreter's.", rich_help_panel="Runs", show_default="none")] = None,
        graph: Annotated[str | None, typer.Option(
            metavar="GRAPH", help="With --vm: the graph, made undirected, with weights up to 9 if "
            "it has none. A parameter without a default is a vertex at which a search can start.",
            rich_help_panel="Runs", show_default="rmat:scale=5,degree=4,seed=1")] = None,
        json: options.Json = None):
    """Say which texts of the language are read, and what each of the others lacks.

    A text in the syntax of GraphIt may have notes on what its numbers, prints and schedules mean
    here.
    """
    from sw.graph.load import GraphSource
    from sw.study import texts

    from . import files
    from .execute import console
    from .progress import progress
    machines = tuple(options.names(vm, "--vm", texts.MACHINES)) if vm else ()
    if graph and not machines:
        raise UserError("--graph: only --vm runs the texts")
    files.check(json)
    source = GraphSource(graph or texts.GRAPH, undirected=True, simplify=True,
                         weights=9) if machines else None
    if source:
        source.load(options.note)
    found, waiting = [], texts.texts(places)
    with progress(len(waiting), 0, lambda case: case[0], lambda record: record["state"],
                  _EVERY) as (begun, ended, _):
        for case in waiting:
            begun(case)
            found.append(texts.check(*case, machines, source))
            ended(case, {"state": _state(found[-1])})
    files.write_json(json, [dataclasses.asdict(each) for each in found])
    out = console()
    for each in found:
        place = f":{each.place}" if each.place else ""
        out.say(f"{printable(each.text, PIECE)}{place}: {_state(each)}"
                + (f": {each.message}" if each.message else ""))
        out.notes(each.notes)
    read = sum(each.read for each in found)
    out.say(f"{len(found):,} texts: {read:,} read, {len(found) - read:,} refused"
            + "".join(f"; {machine}: {_count(found, machine)}" for machine in machines))
    if not all(each.right for each in found):
        raise typer.Exit(1)


def _state(found):
    """What became of a text, in some words."""
    if not found.read:
        return "refused"
    machines: dict[str, list[str]] = {}
    for machine, outcome in found.outcomes.items():
        machines.setdefault(outcome, []).append(machine)
    return "; ".join(["read", *(f"{', '.join(names)} {outcome}"
                                for outcome, names in machines.items())])


def _count(found, machine):
    """How many texts a machine has run, and how."""
    outcomes = [each.outcomes[machine].partition(":")[0] for each in found if each.outcomes]
    return ", ".join(f"{outcomes.count(outcome)} {outcome}"
                     for outcome in dict.fromkeys(outcomes)) or "none"
