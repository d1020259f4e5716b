"""Edge gathering: the edges of entries become rows of edges, one a lane."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.gather.graphpeg.accesses import lanes_below
from hw.gather.interface import entry_layout
from hw.gather.unit import lane_edges


__all__ = ["Edges", "row_layout"]


def row_layout(config):
    """A row of edges.

    Members
    -------
    base : ArrayLayout(32, threads)
        The base vertices of the lanes' edges, undefined in lanes without an edge.
    edge : ArrayLayout(30, threads)
        The numbers of the edges.
    mask : unsigned(threads)
        Lanes with an edge, the lowest; at least one.
    """
    return data.StructLayout({"base": data.ArrayLayout(32, config.threads),
                              "edge": data.ArrayLayout(30, config.threads),
                              "mask": config.threads})


class Edges(wiring.Component):
    """Fills rows from entries.

    A row takes edges from as many entries as it needs. The last row may be not full.

    Latency: a row is on offer two cycles after its last entry is taken. Throughput: an entry or a
    row a cycle.

    Members
    -------
    entry : In(stream(entry_layout))
        Entries in order.
    more : In(1)
        Entries are on offer, or on their way.
    row : Out(stream(row_layout))
        Full rows; a row that is not full if no edge and no entry is left.
    idle : Out(1)
        No edge is left.
    moves : Out(1)
        An entry is taken, or edges move to the row.

    Only of a unit that exchanges edges:

    current : Out(entry_layout)
        The edges of the present entry that are left.
    left : Out(32)
        How many these are.
    gives : In(1)
        The first ``amount`` of them, fewer than all, go to another core. No edge moves to the row.
    amount : In(32)
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            "entry": In(stream.Signature(entry_layout())), "more": In(1),
            "row": Out(stream.Signature(row_layout(config))), "idle": Out(1), "moves": Out(1),
            **({"current": Out(entry_layout()), "left": Out(32), "gives": In(1), "amount": In(32)}
               if config.exchanges else {}),
        })

    def elaborate(self, platform):
        m = Module()
        threads = self._config.threads
        # The entry whose edges are gathered: its vertex, its next edge, and the edges left.
        vertex = Signal(32, reset_less=True)
        edge = Signal(30, reset_less=True)
        left = Signal(32)
        filled = Signal(range(threads + 1))
        begins, room, count = (Signal.like(filled, name=name)
                               for name in ("begins", "room", "count"))
        leaves, fills, exhausts = (Signal(name=name) for name in ("leaves", "fills", "exhausts"))
        gives = Signal()
        sealed = Signal()                  # the row is on offer: edges that come now wait
        entry, row = self.entry.payload, self.row.payload
        m.d.comb += [
            leaves.eq(self.row.valid & self.row.ready),
            # The lane of the row from which edges can be filled in: a row may leave in this cycle.
            begins.eq(Mux(leaves, 0, filled)),
            room.eq(threads - begins),
            count.eq(Mux(left < room, left[:len(count)], room)),
            fills.eq(left.any() & room.any() & (leaves | ~sealed) & ~gives),
            exhausts.eq(fills & (count == left)),
            self.entry.ready.eq(~left.any() | exhausts),
            self.row.valid.eq((filled == threads) | sealed
                              | filled.any() & ~left.any() & ~self.more),
            row.mask.eq(lanes_below(filled, threads)),
            self.idle.eq(~left.any() & ~filled.any()),
            self.moves.eq(fills | self.entry.valid & self.entry.ready),
        ]
        m.d.sync += [sealed.eq(self.row.valid & ~self.row.ready),
                     filled.eq(Mux(fills, begins + count, begins))]
        with m.If(self.entry.valid & self.entry.ready):
            m.d.sync += [vertex.eq(entry.vertex), edge.eq(entry.sindex),
                         left.eq(entry.eindex - entry.sindex)]
        with m.Elif(fills):
            m.d.sync += [edge.eq(edge + count), left.eq(left - count)]
        if self._config.exchanges:
            current = self.current
            m.d.comb += [gives.eq(self.gives), self.left.eq(left), current.vertex.eq(vertex),
                         current.sindex.eq(edge), current.eindex.eq(edge + left)]
            with m.If(gives):
                m.d.sync += [edge.eq(edge + self.amount), left.eq(left - self.amount)]

        first = Signal(30)
        m.d.comb += first.eq(edge - begins)
        bases, numbers = lane_edges(m, threads, fills, begins, vertex, first)
        m.d.comb += [row.base[lane].eq(bases[lane]) for lane in range(threads)]
        m.d.comb += [row.edge[lane].eq(numbers[lane]) for lane in range(threads)]
        return m
