"""``examples/c``: every kernel against numpy, on the functional simulator and one on the RTL."""

import runpy

import numpy as np
import pytest

import graphloom
from base.installation import ROOT
from hw.config import preset


SCRIPT = runpy.run_path(str(ROOT / "examples" / "c" / "kernels.py"))
TINY = preset("tiny")


@pytest.fixture(scope="module")
def program():
    return graphloom.compile(SCRIPT["SOURCE"], config=TINY)


@pytest.mark.parametrize("config", [TINY, preset("paper")], ids=lambda config: config.name)
def test_kernels(config):
    program = graphloom.compile(SCRIPT["SOURCE"], config=config)
    with graphloom.Device.functional(config) as device:
        for each in SCRIPT["examples"](64):
            device.launch(program[each.name], **each.arguments)
            for name, right in each.expected.items():
                np.testing.assert_array_equal(each.arguments[name], right, each.name)
        for name in ("bfs", "bfs_weaver"):
            found, right, _ = SCRIPT["search"](
                lambda **given: device.launch(program[name], **given), 64)
            np.testing.assert_array_equal(found, right)
            assert right.max() > 2


@pytest.mark.parametrize("config", [TINY.replace(float="half"), TINY.replace(imem_bytes=65536),
                                    preset("paper").replace(float="full")],
                         ids=lambda config: f"{config.name}-{config.float}")
def test_floats(config):
    """Bit by bit as numpy, on any number of lanes, and in software."""
    program = graphloom.compile(SCRIPT["FLOATS"], config=config)
    with graphloom.Device.functional(config) as device:
        for each in SCRIPT["float_examples"](64):
            device.launch(program[each.name], **each.arguments)
            for name, right in each.expected.items():
                np.testing.assert_array_equal(each.arguments[name], right, each.name)
        found, right, _ = SCRIPT["rank"](
            lambda **given: device.launch(program.pagerank, **given), 64)
        np.testing.assert_array_equal(found, right)
        assert 0.5 < found.sum() <= 1.001 and found.max() > 2 * found.min()


def test_rtl(program):
    """Barriers and scratchpad, shuffles, the Weaver, and floats."""
    chosen = {each.name: each for each in SCRIPT["examples"](16)}
    with graphloom.Device.simulate(TINY) as device:
        for name in ("prefix_sum", "histogram"):
            each = chosen[name]
            assert device.launch(program[name], **each.arguments).cycles > 100
            for array, right in each.expected.items():
                np.testing.assert_array_equal(each.arguments[array], right, name)
        found, right, cycles = SCRIPT["search"](
            lambda **given: device.launch(program.bfs_weaver, **given), 16)
        np.testing.assert_array_equal(found, right)
        assert cycles > 100
    config = TINY.replace(float="full")
    floats = graphloom.compile(SCRIPT["FLOATS"], config=config)
    each, = (each for each in SCRIPT["float_examples"](8) if each.name == "nbody")
    with graphloom.Device.simulate(config) as device:
        device.launch(floats.nbody, **each.arguments)
    for array, right in each.expected.items():
        np.testing.assert_array_equal(each.arguments[array], right, "nbody")


def test_main(capsys):
    assert SCRIPT["main"](["--functional", "--size", "16", "--preset", "tiny"]) == 0
    out = capsys.readouterr().out
    assert out.count("right") == 10 and "WRONG" not in out
    assert SCRIPT["main"](["--functional", "--size", "16", "--preset", "tiny",
                           "--floats", "full"]) == 0
    assert "pagerank         right" in capsys.readouterr().out
    assert SCRIPT["main"](["--preset", "nosuch"]) == 2
