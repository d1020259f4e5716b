"""Loops without end: a limit of rounds and of numbers on every machine, and signals."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from base.errors import UserError
from base.installation import ROOT
from sw.graph import Graph
from sw.lang.reader import read_text
from sw.vm import cpu, host, loop_code, reference


_SPINS = """
from graphloom import edgeset, program, uint, vector, vertices

@program
def spins(edges: edgeset):
    words = vector(uint, 0)
    x = 0
    while True:
        x = x + 1
    return words
"""

#: Each round has an operator; the inner loop is in the outer, which can be fused.
_WORKS = """
from graphloom import edgeset, program, uint, vector, vertices

@program
def works(edges: edgeset, rounds: uint = 0):
    words = vector(uint, 0)

    def grow(v):
        words[v] = words[v] ^ 1

    x = 0
    while x < 1:
        y = 0
        while y >= 0:
            vertices.apply(grow)
            y = y + 1
    return words
"""

_COUNTS = """
from graphloom import edgeset, program, uint, vector, vertices

@program
def counts(edges: edgeset):
    words = vector(uint, 0)

    def grow(v):
        words[v] = words[v] ^ 1

    for i in range(700):
        vertices.apply(grow)
        for j in range(70):
            x = j
    return words
"""

_GRAPH = Graph(3, [0, 1], [1, 2])


@pytest.mark.parametrize("machine", [reference, cpu])
@pytest.mark.parametrize("text, line", [(_SPINS, "8"), (_WORKS, "1[24]")])
def test_a_limit_of_rounds(monkeypatch, machine, text, line):
    monkeypatch.setattr(host, "MOST_IDLE", 100)
    for module in (host, loop_code):
        monkeypatch.setattr(module, "MOST_ROUNDS", 5000)
    with pytest.raises(UserError, match=rf"^\S+:{line}:\d+: this loop has no end, or too many"):
        machine.run(read_text(text), _GRAPH)


@pytest.mark.parametrize("machine", [reference, cpu])
@pytest.mark.parametrize("start, grows", [("3", "x * x"), ("0.5", "x / 3"), ("3", "x << 63"),
                                          ("2", "0 - x * x"), ("0.1", "x + x * x")])
def test_a_limit_of_numbers(machine, start, grows):
    """A number that grows in a loop fills no memory, and one of few bits passes."""
    text = _SPINS.replace("x = 0", f"x = {start}").replace("x = x + 1", f"x = {grows}")
    with pytest.raises(UserError, match=r"^\S+:9:\d+: a number of the host has more than 1000 "):
        machine.run(read_text(text), _GRAPH)
    few = text.replace("while True", "for i in range(4)")
    assert machine.run(read_text(few), _GRAPH).outputs["words"].tolist() == [0, 0, 0]


@pytest.mark.parametrize("body, rounds", [
    ("s = vertices", "1 come again in round 2"),
    ("edges.from_(s).apply(lower)", "1 come again in round 2"),
    ("vertices.apply(turn)", "2 come again in round 4")])
def test_states_that_come_again(body, rounds, tmp_path, capsys):
    """A loop whose words, sets and numbers come again is refused, and before a device begins."""
    from sw.cli.main import main
    path = tmp_path / "again.py"
    path.write_text("""
from graphloom import edgeset, program, uint, vector, vertices

@program
def again(edges: edgeset):
    words = vector(uint, lambda v: 3)
    s = vertices

    def lower(src, dst):
        words[dst].min(words[src])

    def turn(v):
        words[v] = words[v] ^ 1

    while s:
        BODY
    return words
""".replace("BODY", body))
    assert main(["run", str(path), "karate", "--preset", "tiny", "--functional"]) == 2
    assert re.search(rf"again\.py:15:5: this loop has no end: .* of round {rounds}$",
                     capsys.readouterr().err.strip())


@pytest.mark.parametrize("machine", [reference, cpu])
def test_long_loops_pass(monkeypatch, machine):
    """Rounds without an operator count on end only."""
    monkeypatch.setattr(host, "MOST_IDLE", 71)
    for module in (host, loop_code):
        monkeypatch.setattr(module, "MOST_ROUNDS", 700 * 71)
    assert machine.run(read_text(_COUNTS), _GRAPH).outputs["words"].tolist() == [0, 0, 0]


@pytest.mark.parametrize("words", [(), ("--functional",)])
def test_the_device(monkeypatch, tmp_path, capsys, words):
    """Neither the RTL nor the functional simulator is needed for the line."""
    from sw.cli.main import main
    monkeypatch.setattr(host, "MOST_IDLE", 100)
    path = tmp_path / "spins.py"
    path.write_text(_SPINS)
    assert main(["run", str(path), "karate", "--preset", "tiny", *words]) == 2
    assert re.search(r"graphloom: error: \S+spins\.py:8:\d+: this loop has no end",
                     capsys.readouterr().err)


@pytest.mark.parametrize("machine, text", [("cpu", _WORKS), ("reference", _WORKS),
                                           ("reference", _SPINS)])
@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.sample(2)
def test_signals(tmp_path, machine, text, number, code):
    """A signal ends the command within a moment, also in a loop of C++ within another."""
    path = tmp_path / "endless.py"
    path.write_text(text)
    process = subprocess.Popen(
        [sys.executable, "-m", "sw.cli", "run", str(path), "karate", "--vm", machine], cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert process.stderr.readline().startswith("graphloom: note: ")
    time.sleep(4 if machine == "cpu" else 1)
    process.send_signal(number)
    began = time.monotonic()
    _, error = process.communicate(timeout=300)
    assert process.returncode == code and "Traceback" not in error
    assert time.monotonic() - began < 120
