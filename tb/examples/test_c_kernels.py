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
    launches = []

    def step(**given):
        launches.append(given)
        return device.launch(program.pagerank, **given)

    with graphloom.Device.functional(config) as device:
        examples = {each.name: each for each in SCRIPT["float_examples"](64)}
        for each in examples.values():
            device.launch(program[each.name], **each.arguments)
            for name, right in each.expected.items():
                np.testing.assert_array_equal(each.arguments[name], right, each.name)
        found, right, _ = SCRIPT["rank"](step, 64)
        np.testing.assert_array_equal(found, right)
        assert 0.5 < found.sum() <= 1.001 and found.max() > 2 * found.min()
    check_spmv(**examples["spmv_floats"].arguments)
    check_nbody(**examples["nbody"].arguments)
    check_ranks(found, len(launches), **launches[0])


def check(found, exact, magnitude, roundings):
    """The distance from real arithmetic, where no term of a sum is rounded more often."""
    share = roundings * 2.0**-24
    assert (abs(found - exact) <= share / (1 - share) * magnitude).all()


def check_spmv(rows, columns, values, x, y, **_):
    """A product, and the sums behind it: as many roundings as a row has terms."""
    terms = values.astype(float) * x[columns]
    row = np.repeat(np.arange(len(y)), np.diff(rows))
    check(y, np.bincount(row, terms, len(y)), np.bincount(row, abs(terms), len(y)), np.diff(rows))


def check_nbody(n, x, y, mass, ax, ay):
    """5 for a squared distance, 4 for its root, 2 for the pull, 2 for the term; and the sums."""
    place = np.stack([x, y]).astype(float)
    distance = place[:, None] - place[:, :, None]
    squared = (distance**2).sum(0) + float(np.float32(0.01))
    terms = distance * mass.astype(float) / squared**1.5
    check(np.stack([ax, ay]), terms.sum(2), abs(terms).sum(2), n + 12)


def check_ranks(found, steps, n, rows, columns, degrees, **_):
    """No term is negative, so the roundings of all steps add up; two are of the first shares."""
    row = np.repeat(np.arange(n), np.diff(rows))
    share = 1 / degrees.clip(1) / n
    for _ in range(steps):
        rank = float(np.float32(0.15)) / n \
            + float(np.float32(0.85)) * np.bincount(row, share[columns], n)
        share = rank / degrees.clip(1)
    check(found, rank, rank, steps * (np.diff(rows).max() + 2) + 1)


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
