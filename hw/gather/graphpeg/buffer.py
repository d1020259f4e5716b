"""The edge buffer: rows of edges are asked for, completed by memory, and handed to warps."""

from amaranth.hdl import Assert, Cat, Const, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hw.bits import encode, index_bits, lowest
from hw.gather.graphpeg.accesses import LoadKind, arrival_layout, ask_layout, buffer_rows
from hw.gather.graphpeg.edges import row_layout
from hw.gather.interface import warp_shape


__all__ = ["EdgeBuffer"]


class EdgeBuffer(wiring.Component):
    """Rows of base vertices, neighbours and weights.

    A row of edges gets a place in the buffer before its neighbours are asked for, and its weights
    behind these. When all data have come, the row is complete. Complete rows are handed out in the
    order of their completion, but a row that is not full waits until it is the only one. A warp
    keeps the last row that it was handed, until it asks again.

    The buffer has ``edge_buffer_rows`` places that gather ahead, and one more for each warp. At
    most one place waits for a row.

    Latency: a row is complete in the cycle after its last data. A row that is handed out, and words
    that are read, are at the outputs in the next cycle, and stay until the next row or read.
    Throughput: a row asked for, a row completed, a row handed out and a read a cycle; with weights,
    a row asked for in two cycles.

    Members
    -------
    row : In(stream(row_layout))
        Rows of edges. A row that is not full is the last one: another may only follow when it has
        been handed out.
    weights : In(32)
        Distance from the address of a neighbour to that of the weight; 0 if there are no weights.
    ask : Out(stream(ask_layout))
        Loads of neighbours and of weights.
    arrives : In(1)
        ``arrival`` has the data of one of these loads.
    arrival : In(arrival_layout)
    complete : Out(1)
        A row is complete.
    pop : In(1)
        Hand a complete row to warp ``popper``, which has returned the row before.
    popper : In
    base, mask : Out(ArrayLayout(32, threads)), Out(threads)
        Base vertices of the row handed out, and its lanes with an edge. Its other words are at
        ``neighbor`` and ``weight``.
    returns : In(1)
        Warp ``warp`` needs its row no more, if it has one.
    warp : In
    read : In(1)
        Read the row of warp ``warp``. Not together with ``pop``.
    neighbor, weight : Out(ArrayLayout(32, threads))
        The words that were read.
    idle : Out(1)
        No row waits to be completed or handed out.
    moves : Out(1)
        A place is chosen, or a row becomes complete.
    """
    def __init__(self, config):
        self._config = config
        lanes = data.ArrayLayout(32, config.threads)
        super().__init__({
            "row": In(stream.Signature(row_layout(config))), "weights": In(32),
            "ask": Out(stream.Signature(ask_layout(config))),
            "arrives": In(1), "arrival": In(arrival_layout(config)),
            "complete": Out(1), "pop": In(1), "popper": In(warp_shape(config)),
            "base": Out(lanes), "mask": Out(config.threads),
            "returns": In(1), "warp": In(warp_shape(config)),
            "read": In(1), "neighbor": Out(lanes), "weight": Out(lanes),
            "idle": Out(1), "moves": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config, threads = self._config, self._config.threads
        rows = buffer_rows(config)
        row, ask, arrival = self.row.payload, self.ask.payload, self.arrival
        weighted = Signal()
        m.d.comb += weighted.eq(self.weights.any())

        # A free place is chosen before a row needs it, so that the row's loads stay as they are.
        free = Signal(rows, init=(1 << rows) - 1)
        first = lowest(m, free, name="first_free")
        place = Signal(range(rows))
        has_place = Signal()
        reserves = Signal()
        freed = Signal(rows)
        chooses = Signal()
        m.d.comb += chooses.eq((~has_place | reserves) & free.any())
        with m.If(~has_place | reserves):
            m.d.sync += [has_place.eq(free.any()), place.eq(encode(first, len(place)))]
        m.d.sync += free.eq((free & ~Mux(chooses, first, 0)) | freed)

        # Loads: the neighbours, then the weights beside them. The place is reserved with the first.
        seconds = Signal()                 # the row's neighbours have been asked for
        held = Signal.like(place)          # the place of the row whose weights are asked for
        m.d.comb += [
            self.ask.valid.eq(self.row.valid & (has_place | seconds)),
            reserves.eq(self.ask.valid & self.ask.ready & ~seconds),
            self.row.ready.eq(self.ask.valid & self.ask.ready & (seconds | ~weighted)),
            ask.kind.eq(Mux(seconds, LoadKind.WEIGHTS, LoadKind.NEIGHBORS)), ask.mask.eq(row.mask),
            ask.place.eq(Mux(seconds, held, place)), ask.distance.eq(Mux(seconds, self.weights, 0)),
            *(ask.word[lane].eq(Cat(Const(0, 2), row.edge[lane])) for lane in range(threads)),
        ]
        with m.If(reserves):
            m.d.sync += held.eq(place)
        with m.If(self.ask.valid & self.ask.ready):
            m.d.sync += seconds.eq(weighted & ~seconds)

        # The words of the rows.
        lanes = data.ArrayLayout(32, threads)
        shapes = {"bases": data.StructLayout({"base": lanes, "mask": threads}),
                  "neighbors": lanes, "weights_read": lanes}
        stores = {name: memory.Memory(shape=shape, depth=rows, init=[], attrs={"no_rw_check": 1})
                  for name, shape in shapes.items()}
        for name, store in stores.items():
            m.submodules[name] = store
        writes = {name: store.write_port() for name, store in stores.items()}
        reads = {name: store.read_port() for name, store in stores.items()}
        of_weights = Signal()
        m.d.comb += [
            of_weights.eq(arrival.kind == LoadKind.WEIGHTS),
            writes["bases"].en.eq(reserves), writes["bases"].addr.eq(place),
            writes["bases"].data.base.eq(row.base), writes["bases"].data.mask.eq(row.mask),
            writes["neighbors"].en.eq(self.arrives & ~of_weights),
            writes["weights_read"].en.eq(self.arrives & of_weights),
            *(writes[name].addr.eq(arrival.place) for name in ("neighbors", "weights_read")),
            *(writes[name].data.eq(arrival.data) for name in ("neighbors", "weights_read")),
        ]

        # A row is complete when all its data have come: with weights, both of two loads.
        half = Signal(rows)                # rows that have one of two
        of_row = Signal(rows)
        completes = Signal()
        waiting = Signal(range(rows + 1))  # rows that are reserved and not handed out
        # A row that is not full.
        last = Signal.like(place)
        has_last = Signal()
        last_waits = Signal()              # it has its data
        is_last = Signal()
        m.submodules.done = done = SyncFIFO(width=index_bits(rows), depth=rows)
        m.d.comb += [
            of_row.eq(Mux(self.arrives, Const(1, rows) << arrival.place, 0)),
            completes.eq(self.arrives & (~weighted | (half & of_row).any())),
            is_last.eq(has_last & (arrival.place == last)),
            done.w_en.eq(completes & ~is_last | last_waits & (waiting == 1)),
            done.w_data.eq(Mux(completes, arrival.place, last)),
            self.complete.eq(done.r_rdy), done.r_en.eq(self.pop),
            reads["bases"].en.eq(self.pop), reads["bases"].addr.eq(done.r_data),
            self.base.eq(reads["bases"].data.base), self.mask.eq(reads["bases"].data.mask),
        ]
        with m.If(weighted):
            m.d.sync += half.eq(half ^ of_row)
        with m.If(reserves & ~row.mask.all()):
            m.d.sync += [has_last.eq(1), last.eq(place)]
        with m.If(completes & is_last):
            m.d.sync += last_waits.eq(1)
        with m.Elif(waiting == 1):
            m.d.sync += last_waits.eq(0)
            with m.If(last_waits):
                m.d.sync += has_last.eq(0)

        # The rows of warps. The depth is at least 2: Verilog has no address of zero bits.
        m.submodules.owned = owned = memory.Memory(shape=range(rows), depth=max(2, config.warps),
                                                   init=[])
        give, look = owned.write_port(), owned.read_port(domain="comb")
        owners = Signal(config.warps)
        m.d.comb += [
            give.en.eq(self.pop), give.addr.eq(self.popper), give.data.eq(done.r_data),
            look.addr.eq(self.warp),
            freed.eq(Mux(self.returns & owners.bit_select(self.warp, 1),
                         Const(1, rows) << look.data, 0)),
            *(reads[name].en.eq(self.read | self.pop) for name in ("neighbors", "weights_read")),
            *(reads[name].addr.eq(Mux(self.pop, done.r_data, look.data))
              for name in ("neighbors", "weights_read")),
            self.neighbor.eq(reads["neighbors"].data), self.weight.eq(reads["weights_read"].data),
        ]
        m.d.sync += owners.eq((owners & ~Mux(self.returns, Const(1, config.warps) << self.warp, 0))
                              | Mux(self.pop, Const(1, config.warps) << self.popper, 0))

        m.d.comb += [self.idle.eq(waiting == 0), self.moves.eq(chooses | done.w_en)]
        m.d.sync += waiting.eq(waiting + reserves - self.pop)
        started = ~ResetSignal()
        m.d.sync += [
            Assert(~(started & self.pop & ~done.r_rdy), "no row is complete"),
            Assert(~(started & self.pop & self.read), "two rows are read"),
            Assert(~(started & done.w_en & ~done.w_rdy), "a row is completed twice"),
            Assert(~(started & last_waits & (waiting == 1) & completes),
                   "a row comes behind the last one"),
            Assert(~(started & (freed & free).any()), "a place is freed that is free"),
            Assert(~(started & self.pop & owners.bit_select(self.popper, 1)),
                   "a warp has two rows"),
        ]
        return m
