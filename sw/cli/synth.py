"""``graphloom synth``: area and timing of the units on FPGAs, and the table that guards them.

``synth UNIT`` is the command ``unit``, whose name is left out.
"""

import json
import os
from typing import Annotated

import typer
from typer.core import TyperGroup

from base.errors import UserError
from base.input import read_text
from base.installation import need_tree

from . import files, options, synth_board
from .commands import App
from .options import folded, option
from .records import with_config


__all__ = ["app"]


_UNIT = "unit"


class _Group(TyperGroup):
    """A group that takes an unknown command for the name of a unit."""

    def parse_args(self, ctx, args):
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = [_UNIT, *args]
        return super().parse_args(ctx, args)


app = App(cls=_Group, help="Synthesize a unit (weaver, scu-1, float, core, gpu and others) and "
          "show its area on an FPGA and its frequency: synth UNIT. `synth UNIT --help` lists the "
          "options. Or run one of the commands below.", no_args_is_help=True, epilog="Examples: "
          "graphloom synth weaver --seeds 1,2,3; graphloom synth core --no-place --set threads=16")


_Jobs = Annotated[int | None, typer.Option(
    "--jobs", metavar="N", min=1, help="Runs of a tool at a time.", show_default="as many as there "
    "are processors")]
_Device = Annotated[str, typer.Option(
    "--device", metavar="NAME", help="ecp5-85k, ecp5-45k, ecp5-25k, ice40-hx8k or generic; only an "
    "ECP5 is placed.")]
_Json = Annotated[str | None, typer.Option(
    "--json", metavar="FILE.json", help="Write all figures.", rich_help_panel="Files")]

_WRITTEN = (
    option("json", str, "Files", "Write all figures.", metavar="FILE.json"),
    option("logs", str, "Files", "Keep the output of the tools in this folder.", metavar="FOLDER"),
)


@app.command(_UNIT, hidden=True, epilog="Placing a core takes nextpnr half an hour where it runs "
             "as WebAssembly: --no-place leaves logic synthesis and the estimate.")
@with_config("fpga")
@folded("written", _WRITTEN, dict)
def _synth(
        unit: Annotated[str, typer.Argument(
            metavar="UNIT", help="weaver (the one of the configuration), fsm, scan, stream, eghw, "
            "graphpeg, scu-1, scu-4, float (floating point of a core), core, uncore (the GPU "
            "without its cores), gpu, coalescer, l1, l2-bank, sdram or link.")],
        config,
        device: _Device = "ecp5-85k",
        seeds: Annotated[str, typer.Option(
            metavar="N,N", help="Seeds of nextpnr, which places the unit once with each.")]
        = "1",
        jobs: _Jobs = None,
        place: Annotated[bool, typer.Option(
            "--place/--no-place", help="Whether to place and route the unit, or to leave it at "
            "logic synthesis and an estimate of the timing.")] = True,
        frequency: Annotated[float, typer.Option(
            metavar="MHZ", min=1, max=500, help="Frequency that nextpnr aims for.")] = 50,
        *,
        written):
    """Synthesize a unit, place it, and show its area and its frequency.

    LUT4, flip-flops, block RAM and DSP are those of the unit alone. For the placement there are
    registers around it, so that its paths lead from register to register.
    """
    numbers, path, logs = options.seeds(seeds), written["json"], written["logs"]
    files.check(path, (".json",))
    if logs is not None and not os.path.isdir(logs):
        raise UserError(f"--logs {logs}: there is no such folder")
    files.check(logs and os.path.join(logs, "yosys.log"))

    from synth import flow
    from synth.devices import find_device
    from synth.units import find_unit

    from .execute import steps_display
    target, chip = find_unit(unit), find_device(device)
    with steps_display() as heard:
        figures = flow.measure(target, config, chip, frequency=frequency,
                               seeds=numbers if place and chip.options else (),
                               jobs=jobs or os.cpu_count() or 1, heard=heard)
    _print(target, figures)
    files.write_json(path, figures.record())
    if logs is not None:
        for log in figures.logs:
            files.write_bytes(os.path.join(logs, log.name), log.read_bytes())


def _print(unit, figures):
    from synth.budgets import RESOURCES

    from .execute import console
    from .placements import path_table, print_placements
    from .tables import FittedTable
    out, config, area = console(), figures.config, figures.area
    out.say(f"{unit.name}: {unit.doc}; {config.name}: {config.warps} warps x "
            f"{config.threads} lanes; {figures.device.name}")
    table = FittedTable("", "taken", "of", "share")
    for resource, title in RESOURCES.items():
        whole, share = getattr(figures.device, resource), figures.share(resource)
        table.add_row(title, f"{getattr(area, resource):,}", f"{whole:,}" if whole else "",
                      f"{100 * share:.1f} %" if share is not None else "")
    out.print(table)
    if area.lut4 != area.logic:
        out.say(f"LUT4: {area.logic:,} of logic, two for each of {area.carry:,} cells of carry "
                f"chains, six for each of {area.lut_ram:,} cells of LUT RAM")
    if figures.logic.memories:
        table = FittedTable("memory", "<made of")
        for name, kind in figures.logic.memories.items():
            table.add_row(name, kind)
        out.print()
        out.print(table)
    if figures.estimate is not None and figures.estimate.steps:
        found = figures.estimate
        out.say(f"\nestimate, not placed: {found.frequency:.1f} MHz, {found.levels} levels of "
                f"logic, {found.delay:.2f} ns:")
        out.print(path_table(found.steps))
    if figures.placements:
        out.print()
        print_placements(out, figures.placements)
    if figures.estimate is not None:
        out.print("~: logic without a name of its own, beside that signal")
    for tool, version in figures.record()["tools"].items():
        out.say(f"{tool}: {version}")
    out.say("logs: " + ", ".join(map(str, figures.logs)))


@app.command("budgets", epilog="Exit code: 0 if all is within the table, 1 if not.")
def _budgets(
        quick: Annotated[bool, typer.Option(
            "--quick", help="Measure only the units that CI checks: weaver, scu-1 and the tiny "
            "core.")]
        = False,
        update: Annotated[bool, typer.Option(
            "--update", help="Write the measured figures into the table. The kind of each memory "
            "is changed there by hand only.")] = False,
        jobs: _Jobs = None):
    """Compare the area of the units with the table of resources (synth/budgets.toml).

    A unit may not grow by more than 5 %, and each of its memories must be of the kind that the
    table says: block RAM, LUT RAM or flip-flops.
    """
    if update:
        need_tree("graphloom synth budgets --update")
    from synth import budgets
    from synth.parallel import in_parallel

    from .execute import console, steps_display
    from .tables import FittedTable
    table = budgets.load()
    chosen = [budget for budget in table if budget.quick or not quick]
    out = console()
    with steps_display() as heard:
        logics = in_parallel(lambda budget: budget.measure(lambda text: heard(budget.name, text)),
                             chosen, jobs or os.cpu_count() or 1)
    shown = FittedTable("unit", *(title for name in budgets.RESOURCES.values()
                                  for title in (name, "change")), "memories", "seconds")
    wrong, unlisted, shrunk = [], [], []
    for budget, logic in zip(chosen, logics):
        row = []
        for resource in budgets.RESOURCES:
            count = getattr(logic.area, resource)
            change = budget.growth(resource, count)
            row += [f"{count:,}", f"{100 * change:+.1f} %" if budget.area else "new"]
        shown.add_row(budget.name, *row, str(len(logic.memories)), f"{logic.seconds:.0f}")
        wrong += budget.unintended(logic.memories)
        unlisted += budget.exceeded_by(logic.area) + budget.unlisted(logic.memories)
        shrunk += budget.undercut_by(logic.area)
    out.print(shown)
    if update:
        new = {budget.name: budget.updated(logic) for budget, logic in zip(chosen, logics)}
        budgets.write([new.get(budget.name, budget) for budget in table])
        out.print(f"{budgets.PATH.name} holds the measured figures now; ./graphloom docs brings "
                  "docs/resources.md up to date")
        shrunk = unlisted = []
    for lines, step in (
            (wrong, f"change the hardware, or {budgets.PATH.name} by hand"),
            (unlisted, "if the change is intended, run ./graphloom synth budgets --update"),
            (shrunk, "run ./graphloom synth budgets --update to keep the smaller area")):
        for line in lines:
            out.say(f"{line}: {step}")
    if wrong or unlisted:
        raise typer.Exit(1)


@app.command("overhead", epilog="Example: graphloom synth overhead --lanes 4,8 --json "
             "overhead.json")
@with_config("fpga")
def _overhead(
        config,
        lanes: Annotated[str, typer.Option(
            metavar="N,N", help="Lanes of a warp.")] = "4,8,16,32",
        units: Annotated[list[str] | None, typer.Option(
            "--unit", metavar="NAME", help="Only this unit: a value of gather, scu-1 or scu-4; may "
            "be repeated. Rows of other units stay in an existing file of results.")] = None,
        device: _Device = "ecp5-85k",
        jobs: _Jobs = None,
        json_: _Json = None):
    """Show how much each Weaver adds to a core, and the SCU to the GPU: in numbers and per cent.

    The command runs logic synthesis only, whatever the number of lanes. The GPU is one core and
    the logic around the core: the two are synthesized apart and added.
    """
    counts = options.numbers(lanes, "--lanes")
    for count in counts:
        config.replace(threads=count)
    files.check(json_, (".json",))

    from synth import overhead, tools
    from synth.budgets import RESOURCES
    from synth.devices import find_device

    from .execute import console, steps_display
    from .tables import FittedTable
    chosen = units or list(overhead.UNIT_NAMES)
    for name in chosen:
        if name not in overhead.UNIT_NAMES:
            raise UserError(f"--unit {name}: there is no such unit; there are "
                            f"{', '.join(overhead.UNIT_NAMES)}")
    chip = find_device(device)
    with steps_display() as heard:
        rows = overhead.measure(
            config, chip, counts, units=chosen, jobs=jobs or os.cpu_count() or 1,
            heard=lambda done, total, what, text: heard(f"{done} of {total} done; {what}", text))
    table = FittedTable("lanes", "<unit", *(title for name in RESOURCES.values()
                                            for title in (name, "added", "share")))
    for row in rows:
        cells = []
        for resource in RESOURCES:
            share = row.share(resource)
            cells += [f"{getattr(row.without, resource):,}",
                      f"{getattr(row.added, resource):+,}",
                      f"{100 * share:+.1f} %" if share is not None else ""]
        table.add_row(str(row.lanes), f"{row.unit} in {row.host}", *cells)
    out = console()
    out.print(table)
    out.print(f"{chip.name}, {config.name}; logic synthesis only: {tools.find('yosys').version}")
    if json_ is not None:
        made = {"config": config.name, "device": chip.name, "yosys": tools.find("yosys").version}
        files.write_json(json_, made | {"rows": _merged(json_, made, rows)})


def _merged(path, made, rows):
    """The records of rows, and behind them those of other rows that a file made alike has."""
    try:
        kept = json.loads(read_text(path))
        old = kept.pop("rows") if {**kept, "rows": 0} == {**made, "rows": 0} else []
    except (UserError, ValueError, LookupError):
        old = []
    records = [row.record() for row in rows]
    new = {(record["lanes"], record["unit"]) for record in records}
    records += [record for record in old if (record["lanes"], record["unit"]) not in new]
    return sorted(records, key=lambda record: record["lanes"])


synth_board.register(app)
