"""``graphloom setup`` and ``graphloom lock``: the packages of all commands, and their locks from
pyproject.toml. The second is for developers, so not listed."""

import pathlib
import subprocess
import sys
import tempfile
from typing import Annotated

import typer

from base import installation
from base.errors import UserError
from base.installation import APART, EXTRAS, ROOT, need, need_tree

from .commands import app


_MADE = "Made from pyproject.toml by `./graphloom lock`; do not edit.\n"

#: One version of each package for every Python and platform, with hashes and without addresses:
#: a lock works with any index, and a changed file is refused.
_OPTIONS = ("--universal", "--fork-strategy", "fewest", "--generate-hashes", "--no-emit-index-url",
            "--no-emit-find-links", "--no-annotate", "--no-header", "--quiet")


@app.command("setup", epilog="Exit code: 0 if all packages are installed.")
def _setup():
    """Install the packages of all commands now, for example before the network is gone.

    The launcher ./graphloom begins with the packages that run graphs. The first command that needs
    more of them, such as test or synth, installs all.
    """
    need_tree("graphloom setup")
    if not installation.launched():
        raise UserError("graphloom setup completes the environment that the launcher ./graphloom "
                        "makes, and this is another one: install the package's extras with pip")
    installation.add_all()
    print(f"{ROOT / '.venv'} has the packages of all commands")


@app.command("lock", hidden=True)
def _lock(upgrade: Annotated[bool, typer.Option(
    "--upgrade", help="Take the newest versions that pyproject.toml allows.")] = False):
    """Resolve the dependencies in pyproject.toml with uv and write requirements.lock and
    requirements-all.lock.

    The command needs a network. Versions that are in a lock and still fit stay as they are.
    """
    need_tree("graphloom lock")
    need("graphloom lock", "uv")
    whole = ROOT / "requirements-all.lock"
    _write(whole, "Every package of every command, of the tests and of the tools.",
           "--group", "dev", *(f"--extra={extra}" for extra in EXTRAS if extra not in APART),
           *["--upgrade"] * upgrade)
    _write(ROOT / "requirements.lock", "The packages that run graphs, a part of "
           f"{whole.name}.", "--constraint", str(whole), *["--upgrade"] * upgrade)


def _write(path, content, *options):
    """Write a lock. Raises UserError if there are no versions that fit together."""
    from . import files
    old = path.read_text() if path.exists() else ""
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder, path.name)
        made.write_text(old)
        done = subprocess.run(
            [sys.executable, "-m", "uv", "pip", "compile", *_OPTIONS, *options, "--output-file",
             made, "pyproject.toml"], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, check=False)
        if done.returncode:
            raise UserError("uv cannot resolve the dependencies in pyproject.toml: "
                            + (done.stderr or "no reason given"))
        text = f"# {content} {_MADE}{made.read_text()}"
    if text != old:
        files.write_text(str(path), text)
    print(f"{path}: {'up to date' if text == old else 'written'}")
