"""Giving out what was decided, one element a cycle."""

from amaranth.hdl import Assert, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.util import check_stream


__all__ = ["Giver", "given_layout"]


def given_layout():
    """An element's number and what is known of it: its bit or its place; or, after the last
    element, ``end`` alone."""
    return data.StructLayout({"index": 32, "value": 32, "end": 1})


class Giver(wiring.Component):
    """A register of some values, which leave it one a cycle and are numbered.

    Latency one cycle; a value a cycle, also where one load follows upon another.

    Parameters
    ----------
    limit : int
        Values of a load, at most.

    Members
    -------
    restart : In(1)
        Begin to number at 0. Only while ``empty``.
    load : In(1)
        Take ``count`` of ``values``, at least one. Only while ``ready``.
    count : In(4)
    values : In(ArrayLayout(32, limit))
    ready : Out(1)
        What there was is given out with this cycle.
    swap : In(1)
        The value is given out as ``index``, its number as ``value``; else the other way round.
    end : In(1)
        Offer the end. Only while ``empty``.
    empty : Out(1)
        There is nothing to give out.
    o : Out(stream(given_layout))
    """
    def __init__(self, limit):
        self._limit = limit
        super().__init__({
            "restart": In(1), "load": In(1), "count": In(4),
            "values": In(data.ArrayLayout(32, limit)), "ready": Out(1), "swap": In(1),
            "end": In(1), "empty": Out(1), "o": Out(stream.Signature(given_layout())),
        })

    def elaborate(self, platform):
        m = Module()
        left = Signal(4)
        number = Signal(32)
        values = Signal.like(self.values, reset_less=True)
        gives = Signal()
        m.d.comb += [
            self.empty.eq(left == 0),
            self.o.valid.eq(~self.empty | self.end),
            self.o.payload.index.eq(Mux(self.swap, values[0], number)),
            self.o.payload.value.eq(Mux(self.swap, number, values[0])),
            self.o.payload.end.eq(self.end),
            gives.eq(~self.empty & self.o.ready),
            self.ready.eq(self.empty | ((left == 1) & self.o.ready)),
        ]
        with m.If(self.restart):
            m.d.sync += number.eq(0)
        with m.If(gives):
            m.d.sync += [left.eq(left - 1), number.eq(number + 1)]
            m.d.sync += [values[i].eq(values[i + 1]) for i in range(self._limit - 1)]
        with m.If(self.load):
            m.d.sync += [left.eq(self.count), values.eq(self.values)]

        with m.If(~ResetSignal()):
            m.d.sync += [
                Assert(~self.load | (self.ready & (self.count != 0)
                                     & (self.count <= self._limit)), "a load that has no room"),
                Assert(~(self.end | self.restart) | self.empty, "the end comes too early"),
            ]
        check_stream(m, self.o, name="o")
        return m
