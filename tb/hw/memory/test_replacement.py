# amaranth: UnusedElaboratable=no
"""The replaced way of a set is compared with the component's promise in every cycle."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from hw.memory.replacement import Replacement
from tb import runner
from tb.clocking import integer, start, tick


@cocotb.test()
async def against_promise(dut):
    """The lowest invalid way; else any way but the last used one. Each such way is chosen at times.
    """
    await start(dut)
    sets, ways, passing = (runner.parameters()[name] for name in ("sets", "ways", "passing"))
    rng, recent, taken = random.Random(cocotb.RANDOM_SEED), {}, set()
    passed = {}
    for _ in range(1000):
        number, touched = rng.randrange(sets), rng.randrange(sets)
        valid = rng.choice((rng.getrandbits(ways), (1 << ways) - 1))
        touch = rng.choice((0, 1 << rng.randrange(ways)))
        dut.set.value, dut.valid.value = number, valid
        dut.touched_set.value, dut.touch.value = touched, touch
        once = passing and rng.random() < 0.3
        if passing:
            dut.once.value = int(once)
        await ReadOnly()
        victim = integer(dut.victim)
        invalid = [way for way in range(ways) if not valid >> way & 1]
        if invalid:
            assert victim == 1 << invalid[0]
        elif number in passed:
            assert victim == passed[number]
        else:
            assert victim.bit_count() == 1 and victim < 1 << ways
            if number in recent:
                assert victim != recent[number]
            taken.add(victim)
        await tick(dut)
        if touch and once:
            passed[touched] = touch
        elif touch:
            recent[touched] = touch
            if passed.get(touched) == touch:
                del passed[touched]
    assert taken == {1 << way for way in range(ways)}


@pytest.mark.parametrize("sets, ways, passing", [(1, 2, False), (8, 4, False), (8, 4, True)])
@pytest.mark.sample(2)
def test_replacement(simulator, sets, ways, passing):
    parameters = {"sets": sets, "ways": ways, "passing": passing}
    runner.run_bench(Replacement(**parameters), "replacement", __name__, simulator=simulator,
                     parameters=parameters)
