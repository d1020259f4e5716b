"""Output of an operation: elements become words to store, bits, or look-ups in the hash table.

Each word of the Data Fetch is joined with its operand and its place. From there words take one of
three ways: to the Data Store, through the Bitmask Constructor, or to the Filtering/Grouping Unit.
The answers of this unit are stored like words. The elements of STREAM, or those that the unit
keeps, are stored with their costs.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.bits import and_or, lowest
from hw.config import HardwareConfig
from hw.streams import StreamRegister

from .bitmask import BitPacker, Comparator
from .checks import fault_layout, mapped, register_layout
from .filter_banks import answer_layout, candidate_layout
from .beats import beat_layout
from .pairs import PairPlaces
from .registers import ScuError, ScuOperation, ScuOutput
from .serializer import numbered_layout
from .store import placed_layout


__all__ = ["OutputStage"]


class _Ways:
    """The ways that words take, as the registers say. The ways exclude each other, but ``streams``
    may be ``hashed``, too."""
    def __init__(self):
        self.hashed, self.compares, self.grouped, self.uses_operand, self.ordered, self.streams = (
            Signal(name=name) for name in
            ("hashed", "compares", "grouped", "uses_operand", "ordered", "streams"))
        # To bits: from the comparator, or from the decisions of a filter.
        self.packed = self.compares & ~self.ordered & ~self.hashed
        self.filtered = self.hashed & ~self.grouped & ~self.streams


class _Joined:
    """Packet of the register behind the inputs: a beat with its operands and places, the words that
    are made of both, and the elements whose comparison holds."""
    def __init__(self, joined, width):
        self.stream, self.beat = joined.o, joined.o.payload.beat
        self.operands, self.order = joined.o.payload.operands, joined.o.payload.order
        self.values = [Signal(32, name=f"value_{k}") for k in range(width)]
        self.holds = Signal(width, name="holds")


def _ones(mask):
    """Number of set bits."""
    return sum(mask[k] for k in range(len(mask)))


class OutputStage(wiring.Component):
    """Turns words into elements for the Data Store.

    Latency: two cycles for words, and for bits with an ``order``. Throughput: a beat a cycle.

    Members
    -------
    start : In(1)
        Begin. ``registers`` hold from now until the end of the operation.
    registers : In(register_layout)
        The registers of the operation.
    i : In(stream(beat_layout(32)))
        Packed beats of words.
    operands, order : In(stream(ArrayLayout(32, width)))
        Operands and places for the elements of each beat. A stream is taken only if OPERAND, or
        ORDER, is not 0. The operands of STREAM are the costs.
    lookups : Out(stream(beat_layout(candidate_layout)))
        Elements for the Filtering/Grouping Unit.
    answers : In(stream(beat_layout(answer_layout)))
        Decisions of a filter, in the beats of the elements.
    places : In(stream(numbered_layout))
        Places of GROUP.
    bits : Out(1)
        For the Data Store: elements are single bits.
    o : Out(stream(beat_layout(placed_layout)))
        For the Data Store. The stream ends before the first element whose place is outside the
        memory.
    o_costs : Out(stream(beat_layout(placed_layout)))
        For the store of the costs of STREAM.
    fault : Out(fault_layout)
        UNMAPPED if a place from ``order`` is outside the memory.
    stored : Out(range(width + 1))
        Number of output elements that pass in this cycle.
    ones : Out(range(width + 1))
        Number of these elements that are 1, if the output consists of bits. For STREAM: number of
        elements on which it was decided in this cycle.
    """
    def __init__(self, config: HardwareConfig, width):
        self._config, self._width = config, width
        words = stream.Signature(data.ArrayLayout(32, width))
        super().__init__({
            "start": In(1), "registers": In(register_layout()),
            "i": In(stream.Signature(beat_layout(32, width))),
            "operands": In(words), "order": In(words),
            "lookups": Out(stream.Signature(beat_layout(candidate_layout(), width))),
            "answers": In(stream.Signature(beat_layout(answer_layout(), width))),
            "places": In(stream.Signature(numbered_layout())),
            "bits": Out(1),
            "o": Out(stream.Signature(beat_layout(placed_layout(), width))),
            "o_costs": Out(stream.Signature(beat_layout(placed_layout(), width))),
            "fault": Out(fault_layout()),
            "stored": Out(range(width + 1)), "ones": Out(range(width + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        width = self._width
        ways = self._choose_ways(m)
        m.submodules.direct = direct = StreamRegister(self.o.payload.shape())
        m.submodules.packer = packer = BitPacker(width)
        m.submodules.pairs = pairs = PairPlaces(width)
        joined = self._join(m, ways)
        m.d.comb += joined.stream.ready.eq(
            Mux(ways.hashed, self.lookups.ready,
                Mux(ways.packed, packer.i.ready,
                    Mux(ways.streams, pairs.i.ready, direct.i.ready))))
        self._ask(m, ways, joined)
        passing = self._direct(m, ways, joined, direct)
        answer = self.answers.payload
        kept = Signal(width)
        m.d.comb += kept.eq(answer.valid & Cat(answer.elements[k].kept for k in range(width)))
        self._pair(m, ways, joined, kept, pairs)
        self._pack(m, ways, joined, kept, packer)
        self._put_out(m, ways, packer, pairs, direct)
        self._count(m, ways, joined, passing, kept, pairs.passing)
        with m.If(self.start):
            m.d.sync += self.fault.eq(0)
        return m

    def _choose_ways(self, m):
        """The ways that the words of this operation take."""
        r, ways = self.registers, _Ways()
        operation, output = r.command[:3], r.command[4:6]
        m.d.comb += [
            ways.streams.eq(operation == ScuOperation.STREAM),
            ways.hashed.eq(output != ScuOutput.DATA), ways.grouped.eq(output == ScuOutput.GROUP),
            ways.compares.eq(operation == ScuOperation.BITMASK),
            ways.uses_operand.eq((r.operand != 0) | ways.streams), ways.ordered.eq(r.order != 0),
            self.bits.eq(ways.compares & ways.ordered),
        ]
        return ways

    def _join(self, m, ways):
        """Join each word with its operand and its place."""
        width, r = self._width, self.registers
        words = data.ArrayLayout(32, width)
        m.submodules.joined = register = StreamRegister(data.StructLayout({
            "beat": beat_layout(32, width), "operands": words, "order": words}))
        m.submodules.comparator = comparator = Comparator(width)
        joined, i, given = _Joined(register, width), self.i.payload, register.i.payload
        there, empty = (Signal(name=name) for name in ("there", "empty"))
        takes = self.i.valid & self.i.ready
        m.d.comb += [
            empty.eq(~i.valid.any()),       # an end alone has no operands
            there.eq(empty | ((self.operands.valid | ~ways.uses_operand)
                              & (self.order.valid | ~ways.ordered))),
            register.i.valid.eq(self.i.valid & there), self.i.ready.eq(register.i.ready & there),
            self.operands.ready.eq(takes & ways.uses_operand & ~empty),
            self.order.ready.eq(takes & ways.ordered & ~empty),
            given.beat.eq(i), given.order.eq(self.order.payload),
            comparator.compare.eq(r.command[8:11]), comparator.signed.eq(r.command[11]),
            comparator.reference.eq(r.reference),
            joined.holds.eq(comparator.holds | ~ways.compares.replicate(width)),
        ]
        for k in range(width):
            m.d.comb += [
                given.operands[k].eq(Mux(ways.uses_operand, self.operands.payload[k], 0)),
                joined.values[k].eq(joined.beat.elements[k] + Mux(ways.hashed | ways.streams, 0,
                                                                  joined.operands[k])),
                comparator.elements[k].eq(joined.values[k]),
            ]
        return joined

    def _ask(self, m, ways, joined):
        """To the Filtering/Grouping Unit: elements."""
        lookups = self.lookups.payload
        m.d.comb += [self.lookups.valid.eq(joined.stream.valid & ways.hashed),
                     lookups.valid.eq(joined.beat.valid), lookups.end.eq(joined.beat.end)]
        for k in range(self._width):
            m.d.comb += [lookups.elements[k].value.eq(joined.values[k]),
                         lookups.elements[k].cost.eq(joined.operands[k]),
                         lookups.elements[k].shown.eq(joined.holds[k])]

    def _pair(self, m, ways, joined, kept, pairs):
        """The elements of STREAM, or those that the Filtering/Grouping Unit keeps."""
        r, answer, paired = self.registers, self.answers.payload, pairs.i.payload
        m.d.comb += [pairs.start.eq(self.start),
                     pairs.values.eq(r.destination[2:]), pairs.costs.eq(r.costs[2:])]
        with m.If(ways.hashed):
            m.d.comb += [
                pairs.i.valid.eq(self.answers.valid & ways.streams),
                paired.valid.eq(kept), paired.end.eq(answer.end),
            ]
            for k in range(self._width):
                m.d.comb += paired.elements[k].eq(answer.elements[k].element)
        with m.Else():
            m.d.comb += [
                pairs.i.valid.eq(joined.stream.valid & ways.streams),
                paired.valid.eq(joined.beat.valid), paired.end.eq(joined.beat.end),
            ]
            for k in range(self._width):
                m.d.comb += [paired.elements[k].value.eq(joined.values[k]),
                             paired.elements[k].cost.eq(joined.operands[k])]
        connect(m, pairs.o_costs, flipped(self.o_costs))

    def _pack(self, m, ways, joined, kept, packer):
        """Bits, from the comparator or from the Filtering/Grouping Unit."""
        for way, condition, source, beat, bits in (
                (m.If, ways.filtered, self.answers, self.answers.payload, kept),
                (m.Elif, ways.packed, joined.stream, joined.beat, joined.holds)):
            with way(condition):
                m.d.comb += [
                    packer.i.valid.eq(source.valid),
                    packer.i.payload.valid.eq(beat.valid), packer.i.payload.end.eq(beat.end),
                    *(packer.i.payload.elements[k].eq(bits[k]) for k in range(self._width)),
                ]

    def _put_out(self, m, ways, packer, pairs, direct):
        """To the Data Store: elements, words of bits, or places."""
        o, word, place = self.o.payload, packer.o.payload, self.places.payload
        base = self.registers.destination[2:]
        words = Signal(30)
        with m.If(packer.o.valid & packer.o.ready):
            m.d.sync += words.eq(words + 1)
        with m.If(self.start):
            m.d.sync += words.eq(0)
        with m.If(ways.packed | ways.filtered):
            m.d.comb += [
                self.o.valid.eq(packer.o.valid), packer.o.ready.eq(self.o.ready),
                o.valid.eq(word.valid), o.end.eq(word.end),
                o.elements[0].place.eq(base + words), o.elements[0].value.eq(word.elements[0]),
            ]
        with m.Elif(ways.streams):
            connect(m, pairs.o, flipped(self.o))
        with m.Elif(ways.grouped):
            m.d.comb += [
                self.o.valid.eq(self.places.valid), self.places.ready.eq(self.o.ready),
                o.valid.eq(~place.end), o.end.eq(place.end),
                o.elements[0].place.eq(base + place.index), o.elements[0].value.eq(place.value),
            ]
        with m.Else():
            connect(m, direct.o, flipped(self.o))
        with m.If(ways.filtered):
            m.d.comb += self.answers.ready.eq(packer.i.ready)
        with m.Elif(ways.hashed & ways.streams):
            m.d.comb += self.answers.ready.eq(pairs.i.ready)

    def _count(self, m, ways, joined, passing, kept, paired):
        """The output elements of this cycle, and those among them that are 1."""
        answers, places, width = self.answers, self.places, self._width
        decided = Signal(width)
        placed = Signal()
        m.d.comb += [
            decided.eq(Mux(answers.valid & answers.ready, answers.payload.valid, 0)),
            placed.eq(places.valid & places.ready & ~places.payload.end),
        ]
        with m.If(ways.streams):
            m.d.comb += [self.stored.eq(paired),
                         self.ones.eq(Mux(ways.hashed, _ones(decided), paired))]
        with m.Elif(ways.hashed):
            m.d.comb += [self.stored.eq(Mux(ways.grouped, placed, _ones(decided))),
                         self.ones.eq(_ones(decided & kept))]
        with m.Elif(joined.stream.valid & joined.stream.ready):
            good = Mux(ways.packed, joined.beat.valid, passing)
            m.d.comb += [self.stored.eq(_ones(good)),
                         self.ones.eq(Mux(ways.compares, _ones(good & joined.holds), 0))]

    def _direct(self, m, ways, joined, direct):
        """Pass on words, or bits with a place each. Return the elements that are passed on."""
        config, width, r = self._config, self._width, self.registers
        beat, order, ordered = joined.beat, joined.order, ways.ordered
        used = ~ways.hashed & ~ways.packed & ~ways.streams
        number = Signal(30)             # number of the beat's first element
        ended = Signal()
        places = [Signal(30, name=f"place_{k}") for k in range(width)]
        bad = Signal(width)
        passing = Signal(width)
        for k in range(width):
            m.d.comb += [
                places[k].eq(r.destination[2:] + Mux(
                    ordered, Mux(self.bits, order[k] >> 5, order[k]), number + k)),
                bad[k].eq(beat.valid[k] & ordered & ~mapped(config, places[k])),
                direct.i.payload.elements[k].place.eq(places[k]),
                direct.i.payload.elements[k].bit.eq(order[k]),
                direct.i.payload.elements[k].value.eq(
                    Mux(self.bits, joined.holds[k], joined.values[k])),
            ]
        first = lowest(m, bad, name="first_bad")
        m.d.comb += [
            passing.eq(Mux(ended, 0, Mux(bad.any(), beat.valid & (first - 1), beat.valid))),
            direct.i.valid.eq(joined.stream.valid & used & ~ended),
            direct.i.payload.valid.eq(passing),
            direct.i.payload.end.eq(beat.end | bad.any()),
        ]
        with m.If(direct.i.valid & direct.i.ready):
            m.d.sync += [number.eq(number + width), ended.eq(direct.i.payload.end)]
            with m.If(bad.any()):
                m.d.sync += [
                    self.fault.error.eq(ScuError.UNMAPPED),
                    self.fault.address.eq(Cat(Const(0, 2), and_or(first, places))),
                ]
        with m.If(self.start):
            m.d.sync += [number.eq(0), ended.eq(0)]
        return passing
