"""The commands that do not simulate."""

import json
import re

import pytest

from sw.cli import pages
from sw.cli.main import main
from sw.cli.tests import ROOT


@pytest.mark.parametrize("command", [
    [], ["run"], ["compare"], ["verilog"], ["test"], ["prove"], ["lockstep"], ["campaign"],
    ["doctor"], ["docs"], ["graph"], ["graph", "info"], ["graph", "convert"],
    ["graph", "generate"], ["bench"], ["bench", "sim"]])
def test_help(capsys, command):
    assert main([*command, "--help"]) == 0
    assert "Usage: graphloom" in capsys.readouterr().out


def test_docs_are_up_to_date():
    for name, text in pages.pages().items():
        assert (ROOT / "docs" / name).read_text() == text, "run `./graphloom docs`"


def test_docs_have_every_row():
    from hw import config, isa, registers
    text = pages.pages()
    for row in isa.INSTRUCTIONS:
        assert f"| `{row.name}` |" in text["isa.md"]
    for name in (*registers.COUNTERS, *(register.name for register in registers.Register)):
        assert f"`{name}`" in text["registers.md"]
    for name in ("l1_ways", "weaver_entries", "latency"):
        assert re.search(rf"(?m)^\| `{name}` \|.*\w\. ?", text["configuration.md"])
    assert config.PRESETS.keys() <= set(re.findall(r"\w+", text["configuration.md"]))


def test_graph_commands(capsys, tmp_path):
    made, converted = tmp_path / "a.npz", tmp_path / "b.el.gz"
    assert main(["graph", "generate", "rmat:scale=5,degree=4,seed=2", str(made)]) == 0
    assert main(["graph", "convert", str(made), str(converted), "--undirected"]) == 0
    capsys.readouterr()
    facts = tmp_path / "facts.json"
    assert main(["graph", "info", str(made), "--json", str(facts)]) == 0
    assert "vertices" in capsys.readouterr().out
    assert json.loads(facts.read_text())["arcs"] == 128


def test_generators_are_listed(capsys):
    assert main(["graph", "generate"]) == 0
    assert "rmat" in capsys.readouterr().out


def test_doctor(capsys):
    code = main(["doctor"])
    text = capsys.readouterr().out
    for name in ("Python", "Verilator", "C++ compiler", "Icarus Verilog", "Cache"):
        assert name in text
    assert code == ("Graphs cannot be run" in text)


def test_doctor_says_what_is_broken(capsys, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path / "file" / "cache"))
    assert main(["doctor"]) == 1
    assert "set GRAPHLOOM_CACHE" in " ".join(capsys.readouterr().out.split())


def test_lock_names_no_index():
    lines = (ROOT / "requirements.lock").read_text().splitlines()[1:]
    for line in lines:
        assert re.fullmatch(r"[a-z0-9-]+==[\w.]+(; [^#]+)?", line), line
