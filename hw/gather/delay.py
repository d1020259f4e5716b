"""Tables that answer late: queues whose items leave a fixed number of cycles after they came."""

from amaranth.hdl import Assert, Cat, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hw.gather.interface import warp_shape
from hw.gather.table import RowStore, entry_layout, write_members


__all__ = ["DelayQueue", "DelayedRows", "delayed_look_ups", "look_up_layout", "rows_under_way"]


def rows_under_way(config):
    """Rows that can be under way from the table to a unit that reads rows ahead: one a cycle, at
    most as many as the table has."""
    rows = config.weaver_table_entries // config.threads
    return min(rows, config.table_latency)


def look_up_layout(config):
    """A look-up of EIDs in the dense table: a DEC_LOC, or a DEC whose VIDs were taken.

    Members
    -------
    warp, rd : unsigned
        The warp, and the register that gets the answer.
    mask : unsigned(threads)
        Lanes that ask.
    fused : unsigned(1)
        The look-up is a DEC's.
    """
    return data.StructLayout({"warp": warp_shape(config), "rd": 5, "mask": config.threads,
                              "fused": 1})


def delayed_look_ups(m, config, request, asks, given, **of_dec):
    """A queue of the look-ups that are under way to the dense table, with room for all warps.

    Parameters
    ----------
    m : Module
    config : HardwareConfig
        Its ``table_latency`` is not 0.
    request : View(request_layout)
        The request of this cycle.
    asks : Value
        It is a DEC_LOC, and is accepted. Not in the same cycle as ``given``.
    given : Value
        The VIDs of a DEC are taken.
    **of_dec : Value
        ``warp``, ``rd`` and ``mask`` of the DEC's look-up.

    Returns
    -------
    DelayQueue
        Its items are of :func:`look_up_layout`. The caller takes them.
    """
    m.submodules.look_ups = queue = DelayQueue(look_up_layout(config), depth=config.warps,
                                               latency=config.table_latency)
    m.d.comb += [queue.w_en.eq(asks | given), queue.w_data.fused.eq(given)]
    m.d.comb += [queue.w_data[name].eq(Mux(given, value, request[name]))
                 for name, value in of_dec.items()]
    m.d.sync += Assert(~(~ResetSignal() & asks & given))
    return queue


class DelayQueue(wiring.Component):
    """A queue whose items can leave ``latency`` cycles after they came, and no sooner.

    Items leave in order. A delay line has one bit a cycle, which says whether an item came.
    Throughput: an item a cycle, as long as the queue has room for all that are under way.

    Parameters
    ----------
    shape : ShapeCastable
        An item.
    depth : int
        Items that the queue holds.
    latency : int
        At least 1.

    Members
    -------
    w_rdy : Out(1)
        There is room.
    w_en : In(1)
        An item comes. Only when ``w_rdy``.
    w_data : In(shape)
    r_rdy : Out(1)
        The first item can leave.
    r_data : Out(shape)
        The first item, if ``r_rdy``.
    r_en : In(1)
        The first item leaves. Only when ``r_rdy``.
    """
    def __init__(self, shape, *, depth, latency):
        if latency < 1:
            raise ValueError(f"a latency of {latency} cycles: must be at least 1")
        self._depth, self._latency = depth, latency
        super().__init__({"w_rdy": Out(1), "w_en": In(1), "w_data": In(shape),
                          "r_rdy": Out(1), "r_data": Out(shape), "r_en": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.items = items = SyncFIFO(width=len(Value.cast(self.w_data)), depth=self._depth)
        line = Signal(self._latency - 1)         # whether an item came 1, 2, ... cycles ago
        ripe = Signal(range(self._depth + 1))    # items that can leave
        came = Cat(self.w_en, line)
        m.d.comb += [
            self.w_rdy.eq(items.w_rdy), items.w_en.eq(self.w_en), items.w_data.eq(self.w_data),
            self.r_rdy.eq(ripe.any()), self.r_data.eq(items.r_data), items.r_en.eq(self.r_en),
        ]
        m.d.sync += [
            line.eq(came), ripe.eq(ripe + came[-1] - self.r_en),
            Assert(~(~ResetSignal() & self.w_en & ~self.w_rdy)),
            Assert(~(~ResetSignal() & self.r_en & ~self.r_rdy)),
        ]
        return m


class DelayedRows(wiring.Component):
    """A :class:`~hw.gather.table.RowStore` whose rows arrive ``table_latency`` cycles after they
    were read.

    Rows are read ahead, one a cycle. They arrive in the order of the reads, and wait in a queue. A
    row without entries does not arrive.

    Parameters
    ----------
    config : HardwareConfig
        Gives the shape and the latency, which is not 0.

    Members
    -------
    write, into, mask, vid, loc, degree, registered, row
        As of :class:`~hw.gather.table.RowStore`. No write in the same cycle as ``read``.
    room : Out(1)
        There is room for one more row under way.
    read : In(1)
        Read the row in ``row``. Only when ``room``.
    arrived : Out(1)
        The first of the rows under way has arrived.
    take : In(1)
        Take this row. Only when ``arrived``.
    valid : Out(threads)
        Its entries that are not empty, in the cycle of ``take``.
    entries : Out(ArrayLayout(entry_layout(), threads))
        The row that was taken last, from the next cycle on.
    empty : Out(1)
        No row is registered or under way.
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            **write_members(config),
            "registered": Out(config.weaver_table_entries // config.threads),
            "row": In(config.weaver_table_entries // config.threads),
            "room": Out(1),
            "read": In(1),
            "arrived": Out(1),
            "take": In(1),
            "valid": Out(config.threads),
            "entries": Out(data.ArrayLayout(entry_layout(), config.threads)),
            "empty": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        threads, depth = self._config.threads, rows_under_way(self._config)
        row_layout = data.StructLayout({
            "valid": threads, "entries": data.ArrayLayout(entry_layout(), threads)})
        m.submodules.store = store = RowStore(self._config)
        # The row that is read comes a cycle later, and goes into the queue then.
        m.submodules.under_way = queue = DelayQueue(row_layout, depth=depth,
                                                    latency=self._config.table_latency - 1)
        comes, valid = Signal(name="comes"), Signal(threads, name="valid")
        count = Signal(range(depth + 1))         # rows under way, with the one that comes
        counts = Signal()
        m.d.comb += [getattr(store, name).eq(getattr(self, name))
                     for name in (*write_members(self._config), "row")]
        m.d.comb += [
            self.registered.eq(store.registered), store.take.eq(self.read),
            counts.eq(self.read & store.valid.any()), self.room.eq(count != depth),
            queue.w_en.eq(comes), queue.w_data.valid.eq(valid),
            queue.w_data.entries.eq(store.entries),
            self.arrived.eq(queue.r_rdy), queue.r_en.eq(self.take),
            self.valid.eq(queue.r_data.valid),
            self.empty.eq(~store.registered.any() & ~count.any()),
        ]
        m.d.sync += [comes.eq(counts), valid.eq(store.valid), count.eq(count + counts - self.take),
                     Assert(~(~ResetSignal() & self.read & ~self.room))]
        with m.If(self.take):
            m.d.sync += self.entries.eq(queue.r_data.entries)
        return m
