"""The promise of the filters as assertions: the first occurrence of an element is never dropped.

The harness watches one arbitrary element other than the content of an empty way. It holds a
Filtering/Grouping Unit that filters, and the line of memory with the element's set. For each
element under way, in order, it knows whether this is the watched element. Whenever the watched
element is dropped, it must have been kept since the table was last emptied. All other lines from
memory are free. Elements, costs, latencies and the order of answers are free too.

The harness assumes the behavior of the rest of the SCU: a start comes when nothing is under way;
the table and the filter stay the same; only requested lines are answered.
"""

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from checks.formal.filter_invariants import add_invariants
from checks.formal.harness import Harness
from checks.formal.streams import hold
from hw.memory.port import line_layout
from hw.scu.filter_group import FilterGroup, element_layout
from hw.scu.serializer import numbered_layout
from hw.scu.interface import line_request_layout, line_response_layout
from hw.scu.registers import EMPTY, ScuOutput, hash_set


__all__ = ["SLOTS", "DEPTH", "FilterModel", "FilterPromise"]


SLOTS, DEPTH = 2, 3

#: Elements under way, at most: one entering, the queue, one under decision, one being given out.
_UNDER_WAY = DEPTH + 3


class FilterModel:
    """The state of the model.

    Attributes
    ----------
    watched : Value
        The watched element.
    home : Signal
        The number of the line with the element's set.
    active, known, kept : Signal
        An operation is under way; the table was emptied or is being emptied; since then, the
        watched element was given out as kept.
    flags, count : Signal
        For each element under way, the oldest first, whether it is the watched element; and the
        number of elements under way.
    content : Signal(line_layout)
        The line ``home`` in memory.
    pending, of_home, captured : Signal
        By slot: a read has no answer yet; the read is of ``home``; the answer to a read of
        ``home``.
    """
    def __init__(self, config, watched):
        self.watched = watched
        self.home = Signal(32 - config.line_bits)
        self.active, self.known, self.kept = Signal(), Signal(), Signal()
        self.flags, self.count = Signal(_UNDER_WAY), Signal(range(_UNDER_WAY + 1))
        self.content = Signal(line_layout(config))
        self.pending, self.of_home = Signal(SLOTS), Signal(SLOTS)
        self.captured = Signal(line_layout(config))


class FilterPromise(Harness):
    """A unit that filters, or a bank of it, and its promise.

    Parameters
    ----------
    config : HardwareConfig
        A small shape.
    bank, banks : int
        As for :class:`~hw.scu.filter_group.FilterGroup`.
    """
    def __init__(self, config, *, bank=0, banks=1):
        self._bank, self._banks = bank, banks
        super().__init__(config)

    def _ports(self, config):
        return {
            "watched": In(32), "start": In(1), "best": In(1), "clear": In(1), "address": In(32),
            "sets_bits": In(5), "ways_bits": In(3),
            "i": In(stream.Signature(element_layout())),
            "o": Out(stream.Signature(numbered_layout())),
            "request": Out(stream.Signature(line_request_layout(config))),
            "response": In(stream.Signature(line_response_layout(config))),
        }

    def elaborate(self, platform):
        m = Module()
        config = self._config
        dut = FilterGroup(config, slots=SLOTS, depth=DEPTH, bank=self._bank,
                          banks=self._banks)
        peek = self._place(m, dut)
        model = FilterModel(config, self.watched)
        connect(m, flipped(self.i), dut.i)
        connect(m, dut.o, flipped(self.o))
        connect(m, dut.request, flipped(self.request))
        connect(m, flipped(self.response), dut.response)
        m.d.comb += [
            dut.start.eq(self.start), dut.clear.eq(self.clear), dut.address.eq(self.address),
            dut.mode.eq(Mux(self.best, ScuOutput.FILTER_BEST, ScuOutput.FILTER_UNIQUE)),
            dut.sets_bits.eq(self.sets_bits), dut.ways_bits.eq(self.ways_bits),
        ]
        self._assume(m, model, dut)
        self._follow(m, model, dut)
        self._assert(m, model, dut)
        given, leaves = dut.o.payload, dut.o.valid & dut.o.ready & ~dut.o.payload.end
        m.d.comb += [
            Cover(leaves & model.flags[0] & model.known & ~model.kept,
                  "a first occurrence is kept"),
            Cover(leaves & model.flags[0] & model.kept & ~given.value[0],
                  "a second occurrence is dropped"),
            Cover(model.pending.all(), "two lines of the table are awaited"),
        ]
        self._add_invariants(m, model, dut, peek)
        return m

    def _assume(self, m, model, dut):
        """Assumptions about the rest of the SCU."""
        words = self._config.line_words.bit_length() - 1
        m.d.comb += [
            Assume(~ResetSignal()),
            Assume(~(self.start & model.active)),
            Assume(self.watched != EMPTY),
            Assume(self.sets_bits <= 2), Assume(self.ways_bits + self.best <= words),
            Assume(self.address[:self._config.line_bits] == 0),
            Assume((model.home - (self.address >> self._config.line_bits)) & self._banks - 1
                   == self._bank),
        ]
        began = Signal()
        m.d.sync += began.eq(1)
        for name in ("watched", "best", "address", "sets_bits", "ways_bits"):
            port = getattr(self, name)
            before = Signal.like(port, name=f"before_{name}")
            m.d.sync += before.eq(port)
            m.d.comb += Assume(~began | (port == before))
        hold(m, dut.i, name="i", rule=Assume)
        hold(m, dut.response, name="response", rule=Assume)
        answer = dut.response.payload
        with m.If(dut.response.valid):
            m.d.comb += [
                Assume(answer.slot < SLOTS), Assume((model.pending >> answer.slot)[0]),
                Assume(~(model.of_home >> answer.slot)[0]
                       | (answer.data.as_value() == model.captured.as_value())),
            ]

    def _follow(self, m, model, dut):
        """Update the model with the transfers of this cycle."""
        # As hw.scu.registers says: ways of a set, with one or two words each.
        sets = (1 << self.sets_bits)[:4]
        m.d.comb += model.home.eq(
            (self.address + (hash_set(self.watched, sets) << self.ways_bits + self.best + 2))
            >> self._config.line_bits)

        element, given = dut.i.payload, dut.o.payload
        comes = dut.i.valid & dut.i.ready & ~element.end
        leaves = dut.o.valid & dut.o.ready & ~given.end
        flag = element.shown & (element.value == self.watched)
        rest = Mux(leaves, model.flags >> 1, model.flags)
        left = (model.count - leaves)[:len(model.count)]
        m.d.sync += [
            model.count.eq(left + comes),
            model.flags.eq(rest | Mux(comes & flag, 1 << left, 0)),
        ]
        with m.If(leaves & model.flags[0] & given.value[0]):
            m.d.sync += model.kept.eq(1)
        with m.If(dut.o.valid & dut.o.ready & given.end):
            m.d.sync += model.active.eq(0)
        with m.If(self.start):
            m.d.sync += model.active.eq(1)
            with m.If(self.clear):
                m.d.sync += [model.known.eq(1), model.kept.eq(0)]

        asked, answer = dut.request.payload, dut.response.payload
        asks = dut.request.valid & dut.request.ready
        reads = Mux(asks & ~asked.write, 1 << asked.slot, 0)
        answered = Mux(dut.response.valid & dut.response.ready, 1 << answer.slot, 0)
        is_home = asked.line == model.home
        m.d.sync += [
            model.pending.eq(model.pending & ~answered | reads),
            model.of_home.eq(model.of_home & ~reads | Mux(is_home, reads, 0)),
        ]
        with m.If(asks & asked.write & is_home):
            m.d.sync += model.content.eq(asked.data)
        with m.If(asks & ~asked.write & is_home):
            m.d.sync += model.captured.eq(model.content)

    def _assert(self, m, model, dut):
        """The promise of the unit."""
        given = dut.o.payload
        m.d.comb += Assert(~dut.request.valid | dut.request.payload.mask.all())
        with m.If(dut.o.valid & ~given.end):
            m.d.comb += Assert(model.count != 0)
            with m.If(model.flags[0] & model.known & ~model.kept):
                m.d.comb += Assert(given.value == 1)

    def _add_invariants(self, m, model, dut, peek):
        """Invariants that make the promise inductive."""
        add_invariants(m, self._config, model, dut, peek, self._bank, self._banks)
