"""``graphloom test``: the whole test suite."""

import os
import pathlib
import signal
import subprocess
import sys

import typer

from sim.children import tied

from . import process


__all__ = ["register"]


ROOT = pathlib.Path(__file__).resolve().parents[2]


def register(app):
    """Add the command."""
    app.command("test", context_settings={"allow_extra_args": True,
                                          "ignore_unknown_options": True},
                epilog="Examples: graphloom test; graphloom test tb/test_runner.py -x; "
                       "graphloom test -k weaver")(_test)


def _test(context: typer.Context):
    """Run the tests. Further arguments are pytest's; paths are those of the project's folder.

    Tests that need Icarus Verilog are skipped where it is not installed.
    """
    extra = list(context.args)
    command = [sys.executable, "-m", "pytest", "--quiet", "-rs"]
    if not any(word in ("-n", "--numprocesses", "--pdb") or word.startswith("-n")
               and word[2:].isdigit() for word in extra):
        command += ["-n", "2", "--dist", "worksteal"]
    # A standard output that cannot be written is told here: pytest would do so with a traceback.
    print("Running the tests", flush=True)
    pytest = subprocess.Popen([*command, *extra], cwd=ROOT, preexec_fn=tied(),
                              env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        code = pytest.wait()
    except KeyboardInterrupt:
        if process.received != signal.SIGINT:
            pytest.send_signal(signal.SIGINT)
        pytest.wait()                 # it has heard Ctrl-C as well, and shows what it has
        code = 2
    if code == 2:
        return 130
    if code == 5:
        print("No test was selected")
        return 2
    print("All tests passed" if code == 0 else "Tests FAILED (listed above)" if code == 1
          else f"pytest stopped with exit code {code}")
    return 0 if code == 0 else 1 if code == 1 else 2
