"""``graphloom bench budgets``: the cycle budgets against what is measured."""

from typing import Annotated

import typer

from base.installation import need_tree

from . import benches


__all__ = ["register"]


def register(app):
    """Add the command."""
    app.command("budgets")(_budgets)


def _budgets(
        update: Annotated[bool, typer.Option(
            "--update", help="Write the measured cycles into the table.")] = False):
    """Measure the cases of the cycle budgets; fail if one is exceeded by more than 2 %."""
    if update:
        need_tree("graphloom bench budgets --update")
    from sw.study.benchmarks import budgets

    from .execute import console
    table = benches.table(("case",), ("budget", "measured", "change"))
    cases = budgets.load_budgets()
    exceeded, failed = [], []
    for budget in cases:
        record = budget.measure()
        if "error" in record:
            failed.append(f"{budget.name}: {record['error']}")
            continue
        cycles = record["cycles"]
        table.add_row(budget.name, f"{budget.cycles:,}", f"{cycles:,}",
                      f"{100 * (cycles / budget.cycles - 1):+.1f} %" if budget.cycles else "new")
        if budget.exceeded_by(cycles):
            exceeded.append(budget.name)
        budget.cycles = cycles
    out = console()
    out.print(table)
    for line in failed:
        out.print(f"failed: {line}", markup=False)
    if update and not failed:
        budgets.write_budgets(cases)
        out.print(f"{budgets.PATH.name} holds the measured cycles now")
    elif exceeded:
        out.print(f"over budget by more than {100 * budgets.TOLERANCE:.0f} %: "
                  + ", ".join(exceeded), markup=False)
    if failed or (exceeded and not update):
        raise typer.Exit(1)
