"""The edges of entries become works: as many edges as there are lanes."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.gather.table import entry_layout
from hw.gather.unit import lane_edges


__all__ = ["Works", "work_layout"]


def work_layout(config):
    """A work.

    Members
    -------
    vid : ArrayLayout(32, threads)
        The vertex IDs of the lanes' edges, undefined in lanes without an edge.
    edge : ArrayLayout(32, threads)
        The numbers of the edges.
    mask : unsigned(threads)
        Lanes with an edge, the lowest. If it is 0, no edge is left.
    """
    lanes = data.ArrayLayout(32, config.threads)
    return data.StructLayout({"vid": lanes, "edge": lanes, "mask": config.threads})


class Works(wiring.Component):
    """Fills the lanes of a work from entries, while a warp waits for a work.

    Throughput: an entry a cycle, or a work in two cycles if an entry has many edges.

    Members
    -------
    entry : In(stream(entry_layout))
        Entries in order.
    more : In(1)
        Entries are on offer, or on their way.
    wanted : In(1)
        A warp waits for a work.
    work : Out(stream(work_layout))
        A full work, or the last edges, or none.
    skip : In(1)
        End the entry being handed out if a lane of ``named`` has its ID.
    named, mask : In
        Vertex IDs, and the lanes that count.
    cut : Out(32)
        Number of edges that a SKIP has cut off in this cycle.
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            "entry": In(stream.Signature(entry_layout())), "more": In(1), "wanted": In(1),
            "work": Out(stream.Signature(work_layout(config))),
            "skip": In(1), "named": In(data.ArrayLayout(32, config.threads)),
            "mask": In(config.threads), "cut": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        threads = self._config.threads
        # The entry being handed out: its ID, its next edge, and how many edges it has left.
        vid, loc = (Signal(32, name=name, reset_less=True) for name in ("vid", "loc"))
        left = Signal(32)
        filled = Signal(range(threads + 1))
        room, count = Signal.like(filled), Signal.like(filled)
        fills, exhausts, skipped = (Signal(name=name) for name in ("fills", "exhausts", "skipped"))
        sealed = Signal()                  # the work is on offer: entries that come now wait
        entry, work = self.entry.payload, self.work.payload
        m.d.comb += [
            room.eq(threads - filled),
            count.eq(Mux(left < room, left[:len(count)], room)),
            fills.eq(self.wanted & left.any() & room.any() & ~sealed),
            exhausts.eq(fills & (count == left)),
            self.entry.ready.eq(~left.any() | exhausts),
            self.work.valid.eq(self.wanted & (~room.any() | sealed | ~left.any() & ~self.more)),
            work.mask.eq(Const((1 << threads) - 1, threads) >> room),
        ]
        m.d.sync += sealed.eq(self.work.valid & ~self.work.ready)
        # A SKIP is compared with the entry in one cycle and ends it in the next. An entry that
        # comes in either cycle is a different entry, and is not ended.
        comes = self.entry.valid & self.entry.ready
        m.d.sync += skipped.eq(self.skip & ~comes & (
            self.mask & Cat(named == vid for named in self.named)).any())
        with m.If(comes):
            m.d.sync += [vid.eq(entry.vid), loc.eq(entry.loc), left.eq(entry.degree)]
        with m.Elif(skipped):
            m.d.comb += self.cut.eq(left - Mux(fills, count, 0))
            m.d.sync += left.eq(0)
        with m.Elif(fills):
            m.d.sync += [loc.eq(loc + count), left.eq(left - count)]
        with m.If(self.work.valid & self.work.ready):
            m.d.sync += filled.eq(0)
        with m.Elif(fills):
            m.d.sync += filled.eq(filled + count)

        first = Signal(32)
        m.d.comb += first.eq(loc - filled)
        vids, numbers = lane_edges(m, threads, fills, filled, vid, first)
        m.d.comb += [work.vid[lane].eq(vids[lane]) for lane in range(threads)]
        m.d.comb += [work.edge[lane].eq(numbers[lane]) for lane in range(threads)]
        return m
