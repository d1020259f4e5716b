"""Places of rows in a buffer: those that are free, those that await data, and those of warps."""

from amaranth.hdl import Assert, Const, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.bits import encode, lowest
from hw.gather.graphpeg.accesses import arrival_layout, ask_layout
from hw.gather.interface import warp_shape


__all__ = ["FreePlaces", "RowLoader", "RowOwners", "loads_layout"]


class FreePlaces(wiring.Component):
    """The places without a row. A free place is chosen before a row needs it, so that the row's
    loads stay as they are.

    Latency: a place that is freed may be on offer two cycles later. Throughput: a place a cycle.

    Parameters
    ----------
    rows : int
        Places.

    Members
    -------
    place, has_place : Out(range(rows)), Out(1)
        The place of the next row, if one was chosen.
    reserves : In(1)
        A row takes the place, which was chosen.
    freed : In(rows)
        Places that become free.
    chooses : Out(1)
        A place is chosen.
    """
    def __init__(self, rows):
        self._rows = rows
        super().__init__({"place": Out(range(rows)), "has_place": Out(1), "reserves": In(1),
                          "freed": In(rows), "chooses": Out(1)})

    def elaborate(self, platform):
        m = Module()
        free = Signal(self._rows, init=(1 << self._rows) - 1)
        first = lowest(m, free, name="first_free")
        m.d.comb += self.chooses.eq((~self.has_place | self.reserves) & free.any())
        with m.If(~self.has_place | self.reserves):
            m.d.sync += [self.has_place.eq(free.any()),
                         self.place.eq(encode(first, len(self.place)))]
        m.d.sync += [
            free.eq((free & ~Mux(self.chooses, first, 0)) | self.freed),
            Assert(~(~ResetSignal() & (self.freed & free).any()),
                   "a place is freed that is free"),
        ]
        return m


def loads_layout(config):
    """The loads of a row.

    Members
    -------
    first, second : ArrayLayout(32, threads)
        Byte addresses of each lane's two words, less the loader's distances.
    mask : unsigned(threads)
        Lanes that take part, at least one.
    """
    lanes = data.ArrayLayout(32, config.threads)
    return data.StructLayout({"first": lanes, "second": lanes, "mask": config.threads})


class RowLoader(wiring.Component):
    """Gives each row a place, and asks for no, one or two words of each of its lanes.

    Latency: the first load of a row is on offer at once if there is a place; the row is complete in
    the cycle of its last data. Throughput: a load asked for a cycle, a row completed a cycle.

    Parameters
    ----------
    config : HardwareConfig
    rows : int
        Places.
    kinds : tuple of LoadKind
        The kinds of the two loads.

    Members
    -------
    row : In(stream(loads_layout))
        Rows.
    loads : In(2)
        Which loads a row has: the first, or the first and the second. Changes while there is no
        row.
    distances : In(32) of each load
        Added to the addresses.
    ask : Out(stream(ask_layout))
        The loads.
    arrives : In(1)
        ``arrival`` has the data of one of these loads.
    arrival : In(arrival_layout)
    place : Out
        The place of the next row.
    reserves : Out(1)
        The row takes this place.
    completes : Out(1)
        The row in ``arrival.place`` is complete; a row without loads is when it takes its place.
    freed : In(rows)
        Places whose rows are not needed any more.
    chooses : Out(1)
        A place is chosen.
    """
    def __init__(self, config, rows, kinds):
        self._config, self._rows, self._kinds = config, rows, kinds
        super().__init__({
            "row": In(stream.Signature(loads_layout(config))), "loads": In(2),
            "distances": In(32).array(2), "ask": Out(stream.Signature(ask_layout(config))),
            "arrives": In(1), "arrival": In(arrival_layout(config)),
            "place": Out(range(rows)), "reserves": Out(1), "completes": Out(1),
            "freed": In(rows), "chooses": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.places = places = FreePlaces(self._rows)
        row, ask, place, arrival = self.row.payload, self.ask.payload, places.place, self.arrival
        any_load, both = self.loads
        seconds = Signal()                 # the row's first load has been asked for
        held = Signal.like(place)          # the place of the row whose second load is asked for
        half = Signal(self._rows)          # rows that have the data of one of two loads
        of_row = Signal(self._rows)
        m.d.comb += [
            self.ask.valid.eq(self.row.valid & (places.has_place | seconds) & any_load),
            self.reserves.eq(self.row.valid & places.has_place & ~seconds
                             & (self.ask.ready | ~any_load)),
            self.row.ready.eq(Mux(both, seconds & self.ask.ready, self.reserves)),
            ask.kind.eq(Mux(seconds, *reversed(self._kinds))), ask.mask.eq(row.mask),
            ask.place.eq(Mux(seconds, held, place)),
            ask.distance.eq(Mux(seconds, self.distances[1], self.distances[0])),
            ask.word.eq(Mux(seconds, row.second.as_value(), row.first.as_value())),
            places.reserves.eq(self.reserves), places.freed.eq(self.freed),
            self.place.eq(place), self.chooses.eq(places.chooses),
            of_row.eq(Mux(self.arrives, Const(1, self._rows) << arrival.place, 0)),
            self.completes.eq(self.arrives & (~both | (half & of_row).any())),
        ]
        with m.If(self.reserves):
            m.d.sync += held.eq(place)
        with m.If(self.ask.valid & self.ask.ready):
            m.d.sync += seconds.eq(both & ~seconds)
        with m.If(both):
            m.d.sync += half.eq(half ^ of_row)
        return m


class RowOwners(wiring.Component):
    """The rows of warps: each warp keeps the last row that it was handed, until it returns it.

    Latency: a row that is handed out can be returned from the next cycle on.

    Parameters
    ----------
    config : HardwareConfig
    rows : int
        Places.

    Members
    -------
    pop : In(1)
        Warp ``popper``, which has no row, gets the row in place ``popped``.
    popper, popped : In
    returns : In(1)
        Warp ``warp`` needs its row no more, if it has one.
    warp : In
    place : Out
        The place of the row of warp ``warp``.
    freed : Out(rows)
        The place of a row that is returned.
    """
    def __init__(self, config, rows):
        self._config, self._rows = config, rows
        warp = warp_shape(config)
        super().__init__({"pop": In(1), "popper": In(warp), "popped": In(range(rows)),
                          "returns": In(1), "warp": In(warp), "place": Out(range(rows)),
                          "freed": Out(rows)})

    def elaborate(self, platform):
        m = Module()
        rows, warps = self._rows, self._config.warps
        # The depth is at least 2: Verilog has no address of zero bits.
        m.submodules.owned = owned = memory.Memory(shape=range(rows), depth=max(2, warps), init=[])
        give, look = owned.write_port(), owned.read_port(domain="comb")
        owners = Signal(warps)
        m.d.comb += [
            give.en.eq(self.pop), give.addr.eq(self.popper), give.data.eq(self.popped),
            look.addr.eq(self.warp), self.place.eq(look.data),
            self.freed.eq(Mux(self.returns & owners.bit_select(self.warp, 1),
                              Const(1, rows) << look.data, 0)),
        ]
        m.d.sync += [
            owners.eq((owners & ~Mux(self.returns, Const(1, warps) << self.warp, 0))
                      | Mux(self.pop, Const(1, warps) << self.popper, 0)),
            Assert(~(~ResetSignal() & self.pop & owners.bit_select(self.popper, 1)),
                   "a warp has two rows"),
        ]
        return m
