"""Clock, reset and signals of a bench.

A bench acts at the falling edge. Inputs change there, and :func:`tick` returns before they settle.
After ``ReadOnly`` the inputs have settled, and a bench sees the values on which the rising edge
will act. No bench depends on whether a simulator runs the bench before or after registers change.
"""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, Timer

from tb import runner


__all__ = ["Beat", "Pins", "integer", "reset", "start", "tick"]


#: Nanoseconds of a cycle.
_PERIOD = 10


def integer(signal) -> int:
    """The value of a signal. ``int(signal.value)`` takes several times as long.

    Raises
    ------
    AssertionError
        A bit of the signal is neither 0 nor 1.
    """
    text = signal._handle.get_signal_val_binstr()
    try:
        return int(text, 2)
    except ValueError:
        raise AssertionError(f"{signal._path} is {text}") from None


async def _watch(limit):
    """Fail the test if it has not ended after ``limit`` cycles. The watch costs no time."""
    await Timer(limit * _PERIOD, unit="ns")
    raise AssertionError(f"the test has not ended after {limit:,} cycles")


async def tick(dut, cycles=1):
    """Wait for ``cycles`` falling edges of the clock. A test may drive inputs then."""
    for _ in range(cycles):
        await FallingEdge(dut.clk)


async def reset(dut, cycles=2):
    """Hold the reset for ``cycles`` rising edges. Starts and ends at a falling edge."""
    dut.rst.value = 1
    await tick(dut, cycles)
    dut.rst.value = 0


async def start(dut, *, cycles=2):
    """Start the clock, set every input to 0 and reset. Returns at a falling edge.

    The test must end within :func:`tb.runner.cycle_limit` cycles from now on.
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
    """Drives signals. A signal is written only when its value changes, because writing is slow."""

    def __init__(self):
        self._driven = {}

    def put(self, signal, value):
        """Drive a signal that nothing else drives. If ``signal`` is None, do nothing."""
        if signal is not None and self._driven.get(signal._path) != value:
            self._driven[signal._path] = value
            signal.value = value


class Beat:
    """Drives and watches all ports of a bench in every cycle, in one coroutine.

    A coroutine for each port would take most of the time of a bench. A member has ``drive()``,
    called at the falling edge, ``sample()``, called when inputs have settled, or both. A new member
    is called from the next falling edge on.

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
        """The Beat of a top in this test."""
        beat = cls._beats.get(dut._path)
        if beat is None or beat._task.done():
            beat = cls._beats[dut._path] = cls(dut)
        return beat

    def add(self, member):
        """Call ``member`` in every cycle from now on."""
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
            self.reset = self._reset is not None and integer(self._reset) == 1
            for call in sample:
                call()
