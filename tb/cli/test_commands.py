"""Tests of the commands that do not simulate."""

import itertools
import json
import re
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement

from base import bootstrap, installation
from base.installation import EXTRAS, ROOT
from sw.compile import formats
from sw.cli import doctor, pages
from sw.cli.main import main
from sw.lang import programs
from synth import tools
from tb import runner


@pytest.mark.parametrize("command", [
    [], ["run"], ["compare"], ["verilog"], ["test"], ["prove"], ["lockstep"], ["campaign"],
    ["mutants"], ["doctor"], ["setup"], ["live"], ["docs"], ["graph"], ["graph", "info"],
    ["graph", "convert"], ["graph", "generate"], ["graph", "formats"], ["bench"], ["bench", "sim"],
    ["bench", "formats"], ["bench", "compiling"], ["list"], ["lang"], ["lang", "list"],
    ["lang", "show"], ["reproduce"], ["course"], ["course", "list"], ["course", "check"],
    ["synth"], ["synth", "weaver"], ["synth", "budgets"], ["synth", "overhead"]])
def test_help(capsys, command):
    assert main([*command, "--help"]) == 0
    assert "Usage: graphloom" in capsys.readouterr().out


def test_a_start_loads_little():
    """These packages take long to load, and few commands need them."""
    large = ["dask", "matplotlib", "networkx", "plotly", "scipy.sparse", "wasmtime"]
    code = f"import sys, sw.cli.main; print([name for name in {large} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                          check=True)
    assert done.stdout == "[]\n"


def test_docs_are_up_to_date():
    for name, text in pages.pages().items():
        assert (ROOT / "docs" / name).read_text() == text, "run `./graphloom docs`"


def test_docs_have_every_row():
    from hw import config, isa, registers
    from hw.scu import registers as scu
    text = pages.pages()
    for row in isa.INSTRUCTIONS:
        assert f"| `{row.name}` |" in text["isa.md"]
    for name in (*registers.COUNTERS, *(register.name for register in registers.Register)):
        assert f"`{name}`" in text["registers.md"]
    for kind in (scu.ScuRegister, scu.ScuOperation, scu.ScuOutput, scu.ScuCompare, scu.ScuStatus,
                 scu.ScuCommand, scu.ScuError):
        for name in kind.__members__:
            assert f"`{name}`" in text["scu-registers.md"]
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


def test_graph_formats(capsys, tmp_path):
    figures = tmp_path / "figures.json"
    assert main(["graph", "formats", "karate", "--formats", "tigr:k=2,cr2:cluster_bits=4",
                 "--repeat", "1", "--json", str(figures)]) == 0
    text = capsys.readouterr().out
    for word in ("bytes", "csr", "tigr:k=2", "intra-cluster arcs", "subgraphs of cr2", "records"):
        assert word in text
    found = json.loads(figures.read_text())
    assert (found["vertices"], found["arcs"]) == (34, 156)
    csr, tigr, cr2 = found["formats"]
    assert csr["nbytes"] == 4 * (35 + 156) and csr["intra_share"] is None
    assert tigr["options"] == {"k": 2, "block": None, "reorder": "none", "rounds": None,
                               "sample": None}
    assert sum(row["edges"] for row in cr2["subgraphs"]) == 156
    inside = sum(row["edges"] for row in cr2["subgraphs"] if row["part"] == "intra")
    assert cr2["intra_share"] == inside / 156


def test_bench_formats(capsys):
    assert main(["bench", "formats", "--graph", "karate", "--repeat", "1"]) == 0
    text = capsys.readouterr().out
    assert "peak memory" in text and "arcs a second" in text
    for name in formats.image_names():
        assert re.search(rf"(?m)^{name} ", text)


def test_bench_compiling(capsys, tmp_path, monkeypatch):
    if not runner.whole:
        few = programs.names()[::4]
        monkeypatch.setattr(programs, "names", lambda: few)
    path = tmp_path / "compiling.json"
    assert main(["bench", "compiling", "--repeat", "1", "--schedule", "em", "--json",
                 str(path)]) == 0
    text, found = capsys.readouterr().out, json.loads(path.read_text())
    assert found["schedule"] == "em" and found["repeat"] == 1
    assert list(found["programs"]) == list(programs.names())
    for name, each in found["programs"].items():
        assert re.search(rf"(?m)^{name} .*{each['bytes']:,}", text)
        assert all(each[step] >= 0 for step in ("read", "plan", "kernels"))
    # The clock of a process with a limit, as in a sandbox, goes on by ticks.
    assert sum(each["kernels"] for each in found["programs"].values()) > 0


def test_generators_are_listed(capsys):
    assert main(["graph", "generate"]) == 0
    assert "rmat" in capsys.readouterr().out


def test_doctor(capsys):
    code = main(["doctor"])
    text = capsys.readouterr().out
    for name in ("Python", "Verilator", "C++ compiler", "Icarus Verilog", "Chromium", "Cache"):
        assert name in text
    assert code == ("Graphs cannot be run" in text)


def test_setup_and_doctor_of_an_environment_with_few_packages(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(installation, "launched", lambda: True)
    monkeypatch.setattr(installation.bootstrap, "has", lambda root, extra: extra != "synth")
    added = []
    with monkeypatch.context() as change:                  # the command only looks
        change.setattr(tools.shutil, "which", lambda name, path=None: None)
        change.setattr(installation, "add", lambda extras: pytest.fail("packages are installed"))
        state, found, step = doctor._synthesis("yosys")()
    assert state == "missing" and step.endswith("./graphloom setup synth")
    monkeypatch.setattr(installation, "add", added.append)
    assert main(["setup"]) == 0 and main(["setup", "synth", "report"]) == 0
    assert "has the packages of synth, report\n" in capsys.readouterr().out
    assert added == [list(EXTRAS), ["synth", "report"]]
    assert main(["setup", "no"]) == 2
    assert "no extra is called 'no'; there are board, " in capsys.readouterr().err
    monkeypatch.setattr(installation, "launched", lambda: False)
    assert main(["setup"]) == 2
    assert "this is another one" in capsys.readouterr().err


def test_doctor_shows_each_extra(monkeypatch):
    """Whether it is there, with its size; else what is to be fetched."""
    lock = {"synth": [bootstrap.Package("numpy>=1\n", 1.5, frozenset(("synth",)))]}
    monkeypatch.setattr(bootstrap, "packages", lambda root, name, extra=None: lock[extra])
    state, found, step = doctor._extra("synth")()
    assert state == "ok" and re.search("synth, prove; packages: 1, [0-9.]+ MB", found)
    lock["synth"].append(bootstrap.Package("no-such-package==1 \\\n", 2, frozenset(("synth",))))
    state, found, step = doctor._extra("synth")()
    assert state == "missing" and step.endswith(("setup synth", "'graphloom[synth]'"))
    assert found.endswith("packages: 2, 1 missing or of another version, 3.5 MB to fetch for all")


def test_doctor_shows_a_shared_cache(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHLOOM_CACHE_SHARED", str(tmp_path / "gone"))
    assert main(["doctor"]) == 1
    assert "GRAPHLOOM_CACHE_SHARED" in capsys.readouterr().out
    (tmp_path / "gone").mkdir()
    main(["doctor"])
    assert "; read first: " in " ".join(capsys.readouterr().out.split())


def test_doctor_says_what_is_broken(capsys, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path / "file" / "cache"))
    assert main(["doctor"]) == 1
    assert "set GRAPHLOOM_CACHE" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("lock", [bootstrap.LOCK, bootstrap.LOCK_OF_EXTRAS])
def test_lock_has_versions_and_hashes_and_names_no_index(lock):
    extras = "" if lock == bootstrap.LOCK else f": (({'|'.join(EXTRAS)}) ?)+"
    for package in bootstrap.packages(ROOT, lock):
        # A package without a hash would make pip refuse the whole lock.
        assert re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; [^#\n]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+"
                            rf"\n    # [0-9.]+ MB{extras}\n", package.text), package.text
    assert "".join(package.text for package in bootstrap.packages(ROOT, lock)) \
        == (ROOT / lock).read_text().partition("\n")[2]


def test_locks_have_what_the_project_asks_for():
    """A package is in one of the locks, in a version that pyproject.toml allows."""
    locked = [Requirement(package.requirement)
              for lock in (bootstrap.LOCK, bootstrap.LOCK_OF_EXTRAS)
              for package in bootstrap.packages(ROOT, lock)]
    versions = {each.name: str(each.specifier).removeprefix("==") for each in locked}
    assert len(versions) == len(locked)
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    for requirement in map(Requirement, itertools.chain(
            project["dependencies"], *project["optional-dependencies"].values())):
        assert requirement.name == "graphloom" or requirement.specifier.contains(
            versions[requirement.name]), f"run `./graphloom lock`: {requirement}"
    few = {Requirement(package.requirement).name
           for package in bootstrap.packages(ROOT, bootstrap.LOCK)}
    assert few >= {Requirement(text).name for text in project["dependencies"]}
