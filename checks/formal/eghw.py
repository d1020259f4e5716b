"""The promises of the unit that generates edges: each registered vertex gives its entry once, and
each edge of an entry gets its record once.

There is a harness for each half of the unit, and the other half is free. A harness follows one
vertex, which is registered at most once, and :class:`RecordPromise` one of the vertex's edges. All
vertices and all edges are alike, so what holds for these holds for all. The harness is the memory:
it gives the vertex its offsets, and the edge's neighbour and weight a bit that no other edge has.
All else that it gives is free. Loads are answered in any order, at any time.

The harness assumes what a kernel keeps: a warp waits for its answer. The proofs are bounded: they
hold for the first cycles after reset.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Const, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from checks.formal.answering import answer_inputs, answer_loads, at_most_one, steady
from checks.formal.streams import hold
from hw.gather.eghw import AccessTag
from hw.gather.eghw.records import Records
from hw.gather.eghw.topology import Topology
from hw.gather.eghw.works import Works
from hw.gather.interface import row_shape, warp_shape
from hw.gather.table import entry_layout
from hw.operations import NONE


__all__ = ["EntryPromise", "RecordPromise"]


#: Bits of a degree.
_DEGREE_BITS = 2


class EntryPromise(wiring.Component):
    """The reader of the topology, its memory, and its promise.

    Parameters
    ----------
    config : HardwareConfig
        A small shape, with ``gather="eghw"``.
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            "vertex": In(32), "begin": In(32), "end": In(32), "offsets": In(32),
            "place": In(row_shape(config)),             # the row in which the vertex may be
            "register": In(1), "row": In(row_shape(config)), "mask": In(config.threads),
            "warp": In(warp_shape(config)),
            "entry": Out(stream.Signature(entry_layout())),
            **answer_inputs(config),
        })

    def elaborate(self, platform):
        m = Module()
        config, threads = self._config, self._config.threads
        m.submodules.dut = dut = Topology(config)
        steady(m, self, "vertex", "begin", "end", "offsets", "place")
        connect(m, dut.entry, wiring.flipped(self.entry))
        m.d.comb += [
            Assume(~ResetSignal()), Assume(self.vertex != NONE),
            Assume(self.place < config.weaver_table_entries // threads),
            Assume(~self.register | self.mask.any()),
            dut.register.eq(self.register), dut.row.eq(self.row), dut.mask.eq(self.mask),
            dut.warp.eq(self.warp), dut.ids.eq(0), dut.offsets.eq(self.offsets),
        ]
        answers, given = answer_loads(m, self, dut.access, Const(1))
        m.d.comb += [
            dut.arrives.eq(answers), dut.fetched.tag.eq(given.tag),
            dut.fetched.mask.eq(given.mask), dut.fetched.data.eq(self.words),
        ]

        # Memory holds the vertex's offsets.
        address = (self.vertex + self.offsets)[:32]
        shift = (4 * threads).bit_length() - 1
        for lane in range(threads):
            place, word = given.address[lane], self.words[lane]
            m.d.comb += [
                Assume((given.tag == AccessTag.IDS) | (place != address) | (word == self.begin)),
                Assume((given.tag == AccessTag.IDS) | (place != (address + 4)[:32])
                       | (word == self.end)),
            ]
        # The vertex comes up once, in its row.
        hits = Cat(word == self.vertex for word in self.words) & given.mask
        reads = answers & (given.tag == AccessTag.IDS) & hits.any()
        read = Signal()
        m.d.sync += read.eq(read | reads)
        m.d.comb += Assume(~reads | (at_most_one(hits, threads) & ~read
                                     & (given.address[0] >> shift == self.place)))

        # The row is read, in the lanes of its last REG before it was taken, which is a cycle before
        # its access is on offer. A REG in that cycle registers the row again.
        waits, again = Signal(), Signal()
        lanes, lanes_before = Signal(threads), Signal(threads)
        access, asks = dut.access.payload, dut.access.valid & (dut.access.payload.tag
                                                               == AccessTag.IDS)
        mine = asks & (access.address[0] >> shift == self.place)
        begun = Signal()                            # the access was on offer before
        m.d.sync += begun.eq(dut.access.valid & ~dut.access.ready)
        m.d.sync += [lanes_before.eq(lanes), again.eq(self.register & (self.row == self.place))]
        with m.If(self.register & (self.row == self.place)):
            m.d.sync += [waits.eq(1), lanes.eq(self.mask)]
        with m.Elif(mine & ~begun & ~again):
            m.d.sync += waits.eq(0)
        m.d.comb += [
            Assert(~dut.access.valid | ~access.store & access.mask.any()),
            *(Assert(~asks | (access.address[lane] == (
                access.address[0] >> shift << shift) + 4 * lane)) for lane in range(threads)),
            Assert(~(mine & ~begun) | (access.mask == lanes_before)),
            Assert(~(waits & dut.idle)), Assert(~(dut.idle & self.entry.valid)),
        ]

        # The entry.
        taken = self.entry.valid & self.entry.ready
        is_vertex = self.entry.valid & (self.entry.payload.vid == self.vertex)
        times = Signal(2)
        m.d.sync += times.eq(times + (taken & is_vertex))
        m.d.comb += [
            Assert(~is_vertex | (read & (self.entry.payload.loc == self.begin)
                                 & (self.entry.payload.degree == (self.end - self.begin)[:32]))),
            Assert(times <= 1), Assert(~(dut.idle & read) | (times == 1)),
            Cover(dut.idle & (times == 1), "a vertex gave its entry"),
            Cover(waits & read & (times == 1), "a row is registered again"),
        ]
        hold(m, dut.entry, name="entry")
        hold(m, dut.access, name="access")
        return m


class RecordPromise(wiring.Component):
    """The parts that make works of entries and records of works, their memory, and their promise.

    Parameters
    ----------
    config : HardwareConfig
        A small shape, with ``gather="eghw"``.
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            "vertex": In(32), "first": In(32), "degree": In(_DEGREE_BITS),
            "edge": In(_DEGREE_BITS),                    # the edge's number among the vertex's
            "weights": In(32),
            "entry": In(stream.Signature(entry_layout())), "more": In(1),
            "asks": In(1), "warp": In(warp_shape(config)), "rd": In(5),
            "skip": In(1), "named": In(data.ArrayLayout(32, config.threads)),
            "mask": In(config.threads), "stored": In(1),
            "heard": In(1),                              # an answer is taken
            **answer_inputs(config),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.works = works = Works(self._config)
        m.submodules.records = records = Records(self._config)
        connect(m, works.work, records.work)
        connect(m, wiring.flipped(self.entry), works.entry)
        steady(m, self, "vertex", "first", "degree", "edge", "weights")
        hold(m, self.entry, name="entry", rule=Assume)
        m.d.comb += [Assume(~ResetSignal()), Assume(self.vertex != NONE),
                     Assume(self.edge < self.degree), Assume(~self.entry.valid | self.more)]
        entered = self._follow_entry(m)
        waits, rds, barred, complete = self._follow_warps(m, works, records, entered)
        rows = self._remember(m, records)
        self._judge(m, records, entered, waits, rds, barred, complete, rows)
        for name in ("load", "store", "answer"):
            hold(m, getattr(records, name), name=name)
        return m

    def _follow_entry(self, m):
        """Whether the vertex's entry was taken, which comes once."""
        entry = self.entry.payload
        is_vertex = self.entry.valid & (entry.vid == self.vertex)
        entered = Signal()
        m.d.comb += [
            Assume(~is_vertex | ~entered), Assume(~self.entry.valid | (entry.vid != NONE)),
            Assume(~is_vertex | ((entry.loc == self.first) & (entry.degree == self.degree))),
        ]
        with m.If(is_vertex & self.entry.ready):
            m.d.sync += entered.eq(1)
        return entered

    def _follow_warps(self, m, works, records, entered):
        """The warps: which of them wait for an answer, and for which register; which asked behind a
        SKIP of the vertex, and which behind its entry."""
        config, warps = self._config, self._config.warps
        waits, barred, complete = (Signal(warps, name=name)
                                   for name in ("waits", "barred", "complete"))
        rds = Array(Signal(5, name=f"rd_{warp}") for warp in range(warps))
        head, asked, skipped = Signal(warp_shape(config)), Signal(), Signal()
        begins = self.asks & ~asked
        served = works.work.valid & works.work.ready
        m.d.comb += [
            Assume(self.warp < warps), Assume(~begins | ~waits.bit_select(self.warp, 1)),
            works.more.eq(self.more), works.wanted.eq(asked), works.skip.eq(self.skip),
            works.named.eq(self.named), works.mask.eq(self.mask),
            records.warp.eq(head), records.rd.eq(rds[head]), records.weights.eq(self.weights),
            records.records.eq(0), Assert(asked | ~works.work.valid),
        ]
        m.d.sync += asked.eq((asked | begins) & ~(served & asked))
        with m.If(begins):
            m.d.sync += [head.eq(self.warp), rds[self.warp].eq(self.rd)]
        with m.If(self.skip & entered & (self.mask & Cat(
                vid == self.vertex for vid in self.named)).any()):
            m.d.sync += skipped.eq(1)
        for warp in range(warps):
            answered = (records.answer.valid & records.answer.ready
                        & (records.answer.payload.warp == warp))
            with m.If(begins & (self.warp == warp)):
                m.d.sync += [waits[warp].eq(1), barred[warp].eq(skipped),
                             complete[warp].eq(entered)]
            with m.Elif(answered):
                m.d.sync += waits[warp].eq(0)
        self._skipped = skipped
        return waits, rds, barred, complete

    def _remember(self, m, records):
        """The memory. Returns for each warp the lanes in which the edge's records lie, of
        neighbours and of weights."""
        config, threads = self._config, self._config.threads
        fetched = records.fetched
        answers, given = answer_loads(m, self, records.load, fetched.ready)
        m.d.comb += [
            fetched.valid.eq(answers), fetched.payload.tag.eq(given.tag),
            fetched.payload.warp.eq(given.warp), fetched.payload.mask.eq(given.mask),
            fetched.payload.data.eq(self.words), records.store.ready.eq(self.stored),
        ]
        place = Signal(32)
        m.d.comb += place.eq((self.first + self.edge) << 2)
        for lane in range(threads):
            is_edge = given.address[lane] == Mux(given.tag == AccessTag.WEIGHTS,
                                                 (place + self.weights)[:32], place)
            m.d.comb += Assume(self.words[lane][0] == is_edge)

        rows = [[Signal(threads, name=f"record_{warp}_{part}") for part in range(2)]
                for warp in range(config.warps)]
        store, shift = records.store.payload, (4 * threads).bit_length() - 1
        with m.If(records.store.valid):
            number = store.address[0] >> shift
            m.d.comb += [Assert(store.address[lane] == (number << shift) + 4 * lane)
                         for lane in range(threads)]
            m.d.comb += Assert(number < config.warps << self.weights.any())
            for warp in range(config.warps):
                for part in range(2):
                    with m.If(Mux(self.weights.any(), number == 2 * warp + part,
                                  (number == warp) & (part == 0))):
                        m.d.sync += rows[warp][part].eq(
                            store.mask & Cat(word[0] for word in store.data))
        return rows

    def _judge(self, m, records, entered, waits, rds, barred, complete, rows):
        """Assert the contents of answers."""
        threads, port = self._config.threads, records.answer
        answer, everyone = port.payload, Const((1 << self._config.threads) - 1)
        m.d.comb += port.ready.eq(self.heard)
        answered = port.valid & port.ready
        mine = Cat(vid == self.vertex for vid in answer.data)
        works = Cat(vid != NONE for vid in answer.data)
        found = [Signal(threads, name=f"found_{part}") for part in range(2)]
        for part, mask in enumerate(found):
            m.d.comb += mask.eq(Array(row[part] for row in rows)[answer.warp] & mine)
        lanes = sum(mine[lane] for lane in range(threads))
        given = Signal(_DEGREE_BITS + 1)                 # edges of the vertex
        times = Signal(2)                                # records of the edge
        shares = Signal()                                # a work had edges of others beside

        def of(bits):
            return bits.bit_select(answer.warp, 1)
        with m.If(port.valid):
            m.d.comb += [
                Assert(of(waits)), Assert(answer.set_mask), Assert(answer.rd == rds[answer.warp]),
                Assert((works & (works + 1)[:threads]) == 0),
                Assert(answer.mask == Mux(works.any(), works, everyone)),
                Assert(~of(barred) | ~mine.any()), Assert(~mine.any() | entered),
                Assert(at_most_one(found[0], threads)),
                Assert(~self.weights.any() | (found[0] == found[1])),
                # The end: all edges were given out. Another warp's work may be on its way.
                Assert(works.any() | ~of(complete) | self._skipped | (given == self.degree)
                       | (waits & ~(1 << answer.warp)).any()),
            ]
        with m.If(answered):
            m.d.sync += [given.eq(given + lanes), times.eq(times + found[0].any()),
                         shares.eq(shares | (mine.any() & (works & ~mine).any()))]
        m.d.comb += [
            Assert(given <= self.degree), Assert(times <= 1),
            Assert((given != self.degree) | times.any()),
            Cover((given == self.degree) & (given > 1) & ~self.weights.any(),
                  "all edges of a vertex without weights"),
            Cover((given == self.degree) & self.weights.any(),
                  "all edges of a vertex with weights"),
            Cover(port.valid & ~works.any() & of(complete) & times.any(), "the end"),
            Cover(port.valid & ~works.any() & self._skipped & (given < self.degree),
                  "the end of a skipped vertex"),
        ]
        if threads > 1:
            m.d.comb += Cover(shares, "a work has edges of the vertex and others")
