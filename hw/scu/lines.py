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


class _Slots:
    """The slots. Each signal has a bit for each slot.

    ``held``: the slot has a line, ``arrived`` or under way. ``changed``: the line differs from the
    memory. ``referred``: an element refers to the slot. ``victim``, one-hot: the slot to take next;
    0 before the first.
    """
    def __init__(self, slots):
        self.held, self.arrived, self.changed, self.referred, self.victim = (
            Signal(slots, name=name)
            for name in ("held", "arrived", "changed", "referred", "victim"))


class _LookUp:
    """The actions of a look-up in this cycle."""
    def __init__(self, slots):
        self.matches = Signal(slots, name="matches")
        self.stores = Signal(name="stores")         # the victim's line is written back
        self.fetches = Signal(name="fetches")       # the victim takes the line
        self.enters = Signal(name="enters")         # the element refers to the slot from now on
        self.room = Signal(name="room")             # ``request`` can take a request


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
        slots = _Slots(self._slots)
        found = self._look_up(m, slots)
        self._refer(m, slots, found)
        read_data, came = self._store_lines(m, slots, found)
        self._ask(m, slots, found, read_data)
        self._check(m, slots, found, came)
        return m

    def _look_up(self, m, slots):
        """Look a line up, and choose the slot to take if it is missing."""
        request, victim, numbers = self.request, slots.victim, range(self._slots)
        found = _LookUp(self._slots)
        lines = [Signal(len(self.line), name=f"line_{i}", reset_less=True) for i in numbers]
        hit = Signal()
        misses = Signal()
        suitable = Signal()
        stale = Signal()
        crowded = Signal()                  # no more lines may be under way
        wanted = Mux(self.flush, slots.changed, ~slots.referred)
        m.d.comb += [
            found.matches.eq(Cat(slots.held[i] & (lines[i] == self.line) for i in numbers)),
            hit.eq(found.matches.any()),
            misses.eq(self.look_up & ~hit),
            found.room.eq(~request.valid | request.ready),
            suitable.eq((wanted & victim).any()),
            stale.eq((slots.changed & victim).any()),
            found.stores.eq((misses | self.flush) & suitable & stale & found.room),
            found.fetches.eq(misses & suitable & ~stale & found.room & ~crowded),
            found.enters.eq(self.look_up & (hit | found.fetches)),
            self.granted.eq(found.enters | (self.blank & found.room)),
            self.slot.eq(encode(Mux(hit, found.matches, victim), index_bits(self._slots))),
            self.fetched.eq(found.fetches),
        ]
        if self._slots > self._under_way:
            under_way = Signal(range(self._under_way + 1))
            m.d.comb += crowded.eq(under_way == self._under_way)
            m.d.sync += under_way.eq(under_way + found.fetches - self.response.valid)
        m.submodules.choice = choice = RoundRobin(self._slots)
        m.d.comb += [
            # The slot that is taken now may be among the requests, but its turn is the last.
            choice.requests.eq(wanted),
            choice.advance.eq(~suitable | found.fetches | (found.stores & self.flush)),
        ]
        with m.If(choice.advance):
            m.d.sync += victim.eq(choice.grant)
        for i in numbers:
            with m.If(found.fetches & victim[i]):
                m.d.sync += lines[i].eq(self.line)
        return found

    def _refer(self, m, slots, found):
        """References of elements to slots."""
        count_bits = index_bits(self._elements + 1)
        entered = Signal(count_bits)        # number of the next element to enter
        released = Signal(count_bits)       # number of the next element to release its slot
        m.submodules.last = last = Memory(shape=count_bits, depth=self._slots, init=[])
        last_write, last_read = last.write_port(), last.read_port(domain="comb")
        slot_entered = Signal(self._slots)
        slot_left = Signal(self._slots)
        m.d.comb += [
            last_write.addr.eq(self.slot), last_write.data.eq(entered),
            last_write.en.eq(found.enters), last_read.addr.eq(self.write_slot),
            slot_entered.eq(Mux(found.enters, 1 << self.slot, 0)),
            slot_left.eq(Mux(self.release & (last_read.data == released),
                             1 << self.write_slot, 0)),
        ]
        m.d.sync += [
            entered.eq(entered + found.enters), released.eq(released + self.release),
            slots.referred.eq(slots.referred & ~slot_left | slot_entered),
        ]

    def _store_lines(self, m, slots, found):
        """The lines themselves: in a cycle one is read and one is written. Returns the line that is
        read, and the slot whose line comes, one-hot."""
        config, response, victim = self._config, self.response, slots.victim
        m.submodules.storage = storage = Memory(shape=line_layout(config), depth=self._slots,
                                                init=[])
        write, read = storage.write_port(granularity=1), storage.read_port(domain="comb")
        same = self.release & (self.write_slot == self.read_slot)
        slot_written = Signal(self._slots)
        m.d.comb += [
            response.ready.eq(1),
            self.writable.eq(~response.valid),
            write.addr.eq(Mux(response.valid, response.payload.slot, self.write_slot)),
            write.data.eq(Mux(response.valid, response.payload.data.as_value(),
                              self.write_line.as_value())),
            write.en.eq(Mux(response.valid, (1 << config.line_words) - 1,
                            Mux(self.release, self.write_words, 0))),
            read.addr.eq(Mux(found.stores, encode(victim, index_bits(self._slots)),
                             self.read_slot)),
            self.readable.eq((slots.arrived & (1 << self.read_slot)).any() & ~found.stores),
            slot_written.eq(Mux(self.release & self.write_words.any(), 1 << self.write_slot, 0)),
        ]
        for i in range(config.line_words):
            m.d.comb += self.read_line[i].eq(
                Mux(same & self.write_words[i], self.write_line[i], read.data[i]))
        came = Mux(response.valid, 1 << response.payload.slot, 0)
        taken = Mux(found.fetches, victim, 0)
        m.d.sync += [
            slots.held.eq(Mux(self.forget, 0, slots.held | taken)),
            slots.arrived.eq(slots.arrived & ~taken | came),
            slots.changed.eq(slots.changed & ~Mux(found.stores, victim, 0) | slot_written),
        ]
        return read.data, came

    def _ask(self, m, slots, found, read_data):
        """The requests: lines are fetched, written back, or written full of ones."""
        request, asked = self.request, self.request.payload
        victim_slot = encode(slots.victim, index_bits(self._slots))
        # A second copy of the lines' numbers: reading one number from a memory is cheaper.
        m.submodules.numbers = numbers = Memory(shape=len(self.line), depth=self._slots, init=[])
        number_write, number_read = numbers.write_port(), numbers.read_port(domain="comb")
        m.d.comb += [
            number_write.addr.eq(victim_slot), number_write.data.eq(self.line),
            number_write.en.eq(found.fetches), number_read.addr.eq(victim_slot),
            self.clean.eq(~slots.changed.any()), self.idle.eq(~request.valid),
            asked.mask.eq((1 << self._config.line_bytes) - 1),
        ]
        with m.If(found.room):
            m.d.sync += [
                request.valid.eq(found.stores | found.fetches | self.blank),
                asked.write.eq(~found.fetches),
                asked.line.eq(Mux(found.stores, number_read.data, self.line)),
                asked.slot.eq(victim_slot),
            ]
            with m.If(found.stores | self.blank):
                m.d.sync += asked.data.eq(Mux(self.blank, -1, read_data.as_value()))

    def _check(self, m, slots, found, came):
        """The assertions."""
        matches, victim, response = found.matches, slots.victim, self.response
        held, arrived, changed, referred = (slots.held, slots.arrived, slots.changed,
                                            slots.referred)
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
        check_stream(m, self.request, name="request")
