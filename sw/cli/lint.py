"""``graphloom lint``: style and types of the sources. For developers, so not listed."""

import subprocess
import sys

from base.installation import ROOT, need, need_tree, obtain

from .commands import app


@app.command("lint", hidden=True)
def _lint():
    """Check the sources: ruff on the whole tree, pyright on base, sw, sim and synth."""
    need_tree("graphloom lint")
    obtain("hypothesis", "test")        # the sources import most of what this extra brings
    for tool in ("ruff", "pyright"):
        need("graphloom lint", tool)
    codes = [subprocess.run([sys.executable, "-m", *tool], cwd=ROOT, check=False).returncode
             for tool in (("ruff", "check"), ("pyright",))]
    return 1 if any(codes) else 0
