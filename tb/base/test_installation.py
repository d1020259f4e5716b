"""How Graphloom is installed: advice for what is missing."""

import importlib.metadata
import pathlib
import subprocess
import tomllib

import pytest
from packaging.requirements import Requirement

from base import installation
from base.errors import UserError
from sw.cli.main import main


def test_extras_are_those_of_the_project():
    with open(installation.ROOT / "pyproject.toml", "rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    assert extras.keys() == installation.EXTRAS.keys() >= set(installation.APART)
    providers = importlib.metadata.packages_distributions()
    for extra, modules in installation.EXTRAS.items():
        if extra in installation.APART:         # not installed
            continue
        names = {Requirement(text).name for text in extras[extra]}
        for module in modules:
            assert {name.lower() for name in providers[module]} <= names, module


@pytest.fixture
def project(monkeypatch, tmp_path):
    """A tree with the launcher's environment, whose packages are those that run graphs."""
    monkeypatch.setattr(installation, "ROOT", tmp_path)
    monkeypatch.setattr(installation, "TREE", True)
    monkeypatch.setattr(installation.sys, "prefix", str(tmp_path / ".venv"))
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "graphloom-stamp").write_text("")
    (tmp_path / "requirements-all.lock").write_text("# everything\n")
    return tmp_path


@pytest.mark.parametrize("changed, expected", [
    (None, "./graphloom setup"),
    (("TREE", False), "pip install 'graphloom[synth]'"),
    (("ROOT", pathlib.Path("elsewhere")), "pip install 'graphloom[synth]'"),
])
def test_advice(monkeypatch, project, changed, expected):
    if changed is not None:
        monkeypatch.setattr(installation, *changed)
    assert installation.advice("synth") == expected


def test_advice_for_a_damaged_environment(monkeypatch, project):
    expected = f"remove {project}/.venv; the next commands install the packages again"
    assert installation.advice() == expected
    monkeypatch.setattr(installation.bootstrap, "has_all", lambda root: True)
    assert installation.advice("synth") == expected


@pytest.mark.parametrize("code", [0, 2])
def test_more_packages_are_installed_when_they_are_needed(monkeypatch, project, code):
    calls = []

    def install(command, **options):
        calls.append(command[1:])
        if not code:
            (project / ".venv" / "graphloom-stamp-all").write_text(f"{project}\n# everything\n")
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(installation.subprocess, "run", install)
    if code:
        with pytest.raises(UserError, match="could not be installed"):
            installation.need("graphloom x", "matplotlib")
    else:
        for _ in range(2):
            installation.need("graphloom x", "matplotlib")
        assert not installation.obtain("no_such_module")
    assert calls == [["-P", str(project / "base" / "bootstrap.py"), str(project), "all"]]


def test_need(monkeypatch):
    monkeypatch.setattr(installation, "TREE", False)
    installation.need("graphloom x", "numpy")
    monkeypatch.setitem(installation.sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match=r"^graphloom x needs matplotlib, which is not installed: "
                                        r"pip install 'graphloom\[reproduce\]'$"):
        installation.need("graphloom x", "matplotlib")
    monkeypatch.setitem(installation.sys.modules, "uv", None)
    with pytest.raises(UserError, match="pip install uv$"):
        installation.need("graphloom lock", "uv")


def test_a_module_that_no_extra_brings_keeps_its_traceback(monkeypatch):
    monkeypatch.setitem(installation.sys.modules, "sw.graph.describe", None)
    with pytest.raises(ModuleNotFoundError):
        main(["graph", "info", "karate"])


def test_the_lock_leaves_large_extras_out():
    """No package of an extra in APART is installed by the launcher, unless others need it."""
    lock = (installation.ROOT / "requirements-all.lock").read_text()
    for extra in installation.APART:
        for module in installation.EXTRAS[extra]:
            assert f"\n{module}==" not in lock
    assert "\nipykernel==" in lock and "\nnbclient==" in lock
