"""The promises of the ways to and from the banks of a filter as assertions.

Both harnesses watch one arbitrary bank and one arbitrary element of this bank. The harnesses count
the elements of the bank in front of the watched element. Elements, banks, gaps, ends and waiting
times are free.
"""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, connect, flipped

from checks.formal.packer import ELEMENT, Watch, ones
from checks.formal.peek import Peek
from checks.formal.streams import hold
from hw.bits import index_bits
from hw.scu.beats import beat_layout
from hw.scu.collect import Collect
from hw.scu.dispatch import Dispatch, addressed_layout


__all__ = ["CollectPromise", "DispatchPromise"]


class _BanksPromise(wiring.Component):
    """Ports and assumptions of both harnesses: as many banks as elements of a beat."""
    def __init__(self, width, **ports):
        self._width = width
        super().__init__({
            "i": In(stream.Signature(beat_layout(addressed_layout(ELEMENT, width), width))),
            "bank": In(index_bits(width)), "pick": In(index_bits(width) + 1), **ports})

    def _begin(self, m, dut, constants):
        """Add the unit. Returns its registers, whether a beat comes in, and the lanes of the bank.
        """
        peek = Peek(dut)
        m.submodules.dut = peek.fragment
        connect(m, flipped(self.i), dut.i)
        came, comes, began = Signal(self._width), Signal(), Signal()
        i = self.i.payload
        m.d.comb += [
            Assume(~ResetSignal()), Assume(self.bank < self._width),
            comes.eq(self.i.valid & self.i.ready),
            came.eq(Cat(i.valid[k] & (i.elements[k].bank == self.bank)
                        for k in range(self._width))),
            *(Assume(i.elements[k].bank < self._width) for k in range(self._width)),
        ]
        m.d.sync += began.eq(1)
        for name in constants:
            before = Signal.like(getattr(self, name), name=f"before_{name}")
            m.d.sync += before.eq(getattr(self, name))
            m.d.comb += Assume(~began | (getattr(self, name) == before))
        hold(m, dut.i, name="i", rule=Assume)
        return peek, comes, came


class DispatchPromise(_BanksPromise):
    """The way to the banks, with a window of two beats."""
    def __init__(self, width):
        super().__init__(width, enable=In(width), taken=In(width))

    def elaborate(self, platform):
        m = Module()
        width, window = self._width, 2
        dut = Dispatch(ELEMENT, width, width, window=window)
        peek, comes, came = self._begin(m, dut, ("bank", "enable"))
        i = self.i.payload
        m.d.comb += dut.enable.eq(self.enable)
        m.d.comb += Assume((self.enable >> self.bank)[0])
        for k in range(width):
            m.d.comb += Assume(~(self.i.valid & i.valid[k])
                               | (self.enable >> i.elements[k].bank)[0])
        valid, end, value, leaves = Signal(), Signal(), Signal(ELEMENT), Signal()
        for k, o in enumerate(dut.o):
            hold(m, o, name=f"o_{k}")
            m.d.comb += o.ready.eq(self.taken[k])
            with m.If(self.bank == k):
                m.d.comb += [valid.eq(o.valid), end.eq(o.payload.end),
                             value.eq(o.payload.element), leaves.eq(o.valid & o.ready)]

        present = Signal(range(4 * width))      # elements of the bank that have come and not left
        over = Signal()                         # the end has come, and the bank has not taken it
        again = Signal()                        # the bank has taken an end
        leaving = Signal()
        m.d.comb += leaving.eq(leaves & ~end)
        m.d.sync += again.eq(again | (leaves & end))
        m.d.sync += present.eq(present + Mux(comes, ones(came), 0) - leaving)
        with m.If(comes & i.end):
            m.d.sync += over.eq(1)
        with m.Elif(leaves & end):
            m.d.sync += over.eq(0)
        watch = Watch(m, comes=comes, leaves=leaving, came=came, left=leaving, present=present,
                      pick=self.pick, elements=[i.elements[k].element for k in range(width)])
        with m.If(valid):
            m.d.comb += [Assert(end == (present == 0)), Assert(~end | over),
                         Assert(end | watch.is_at(0, value))]
        m.d.comb += [
            Cover(leaves & end & ~comes & (self.enable.all()), "a bank takes its end"),
            Cover(leaving & watch.on & (watch.ahead == 0) & (present > 2),
                  "a watched element leaves, and more of its bank wait"),
            Cover(comes & again & i.valid.any(), "a stream comes after another"),
            Cover(Cat(o.valid & o.ready & ~o.payload.end for o in dut.o).all(),
                  "all banks take an element"),
        ]

        # Invariants: each element of the bank has one place in the window, in order. A bank that
        # has taken its end has no element.
        ending, ended = peek.signal("ending"), peek.signal("ended")
        before = 0
        for w in range(window):
            held, left = peek.signal(f"held_{w}"), peek.signal(f"left_{w}")
            size = len(held) // width
            for k in range(width):
                lane = held.word_select(k, size)
                at, element = lane[:size - ELEMENT], lane[size - ELEMENT:]
                mine = left[k] & (at == self.bank)
                m.d.comb += [
                    Assert(~left[k] | (at < width) & ((self.enable & ~ended) >> at)[0]),
                    Assert(~mine | watch.is_at(before, element)),
                ]
                before = before + mine
        mine = (ended >> self.bank)[0]
        m.d.comb += [
            Assert(present == before), Assert(~watch.on | (watch.ahead < present)),
            Assert(over == (ending & ~mine)), Assert(ending | (ended == 0)),
            Assert(~ending | (ended != self.enable)), Assert((ended & ~self.enable) == 0),
        ]
        return m


class CollectPromise(_BanksPromise):
    """The way back, with a queue of three beats."""
    def __init__(self, width):
        super().__init__(width, given=In(width), decided=In(width), ended=In(1), ready=In(1))

    def elaborate(self, platform):
        m = Module()
        width = self._width
        dut = Collect(ELEMENT, width, width, depth=3, decisions=width + 1)
        _, comes, came = self._begin(m, dut, ("bank",))
        i, o = self.i.payload, dut.o.payload
        leaves = Signal()
        m.d.comb += [dut.ended.eq(self.ended), dut.o.ready.eq(self.ready),
                     leaves.eq(dut.o.valid & dut.o.ready)]
        hold(m, dut.o, name="o")

        # Each bank decides on elements that have come, one after the other.
        decides, kept = Signal(), Signal()
        undecided = Signal(range(8 * width))
        for k, decision in enumerate(dut.decisions):
            open_ = Signal(range(8 * width), name=f"undecided_{k}")
            goes = Signal(name=f"decides_{k}")
            coming = Cat(i.valid[lane] & (i.elements[lane].bank == k) for lane in range(width))
            m.d.comb += [
                decision.valid.eq(self.given[k]), decision.payload.eq(self.decided[k]),
                Assume(~self.given[k] | (open_ != 0)), goes.eq(decision.valid & decision.ready),
            ]
            hold(m, decision, name=f"decision_{k}", rule=Assume)
            m.d.sync += open_.eq(open_ + Mux(comes, ones(coming), 0) - goes)
            with m.If(self.bank == k):
                m.d.comb += [decides.eq(goes), kept.eq(decision.payload), undecided.eq(open_)]

        # The watched element: beats and decisions in front of it, its lane, its value and decision.
        beats = Signal(range(8))
        m.d.sync += beats.eq(beats + comes - leaves)
        on, known, verdict = Signal(), Signal(), Signal()
        ahead, decisions = Signal(range(8)), Signal(range(8 * width))
        lane, value = Signal(index_bits(width)), Signal(ELEMENT)
        chosen = Signal(index_bits(width))
        m.d.comb += chosen.eq(self.pick)
        with m.If(on):
            m.d.sync += ahead.eq(ahead - leaves)
            with m.If(leaves & (ahead == 0)):
                m.d.sync += [on.eq(0), known.eq(0)]
            with m.If(decides & ~known):
                m.d.sync += decisions.eq(decisions - 1)
                with m.If(decisions == 0):
                    m.d.sync += [known.eq(1), verdict.eq(kept)]
        with m.Elif(comes & (self.pick < width) & (came >> chosen)[0]):
            m.d.sync += [
                on.eq(1), ahead.eq(beats - leaves), lane.eq(chosen),
                value.eq(i.elements.as_value().word_select(
                    chosen, len(i.elements[0].as_value()))[-ELEMENT:]),
                decisions.eq(undecided - decides + ones(came & (1 << chosen) - 1)),
            ]
        given = o.elements.as_value().word_select(lane, 1 + ELEMENT)
        with m.If(dut.o.valid):
            m.d.comb += Assert(beats != 0)
            with m.If(on & (ahead == 0)):
                m.d.comb += [Assert((o.valid >> lane)[0]), Assert(known),
                             Assert(given[0] == verdict), Assert(given[1:] == value)]
        m.d.comb += [
            Cover(leaves & on & (ahead == 0) & verdict & (o.valid.all()), "an element is kept"),
            Cover(leaves & on & (ahead == 0) & ~verdict & (beats == 3),
                  "an element is dropped while more beats wait"),
            Cover(leaves & o.end & o.valid.any(), "a stream ends with an element"),
            Cover(~dut.decisions[0].ready & dut.decisions[0].valid, "a bank waits for another"),
        ]
        return m
