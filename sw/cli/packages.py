"""``graphloom setup`` and ``graphloom lock``: the packages of commands, and their locks from
pyproject.toml. The second is for developers, so not listed."""

import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
from typing import Annotated

import typer

from base import bootstrap, installation
from base.errors import UserError
from base.installation import EXTRAS, ROOT, need, need_tree

from .commands import app


_MADE = "# {} Made from pyproject.toml by `./graphloom lock`; do not edit.\n"

#: One version of each package for every Python and platform, with hashes and without addresses:
#: a lock works with any index, and a changed file is refused.
_OPTIONS = ("--universal", "--fork-strategy", "fewest", "--no-emit-index-url",
            "--no-emit-find-links", "--no-annotate", "--no-header", "--quiet")


def _extras(names):
    for name in names:
        if name not in EXTRAS:
            raise UserError(f"no extra is called {name!r}; there are {', '.join(EXTRAS)}")
    return names


@app.command("setup", epilog="Exit code: 0 if the packages are installed. Examples: graphloom "
             "setup; graphloom setup report synth")
def _setup(extras: Annotated[list[str] | None, typer.Argument(
        metavar="[EXTRA]...", help="Extras that `graphloom doctor` lists; all without a name.",
        show_default=False)] = None):
    """Install the packages of all commands, or of some, for example before the network is gone.

    The launcher ./graphloom begins with the packages that run graphs. The first command that needs
    an extra, such as report or synth, installs that extra.
    """
    need_tree("graphloom setup")
    extras = _extras(extras or list(EXTRAS))
    if not installation.launched():
        raise UserError("graphloom setup completes the environment that the launcher ./graphloom "
                        "makes, and this is another one: install the package's extras with pip")
    installation.add(extras)
    print(f"{ROOT / '.venv'} has the packages of {', '.join(extras)}")


@app.command("lock", hidden=True)
def _lock(upgrade: Annotated[bool, typer.Option(
    "--upgrade", help="Take the newest versions that pyproject.toml allows.")] = False):
    """Resolve the dependencies in pyproject.toml with uv and write requirements.lock and
    requirements-extras.lock.

    The command needs a network. Versions that are in a lock and still fit stay as they are.
    """
    need_tree("graphloom lock")
    need("graphloom lock", "uv")
    locks = [ROOT / name for name in (bootstrap.LOCK, bootstrap.LOCK_OF_EXTRAS)]
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder, "whole.txt")
        whole.write_text("".join(path.read_text() for path in locks if path.exists()))
        _compile(whole, "--all-extras", "--generate-hashes", *["--upgrade"] * upgrade)
        sizes, (few, *others) = _sizes(whole), (_names(whole, extra) for extra in (None, *EXTRAS))
        texts = [_MADE.format("The packages that run graphs."),
                 _MADE.format("The packages that extras add.")]
        for package in bootstrap.packages(folder, whole.name):
            name = package.requirement.partition("==")[0]
            extras = [extra for extra, names in zip(EXTRAS, others) if name in names]
            note = "" if name in few else f": {' '.join(extras)}"
            texts[name not in few] += f"{package.text}    # {sizes[name] / 1e6:.2f} MB{note}\n"
    from . import files
    for path, text in zip(locks, texts):
        old = path.read_text() if path.exists() else ""
        if text != old:
            files.write_text(str(path), text)
        print(f"{path}: {'up to date' if text == old else 'written'}")


def _compile(made, *options):
    """Have uv write a lock. Raises UserError if there are no versions that fit together."""
    done = subprocess.run(
        [sys.executable, "-m", "uv", "pip", "compile", *_OPTIONS, *options, "--output-file", made,
         "pyproject.toml"], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False)
    if done.returncode:
        raise UserError("uv cannot resolve the dependencies in pyproject.toml: "
                        + (done.stderr or "no reason given"))
    return made.read_text()


def _names(whole, extra):
    """The packages of a lock that an extra needs, or that run graphs."""
    text = _compile(whole.with_name("part.txt"), "--constraint", whole,
                    *[f"--extra={extra}"] if extra else [])
    return set(re.findall(r"(?m)^([a-z0-9-]+)==", text))


def _sizes(whole):
    """{package: bytes of the file that this Python fetches}."""
    from packaging.tags import sys_tags
    from packaging.utils import parse_wheel_filename
    text = _compile(whole.with_name("pylock.toml"), "--all-extras", "--constraint", whole,
                    "--format", "pylock.toml")
    ranks, sizes = {tag: rank for rank, tag in enumerate(sys_tags())}, {}
    for package in tomllib.loads(text)["packages"]:
        fitting = [(min(ranks[tag] for tag in tags), wheel["size"])
                   for wheel in package.get("wheels", ()) if
                   (tags := ranks.keys() & parse_wheel_filename(wheel["url"].split("/")[-1])[3])]
        sizes[package["name"]] = min(fitting)[1] if fitting \
            else package.get("sdist", {"size": 0})["size"]
    return sizes
