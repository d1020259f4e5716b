"""Performance counters."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.registers import COUNTERS


__all__ = ["Counters", "event_layout"]


def event_layout(threads):
    """What happens in a cycle: for each counter, by how much it rises."""
    wide = ceil_log2(threads + 1)
    return data.StructLayout({
        name: wide if name in ("lanes", "atomic_lanes") else 1 for name in COUNTERS})


class Counters(wiring.Component):
    """One 64-bit counter for each of :data:`hw.registers.COUNTERS`.

    Members
    -------
    clear : In(1)
        Zero all counters.
    events : In(event_layout)
        What to add in this cycle; seen by reads two cycles later.
    read : In(1)
        Read the counter ``index``.
    index : In
        A counter, and which half of it (bit 0).
    value : Out(32)
        That half, from the cycle after ``read``.
    """
    def __init__(self, threads):
        self._threads = threads
        super().__init__({
            "clear": In(1), "events": In(event_layout(threads)),
            "read": In(1), "index": In(ceil_log2(2 * len(COUNTERS))), "value": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        events = Signal(event_layout(self._threads))
        m.d.sync += events.eq(self.events)
        counts = {name: Signal(64, name=name) for name in COUNTERS}
        for name, count in counts.items():
            with m.If(self.clear):
                m.d.sync += count.eq(0)
            with m.Else():
                m.d.sync += count.eq(count + events[name])
        with m.If(self.read):
            with m.Switch(self.index):
                for i, count in enumerate(counts.values()):
                    with m.Case(2 * i):
                        m.d.sync += self.value.eq(count[:32])
                    with m.Case(2 * i + 1):
                        m.d.sync += self.value.eq(count[32:])
        return m
