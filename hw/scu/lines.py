"""The lines of the hash table that are under way or held: the coalescing unit of the filters."""

from amaranth.hdl import Assert, Cat, Module, Mux, ResetSignal, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.bits import RoundRobin, encode, index_bits
from hw.config import HardwareConfig
from hw.memory.port import line_layout
from hw.streams import check_stream

from .interface import SLOTS, line_request_layout, line_response_layout


__all__ = ["TableLines"]


class TableLines(wiring.Component):
    """A small write-back cache that knows which of its lines are still needed.

    Elements *enter* in the order of the stream. An entering element looks up the line of its set.
    The element joins the slot that has the line, or takes a slot without references and requests
    the line. Later the elements come back in the same order. Each element finds its line in the
    slot, may change words of the line, and *releases* the slot. From entering to releasing an
    element refers to its slot, and the slot keeps its line.

    Elements are counted as they enter and as they release. For each slot, a memory keeps the number
    of the element that entered last. When this element releases the slot, no reference is left. So
    no slot needs a counter.

    If the line of a slot that is taken was changed, the line is written back first. The slot to
    take next is chosen ahead, round-robin. If an element joins this slot, another slot is chosen.

    Throughput: an element enters each cycle if its line is held or under way. Otherwise the element
    takes a cycle of ``request``, or two with a write-back. One element is read and one released
    each cycle. There are two exceptions: no read while a line is written back, and no write while a
    line arrives.

    Parameters
    ----------
    config : HardwareConfig
    slots : int
        Lines at a time, a power of two.
    elements : int
        Maximum number of elements that refer to slots at a time.
    under_way : int
        Maximum number of lines under way.

    Members
    -------
    line : In(32 - line_bits)
        Number of a line.
    look_up : In(1)
        An element with a set in ``line`` wants to enter.
    blank : In(1)
        Write ``line`` full of ones, instead of a look-up. Only while no line is held.
    granted : Out(1)
        The element enters, or the write of ``blank`` is accepted, in this cycle.
    slot : Out(index_bits(slots))
        The slot that the element refers to from now on.
    fetched : Out(1)
        ``line`` is requested in this cycle.
    read_slot : In(index_bits(slots))
        The slot of an element that has entered.
    readable : Out(1)
        The line of ``read_slot`` has arrived and can be read in this cycle.
    read_line : Out(line_layout)
        The line of ``read_slot``, with the words that are written in this cycle.
    write_slot : In(index_bits(slots))
        The slot of the oldest element that has not released its slot.
    release : In(1)
        This element releases its slot.
    write_words : In(line_words)
        Words of the line that the element changes. Only while ``writable``.
    write_line : In(line_layout)
        New values of these words.
    writable : Out(1)
        No line arrives in this cycle.
    flush : In(1)
        Write changed lines back. Only while no element refers to a slot or wants to enter.
    clean : Out(1)
        No line is changed.
    forget : In(1)
        Hold no line any more. Only while no element refers to a slot, and ``clean``.
    idle : Out(1)
        ``request`` has accepted every write.
    request : Out(stream(line_request_layout))
        Reads and writes of whole lines. A read sees the writes before it.
    response : In(stream(line_response_layout))
        Answers to reads, in any order. Always ready.
    """
    def __init__(self, config: HardwareConfig, *, slots, elements, under_way=SLOTS):
        self._config = config
        self._slots = slots
        self._elements = elements
        self._under_way = under_way
        slot, line = index_bits(slots), line_layout(config)
        super().__init__({
            "line": In(32 - config.line_bits), "look_up": In(1), "blank": In(1),
            "granted": Out(1), "slot": Out(slot), "fetched": Out(1),
            "read_slot": In(slot), "readable": Out(1), "read_line": Out(line),
            "write_slot": In(slot), "release": In(1), "write_words": In(config.line_words),
            "write_line": In(line), "writable": Out(1),
            "flush": In(1), "clean": Out(1), "forget": In(1), "idle": Out(1),
            "request": Out(stream.Signature(line_request_layout(config))),
            "response": In(stream.Signature(line_response_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        config, slots = self._config, self._slots
        request, response = self.request, self.response

        held = Signal(slots)                # the slot has a line, arrived or under way
        arrived = Signal(slots)             # the line has arrived
        changed = Signal(slots)             # the line differs from the memory
        referred = Signal(slots)            # an element refers to the slot
        lines = [Signal(32 - config.line_bits, name=f"line_{i}", reset_less=True)
                 for i in range(slots)]

        # Look-up, and the requests it makes.
        matches = Signal(slots)
        hit = Signal()
        misses = Signal()
        room = Signal()
        victim = Signal(slots)              # one-hot: the slot to take next; 0 before the first
        suitable = Signal()
        stale = Signal()
        stores = Signal()
        fetches = Signal()
        enters = Signal()
        crowded = Signal()                  # no more lines may be under way
        wanted = Mux(self.flush, changed, ~referred)
        m.d.comb += [
            matches.eq(Cat(held[i] & (lines[i] == self.line) for i in range(slots))),
            hit.eq(matches.any()),
            misses.eq(self.look_up & ~hit),
            room.eq(~request.valid | request.ready),
            suitable.eq((wanted & victim).any()),
            stale.eq((changed & victim).any()),
            stores.eq((misses | self.flush) & suitable & stale & room),
            fetches.eq(misses & suitable & ~stale & room & ~crowded),
            enters.eq(self.look_up & (hit | fetches)),
            self.granted.eq(enters | (self.blank & room)),
            self.slot.eq(encode(Mux(hit, matches, victim), index_bits(slots))),
            self.fetched.eq(fetches),
        ]
        if slots > self._under_way:
            under_way = Signal(range(self._under_way + 1))
            m.d.comb += crowded.eq(under_way == self._under_way)
            m.d.sync += under_way.eq(under_way + fetches - response.valid)
        m.submodules.choice = choice = RoundRobin(slots)
        m.d.comb += [
            # The slot that is taken now may be among the requests, but its turn is the last.
            choice.requests.eq(wanted),
            choice.advance.eq(~suitable | fetches | (stores & self.flush)),
        ]
        with m.If(choice.advance):
            m.d.sync += victim.eq(choice.grant)
        for i in range(slots):
            with m.If(fetches & victim[i]):
                m.d.sync += lines[i].eq(self.line)

        # References of elements to slots.
        count_bits = index_bits(self._elements + 1)
        entered = Signal(count_bits)        # number of the next element to enter
        released = Signal(count_bits)       # number of the next element to release its slot
        m.submodules.last = last = Memory(shape=count_bits, depth=slots, init=[])
        last_write, last_read = last.write_port(), last.read_port(domain="comb")
        slot_entered = Signal(slots)
        slot_left = Signal(slots)
        slot_written = Signal(slots)
        m.d.comb += [
            last_write.addr.eq(self.slot), last_write.data.eq(entered), last_write.en.eq(enters),
            last_read.addr.eq(self.write_slot),
            slot_entered.eq(Mux(enters, 1 << self.slot, 0)),
            slot_left.eq(Mux(self.release & (last_read.data == released),
                             1 << self.write_slot, 0)),
            slot_written.eq(Mux(self.release & self.write_words.any(), 1 << self.write_slot, 0)),
        ]
        m.d.sync += [
            entered.eq(entered + enters), released.eq(released + self.release),
            referred.eq(referred & ~slot_left | slot_entered),
        ]

        # The lines themselves. In a cycle one line is read and one is written.
        m.submodules.storage = storage = Memory(shape=line_layout(config), depth=slots, init=[])
        write, read = storage.write_port(granularity=1), storage.read_port(domain="comb")
        victim_slot = encode(victim, index_bits(slots))
        same = self.release & (self.write_slot == self.read_slot)
        m.d.comb += [
            response.ready.eq(1),
            self.writable.eq(~response.valid),
            write.addr.eq(Mux(response.valid, response.payload.slot, self.write_slot)),
            write.data.eq(Mux(response.valid, response.payload.data.as_value(),
                              self.write_line.as_value())),
            write.en.eq(Mux(response.valid, (1 << config.line_words) - 1,
                            Mux(self.release, self.write_words, 0))),
            read.addr.eq(Mux(stores, victim_slot, self.read_slot)),
            self.readable.eq((arrived & (1 << self.read_slot)).any() & ~stores),
        ]
        for i in range(config.line_words):
            m.d.comb += self.read_line[i].eq(
                Mux(same & self.write_words[i], self.write_line[i], read.data[i]))
        came = Mux(response.valid, 1 << response.payload.slot, 0)
        m.d.sync += [
            held.eq(Mux(self.forget, 0, held | Mux(fetches, victim, 0))),
            arrived.eq(arrived & ~Mux(fetches, victim, 0) | came),
            changed.eq(changed & ~Mux(stores, victim, 0) | slot_written),
        ]

        # A second copy of the lines' numbers: reading one number from a memory is cheaper.
        m.submodules.numbers = numbers = Memory(shape=len(self.line), depth=slots, init=[])
        number_write, number_read = numbers.write_port(), numbers.read_port(domain="comb")
        m.d.comb += [
            number_write.addr.eq(victim_slot), number_write.data.eq(self.line),
            number_write.en.eq(fetches), number_read.addr.eq(victim_slot),
            self.clean.eq(~changed.any()), self.idle.eq(~request.valid),
            request.payload.mask.eq((1 << config.line_bytes) - 1),
        ]
        asked = request.payload
        with m.If(room):
            m.d.sync += [
                request.valid.eq(stores | fetches | self.blank),
                asked.write.eq(~fetches),
                asked.line.eq(Mux(stores, number_read.data, self.line)),
                asked.slot.eq(victim_slot),
            ]
            with m.If(stores | self.blank):
                m.d.sync += asked.data.eq(Mux(self.blank, -1, read.data.as_value()))

        with m.If(~ResetSignal()):
            m.d.sync += [
                Assert((matches & (matches - 1)) == 0, "a line in two slots"),
                Assert((victim & (victim - 1)) == 0, "two slots are taken at once"),
                Assert(~response.valid | (came & held & ~arrived).any(),
                       "a line comes that nobody asked for"),
                Assert(~self.release | (referred & 1 << self.write_slot).any(),
                       "a slot is released that nobody refers to"),
                Assert(~(self.release & self.write_words.any() & response.valid),
                       "a line is changed while another comes"),
                Assert((changed & ~arrived) == 0, "a line is changed before it comes"),
                Assert((referred & ~held) == 0, "somebody refers to a slot without a line"),
                Assert(~(self.flush | self.forget | self.blank)
                       | ~(referred.any() | self.look_up), "there are elements left"),
                Assert(~self.forget | self.clean, "a changed line is forgotten"),
                Assert(~self.blank | ~held.any(), "lines are held of a table that is emptied"),
            ]
        check_stream(m, request, name="request")
        return m
