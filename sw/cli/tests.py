"""``graphloom test``: the whole test suite, or the quick part of it."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import Annotated

import typer

from base.errors import UserError
from base.installation import ROOT, need, need_tree
from base import numbers
from sim import cache
from sim.children import tied

from . import process
from .commands import app


#: The environment variable that ``tb/seeds.py`` reads.
_VARIABLE = "GRAPHLOOM_SEED"


def _seed(text):
    """The number that ``--seed`` asks for. Raises UserError."""
    if text == "fresh":
        return secrets.randbelow(1 << 32)
    seed = numbers.integer(text)
    if seed is None or not 0 <= seed < 1 << 32:
        raise UserError(f"--seed is {text!r}, must be a number from 0 to {(1 << 32) - 1} or "
                        "'fresh'")
    return seed


def _bytecode():
    """A folder for bytecode, if it may not lie beside the sources. Some thousand processes of the
    tests import the same modules. The bytecode of copies that tests made before is removed."""
    folder = cache.kept("toolchain", "bytecode")
    for copies in (tempfile.gettempdir(), cache.root()):
        shutil.rmtree(folder / str(copies).lstrip("/"), ignore_errors=True)
    return folder


@app.command("test", context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
             epilog="Examples: graphloom test; graphloom test tb/test_runner.py -x; graphloom test "
             "-k weaver; graphloom test --seed fresh; graphloom test --quick")
def _test(context: typer.Context,
          seed: Annotated[str | None, typer.Option(
              metavar="N|fresh", help="Give the random tests other seeds than the usual ones: "
              "seeds that follow from N or, with fresh, from a number that is drawn and "
              "shown.")] = None,
          quick: Annotated[bool, typer.Option(
              "--quick", help="Run a part of the tests that takes about five minutes: of each test "
              "function one case, without the functions that are known to be slow.")] = False,
          full: Annotated[bool, typer.Option(
              "--full", help="Run all cases of long tests, of which otherwise some are drawn, and "
              "tests that take minutes.")] = False):
    """Run the tests. Further arguments are pytest's; paths are those of the project's folder.

    Tests that need Icarus Verilog are skipped where it is not installed.
    """
    need_tree("graphloom test")
    if quick and full:
        raise UserError("--quick and --full: a part and the whole; give one of them")
    need("graphloom test", "pytest", "test")
    extra = list(context.args)
    command = [sys.executable, "-m", "pytest", "--quiet", "-rs", *["--quick"] * quick,
               *["--full"] * full]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if environment.pop("PYTHONDONTWRITEBYTECODE", "") and "PYTHONPYCACHEPREFIX" not in environment:
        environment["PYTHONPYCACHEPREFIX"] = str(_bytecode())
    again = ""
    if seed is not None:
        number = _seed(seed)
        environment[_VARIABLE] = str(number)
        command.append(f"--hypothesis-seed={number}")
        again = f"; again with the same seeds: graphloom test --seed {number}"
        print(f"Random tests have the seed {number}", flush=True)
    if not any(word in ("-n", "--numprocesses", "--pdb") or (word.startswith("-n")
               and word[2:].isdigit()) for word in extra):
        # One more than there are processors, since some tests wait for a process or a clock.
        command += ["-n", str((os.cpu_count() or 1) + 1), "--dist", "worksteal"]
    # A standard output that cannot be written is told here: pytest would do so with a traceback.
    print("Running the tests", flush=True)
    pytest = subprocess.Popen([*command, *extra], cwd=ROOT, preexec_fn=tied(), env=environment)
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
    passed = "All tests of the quick part passed" if quick else "All tests passed"
    print((passed if code == 0 else "Tests FAILED (listed above)" if code == 1
           else f"pytest stopped with exit code {code}") + again)
    return 0 if code == 0 else 1 if code == 1 else 2
