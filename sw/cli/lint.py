"""``graphloom lint``: style and types of the sources. For developers, so not listed."""

import subprocess
import sys

from sw.errors import UserError

from .tests import ROOT


__all__ = ["register"]


def register(app):
    """Add the command."""
    app.command("lint", hidden=True)(_lint)


def _lint():
    """Check the sources: ruff on the whole tree, pyright on sw, sim and synth."""
    import importlib.util
    import tomllib
    missing = [tool for tool in ("ruff", "pyright") if importlib.util.find_spec(tool) is None]
    if missing:
        with open(ROOT / "pyproject.toml", "rb") as file:
            tools = tomllib.load(file)["project"]["optional-dependencies"]["dev"]
        raise UserError(f"{' and '.join(missing)} not installed: {sys.executable} -m pip install "
                        + " ".join(f"'{tool}'" for tool in tools))
    codes = [subprocess.run([sys.executable, "-m", *tool], cwd=ROOT, check=False).returncode
             for tool in (("ruff", "check"), ("pyright",))]
    return 1 if any(codes) else 0
