"""``graphloom lang``: programs of the algorithm language, and what the compiler makes of them."""

import textwrap
from typing import Annotated

import typer

from base.errors import UserError
from base.printable import printable

from . import lowering
from .commands import App
from .records import with_machine


__all__ = ["app"]


#: In place of a pass: the program as it is written.
_TEXT = "text"

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
