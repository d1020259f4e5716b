"""The edge buffer: rows of edges are asked for, completed by memory, and handed to warps."""

from amaranth.hdl import Assert, Cat, Const, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.bits import index_bits
from hw.gather.graphpeg.accesses import LoadKind, arrival_layout, ask_layout, buffer_rows
from hw.gather.graphpeg.edges import row_layout
from hw.gather.graphpeg.places import RowLoader, RowOwners
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
        config, rows = self._config, buffer_rows(self._config)
        m.submodules.loader = loader = RowLoader(config, rows,
                                                 (LoadKind.NEIGHBORS, LoadKind.WEIGHTS))
        m.submodules.owners = owners = RowOwners(config, rows)
        weighted, row, loads = Signal(), self.row.payload, loader.row.payload
        m.d.comb += [
            weighted.eq(self.weights.any()), loader.loads.eq(Cat(1, weighted)),
            loader.distances[1].eq(self.weights),
            loader.row.valid.eq(self.row.valid), self.row.ready.eq(loader.row.ready),
            loads.mask.eq(row.mask),
            *(words[lane].eq(Cat(Const(0, 2), row.edge[lane]))
              for words in (loads.first, loads.second) for lane in range(config.threads)),
            loader.arrives.eq(self.arrives), loader.arrival.eq(self.arrival),
            loader.freed.eq(owners.freed),
        ]
        connect(m, loader.ask, flipped(self.ask))
        reads = self._words(m, loader)
        done, waiting = self._complete(m, loader, reads)
        m.d.comb += [
            owners.pop.eq(self.pop), owners.popper.eq(self.popper), owners.popped.eq(done.r_data),
            owners.returns.eq(self.returns), owners.warp.eq(self.warp),
            *(reads[name].en.eq(self.read | self.pop) for name in ("neighbors", "weights_read")),
            *(reads[name].addr.eq(Mux(self.pop, done.r_data, owners.place))
              for name in ("neighbors", "weights_read")),
            self.neighbor.eq(reads["neighbors"].data), self.weight.eq(reads["weights_read"].data),
            self.idle.eq(waiting == 0), self.moves.eq(loader.chooses | done.w_en),
        ]
        m.d.sync += waiting.eq(waiting + loader.reserves - self.pop)
        return m

    def _words(self, m, loader):
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
            writes["bases"].en.eq(loader.reserves), writes["bases"].addr.eq(loader.place),
            writes["bases"].data.base.eq(row.base), writes["bases"].data.mask.eq(row.mask),
            writes["neighbors"].en.eq(self.arrives & ~of_weights),
            writes["weights_read"].en.eq(self.arrives & of_weights),
            *(writes[name].addr.eq(arrival.place) for name in ("neighbors", "weights_read")),
            *(writes[name].data.eq(arrival.data) for name in ("neighbors", "weights_read")),
        ]
        return reads

    def _complete(self, m, loader, reads):
        """Queue rows whose data have come. A row that is not full waits until it is the last.

        Returns the queue of complete rows, and the number of rows that are reserved and not handed
        out.
        """
        row, arrival, completes = self.row.payload, self.arrival, loader.completes
        rows = buffer_rows(self._config)
        waiting = Signal(range(rows + 1))
        last = Signal.like(loader.place)   # the row that is not full
        has_last = Signal()
        last_waits = Signal()              # it has its data
        is_last = Signal()
        m.submodules.done = done = SyncFIFO(width=index_bits(rows), depth=rows)
        m.d.comb += [
            is_last.eq(has_last & (arrival.place == last)),
            done.w_en.eq(completes & ~is_last | last_waits & (waiting == 1)),
            done.w_data.eq(Mux(completes, arrival.place, last)),
            self.complete.eq(done.r_rdy), done.r_en.eq(self.pop),
            reads["bases"].en.eq(self.pop), reads["bases"].addr.eq(done.r_data),
            self.base.eq(reads["bases"].data.base), self.mask.eq(reads["bases"].data.mask),
        ]
        with m.If(loader.reserves & ~row.mask.all()):
            m.d.sync += [has_last.eq(1), last.eq(loader.place)]
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
