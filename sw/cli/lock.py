"""``graphloom lock``: requirements.lock from pyproject.toml. For developers, so not listed."""

import pathlib
import subprocess
import sys
import tempfile
from typing import Annotated

import typer

from sw.errors import UserError
from sw.installation import APART, EXTRAS, ROOT, need, need_tree


__all__ = ["register"]


_HEADER = """\
# Every package Graphloom runs with. Made from pyproject.toml by `./graphloom lock`; do not edit.
"""

#: One version of each package for every Python and platform, with hashes and without addresses:
#: the lock works with any index, and a changed file is refused.
_OPTIONS = ("--universal", "--fork-strategy", "fewest", "--group", "dev",
            *(f"--extra={extra}" for extra in EXTRAS if extra not in APART),
            "--generate-hashes", "--no-emit-index-url", "--no-emit-find-links", "--no-annotate",
            "--no-header", "--quiet")


def register(app):
    """Add the command."""
    app.command("lock", hidden=True)(_lock)


def _lock(upgrade: Annotated[bool, typer.Option(
        "--upgrade", help="Take the newest versions that pyproject.toml allows.")] = False):
    """Resolve the dependencies in pyproject.toml with uv and write requirements.lock.

    The command needs a network. Versions that are in the lock and still fit stay as they are.
    """
    need_tree("graphloom lock")
    need("graphloom lock", "uv")
    from . import files
    path = ROOT / "requirements.lock"
    old = path.read_text() if path.exists() else ""
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder, path.name)
        made.write_text(old)
        done = subprocess.run(
            [sys.executable, "-m", "uv", "pip", "compile", *_OPTIONS, *["--upgrade"] * upgrade,
             "--output-file", made, "pyproject.toml"], cwd=ROOT, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False)
        if done.returncode:
            raise UserError("uv cannot resolve the dependencies in pyproject.toml: "
                            + (done.stderr or "no reason given"))
        text = _HEADER + made.read_text()
    if text != old:
        files.write_text(str(path), text)
    print(f"{path}: {'up to date' if text == old else 'written'}")
