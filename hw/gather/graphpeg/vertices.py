"""Vertex coordination: the list of input vertices is refilled, that of output vertices spilled."""

from amaranth.hdl import Assert, Cat, Const, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import and_or, index_bits, lowest, mux_tree
from hw.gather.graphpeg.accesses import (LIST_ROWS, LoadKind, arrival_layout, ask_layout,
                                         group_size, lanes_below, store_layout)
from hw.gather.graphpeg.alwt import group_layout
from hw.isa import UNMAPPED


__all__ = ["InputList", "OutputList", "push_layout"]


#: Bits of a number of vertices.
_COUNT_BITS = 30

#: Rows of the ring of output vertices.
_OUTPUT_ROWS = 2


class InputList(wiring.Component):
    """Input vertices: of a list in memory, or a range of vertices.

    A ring of rows, of a word a lane, is refilled as soon as a row of it is free; loads come in any
    order. Vertices leave in their order, in groups for the table, or in rows for warps.

    Latency: a group or row is on offer a cycle after its data have come. Throughput: a group or row
    a cycle, and a row that is refilled a cycle.

    Members
    -------
    start : In(1)
        Begin with ``count`` vertices. Everything of the last start has left.
    count : In(30)
    first : In(32)
        Address of the first vertex's word in memory; with ``ranges`` the first vertex itself.
    ranges : In(1)
        The vertices are ``first``, ``first`` + 4, and so on.
    rows : In(1)
        Vertices leave in rows.
    ask : Out(stream(ask_layout))
        Loads of rows of the list.
    arrives : In(1)
        ``arrival`` has the data of one of these loads.
    arrival : In(arrival_layout)
    group : Out(stream(group_layout))
        Vertices for the table.
    complete : Out(1)
        A row of vertices is there to be popped.
    pop : In(1)
        Take the row.
    vertex, mask : Out(ArrayLayout(32, threads)), Out(threads)
        The row that was taken, from the next cycle until the next ``pop``.
    empty : Out(1)
        No vertex is left.
    moves : Out(1)
        A range refills a row.
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            "start": In(1), "count": In(_COUNT_BITS), "first": In(32), "ranges": In(1),
            "rows": In(1), "ask": Out(stream.Signature(ask_layout(config))),
            "arrives": In(1), "arrival": In(arrival_layout(config)),
            "group": Out(stream.Signature(group_layout(config))),
            "complete": Out(1), "pop": In(1), "vertex": Out(data.ArrayLayout(32, config.threads)),
            "mask": Out(config.threads), "empty": Out(1), "moves": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        threads, size = self._config.threads, group_size(self._config)
        parts = threads // size
        ask, arrival, group = self.ask.payload, self.arrival, self.group.payload
        ranges, rows = (Signal(name=name) for name in ("ranges", "rows"))
        with m.If(self.start):
            m.d.sync += [ranges.eq(self.ranges), rows.eq(self.rows)]

        # Refill: rows behind each other, from ``address`` on.
        unasked = Signal(_COUNT_BITS)      # vertices that are not in the ring
        address = Signal(32, reset_less=True)
        level = Signal(range(LIST_ROWS + 1))
        filling, serving = (Signal(range(LIST_ROWS), name=name) for name in ("filling", "serving"))
        present = Signal(LIST_ROWS)        # rows whose words have come
        wanted, refills, leaves = (Signal(name=name) for name in ("wanted", "refills", "leaves"))
        m.submodules.ring = ring = memory.Memory(shape=data.ArrayLayout(32, threads),
                                                 depth=LIST_ROWS, init=[])
        write, look, read = ring.write_port(), ring.read_port(domain="comb"), ring.read_port()
        m.d.comb += [
            wanted.eq(unasked.any() & (level != LIST_ROWS)),
            self.ask.valid.eq(wanted & ~ranges), self.moves.eq(wanted & ranges),
            refills.eq(self.moves | self.ask.valid & self.ask.ready),
            ask.kind.eq(LoadKind.VERTICES), ask.place.eq(filling), ask.distance.eq(address),
            ask.mask.eq(lanes_below(unasked, threads)),
            *(ask.word[lane].eq(4 * lane) for lane in range(threads)),
            write.en.eq(self.moves | self.arrives),
            write.addr.eq(Mux(ranges, filling, arrival.place)),
            *(write.data[lane].eq(Mux(ranges, address + 4 * lane, arrival.data[lane]))
              for lane in range(threads)),
        ]
        with m.If(self.start):
            m.d.sync += [unasked.eq(self.count), address.eq(self.first)]
        with m.Elif(refills):
            m.d.sync += [address.eq(address + 4 * threads), filling.eq(filling + 1),
                         unasked.eq(Mux(unasked[ceil_log2(threads):].any(), unasked - threads, 0))]
        m.d.sync += [
            level.eq(level + refills - leaves),
            present.eq((present & ~Mux(leaves, Const(1, LIST_ROWS) << serving, 0))
                       | Mux(write.en, Const(1, LIST_ROWS) << write.addr, 0)),
        ]

        # The first row: it leaves in one piece, or part by part.
        left = Signal(_COUNT_BITS)         # vertices that have not left
        part = Signal(index_bits(parts))
        most, count = (Signal(range(threads + 1), name=name) for name in ("most", "count"))
        there, takes, last = (Signal(name=name) for name in ("there", "takes", "last"))
        m.d.comb += [
            there.eq(present.bit_select(serving, 1)), look.addr.eq(serving),
            self.group.valid.eq(there & ~rows), self.complete.eq(there & rows),
            *(group.vertex[i].eq(mux_tree(part, [look.data[size * number + i]
                                                 for number in range(parts)]))
              for i in range(size)),
            takes.eq(self.pop | self.group.valid & self.group.ready),
            most.eq(Mux(rows, threads, size)), last.eq(left <= most),
            count.eq(Mux(last, left[:len(count)], most)), group.last.eq(count - 1),
            leaves.eq(takes & (rows | last | (part == parts - 1))),
            read.en.eq(self.pop), read.addr.eq(serving), self.vertex.eq(read.data),
            self.empty.eq(left == 0),
        ]
        with m.If(self.start):
            m.d.sync += left.eq(self.count)
        with m.Elif(takes):
            m.d.sync += left.eq(left - count)
        with m.If(takes):
            m.d.sync += part.eq(Mux(leaves, 0, part + 1))
        with m.If(leaves):
            m.d.sync += serving.eq(serving + 1)
        with m.If(self.pop):
            m.d.sync += self.mask.eq(lanes_below(left, threads))
        m.d.sync += [
            Assert(~(~ResetSignal() & self.pop & ~self.complete), "no row of vertices is there"),
            Assert(~(~ResetSignal() & self.start & ~self.empty), "a list begins in another"),
        ]
        return m


def push_layout(config):
    """Vertices of the lanes in ``mask``, for the output list."""
    return data.StructLayout({"vertex": data.ArrayLayout(32, config.threads),
                              "mask": config.threads})


class OutputList(wiring.Component):
    """Output vertices: a list in memory, and the number of its vertices.

    Vertices go to a ring of two rows, of a word a lane. A full row is stored to its place in the
    list. ``close`` stores the rest, and then the number of vertices; the next vertex begins a list
    anew. A vertex beyond the limit is not stored. In its place a store to
    :data:`~hw.isa.UNMAPPED` fails, once in a launch.

    Throughput: a vertex a cycle. The next push is accepted while the last vertex of a push goes to
    the ring.

    Members
    -------
    push : In(stream(push_layout))
        Vertices, in the order of the lanes.
    close : In(1)
        End the list. Only while not ``closing``.
    output : In(32)
        Address of the list.
    limit : In(32)
        Most vertices of the list.
    counter : In(32)
        Address of the number of vertices.
    store : Out(stream(store_layout))
    closing : Out(1)
        The list is ended. No push is accepted.
    busy : Out(1)
        A vertex is on its way to the ring, or a store is on offer or about to be.
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            "push": In(stream.Signature(push_layout(config))), "close": In(1),
            "output": In(32), "limit": In(32), "counter": In(32),
            "store": Out(stream.Signature(store_layout(config))),
            "closing": Out(1), "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        threads = self._config.threads
        lane_bits = ceil_log2(threads)
        store = self.store.payload

        # The push whose vertices go to the ring, the lowest lane first.
        vertices = Signal(data.ArrayLayout(32, threads), reset_less=True)
        lanes = Signal(threads)
        lane = lowest(m, lanes, name="lane")
        pushed = Signal(32)                # vertices in the list
        row, spilled = pushed[lane_bits:], Signal(32 - lane_bits, name="spilled")
        room, within, beyond, dropped = (
            Signal(name=name) for name in ("room", "within", "beyond", "dropped"))
        moves, appends, accepts = (Signal(name=name) for name in ("moves", "appends", "accepts"))
        m.d.comb += [
            # Rows of the ring are full or being filled, and not stored.
            room.eq((row[:2] - spilled[:2])[:2] != _OUTPUT_ROWS),
            within.eq(pushed != self.limit), beyond.eq(lanes.any() & ~within & ~dropped),
            appends.eq(lanes.any() & within & room), moves.eq(appends | lanes.any() & dropped),
            self.push.ready.eq(~self.closing & ((lanes == 0) | moves & (lanes == lane))),
            accepts.eq(self.push.valid & self.push.ready),
        ]
        with m.If(accepts):
            m.d.sync += [vertices.eq(self.push.payload.vertex), lanes.eq(self.push.payload.mask)]
        with m.Elif(moves):
            m.d.sync += lanes.eq(lanes & ~lane)

        m.submodules.ring = ring = memory.Memory(shape=data.ArrayLayout(32, threads),
                                                 depth=_OUTPUT_ROWS, init=[])
        write, read = ring.write_port(granularity=1), ring.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(row[0]), read.addr.eq(spilled[0]),
            write.en.eq(Mux(appends, Const(1, threads) << pushed[:lane_bits], 0)),
            *(write.data[i].eq(and_or(lane, [vertices[j] for j in range(threads)]))
              for i in range(threads)),
        ]

        # Stores: full rows, a vertex beyond the limit, the rest, the number of vertices.
        full, rest, number, stored = (
            Signal(name=name) for name in ("full", "rest", "number", "stored"))
        rest_stored = Signal()
        m.d.comb += [
            full.eq(row[:2] != spilled[:2]),
            rest.eq(self.closing & ~lanes.any() & ~full & pushed[:lane_bits].any() & ~rest_stored),
            number.eq(self.closing & ~lanes.any() & ~full & ~rest),
            self.store.valid.eq(full | beyond | rest | number),
            stored.eq(self.store.valid & self.store.ready),
            store.data.eq(read.data), store.distance.eq(self.output),
            *(store.word[i].eq(Cat(Const(4 * i, 2 + lane_bits), spilled)) for i in range(threads)),
            store.mask.eq(Mux(rest, lanes_below(pushed[:lane_bits], threads),
                              (1 << threads) - 1)),
        ]
        with m.If(beyond & ~full):
            m.d.comb += [store.word[0].eq(0), store.distance.eq(UNMAPPED), store.mask.eq(1)]
        with m.Elif(number):
            m.d.comb += [store.word[0].eq(0), store.distance.eq(self.counter), store.mask.eq(1),
                         store.data[0].eq(pushed)]

        with m.If(stored & full):
            m.d.sync += spilled.eq(spilled + 1)
        with m.Elif(stored & beyond):
            m.d.sync += dropped.eq(1)
        with m.Elif(stored & rest):
            m.d.sync += rest_stored.eq(1)
        with m.Elif(stored & number):
            m.d.sync += [self.closing.eq(0), rest_stored.eq(0), pushed.eq(0), spilled.eq(0)]
        with m.If(self.close):
            m.d.sync += self.closing.eq(1)
        with m.If(appends):
            m.d.sync += pushed.eq(pushed + 1)
        m.d.comb += self.busy.eq(lanes.any() | self.closing | self.store.valid)
        m.d.sync += Assert(~(~ResetSignal() & self.close & self.closing), "a list ends twice")
        return m
