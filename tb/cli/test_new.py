"""``graphloom new``: a unit outside of the tree.

====================  ==============================================================
the folder            test_check: its program, from bench to comparison
names                 test_refused
files of units        test_a_file_is_wrong, test_a_changed_unit_is_built_again
====================  ==============================================================
"""

import os
import re
import subprocess
import sys

import pytest

from base.installation import ROOT
from hw.gather.variants import VARIABLE
from sw.cli.main import main


def graphloom(*words, units):
    """What the command line prints, with units of the user."""
    return subprocess.run([sys.executable, "-m", "sw.cli", *words], cwd=ROOT, check=False,
                          capture_output=True, text=True, env=os.environ | {VARIABLE: str(units)})


@pytest.fixture
def unit(tmp_path):
    """The file of a new unit."""
    assert main(["new", "unit", "serial", "--directory", str(tmp_path)]) == 0
    return tmp_path / "serial" / "unit.py"


def test_check(unit):
    program = unit.parent / "graphloom"
    program.write_text(f'#!/bin/sh\ncd {ROOT} && PYTHONPATH={ROOT} exec {sys.executable} '
                       '-m sw.cli "$@"\n')
    program.chmod(0o755)
    done = subprocess.run([unit.parent / "check"], capture_output=True, text=True, check=False,
                          env=os.environ | {"GRAPHLOOM": str(program), "GRAPH": "karate",
                                            "GRAPHLOOM_OPTIMIZE": "0"})
    assert done.returncode == 0, done.stdout + done.stderr
    for words in ("no difference", "All 2 proofs hold; all 2 covers are reached", r"LUT4 +\d",
                  r"karate +bfs +[\d,]+ +[\d,]+ +[\d,]+"):
        assert re.search(words, done.stdout), done.stdout


@pytest.mark.parametrize("name, words", [
    ("fsm", "there is a unit of that name"), ("none", "there is a unit of that name"),
    ("Mine", "must be a small letter"), ("../x", "must be a small letter"),
    ("class", "must be a small letter"), ("taken", "is there already")])
def test_refused(capsys, tmp_path, name, words):
    (tmp_path / "taken").mkdir()
    assert main(["new", "unit", name, "--directory", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and words in said.err
    assert [path.name for path in tmp_path.rglob("*")] == ["taken"]


@pytest.mark.parametrize("text, words", [
    (None, "there is no such file"), ("a = 1\nb = (\n", "unit.py:2: "), ("x = 1\n", "no VARIANT"),
    ("import nothing_there\n", "unit.py:1: ModuleNotFoundError"),
    ("import json\na = json.loads('[')\n", "unit.py:2: JSONDecodeError")])
def test_a_file_is_wrong(tmp_path, text, words):
    if text is not None:
        (tmp_path / "unit.py").write_text(text)
    done = graphloom("list", "schedules", units=tmp_path / "unit.py")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and words in done.stderr


#: Prints the keys of a simulator with the user's unit and of one without.
_KEYS = """
from hw.config import preset
from sim.compiled import key
print(key(preset("tiny").replace(gather="serial")), key(preset("tiny")))
"""


def test_a_changed_unit_is_built_again(unit):
    def keys():
        return subprocess.run([sys.executable, "-c", _KEYS], cwd=ROOT, check=True, text=True,
                              capture_output=True, env=os.environ | {VARIABLE: str(unit)}
                              ).stdout.split()
    before = keys()
    unit.write_text(unit.read_text() + "# changed\n")
    after = keys()
    assert before[0] != after[0] and before[1] == after[1]
