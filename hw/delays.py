"""Delays that keep the throughput: items under way are in a memory, not in a chain of registers.

A machine whose caches are large and far away answers late, and takes an item a cycle all the same.
Both delays here write an item into a circular memory and read it in time. With block memory the
area hardly depends on the number of cycles, and a simulator moves an item twice.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import fifo, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out


__all__ = ["DelayLine", "AgingQueue"]


class DelayLine(wiring.Component):
    """Gives each item after the same number of cycles.

    Latency: ``cycles``. Throughput: an item a cycle.

    Parameters
    ----------
    shape
        Shape of the item.
    cycles : int
        At least 2.

    Members
    -------
    i_valid, i : In(1), In(shape)
        An item enters.
    o_valid, o : Out(1), Out(shape)
        The item that entered ``cycles`` cycles ago. Must be taken.

    Raises
    ------
    ValueError
        ``cycles`` is less than 2.
    """
    def __init__(self, shape, cycles):
        if cycles < 2:
            raise ValueError(f"a delay line of {cycles} cycles: must be at least 2")
        self._shape, self._cycles = shape, cycles
        super().__init__({"i_valid": In(1), "i": In(shape), "o_valid": Out(1), "o": Out(shape)})

    def elaborate(self, platform):
        m = Module()
        cycles = self._cycles
        m.submodules.items = items = Memory(shape=self._shape, depth=cycles, init=[],
                                            attrs={"no_rw_check": 1})
        read, write = items.read_port(), items.write_port()
        place = Signal(range(cycles))
        valid = Signal(cycles)              # bit i: an item entered i + 1 cycles ago
        # The place behind the one that is written holds the oldest item.
        oldest = Mux(place == cycles - 1, 0, place + 1)
        m.d.sync += [valid.eq(Cat(self.i_valid, valid[:-1])), place.eq(oldest)]
        m.d.comb += [
            write.addr.eq(place), write.data.eq(self.i), write.en.eq(self.i_valid),
            read.addr.eq(oldest), read.en.eq(valid[-2]),
            self.o.eq(read.data), self.o_valid.eq(valid[-1]),
        ]
        m.d.sync += Assert(read.addr != write.addr, "an item is read and written")
        return m


class AgingQueue(wiring.Component):
    """A queue in which each item stays for some cycles at least.

    Latency: an item is on offer ``latency`` cycles later than in a
    :class:`~amaranth.lib.fifo.SyncFIFO`: ``latency + 1`` cycles after it entered, if the items
    before it are gone. The cycles that an item waits behind others count. Throughput: an item a
    cycle.

    Parameters
    ----------
    width : int
        Bits of an item.
    depth : int
        Items that wait to be taken. There is room for ``latency`` items beside them.
    latency : int
        At least 1.

    Members
    -------
    w_en, w_rdy, w_data, r_en, r_rdy, r_data
        As of the SyncFIFO.
    level : Out
        Items in the queue.

    Attributes
    ----------
    depth : int
        Items for which there is room.

    Raises
    ------
    ValueError
        ``latency`` is less than 1.
    """
    def __init__(self, *, width, depth, latency):
        if latency < 1:
            raise ValueError(f"an aging queue of {latency} cycles: must be at least 1")
        self.depth = depth + latency
        self._width, self._latency = width, latency
        super().__init__({
            "w_en": In(1), "w_rdy": Out(1), "w_data": In(width),
            "r_en": In(1), "r_rdy": Out(1), "r_data": Out(width),
            "level": Out(range(self.depth + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.items = items = fifo.SyncFIFOBuffered(width=self._width, depth=self.depth)
        entered = Signal(self._latency)     # bit i: an item entered i + 1 cycles ago
        old = Signal.like(self.level)       # items that have been here long enough
        enters, leaves = self.w_en & self.w_rdy, self.r_en & self.r_rdy
        m.d.comb += [
            items.w_data.eq(self.w_data), items.w_en.eq(self.w_en), self.w_rdy.eq(items.w_rdy),
            self.r_data.eq(items.r_data), self.r_rdy.eq(old != 0), items.r_en.eq(leaves),
            self.level.eq(items.level),
        ]
        m.d.sync += [entered.eq(Cat(enters, entered[:-1])),
                     old.eq(old + entered[-1] - leaves)]
        started = Signal()
        m.d.sync += started.eq(1)
        with m.If(started):
            m.d.sync += Assert((old == 0) | items.r_rdy, "an item is old and is not on offer")
        return m
