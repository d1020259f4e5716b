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


class _Places:
    """The places of rows in the buffer.

    Attributes
    ----------
    free, freed : Signal(rows)
        The places without a row; those that become free.
    place, has_place : Signal
        The place of the next row, if one was chosen.
    chooses, reserves : Signal(1)
        A place is chosen; a row takes its place.
    """
    def __init__(self, rows):
        self.free = Signal(rows, init=(1 << rows) - 1, name="free")
        self.freed = Signal(rows, name="freed")
        self.place = Signal(range(rows), name="place")
        self.has_place, self.chooses, self.reserves = (
            Signal(name=name) for name in ("has_place", "chooses", "reserves"))


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
        weighted = Signal()
        m.d.comb += weighted.eq(self.weights.any())
        places = self._places(m)
        self._load(m, weighted, places)
        reads = self._words(m, places)
        done, waiting = self._complete(m, weighted, places, reads)
        self._own(m, places, reads, done)
        m.d.comb += [self.idle.eq(waiting == 0), self.moves.eq(places.chooses | done.w_en)]
        m.d.sync += waiting.eq(waiting + places.reserves - self.pop)
        return m

    def _places(self, m):
        """The places of rows. A free place is chosen before a row needs it, so that the row's loads
        stay as they are."""
        places = _Places(buffer_rows(self._config))
        free, place, has_place = places.free, places.place, places.has_place
        first = lowest(m, free, name="first_free")
        m.d.comb += places.chooses.eq((~has_place | places.reserves) & free.any())
        with m.If(~has_place | places.reserves):
            m.d.sync += [has_place.eq(free.any()), place.eq(encode(first, len(place)))]
        m.d.sync += [
            free.eq((free & ~Mux(places.chooses, first, 0)) | places.freed),
            Assert(~(~ResetSignal() & (places.freed & free).any()),
                   "a place is freed that is free"),
        ]
        return places

    def _load(self, m, weighted, places):
        """Ask for the neighbours of a row, then for the weights beside them. The place is reserved
        with the first."""
        row, ask, place = self.row.payload, self.ask.payload, places.place
        seconds = Signal()                 # the row's neighbours have been asked for
        held = Signal.like(place)          # the place of the row whose weights are asked for
        m.d.comb += [
            self.ask.valid.eq(self.row.valid & (places.has_place | seconds)),
            places.reserves.eq(self.ask.valid & self.ask.ready & ~seconds),
            self.row.ready.eq(self.ask.valid & self.ask.ready & (seconds | ~weighted)),
            ask.kind.eq(Mux(seconds, LoadKind.WEIGHTS, LoadKind.NEIGHBORS)), ask.mask.eq(row.mask),
            ask.place.eq(Mux(seconds, held, place)), ask.distance.eq(Mux(seconds, self.weights, 0)),
            *(ask.word[lane].eq(Cat(Const(0, 2), row.edge[lane]))
              for lane in range(self._config.threads)),
        ]
        with m.If(places.reserves):
            m.d.sync += held.eq(place)
        with m.If(self.ask.valid & self.ask.ready):
            m.d.sync += seconds.eq(weighted & ~seconds)

    def _words(self, m, places):
        """The words of the rows. Returns a read port of each memory."""
        threads, row, arrival = self._config.threads, self.row.payload, self.arrival
        lanes = data.ArrayLayout(32, threads)
        shapes = {"bases": data.StructLayout({"base": lanes, "mask": threads}),
                  "neighbors": lanes, "weights_read": lanes}
        stores = {name: memory.Memory(shape=shape, depth=buffer_rows(self._config), init=[],
                                      attrs={"no_rw_check": 1})
                  for name, shape in shapes.items()}
        for name, store in stores.items():
            m.submodules[name] = store
        writes = {name: store.write_port() for name, store in stores.items()}
        reads = {name: store.read_port() for name, store in stores.items()}
        of_weights = Signal()
        m.d.comb += [
            of_weights.eq(arrival.kind == LoadKind.WEIGHTS),
            writes["bases"].en.eq(places.reserves), writes["bases"].addr.eq(places.place),
            writes["bases"].data.base.eq(row.base), writes["bases"].data.mask.eq(row.mask),
            writes["neighbors"].en.eq(self.arrives & ~of_weights),
            writes["weights_read"].en.eq(self.arrives & of_weights),
            *(writes[name].addr.eq(arrival.place) for name in ("neighbors", "weights_read")),
            *(writes[name].data.eq(arrival.data) for name in ("neighbors", "weights_read")),
        ]
        return reads

    def _complete(self, m, weighted, places, reads):
        """Complete rows. A row is complete when all its data have come: with weights, both of two
        loads. A row that is not full waits until it is the last.

        Returns the queue of complete rows, and the number of rows that are reserved and not handed
        out.
        """
        row, arrival, place = self.row.payload, self.arrival, places.place
        rows = buffer_rows(self._config)
        half = Signal(rows)                # rows that have one of two
        of_row = Signal(rows)
        completes = Signal()
        waiting = Signal(range(rows + 1))
        last = Signal.like(place)          # the row that is not full
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
        with m.If(places.reserves & ~row.mask.all()):
            m.d.sync += [has_last.eq(1), last.eq(place)]
        with m.If(completes & is_last):
            m.d.sync += last_waits.eq(1)
        with m.Elif(waiting == 1):
            m.d.sync += last_waits.eq(0)
            with m.If(last_waits):
                m.d.sync += has_last.eq(0)
        started = ~ResetSignal()
        m.d.sync += [
            Assert(~(started & self.pop & ~done.r_rdy), "no row is complete"),
            Assert(~(started & self.pop & self.read), "two rows are read"),
            Assert(~(started & done.w_en & ~done.w_rdy), "a row is completed twice"),
            Assert(~(started & last_waits & (waiting == 1) & completes),
                   "a row comes behind the last one"),
        ]
        return done, waiting

    def _own(self, m, places, reads, done):
        """Hand rows to warps, and free the places of rows that warps return. The depth is at least
        2: Verilog has no address of zero bits."""
        rows, warps = buffer_rows(self._config), self._config.warps
        m.submodules.owned = owned = memory.Memory(shape=range(rows), depth=max(2, warps), init=[])
        give, look = owned.write_port(), owned.read_port(domain="comb")
        owners = Signal(warps)
        m.d.comb += [
            give.en.eq(self.pop), give.addr.eq(self.popper), give.data.eq(done.r_data),
            look.addr.eq(self.warp),
            places.freed.eq(Mux(self.returns & owners.bit_select(self.warp, 1),
                                Const(1, rows) << look.data, 0)),
            *(reads[name].en.eq(self.read | self.pop) for name in ("neighbors", "weights_read")),
            *(reads[name].addr.eq(Mux(self.pop, done.r_data, look.data))
              for name in ("neighbors", "weights_read")),
            self.neighbor.eq(reads["neighbors"].data), self.weight.eq(reads["weights_read"].data),
        ]
        m.d.sync += [
            owners.eq((owners & ~Mux(self.returns, Const(1, warps) << self.warp, 0))
                      | Mux(self.pop, Const(1, warps) << self.popper, 0)),
            Assert(~(~ResetSignal() & self.pop & owners.bit_select(self.popper, 1)),
                   "a warp has two rows"),
        ]
