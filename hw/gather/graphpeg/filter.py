"""The filter of edges: edges that cannot count are dropped, and the others fill rows anew."""

from amaranth.hdl import Assert, Cat, Const, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.bits import and_or, index_bits, lowest
from hw.gather.graphpeg.accesses import (LoadKind, arrival_layout, ask_layout, filter_rows,
                                         lanes_below, packed_rows)
from hw.gather.graphpeg.places import FreePlaces, RowLoader, RowOwners
from hw.gather.interface import warp_shape


__all__ = ["EdgeFilter"]


class EdgeFilter(wiring.Component):
    """Rows of edges that may count.

    The word of an edge's neighbour is compared with a bound, or with the word of the edge's base
    vertex, to which the weight may be added (:class:`~hw.operations.EdgeTest`). The filter takes
    rows from the edge buffer, asks for these words, and packs the edges whose test is true into
    rows. A warp keeps the last row that it was handed, until it asks again. Without a test, rows
    are handed on.

    Only the last row may be not full: it is packed when nothing comes any more.

    Latency: from a row's last data to the packed row, four cycles. Throughput: a row takes a load
    for each word of a vertex, and a cycle for each edge that is kept, plus one; a row of which all
    edges are kept takes two cycles if it does not have to share a row. A row handed out and a read
    a cycle.

    Members
    -------
    gathered : In(1)
        The edge buffer has a complete row.
    takes : Out(1)
        The row is taken. In the next cycle its words are at the following inputs, until the next
        one is taken.
    gives_back : Out(1)
        The place of the row that was taken is not needed any more. Not together with ``takes``.
    row_base, row_neighbor, row_weight : In(ArrayLayout(32, threads))
        The base vertices, neighbours and weights of the row's edges.
    row_mask : In(threads)
        Its lanes with an edge, the lowest.
    drained : In(1)
        The edge buffer has nothing, and nothing comes.
    test : In(5)
        Which edges are handed out, an :class:`~hw.operations.EdgeTest`; 0: all.
    weighted : In(1)
        Edges have weights; without, none is added.
    bound : In(32)
        What words are compared with, without ``BASE``.
    values, bases : In(32)
        Distance from a neighbour to the address of its word, and from a base vertex to its word's.
    ask, arrives, arrival
        As of :class:`~hw.gather.graphpeg.buffer.EdgeBuffer`, of the words of vertices.
    complete, pop, popper, base, mask, returns, warp, read, neighbor, weight
        As of :class:`~hw.gather.graphpeg.buffer.EdgeBuffer`.
    idle : Out(1)
        No edge is here that was not handed out.
    moves : Out(1)
        The filter goes on in the next cycle without anybody else.
    """
    def __init__(self, config):
        self._config = config
        lanes, ask = data.ArrayLayout(32, config.threads), ask_layout(config)
        super().__init__({
            "gathered": In(1), "takes": Out(1), "gives_back": Out(1),
            "row_base": In(lanes), "row_neighbor": In(lanes), "row_weight": In(lanes),
            "row_mask": In(config.threads), "drained": In(1),
            "test": In(5), "weighted": In(1), "bound": In(32), "values": In(32),
            "bases": In(32),
            "ask": Out(stream.Signature(ask)),
            "arrives": In(1), "arrival": In(arrival_layout(config)),
            "complete": Out(1), "pop": In(1), "popper": In(warp_shape(config)),
            "base": Out(lanes), "mask": Out(config.threads),
            "returns": In(1), "warp": In(warp_shape(config)),
            "read": In(1), "neighbor": Out(lanes), "weight": Out(lanes),
            "idle": Out(1), "moves": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        threads, rows = self._config.threads, filter_rows(self._config)
        tests = Signal()
        raw = Signal()                     # a row's words were read in the cycle before
        left = Signal(threads)             # its edges that are to be packed
        waiting = Signal(range(rows + 1))  # rows that have a place
        reads, steps, exhausts, empty = (
            Signal(name=name) for name in ("reads", "steps", "exhausts", "empty"))
        m.d.comb += tests.eq(self.test[:3].any())
        loader, done, held = self._take(m, tests)
        edge, value, own = ports = self._words(m, loader)
        m.d.comb += [
            reads.eq(done.r_rdy & ~raw & (~left.any() | exhausts)), done.r_en.eq(reads),
            loader.freed.eq(Mux(reads, Const(1, rows) << done.r_data, 0)),
            *(port.en.eq(reads) for port in ports), *(port.addr.eq(done.r_data) for port in ports),
            empty.eq(~held & ~waiting.any() & ~raw & ~left.any()),
        ]
        m.d.sync += [raw.eq(reads), waiting.eq(waiting + loader.reserves - reads)]
        take, packs, filled = self._pack(m, edge.data, left, steps, self.drained & empty)
        m.d.comb += exhausts.eq(steps & (left == take))
        with m.If(raw):
            m.d.sync += left.eq(edge.data.mask & Mux(
                tests, self._passes(m, edge.data, value.data, own.data), -1))
        with m.Elif(steps):
            m.d.sync += left.eq(left & ~take)
        m.d.comb += [
            self.idle.eq(empty & ~filled.any() & ~self.complete),
            self.moves.eq(self.takes | self.gives_back | loader.reserves | loader.chooses
                          | done.w_en | reads | raw | packs),
        ]
        return m

    def _take(self, m, tests):
        """Take rows of the edge buffer, and ask for the words of vertices. Returns the loader, the
        queue of rows that have all words, and whether a row is at the inputs."""
        config, rows = self._config, filter_rows(self._config)
        m.submodules.loader = loader = RowLoader(config, rows, (LoadKind.VALUES, LoadKind.BASES))
        m.submodules.done = done = SyncFIFO(width=index_bits(rows), depth=rows)
        held, leaves = Signal(name="held"), Signal(name="leaves")
        row = loader.row.payload
        m.d.comb += [
            leaves.eq(held & loader.row.ready),
            self.takes.eq(self.gathered & ~self.gives_back & (~held | leaves)),
            loader.row.valid.eq(held), row.mask.eq(self.row_mask),
            row.first.eq(self.row_neighbor), row.second.eq(self.row_base),
            loader.loads.eq(Cat(tests, tests & self.test[3])),
            loader.distances[0].eq(self.values), loader.distances[1].eq(self.bases),
            loader.arrives.eq(self.arrives), loader.arrival.eq(self.arrival),
            done.w_en.eq(loader.completes | loader.reserves & ~tests),
            done.w_data.eq(Mux(tests, self.arrival.place, loader.place)),
        ]
        connect(m, loader.ask, flipped(self.ask))
        m.d.sync += self.gives_back.eq(self.takes)
        with m.If(self.takes):
            m.d.sync += held.eq(1)
        with m.Elif(leaves):
            m.d.sync += held.eq(0)
        m.d.sync += Assert(~(~ResetSignal() & done.w_en & ~done.w_rdy), "a row is completed twice")
        return loader, done, held

    def _words(self, m, loader):
        """The words of rows that have a place. Returns a read port each: of the edges, of the
        neighbours' words, and of the base vertices'."""
        lanes, arrival = data.ArrayLayout(32, self._config.threads), self.arrival
        shapes = {"edges": data.StructLayout({"base": lanes, "neighbor": lanes, "weight": lanes,
                                              "mask": self._config.threads}),
                  "vertex_words": lanes, "base_words": lanes}
        stores = {name: memory.Memory(shape=shape, depth=filter_rows(self._config), init=[],
                                      attrs={"no_rw_check": 1}) for name, shape in shapes.items()}
        for name, store in stores.items():
            m.submodules[name] = store
        edge, value, own = (store.write_port() for store in stores.values())
        m.d.comb += [
            edge.en.eq(loader.reserves), edge.addr.eq(loader.place),
            edge.data.base.eq(self.row_base), edge.data.neighbor.eq(self.row_neighbor),
            edge.data.weight.eq(self.row_weight), edge.data.mask.eq(self.row_mask),
            value.en.eq(self.arrives & (arrival.kind == LoadKind.VALUES)),
            own.en.eq(self.arrives & (arrival.kind == LoadKind.BASES)),
            *(port.addr.eq(arrival.place) for port in (value, own)),
            *(port.data.eq(arrival.data) for port in (value, own)),
        ]
        return [store.read_port() for store in stores.values()]

    def _passes(self, m, edge, values, bases):
        """The lanes whose test is true."""
        above, below, equal, of_base, adds = self.test
        passes = Signal(self._config.threads, name="passes")
        for lane, value in enumerate(values):
            total = Signal(33, name=f"total_{lane}")
            other = Signal(32, name=f"other_{lane}")
            m.d.comb += [
                total.eq(Mux(of_base, bases[lane], self.bound)
                         + Mux(adds & self.weighted, edge.weight[lane], 0)),
                other.eq(total[:32] | total[32].replicate(32)),
                passes[lane].eq(above & (value > other) | below & (value < other)
                                | equal & (value == other)),
            ]
        return passes

    def _pack(self, m, edge, left, steps, over):
        """Pack the edges that are ``left``: a row that fits as it is at once, else one edge a
        cycle. ``steps`` becomes whether edges are packed; the last row is packed when all is
        ``over``. Returns the lanes whose edges are packed, whether anything goes on, and the
        number of edges in the row that is not full."""
        config, threads, rows = self._config, self._config.threads, packed_rows(self._config)
        m.submodules.places = places = FreePlaces(rows)
        m.submodules.owners = owners = RowOwners(config, rows)
        entry = data.StructLayout({"place": range(rows), "count": range(threads + 1)})
        m.submodules.ready = ready = SyncFIFO(width=entry.size, depth=rows)
        filled, total = (Signal(range(threads + 1), name=name) for name in ("filled", "total"))
        whole, full, ends, puts = (Signal(name=name) for name in ("whole", "full", "ends", "puts"))
        take, lanes = (Signal(threads, name=name) for name in ("take", "lanes"))
        put, got = Signal(entry, name="put"), Signal(entry, name="got")
        m.d.comb += [
            whole.eq((left == edge.mask) & ~filled.any()),
            take.eq(Mux(whole, left, lowest(m, left, name="next_edge"))),
            total.eq(Mux(whole, sum(edge.mask[lane] for lane in range(threads)), filled + 1)),
            steps.eq(left.any() & places.has_place),
            full.eq(total == threads), ends.eq(over & filled.any()),
            puts.eq(steps & full | ends),
            lanes.eq(Mux(steps, Mux(whole, edge.mask, Const(1, threads) << filled), 0)),
            put.place.eq(places.place), put.count.eq(Mux(ends, filled, threads)),
            ready.w_en.eq(puts), ready.w_data.eq(put), places.reserves.eq(puts),
            got.eq(ready.r_data), ready.r_en.eq(self.pop), self.complete.eq(ready.r_rdy),
            owners.pop.eq(self.pop), owners.popper.eq(self.popper), owners.popped.eq(got.place),
            owners.returns.eq(self.returns), owners.warp.eq(self.warp),
            places.freed.eq(owners.freed),
        ]
        with m.If(puts):
            m.d.sync += filled.eq(0)
        with m.Elif(steps):
            m.d.sync += filled.eq(total)
        with m.If(self.pop):
            m.d.sync += self.mask.eq(lanes_below(got.count, threads))
        for name in ("base", "neighbor", "weight"):
            m.submodules[f"packed_{name}"] = store = memory.Memory(
                shape=data.ArrayLayout(32, threads), depth=rows, init=[],
                attrs={"no_rw_check": 1})
            write, read = store.write_port(granularity=1), store.read_port()
            chosen = Signal(32, name=f"chosen_{name}")
            m.d.comb += [
                chosen.eq(and_or(take, list(edge[name]))), write.en.eq(lanes),
                write.addr.eq(places.place),
                *(write.data[lane].eq(Mux(whole, word, chosen))
                  for lane, word in enumerate(edge[name])),
                read.en.eq(self.pop if name == "base" else self.pop | self.read),
                read.addr.eq(Mux(self.pop, got.place, owners.place)),
                getattr(self, name).eq(read.data),
            ]
        started = ~ResetSignal()
        m.d.sync += [
            Assert(~(started & self.pop & ~ready.r_rdy), "no row is packed"),
            Assert(~(started & self.pop & self.read), "two rows are read"),
            Assert(~(started & puts & ~ready.w_rdy), "a row is packed twice"),
        ]
        return take, steps | ends | places.chooses, filled
