"""Performance counters."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.registers import BLOCK_BITS, CORE_COUNTERS, SHARED_COUNTERS
from hw.scu.interface import event_layout as scu_event_layout


__all__ = ["SCU_EVENTS", "Counters", "event_layout", "shared_event_layout"]


#: The SCU's event (:func:`hw.scu.interface.event_layout`) that each of its counters counts.
SCU_EVENTS = {
    "scu_cycles": "busy", "scu_operations": "started", "scu_elements": "elements",
    "scu_reads": "read", "scu_writes": "written", "scu_lookups": "looked_up",
    "scu_hits": "found", "scu_fetches": "fetched",
}


def event_layout(config: HardwareConfig):
    """What happens in a core in a cycle: for each of its counters, by how much it rises."""
    lanes = ceil_log2(config.threads + 1)
    return data.StructLayout({
        name: lanes if name in ("lanes", "atomic_lanes") else 1 for name in CORE_COUNTERS})


def shared_event_layout(config: HardwareConfig):
    """The same for what the cores share: each bank can have one of each event; and the SCU's."""
    of_scu = scu_event_layout()
    return data.StructLayout({
        name: of_scu[SCU_EVENTS[name]].shape if name in SCU_EVENTS
        else ceil_log2(config.l2_banks + 1)
        for name in SHARED_COUNTERS if config.scu or name not in SCU_EVENTS})


class Counters(wiring.Component):
    """A 64-bit counter for each kind of event.

    Parameters
    ----------
    layout : StructLayout
        The kinds of events, and how many of each there can be in a cycle.

    Members
    -------
    clear : In(1)
        Zero all counters.
    events : In(layout)
        What to add in this cycle; seen by reads two cycles later.
    read : In(1)
        Read the counter ``index``.
    index : In
        A counter, and which half of it (bit 0). What is beyond the last reads 0.
    value : Out(32)
        That half, from the cycle after ``read``.
    """
    def __init__(self, layout):
        self._layout = layout
        super().__init__({
            "clear": In(1), "events": In(layout),
            "read": In(1), "index": In(BLOCK_BITS - 2), "value": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        events = Signal(self._layout)
        m.d.sync += events.eq(self.events)
        counts = {name: Signal(64, name=name) for name in self._layout.members}
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
                with m.Default():
                    m.d.sync += self.value.eq(0)
        return m
