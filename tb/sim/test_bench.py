"""The speed of a simulator, by a machine that says what it has done, and by the functional one."""

import types

import pytest

from hw.config import preset
from hw.isa import encode
from sim.bench import Speed, measure
from sim.functional.machine import FunctionalSimulator


@pytest.mark.parametrize("counter", ["loop_cycles", "loop_lanes"])
def test_measure(counter):
    """What was done before does not count. Work is repeated until it has taken the time."""
    machine = types.SimpleNamespace(loop_cycles=100, loop_lanes=100, loop_seconds=50.0)
    calls = []

    def work(given):
        calls.append(given)
        setattr(given, counter, getattr(given, counter) + 30)
        given.loop_seconds += 0.5
    speed = measure(machine, work, seconds=1.5, counter=counter)
    assert calls == [machine] * 3 and speed == Speed(90, 1.5) and speed.per_second == 60
    assert Speed(3, 0.0).per_second == 0
    assert measure(machine, work, seconds=0.1, counter=counter).amount == 30


def test_no_work():
    machine = types.SimpleNamespace(loop_cycles=5, loop_seconds=1.0)
    with pytest.raises(ValueError, match="simulated nothing"):
        measure(machine, lambda machine: None)


def test_loop_of_the_functional_simulator():
    machine = FunctionalSimulator(preset("tiny"))
    machine.load_program((encode("addi", rd=1, imm=5), encode("tmc")))
    for launches in (1, 2):
        machine.launch(0, 0)
        assert machine.loop_lanes == launches * 2 * 2 * 4      # of all lanes of all warps
        assert 0 < machine.loop_seconds < 60
