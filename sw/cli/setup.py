"""``graphloom setup``: install the packages of all commands now."""

from sw import installation
from sw.errors import UserError
from sw.installation import ROOT, need_tree


__all__ = ["register"]


def register(app):
    """Add the command."""
    app.command("setup", epilog="Exit code: 0 if all packages are installed.")(_setup)


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
