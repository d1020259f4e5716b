"""``graphloom lint``: its exit codes, and what to do where a tool is missing."""

import importlib.util
import subprocess
import types

import pytest

from base import installation
from sw.cli.main import main


@pytest.fixture(autouse=True)
def not_launched(monkeypatch):
    """Nothing is installed."""
    monkeypatch.setattr(installation, "launched", lambda: False)


@pytest.mark.parametrize("codes, code", [((0, 0), 0), ((1, 0), 1), ((0, 1), 1)])
def test_exit_code(monkeypatch, codes, code):
    commands = []

    def run(command, **options):
        commands.append(command[2:])
        return types.SimpleNamespace(returncode=codes[len(commands) - 1])

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(subprocess, "run", run)
    assert main(["lint"]) == code
    assert commands == [["ruff", "check"], ["pyright"]]


def test_missing(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["lint"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("graphloom: error: graphloom lint needs ruff, which is not ")
    assert message.count("\n") == 1
