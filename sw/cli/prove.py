"""``graphloom prove``: the formal proofs of the hardware's units."""

import pathlib
import re
import shutil
import tempfile
import time
from typing import Annotated

import typer

from base.errors import UserError
from base.installation import ROOT, advice, obtain

from .commands import app


@app.command("prove", epilog="Exit code: 0 if everything holds, 1 if not. Examples: graphloom "
             "prove; graphloom prove barrier scoreboard --full")
def _prove(
        units: Annotated[list[str] | None, typer.Argument(
            metavar="[UNIT]...", help="Units to prove; all of them by default.")] = None,
        list_: Annotated[bool, typer.Option(
            "--list", help="Show the promises of each unit and the shapes of their proofs; prove "
            "nothing.")] = False,
        full: Annotated[bool, typer.Option(
            "--full", help="Prove the larger shapes as well, which the tests leave out.")] = False,
        timeout: Annotated[float, typer.Option(
            metavar="SECONDS", min=1, max=10_000_000, help="Time limit of a single "
            "proof.")] = 1800):
    """Prove the promises of the hardware's units, with SymbiYosys and z3.

    Induction proves a property for runs of any length. A bounded proof holds for the first cycles
    after reset. Structure proves a property for any run, from the circuit alone. Covers are states
    that matter: a run from reset must reach each cover, or the proof says nothing about that state.
    docs/verification.md says more.
    """
    from checks.formal import registry
    from checks.formal.prove import unavailable
    from sim.toolchain import ToolError

    for unit in units or ():
        if unit not in registry.UNITS:
            raise UserError(f"no unit {unit!r} is proved; there are {', '.join(registry.UNITS)}")
    units = units or list(registry.UNITS)
    if list_:
        return _list(registry, units)
    if unavailable() is not None:
        obtain("z3")
    if unavailable() is not None:
        raise ToolError(f"proofs cannot be run: {unavailable()}: {advice('synth')}")
    work = list(registry.proofs(units, full=full))
    covers = [entry for entry in registry.PROPERTIES if entry.unit in units and entry.covers]
    return _run(work, covers, timeout)


def _list(registry, units):
    from .execute import console
    from .tables import FittedTable
    table = FittedTable("<unit", "<property", "<promise", "<assumed", "<shown")
    for entry in registry.PROPERTIES:
        if entry.unit in units:
            shapes = "; ".join(f"{proof.shape}: {proof.kind}" + ", --full" * proof.full
                               for proof in entry.proofs)
            table.add_row(entry.unit, entry.name, entry.promise, entry.assumes, shapes)
    console().print(table)


def _run(work, covers, timeout):
    """Run proofs and look for covers, print the table, and return the exit code.

    Parameters
    ----------
    work : list of (Property, Proof)
    covers : list of Property
        Those whose covers are to be reached.
    timeout : float
        Seconds for each.
    """
    from rich.text import Text

    from .execute import console, progress_display
    from .tables import FittedTable
    table = FittedTable("<unit", "<property", "<mode", "<shape", "<result", ">seconds")
    failures, out = [], console()
    tasks = [(entry, proof.kind, proof.shape, proof.check,
              "bounded" if proof.mode == "bounded" else "proved") for entry, proof in work]
    tasks += [(entry, f"covers in {entry.reach} cycles", entry.covered or entry.proofs[0].shape,
               entry.check_covers, f"{len(entry.covers)} reached") for entry in covers]
    try:
        with progress_display() as (show, _):
            for number, (entry, mode, shape, check, good) in enumerate(tasks, 1):
                name, began = f"{entry.unit}, {entry.name}: {shape}", time.perf_counter()
                show(f"{number} of {len(tasks)}: {name}")
                bad, failure = _tried(entry, name, check, timeout)
                failures += [failure] if bad else []
                table.add_row(entry.unit, entry.name, mode, shape,
                              Text(bad, "red") if bad else Text(good, "green"),
                              f"{time.perf_counter() - began:.1f}")
    finally:
        if table.rows:
            out.print(table)
    for line in failures:
        out.say(line)
    if failures:
        out.print(f"{len(failures)} of {len(tasks)} proofs and covers FAILED")
        return 1
    out.print(f"All {len(work)} proofs hold; all {sum(len(entry.covers) for entry in covers)} "
              "covers are reached")
    return 0


def _tried(entry, name, check, timeout):
    """What is wrong, for the table and in a line; two empty texts if the check passes."""
    from checks.formal.prove import Refuted
    from sim import cache
    place = cache.folder("proofs")
    with cache.writing(place):
        folder = pathlib.Path(tempfile.mkdtemp(dir=place, prefix=f"{entry.unit}-"))
    try:
        with cache.writing(place):
            check(folder, timeout=timeout)
    except Refuted as refuted:
        if check == entry.check_covers:
            return "NOT REACHED", (f"{name}: not reached in {entry.reach} cycles: "
                                   + "; ".join(refuted.assertions))
        return ("REFUTED" if refuted.from_reset else "not shown",
                _explain(name, refuted, _keep(folder, name)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return "", ""


def _keep(folder, name):
    """Give the folder of a proof that failed a name of its own, in place of an older one."""
    kept = folder.parent / re.sub(r"\W+", "-", name)
    shutil.rmtree(kept, ignore_errors=True)
    folder.rename(kept)
    return kept


def _explain(name, refuted, folder):
    """One line that says which step failed and which file shows why."""
    text = name + (": fails in a run from reset" if refuted.from_reset else
                   ": the induction does not close, from a state that may be out of reach")
    if refuted.assertions:
        text += ": " + ", ".join(place.removeprefix(f"{ROOT}/") for place in refuted.assertions)
    if refuted.trace is not None:
        text += f"; waves: {folder / refuted.trace}"
    return text
