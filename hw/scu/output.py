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
        width, r = self._width, self.registers
        operation, output = r.command[:3], r.command[4:6]
        hashed = Signal()
        compares = Signal()
        grouped = Signal()
        uses_operand = Signal()
        ordered = Signal()
        streams = Signal()
        m.d.comb += [
            streams.eq(operation == ScuOperation.STREAM),
            hashed.eq(output != ScuOutput.DATA), grouped.eq(output == ScuOutput.GROUP),
            compares.eq(operation == ScuOperation.BITMASK),
            uses_operand.eq((r.operand != 0) | streams), ordered.eq(r.order != 0),
            self.bits.eq(compares & ordered),
        ]

        # Each word with its operand and its place.
        joined_shape = data.StructLayout({"beat": beat_layout(32, width),
                                          "operands": data.ArrayLayout(32, width),
                                          "order": data.ArrayLayout(32, width)})
        m.submodules.joined = joined = StreamRegister(joined_shape)
        i = self.i.payload
        there = Signal()
        empty = Signal()
        m.d.comb += [
            empty.eq(~i.valid.any()),       # an end alone has no operands
            there.eq(empty | ((self.operands.valid | ~uses_operand)
                              & (self.order.valid | ~ordered))),
            joined.i.valid.eq(self.i.valid & there), self.i.ready.eq(joined.i.ready & there),
            self.operands.ready.eq(self.i.valid & self.i.ready & uses_operand & ~empty),
            self.order.ready.eq(self.i.valid & self.i.ready & ordered & ~empty),
            joined.i.payload.beat.eq(i), joined.i.payload.order.eq(self.order.payload),
        ]
        for k in range(width):
            m.d.comb += joined.i.payload.operands[k].eq(
                Mux(uses_operand, self.operands.payload[k], 0))
        beat = joined.o.payload.beat
        m.submodules.comparator = comparator = Comparator(width)
        values = [Signal(32, name=f"value_{k}") for k in range(width)]
        holds = Signal(width)
        m.d.comb += [
            comparator.compare.eq(r.command[8:11]), comparator.signed.eq(r.command[11]),
            comparator.reference.eq(r.reference),
            holds.eq(comparator.holds | ~compares.replicate(width)),
        ]
        for k in range(width):
            m.d.comb += [
                values[k].eq(beat.elements[k]
                             + Mux(hashed | streams, 0, joined.o.payload.operands[k])),
                comparator.elements[k].eq(values[k]),
            ]

        m.submodules.direct = direct = StreamRegister(self.o.payload.shape())
        m.submodules.packer = packer = BitPacker(width)
        m.submodules.pairs = pairs = PairPlaces(width)
        packed = compares & ~ordered & ~hashed
        takes = Signal()
        m.d.comb += [
            joined.o.ready.eq(Mux(hashed, self.lookups.ready,
                                  Mux(packed, packer.i.ready,
                                      Mux(streams, pairs.i.ready, direct.i.ready)))),
            takes.eq(joined.o.valid & joined.o.ready & ~hashed),
            self.lookups.valid.eq(joined.o.valid & hashed),
            self.lookups.payload.valid.eq(beat.valid), self.lookups.payload.end.eq(beat.end),
        ]
        for k in range(width):
            m.d.comb += [
                self.lookups.payload.elements[k].value.eq(values[k]),
                self.lookups.payload.elements[k].cost.eq(joined.o.payload.operands[k]),
                self.lookups.payload.elements[k].shown.eq(holds[k]),
            ]

        passing = self._direct(m, joined, direct, values, holds, ordered,
                               ~hashed & ~packed & ~streams)

        # Bits, from the comparator or from the Filtering/Grouping Unit.
        answer, place = self.answers.payload, self.places.payload
        filtered = hashed & ~grouped & ~streams
        decided = Signal(width)
        kept = Signal(width)
        placed = Signal()
        m.d.comb += [
            decided.eq(Mux(self.answers.valid & self.answers.ready, answer.valid, 0)),
            kept.eq(answer.valid & Cat(answer.elements[k].kept for k in range(width))),
            placed.eq(self.places.valid & self.places.ready & ~place.end),
        ]

        # The elements of STREAM, or those that the Filtering/Grouping Unit keeps.
        m.d.comb += [
            pairs.start.eq(self.start),
            pairs.values.eq(r.destination[2:]), pairs.costs.eq(r.costs[2:]),
        ]
        with m.If(hashed):
            m.d.comb += [
                pairs.i.valid.eq(self.answers.valid & streams),
                pairs.i.payload.valid.eq(kept), pairs.i.payload.end.eq(answer.end),
            ]
            for k in range(width):
                m.d.comb += pairs.i.payload.elements[k].eq(answer.elements[k].element)
        with m.Else():
            m.d.comb += [
                pairs.i.valid.eq(joined.o.valid & streams),
                pairs.i.payload.valid.eq(beat.valid), pairs.i.payload.end.eq(beat.end),
            ]
            for k in range(width):
                m.d.comb += [
                    pairs.i.payload.elements[k].value.eq(values[k]),
                    pairs.i.payload.elements[k].cost.eq(joined.o.payload.operands[k]),
                ]
        connect(m, pairs.o_costs, flipped(self.o_costs))
        with m.If(filtered):
            m.d.comb += [
                packer.i.valid.eq(self.answers.valid),
                packer.i.payload.valid.eq(answer.valid), packer.i.payload.end.eq(answer.end),
            ]
            m.d.comb += [packer.i.payload.elements[k].eq(kept[k]) for k in range(width)]
        with m.Elif(packed):
            m.d.comb += [packer.i.valid.eq(joined.o.valid),
                         packer.i.payload.valid.eq(beat.valid),
                         packer.i.payload.end.eq(beat.end)]
            m.d.comb += [packer.i.payload.elements[k].eq(holds[k]) for k in range(width)]

        # To the Data Store: elements, words of bits, or places.
        o, word = self.o.payload, packer.o.payload
        words = Signal(30)
        with m.If(packer.o.valid & packer.o.ready):
            m.d.sync += words.eq(words + 1)
        with m.If(packed | filtered):
            m.d.comb += [
                self.o.valid.eq(packer.o.valid), packer.o.ready.eq(self.o.ready),
                o.valid.eq(word.valid), o.end.eq(word.end),
                o.elements[0].place.eq(r.destination[2:] + words),
                o.elements[0].value.eq(word.elements[0]),
            ]
        with m.Elif(streams):
            m.d.comb += [self.o.valid.eq(pairs.o.valid), pairs.o.ready.eq(self.o.ready),
                         o.eq(pairs.o.payload)]
        with m.Elif(grouped):
            m.d.comb += [
                self.o.valid.eq(self.places.valid), self.places.ready.eq(self.o.ready),
                o.valid.eq(~place.end), o.end.eq(place.end),
                o.elements[0].place.eq(r.destination[2:] + place.index),
                o.elements[0].value.eq(place.value),
            ]
        with m.Else():
            m.d.comb += [self.o.valid.eq(direct.o.valid), direct.o.ready.eq(self.o.ready),
                         o.eq(direct.o.payload)]
        with m.If(filtered):
            m.d.comb += self.answers.ready.eq(packer.i.ready)
        with m.Elif(hashed & streams):
            m.d.comb += self.answers.ready.eq(pairs.i.ready)

        with m.If(streams):
            m.d.comb += [
                self.stored.eq(pairs.passing),
                self.ones.eq(Mux(hashed, _ones(decided), pairs.passing)),
            ]
        with m.Elif(hashed):
            m.d.comb += [self.stored.eq(Mux(grouped, placed, _ones(decided))),
                         self.ones.eq(_ones(decided & kept))]
        with m.Elif(takes):
            good = Mux(packed, beat.valid, passing)
            m.d.comb += [
                self.stored.eq(_ones(good)),
                self.ones.eq(Mux(compares, _ones(good & holds), 0)),
            ]
        with m.If(self.start):
            m.d.sync += [words.eq(0), self.fault.eq(0)]
        return m

    def _direct(self, m, joined, direct, values, holds, ordered, used):
        """Pass on words, or bits with a place each. Return the elements that are passed on."""
        config, width, r = self._config, self._width, self.registers
        beat, order = joined.o.payload.beat, joined.o.payload.order
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
                direct.i.payload.elements[k].value.eq(Mux(self.bits, holds[k], values[k])),
            ]
        first = lowest(m, bad, name="first_bad")
        m.d.comb += [
            passing.eq(Mux(ended, 0, Mux(bad.any(), beat.valid & (first - 1), beat.valid))),
            direct.i.valid.eq(joined.o.valid & used & ~ended),
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
