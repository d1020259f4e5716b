"""The promise of the barriers as assertions: a barrier releases all its warps at the count.

The harness holds the barriers. For each warp it knows whether and at which barrier the warp waits.
For each barrier it counts the arrivals since the last release. Arrivals, their barriers and their
counts are free. The harness assumes the core's behavior: an arriving warp is active and does not
wait; a waiting warp stays active; no warp arrives during a launch.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib.wiring import In

from checks.formal.harness import Harness
from hw.bits import index_bits
from hw.core.barrier import Barriers


__all__ = ["BarrierPromise"]


class BarrierPromise(Harness):
    """Barriers and their promise."""
    def _ports(self, config):
        return {
            "launch": In(1), "arrive": In(1), "warp": In(index_bits(config.warps)),
            "number": In(range(config.barriers + 1)), "count": In(range(config.warps + 2)),
            "active": In(config.warps),
        }

    def elaborate(self, platform):
        m = Module()
        warps, barriers = range(self._config.warps), range(self._config.barriers)
        dut = Barriers(self._config)
        peek = self._place(m, dut)

        # The model. A barrier is uniform while all arrivals since its last release named the same
        # count.

        waits = Array(Signal(name=f"waits_{w}") for w in warps)
        place = Array(Signal(index_bits(len(barriers)), name=f"place_{w}") for w in warps)
        arrivals = Array(Signal(range(len(warps) + 1), name=f"arrivals_{b}") for b in barriers)
        counts = Array(Signal(32, name=f"count_{b}") for b in barriers)
        uniform = Array(Signal(name=f"uniform_{b}", init=1) for b in barriers)
        number = Signal(index_bits(len(barriers)))
        exists, arrives, releases, same = Signal(), Signal(), Signal(), Signal()
        total = Signal(range(len(warps) + 2))
        m.d.comb += [
            exists.eq(self.number < len(barriers)), number.eq(self.number),
            arrives.eq(self.arrive & exists),
            total.eq(arrivals[number] + 1),
            releases.eq(arrives & (total >= self.count)),
            same.eq((arrivals[number] == 0)
                    | (uniform[number] & (counts[number] == self.count))),
        ]
        here = Cat(arrives & ((self.warp == w) | (waits[w] & (place[w] == number)))
                   for w in warps)
        for w in warps:
            with m.If(self.launch):
                m.d.sync += waits[w].eq(0)
            with m.Elif(arrives & (self.warp == w)):
                m.d.sync += [waits[w].eq(~releases), place[w].eq(number)]
            with m.Elif(releases & (place[w] == number)):
                m.d.sync += waits[w].eq(0)
        for b in barriers:
            with m.If(self.launch):
                m.d.sync += [arrivals[b].eq(0), uniform[b].eq(1)]
            with m.Elif(arrives & (number == b)):
                m.d.sync += [
                    arrivals[b].eq(Mux(releases, 0, total)), counts[b].eq(self.count),
                    uniform[b].eq(Mux(releases, 1, same)),
                ]

        # Assumptions about the core.

        m.d.comb += [
            dut.launch.eq(self.launch), dut.arrive.eq(self.arrive), dut.warp.eq(self.warp),
            dut.number.eq(self.number), dut.count.eq(self.count), dut.active.eq(self.active),
            Assume(~ResetSignal()),
            Assume(~self.arrive | (~waits[self.warp] & (self.active >> self.warp)[0]
                                   & ~self.launch)),
            Assume((Cat(waits) & ~self.active) == 0),
        ]

        # The promise of the barriers.

        first = Signal(index_bits(len(warps)))
        for w in reversed(warps):
            with m.If(waits[w]):
                m.d.comb += first.eq(w)
        m.d.comb += [
            Assert(dut.invalid == (self.arrive & ~exists)),
            # All warps that wait here go on when enough have arrived. No warp goes on otherwise.
            Assert(dut.released == Mux(releases, here, 0)),
            Assert(dut.waiting == Cat(waits)),
            # If all warps name the same count, exactly this number of warps goes on.
            Assert(~releases | ~same | (self.count == 0) | (sum(here) == self.count)),
            # The error is reported exactly when all active warps wait.
            Assert(dut.deadlock == (self.active.any() & (Cat(waits) == self.active))),
        ]
        with m.If(Cat(waits).any()):
            m.d.comb += [Assert(dut.deadlock_warp == first),
                         Assert(dut.deadlock_number == place[first])]

        m.d.comb += [
            Cover(releases & (sum(here) == 2), "two warps are released together"),
            Cover(arrives & ~releases & waits[0], "a warp joins a warp that waits"),
            Cover(dut.deadlock, "all active warps wait"),
            Cover(dut.invalid, "a warp names a barrier that does not exist"),
        ]
        self._add_invariants(m, peek, waits, place, arrivals)
        for b in barriers:
            m.d.comb += Assert((arrivals[b] == 0) | ~uniform[b] | (arrivals[b] < counts[b]))
        return m

    def _add_invariants(self, m, peek, waits, place, arrivals):
        """Assert that the lists of the barriers agree with the model."""
        for b in range(self._config.barriers):
            mine = Cat(wait & (at == b) for wait, at in zip(waits, place))
            m.d.comb += [Assert(peek.signal(f"waiters_{b}") == mine),
                         Assert(arrivals[b] == sum(mine))]
        for wait, at in zip(waits, place):
            m.d.comb += Assert(~wait | (at < self._config.barriers))
