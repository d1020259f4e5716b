"""The Filtering/Grouping Unit with its banks."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.memory.crossbar import Gather

from .beats import beat_layout
from .collect import Collect, judged_layout
from .dispatch import Dispatch
from .filter_group import FilterGroup
from .interface import TABLE_SLOTS, line_request_layout, line_response_layout
from .pairs import pair_layout
from .registers import ScuOutput, hash_set
from .serializer import numbered_layout


__all__ = ["FilterBanks", "answer_layout", "candidate_layout"]


#: Beats in the window of the dispatch.
_WINDOW = 2

#: Elements between dispatch and bank. A distributed memory (LUT RAM) has 16 words anyway.
_AHEAD = 16

#: Decisions of a bank that wait for those of other banks.
_DECISIONS = 16


def candidate_layout():
    """An element and its cost. ``shown`` is 0 for an element of BITMASK whose comparison does not
    hold."""
    return data.StructLayout({"value": 32, "cost": 32, "shown": 1})


def answer_layout():
    """An element and its cost, and whether the element is kept."""
    return judged_layout(pair_layout())


class FilterBanks(wiring.Component):
    """The Filtering/Grouping Unit: as many banks as elements of a beat.

    The lowest bits of the number of a line of the table give the bank of the line. So elements of
    one set come to one bank (:class:`~hw.scu.filter_group.FilterGroup`), in order, and the
    decisions do not depend on the other banks. GROUP uses bank 0 only.

    :class:`~hw.scu.dispatch.Dispatch` sends the elements of a filter to the banks.
    :class:`~hw.scu.collect.Collect` brings the decisions back into the order of the elements.

    Throughput: an element a cycle in each bank whose elements find their lines. All lines that are
    read or written take a cycle of ``request`` each.

    Half of ``scu_hash_bytes`` is for lines, a quarter for the queues of the banks, and a quarter
    for the elements whose decisions are awaited, at 8 bytes an element.

    Parameters
    ----------
    config : HardwareConfig
    width : int
        Elements of a beat, and number of banks; a power of two.

    Members
    -------
    start, mode, clear, address, sets_bits, ways_bits
        As for :class:`~hw.scu.filter_group.FilterGroup`.
    i : In(stream(beat_layout(candidate_layout)))
        The elements in packed beats.
    o : Out(stream(beat_layout(answer_layout)))
        Filters: the same beats with the decisions. The last beat is offered when the table is in
        memory and nothing is under way.
    places : Out(stream(numbered_layout))
        GROUP: ``value`` is the place of element ``index``, in the order of places. Then an end,
        offered when the table is in memory and nothing is under way.
    groups : Out(32)
        Number of groups since ``start``.
    request : Out(stream(line_request_layout))
        Reads and writes of whole lines. A read sees the writes before it.
    response : In(stream(line_response_layout))
        Lines that were read, in any order. Always ready.
    looked_up, found, fetched : Out(range(width + 1))
        Numbers of banks in which an element was looked up, was found, and a line of the table was
        requested in this cycle.
    """
    def __init__(self, config: HardwareConfig, width):
        self._config, self._width = config, width
        count = Out(range(width + 1))
        super().__init__({
            "start": In(1), "mode": In(2), "clear": In(1), "address": In(32),
            "sets_bits": In(5), "ways_bits": In(3),
            "i": In(stream.Signature(beat_layout(candidate_layout(), width))),
            "o": Out(stream.Signature(beat_layout(answer_layout(), width))),
            "places": Out(stream.Signature(numbered_layout())), "groups": Out(32),
            "request": Out(stream.Signature(line_request_layout(config))),
            "response": In(stream.Signature(line_response_layout(config))),
            "looked_up": count, "found": count, "fetched": count,
        })

    def elaborate(self, platform):
        m = Module()
        config, width = self._config, self._width
        room = config.scu_hash_bytes // 2
        slots = min(1 << (room // config.line_bytes).bit_length() - 1, TABLE_SLOTS) // width
        depth = room // 16 // width
        element = data.StructLayout({"value": 32, "cost": 32, "shown": 1, "number": 5})
        m.submodules.dispatch = dispatch = Dispatch(element, width, width,
                                                    window=min(width, _WINDOW))
        m.submodules.collect = collect = Collect(pair_layout(), width, width, depth=depth,
                                                 decisions=_DECISIONS)
        m.submodules.requests = requests = Gather(line_request_layout(config), width)
        connect(m, collect.o, flipped(self.o))
        connect(m, requests.o, flipped(self.request))

        group = Signal()
        number = Signal(5)                  # number of the beat's first element
        m.d.comb += [
            group.eq(self.mode == ScuOutput.GROUP),
            dispatch.enable.eq(Mux(group, 1, -1)),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += number.eq(number + width)
        with m.If(self.start):
            m.d.sync += number.eq(0)

        # Dispatch and Collect take the same beats. Collect takes those of filters only.
        i, sent, awaited = self.i.payload, dispatch.i.payload, collect.i.payload
        m.d.comb += [
            self.i.ready.eq(dispatch.i.ready & (collect.i.ready | group)),
            dispatch.i.valid.eq(self.i.valid & (collect.i.ready | group)),
            collect.i.valid.eq(self.i.valid & dispatch.i.ready & ~group),
            sent.valid.eq(i.valid), sent.end.eq(i.end),
            awaited.valid.eq(i.valid), awaited.end.eq(i.end),
        ]
        for k in range(width):
            bank = self._bank(m, i.elements[k].value, k)
            m.d.comb += [
                sent.elements[k].bank.eq(Mux(group, 0, bank)),
                sent.elements[k].element.value.eq(i.elements[k].value),
                sent.elements[k].element.cost.eq(i.elements[k].cost),
                sent.elements[k].element.shown.eq(i.elements[k].shown),
                sent.elements[k].element.number.eq(number + k),
                awaited.elements[k].bank.eq(bank),
                awaited.elements[k].element.value.eq(i.elements[k].value),
                awaited.elements[k].element.cost.eq(i.elements[k].cost),
            ]

        banks = []
        for k in range(width):
            bank = FilterGroup(config, slots=slots, depth=depth, bank=k, banks=width)
            m.submodules[f"bank_{k}"] = bank
            banks.append(bank)
            layout = dispatch.o[k].payload.shape()
            m.submodules[f"ahead_{k}"] = ahead = SyncFIFO(width=layout.size, depth=_AHEAD)
            first = data.View(layout, ahead.r_data)
            decision = collect.decisions[k]
            m.d.comb += [
                bank.start.eq(self.start & dispatch.enable[k]), bank.mode.eq(self.mode),
                bank.clear.eq(self.clear), bank.address.eq(self.address),
                bank.sets_bits.eq(self.sets_bits), bank.ways_bits.eq(self.ways_bits),
                ahead.w_data.eq(dispatch.o[k].payload), ahead.w_en.eq(dispatch.o[k].valid),
                dispatch.o[k].ready.eq(ahead.w_rdy),
                bank.i.valid.eq(ahead.r_rdy), ahead.r_en.eq(bank.i.ready),
                bank.i.payload.end.eq(first.end),
                *(bank.i.payload[name].eq(first.element[name])
                  for name in ("value", "cost", "shown", "number")),
                decision.valid.eq(bank.o.valid & ~bank.o.payload.end & ~group),
                decision.payload.eq(bank.o.payload.value[0]),
                bank.o.ready.eq(Mux(bank.o.payload.end, collect.leaves, decision.ready)),
            ]
            # The highest bits of a slot name the bank.
            asked = bank.request.payload
            m.d.comb += [
                requests.i[k].valid.eq(bank.request.valid),
                bank.request.ready.eq(requests.i[k].ready),
                requests.i[k].payload.eq(asked),
                requests.i[k].payload.slot.eq(asked.slot | k * slots),
                bank.response.valid.eq(
                    self.response.valid & (self.response.payload.slot >> ceil_log2(slots) == k)),
                bank.response.payload.slot.eq(self.response.payload.slot & slots - 1),
                bank.response.payload.data.eq(self.response.payload.data),
            ]
        places = Signal()
        m.d.comb += [
            self.response.ready.eq(1),
            # The end waits for the last write.
            collect.ended.eq(Cat(bank.o.valid & bank.o.payload.end for bank in banks).all()
                             & ~requests.o.valid),
            places.eq(group & ~(banks[0].o.payload.end & requests.o.valid)),
            self.places.valid.eq(banks[0].o.valid & places),
            self.places.payload.eq(banks[0].o.payload),
            self.groups.eq(banks[0].groups),
        ]
        with m.If(group):
            m.d.comb += banks[0].o.ready.eq(self.places.ready & places)
        for name in ("looked_up", "found", "fetched"):
            m.d.comb += getattr(self, name).eq(sum(getattr(bank, name) for bank in banks))
        return m

    def _bank(self, m, value, k):
        """The bank of an element's set, whose number decides on the number of the line."""
        words, banks = ceil_log2(self._config.line_words), ceil_log2(self._width)
        bits = words + banks
        number = Signal(bits, name=f"set_{k}")
        sets = Signal(bits, name=f"sets_{k}")           # number of sets - 1
        line = Signal(bits, name=f"line_{k}")
        entry = Signal(1, name=f"entry_{k}")            # log2 of the words of an entry
        m.d.comb += [
            entry.eq(self.mode == ScuOutput.FILTER_BEST),
            sets.eq(~(((1 << bits) - 1) << self.sets_bits)),
            number.eq(hash_set(value, 1 << bits) & sets),
            line.eq(number << self.ways_bits + entry >> words),
        ]
        return line[:banks] if banks else Const(0)
