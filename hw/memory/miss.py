"""MSHRs (miss status holding registers): the accesses that wait for outstanding lines.

Each MSHR holds a line address and a list of the accesses that wait for the line, in order of
arrival. All lists are linked through one memory of entries. So the same storage serves many
accesses to one line, and single accesses to many lines. When the line comes, its list is
*replayed*, one entry a cycle.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.bits import and_or, encode, index_bits, lowest
from hw.config import HardwareConfig
from hw.timing import Timing


__all__ = ["MissTable", "with_lines"]


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
        An MSHR holds ``line`` and is not stale.
    index : Out(index_bits(mshrs))
        The MSHR that matches. If no MSHR matches: the MSHR that an insertion takes.
    room : Out(1)
        At least one MSHR and one entry are free.
    ample : Out(1)
        At least two MSHRs and two entries are free. An access may be inserted although the
        insertion of another access is pending.
    plenty : Out(1)
        At least three MSHRs and three entries are free, for two pending insertions.
    stale : In(1)
        The MSHR that matches ``line``, if any, becomes stale and no longer matches: its line was
        written after the line was requested. The MSHR keeps its list.
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
    def __init__(self, *, mshrs, entries, line_bits, payload, ahead=False):
        self._mshrs = mshrs
        self._entries = entries
        self._line_bits = line_bits
        self._payload = payload
        self._ahead = ahead
        super().__init__({
            "line": In(line_bits), "payload": In(payload), "insert": In(1),
            "match": Out(1), "index": Out(index_bits(mshrs)), "room": Out(1),
            "ample": Out(1), "plenty": Out(1),
            "stale": In(1), "stale_all": In(1),
            "asked_index": In(index_bits(mshrs)), "asked_line": Out(line_bits),
            "replay_index": In(index_bits(mshrs)), "replay_stale": Out(1), "replay": In(1),
            "replay_first": Out(1), "replay_last": Out(1), "replay_payload": Out(payload),
            "empty": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        mshrs, entries = self._mshrs, self._entries
        pointer_bits = index_bits(entries)

        taken = Signal(mshrs)
        stale = Signal(mshrs)
        lines = [Signal(self._line_bits, name=f"line_{i}", reset_less=True) for i in range(mshrs)]
        used = Signal(entries)

        m.submodules.heads = heads = Memory(shape=pointer_bits, depth=mshrs, init=[])
        m.submodules.tails = tails = Memory(shape=pointer_bits, depth=mshrs, init=[])
        m.submodules.links = links = Memory(shape=pointer_bits, depth=entries, init=[])
        m.submodules.payloads = payloads = Memory(shape=self._payload, depth=entries, init=[])

        # Look-up and insertion.
        same = Signal(mshrs)
        matches = Signal(mshrs)
        free_mshr = lowest(m, ~taken, name="free_mshr")
        free_entry = lowest(m, ~used, name="free_entry")
        entry = Signal(pointer_bits)
        allots = Signal()                   # an insertion takes an MSHR
        compared = Cat(line == self.line for line in lines)
        if self._ahead:
            line = Signal(self._line_bits, reset_less=True)
            allotting = Signal(mshrs)       # the MSHR whose line is being written in this cycle
            m.d.comb += allotting.eq(Mux(allots, free_mshr, 0))
            m.d.sync += [
                line.eq(self.line),
                same.eq(compared & ~allotting | Mux(line == self.line, allotting, 0)),
            ]
        else:
            line = self.line
            m.d.comb += same.eq(compared)
        m.d.comb += [
            matches.eq(same & taken & ~stale),
            self.match.eq(matches.any()),
            self.index.eq(encode(Mux(self.match, matches, free_mshr))),
            entry.eq(encode(free_entry)),
            allots.eq(self.insert & ~self.match),
        ]
        m.d.sync += stale.eq(Mux(self.stale_all, (1 << mshrs) - 1,
                                 stale | Mux(self.stale, matches, 0)))

        head_write, tail_write = heads.write_port(), tails.write_port()
        link_write, payload_write = links.write_port(), payloads.write_port()
        tail_read = tails.read_port(domain="comb")
        m.d.comb += [
            head_write.addr.eq(self.index), head_write.data.eq(entry),
            head_write.en.eq(allots),
            tail_write.addr.eq(self.index), tail_write.data.eq(entry),
            tail_write.en.eq(self.insert),
            tail_read.addr.eq(self.index),
            link_write.addr.eq(tail_read.data), link_write.data.eq(entry),
            link_write.en.eq(self.insert & self.match),
            payload_write.addr.eq(entry), payload_write.data.eq(self.payload),
            payload_write.en.eq(self.insert),
        ]
        with m.If(allots):
            for i in range(mshrs):
                with m.If(free_mshr[i]):
                    m.d.sync += [taken[i].eq(1), stale[i].eq(0), lines[i].eq(line)]

        # Replay.
        started = Signal()
        following = Signal(pointer_bits)
        current = Signal(pointer_bits)
        asked_one_hot = Signal(mshrs)
        replay_one_hot = Signal(mshrs)
        head_read, last_read = heads.read_port(domain="comb"), tails.read_port(domain="comb")
        link_read, payload_read = links.read_port(domain="comb"), payloads.read_port()
        m.d.comb += [
            replay_one_hot.eq(1 << self.replay_index),
            asked_one_hot.eq(1 << self.asked_index),
            self.asked_line.eq(and_or(asked_one_hot, lines)),
            self.replay_stale.eq((stale & replay_one_hot).any()),
            head_read.addr.eq(self.replay_index),
            last_read.addr.eq(self.replay_index),
            current.eq(Mux(started, following, head_read.data)),
            link_read.addr.eq(current),
            payload_read.addr.eq(current),
            payload_read.en.eq(self.replay),
            self.replay_payload.eq(payload_read.data),
            self.replay_first.eq(~started),
            self.replay_last.eq(current == last_read.data),
        ]
        with m.If(self.replay):
            m.d.sync += [following.eq(link_read.data), started.eq(~self.replay_last)]
            with m.If(self.replay_last):
                m.d.sync += taken.eq(taken & ~replay_one_hot)
                with m.If(allots):
                    m.d.sync += taken.eq(taken & ~replay_one_hot | free_mshr)

        freed = Signal(entries)
        allotted = Signal(entries)
        m.d.comb += [
            freed.eq(Mux(self.replay, 1 << current, 0)),
            allotted.eq(Mux(self.insert, free_entry, 0)),
        ]
        m.d.sync += used.eq(used & ~freed | allotted)

        # Counters of free MSHRs and free entries.
        free_mshrs = Signal(range(mshrs + 1), init=mshrs)
        free_entries = Signal(range(entries + 1), init=entries)
        for count, taking, giving in ((free_mshrs, allots, self.replay & self.replay_last),
                                      (free_entries, self.insert, self.replay)):
            with m.If(taking & ~giving):
                m.d.sync += count.eq(count - 1)
            with m.Elif(giving & ~taking):
                m.d.sync += count.eq(count + 1)
        m.d.comb += self.empty.eq(free_mshrs == mshrs)
        for number, least in enumerate((self.room, self.ample, self.plenty), 1):
            m.d.comb += least.eq((free_mshrs >= number) & (free_entries >= number))

        in_reset = Signal(init=1)
        m.d.sync += in_reset.eq(0)
        with m.If(~in_reset):
            m.d.sync += [
                Assert(~self.insert | free_entry.any(), "insertion without a free entry"),
                Assert(~self.insert | self.match | free_mshr.any(), "insertion without an MSHR"),
                Assert(~self.replay | (taken & replay_one_hot).any(), "replay of a free MSHR"),
                # The list that is being replayed must not grow: its last entry would be lost.
                Assert(~(self.insert & self.match & self.replay & self.replay_last
                         & (self.index == self.replay_index)), "insertion into a replayed list"),
            ]
        return m
