"""Accesses of the unit's parts, one after the other, and the data of loads back to their parts."""

from amaranth.hdl import Assert, Cat, Const, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, enum, memory, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.bits import RoundRobin, and_or, encode, lowest
from hw.gather.interface import access_layout, fetched_layout, warp_shape
from hw.streams import StreamRegister


__all__ = ["LIST_ROWS", "Accesses", "LoadKind", "arrival_layout", "ask_layout", "buffer_rows",
           "filter_rows", "group_size", "groups", "lanes_below", "packed_rows", "place_shape",
           "store_layout"]


#: Rows of the ring of input vertices.
LIST_ROWS = 4

#: Rows that the filter packs ahead, beside one for each warp.
_PACKED_AHEAD = 4


class LoadKind(enum.Enum, shape=3):
    """The words that a load brings."""
    VERTICES  = 0      # a row of the input list
    OFFSETS   = 1      # for each vertex its offset, and the word behind it in the next lane
    ENDS      = 2      # the words behind the offsets, if a warp has one lane only
    NEIGHBORS = 3
    WEIGHTS   = 4
    VALUES    = 5      # the words of neighbours, for the filter
    BASES     = 6      # the words of base vertices, for the filter


def group_size(config):
    """Vertices whose offsets one access asks for: half of the lanes, and at most half of the
    table's entries."""
    return max(1, min(config.threads, config.alwt_entries) // 2)


def groups(config):
    """Groups of entries of the table; at least two."""
    return config.alwt_entries // group_size(config)


def buffer_rows(config):
    """Rows of the edge buffer: some that gather ahead, and one for each warp."""
    return config.edge_buffer_rows + config.warps


def filter_rows(config):
    """Rows of the filter that await words of vertices."""
    return config.edge_buffer_rows


def packed_rows(config):
    """Rows of edges that the filter has packed: some ahead, and one for each warp."""
    return _PACKED_AHEAD + config.warps


def place_shape(config):
    """Shape of the number of the place for the data of a load: a row of the ring of input vertices,
    a group of the table, or a row of the edge buffer, of which the filter has fewer."""
    return range(max(LIST_ROWS, groups(config), buffer_rows(config)))


def lanes_below(count, lanes):
    """A mask of ``lanes`` lanes, the lowest ``count`` of them, or all."""
    low = lanes.bit_length() - 1
    return Cat(count[low:].any() | (count[:low] > lane) for lane in range(lanes))


def ask_layout(config):
    """A load that a part asks for.

    Members
    -------
    word : ArrayLayout(32, threads)
        Byte addresses, less ``distance``.
    distance : unsigned(32)
    pairs : unsigned(1)
        Odd lanes load the word behind their address.
    mask : unsigned(threads)
        Lanes that take part, at least one.
    kind, place
        Where the data go.
    """
    return data.StructLayout({
        "word": data.ArrayLayout(32, config.threads), "distance": 32, "pairs": 1,
        "mask": config.threads, "kind": LoadKind, "place": place_shape(config)})


def store_layout(config):
    """A store: ``data`` to the addresses ``word + distance``, in the lanes of ``mask``."""
    lanes = data.ArrayLayout(32, config.threads)
    return data.StructLayout({"word": lanes, "distance": 32, "data": lanes,
                              "mask": config.threads})


def arrival_layout(config):
    """The data of a load in the lanes of ``mask``, with the load's kind and place."""
    return data.StructLayout({"data": data.ArrayLayout(32, config.threads),
                              "mask": config.threads, "kind": LoadKind,
                              "place": place_shape(config)})


class Accesses(wiring.Component):
    """Adds up addresses, and numbers the loads under way.

    Stores go first; the parts that ask for loads take turns. A load waits while ``gather_requests``
    loads are under way. Every part has reserved the place for the data that it asks for, so data
    never wait.

    Latency: an access is on offer a cycle after it is asked for; data arrive in the cycle in which
    they are fetched. Throughput: one access and the data of one load a cycle.

    Parameters
    ----------
    config : HardwareConfig
    ports : int
        Parts that ask for loads.

    Members
    -------
    store : In(stream(store_layout))
    asks : In(stream(ask_layout)) of each part
    warp : In(warp_shape(config))
        The warp that a failing access reports.
    access, fetched
        As in :func:`hw.gather.interface.unit_signature`.
    arrives : Out(1)
        ``arrival`` has the data of a load.
    arrival : Out(arrival_layout)
    busy : Out(1)
        An access or data are on offer.
    """
    def __init__(self, config, ports):
        self._config, self._ports = config, ports
        super().__init__({
            "store": In(stream.Signature(store_layout(config))),
            "asks": In(stream.Signature(ask_layout(config))).array(ports),
            "warp": In(warp_shape(config)),
            "access": Out(stream.Signature(access_layout(config))),
            "fetched": In(stream.Signature(fetched_layout(config))),
            "arrives": Out(1), "arrival": Out(arrival_layout(config)), "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config, threads, requests = self._config, self._config.threads, self._config.gather_requests
        m.submodules.out = out = StreamRegister(access_layout(config))
        connect(m, out.o, flipped(self.access))
        access, store, arrival = out.i.payload, self.store.payload, self.arrival

        # The port whose turn it is.
        used = Signal(requests)            # numbers of loads under way
        number = lowest(m, ~used, name="number")
        m.submodules.turns = turns = RoundRobin(self._ports)
        asking, turn = Signal(self._ports, name="asking"), turns.grant
        ask = Signal(ask_layout(config))
        asked, ends = (Signal(name=name) for name in ("asked", "ends"))
        m.d.comb += [
            asking.eq(Mux(self.store.valid | used.all(), 0, Cat(port.valid for port in self.asks))),
            turns.requests.eq(asking), turns.advance.eq(asked),
            ask.eq(and_or(turn, [port.payload.as_value() for port in self.asks])),
            out.i.valid.eq(self.store.valid | asking.any()), self.store.ready.eq(out.i.ready),
            *(port.ready.eq(out.i.ready & turn[i]) for i, port in enumerate(self.asks)),
            asked.eq(asking.any() & out.i.ready), ends.eq(self.fetched.valid & self.fetched.ready),
        ]

        distance, beside = (Signal(32, name=name) for name in ("distance", "beside"))
        m.d.comb += [
            distance.eq(Mux(self.store.valid, store.distance, ask.distance)),
            beside.eq(distance + Mux(ask.pairs & ~self.store.valid, 4, 0)),
            access.store.eq(self.store.valid), access.tag.eq(encode(number)),
            access.warp.eq(self.warp), access.data.eq(store.data),
            access.once.eq((ask.kind == LoadKind.NEIGHBORS) | (ask.kind == LoadKind.WEIGHTS)),
            access.mask.eq(Mux(self.store.valid, store.mask, ask.mask)),
            *(access.address[lane].eq(Mux(self.store.valid, store.word[lane], ask.word[lane])
                                      + (beside if lane % 2 else distance))
              for lane in range(threads)),
        ]

        # Loads under way. The depth is at least 2: Verilog has no address of zero bits.
        goal = data.StructLayout({"kind": LoadKind, "place": place_shape(config)})
        m.submodules.goals = goals = memory.Memory(shape=goal, depth=max(2, requests), init=[])
        write, read = goals.write_port(), goals.read_port(domain="comb")
        m.d.comb += [
            write.en.eq(asked), write.addr.eq(encode(number)),
            write.data.kind.eq(ask.kind), write.data.place.eq(ask.place),
            read.addr.eq(self.fetched.payload.tag), self.fetched.ready.eq(1),
            self.arrives.eq(ends), arrival.data.eq(self.fetched.payload.data),
            arrival.mask.eq(self.fetched.payload.mask),
            arrival.kind.eq(read.data.kind), arrival.place.eq(read.data.place),
            self.busy.eq(out.i.valid | out.o.valid | self.fetched.valid),
        ]
        ended = Signal(requests)
        m.d.comb += ended.eq(Mux(ends, Const(1, requests) << self.fetched.payload.tag, 0))
        m.d.sync += [
            used.eq((used | Mux(asked, number, 0)) & ~ended),
            Assert(~(~ResetSignal() & ends & ((used & ended) == 0)), "data that nobody asked for"),
        ]
        return m
