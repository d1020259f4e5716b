"""The promise of the Address Generator's two steps as assertions.

The Selector reads each input once, in order. An input is valid in the output if its bit is 1 and
the input is wanted. With each beat of inputs, the Selector takes a beat of each used vector, and
nothing of the other vectors. The contents of vectors and all waiting times are free. There are at
most 2**30 inputs.

The Expander outputs as many elements for each entry as the entry counts, in order. The elements are
consecutive words, or the same word repeated. The harness counts the elements of a beat of entries
that have left. It also watches one arbitrary entry and knows the number of elements in front of
this entry. Entries and waiting times are free. Counts are less than twice the width.
"""

from types import SimpleNamespace

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from checks.formal.peek import Peek
from checks.formal.streams import hold
from hw.bits import index_bits
from hw.scu.address import Expander, Selector, entry_layout, selection_ports
from hw.scu.beats import beat_layout
from hw.scu.registers import ScuOperation


__all__ = ["ExpanderPromise", "SelectorPromise"]


class SelectorPromise(wiring.Component):
    """A selector and its promise.

    Parameters
    ----------
    width : int
    """
    def __init__(self, width):
        self._width = width
        super().__init__({
            **selection_ports(width),
            "o": Out(stream.Signature(beat_layout(entry_layout(), width))),
        })

    def elaborate(self, platform):
        m = Module()
        width = self._width
        dut = Selector(width)
        peek = Peek(dut)
        m.submodules.dut = peek.fragment
        connect(m, flipped(self), dut)
        o = dut.o.payload
        vectors = {name: getattr(dut, name) for name in ("bits", "indexes", "counts")}
        for name, port in vectors.items():
            hold(m, port, name=name, rule=Assume)
        # The contents of invalid lanes do not count.
        offer = SimpleNamespace(valid=dut.o.valid, ready=dut.o.ready, payload=Cat(
            o.valid, o.end, *(Mux(o.valid[k], o.elements[k].as_value(), 0) for k in range(width))))
        hold(m, offer, name="o")
        indexed = ((self.operation == ScuOperation.ACCESS)
                   | (self.operation == ScuOperation.ACCESS_EXPANSION))
        counted = ((self.operation == ScuOperation.REPLICATION)
                   | (self.operation == ScuOperation.ACCESS_EXPANSION))
        used = {"bits": self.masked, "indexes": indexed, "counts": counted}

        # The operation's registers stay the same. An operation begins when none is under way.

        under_way, number = Signal(), Signal(33)        # inputs read so far
        for name in ("operation", "masked", "length"):
            port = getattr(self, name)
            before = Signal.like(port, name=f"{name}_before")
            m.d.sync += before.eq(port)
            m.d.comb += Assume(~under_way | (port == before))
        leaves, some = Signal(), Signal()
        m.d.comb += [
            Assume(~ResetSignal()), Assume(~(self.start & under_way)),
            Assume(self.length <= 1 << 30), leaves.eq(dut.o.valid & dut.o.ready),
            some.eq(number < self.length),
        ]
        with m.If(self.start):
            m.d.sync += [under_way.eq(1), number.eq(0)]
        with m.Elif(leaves):
            m.d.sync += [number.eq(number + width), under_way.eq(~o.end)]

        # The promise.

        present = Cat(~used[name] | port.valid for name, port in vectors.items()).all()
        m.d.comb += [
            Assert(dut.o.valid == (under_way & (~some | present))),
            Assert(~dut.o.valid | (o.end == (number + width >= self.length))),
            *(Assert(port.ready == (leaves & some & used[name]))
              for name, port in vectors.items()),
        ]
        for k in range(width):
            entry = o.elements[k]
            chosen = ((number + k < self.length) & (self.bits.payload[k] | ~self.masked)
                      & ((self.counts.payload[k] != 0) | ~counted))
            with m.If(dut.o.valid):
                m.d.comb += Assert(o.valid[k] == chosen)
            with m.If(dut.o.valid & chosen):
                m.d.comb += [
                    Assert(entry.word == Mux(indexed, self.indexes.payload[k],
                                             number + k)[:30]),
                    Assert(entry.count == Mux(counted, self.counts.payload[k], 1)),
                ]
        m.d.comb += [
            Cover(leaves & (o.valid != 0) & ~o.valid.all() & ~o.end, "an input is passed over"),
            Cover(leaves & indexed & counted & self.masked & o.valid.all(),
                  "all vectors are used"),
            Cover(leaves & o.end & (number != 0), "the last of several beats leaves"),
            Cover(leaves & o.end & ~some, "an operation without inputs ends"),
        ]
        self._add_invariants(m, peek, under_way, number)
        return m

    def _add_invariants(self, m, peek, under_way, number):
        """Assert that the registers ``index`` and ``rest`` agree with the model."""
        m.d.comb += [
            Assert(peek.signal("going") == under_way),
            Assert(~under_way | (peek.signal("index") == number)),
            Assert(~under_way | (peek.signal("left") == self.length - number)),
            Assert(~under_way | (number < self.length) | (number == 0)),
        ]


class ExpanderPromise(wiring.Component):
    """An expander and its promise.

    Parameters
    ----------
    width : int
    """
    def __init__(self, width):
        self._width = width
        super().__init__({
            "advance": In(1), "pick": In(index_bits(width)),
            "i": In(stream.Signature(beat_layout(entry_layout(), width))),
            "o": Out(stream.Signature(beat_layout(30, width))),
        })

    def elaborate(self, platform):
        m = Module()
        width, most = self._width, 2 * self._width - 1
        dut = Expander(width)
        peek = Peek(dut)
        m.submodules.dut = peek.fragment
        connect(m, flipped(self.i), dut.i)
        connect(m, dut.o, flipped(self.o))
        i, o = self.i.payload, dut.o.payload
        hold(m, dut.i, name="i", rule=Assume)
        hold(m, dut.o, name="o")
        begun, advance = Signal(), Signal()
        m.d.sync += [begun.eq(1), advance.eq(self.advance)]
        m.d.comb += [
            dut.advance.eq(self.advance), Assume(~ResetSignal()),
            Assume(~begun | (self.advance == advance)), Assume((i.valid & (i.valid + 1)) == 0),
            Assume(self.pick < width),
            *(Assume(~i.valid[e] | ((i.elements[e].count != 0) & (i.elements[e].count <= most)))
              for e in range(width)),
        ]

        # A beat of entries: elements due, and elements that have left. And the watched entry.

        bits = 2 * width.bit_length()
        busy, end = Signal(), Signal()
        total, left, ahead = Signal(bits), Signal(bits), Signal(bits)
        lane, entry = Signal(index_bits(width)), Signal(entry_layout())
        watched = Signal()
        comes, leaves, given = Signal(), Signal(), Signal(range(width + 1))
        counts = [Mux(i.valid[e], i.elements[e].count[:width.bit_length()], 0)
                  for e in range(width)]
        m.d.comb += [
            comes.eq(dut.i.valid & dut.i.ready), leaves.eq(dut.o.valid & dut.o.ready),
            given.eq(sum(o.valid[k] for k in range(width))),
        ]
        with m.If(leaves):
            m.d.sync += [left.eq(left + given), busy.eq(left + given != total)]
        with m.If(comes):
            m.d.sync += [
                busy.eq(1), end.eq(i.end), total.eq(sum(counts)), left.eq(0),
                lane.eq(self.pick), entry.eq(Array(i.elements)[self.pick]),
                watched.eq(i.valid.bit_select(self.pick, 1)),
                ahead.eq(sum(Mux(self.pick > e, counts[e], 0) for e in range(width))),
            ]

        # The promise.

        m.d.comb += [
            Assert(dut.o.valid == busy),
            Assert(~comes | ~busy | (leaves & (left + given == total))),
        ]
        with m.If(busy):
            m.d.comb += [
                Assert((o.valid & (o.valid + 1)) == 0),
                # A beat has as many elements as are left.
                Assert(given == Mux(total - left < width, total - left, width)),
                Assert(o.end == (end & (left + given == total))),
            ]
            for k in range(width):
                at = Signal(bits + 1, name=f"at_{k}")       # place among the entry's elements
                m.d.comb += at.eq(left + k - ahead)
                with m.If(watched & o.valid[k] & (left + k >= ahead)
                          & (left + k < ahead + entry.count)):
                    m.d.comb += Assert(o.elements[k]
                                       == (entry.word + Mux(self.advance, at, 0))[:30])
        m.d.comb += [
            Cover(leaves & (left != 0) & (left + given < total), "a beat is in the middle"),
            Cover(comes & busy, "a beat comes as the last elements leave"),
            Cover(leaves & watched & self.advance & (left > ahead) & (entry.count > width)
                  & (left < ahead + entry.count), "an entry continues in the next beat"),
            Cover(leaves & o.end, "a stream ends"),
        ]
        self._add_invariants(m, peek, busy, end, total, left, ahead, watched, lane, entry)
        return m

    def _add_invariants(self, m, peek, busy, end, total, left, ahead, watched, lane, entry):
        """Assert that the expander holds exactly the elements that have not left."""
        width = self._width
        held = data.View(beat_layout(entry_layout(), width), peek.signal("held"))
        rest = [Signal(len(total), name=f"rest_{e}") for e in range(width)]
        mine = Signal(len(total))       # elements of the watched entry that left
        m.d.comb += [
            Assert(peek.signal("busy") == busy),
            mine.eq(Mux(left < ahead, 0, Mux(left - ahead < entry.count, left - ahead,
                                             entry.count))),
        ]
        for e in range(width):
            m.d.comb += [rest[e].eq(Mux(held.valid[e], held.elements[e].count, 0)),
                         Assert(~busy | ~held.valid[e] | (held.elements[e].count < 2 * width))]
        with m.If(busy):
            m.d.comb += [
                Assert(held.end == end), Assert(sum(rest) == total - left), Assert(left <= total),
                Assert((left < total) | (total == 0)), Assert((total != 0) | ~watched),
                *(Assert(~held.valid[e] | (rest[e] != 0)) for e in range(width)),
            ]
            with m.If(watched):
                below = sum(Mux(lane > e, rest[e], 0) for e in range(width))
                m.d.comb += [
                    Assert(lane < width), Assert(entry.count != 0),
                    Assert(ahead + entry.count <= total),
                    Assert(below == Mux(left < ahead, ahead - left, 0)),
                    Assert(Array(rest)[lane] == entry.count - mine),
                    Assert((Array(rest)[lane] == 0) | (
                        Array([held.elements[e].word for e in range(width)])[lane]
                        == (entry.word + Mux(self.advance, mine, 0))[:30])),
                ]
