"""Options that become hardware."""

import pytest

from hw.config import ConfigError, preset
from sw import schedules
from sw.cli import options
from sw.errors import UserError


@pytest.fixture
def needing(monkeypatch):
    """The name of a schedule that needs an SCU, with an option."""
    monkeypatch.setattr(type(schedules.make("vwc")), "needs_scu", True, raising=False)
    return "vwc:width=4"


@pytest.mark.parametrize("name, width", [("tiny", 1), ("fpga", 4), ("default", 4), ("paper", 4)])
def test_a_schedule_that_needs_an_scu(needing, name, width):
    """The preset gets one, and its name says so; of nothing else."""
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


def test_wrong(needing):
    with pytest.raises(UserError, match="lucky"):
        options.hardware("default", [], ["lucky"])
    with pytest.raises(ConfigError, match="scu = 2: must be 0, 1 or 4"):
        options.hardware("default", ["scu=2"], [needing])
