"""The unit that gathers edges and keeps vertex lists: ``graphpeg`` (GraphPEG, TACO 2021)."""

from amaranth.hdl import Assert, Cat, Module, Mux, ResetInserter, ResetSignal, Signal
from amaranth.lib import data, enum
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import connect, flipped

from hw.gather.graphpeg.accesses import Accesses, LoadKind
from hw.gather.graphpeg.alwt import AdjacencyTable
from hw.gather.graphpeg.buffer import EdgeBuffer
from hw.gather.graphpeg.edges import Edges
from hw.gather.graphpeg.exchange import ExchangeUnit
from hw.gather.graphpeg.filter import EdgeFilter
from hw.gather.graphpeg.vertices import InputList, OutputList
from hw.gather.interface import warp_shape
from hw.gather.unit import GatheringUnit
from hw.operations import NONE, GatherOp, GatherSetting
from hw.streams import check_stream


__all__ = ["GraphPeg"]


#: Settings of the filter.
_TESTS = GatherSetting.BOUND, GatherSetting.VALUES, GatherSetting.BASES, GatherSetting.TEST


class _Source(enum.Enum, shape=3):
    """Where the words of an answer come from."""
    NOTHING  = 0
    EDGES    = 1
    VERTICES = 2
    NEIGHBOR = 3
    WEIGHT   = 4
    HEADS    = 5       # the neighbours of the edges that are handed out


class GraphPeg(GatheringUnit):
    """Gathers the edges of a list of vertices, and keeps the list of vertices for the next launch.

    A warp tells the unit how many vertices there are, and where. The unit reads the list ahead
    (:class:`~hw.gather.graphpeg.vertices.InputList`). The table asks for the offsets of vertices
    (:class:`~hw.gather.graphpeg.alwt.AdjacencyTable`). The edges of its entries fill rows
    (:class:`~hw.gather.graphpeg.edges.Edges`), which the edge buffer loads and hands to warps
    (:class:`~hw.gather.graphpeg.buffer.EdgeBuffer`). Vertices that warps push go to the output list
    (:class:`~hw.gather.graphpeg.vertices.OutputList`). All accesses leave through
    :class:`~hw.gather.graphpeg.accesses.Accesses`.

    With a filter (:class:`~hw.gather.graphpeg.filter.EdgeFilter`) edges are tested behind the edge
    buffer, if the setting TEST says so: those whose test is false are dropped, and a row may have
    edges of several rows, in any order.

    Every other edge of an input vertex is handed out once. Rows come in the order in which memory
    completes them. The edges of a vertex rise by lanes within a row.

    A vertex is a word whose distance from the address of its offset is the same for all vertices.
    Two offsets that follow each other are the numbers of the words at which the edges of a vertex
    begin and end: the neighbour of edge e is the word at address 4 e.

    Instructions
        SET stores lane 0's rs1 as the setting whose number is in the instruction
        (:class:`~hw.operations.GatherSetting`), if lane 0 is in the mask. Settings are 0 after a
        launch. They change while the unit is idle. The value that a setting has may be stored again
        at any time.

        SET of START begins with as many vertices as the value says. Bit 31: the vertices are INPUT,
        INPUT + 4, and so on; otherwise they are the words from INPUT on. Bit 30: warps take the
        vertices themselves. A later START needs the answers that nothing is left.

        SET of CLOSE stores the rest of the output list, and the number of its vertices at COUNT. It
        comes behind all pushes.

        With an exchange a row that is not full, and the end, wait until each core that has a warp
        has started and has no entry: until then edges may come from other cores.

        DEC_ID is answered with the base vertices of the lanes' edges, POP_VERT with vertices. Lanes
        without one read all ones and are not in the response's mask. If no lane has one, all lanes
        are in the mask. The answer waits for a full row, or for the end of all rows; before START
        it waits. The other instruction's mode has nothing left at any time.

        DEC is a DEC_ID whose answer is followed by the neighbours of the edges, all ones in lanes
        without an edge. The neighbours set the mask.

        NEIGHBOR and WEIGHT are answered with the words of the edges that the warp's last DEC_ID
        gave. A weight is undefined if the setting WEIGHTS is 0.

        PUSH appends vertices to the output list, in the order of the lanes. If the list has LIMIT
        vertices, the store of the next one fails.

    Timing
        A request is accepted at once, but for these: NEIGHBOR and WEIGHT wait until an answer
        leaves, PUSH until the vertices of the PUSH before are in the ring, one a cycle, and PUSH
        and CLOSE until the list is closed. NEIGHBOR and WEIGHT are answered a cycle later. An
        answer leaves every cycle while complete rows are there. As many loads are under way as the
        configuration has ``gather_requests``.

    Parameters and errors are those of :class:`hw.gather.unit.GatheringUnit`.

    Members
    -------
    request, response, reset, events, access, fetched, busy, exchange
        As in :func:`hw.gather.interface.unit_signature`.
    """
    variant = "graphpeg"

    def elaborate(self, platform):
        m = Module()
        config, request = self._config, self.request.payload
        accepted = Signal()
        m.d.comb += accepted.eq(self.request.valid & self.request.ready)

        def offered(op):
            return self.request.valid & (request.op == op)

        # Settings, and the warp that a failing access reports.
        setting = Signal()
        warp = Signal(warp_shape(self._config))
        m.d.comb += setting.eq(accepted & (request.op == GatherOp.SET) & request.mask[0])
        settings = {name: Signal(32, name=name.name.lower()) for name in (
            GatherSetting.OFFSETS, GatherSetting.WEIGHTS, GatherSetting.INPUT, GatherSetting.OUTPUT,
            GatherSetting.LIMIT, GatherSetting.COUNT, *(_TESTS if config.graphpeg_filter else ()))}
        for name, value in settings.items():
            with m.If(setting & (request.rd == name.value)):
                m.d.sync += value.eq(request.vid[0])
        with m.If(setting):
            m.d.sync += warp.eq(request.warp)

        # Parts.
        m.submodules.inputs = inputs = InputList(config)
        m.submodules.table = table = AdjacencyTable(config)
        m.submodules.edges = edges = Edges(config)
        m.submodules.buffer = buffer = EdgeBuffer(config)
        m.submodules.outputs = outputs = OutputList(config)
        m.submodules.accesses = accesses = Accesses(config, 3 + config.graphpeg_filter)
        connect(m, inputs.group, table.group)
        connect(m, edges.row, buffer.row)
        connect(m, outputs.store, accesses.store)
        for part, port in zip((inputs, table, buffer), accesses.asks):
            connect(m, part.ask, port)
        connect(m, accesses.access, flipped(self.access))
        connect(m, flipped(self.fetched), accesses.fetched)
        kind = accesses.arrival.kind
        of_edges = (kind == LoadKind.NEIGHBORS) | (kind == LoadKind.WEIGHTS)
        start = setting & (request.rd == GatherSetting.START.value)
        m.d.comb += [
            accesses.warp.eq(warp),
            *(part.arrival.eq(accesses.arrival) for part in (inputs, table, buffer)),
            inputs.arrives.eq(accesses.arrives & (kind == LoadKind.VERTICES)),
            buffer.arrives.eq(accesses.arrives & of_edges),
            table.arrives.eq(accesses.arrives & (
                (kind == LoadKind.OFFSETS) | (kind == LoadKind.ENDS))),
            inputs.start.eq(start), inputs.count.eq(request.vid[0]),
            inputs.rows.eq(request.vid[0][30]), inputs.ranges.eq(request.vid[0][31]),
            inputs.first.eq(settings[GatherSetting.INPUT]),
            table.offsets.eq(settings[GatherSetting.OFFSETS]),
            buffer.weights.eq(settings[GatherSetting.WEIGHTS]),
            outputs.push.valid.eq(offered(GatherOp.PUSH) & ~self.reset),
            outputs.push.payload.vertex.eq(request.vid), outputs.push.payload.mask.eq(request.mask),
            outputs.close.eq(setting & (request.rd == GatherSetting.CLOSE.value)),
            outputs.output.eq(settings[GatherSetting.OUTPUT]),
            outputs.limit.eq(settings[GatherSetting.LIMIT]),
            outputs.counter.eq(settings[GatherSetting.COUNT]),
        ]
        more = Signal()                # entries may come
        drained = Signal()             # all rows have left the edge buffer
        m.d.comb += [edges.more.eq(more), drained.eq(~more & edges.idle & buffer.idle)]
        rows, moves = buffer, buffer.moves      # where warps' rows come from
        if config.graphpeg_filter:
            rows = self._filter(m, settings, buffer, accesses, drained)
            moves |= rows.moves
        come = ~table.idle | ~inputs.empty
        if config.exchanges:
            self._exchange(m, table, edges, buffer, start & ~request.vid[0][30], come, more)
        else:
            connect(m, table.entry, edges.entry)
            m.d.comb += more.eq(come)
        reads = self._answers(m, accepted, inputs, rows, start, drained & rows.idle)

        # Requests.
        m.d.comb += self.request.ready.eq(~self.reset & Mux(
            request.op == GatherOp.PUSH, outputs.push.ready, Mux(
                request.op == GatherOp.SET,
                ~(outputs.closing & (request.rd == GatherSetting.CLOSE.value)), reads)))
        # Each part that goes on in the next cycle says so: no cycle is left out.
        m.d.comb += self.busy.eq(
            accesses.busy | outputs.busy | self.response.valid | accepted | edges.moves
            | moves | inputs.moves | self._answering)
        check_stream(m, self.request, name="request")
        check_stream(m, self.response, name="response")
        check_stream(m, self.access, name="access")
        return ResetInserter(self.reset)(m)

    def _filter(self, m, settings, buffer, accesses, drained):
        """A filter behind the edge buffer, which has no other reader then. Returns it."""
        m.submodules.filter = unit = EdgeFilter(self._config)
        kind = accesses.arrival.kind
        connect(m, unit.ask, accesses.asks[3])
        m.d.comb += [
            unit.gathered.eq(buffer.complete), buffer.pop.eq(unit.takes),
            buffer.returns.eq(unit.gives_back), unit.row_base.eq(buffer.base),
            unit.row_neighbor.eq(buffer.neighbor), unit.row_weight.eq(buffer.weight),
            unit.row_mask.eq(buffer.mask), unit.drained.eq(drained),
            unit.arrival.eq(accesses.arrival), unit.arrives.eq(accesses.arrives & (
                (kind == LoadKind.VALUES) | (kind == LoadKind.BASES))),
            unit.bound.eq(settings[GatherSetting.BOUND]),
            unit.values.eq(settings[GatherSetting.VALUES]),
            unit.bases.eq(settings[GatherSetting.BASES]),
            unit.weighted.eq(settings[GatherSetting.WEIGHTS].any()),
            unit.test.eq(settings[GatherSetting.TEST]),
        ]
        return unit

    def _exchange(self, m, table, edges, buffer, start, come, more):
        """Edges go to other cores, and come from other cores. Entries of the input ``come``."""
        m.submodules.exchange = unit = ExchangeUnit()
        connect(m, unit.registers, flipped(self.exchange))
        popped = Signal()
        m.d.sync += popped.eq(buffer.pop)
        m.d.comb += [
            unit.start.eq(start), unit.empty.eq(~come & (edges.left == 0)),
            more.eq(come | unit.registers.open), unit.came.eq(table.came),
            unit.popped.eq(Mux(popped, sum(buffer.mask[lane]
                                           for lane in range(self._config.threads)), 0)),
            table.search.eq(unit.search), unit.searched.eq(table.searched),
            unit.largest.eq(table.largest), unit.largest_size.eq(table.largest_size),
            table.raises.eq(unit.raises), table.sindex.eq(unit.sindex),
            unit.raised.eq(table.raised),
            unit.current.eq(edges.current), unit.left.eq(edges.left),
            edges.gives.eq(unit.gives), edges.amount.eq(unit.amount),
            # An entry of another core goes first.
            edges.entry.valid.eq(unit.entry.valid | table.entry.valid),
            edges.entry.payload.eq(Mux(unit.entry.valid, unit.entry.payload.as_value(),
                                       table.entry.payload.as_value())),
            unit.entry.ready.eq(edges.entry.ready),
            table.entry.ready.eq(edges.entry.ready & ~unit.entry.valid),
        ]

    def _answers(self, m, accepted, inputs, rows, start, ended):
        """Answers, one a cycle; ``ended`` is high when no edge is left, and none comes.

        Returns whether a request that does not wait can be taken: DEC_ID and POP_VERT always,
        NEIGHBOR and WEIGHT if their answer has a place.
        """
        config, threads, request = self._config, self._config.threads, self.request.payload
        answer = self.response.payload

        # Warps that wait for edges or vertices.
        asks, of_vertices = (Signal(name=name) for name in ("asks", "of_vertices"))
        shape = data.StructLayout({"warp": warp_shape(config), "rd": 5, "rd2": 5, "vertices": 1,
                                   "fused": 1})
        head = Signal(shape)
        m.submodules.pending = pending = SyncFIFO(width=shape.size, depth=config.warps)
        m.d.comb += [
            of_vertices.eq(request.op == GatherOp.POP_VERT),
            asks.eq(accepted & (of_vertices | (request.op == GatherOp.DEC_ID)
                                | (request.op == GatherOp.DEC))),
            pending.w_en.eq(asks),
            pending.w_data.eq(Cat(request.warp, request.rd, request.rd2, of_vertices,
                                  request.op == GatherOp.DEC)),
            head.eq(pending.r_data), rows.returns.eq(asks), rows.warp.eq(request.warp),
        ]

        # The first of them has an answer: a row, or the end.
        # ``lists``: the input is in vertex-list mode
        started, lists = (
            Signal(name=name) for name in ("started", "lists"))
        with m.If(start):
            m.d.sync += [started.eq(1), lists.eq(request.vid[0][30])]
        free, reads, nothing, found, pops = (
            Signal(name=name) for name in ("free", "reads", "nothing", "found", "pops"))
        follows = Signal()                         # another answer follows the one on offer
        reading = (request.op == GatherOp.NEIGHBOR) | (request.op == GatherOp.WEIGHT)
        m.d.comb += [
            nothing.eq(started & Mux(
                head.vertices == lists, Mux(lists, inputs.empty, ended), 1)),
            found.eq(Mux(head.vertices, inputs.complete, rows.complete)),
            free.eq((~self.response.valid | self.response.ready) & ~follows),
            reads.eq(accepted & reading),
            pops.eq(pending.r_rdy & (found | nothing) & free & ~reads),
            pending.r_en.eq(pops), rows.popper.eq(head.warp),
            rows.pop.eq(pops & ~head.vertices & rows.complete),
            inputs.pop.eq(pops & head.vertices & inputs.complete),
            rows.read.eq(reads),
        ]

        # The answer on offer. Its words stay at the outputs of the memories. The base vertices of a
        # DEC are followed by the neighbours, which set the mask.
        source = Signal(_Source)
        mask = Signal(threads)
        of_pop = Signal()
        rd2 = Signal(5)
        with m.If(free):
            m.d.sync += [self.response.valid.eq(pops | reads), of_pop.eq(pops & ~head.fused),
                         follows.eq(pops & head.fused), rd2.eq(head.rd2)]
        with m.Elif(self.response.ready):
            m.d.sync += [follows.eq(0), of_pop.eq(1), answer.rd.eq(rd2)]
            with m.If(source == _Source.EDGES):
                m.d.sync += source.eq(_Source.HEADS)
        with m.If(reads):
            m.d.sync += [answer.warp.eq(request.warp), answer.rd.eq(request.rd),
                         mask.eq(request.mask),
                         source.eq(Mux(request.op == GatherOp.WEIGHT, _Source.WEIGHT,
                                       _Source.NEIGHBOR))]
        with m.Elif(pops):
            m.d.sync += [answer.warp.eq(head.warp), answer.rd.eq(head.rd),
                         source.eq(Mux(~found, _Source.NOTHING,
                                       Mux(head.vertices, _Source.VERTICES, _Source.EDGES)))]
        lanes = Signal(threads)
        with m.Switch(source):
            with m.Case(_Source.NOTHING):
                m.d.comb += [answer.data.as_value().eq(-1), lanes.eq(-1)]
            with m.Case(_Source.EDGES):
                m.d.comb += [lanes.eq(rows.mask), *(
                    answer.data[lane].eq(Mux(rows.mask[lane], rows.base[lane], NONE))
                    for lane in range(threads))]
            with m.Case(_Source.HEADS):
                m.d.comb += [lanes.eq(rows.mask), *(
                    answer.data[lane].eq(Mux(rows.mask[lane], rows.neighbor[lane], NONE))
                    for lane in range(threads))]
            with m.Case(_Source.VERTICES):
                m.d.comb += [lanes.eq(inputs.mask), *(
                    answer.data[lane].eq(Mux(inputs.mask[lane], inputs.vertex[lane], NONE))
                    for lane in range(threads))]
            with m.Case(_Source.NEIGHBOR):
                m.d.comb += [lanes.eq(mask), answer.data.eq(rows.neighbor)]
            with m.Case(_Source.WEIGHT):
                m.d.comb += [lanes.eq(mask), answer.data.eq(rows.weight)]
        m.d.comb += [answer.set_mask.eq(of_pop),
                     answer.mask.eq(lanes | follows.replicate(threads))]

        # Warps whose question has no answer.
        asking = Signal(range(config.warps + 1))
        self._answering = pending.r_rdy & (found | nothing)
        m.d.comb += [
            self.events.decoded.eq(self.response.valid & self.response.ready & of_pop),
            self.events.waiting.eq(asking.any()),
        ]
        m.d.sync += [asking.eq(asking + asks - self.events.decoded),
                     Assert(~(~ResetSignal() & pending.w_en & ~pending.w_rdy))]
        return Mux(reading, free, 1)
