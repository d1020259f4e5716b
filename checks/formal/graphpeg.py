"""The promises of GraphPEG: each input vertex gives its entry once, each edge of an entry is handed
out once, and the places of the edge buffer suffice.

The unit has a harness for each of two halves, and the other half is free. :class:`VertexPromise`
follows one vertex of the input, :class:`EdgePromise` one edge of one entry. All vertices and all
edges are alike, so what holds for these holds for all. The harness is the memory: it gives the
vertex its offsets, and the edge's neighbour and weight a bit that no other edge has. All else that
it gives is free. Loads are answered in any order, at any time. These proofs are bounded: they hold
for the first cycles after reset.

:class:`PlacePromise` states where each place of the edge buffer is. This proof is by induction.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect

from checks.formal.answering import answer_inputs, answer_loads, at_most_one, steady
from checks.formal.peek import Peek
from checks.formal.places import LoaderPlaces, QueuedPlaces
from checks.formal.streams import hold
from hw.gather.graphpeg.accesses import LoadKind, arrival_layout, ask_layout, buffer_rows
from hw.gather.graphpeg.alwt import AdjacencyTable
from hw.gather.graphpeg.buffer import EdgeBuffer
from hw.gather.graphpeg.edges import Edges, row_layout
from hw.gather.graphpeg.vertices import InputList
from hw.gather.interface import entry_layout, warp_shape
from hw.operations import NONE


__all__ = ["EdgePromise", "PlacePromise", "VertexPromise"]


#: Bits of a degree, and of a number of vertices.
_DEGREE_BITS, _COUNT_BITS = 2, 2

#: Bits of the addresses of the list and of offsets that are not 0.
_ADDRESS_BITS = 8


class VertexPromise(wiring.Component):
    """The input list and the table, their memory, and their promise.

    Parameters
    ----------
    config : HardwareConfig
        A small shape, with ``gather="graphpeg"``.
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            "vertex": In(32), "sindex": In(32), "eindex": In(32), "offsets": In(32),
            "first": In(32), "count": In(_COUNT_BITS), "ranges": In(1), "start": In(1),
            "place": In(_COUNT_BITS),                   # the vertex's place among the input
            "of_table": In(1),                          # the table's access goes first
            "entry": Out(stream.Signature(entry_layout())),
            **answer_inputs(config),
        })

    def elaborate(self, platform):
        m = Module()
        config, threads = self._config, self._config.threads
        m.submodules.inputs = inputs = InputList(config)
        m.submodules.table = table = AdjacencyTable(config)
        connect(m, inputs.group, table.group)
        connect(m, table.entry, wiring.flipped(self.entry))
        steady(m, self, "vertex", "sindex", "eindex", "offsets", "first", "count", "ranges",
               "place")
        started = Signal()
        m.d.sync += started.eq(started | self.start)
        m.d.comb += [
            # Small addresses: the adders would take most of the time of the proof.
            *(Assume(value[_ADDRESS_BITS:] == 0)
              for value in (self.vertex, self.offsets, self.first)),
            Assume(~ResetSignal()), Assume(~(self.start & started)),
            Assume(self.place < self.count),
            inputs.start.eq(self.start), inputs.count.eq(self.count),
            inputs.first.eq(self.first), inputs.ranges.eq(self.ranges),
            table.offsets.eq(self.offsets),
        ]

        # One load at a time is on offer.
        joined = stream.Signature(ask_layout(config)).create(path=("joined",))
        turn, waits, was = Signal(), Signal(), Signal()
        m.d.comb += [
            turn.eq(Mux(waits, was, Mux(inputs.ask.valid, self.of_table & table.ask.valid, 1))),
            joined.valid.eq(Mux(turn, table.ask.valid, inputs.ask.valid)),
            joined.payload.eq(Mux(turn, table.ask.payload.as_value(),
                                  inputs.ask.payload.as_value())),
            table.ask.ready.eq(joined.ready & turn), inputs.ask.ready.eq(joined.ready & ~turn),
        ]
        m.d.sync += [waits.eq(joined.valid & ~joined.ready), was.eq(turn)]
        answers, given = answer_loads(m, self, joined, 1)
        of_list = given.kind == LoadKind.VERTICES
        for part in (inputs, table):
            m.d.comb += [part.arrival.data.eq(self.words), part.arrival.kind.eq(given.kind),
                         part.arrival.place.eq(given.place)]
        m.d.comb += [inputs.arrives.eq(answers & of_list), table.arrives.eq(answers & ~of_list)]

        # The memory: the vertex is in its place of the list only, and its offsets follow it.
        spot = Signal(32)
        m.d.comb += [spot.eq(self.first + 4 * self.place),
                     Assume(~self.ranges | (spot == self.vertex))]
        for lane in range(threads):
            address = Signal(32, name=f"address_{lane}")
            word = self.words[lane]
            behind = Signal(32, name=f"behind_{lane}")
            m.d.comb += [
                address.eq(given.word[lane] + given.distance
                           + Mux(given.pairs, 4 * (lane % 2), 0)),
                behind.eq(address - self.vertex - self.offsets),
                Assume(~(of_list & given.mask[lane])
                       | ((word == self.vertex) == (address == spot))),
                Assume(of_list | (behind != 0) | (word == self.sindex)),
                Assume(of_list | (behind != 4) | (word == self.eindex)),
            ]

        taken = self.entry.valid & self.entry.ready
        is_vertex = self.entry.valid & (self.entry.payload.vertex == self.vertex)
        times, others = Signal(2), Signal(_COUNT_BITS + 1)
        ended = Signal()
        m.d.sync += [times.eq(times + (taken & is_vertex)),
                     others.eq(others + (taken & ~is_vertex))]
        m.d.comb += [
            ended.eq(started & inputs.empty & table.idle),
            Assert(~is_vertex | ((self.entry.payload.sindex == self.sindex)
                                 & (self.entry.payload.eindex == self.eindex))),
            Assert(~self.entry.valid | started), Assert(times <= 1),
            Assert(~ended | ((times == 1) & (times + others == self.count))),
            Assert(~(table.idle & self.entry.valid)),
            Cover(ended & ~self.ranges, "a list ends"),
            Cover(ended & self.ranges & (self.count > 1), "a range ends"),
        ]
        hold(m, table.entry, name="entry")
        hold(m, table.ask, name="offsets")
        hold(m, inputs.ask, name="list")
        return m


class EdgePromise(wiring.Component):
    """The parts that fill rows and buffer them, their memory, and their promise.

    Parameters
    ----------
    config : HardwareConfig
        A small shape, with ``gather="graphpeg"``.
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            "vertex": In(32), "first": In(30), "degree": In(_DEGREE_BITS),
            "edge": In(_DEGREE_BITS),                   # the edge's number among the vertex's
            "weights": In(32),
            "entry": In(stream.Signature(entry_layout())), "more": In(1),
            "pop": In(1), "popper": In(warp_shape(config)),
            **answer_inputs(config),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.edges = edges = Edges(config)
        m.submodules.buffer = buffer = EdgeBuffer(config)
        connect(m, wiring.flipped(self.entry), edges.entry)
        connect(m, edges.row, buffer.row)
        steady(m, self, "vertex", "first", "degree", "edge", "weights")
        hold(m, self.entry, name="entry", rule=Assume)
        entry = self.entry.payload
        is_vertex = self.entry.valid & (entry.vertex == self.vertex)
        entered, over = Signal(), Signal()
        m.d.sync += [entered.eq(entered | is_vertex & self.entry.ready), over.eq(over | ~self.more)]
        m.d.comb += [
            Assume(~ResetSignal()), Assume(self.vertex != NONE), Assume(self.edge < self.degree),
            # No entry comes when no more were announced.
            Assume(~(over & self.more)), Assume(~self.entry.valid | self.more),
            Assume(~is_vertex | ~entered), Assume(~self.entry.valid | (entry.vertex != NONE)),
            Assume(~is_vertex | ((entry.sindex == self.first)
                                 & (entry.eindex - entry.sindex == self.degree)[:32])),
            edges.more.eq(self.more), buffer.weights.eq(self.weights),
        ]
        self._remember(m, buffer)
        self._judge(m, edges, buffer, entered)
        hold(m, edges.row, name="row")
        hold(m, buffer.ask, name="ask")
        return m

    def _remember(self, m, buffer):
        """The memory: bit 0 tells the edge."""
        answers, given = answer_loads(m, self, buffer.ask, 1)
        m.d.comb += [buffer.arrives.eq(answers), buffer.arrival.data.eq(self.words),
                     buffer.arrival.kind.eq(given.kind), buffer.arrival.place.eq(given.place)]
        place = Signal(32)
        m.d.comb += place.eq((self.first + self.edge) << 2)
        of_weights = given.kind == LoadKind.WEIGHTS
        for lane in range(self._config.threads):
            address = (given.word[lane] + given.distance)[:32]
            is_edge = address == Mux(of_weights, (place + self.weights)[:32], place)
            m.d.comb += Assume(self.words[lane][0] == is_edge)

    def _judge(self, m, edges, buffer, entered):
        """Pop rows, read each a cycle later, and assert their contents.

        A warp has one row: it returns its row in the cycle before it pops again.
        """
        threads, weighted = self._config.threads, self.weights.any()
        pops, reads, judges = Signal(), Signal(), Signal()
        warp, was_warp = Signal.like(self.popper), Signal.like(self.popper)
        m.d.comb += [
            pops.eq(self.pop & buffer.complete & ~reads & ~judges),
            Assume(self.popper < self._config.warps),
            buffer.pop.eq(pops), buffer.popper.eq(self.popper),
            buffer.read.eq(reads), buffer.warp.eq(Mux(reads, warp, was_warp)),
            buffer.returns.eq(judges),
        ]
        mask = Signal(threads)
        mine = Signal(threads)
        m.d.sync += [reads.eq(pops), judges.eq(reads), warp.eq(self.popper), was_warp.eq(warp)]
        with m.If(reads):
            m.d.sync += [mask.eq(buffer.mask), mine.eq(
                buffer.mask & Cat(base == self.vertex for base in buffer.base))]
            m.d.comb += [
                Assert(buffer.mask.any()),
                Assert((buffer.mask & (buffer.mask + 1)[:threads]) == 0),
                # A row that is not full is the last one.
                Assert(buffer.mask.all() | buffer.idle & edges.idle),
            ]
        found, beside = Signal(threads), Signal(threads)
        given, times, shares = Signal(_DEGREE_BITS + 1), Signal(2), Signal()
        m.d.comb += [
            found.eq(mine & Cat(word[0] for word in buffer.neighbor)),
            beside.eq(mine & Cat(word[0] for word in buffer.weight)),
        ]
        with m.If(judges):
            m.d.comb += [
                Assert(~mine.any() | entered), Assert(at_most_one(found, threads)),
                Assert(~weighted | (found == beside)),
            ]
            m.d.sync += [given.eq(given + sum(mine[lane] for lane in range(threads))),
                         times.eq(times + found.any()),
                         shares.eq(shares | mine.any() & (mask & ~mine).any())]
        ended = Signal()
        m.d.comb += [
            ended.eq(entered & buffer.idle & edges.idle & ~reads & ~judges),
            Assert(given <= self.degree), Assert(times <= 1),
            Assert((given != self.degree) | (times == 1)),
            Assert(~ended | (given == self.degree)),
            Cover(ended & (given > 1) & ~weighted, "all edges of a vertex without weights"),
            Cover(ended & weighted, "all edges of a vertex with weights"),
        ]
        if threads > 1:
            m.d.comb += Cover(shares, "a row has edges of the vertex and others")


class PlacePromise(wiring.Component):
    """The edge buffer, and where its places are.

    Each place is free, chosen for the next row, awaits data, complete, or a warp's: one of these,
    once. So no more rows are reserved than there are places, and no row gets another's place. The
    harness counts the data that each place awaits.

    Parameters
    ----------
    config : HardwareConfig
        A small shape, with ``gather="graphpeg"``.
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            "row": In(stream.Signature(row_layout(config))), "weights": In(32), "taken": In(1),
            "arrives": In(1), "arrival": In(arrival_layout(config)), "pop": In(1),
            "popper": In(warp_shape(config)), "returns": In(1), "warp": In(warp_shape(config)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        dut = EdgeBuffer(config)
        peek = Peek(dut)
        m.submodules.dut = peek.fragment
        rows, warps = range(buffer_rows(config)), range(config.warps)
        steady(m, self, "weights")
        hold(m, self.row, name="row", rule=Assume)
        weighted = Signal()
        signal = peek.signal
        owners, owned = signal("owners", "owners"), peek.memory("owners", "owned")
        m.d.comb += [
            weighted.eq(self.weights.any()), Assume(~ResetSignal()),
            Assume(self.warp < len(warps)), Assume(self.popper < len(warps)),
            Assume(~self.row.valid | self.row.payload.mask.any()),
            dut.row.valid.eq(self.row.valid), dut.row.payload.eq(self.row.payload),
            self.row.ready.eq(dut.row.ready), dut.weights.eq(self.weights),
            dut.ask.ready.eq(self.taken),
            dut.arrives.eq(self.arrives), dut.arrival.eq(self.arrival),
            dut.pop.eq(self.pop), dut.popper.eq(self.popper),
            dut.returns.eq(self.returns), dut.warp.eq(self.warp),
            # Only a complete row is popped, by a warp without a row.
            Assume(~self.pop | dut.complete & ~owners.bit_select(self.popper, 1)),
        ]

        places = LoaderPlaces(m, peek, self, dut.ask, rows, weighted,
                              (LoadKind.NEIGHBORS, LoadKind.WEIGHTS))
        queue = QueuedPlaces(m, peek, "done", rows)
        waiting, last = signal("waiting"), signal("last")
        has_last, last_waits = signal("has_last"), signal("last_waits")
        for row in rows:
            kept = [owners[warp] & (owned[warp] == row) for warp in warps]
            m.d.comb += Assert(sum([*places.states(row), last_waits & (last == row),
                                    *queue.states(row), *kept]) == 1)
        m.d.comb += [
            Assert(~has_last | (last < len(rows))),
            *(Assert(~owners[warp] | (owned[warp] < len(rows))) for warp in warps),
            # A row that is not full awaits data, or is complete and waits.
            Assert(~last_waits | has_last),
            Assert(~has_last | last_waits | Array(places.loading)[last]),
            Assert(waiting == sum(places.loading) + queue.level + last_waits),
            # No row follows it.
            Assume(~(self.row.valid & ~places.seconds & has_last)),
        ]
        m.d.comb += [
            Cover(places.none, "all places are taken"),
            Cover(self.pop & places.none, "a row is handed out of a full buffer"),
            Cover(last_waits & (queue.level > 0), "the last row waits"),
        ]
        return m
