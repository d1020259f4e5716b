"""Seeds of the random tests: fixed seeds, or seeds from ``graphloom test --seed``."""

import re
import subprocess

import pytest

from sw.cli.main import main
from tb import runner, seeds


@pytest.fixture
def asked(monkeypatch):
    """Command and environment that ``graphloom test`` starts. The started program succeeds."""
    started = []

    class Process:
        def __init__(self, command, env, **_):
            started.append((command, env))

        def wait(self):
            return 0
    monkeypatch.setattr(subprocess, "Popen", Process)
    monkeypatch.delenv(seeds.VARIABLE, raising=False)
    return started


def test_seeds_are_fixed(monkeypatch):
    monkeypatch.delenv(seeds.VARIABLE, raising=False)
    assert [seeds.seed(number) for number in (0, 1, 100)] == [0, 1, 100]


def test_a_seed_gives_others(monkeypatch):
    drawn = set()
    for fresh in ("0", "1", "4294967295"):
        monkeypatch.setenv(seeds.VARIABLE, fresh)
        drawn |= {seeds.seed(number) for number in range(10)}
        assert seeds.seed(3) == seeds.seed(3)
    assert len(drawn) == 30 and all(0 <= seed < 1 << 31 for seed in drawn)


def test_benches_follow_the_seed(monkeypatch):
    class Stop(Exception):
        pass

    def environment(design, test_module, parameters, seed, tests, cycles, results):
        given.append(seed)
        raise Stop
    given = []
    monkeypatch.setattr(runner, "_environment", environment)
    monkeypatch.setattr(runner.build, "build", lambda *_, **__: (["true"], None))
    monkeypatch.setattr(runner.emit, "emit", lambda *_: None)
    for fresh in ("", "7", "8", "7"):
        monkeypatch.setenv(seeds.VARIABLE, fresh)
        with pytest.raises(Stop):
            runner.run_bench("", "top", "tests", simulator="icarus", seed=5)
    assert given[0] == 5 and given[1] == given[3] and len(set(given)) == 3


def test_command_without_a_seed(asked):
    assert main(["test", "tb/cli"]) == 0
    [(command, environment)] = asked
    assert seeds.VARIABLE not in environment and not any("seed" in word for word in command)


def test_command_with_a_seed(asked, capsys):
    assert main(["test", "--seed", "12", "tb/cli", "-x"]) == 0
    [(command, environment)] = asked
    assert environment[seeds.VARIABLE] == "12" and "--hypothesis-seed=12" in command
    assert command[-2:] == ["tb/cli", "-x"]
    assert "graphloom test --seed 12" in capsys.readouterr().out


def test_command_draws_a_seed_and_shows_it(asked, capsys):
    assert main(["test", "--seed", "fresh"]) == main(["test", "--seed", "fresh"]) == 0
    shown = re.findall(r"have the seed (\d+)\n", capsys.readouterr().out)
    assert shown == [environment[seeds.VARIABLE] for _, environment in asked]
    assert len(set(shown)) == 2


@pytest.mark.parametrize("text", ["new", "-1", "4294967296", "1.5", "\uff13"])
def test_wrong_seeds(asked, capsys, text):
    assert main(["test", f"--seed={text}"]) == 2
    captured = capsys.readouterr()
    assert not asked and captured.out == "" and len(captured.err.splitlines()) == 1
    assert f"--seed is {text!r}, must be a number from 0 to 4294967295 or 'fresh'" in captured.err
