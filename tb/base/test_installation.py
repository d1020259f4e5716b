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


def _names(extra, extras):
    """The packages that an extra asks for, those of the extras within it too."""
    for requirement in map(Requirement, extras[extra]):
        if requirement.name != "graphloom":
            yield requirement.name.lower()
        for other in requirement.extras if requirement.name == "graphloom" else ():
            yield from _names(other, extras)


def test_extras_are_those_of_the_project():
    """Each module is of a package that the extra asks for, and all of them are in the lock."""
    with open(installation.ROOT / "pyproject.toml", "rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    assert extras.keys() == installation.EXTRAS.keys()
    providers = importlib.metadata.packages_distributions()
    for extra, (_, modules) in installation.EXTRAS.items():
        names = set(_names(extra, extras))
        for module in modules:
            # The tests have no JupyterLab.
            assert {name.lower() for name in providers.get(module, [module])} <= names, module
        locked = [Requirement(package.requirement) for package in installation.bootstrap.packages(
            installation.ROOT, installation.bootstrap.LOCK_OF_EXTRAS, extra)]
        base = [Requirement(package.requirement) for package in installation.bootstrap.packages(
            installation.ROOT, installation.bootstrap.LOCK)]
        assert names <= {each.name for each in (*locked, *base)}, f"run ./graphloom lock: {extra}"


@pytest.fixture
def project(monkeypatch, tmp_path):
    """A tree with the launcher's environment, whose packages are those that run graphs."""
    monkeypatch.setattr(installation, "ROOT", tmp_path)
    monkeypatch.setattr(installation, "TREE", True)
    monkeypatch.setattr(installation.sys, "prefix", str(tmp_path / ".venv"))
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "graphloom-stamp").write_text("")
    (tmp_path / "requirements-extras.lock").write_text("matplotlib==1\n    # 9.9 MB: reproduce\n")
    return tmp_path


@pytest.mark.parametrize("changed, expected", [
    (None, "./graphloom setup synth"),
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
    monkeypatch.setattr(installation.bootstrap, "has", lambda root, extra: True)
    assert installation.advice("synth") == expected


@pytest.mark.parametrize("code", [0, 2])
def test_an_extra_is_installed_when_it_is_needed(monkeypatch, project, code):
    calls = []

    def install(command, **options):
        calls.append(command[1:])
        if not code:
            (project / ".venv" / "graphloom-stamp-reproduce").write_text(
                f"{project}\n{(project / 'requirements-extras.lock').read_text()}")
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(installation.subprocess, "run", install)
    if code:
        with pytest.raises(UserError, match="could not be installed"):
            installation.need("graphloom x", "matplotlib")
    else:
        for _ in range(2):
            installation.need("graphloom x", "matplotlib")
        assert not installation.obtain("no_such_module")
    assert calls == [["-P", str(project / "base" / "bootstrap.py"), str(project), "reproduce"]]


def test_need(monkeypatch):
    monkeypatch.setattr(installation, "TREE", False)
    installation.need("graphloom x", "numpy")
    monkeypatch.setitem(installation.sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match=r"^graphloom x needs matplotlib, which is not installed: "
                                        r"pip install 'graphloom\[reproduce\]'$"):
        installation.need("graphloom x", "matplotlib")
    monkeypatch.setitem(installation.sys.modules, "uv", None)
    with pytest.raises(UserError, match=r"graphloom\[dev\]'$"):
        installation.need("graphloom lock", "uv")
    monkeypatch.setitem(installation.sys.modules, "pytest", None)
    with pytest.raises(UserError, match=r"graphloom\[test\]'$"):
        installation.need("graphloom test", "pytest", "test")


def test_a_module_that_no_extra_brings_keeps_its_traceback(monkeypatch):
    monkeypatch.setitem(installation.sys.modules, "sw.graph.describe", None)
    with pytest.raises(ModuleNotFoundError):
        main(["graph", "info", "karate"])
