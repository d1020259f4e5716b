"""``graphloom lockstep``: random programs, the RTL's every instruction compared."""

import sys
import time
from typing import Annotated

import typer

from base.installation import PROGRAM

from . import options
from .commands import app


#: Seconds between two lines of progress.
_EVERY = 10


@app.command("lockstep", epilog="Example: graphloom lockstep --shape 2x4 --seed 7 --instructions "
             "1000000")
def _lockstep(
        shape: Annotated[list[str] | None, typer.Option(
            metavar="WARPSxLANES", help="Shape of the core; may be repeated. All of 1x1, 1x4, 4x1, "
            "2x4, 8x8 and 32x32 if left out.")] = None,
        seed: Annotated[int, typer.Option(
            metavar="N", min=0, help="Seed of the first program; each further program has the next "
            "seed.")] = 1,
        instructions: Annotated[int, typer.Option(
            metavar="N", min=1, help="Instructions to compare for each shape; the last program is "
            "run to its end.")] = 100_000,
        size: Annotated[int, typer.Option(
            metavar="N", min=1, max=200, help="Statements in a program.")] = 120,
        launches: Annotated[int, typer.Option(
            metavar="N", min=1, help="Launches of each program, each with other contents of "
            "memory.")] = 8,
        set_: options.Set = None,
        functional: Annotated[bool, typer.Option(
            "--functional", help="Compare the functional simulator in place of the RTL, with any "
            "number of cores. Nothing is built for a shape.")] = False):
    """Run random programs on the RTL and compare each instruction with the simulator's.

    A difference ends a shape: the command prints both states, and a command that repeats the
    difference. The exit code is 1 if there was a difference.
    """
    from checks.campaign import functional as without_rtl
    from checks.campaign import lockstep

    configs = [lockstep.shape(text, set_ or (), rtl=not functional)
               for text in shape or lockstep.SHAPES]
    different = False
    again = ["--functional"] * functional + [f"--set {text}" for text in set_ or ()]
    for config in configs:
        different |= not _campaign((without_rtl if functional else lockstep).run, config, seed,
                                   instructions, size, launches, again)
    return 1 if different else 0


def _campaign(run, config, first, instructions, size, launches, again):
    """One shape; whether there was no difference. ``again`` are the other options of a command that
    repeats a difference."""
    from checks.campaign.lockstep import Run
    from sw.golden.lockstep import Difference

    done, seed, began = Run(), first, time.perf_counter()
    said = began
    while done.instructions < instructions:
        try:
            run(config, seed, size=size, launches=launches, done=done)
        except Difference as difference:
            print(f"{config.name}, seed {seed}: {difference}")
            print(f"reproduce: {PROGRAM} lockstep " + " ".join(
                [f"--shape {config.name} --seed {seed} --instructions 1 --size {size} "
                 f"--launches {launches}", *again]),
                flush=True)
            return False
        seed += 1
        now = time.perf_counter()
        if now - said >= _EVERY and done.instructions < instructions:
            said = now
            print(f"graphloom: {config.name}: {done.instructions:,} of {instructions:,} "
                  f"instructions, seed {seed}", file=sys.stderr, flush=True)
    seconds = time.perf_counter() - began
    print(f"{config.name}: {done.instructions:,} instructions ({done.lanes:,} of lanes) in "
          f"{done.launches} launches of seeds {first} to {seed - 1}, "
          + f"{done.cycles:,} cycles, " * bool(done.cycles)
          + f"{seconds:.1f} s: no difference", flush=True)
    return True
