"""Cycles of each warp by phase.

At most one warp changes its phase or ends in a cycle. Then the cycles since the warp's last change
are added to the counter of the phase that it leaves. The time comes from the core's cycle counter,
which begins at 0 with the launch.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.bits import and_or, index_bits
from hw.config import HardwareConfig
from hw.isa import PHASES
from hw.registers import BLOCK_BITS, WARP_COUNTS


__all__ = ["PhaseCounters"]


class PhaseCounters(wiring.Component):
    """Counters of the cycles that each warp was in each phase, and of all its cycles.

    Latency: a read two cycles after ``leaves``, or later, sees the change. Throughput: one change a
    cycle; for one warp, one in two cycles. If an error of the core stops a warp, the warp's cycles
    since its last change are not counted.

    Members
    -------
    launch : In(1)
        All warps begin, in phase 0.
    clear : In(1)
        Zero all counters.
    now : In(64)
        Cycles since the launch.
    leaves : In(1)
        ``warp`` leaves ``phase``.
    ends : In(1)
        The warp leaves its phase because it ends.
    warp : In
    phase : In(3)
        A phase beyond the last counts as the last.
    read : In(1)
        Read the word ``index``.
    index : In
        For each warp, :data:`~hw.registers.WARP_COUNTS` counters of two words, low half first: one
        counter for each phase, then the cycles from launch to end. Words beyond read 0.
    value : Out(32)
        The word ``index``, from the cycle after ``read``.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            "launch": In(1), "clear": In(1), "now": In(64), "leaves": In(1), "ends": In(1),
            "warp": In(index_bits(config.warps)), "phase": In(3),
            "read": In(1), "index": In(BLOCK_BITS - 2), "value": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        warps = self._config.warps
        last = len(PHASES) - 1
        # The cycle in which each warp entered its phase. ``changed`` is low for a warp before its
        # first change, whose phase began with the launch.
        m.submodules.since = since = Memory(shape=64, depth=max(2, warps), init=[])
        since_read, since_write = since.read_port(domain="comb"), since.write_port()
        changed = Signal(warps)
        m.d.comb += [
            since_read.addr.eq(self.warp),
            since_write.addr.eq(self.warp), since_write.data.eq(self.now),
            since_write.en.eq(self.leaves),
        ]
        with m.If(self.launch):
            m.d.sync += changed.eq(0)
        with m.Elif(self.leaves):
            m.d.sync += changed.eq(changed | 1 << self.warp)

        # The first cycle reads when the phase began, the second reads the counter, the third writes
        # the counter. All cycles of the warp are added up in parallel.
        left = Signal()
        ended_now = Signal()
        time = Signal(64, reset_less=True)
        before = Signal(64, reset_less=True)
        phase = Signal(3)
        warp = Signal.like(self.warp)
        m.d.sync += [
            left.eq(self.leaves), ended_now.eq(self.leaves & self.ends), time.eq(self.now),
            before.eq(Mux(changed.bit_select(self.warp, 1), since_read.data, 0)),
            phase.eq(Mux(self.phase > last, last, self.phase)), warp.eq(self.warp),
        ]
        m.submodules.phases = phases = Memory(shape=64, depth=warps * len(PHASES), init=[])
        m.submodules.totals = totals = Memory(shape=64, depth=max(2, warps), init=[])
        begun = Signal(warps * len(PHASES))
        ended = Signal(warps)
        adding = Signal()
        ending = Signal()
        amount = Signal(64, reset_less=True)
        total = Signal(64, reset_less=True)
        place = Signal(range(warps * len(PHASES)))
        total_place = Signal.like(warp)
        m.d.sync += [
            adding.eq(left), ending.eq(ended_now), amount.eq(time - before), total.eq(time),
            place.eq(warp * len(PHASES) + phase), total_place.eq(warp),
        ]
        of_warp = Signal(warps)
        begun_of_warp = Signal(len(PHASES))
        m.d.comb += [
            of_warp.eq(1 << warp),
            begun_of_warp.eq(and_or(of_warp, [begun.word_select(w, len(PHASES))
                                              for w in range(warps)])),
        ]
        for memory, valid, write, added_to, at, sum_of in (
                (phases, begun, adding, begun_of_warp.bit_select(phase, 1), place, amount),
                (totals, ended, ending, (ended & of_warp).any(), total_place, total)):
            old, new = memory.read_port(domain="comb"), memory.write_port()
            counts = Signal()                   # the counter holds a value since ``clear``
            m.d.sync += counts.eq(added_to)
            m.d.comb += [
                old.addr.eq(at), new.addr.eq(at), new.en.eq(write),
                new.data.eq(Mux(counts, old.data, 0) + sum_of),
            ]
            with m.If(self.clear):
                m.d.sync += valid.eq(0)
            with m.Elif(write):
                m.d.sync += valid.eq(valid | 1 << at)

        # The host's side: a table from counter to place, since the number of a warp's counters is
        # not a power of two. The memories are read a cycle later.
        phase_read, total_read = (memory.read_port(domain="comb") for memory in (phases, totals))
        host_phase = Signal.like(phase_read.addr)
        host_total = Signal.like(total_read.addr)
        of_phase = Signal()
        of_total = Signal()
        with m.Switch(self.index[1:]):
            for w in range(warps):
                for p in range(WARP_COUNTS):
                    with m.Case(w * WARP_COUNTS + p):
                        if p < len(PHASES):
                            m.d.comb += [host_phase.eq(w * len(PHASES) + p), of_phase.eq(1)]
                        else:
                            m.d.comb += [host_total.eq(w), of_total.eq(1)]
        half = Signal()
        with m.If(self.read):
            m.d.sync += half.eq(self.index[0])
        words = []
        for name, chosen, valid, place, port in (
                ("phase", of_phase, begun, host_phase, phase_read),
                ("total", of_total, ended, host_total, total_read)):
            shown = Signal(name=f"{name}_shown")
            word = Signal(32, name=f"{name}_word")
            with m.If(self.read):
                m.d.sync += [shown.eq(chosen), port.addr.eq(place)]
            with m.If(shown & valid.bit_select(port.addr, 1)):
                m.d.comb += word.eq(port.data.word_select(half, 32))
            words.append(word)
        m.d.comb += self.value.eq(words[0] | words[1])
        return m
