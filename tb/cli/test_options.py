"""Tests of options that become hardware."""


import pytest

from base.errors import UserError
from hw.config import ConfigError, HardwareConfig, preset
from sw.compile import schedules
from sw.cli import options
from sw.cli.commands import App
from sw.compile.plan import as_plan


@pytest.fixture
def needing(monkeypatch):
    """The name of a schedule that needs an SCU, with an option."""
    monkeypatch.setattr(type(schedules.make("vwc")), "needs_scu", True, raising=False)
    return "vwc:width=4"


@pytest.mark.parametrize("name, width", [("tiny", 1), ("fpga", 4), ("default", 4), ("paper", 4)])
def test_a_schedule_that_needs_an_scu(needing, name, width):
    """The preset gets an SCU, and its name says so. Nothing else changes."""
    config = options.hardware(name, [], ["vm", needing])
    assert config.name == f"{name}+scu{width}"
    assert config == preset(name).replace(scu=width, name=config.name)
    assert options.hardware(name, [], ["vm", "weaver"]) == preset(name)
    assert options.hardware(name, []) == preset(name)


def test_what_the_user_says_stays(needing):
    assert options.hardware("default", ["scu=0"], [needing]).scu == 0
    assert options.hardware("default", ["scu = 1", "warps=4"], [needing]) == preset(
        "default").replace(scu=1, warps=4)
    config = options.hardware("default", ["threads=4", "scu_hash_bytes=2048"], [needing])
    assert (config.name, config.scu, config.threads) == ("default*+scu1", 1, 4)


@pytest.mark.parametrize("assignments, schedules, units", [
    ([], ["graphpeg", "weaver", "vm"], ["graphpeg", "fsm", "fsm"]),
    (["gather=stream"], ["graphpeg", "weaver"], ["graphpeg", "stream"]),
    (["gather=graphpeg"], ["graphpeg", "vm"], ["graphpeg", "graphpeg"]),
    (["gather=stream"], ["graphpeg"], ["stream"]),
    ([], ["graphpeg"], ["graphpeg"])])
def test_each_plan_has_its_unit(assignments, schedules, units):
    """A unit that the user names is that of the plans without a unit of their own. If there are
    none it stays, and the plans are refused."""
    plans = [as_plan("bfs", schedule=schedule) for schedule in schedules]
    config = HardwareConfig.parse("tiny", assignments)
    found = options.own_hardware(config, plans, assignments)
    assert [each.gather for each in found] == units
    assert all(each.replace(gather=config.gather, name=config.name) == config for each in found)


def test_a_schedule_that_needs_graphpeg():
    """A run gets the unit, and the name says so, unless the user names another."""
    config = options.hardware("tiny", [], ["graphpeg"])
    assert (config.gather, config.name) == ("graphpeg", "tiny+graphpeg")
    assert options.hardware("tiny", ["gather=scan"], ["graphpeg"]).gather == "scan"


def test_wrong(needing):
    with pytest.raises(UserError, match="lucky"):
        options.hardware("default", [], ["lucky"])
    with pytest.raises(ConfigError, match="scu = 2: must be 0, 1 or 4"):
        options.hardware("default", ["scu=2"], [needing])


def test_an_option_of_two_values_is_no_list():
    """An option of two values may have equal values. Numbers arrive as numbers, in lists too."""
    app, given = App(), []

    @app.command()
    def command(pair: tuple[str, str] = ("", ""), number: list[int] | None = None,
                part: float = 0.0):
        given.append((pair, number, part))

    app(["--pair", "a", "a", "--number", "0x10", "--number", "-2", "--part", "1e-3"],
        standalone_mode=False)
    assert given == [(("a", "a"), [16, -2], 0.001)]
