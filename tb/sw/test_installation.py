"""How Graphloom is installed: advice for what is missing."""

import importlib.metadata
import tomllib

import pytest
from packaging.requirements import Requirement

from sw import installation
from sw.cli.main import main
from sw.errors import UserError


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


@pytest.mark.parametrize("tree, prefix, expected", [
    (True, ".venv", "remove {root}/.venv; the next command installs all packages again"),
    (True, "elsewhere", "pip install 'graphloom[synth]'"),
    (False, ".venv", "pip install 'graphloom[synth]'"),
])
def test_advice(monkeypatch, tree, prefix, expected):
    monkeypatch.setattr(installation, "TREE", tree)
    monkeypatch.setattr(installation.sys, "prefix", str(installation.ROOT / prefix))
    assert installation.advice("synth") == expected.format(root=installation.ROOT)


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
    monkeypatch.setitem(installation.sys.modules, "sw.graph.load", None)
    with pytest.raises(ModuleNotFoundError):
        main(["graph", "info", "karate"])


def test_the_lock_leaves_large_extras_out():
    """No package of an extra in APART is installed by the launcher, unless others need it."""
    lock = (installation.ROOT / "requirements.lock").read_text()
    for extra in installation.APART:
        for module in installation.EXTRAS[extra]:
            assert f"\n{module}==" not in lock
    assert "\nipykernel==" in lock and "\nnbclient==" in lock
