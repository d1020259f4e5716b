"""Barriers of a core."""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.bits import encode, index_bits, lowest
from hw.config import HardwareConfig


__all__ = ["Barriers"]


class Barriers(wiring.Component):
    """Barriers. A warp that arrives waits until as many warps as it names have arrived.

    Combinational. A release frees all warps at the barrier, including the last to arrive.
    Throughput: one arrival a cycle.

    Members
    -------
    launch : In(1)
        All barriers become empty.
    arrive : In(1)
        ``warp`` arrives at barrier ``number``, which takes ``count`` warps.
    warp : In
    number, count : In
        ``config.barriers`` stands for all numbers that no barrier has, and ``config.warps + 1`` for
        all counts that are never reached.
    active : In(warps)
        Warps that have not ended.
    released : Out(warps)
        Warps that are released in this cycle.
    waiting : Out(warps)
        Warps that wait at any barrier.
    invalid : Out(1)
        There is no barrier ``number``, and the warp does not arrive.
    deadlock : Out(1)
        Every active warp waits, and none can be released any more.
    deadlock_warp, deadlock_number : Out
        The lowest warp that waits, and the barrier it waits at.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            "launch": In(1), "arrive": In(1), "warp": In(index_bits(config.warps)),
            "number": In(range(config.barriers + 1)), "count": In(range(config.warps + 2)),
            "active": In(config.warps),
            "released": Out(config.warps), "waiting": Out(config.warps),
            "invalid": Out(1), "deadlock": Out(1),
            "deadlock_warp": Out(index_bits(config.warps)),
            "deadlock_number": Out(index_bits(config.barriers)),
        })

    def elaborate(self, platform):
        m = Module()
        warps, barriers = self._config.warps, self._config.barriers
        # The warps that wait at each barrier. Their number is the barrier's arrival count.
        waiters = [Signal(warps, name=f"waiters_{i}") for i in range(barriers)]
        arriving = Signal(warps)
        here = Signal(warps)
        arrivals = Signal(range(warps + 1))
        chosen = Signal(barriers)
        complete = Signal()
        m.d.comb += [
            self.invalid.eq(self.arrive & (self.number >= barriers)),
            arriving.eq(Mux(self.arrive & ~self.invalid, 1 << self.warp, 0)),
            chosen.eq(1 << self.number[:index_bits(barriers)]),
            here.eq(arriving | Cat(Cat(waiters[b][w] & chosen[b] for b in range(barriers)).any()
                                   for w in range(warps))),
            arrivals.eq(sum(here[w] for w in range(warps))),
            complete.eq(arriving.any() & (arrivals >= self.count)),
            self.released.eq(Mux(complete, here, 0)),
            self.waiting.eq(Cat(Cat(waiters[b][w] for b in range(barriers)).any()
                                for w in range(warps))),
            self.deadlock.eq(self.active.any() & ((self.active & ~self.waiting) == 0)),
        ]
        first = lowest(m, self.waiting, name="first")
        m.d.comb += [
            self.deadlock_warp.eq(encode(first)),
            self.deadlock_number.eq(encode(Cat((waiters[b] & first).any()
                                               for b in range(barriers)))),
        ]
        for b in range(barriers):
            with m.If(self.launch):
                m.d.sync += waiters[b].eq(0)
            with m.Elif(arriving.any() & chosen[b]):
                m.d.sync += waiters[b].eq(Mux(complete, 0, here))

        running = Signal()
        m.d.sync += running.eq(1)
        with m.If(running & ~self.launch):
            m.d.sync += Assert((arriving & self.waiting) == 0, "a warp arrives that waits")
        return m
