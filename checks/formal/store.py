"""The promise of the Data Store as assertions: each element is written once, in its place.

The store takes in each element of a beat once, in some cycle, before it takes the beat. This is
asserted. So the harness follows an element from the cycle in which the store takes it in.

Words: the harness watches one arbitrary place and keeps the values that are due to this place. One
value is offered to the memory. Another value may be behind it. The next element for the place
replaces the value behind, because both would be written together. A write of the place has the
oldest of these values. When the store is done, no value is due. So each element for a place is
written or replaced by a later element, and no element is written twice.

Single bits: the store offers each bit to the memory in the cycle after it took in the bit, in
order.

Elements, places, the stream's end and the memory's readiness are free.
"""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from checks.formal.harness import Harness
from checks.formal.streams import hold
from hw.scu.beats import beat_layout
from hw.scu.store import DataStore, placed_layout, store_request_layout


__all__ = ["StorePromise"]


class StorePromise(Harness):
    """A store and its promise.

    Parameters
    ----------
    config : HardwareConfig
    width : int
    """
    def __init__(self, config, width):
        self._width = width
        super().__init__(config)

    def _ports(self, config):
        return {
            "i": In(stream.Signature(beat_layout(placed_layout(), self._width))),
            "request": Out(stream.Signature(store_request_layout(config))),
            "bits": In(1), "place": In(30), "done": Out(1),
        }

    def elaborate(self, platform):
        m = Module()
        dut = DataStore(self._config, self._width)
        peek = self._place(m, dut)
        connect(m, flipped(self.i), dut.i)
        connect(m, dut.request, flipped(self.request))
        fixed = Signal()
        m.d.sync += fixed.eq(1)
        m.d.comb += [Assume(~ResetSignal()), dut.bits.eq(self.bits), self.done.eq(dut.done)]
        for name in ("bits", "place"):
            port = getattr(self, name)
            before = Signal.like(port, name=f"{name}_before")
            m.d.sync += before.eq(port)
            m.d.comb += Assume(~fixed | (port == before))
        hold(m, dut.i, name="i", rule=Assume)
        hold(m, dut.request, name="request")
        ended = Signal()
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += ended.eq(self.i.payload.end)
        m.d.comb += Assert(~ended | ~self.i.ready)
        taken = peek.signal("taken")
        self._each_once(m, dut, taken)
        with m.If(self.bits):
            self._bits(m, dut, taken)
        due, values = self._words(m, dut, taken)
        m.d.comb += Assert(~dut.done | ended)
        leaves, payload = dut.request.valid & dut.request.ready, dut.request.payload
        m.d.comb += [
            Cover(leaves & ~self.bits & (payload.mask[::4] != 0)
                  & ((payload.mask[::4] & (payload.mask[::4] - 1)) != 0),
                  "two elements are written at once"),
            Cover(~self.bits & taken[:2].all() & (self.i.payload.elements[0].place
                                                  == self.i.payload.elements[1].place),
                  "two elements of a beat have one place"),
            Cover(leaves & payload.bit & payload.sets, "a bit is written"),
            Cover(dut.done, "all elements are written"),
        ]
        self._add_invariants(m, dut, peek, ended, due, values)
        return m

    def _each_once(self, m, dut, taken):
        """Assert that each element of a beat is taken in once, before the beat is taken."""
        i, so_far = dut.i, Signal(self._width, name="so_far")
        coming = Mux(i.valid, i.payload.valid & ~so_far, 0)
        m.d.sync += so_far.eq(Mux(i.valid & i.ready, 0, so_far | taken))
        m.d.comb += [
            Assert((taken & ~coming) == 0),
            Assert(~(i.valid & i.ready) | (taken == coming)),
            # Single bits are taken in one by one, from the lowest lane on.
            Assert(~self.bits | (taken == 0) | (taken == (coming & -coming))),
        ]
        self._so_far = so_far

    def _bits(self, m, dut, taken):
        """Assert that each bit that was taken in is offered."""
        i, request, out = dut.i.payload, dut.request, dut.request.payload
        due, element = Signal(name="bit_due"), Signal(placed_layout(), name="bit_element")
        with m.If(taken.any()):
            m.d.sync += due.eq(1)
        with m.Elif(request.ready):
            m.d.sync += due.eq(0)
        for k in range(self._width):
            with m.If(taken[k]):
                m.d.sync += element.eq(i.elements[k])
        word_bits = ceil_log2(self._config.line_words)
        one = Signal(32, name="one")
        m.d.comb += [
            one.eq(1 << element.bit), Assert(request.valid == due),
            Assert(~due | request.ready | ~taken.any()),
        ]
        with m.If(due):
            m.d.comb += [
                Assert(out.bit), Assert(out.line == element.place[word_bits:]),
                Assert(out.word == element.place[:word_bits]),
                Assert(out.sets == element.value[0]),
                Assert(out.data[0] == Mux(element.value[0], one, ~one)),
            ]

    def _at(self, lines, mask, place):
        """Whether a line, with the mask of its words, contains the watched place."""
        word_bits = ceil_log2(self._config.line_words)
        return (lines == place[word_bits:]) & mask.bit_select(place[:word_bits], 1)

    def _words(self, m, dut, taken):
        """Number and values of the elements that are due to the watched place."""
        i, request = dut.i.payload, dut.request
        word = self.place[:ceil_log2(self._config.line_words)]
        due = Signal(range(3))
        values = [Signal(32, name=f"due_{k}") for k in range(2)]
        offered, mine = Signal(), Signal(self._width)
        mask = request.payload.mask
        m.d.comb += [
            offered.eq(request.valid & ~self.bits & self._at(request.payload.line, mask[::4],
                                                             self.place)),
            mine.eq(Mux(self.bits, 0, Cat(taken[k] & (i.elements[k].place == self.place)
                                          for k in range(self._width)))),
            Assert(~request.valid | self.bits | ~request.payload.bit),
            # Words are written whole.
            *(Assert(~request.valid | self.bits | (mask[n] == mask[n & ~3]))
              for n in range(len(mask))),
        ]
        with m.If(offered):
            m.d.comb += [
                Assert(due != 0),
                Assert(request.payload.data.as_value().word_select(word, 32) == values[0]),
            ]
        m.d.comb += Assert(~dut.done | (due == 0))
        behind = Signal()               # a value is due that is not offered
        writes = offered & request.ready
        new = Signal(32)
        m.d.comb += behind.eq(due > offered)
        for k in range(self._width):
            with m.If(mine[k]):
                m.d.comb += new.eq(i.elements[k].value)
        m.d.sync += due.eq(due - writes + (mine.any() & ~behind))
        with m.If(writes):
            m.d.sync += values[0].eq(values[1])
        with m.If(mine.any()):
            with m.If(due - writes + ~behind == 1):
                m.d.sync += values[0].eq(new)
            with m.Else():
                m.d.sync += values[1].eq(new)
        self._offered = offered
        return due, values

    def _add_invariants(self, m, dut, peek, ended, due, values):
        """Assert that each due value is offered, or in the line under construction."""
        word = self.place[:ceil_log2(self._config.line_words)]
        begun = peek.signal("begun")
        open_ = Signal(name="under_construction")
        m.d.comb += [
            open_.eq(begun & self._at(peek.signal("line"), peek.signal("mask"), self.place)),
            Assert(peek.signal("written") == self._so_far),
            Assert(peek.signal("ending") == ended), Assert(~self.bits | ~begun),
            Assert(due == (open_ + self._offered)),
        ]
        last = Mux(due == 2, values[1], values[0])
        m.d.comb += Assert(~open_ | (last == peek.signal("words").word_select(word, 32)))
