"""The examples of docs/how-do-i.md work as they stand there.

Each section's code blocks are done in the order of the page, in a folder of their own: shell
commands and Python are run, differences are applied to a copy of the sources. The commands of the
board are parsed only (:mod:`tb.docs.test_commands`).
"""

import os
import re
import shutil
import subprocess
import sys

import pytest

from sw.cli.tests import ROOT

from . import markdown


SECTIONS = {}
for block in markdown.blocks((ROOT / "docs" / "how-do-i.md").read_text()):
    SECTIONS.setdefault(block.heading, []).append(block)

#: There is no board here.
BOARD = "How do I use a board?"

#: The folders that a copy of the sources has; the other folders and files are there as links.
COPIED = ("base", "hw", "sim", "sw", "checks", "tb", "docs")


def _script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def _prepare(folder, copied):
    """Make ``folder`` look like the project's, with the command line and Python of this process."""
    for path in ROOT.iterdir():
        if path.name in copied:
            shutil.copytree(path, folder / path.name,
                            ignore=shutil.ignore_patterns("__pycache__", ".*"))
        elif path.name not in (".venv", ".git", "graphloom"):
            (folder / path.name).symlink_to(path)
    _script(folder / "graphloom", f'exec {sys.executable} -m sw.cli "$@"')
    _script(folder / ".venv" / "bin" / "python", f'exec {sys.executable} "$@"')


def _apply(text, folder):
    """Apply differences: after ``--- FILE``, lines with a space are in the file. Lines with a minus
    go, and lines with a plus come."""
    for name, hunk in re.findall(r"(?m)^--- (\S+)\n((?:[ +-]?.*\n)*?)(?=^--- |\Z)", text):
        lines = hunk.splitlines()
        old = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "-"))
        new = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "+"))
        source = (folder / name).read_text()
        assert old and source.count(old) == 1, f"{name} does not have these lines once:\n{old}"
        (folder / name).write_text(source.replace(old, new))


def _run(arguments, folder, text):
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([*arguments, text], cwd=folder, env=environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, timeout=600)
    assert done.returncode == 0, f"{text}\n{done.stdout}"
    return done.stdout


@pytest.mark.parametrize("heading", [heading for heading in SECTIONS if heading != BOARD])
@pytest.mark.sample(3)
def test_section(heading, tmp_path):
    blocks = SECTIONS[heading]
    folder = tmp_path / "project"
    folder.mkdir()
    _prepare(folder, COPIED if any(block.info == "diff" for block in blocks) else ())
    printed = ""
    for block in blocks:
        if block.info == "sh":
            printed += _run(["bash", "-euo", "pipefail", "-c"], folder, block.text)
        elif block.info == "python":
            printed += _run([sys.executable, "-c"], folder, block.text)
        elif block.info == "diff":
            _apply(block.text, folder)
        else:
            pytest.fail(f"a block of {block.info!r}")
    for expected in PRINTED.get(heading, ()):
        assert expected in printed, printed


#: Words that show that an example has done what its section says.
PRINTED = {
    "How do I run my own graph?": ("4 vertices, 8 arcs", "[2 2 1 0] [2 2 3 3]"),
    "How do I change the caches?": ("L1 2 KiB", "L2 8 KiB"),
    "How do I write a kernel by hand?": ("mul value, value, value", "2401"),
    "How do I run a C program?": ("total 55",),
    "How do I add a counter?": ("docs: wrote registers.md", "1 passed", "full_warps"),
    "How do I repeat a figure of a paper?": ("fig3.10", "24.7 %"),
}


def test_the_page():
    """Every section has an example, and every title is a question."""
    text = (ROOT / "docs" / "how-do-i.md").read_text()
    titles = re.findall(r"(?m)^## (.*)$", text)
    assert titles == list(SECTIONS) and 12 <= len(titles) <= 18
    assert all(title.startswith("How do I ") and title.endswith("?") for title in titles)
    assert BOARD in SECTIONS and PRINTED.keys() <= SECTIONS.keys()
