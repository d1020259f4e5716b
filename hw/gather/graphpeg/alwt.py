"""The adjacency list working table (ALWT): vertices become entries, whose edges are gathered."""

from amaranth.hdl import Assert, Cat, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, enum, memory, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hw.gather.graphpeg.accesses import (LoadKind, arrival_layout, ask_layout, group_size, groups)
from hw.util import index_bits, mux_tree


__all__ = ["AdjacencyTable", "EntryStatus", "entry_layout", "group_layout"]


class EntryStatus(enum.Enum, shape=2):
    """State of the entries of a group."""
    IVD = 0        # invalid: the entries are free
    FI  = 1        # fetching indices: the offsets are asked for
    RD  = 2        # ready: the offsets have come
    FE  = 3        # fetching edges: the group's entries are taken, one after the other


def group_layout(config):
    """Vertices whose offsets one access asks for: ``vertex``, and ``count`` of them less 1."""
    size = group_size(config)
    return data.StructLayout({"vertex": data.ArrayLayout(32, size), "last": index_bits(size)})


def entry_layout():
    """An entry.

    Members
    -------
    vertex : unsigned(32)
        The base vertex.
    sindex, eindex : unsigned(32)
        Number of its first edge, and the number behind its last edge.
    """
    return data.StructLayout({"vertex": 32, "sindex": 32, "eindex": 32})


class AdjacencyTable(wiring.Component):
    """Asks for the offsets of vertices, and gives out entries.

    The table has groups of entries, which are filled in turn. A group of vertices is taken while
    the next group of the table is IVD. One access asks for all its offsets, two lanes a vertex; if
    a warp has one lane, two accesses. The group whose offsets came first is given out first, and
    its entries in order.

    Latency: the first entry is on offer a cycle after its offsets have come. Throughput: an entry a
    cycle.

    Members
    -------
    group : In(stream(group_layout))
        Vertices.
    offsets : In(32)
        Distance from a vertex to the address of its offset.
    ask : Out(stream(ask_layout))
        Loads of offsets.
    arrives : In(1)
        ``arrival`` has the data of one of these loads.
    arrival : In(arrival_layout)
    entry : Out(stream(entry_layout))
    idle : Out(1)
        No entry is left, and none is on its way.
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            "group": In(stream.Signature(group_layout(config))),
            "offsets": In(32), "ask": Out(stream.Signature(ask_layout(config))),
            "arrives": In(1), "arrival": In(arrival_layout(config)),
            "entry": Out(stream.Signature(entry_layout())), "idle": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config, threads = self._config, self._config.threads
        size, count = group_size(config), groups(config)
        words = data.ArrayLayout(32, size)
        status = [Signal(EntryStatus, name=f"status_{i}") for i in range(count)]

        # The group that is filled next. With one lane its ends are asked for behind its offsets.
        filling = Signal(range(count))
        second = Signal()
        asked = Signal()
        group, ask = self.group.payload, self.ask.payload
        free = Cat(state == EntryStatus.IVD for state in status).bit_select(filling, 1)
        alone = threads == 1
        m.d.comb += [
            self.ask.valid.eq(self.group.valid & (free | second)),
            asked.eq(self.ask.valid & self.ask.ready),
            self.group.ready.eq(asked & second if alone else asked),
            ask.distance.eq(self.offsets + Mux(second, 4, 0)), ask.pairs.eq(not alone),
            ask.kind.eq(Mux(second, LoadKind.ENDS, LoadKind.OFFSETS)), ask.place.eq(filling),
            *(ask.word[lane].eq(group.vertex[lane // 2]) for lane in range(min(threads, 2 * size))),
            ask.mask.eq(Cat(group.last >= lane // 2 for lane in range(min(threads, 2 * size)))),
        ]
        filled = self.group.valid & self.group.ready
        if alone:
            m.d.sync += second.eq(second ^ asked)
        with m.If(filled):
            m.d.sync += filling.eq(filling + 1)

        # The fields of the entries.
        m.submodules.vertices = vertices = memory.Memory(
            shape=group_layout(config), depth=count, init=[], attrs={"no_rw_check": 1})
        m.submodules.sindices = sindices = memory.Memory(
            shape=words, depth=count, init=[], attrs={"no_rw_check": 1})
        m.submodules.eindices = eindices = memory.Memory(
            shape=words, depth=count, init=[], attrs={"no_rw_check": 1})
        stores = (vertices, sindices, eindices)
        write_vertices, write_sindices, write_eindices = (one.write_port() for one in stores)
        reads = [one.read_port(domain="comb") for one in stores]
        arrival = self.arrival
        is_ends = arrival.kind == LoadKind.ENDS
        m.d.comb += [
            write_vertices.en.eq(filled), write_vertices.addr.eq(filling),
            write_vertices.data.eq(group),
            write_sindices.en.eq(self.arrives & ~is_ends),
            write_eindices.en.eq(self.arrives & (is_ends if alone else 1)),
        ]
        for write, lane in ((write_sindices, 0), (write_eindices, 0 if alone else 1)):
            m.d.comb += [write.addr.eq(arrival.place),
                         *(write.data[i].eq(arrival.data[2 * i + lane]) for i in range(size))]

        # Groups in the order in which their offsets came; the first is given out.
        complete = Signal()
        m.submodules.ready = ready = SyncFIFO(width=index_bits(count), depth=count)
        index = Signal(index_bits(size))
        place = Signal(range(count))
        taken, ends = Signal(), Signal()
        entry = self.entry.payload
        if alone:
            halves = Signal(count)         # groups of which one of two accesses has come
            of_group = Signal(count)
            m.d.comb += [of_group.eq(Mux(self.arrives, 1 << arrival.place, 0)),
                         complete.eq((halves & of_group).any())]
            m.d.sync += halves.eq(halves ^ of_group)
        else:
            m.d.comb += complete.eq(self.arrives)
        m.d.comb += [
            ready.w_en.eq(complete), ready.w_data.eq(arrival.place),
            place.eq(ready.r_data), *(read.addr.eq(place) for read in reads),
            self.entry.valid.eq(ready.r_rdy), taken.eq(self.entry.valid & self.entry.ready),
            ends.eq(taken & (index == reads[0].data.last)), ready.r_en.eq(ends),
            *(target.eq(mux_tree(index, [source[i] for i in range(size)])) for target, source in
              ((entry.vertex, reads[0].data.vertex), (entry.sindex, reads[1].data),
               (entry.eindex, reads[2].data))),
            self.idle.eq(~Cat(state != EntryStatus.IVD for state in status).any()),
        ]
        with m.If(taken):
            m.d.sync += index.eq(Mux(ends, 0, index + 1))
        for i, state in enumerate(status):
            with m.If(asked & (filling == i)):
                m.d.sync += state.eq(EntryStatus.FI)
            with m.If(complete & (arrival.place == i)):
                m.d.sync += state.eq(EntryStatus.RD)
            with m.If(taken & (place == i)):
                m.d.sync += state.eq(Mux(ends, EntryStatus.IVD, EntryStatus.FE))
        m.d.sync += Assert(~(~ResetSignal() & ready.w_en & ~ready.w_rdy),
                           "offsets of a group come twice")
        return m
