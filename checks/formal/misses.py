"""The promise of the MSHRs as assertions: each access that waits is replayed once, in order.

The harness holds a table. For each MSHR it knows the line, the waiting payloads and the numbers of
their entries. The harness assumes the behavior of the caches: there is room for an insertion; only
a taken MSHR is replayed, to the end of its list; nothing joins a list whose last entry is being
taken.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from checks.formal.peek import Peek
from hw.bits import encode, index_bits
from hw.memory.miss import ROOM, MissTable


__all__ = ["MissPromise"]


LINE_BITS, PAYLOAD_BITS = 2, 2


class MissPromise(wiring.Component):
    """A table and its promise.

    Parameters
    ----------
    mshrs, entries : int
    sectors : int
    ahead : bool
    """
    def __init__(self, *, mshrs, entries, sectors=1, ahead=False):
        self._mshrs, self._entries, self._sectors, self._ahead = mshrs, entries, sectors, ahead
        super().__init__({
            "line": In(LINE_BITS), "payload": In(PAYLOAD_BITS), "insert": In(1),
            "stale": In(1), "stale_all": In(1), "replay": In(1),
            "replay_index": In(index_bits(mshrs)), "asked_index": In(index_bits(mshrs)),
            "match": Out(1),
            **({"sectors": In(sectors), "apart": In(1), "close": In(1)} if sectors > 1 else {}),
        })

    def elaborate(self, platform):
        m = Module()
        mshrs, entries = range(self._mshrs), range(self._entries)
        dut = MissTable(mshrs=len(mshrs), entries=len(entries), line_bits=LINE_BITS,
                        payload=PAYLOAD_BITS, sectors=self._sectors, ahead=self._ahead)
        peek = Peek(dut)
        m.submodules.dut = peek.fragment
        # The MSHR whose list is replayed: the MSHR whose replay has begun, else any MSHR.
        begun, replaying = Signal(), Signal.like(dut.replay_index)
        index = Signal.like(dut.replay_index)
        m.d.comb += [
            index.eq(Mux(begun, replaying, self.replay_index)), dut.replay_index.eq(index),
            dut.line.eq(self.line), dut.asked_index.eq(self.asked_index),
            dut.payload.eq(self.payload), dut.insert.eq(self.insert),
            dut.stale.eq(self.stale), dut.stale_all.eq(self.stale_all),
            dut.replay.eq(self.replay), self.match.eq(dut.match), Assume(~ResetSignal()),
        ]
        m.d.sync += replaying.eq(index)
        line = Signal(LINE_BITS)                         # line of the access in this cycle
        m.d["sync" if self._ahead else "comb"] += line.eq(self.line)

        # The model.

        lines = Array(Signal(LINE_BITS, name=f"line_{i}") for i in mshrs)
        stale = Array(Signal(name=f"stale_{i}") for i in mshrs)
        counts = Array(Signal(range(len(entries) + 1), name=f"count_{i}") for i in mshrs)
        waiting = Array(Array(Signal(PAYLOAD_BITS, name=f"payload_{i}_{k}") for k in entries)
                        for i in mshrs)
        places = Array(Array(Signal(index_bits(len(entries)), name=f"place_{i}_{k}")
                             for k in entries) for i in mshrs)
        room = Signal(ROOM)
        free = sum(counts[i] == 0 for i in mshrs)
        total = sum(counts[i] for i in mshrs)
        last = Signal()
        holding = Cat((counts[i] != 0) & (lines[i] == line) for i in mshrs)
        closed = Array(Signal(name=f"closed_{i}") for i in mshrs)
        matching = Cat(holding[i] & ~stale[i] & ~closed[i] for i in mshrs)
        joining = dut.match
        if self._sectors > 1:
            joining = self._follow_sectors(m, peek, dut, index, counts, closed, matching)
        m.d.comb += [
            room.eq(Cat((free >= count) & (total + count <= len(entries))
                        for count in range(1, ROOM + 1))),
            last.eq(counts[index] == 1),
            Assume(index < len(mshrs)),
            Assume(~self.insert | room[0]),
            Assume(~self.replay | (counts[index] != 0)),
            Assume(~(self.insert & joining & self.replay & last & (dut.index == index))),
        ]
        used = peek.signal("used")
        place = Signal(index_bits(len(entries)))         # the lowest free entry
        for entry in reversed(entries):
            with m.If(~used[entry]):
                m.d.comb += place.eq(entry)
        for i in mshrs:
            taken = self.replay & (index == i)
            joins = self.insert & (dut.index == i)
            m.d.sync += counts[i].eq(counts[i] + joins - taken)
            with m.If(taken):
                for k in entries[:-1]:
                    m.d.sync += [waiting[i][k].eq(waiting[i][k + 1]),
                                 places[i][k].eq(places[i][k + 1])]
            with m.If(joins):
                for k in entries:
                    with m.If(counts[i] - taken == k):
                        m.d.sync += [waiting[i][k].eq(self.payload), places[i][k].eq(place)]
            with m.If((self.stale & holding[i]) | self.stale_all):
                m.d.sync += stale[i].eq(1)
            with m.If(joins & ~joining):
                m.d.sync += [lines[i].eq(line), stale[i].eq(0)]
        with m.If(self.replay):
            m.d.sync += begun.eq(~last)
        owes, owed = Signal(), Signal(PAYLOAD_BITS)
        m.d.sync += [owes.eq(self.replay), owed.eq(waiting[index][0])]

        # The promise.

        m.d.comb += [
            Assert(dut.match == matching.any()),
            Assert(~joining | (matching == 1 << dut.index)),
            Assert(joining | (free == 0) | (counts[dut.index] == 0)),
            Assert(dut.room == room),
            Assert(dut.empty == (free == len(mshrs))),
            Assert(~owes | (dut.replay_payload == owed)),
        ]
        m.d.comb += Assume(self.asked_index < len(mshrs))
        with m.If(counts[self.asked_index] != 0):
            m.d.comb += Assert(dut.asked_line == lines[self.asked_index])
        with m.If(counts[index] != 0):
            m.d.comb += [
                Assert(dut.replay_stale == stale[index]),
                Assert(dut.replay_first == ~begun), Assert(dut.replay_last == last),
            ]

        m.d.comb += [
            Cover(self.replay & begun & last, "a list of several entries is replayed to its end"),
            Cover(self.replay & ~last & self.insert & dut.match & (dut.index == index),
                  "a list grows during its replay"),
            Cover(self.replay & stale[index], "a stale line is replayed"),
            Cover((lines[0] == lines[1]) & (counts[0] != 0) & (counts[1] != 0),
                  "a line is fetched again while it is stale"),
            Cover(~dut.room[0], "there is no room"),
        ]

        # Invariants: the linked lists agree with the model.

        heads, tails, links, payloads = (peek.memory(name)
                                         for name in ("heads", "tails", "links", "payloads"))
        following = peek.signal("following")
        m.d.comb += [
            Assert(peek.signal("started") == begun),
            Assert(~begun | (counts[replaying] != 0)),
            Assert(peek.signal("free_mshrs") == free),
            Assert(peek.signal("free_entries") == len(entries) - total),
        ]
        if self._ahead:
            m.d.comb += Assert(peek.signal("line") == line)
        for i in mshrs:
            for j in mshrs[:i]:
                m.d.comb += Assert((counts[i] == 0) | (counts[j] == 0) | stale[i] | stale[j]
                                   | closed[i] | closed[j] | (lines[i] != lines[j]))
            m.d.comb += [Assert(counts[i] <= len(entries)),
                         Assert(peek.signal("taken")[i] == (counts[i] != 0))]
            with m.If(counts[i] != 0):
                first = Mux(begun & (replaying == i), following, heads[i])
                if self._ahead:
                    m.d.comb += Assert(peek.signal("same")[i] == (lines[i] == line))
                m.d.comb += [
                    Assert(peek.signal(f"line_{i}") == lines[i]),
                    Assert(peek.signal("stale")[i] == stale[i]),
                    Assert(first == places[i][0]),
                ]
            for k in entries:
                with m.If(k < counts[i]):
                    m.d.comb += [Assert(places[i][k] < len(entries)),
                                 Assert(Array(payloads)[places[i][k]] == waiting[i][k])]
                with m.If(k + 1 == counts[i]):
                    m.d.comb += Assert(tails[i] == places[i][k])
                if k + 1 < len(entries):
                    with m.If(k + 1 < counts[i]):
                        m.d.comb += Assert(Array(links)[places[i][k]] == places[i][k + 1])
        for entry in entries:
            users = sum((k < counts[i]) & (places[i][k] == entry) for i in mshrs for k in entries)
            m.d.comb += Assert(users == used[entry])
        return m

    def _follow_sectors(self, m, peek, dut, index, counts, closed, matching):
        """The sectors of each MSHR, and the MSHRs that are closed. Returns whether an insertion
        joins the MSHR that matches."""
        mshrs = range(self._mshrs)
        sectors = Array(Signal(self._sectors, name=f"model_sectors_{i}") for i in mshrs)
        joining = Signal()
        m.d.comb += [
            dut.sectors.eq(self.sectors), dut.apart.eq(self.apart), dut.close.eq(self.close),
            joining.eq(dut.match & ~self.apart),
            Assume(~self.close | (counts[index] != 0)),
            Assert(dut.held == Mux(matching.any(), sectors[encode(matching)], 0)),
            Cover(self.insert & dut.match & self.apart, "an access takes an MSHR of its own"),
        ]
        with m.If(counts[index] != 0):
            m.d.comb += Assert(dut.replay_sectors == sectors[index])
        for i in mshrs:
            with m.If(self.insert & self.apart & matching[i] | self.close & (index == i)):
                m.d.sync += closed[i].eq(1)
            with m.If(self.insert & (dut.index == i)):
                m.d.sync += sectors[i].eq(self.sectors | Mux(joining, sectors[i], 0))
                with m.If(~joining):
                    m.d.sync += closed[i].eq(0)
            # Invariants.
            with m.If(counts[i] != 0):
                m.d.comb += [Assert(peek.signal(f"sectors_{i}") == sectors[i]),
                             Assert(peek.signal("closed")[i] == closed[i])]
        return joining
