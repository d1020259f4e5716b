"""The adjacency list working table (ALWT): vertices become entries, whose edges are gathered."""

from amaranth.hdl import Array, Assert, Cat, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, enum, memory, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hw.bits import index_bits, mux_tree
from hw.gather.graphpeg.accesses import (LoadKind, arrival_layout, ask_layout, group_size, groups)
from hw.gather.interface import entry_layout


__all__ = ["AdjacencyTable", "EntryStatus", "group_layout"]


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

    Only of a unit that exchanges edges:

    came : Out(32)
        Edges of the entries that became ready in the cycle before.
    search : In(1)
        Go through the ready entries, one a cycle, and a cycle for a group without them. In the
        meantime no entry is given out: one on offer is withdrawn.
    searched : Out(1)
        All were visited since ``search`` rose.
    largest : Out(entry_layout)
        The entry with the most edges that were visited, the first of them; undefined if
        ``largest_size`` is 0.
    largest_size : Out(32)
        Its edges.
    raises : In(1)
        The first edges of the largest entry go: ``sindex`` becomes its SIndex. Only when
        ``searched``.
    sindex : In(32)
    raised : Out(1)
        This is done in this cycle.
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            "group": In(stream.Signature(group_layout(config))),
            "offsets": In(32), "ask": Out(stream.Signature(ask_layout(config))),
            "arrives": In(1), "arrival": In(arrival_layout(config)),
            "entry": Out(stream.Signature(entry_layout())), "idle": Out(1),
            **({"came": Out(32), "search": In(1), "searched": Out(1),
                "largest": Out(entry_layout()), "largest_size": Out(32), "raises": In(1),
                "sindex": In(32), "raised": Out(1)} if config.exchanges else {}),
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
        # A donation writes one SIndex of a group.
        write_vertices, write_sindices, write_eindices = (
            vertices.write_port(), sindices.write_port(granularity=1), eindices.write_port())
        reads = [one.read_port(domain="comb") for one in stores]
        arrival = self.arrival
        is_ends = arrival.kind == LoadKind.ENDS
        m.d.comb += [
            write_vertices.en.eq(filled), write_vertices.addr.eq(filling),
            write_vertices.data.eq(group),
            write_sindices.en.eq((self.arrives & ~is_ends).replicate(size)),
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
        # The entry at the outputs of the memories: the first one, or one that is visited.
        shown_place = Signal.like(place)
        shown_index = Signal.like(index)
        visits = Signal()
        taken, ends = (Signal(name=name) for name in ("taken", "ends"))
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
            place.eq(ready.r_data), *(read.addr.eq(shown_place) for read in reads),
            self.entry.valid.eq(ready.r_rdy & ~visits),
            taken.eq(self.entry.valid & self.entry.ready),
            ends.eq(taken & (index == reads[0].data.last)), ready.r_en.eq(ends),
            *(target.eq(mux_tree(shown_index, [source[i] for i in range(size)]))
              for target, source in ((entry.vertex, reads[0].data.vertex),
                                     (entry.sindex, reads[1].data),
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
        if not config.exchanges:
            m.d.comb += [shown_place.eq(place), shown_index.eq(index)]
            return m

        # Edges of the entries that become ready.
        sizes = [arrival.data[2 * i + 1] - arrival.data[2 * i] for i in range(threads // 2)] \
            or [Mux(is_ends, arrival.data[0], other[1]) - Mux(is_ends, other[0], arrival.data[0])
                for other in [self._looked_up(m, (sindices, eindices))]]
        came = Signal(32)
        m.d.comb += came.eq(sum(Mux(arrival.mask[2 * i], size, 0)
                                for i, size in enumerate(sizes)))
        m.d.sync += self.came.eq(Mux(complete, came, 0))
        self._search(m, status, index, reads, visits, shown_place, shown_index)
        with m.If(~visits):
            m.d.comb += [shown_place.eq(place), shown_index.eq(index)]
        raises = self.raises & ~(self.arrives & ~is_ends)
        with m.If(raises):
            m.d.comb += [write_sindices.addr.eq(self._best_place),
                         write_sindices.en.eq(1 << self._best_index),
                         *(write_sindices.data[i].eq(self.sindex) for i in range(size))]
        m.d.comb += self.raised.eq(raises)
        return m

    def _looked_up(self, m, stores):
        """The words of the group whose data arrive: a warp has one lane, so they come one by one.
        """
        words = []
        for store in stores:
            look = store.read_port(domain="comb")
            m.d.comb += look.addr.eq(self.arrival.place)
            words.append(look.data[0])
        return words

    def _search(self, m, status, index, reads, visits, shown_place, shown_index):
        """Visit the ready entries, and keep the largest."""
        place, number = Signal.like(shown_place), Signal.like(shown_index)
        self._best_place, self._best_index = Signal.like(place), Signal.like(number)
        states = Array(status)
        steps, ready, counts, last = (
            Signal(name=name) for name in ("steps", "ready", "counts", "last"))
        size = Signal(32)
        entry = self.entry.payload
        m.d.comb += [
            visits.eq(self.search), steps.eq(self.search & ~self.searched),
            ready.eq((states[place] == EntryStatus.RD) | (states[place] == EntryStatus.FE)),
            # The first entries of the group that is given out are gone.
            counts.eq(steps & ready & ((states[place] != EntryStatus.FE) | (number >= index))),
            last.eq(~ready | (number == reads[0].data.last)),
            size.eq(entry.eindex - entry.sindex),
        ]
        with m.If(visits):
            m.d.comb += [shown_place.eq(place), shown_index.eq(number)]
        with m.If(steps):
            m.d.sync += [number.eq(Mux(last, 0, number + 1)), place.eq(place + last),
                         self.searched.eq(last & (place == len(status) - 1))]
        with m.If(counts & (size > self.largest_size)):
            m.d.sync += [self.largest.eq(entry), self.largest_size.eq(size),
                         self._best_place.eq(place), self._best_index.eq(number)]
        with m.If(~self.search):
            m.d.sync += [self.searched.eq(0), place.eq(0), number.eq(0), self.largest_size.eq(0)]
