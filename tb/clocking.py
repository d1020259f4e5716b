"""Clock and reset of a bench.

Everything in a bench happens at the falling edge: inputs change there, and once they have settled
(:func:`tick` returns before that, ``ReadOnly`` after) what is seen is what the rising edge will
act on. No bench depends on whether a simulator runs it before or after the registers change.
"""

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from tb import runner


__all__ = ["reset", "start", "tick"]


async def tick(dut, cycles=1):
    """Wait for that many falling edges of the clock: a place to drive inputs."""
    for _ in range(cycles):
        await FallingEdge(dut.clk)


async def reset(dut, cycles=2):
    """Hold the reset for that many rising edges. Starts and ends at a falling edge."""
    dut.rst.value = 1
    await tick(dut, cycles)
    dut.rst.value = 0


async def start(dut, *, cycles=2):
    """Start the clock, put every input at 0 and reset. Returns at a falling edge."""
    for name in runner.inputs():
        if name not in ("clk", "rst"):
            getattr(dut, name).value = 0
    dut.rst.value = 1
    Clock(dut.clk, 10, unit="ns").start(start_high=False)
    await tick(dut)
    await reset(dut, cycles)
