"""MSHRs (miss status holding registers): the accesses that wait for outstanding lines.

Each MSHR holds a line address and a list of the accesses that wait for the line, in order of
arrival. All lists are linked through one memory of entries. So the same storage serves many
accesses to one line, and single accesses to many lines. When the line comes, its list is
*replayed*, one entry a cycle.
"""

from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.bits import and_or, encode, index_bits, lowest
from hw.config import HardwareConfig
from hw.timing import Timing


__all__ = ["ROOM", "MissTable", "with_lines"]


#: Insertions for which a table tells whether there is room: one, two, and so on.
ROOM = 4


def with_lines(m, config: HardwareConfig, misses, response, mshr):
    """Answers to the requests of a miss table, each with the address of its line.

    In the long pipeline the answers pass a buffer, so that no later logic waits for the look-up.

    Parameters
    ----------
    m : Module
        Where the logic is added.
    misses : MissTable
        This function drives its ``asked_index``.
    response : In(stream)
        The answers.
    mshr : Value
        The MSHR of the offered answer; without meaning if no answer is offered.

    Returns
    -------
    stream of StructLayout
        With members ``answer`` and ``line``. The caller must drive its ``ready``.
    """
    shape = data.StructLayout({
        "answer": response.payload.shape(), "line": len(misses.asked_line)})
    pairs = stream.Signature(shape).create()
    m.d.comb += [
        misses.asked_index.eq(mshr),
        pairs.valid.eq(response.valid), response.ready.eq(pairs.ready),
        pairs.payload.answer.eq(response.payload), pairs.payload.line.eq(misses.asked_line),
    ]
    return Timing(config).buffer(m, pairs, name="answers")


class _Places:
    """The MSHRs and the entries, and the memories of the lists, each a submodule of the table."""
    def __init__(self, m, mshrs, entries, line_bits, payload, sectors):
        self.taken, self.stale = Signal(mshrs, name="taken"), Signal(mshrs, name="stale")
        self.closed = Signal(mshrs, name="closed") if sectors > 1 else Const(0, mshrs)
        self.sectors = [Signal(sectors, name=f"sectors_{i}", reset_less=True)
                        for i in range(mshrs if sectors > 1 else 0)]
        self.lines = [Signal(line_bits, name=f"line_{i}", reset_less=True) for i in range(mshrs)]
        self.used = Signal(entries, name="used")
        pointer = index_bits(entries)
        m.submodules.heads = self.heads = Memory(shape=pointer, depth=mshrs, init=[])
        m.submodules.tails = self.tails = Memory(shape=pointer, depth=mshrs, init=[])
        m.submodules.links = self.links = Memory(shape=pointer, depth=entries, init=[])
        m.submodules.payloads = self.payloads = Memory(shape=payload, depth=entries, init=[])
        self.free_mshr = lowest(m, ~self.taken, name="free_mshr")
        self.free_entry = lowest(m, ~self.used, name="free_entry")
        self.joins = Signal(name="joins")               # an insertion would join the line's list
        self.allots = Signal(name="allots")             # an insertion takes an MSHR


class _Replay:
    """The list that is replayed: its MSHR, one-hot, and the next entry."""
    def __init__(self, m, mshrs, entries, index):
        self.mshr = Signal(mshrs, name="replay_one_hot")
        self.current = Signal(index_bits(entries), name="current")
        m.d.comb += self.mshr.eq(1 << index)


class MissTable(wiring.Component):
    """MSHRs with linked lists of waiting accesses.

    Latency: a look-up is combinational. An insertion is visible to look-ups in the next cycle. A
    replayed entry's payload is valid in the cycle after ``replay``. Throughput: one insertion and
    one replay a cycle.

    Parameters
    ----------
    mshrs : int
        Outstanding lines, at most.
    entries : int
        Waiting accesses of all lines, at most.
    line_bits : int
        Width of a line address.
    payload : shape
        The stored part of a waiting access.
    sectors : int
        Sectors of a line. If there are several, an MSHR also holds sectors of its line, and the
        table has the members ``sectors``, ``held``, ``apart``, ``close`` and ``replay_sectors``.
    ahead : bool
        ``line`` comes a cycle before the access and is compared in that cycle.

    Members
    -------
    line : In(line_bits)
        Line to look up, and to insert with ``insert``. With ``ahead``, look-up and insertion refer
        to the line of the cycle before.
    payload : In(payload)
        The access to insert.
    insert : In(1)
        Insert the access in ``payload``: it waits for ``line``. Allowed only with ``room``.
    match : Out(1)
        An MSHR holds ``line`` and is neither stale nor closed.
    index : Out(index_bits(mshrs))
        The MSHR that an insertion takes: the one that matches, if any, unless ``apart``.
    sectors : In(sectors)
        With ``insert``: the MSHR holds these sectors, too.
    held : Out(sectors)
        The sectors of the MSHR that matches; 0 if none matches.
    apart : In(1)
        The insertion takes a new MSHR. The MSHR that matches is closed.
    close : In(1)
        The MSHR of ``replay_index`` is closed: it no longer matches. It keeps its list.
    replay_sectors : Out(sectors)
        The sectors of the MSHR of ``replay_index``.
    room : Out(ROOM)
        Bit 0: at least one MSHR and one entry are free. Bit 1: at least two MSHRs and two entries
        are free, so an access may be inserted although the insertion of another access is pending.
        The next bits are for two pending insertions, and three.
    stale : In(1)
        Each MSHR that holds ``line`` becomes stale and no longer matches: the line was written
        after it was requested. The MSHR keeps its list.
    stale_all : In(1)
        All MSHRs become stale.
    asked_index, asked_line : In(index_bits(mshrs)), Out(line_bits)
        A taken MSHR, and its line address.
    replay_index : In(index_bits(mshrs))
        The MSHR whose line has come.
    replay_stale : Out(1)
        The MSHR of ``replay_index`` is stale: the cache must not keep the line.
    replay : In(1)
        Take the next entry of the list of ``replay_index``. ``replay_index`` must stay the same
        until ``replay_last``.
    replay_first, replay_last : Out(1)
        The entry that ``replay`` takes is the first; the last. The last entry frees the MSHR.
    replay_payload : Out(payload)
        The entry taken in the cycle before.
    empty : Out(1)
        No MSHR is taken.
    """
    def __init__(self, *, mshrs, entries, line_bits, payload, sectors=1, ahead=False):
        self._mshrs = mshrs
        self._entries = entries
        self._line_bits = line_bits
        self._payload = payload
        self._sectors = sectors
        self._ahead = ahead
        super().__init__({
            "line": In(line_bits), "payload": In(payload), "insert": In(1),
            "match": Out(1), "index": Out(index_bits(mshrs)), "room": Out(ROOM),
            "stale": In(1), "stale_all": In(1),
            **({"sectors": In(sectors), "held": Out(sectors), "apart": In(1), "close": In(1),
                "replay_sectors": Out(sectors)} if sectors > 1 else {}),
            "asked_index": In(index_bits(mshrs)), "asked_line": Out(line_bits),
            "replay_index": In(index_bits(mshrs)), "replay_stale": Out(1), "replay": In(1),
            "replay_first": Out(1), "replay_last": Out(1), "replay_payload": Out(payload),
            "empty": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        mshrs, entries = self._mshrs, self._entries
        places = _Places(m, mshrs, entries, self._line_bits, self._payload, self._sectors)
        replay = _Replay(m, mshrs, entries, self.replay_index)
        line = self._look_up(m, places)
        self._insert(m, places, line)
        self._replay(m, places, replay)
        if self._sectors > 1:
            self._hold_sectors(m, places, replay)
        freed, allotted = (Signal(entries, name=name) for name in ("freed", "allotted"))
        m.d.comb += [freed.eq(Mux(self.replay, 1 << replay.current, 0)),
                     allotted.eq(Mux(self.insert, places.free_entry, 0))]
        m.d.sync += places.used.eq(places.used & ~freed | allotted)
        self._count(m, places)
        self._check(m, places, replay)
        return m

    def _look_up(self, m, places):
        """Look the line up. Returns the line to which look-up and insertion refer."""
        same, holders, matches = (Signal(self._mshrs, name=name)
                                  for name in ("same", "holders", "matches"))
        line, free_mshr, allots = self.line, places.free_mshr, places.allots
        compared = Cat(held == self.line for held in places.lines)
        if self._ahead:
            line = Signal(self._line_bits, reset_less=True)
            allotting = Signal(self._mshrs)     # the MSHR whose line is written in this cycle
            m.d.comb += allotting.eq(Mux(allots, free_mshr, 0))
            m.d.sync += [
                line.eq(self.line),
                same.eq(compared & ~allotting | Mux(line == self.line, allotting, 0)),
            ]
        else:
            m.d.comb += same.eq(compared)
        m.d.comb += [
            holders.eq(same & places.taken),
            matches.eq(holders & ~places.stale & ~places.closed),
            self.match.eq(matches.any()),
            places.joins.eq(self.match if self._sectors == 1 else self.match & ~self.apart),
            self.index.eq(encode(Mux(places.joins, matches, free_mshr))),
            allots.eq(self.insert & ~places.joins),
        ]
        m.d.sync += places.stale.eq(Mux(self.stale_all, (1 << self._mshrs) - 1,
                                        places.stale | Mux(self.stale, holders, 0)))
        if self._sectors > 1:
            m.d.comb += self.held.eq(and_or(matches, places.sectors))
            with m.If(self.insert & self.apart):
                m.d.sync += places.closed.eq(places.closed | matches)
        return line

    def _insert(self, m, places, line):
        """Insert an access: it becomes the tail of its line's list."""
        allots, free_mshr = places.allots, places.free_mshr
        entry = Signal(index_bits(self._entries))
        head_write, tail_write = places.heads.write_port(), places.tails.write_port()
        link_write, payload_write = places.links.write_port(), places.payloads.write_port()
        tail_read = places.tails.read_port(domain="comb")
        m.d.comb += [
            entry.eq(encode(places.free_entry)),
            head_write.addr.eq(self.index), head_write.data.eq(entry),
            head_write.en.eq(allots),
            tail_write.addr.eq(self.index), tail_write.data.eq(entry),
            tail_write.en.eq(self.insert),
            tail_read.addr.eq(self.index),
            link_write.addr.eq(tail_read.data), link_write.data.eq(entry),
            link_write.en.eq(self.insert & places.joins),
            payload_write.addr.eq(entry), payload_write.data.eq(self.payload),
            payload_write.en.eq(self.insert),
        ]
        with m.If(allots):
            for i in range(self._mshrs):
                with m.If(free_mshr[i]):
                    m.d.sync += [places.taken[i].eq(1), places.stale[i].eq(0),
                                 places.lines[i].eq(line)]

    def _replay(self, m, places, replay):
        """Replay a list, entry by entry."""
        started = Signal()
        following = Signal.like(replay.current)
        asked_one_hot = Signal(self._mshrs)
        head_read, last_read = (memory.read_port(domain="comb")
                                for memory in (places.heads, places.tails))
        link_read, payload_read = places.links.read_port(domain="comb"), places.payloads.read_port()
        m.d.comb += [
            asked_one_hot.eq(1 << self.asked_index),
            self.asked_line.eq(and_or(asked_one_hot, places.lines)),
            self.replay_stale.eq((places.stale & replay.mshr).any()),
            head_read.addr.eq(self.replay_index),
            last_read.addr.eq(self.replay_index),
            replay.current.eq(Mux(started, following, head_read.data)),
            link_read.addr.eq(replay.current),
            payload_read.addr.eq(replay.current),
            payload_read.en.eq(self.replay),
            self.replay_payload.eq(payload_read.data),
            self.replay_first.eq(~started),
            self.replay_last.eq(replay.current == last_read.data),
        ]
        with m.If(self.replay):
            m.d.sync += [following.eq(link_read.data), started.eq(~self.replay_last)]
            with m.If(self.replay_last):
                m.d.sync += places.taken.eq(places.taken & ~replay.mshr)
                with m.If(places.allots):
                    m.d.sync += places.taken.eq(places.taken & ~replay.mshr | places.free_mshr)

    def _hold_sectors(self, m, places, replay):
        """The sectors of each MSHR, and the MSHRs that are closed."""
        for i, held in enumerate(places.sectors):
            with m.If(places.allots & places.free_mshr[i]):
                m.d.sync += [held.eq(self.sectors), places.closed[i].eq(0)]
            with m.Elif(self.insert & places.joins & (self.index == i)):
                m.d.sync += held.eq(held | self.sectors)
            with m.If(self.close & replay.mshr[i]):
                m.d.sync += places.closed[i].eq(1)
        m.d.comb += self.replay_sectors.eq(and_or(replay.mshr, places.sectors))

    def _count(self, m, places):
        """Count the free MSHRs and the free entries."""
        mshrs, entries = self._mshrs, self._entries
        free_mshrs = Signal(range(mshrs + 1), init=mshrs)
        free_entries = Signal(range(entries + 1), init=entries)
        for count, taking, giving in (
                (free_mshrs, places.allots, self.replay & self.replay_last),
                (free_entries, self.insert, self.replay)):
            with m.If(taking & ~giving):
                m.d.sync += count.eq(count - 1)
            with m.Elif(giving & ~taking):
                m.d.sync += count.eq(count + 1)
        m.d.comb += self.empty.eq(free_mshrs == mshrs)
        m.d.comb += self.room.eq(Cat((free_mshrs >= number) & (free_entries >= number)
                                     for number in range(1, ROOM + 1)))

    def _check(self, m, places, replay):
        """The assertions."""
        in_reset = Signal(init=1)
        m.d.sync += in_reset.eq(0)
        with m.If(~in_reset):
            m.d.sync += [
                Assert(~self.insert | places.free_entry.any(), "insertion without a free entry"),
                Assert(~self.insert | places.joins | places.free_mshr.any(),
                       "insertion without an MSHR"),
                Assert(~self.replay | (places.taken & replay.mshr).any(),
                       "replay of a free MSHR"),
                # The list that is being replayed must not grow: its last entry would be lost.
                Assert(~(self.insert & places.joins & self.replay & self.replay_last
                         & (self.index == self.replay_index)), "insertion into a replayed list"),
            ]
