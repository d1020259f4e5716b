"""A program's own parameters as options of the command line.

======================  ========================================================
values                  test_a_text_with_an_argument, test_a_plan_and_options
taken names             test_a_seed_is_for_all_that_draws, test_a_taken_name
help                    test_help
wrong                   tb/cli/test_errors.py
======================  ========================================================
"""

import json
import re

import pytest

from sw.cli.main import main
from tb.cli.test_errors import refused


_TEXT = '''"""Spreads for some rounds."""
from sw.lang.names import edgeset, program, uint, vector, vertex, vertices


@program
def spread(edges: edgeset, rounds: int = 2, {name}: uint = 1):
    """How far a mark has come."""
    mark = vector(uint, 0)

    def renew(v):
        mark[v] = min(mark[v] + {name}, 9)

    for round in range(rounds):
        vertices.apply(renew)
    return mark
'''


@pytest.fixture
def found(tmp_path, capsys):
    """A function that runs a command line and returns its plan and its graph's text."""
    def run(*words):
        path = tmp_path / "out.json"
        assert main([*words, "--vm", "cpu", "--json", str(path)]) == 0
        capsys.readouterr()
        record = json.loads(path.read_text())
        return record["plan"], record["graph"]["spec"]
    return run


@pytest.fixture
def text(tmp_path):
    """A function that writes the program, with a parameter of this name, and returns its file."""
    def write(name):
        path = tmp_path / "spread.py"
        path.write_text(_TEXT.replace("{name}", name))
        return str(path)
    return write


def test_a_text_with_an_argument(found, text):
    file = text("step")
    assert found("run", file, "karate", "--rounds", "5")[0] == f"{file}(rounds=5)"
    assert found("run", "--rounds=0x5", "--step", "3", file, "karate")[0] == (
        f"{file}(rounds=5,step=3)")


def test_a_plan_and_options(found):
    assert found("run", "karate", "--plan", "bfs(source=3)", "--source", "hub")[0] == (
        "bfs(source=hub)")
    assert found("run", "bfs(source=3)", "karate") == ("bfs(source=3)", "karate")


def test_a_seed_is_for_all_that_draws(found):
    graph = "rmat:scale=4,degree=2"
    assert found("run", "mis", "karate", "--undirected", "--seed", "3") == ("mis(seed=3)", "karate")
    assert found("run", "mis", graph, "--undirected", "--simplify", "--seed", "3") == (
        "mis(seed=3)", f"{graph},seed=3")
    assert found("run", graph, "--plan", "mis(seed=4)", "--undirected", "--simplify", "--seed",
                 "3") == ("mis(seed=4)", f"{graph},seed=3")


def test_a_taken_name(found, text, capsys):
    """A name that the command has for something else gets a longer option."""
    file = text("warps")
    assert found("run", file, "karate", "--parameter-warps", "4")[0] == f"{file}(warps=4)"
    assert "chooses how the device works" in refused(capsys, "run", file, "karate", "--vm", "cpu",
                                                     "--warps", "1")


@pytest.mark.parametrize("command", ["run", "compare", "tune"])
def test_help(capsys, command):
    """Help has the parameters of the program alone, and what applies to it."""
    shown = {}
    for name in ("bfs", "gcn", "kcore", "sssp"):
        assert main([command, name, "--help"]) == 0
        shown[name] = capsys.readouterr().out
    has = {option: {name for name, text in shown.items() if re.search(f"{option}  ", text)}
           for option in ("--source", "--feature-columns", "--weight-scale", "--schedule", "--vm")}
    assert has["--source"] == {"bfs", "sssp"} and has["--feature-columns"] == {"gcn"}
    assert has["--weight-scale"] == {"sssp"}
    if command == "run":
        assert has["--schedule"] == {*shown} and has["--vm"] == {*shown} - {"gcn"}
