"""Serializes the decided elements: one a cycle."""

from amaranth.hdl import Assert, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.streams import check_stream


__all__ = ["Serializer", "numbered_layout"]


def numbered_layout():
    """The number of a decided element, and its bit or place. After the last element: ``end`` alone.
    """
    return data.StructLayout({"index": 32, "value": 32, "end": 1})


class Serializer(wiring.Component):
    """Numbers the values of a load and offers them one a cycle.

    Latency: one cycle. Throughput: a value a cycle, also from one load to the next.

    Parameters
    ----------
    limit : int
        Maximum number of values of a load.

    Members
    -------
    restart : In(1)
        Number the values from 0 on. Only while ``empty``.
    load : In(1)
        Take the first ``count`` of ``values``. Only while ``ready``.
    count : In(4)
        Number of values, from 1 to ``limit``.
    values : In(ArrayLayout(32, limit))
        The values.
    ready : Out(1)
        No value is left after this cycle.
    swap : In(1)
        ``index`` is the value and ``value`` its number. If 0, the other way round.
    end : In(1)
        Offer the end. Only while ``empty``.
    empty : Out(1)
        No value is left.
    o : Out(stream(numbered_layout))
        The values with their numbers, or the end.
    """
    def __init__(self, limit):
        self._limit = limit
        super().__init__({
            "restart": In(1), "load": In(1), "count": In(4),
            "values": In(data.ArrayLayout(32, limit)), "ready": Out(1), "swap": In(1),
            "end": In(1), "empty": Out(1), "o": Out(stream.Signature(numbered_layout())),
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
