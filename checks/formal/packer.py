"""The promise of the SCU's packers as assertions: each element leaves once, in order.

The end of a stream leaves behind the stream's last element.

The harness counts the elements that have come in and not left, for the oldest stream and for the
stream behind it. It also watches one arbitrary element and counts the elements in front of it. When
these have left, the watched element must be next. Elements, their valid bits, the ends of streams
and waiting times are free.

For the packer of bits, the harness also watches the word of the watched bit.
"""

from amaranth.hdl import Array, Assert, Assume, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from checks.formal.peek import Peek
from checks.formal.streams import hold
from hw.bits import index_bits
from hw.scu.beats import Packer, beat_layout
from hw.scu.bitmask import BitPacker


__all__ = ["BitPackerPromise", "PackerPromise", "Watch"]


#: Bits of an element. The packer ignores the value of an element.
ELEMENT = 2


def ones(mask):
    """Number of set bits."""
    return sum(mask[k] for k in range(len(mask)))


class Watch:
    """One arbitrary element of the input, and the number of elements in front of it.

    Parameters
    ----------
    m : Module
    comes, leaves : value
        Whether a beat comes in, or leaves, in this cycle.
    came, left : value
        The valid lanes of these beats.
    present : value
        Number of elements that have come in and not left.
    pick : value
        Free: watch the element in this lane from now on.
    elements : list of values
        The incoming elements.

    Attributes
    ----------
    on, ahead, value : Signal
        Whether an element is watched; number of elements that leave before it; its value.
    """
    def __init__(self, m, *, comes, leaves, came, left, present, pick, elements):
        width = len(elements)
        self.on, self.ahead = Signal(name="watched"), Signal(8, name="ahead")
        self.value = Signal(len(elements[0]), name="watched_value")
        leaving, below = Signal(range(width + 1)), Signal(range(width + 1))
        chosen = Signal(index_bits(width))
        m.d.comb += [
            leaving.eq(Mux(leaves, ones(left), 0)), chosen.eq(pick),
            below.eq(ones(came & (1 << chosen) - 1)),
        ]
        with m.If(self.on):
            m.d.sync += [self.ahead.eq(self.ahead - leaving), self.on.eq(self.ahead >= leaving)]
        with m.Elif(comes & (pick < width) & came.bit_select(chosen, 1)):
            m.d.sync += [self.on.eq(1), self.ahead.eq(present - leaving + below),
                         self.value.eq(Array(elements)[chosen])]

    def is_at(self, place, value):
        """Whether the watched element, if it is in ``place``, has this value."""
        return ~self.on | (self.ahead != place) | (value == self.value)


class PackerPromise(wiring.Component):
    """A packer and its promise.

    Parameters
    ----------
    width : int
    """
    def __init__(self, width):
        self._width = width
        layout = stream.Signature(beat_layout(ELEMENT, width))
        super().__init__({"i": In(layout), "o": Out(layout), "pick": In(index_bits(width) + 1)})

    def elaborate(self, platform):
        m = Module()
        width = self._width
        dut = Packer(ELEMENT, width)
        peek = Peek(dut)
        m.submodules.dut = peek.fragment
        connect(m, flipped(self.i), dut.i)
        connect(m, dut.o, flipped(self.o))
        i, o = self.i.payload, dut.o.payload
        comes, leaves = Signal(), Signal()
        first, second = Signal(range(4 * width)), Signal(range(4 * width))
        ended = Signal()                # all of the oldest stream has come in
        coming, leaving = Signal(range(width + 1)), Signal(range(width + 1))
        m.d.comb += [
            Assume(~ResetSignal()), comes.eq(self.i.valid & self.i.ready),
            leaves.eq(self.o.valid & self.o.ready),
            coming.eq(Mux(comes, ones(i.valid), 0)), leaving.eq(Mux(leaves, ones(o.valid), 0)),
        ]
        hold(m, dut.i, name="i", rule=Assume)
        hold(m, dut.o, name="o")
        with m.If(leaves & o.end):
            m.d.sync += [first.eq(second + coming), second.eq(0), ended.eq(comes & i.end)]
        with m.Elif(ended):
            m.d.sync += [first.eq(first - leaving), second.eq(second + coming)]
        with m.Else():
            m.d.sync += [first.eq(first - leaving + coming), ended.eq(comes & i.end)]
        watch = Watch(m, comes=comes, leaves=leaves, came=i.valid, left=o.valid,
                      present=first + second, pick=self.pick,
                      elements=[i.elements[k] for k in range(width)])

        # The promise.

        given = Signal(range(width + 1))
        m.d.comb += given.eq(ones(o.valid))
        with m.If(self.o.valid):
            m.d.comb += [
                Assert(given <= first), Assert(o.end == (ended & (given == first))),
                Assert((o.valid & (o.valid + 1)) == 0), Assert(o.end | o.valid.all()),
                *(Assert(~o.valid[k] | watch.is_at(k, o.elements[k])) for k in range(width)),
            ]
        m.d.comb += [
            Cover(leaves & o.valid.all() & (peek.signal("count") != 0) & ~o.end,
                  "a full beat leaves, and more is held"),
            Cover(leaves & o.end & ~o.valid.all() & (given != 0), "the last beat is not full"),
            Cover(leaves & o.end & comes, "a stream ends as the next comes in"),
            Cover(leaves & watch.on & (watch.ahead == width), "a watched element is the next"),
        ]
        self._add_invariants(m, peek, watch, dut.o, given, first, second, ended)
        return m

    def _add_invariants(self, m, peek, watch, out, given, first, second, ended):
        """Assert that each element under way is offered, or held behind the offer."""
        width = self._width
        count, ending = peek.signal("count"), peek.signal("ending")
        held = [peek.signal(f"held_{k}") for k in range(width - 1)]
        offered = Mux(out.valid, given, 0)
        m.d.comb += [
            Assert(count < width), Assert(first + second == offered + count),
            Assert(ended == ((out.valid & out.payload.end) | ending)),
            Assert(~ending | ((second == 0) & (count != 0) & out.valid & ~out.payload.end)),
            Assert(ended | (second == 0)),
            Assert(~watch.on | (watch.ahead < first + second)),
            Assert(~(out.valid & out.payload.end) | (first == given)),
            *(Assert((k >= count) | watch.is_at((offered + k)[:len(watch.ahead)], held[k]))
              for k in range(width - 1)),
        ]


class BitPackerPromise(wiring.Component):
    """A packer of bits and its promise.

    Parameters
    ----------
    width : int
    """
    def __init__(self, width):
        self._width = width
        super().__init__({
            "i": In(stream.Signature(beat_layout(1, width))),
            "o": Out(stream.Signature(beat_layout(32, 1))),
            "singly": In(1), "place": In(5),
        })

    def elaborate(self, platform):
        m = Module()
        width = self._width
        dut = BitPacker(width)
        peek = Peek(dut)
        m.submodules.dut = peek.fragment
        connect(m, flipped(self.i), dut.i)
        connect(m, dut.o, flipped(self.o))
        i, o = self.i.payload, dut.o.payload
        comes, leaves = Signal(), Signal()
        m.d.comb += [
            Assume(~ResetSignal()), comes.eq(self.i.valid & self.i.ready),
            leaves.eq(self.o.valid & self.o.ready),
        ]
        hold(m, dut.i, name="i", rule=Assume)
        hold(m, dut.o, name="o")

        # Beats are full, or have one bit each, until the end.

        begun, singly = Signal(), Signal()
        single = Mux(begun, singly, self.singly)
        with m.If(comes):
            m.d.sync += [begun.eq(~i.end), singly.eq(single)]
        m.d.comb += [
            Assume((i.valid & (i.valid + 1)) == 0),
            Assume(i.end | Mux(single, i.valid == 1, i.valid.all())),
            Assume(~single | (i.valid <= 1)),
        ]

        # The incoming word: the number of its bits, and one watched bit at a fixed place.

        have, bit = Signal(6), Signal()
        place, fixed = Signal(5), Signal()
        m.d.sync += [place.eq(self.place), fixed.eq(1)]
        m.d.comb += Assume(~fixed | (self.place == place))
        behind, mine = Signal(6), Signal()
        m.d.comb += [behind.eq(have + ones(i.valid)), mine.eq(bit)]
        for k in range(width):
            with m.If(i.valid[k] & (have + k == self.place)):
                m.d.comb += mine.eq(i.elements[k])
        full = Signal()
        m.d.comb += full.eq(behind == 32)
        # The offer that is due: a word with a number of bits, or the end alone.
        due, due_valid, due_bit, due_end = (Signal(name=name) for name in
                                            ("due", "due_valid", "due_bit", "due_end"))
        with m.If(leaves):
            m.d.sync += due.eq(0)
        with m.If(comes):
            m.d.sync += [have.eq(behind), bit.eq(mine)]
            with m.If(full | i.end):
                m.d.comb += Assert(~due | leaves)
                m.d.sync += [have.eq(0), bit.eq(0), due.eq(1), due_valid.eq(behind != 0),
                             due_bit.eq(mine), due_end.eq(i.end)]

        # The promise.

        m.d.comb += Assert(self.o.valid == due)
        with m.If(due):
            m.d.comb += [Assert(o.valid == due_valid), Assert(o.end == due_end),
                         Assert(o.elements[0].bit_select(self.place, 1) == due_bit)]
        m.d.comb += [
            Cover(leaves & due_valid & ~due_end & due_bit, "a full word leaves, and more comes"),
            Cover(leaves & due_valid & due_end, "the last word leaves"),
            Cover(leaves & ~due_valid & due_end, "the end leaves alone"),
            Cover(comes & begun & singly & i.valid[0], "bits come one by one"),
        ]
        self._add_invariants(m, peek, have, bit, begun, singly)
        return m

    def _add_invariants(self, m, peek, have, bit, begun, singly):
        """Assert that the incoming word is held, with zeros behind its bits."""
        held, position = peek.signal("held"), peek.signal("position")
        m.d.comb += [
            Assert(position == have), Assert(have < 32), Assert((held >> have) == 0),
            Assert(held.bit_select(self.place, 1) == bit), Assert(begun | (have == 0)),
            Assert(singly | ((have & self._width - 1) == 0)),
        ]
