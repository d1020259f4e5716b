"""Tests of shell completion: bash asks the launcher and the command, as it does on a Tab."""

import os
import subprocess
import sys

import pytest

from base.installation import ROOT
from sw.cli.completion import many
from sw.cli.main import app
from sw.compile import algorithms, formats, schedules


#: Completes several lists of words, behind each of which stands ``;``, as bash does: the last word
#: is begun. Prints a line for each.
_BASH = """
eval "$(_GRAPHLOOM_COMPLETE=source_bash "$1")"
complete -p graphloom > /dev/null || exit 9
program=$1 words=("$1")
shift
for word; do
    if [ "$word" != ";" ]; then words+=("$word"); continue; fi
    COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1)) COMPREPLY=()
    _graphloom_completion "$program"
    echo "${COMPREPLY[@]}"
    words=("$program")
done
"""


@pytest.fixture(scope="module", params=["./graphloom", "graphloom"])
def complete(request, tmp_path_factory):
    """A function from lists of words to what bash offers for each: with the launcher's way to the
    command line, and with a command that is found on PATH, as pip installs it."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "graphloom").write_text(
        f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' -m sw.cli \"$@\"\n")
    (folder / "graphloom").chmod(0o755)
    path = os.pathsep.join([str(folder), os.environ["PATH"]])

    def offered(*given):
        words = [word for each in given for word in (*each, ";")]
        done = subprocess.run(["bash", "--norc", "-c", _BASH, "bash", request.param, *words],
                              cwd=folder, env={**os.environ, "PATH": path}, text=True,
                              capture_output=True, timeout=300, check=True)
        assert done.stderr == ""
        return [line.split() for line in done.stdout.splitlines()]
    return offered


@pytest.mark.sample(1)
def test_bash(complete):
    assert complete(["comp"], ["run", "pager"], ["run", "bfs", "karate", "--so"],
                    ["run", "bfs", "karate", "--schedule", ""],
                    ["compare", "bfs", "karate", "--schedules", "vm,w"]) == [
        ["compare"], ["pagerank"], ["--source"], schedules.names(), ["vm,weaver", "vm,wm"]]


@pytest.mark.parametrize("words, expected", [
    (["run", ""], algorithms.names()), (["run", "bfs", "unif"], ["uniform:"]),
    (["run", "bfs", "kar"], ["karate"]), (["tune", "s"], ["sssp"]),
    (["run", "bfs", "karate", "--format", ""], formats.names()),
    (["run", "bfs", "karate", "--preset", ""],
     ["tiny", "fpga", "baseline", "default", "paper", "gpu"]),
    (["run", "bfs", "karate", "--set", "l1_m"], ["l1_mshrs="]),
    (["run", "nothing", "x", "--schedule", "em"], ["em"]),
    (["run", "bfs", "bfs", "--json", "", "--json", "", "--vm", "c"], ["cpu", "cuda"]),
    (["graph", "generate", "po"], ["powerlaw:"]), (["synth", "bo"], ["board"])])
def test_kinds(monkeypatch, capsys, words, expected):
    """Words before that are wrong do not matter."""
    monkeypatch.setenv("_GRAPHLOOM_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "\n".join(["graphloom", *(word or "''" for word in words)]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    with pytest.raises(SystemExit):
        app([], standalone_mode=False, prog_name="graphloom")
    found = capsys.readouterr().out.split()
    assert found == list(expected)


def test_a_list_has_no_name_twice():
    assert "vm" in many("schedules")("") and "vm,vm" not in many("schedules")("vm,")
