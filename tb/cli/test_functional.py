"""``--functional`` of the commands: results and instructions, and no figure in cycles.

==============================  ==================================================================
``run``                         test_run, test_json, test_counters
``exec``                        test_exec, test_exec_of_an_error, test_exec_refuses
``lockstep``                    test_lockstep, test_lockstep_tells_a_difference
``bench sim``                   test_bench
refused                         test_refused, test_refused_elsewhere
==============================  ==================================================================
"""

import json
import re

import numpy as np
import pytest

from checks.campaign import functional
from hw.isa import encode
from sim import bench
from sw.cli.main import main
from sw.golden.lockstep import Difference
from tb.cli.test_exec import EXAMPLES, TINY, code, compile_program, write


GRAPH = "rmat:scale=6,degree=8,seed=1"


def test_run(capsys):
    assert main(["run", "bfs", GRAPH, "--functional", "--schedule", "wm"]) == 0
    out = capsys.readouterr().out
    assert "bit-identical to the interpreter of its text" in out and "cycles" not in out
    assert re.search(r"^instructions +[\d,]+$", out, re.MULTILINE)
    assert re.search(r"^thread instructions +[\d,]+$", out, re.MULTILINE)


def test_json(tmp_path, capsys):
    """The outputs are those of the RTL; the file has no figure in cycles."""
    found = {}
    for name, options in (("functional", ["--functional"]), ("rtl", [])):
        path, arrays = tmp_path / f"{name}.json", tmp_path / f"{name}.npz"
        assert main(["run", "pagerank", GRAPH, "--iterations", "2", "--preset", "tiny",
                          "--schedule", "vm", "--json", str(path), "--output", str(arrays),
                          *options]) == 0
        found[name] = json.loads(path.read_text()), np.load(arrays)
    (functional_, arrays), (rtl, right) = found["functional"], found["rtl"]
    assert functional_["functional"] is True and "dram" not in functional_
    [mine], [theirs] = functional_["results"], rtl["results"]
    assert set(theirs) - set(mine) == {"cycles", "launch_cycles", "total_cycles", "set_cycles",
                                       "phases"}
    assert mine["checksum"] == theirs["checksum"]
    assert mine["counters"] == {name: theirs["counters"][name]
                                for name in ("instructions", "lanes")}
    assert all(np.array_equal(arrays[name], right[name]) for name in right.files)


def test_counters(capsys):
    assert main(["run", "bfs", GRAPH, "--functional", "--counters"]) == 0
    out = capsys.readouterr().out
    assert "active lanes, summed over issued instructions" in out
    assert "L1" not in out.partition("\n")[2]


@pytest.mark.parametrize("options", [
    ["--wave", "a.fst"], ["--trace", "a.txt"], ["--trace-cycles", "0:9"], ["--dram", "latency=9"],
    ["--max-cycles", "100"], ["--launch-cycles", "0"], ["--phases"]])
def test_refused(capsys, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "bfs", GRAPH, "--functional", *options]) == 2
    error = capsys.readouterr().err
    assert error == (f"graphloom: error: {options[0]}: the functional simulator (--functional) has "
                     "no cycles; leave out one of the two\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("options, text", [
    (["--vm", "cpu"], "--functional applies to the device, not to --vm cpu"),
    (["--device", "serial:/dev/none"], "--functional applies to simulations only"),
])
def test_refused_elsewhere(capsys, options, text):
    assert main(["run", "bfs", GRAPH, "--functional", *options]) == 2
    assert text in capsys.readouterr().err


def test_exec(tmp_path, capsys):
    """A C program: its values and its instructions are those of the RTL."""
    program = compile_program(tmp_path, EXAMPLES / "start.S", EXAMPLES / "sum.c")
    found = []
    for options in (["--functional"], []):
        record = tmp_path / "run.json"
        assert main(["exec", str(program), *TINY, "--read", "total", "--read", "values:8",
                     "--json", str(record), *options]) == 0
        found.append((json.loads(record.read_text()), capsys.readouterr().out))
    (mine, out), (theirs, _) = found
    assert mine["memory"] == theirs["memory"] and mine["functional"] and "cycles" not in mine
    assert mine["instructions"] == theirs["instructions"]
    assert f"{mine['instructions']:,} instructions\n" in out and "cycles" not in out


def test_exec_of_an_error(tmp_path, capsys):
    """The same message as on the RTL."""
    program = write(tmp_path, [(0, code(encode("lui", rd=5, imm=0x70000),
                                        encode("lw", rd=6, rs1=5), encode("tmc")))])
    texts = []
    for options in (["--functional"], []):
        assert main(["exec", program, *TINY, *options]) == 1
        texts.append(capsys.readouterr().out.splitlines()[0])
    assert texts[0] == texts[1] and "a load from an unmapped address" in texts[0]


@pytest.mark.parametrize("options", [["--wave", "a.vcd"], ["--dram", "latency=9"],
                                     ["--max-cycles", "9"]])
def test_exec_refuses(tmp_path, capsys, options):
    program = write(tmp_path, [(0, code(encode("tmc")))])
    assert main(["exec", program, "--functional", *options]) == 2
    assert capsys.readouterr().err.startswith(f"graphloom: error: {options[0]}: the functional ")


def test_lockstep(capsys):
    assert main(["lockstep", "--functional", "--shape", "2x4", "--instructions", "2000",
                      "--set", "cores=2"]) == 0
    assert re.fullmatch(r"2x4: [\d,]+ instructions \([\d,]+ of lanes\) in \d+ launches of seeds 1 "
                        r"to \d+, [\d.]+ s: no difference\n", capsys.readouterr().out)


def test_lockstep_tells_a_difference(capsys, monkeypatch):
    def differs(*arguments, **settings):
        raise Difference("planted")

    monkeypatch.setattr(functional, "compare", differs)
    assert main(["lockstep", "--functional", "--shape", "1x4", "--set", "cores=3"]) == 1
    out = capsys.readouterr().out
    assert "1x4, seed 1: planted" in out
    assert re.search(r"lockstep --shape 1x4 --seed 1 .* --functional --set cores=3\n", out)


def test_bench(capsys, monkeypatch):
    measure = bench.measure
    monkeypatch.setattr(bench, "measure", lambda *work, counter, seconds: measure(
        *work, counter=counter, seconds=0.001))
    assert main(["bench", "sim", "--functional", "--graph", GRAPH, "--algorithm", "bfs"]) == 0
    assert re.search(r"default: [\d,]+ thread instructions a second", capsys.readouterr().out)
