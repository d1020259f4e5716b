"""Circuits on bits: whether a bit is set, and whether several are (``any_and_several``)."""

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.sim import Simulator

from hw.bits import any_and_several


@pytest.mark.parametrize("width", [1, 2, 8])
def test_any_and_several(width):
    m, value, found = Module(), Signal(width), Signal(2)
    m.d.comb += found.eq(Cat(any_and_several(value)))

    async def bench(ctx):
        for number in range(1 << width):
            ctx.set(value, number)
            await ctx.delay(0)
            some, several = number > 0, number.bit_count() > 1
            assert ctx.get(found) == some | several << 1, f"{number:b}"

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
