"""Clock and reset of a bench.

Everything in a bench happens at the falling edge: inputs change there, and once they have settled
(:func:`tick` returns before that, ``ReadOnly`` after) what is seen is what the rising edge will
act on. No bench depends on whether a simulator runs it before or after the registers change.
"""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, Timer

from tb import runner


__all__ = ["Beat", "Pins", "reset", "start", "tick"]


#: Nanoseconds of a cycle.
_PERIOD = 10


async def _watch(limit):
    """Fail the test if it has not ended after so many cycles. Costs nothing until then."""
    await Timer(limit * _PERIOD, unit="ns")
    raise AssertionError(f"the test has not ended after {limit:,} cycles")


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
    """Start the clock, put every input at 0 and reset. Returns at a falling edge.

    From now on the test has as many cycles as :func:`tb.runner.cycle_limit` says.
    """
    for name in runner.inputs():
        if name not in ("clk", "rst"):
            getattr(dut, name).value = 0
    dut.rst.value = 1
    Clock(dut.clk, _PERIOD, unit="ns").start(start_high=False)
    cocotb.start_soon(_watch(runner.cycle_limit()))
    await tick(dut)
    await reset(dut, cycles)


class Pins:
    """Drives signals: each is written when it changes only, for that takes long."""

    def __init__(self):
        self._driven = {}

    def put(self, signal, value):
        """Drive a signal, which nothing else drives; None: there is none."""
        if signal is not None and self._driven.get(signal._path) != value:
            self._driven[signal._path] = value
            signal.value = value


class Beat:
    """Drives and watches the ports of a bench in every cycle, all of them in one coroutine: one for
    each would take most of the time of a bench.

    Members have ``drive()``, called at the falling edge, ``sample()``, called when inputs have
    settled, or both. A new one is called from the next falling edge on.

    Attributes
    ----------
    reset : bool
        Whether the next rising edge is a reset; for ``sample()``.
    """
    _beats = {}

    def __init__(self, dut):
        self._clock, self._reset = dut.clk, getattr(dut, "rst", None)
        self._drive, self._sample = [], []
        self.reset = False
        self._task = cocotb.start_soon(self._run())

    @classmethod
    def of(cls, dut):
        """The one of a top, in this test."""
        beat = cls._beats.get(dut._path)
        if beat is None or beat._task.done():
            beat = cls._beats[dut._path] = cls(dut)
        return beat

    def add(self, member):
        """Call it in every cycle from now on."""
        if hasattr(member, "drive"):
            self._drive = [*self._drive, member.drive]
        if hasattr(member, "sample"):
            self._sample = [*self._sample, member.sample]

    async def _run(self):
        edge, settled = FallingEdge(self._clock), ReadOnly()
        while True:
            await edge
            sample = self._sample
            for call in self._drive:
                call()
            await settled
            self.reset = self._reset is not None and self._reset.value == 1
            for call in sample:
                call()
