# amaranth: UnusedElaboratable=no
"""The replaced way of a set is compared with the component's promise in every cycle."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from hw.memory.replacement import Replacement
from tb import runner
from tb.clocking import start, tick


@cocotb.test()
async def against_promise(dut):
    """The lowest invalid way; else any way but the last used one. Each such way is chosen at times.
    """
    await start(dut)
    sets, ways = (runner.parameters()[name] for name in ("sets", "ways"))
    rng, recent, taken = random.Random(cocotb.RANDOM_SEED), {}, set()
    for _ in range(1000):
        number, touched = rng.randrange(sets), rng.randrange(sets)
        valid = rng.choice((rng.getrandbits(ways), (1 << ways) - 1))
        touch = rng.choice((0, 1 << rng.randrange(ways)))
        dut.set.value, dut.valid.value = number, valid
        dut.touched_set.value, dut.touch.value = touched, touch
        await ReadOnly()
        victim = int(dut.victim.value)
        invalid = [way for way in range(ways) if not valid >> way & 1]
        if invalid:
            assert victim == 1 << invalid[0]
        else:
            assert victim.bit_count() == 1 and victim < 1 << ways
            if number in recent:
                assert victim != recent[number]
            taken.add(victim)
        await tick(dut)
        if touch:
            recent[touched] = touch
    assert taken == {1 << way for way in range(ways)}


@pytest.mark.parametrize("sets, ways", [(1, 2), (8, 4)])
def test_replacement(simulator, sets, ways):
    parameters = {"sets": sets, "ways": ways}
    runner.run_bench(Replacement(**parameters), "replacement", __name__, simulator=simulator,
                     parameters=parameters)
