"""Performance counters and the events that they count."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.registers import BLOCK_BITS, CORE_COUNTERS, GPU_COUNTERS
from hw.scu.interface import event_layout as scu_event_layout
from hw.stalls import L1_STALLS, SCU_STALLS


__all__ = ["SCU_EVENTS", "TURNS", "Counters", "counting_cycles", "event_layout", "gpu_event_layout"]


#: {counter of the SCU: event that it counts} (:func:`hw.scu.interface.event_layout`).
SCU_EVENTS = {
    "scu_cycles": "busy", "scu_operations": "started", "scu_elements": "elements",
    "scu_reads": "read", "scu_writes": "written", "scu_lookups": "looked_up",
    "scu_hits": "found", "scu_fetches": "fetched",
    **{f"scu_stall_{name}": f"stall_{name}" for name in SCU_STALLS},
}


#: Counters that a memory holds at most: each waits for its turn as many cycles.
TURNS = 28


def event_layout(config: HardwareConfig):
    """Events of a core in a cycle: for each of the core's counters, the increment."""
    lanes, banks = ceil_log2(config.threads + 1), ceil_log2(config.l1_banks + 1)
    performed = ceil_log2(config.l1_banks * config.threads + 1)     # a pass in each bank
    widths = {"lanes": lanes, "atomic_lanes": performed,
              "loads_under_way": ceil_log2(config.load_queue + 1), "load_words": performed,
              "l1_fetches": ceil_log2(config.l1_banks * config.sectors + 1),
              "weaver_skipped": 1 if config.unit is None else 32} | dict.fromkeys(
        ("l1_accesses", "l1_loads", "l1_load_hits", "atomics",
         *(f"l1_stall_{cause}" for cause in L1_STALLS)), banks)
    return data.StructLayout({name: widths.get(name, 1) for name in CORE_COUNTERS})


def gpu_event_layout(config: HardwareConfig):
    """Events of L2, SCU and exchange in a cycle: for each of the GPU's counters, the increment.

    Each bank can have one event of each kind in a cycle. The counters behind the last that can
    count are left out.
    """
    events = scu_event_layout()
    of_scu = {name: events[event].shape for name, event in SCU_EVENTS.items()} | {"scu_beside": 1}
    widths = of_scu | {"exchange_looks": 1, "exchange_entries": 1} | dict.fromkeys(
        ("exchange_difference", "exchange_edges"), 32)
    last = ("exchange_edges" if config.exchanges else "scu_beside" if config.scu else "dram_writes")
    names = list(GPU_COUNTERS)
    return data.StructLayout({name: widths.get(name, ceil_log2(config.l2_banks + 1))
                              for name in names[:names.index(last) + 1]})


def counting_cycles(config: HardwareConfig) -> int:
    """Cycles from the last event until all counters include the event."""
    layouts = (event_layout(config), gpu_event_layout(config)) if config.counters else ()
    return max((_latency(layout) for layout in layouts), default=1)


def _latency(layout):
    """Cycles from an event to its counter: a turn for each counter of a memory, then one to pick
    the increment and one to add it."""
    return min(TURNS, len(layout.members)) + 2


class Counters(wiring.Component):
    """A 64-bit counter for each kind of event.

    The counters are in memories of :data:`TURNS` counters, and those of a memory have turns. A
    small register for each counter counts the events between two turns. The counter's next turn
    adds the register to the counter.

    Parameters
    ----------
    layout : StructLayout
        The kinds of events, at least two. The width of a field bounds the events in a cycle.

    Members
    -------
    clear : In(1)
        Zero all counters.
    events : In(layout)
        Increments of this cycle. Reads include them after as many cycles as there are counters in
        a memory, plus two.
    read : In(1)
        Read the counter ``index``.
    index : In(BLOCK_BITS - 2)
        Bit 0 selects the half, the other bits select the counter. Counters beyond the last read 0.
    value : Out(32)
        The selected half, from the cycle after ``read``.
    """
    def __init__(self, layout):
        self._layout = layout
        super().__init__({
            "clear": In(1), "events": In(layout),
            "read": In(1), "index": In(BLOCK_BITS - 2), "value": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        fields = list(self._layout)
        for first in range(0, len(fields), TURNS):
            self._count(m, first, fields[first:first + TURNS])
        return m

    def _count(self, m, first, fields):
        """The counters of one memory, from number ``first`` on."""
        number = len(fields)
        counts = Memory(shape=64, depth=number, init=[], attrs={"ram_style": "distributed"})
        m.submodules[f"counts_{first}" if first else "counts"] = counts
        old, new = counts.read_port(domain="comb"), counts.write_port()
        counted = Signal(number)            # counters that had a turn: memories cannot be zeroed
        turn = Signal(range(number))
        m.d.sync += turn.eq(Mux(turn == number - 1, 0, turn + 1))

        # Events since each counter's last turn.
        recent = []
        for i, (name, field) in enumerate(fields):
            most = number * ((1 << field.width) - 1)
            event = Signal(field.shape, name=name)
            count = Signal(range(most + 1), name=f"recent_{name}")
            m.d.sync += event.eq(self.events[name])
            with m.If(self.clear):
                m.d.sync += count.eq(0)
            with m.Else():
                m.d.sync += count.eq(Mux(turn == i, 0, count) + event)
            recent.append(count)

        # One cycle picks the increment, the next cycle adds the increment.
        place = Signal.like(turn)
        amount = Signal(max(len(count) for count in recent))
        m.d.sync += [place.eq(turn), amount.eq(Mux(self.clear, 0, Array(recent)[turn]))]
        m.d.comb += [
            old.addr.eq(place), new.addr.eq(place), new.en.eq(1),
            new.data.eq(Mux(counted.bit_select(place, 1), old.data, 0) + amount),
        ]
        m.d.sync += counted.eq(Mux(self.clear, 0, counted | 1 << place))

        port = counts.read_port(domain="comb")
        half = Signal()
        known = Signal()
        asked = self.index[1:]
        here = asked < first + number
        if first:
            here &= asked >= first
        with m.If(self.read):
            m.d.sync += [port.addr.eq(asked - first), half.eq(self.index[0]), known.eq(here)]
        with m.If(known & counted.bit_select(port.addr, 1)):
            m.d.comb += self.value.eq(port.data.word_select(half, 32))
