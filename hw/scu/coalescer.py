"""The coalescing unit of the Data Fetch: elements in one line are read with one request.

The *window* holds the last four requests. An element whose line is in the window joins that
request, answered or not. Otherwise the line is requested, with a slot of its own. So nothing
depends on when answers come. The rows of a graph are consecutive words, and are read a line at a
time.

**Slots** are allocated in turn and freed in turn. The oldest slot is freed when it has left the
window and the last beat that reads it has been taken from the queue behind. Each place in the
window keeps the number of this beat, and whether the beat has been taken. When a slot leaves the
window, both go to the queue ``leaving``, which holds all slots outside the window in their order.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import and_or, lowest
from hw.config import HardwareConfig

from .beats import beat_layout
from .interface import SLOTS, read_layout


__all__ = ["WINDOW", "CoalescingUnit", "place_layout"]


#: Requests that an element may join (Segura et al., table 1).
WINDOW = 4


def place_layout(config: HardwareConfig):
    """Location of an element: its slot, and its word in the line of the slot."""
    return data.StructLayout({"slot": ceil_log2(SLOTS), "word": ceil_log2(config.line_words)})


class CoalescingUnit(wiring.Component):
    """The coalescing unit.

    Latency: a beat leaves one cycle after the last of its lines was requested. Throughput: a
    beat a cycle. A beat with several lines outside the window takes a cycle for each such line.

    Parameters
    ----------
    config : HardwareConfig
    width : int
        Elements of a beat.
    beats : int
        Maximum number of beats between ``o`` and ``taken``.
    slots : int
        Lines that can be under way or in use, a power of two of at most :data:`SLOTS`.
    window : int
        Requests that an element may join.

    Members
    -------
    i : In(stream(beat_layout(30)))
        Packed beats of words, numbered from address 0 on.
    o : Out(stream(beat_layout(place_layout)))
        The same beats, with the location of each element.
    taken : In(1)
        A beat has been read from its slots. Beats are taken in order, at most one a cycle.
    read : Out(stream(read_layout))
        Requests of lines.
    """
    def __init__(self, config: HardwareConfig, width, beats, *, slots=SLOTS, window=WINDOW):
        self._config, self._width, self._beats = config, width, beats
        self._slots, self._window = slots, window
        super().__init__({
            "i": In(stream.Signature(beat_layout(30, width))),
            "o": Out(stream.Signature(beat_layout(place_layout(config), width))),
            "taken": In(1),
            "read": Out(stream.Signature(read_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        config, width = self._config, self._width
        word_bits = ceil_log2(config.line_words)
        slot_bits = ceil_log2(self._slots)
        # The difference of two beat numbers tells which beat is earlier. The turn of a slot to
        # leave may come long after its last reader was taken. The time is limited: the last reader
        # of the oldest slot is at most the newest beat, and then a slot leaves in each cycle.
        number_bits = ceil_log2(self._beats + self._slots + 5) + 1
        number = Signal(number_bits)
        next_taken = Signal(number_bits)

        entry = data.StructLayout({
            "valid": 1, "line": 30 - word_bits, "slot": slot_bits,
            "last": number_bits, "gone": 1})
        window = [Signal(entry, name=f"window_{w}")
                  for w in range(self._window)]     # 0: the newest

        i, o = self.i.payload, self.o.payload
        lines = [i.elements[k][word_bits:] for k in range(width)]
        settled = Signal(width)         # elements whose lines were requested in an earlier cycle
        slots = [Signal(slot_bits, name=f"slot_{k}", reset_less=True) for k in range(width)]

        # Elements whose line is in the window, and the line of the first element outside it.
        hits = [Signal(self._window, name=f"hits_{k}") for k in range(width)]
        open_ = Signal(width)
        missing = Signal(width)
        m.d.comb += open_.eq(Mux(self.i.valid, i.valid & ~settled, 0))
        for k in range(width):
            m.d.comb += [
                hits[k].eq(Cat(w.valid & (w.line == lines[k]) for w in window)),
                missing[k].eq(open_[k] & ~hits[k].any()),
            ]
        first = lowest(m, missing, name="first_missing")
        line = Signal(30 - word_bits)
        joins = Signal(width)           # elements of the line that is requested now
        next_slot = Signal(slot_bits)
        free = Signal(range(self._slots + 1), init=self._slots)
        asks = Signal()
        finishes = Signal()
        m.d.comb += [
            line.eq(and_or(first, lines)),
            joins.eq(Cat(missing[k] & (lines[k] == line) for k in range(width))),
            self.read.payload.line.eq(line), self.read.payload.slot.eq(next_slot),
        ]
        # A beat goes on in the cycle in which the last of its lines is requested.
        room = Signal()
        rest = Signal()
        m.d.comb += [
            room.eq(~self.o.valid | self.o.ready),
            rest.eq((missing & ~joins).any()),
            self.read.valid.eq(missing.any() & (free != 0)),
            asks.eq(self.read.valid & self.read.ready),
            finishes.eq(self.i.valid & room & ~rest & (~missing.any() | asks)),
            self.i.ready.eq(finishes),
        ]
        with m.If(room):
            m.d.sync += [self.o.valid.eq(finishes), o.valid.eq(i.valid), o.end.eq(i.end)]
        for k in range(width):
            found = Signal(slot_bits, name=f"found_{k}")
            m.d.comb += [
                found.eq(Mux(settled[k], slots[k],
                             Mux(joins[k], next_slot, and_or(hits[k], [w.slot for w in window])))),
            ]
            m.d.sync += slots[k].eq(found)
            with m.If(room):
                m.d.sync += [o.elements[k].slot.eq(found),
                             o.elements[k].word.eq(i.elements[k][:word_bits])]
        with m.If(finishes):
            m.d.sync += [settled.eq(0), number.eq(number + 1)]
        with m.Elif(self.i.valid):
            m.d.sync += settled.eq(settled | (open_ & ~missing) | Mux(asks, joins, 0))

        # The window moves on when a line is requested. A beat that reads a line leaves its number.
        def taken(last):
            """Whether the beat of this number has been taken."""
            return ~(next_taken - last - 1)[:number_bits][-1]

        left = data.StructLayout({"last": number_bits, "gone": 1})
        m.submodules.leaving = leaving = fifo.SyncFIFO(width=left.size, depth=self._slots)
        stamped = [Signal(entry, name=f"stamped_{w}") for w in range(self._window)]
        for w in range(self._window):
            used = Signal(name=f"used_{w}")
            m.d.comb += [
                used.eq(Cat(open_[k] & hits[k][w] for k in range(width)).any()),
                stamped[w].eq(window[w]),
                stamped[w].last.eq(Mux(used, number, window[w].last)),
                stamped[w].gone.eq(~used & (window[w].gone | taken(window[w].last))),
            ]
            m.d.sync += window[w].eq(stamped[w])
        with m.If(asks):
            m.d.sync += [window[w].eq(stamped[w - 1]) for w in range(1, self._window)]
            m.d.sync += [
                window[0].valid.eq(1), window[0].line.eq(line), window[0].slot.eq(next_slot),
                window[0].last.eq(number), window[0].gone.eq(0), next_slot.eq(next_slot + 1),
            ]
        oldest = data.View(left, leaving.r_data)
        m.d.comb += [
            leaving.w_en.eq(asks & window[-1].valid),
            leaving.w_data.eq(Cat(stamped[-1].last, stamped[-1].gone)),
            leaving.r_en.eq(leaving.r_rdy & (oldest.gone | taken(oldest.last))),
        ]
        m.d.sync += [
            next_taken.eq(next_taken + self.taken),
            free.eq(free - asks + leaving.r_en),
        ]
        m.d.sync += Assert(~leaving.w_en | leaving.w_rdy, "more slots leave than there are")
        return m
