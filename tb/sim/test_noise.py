"""Tests of the noisy line, which changes, loses and repeats bytes."""

import pytest

from hw.config import ConfigError
from sim.noise import Noise


DATA = bytes(range(256)) * 400


def test_good_line():
    assert Noise()(DATA) == DATA


@pytest.mark.parametrize("kind, attribute, length", [("corrupt", "corrupted", 0),
                                                     ("lose", "lost", -1),
                                                     ("repeat", "repeated", 1)])
def test_kinds(kind, attribute, length):
    noise = Noise(**{kind: 0.01})
    arrived = noise(DATA)
    times = getattr(noise, attribute)
    assert 800 < times < 1250
    assert len(arrived) == len(DATA) + length * times
    assert noise.corrupted + noise.lost + noise.repeated == times
    if kind == "corrupt":
        assert sum(a != b for a, b in zip(DATA, arrived)) == times


def test_seeds():
    first, same, other = (Noise(corrupt=0.01, seed=seed)(DATA) for seed in (1, 1, 2))
    assert first == same != other


@pytest.mark.parametrize("chances", [{"corrupt": -0.1}, {"lose": 1.0},
                                     {"lose": 0.5, "repeat": 0.5}])
def test_wrong_chances(chances):
    with pytest.raises(ConfigError, match="noise on the line: .*must be probabilities"):
        Noise(**chances)
