"""The output of STREAM: elements and their costs go to two lists."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.streams import StreamRegister

from .beats import beat_layout
from .store import placed_layout


__all__ = ["PairPlaces", "pair_layout"]


def pair_layout():
    """An element and its cost."""
    return data.StructLayout({"value": 32, "cost": 32})


class PairPlaces(wiring.Component):
    """Gives the elements of a stream, and their costs, consecutive places in two lists.

    Latency: one cycle. Throughput: a beat a cycle.

    Members
    -------
    start : In(1)
        Begin. ``values`` and ``costs`` hold from now until the last beat is taken.
    values, costs : In(30)
        Numbers of the lists' first words in the address space.
    i : In(stream(beat_layout(pair_layout)))
        Beats. Any elements may be valid.
    o, o_costs : Out(stream(beat_layout(placed_layout)))
        The same beats.
    passing : Out(range(width + 1))
        Number of elements that are taken in this cycle.
    """
    def __init__(self, width):
        self._width = width
        super().__init__({
            "start": In(1), "values": In(30), "costs": In(30),
            "i": In(stream.Signature(beat_layout(pair_layout(), width))),
            "o": Out(stream.Signature(beat_layout(placed_layout(), width))),
            "o_costs": Out(stream.Signature(beat_layout(placed_layout(), width))),
            "passing": Out(range(width + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        width, i = self._width, self.i.payload
        number = Signal(30)                 # number of the beat's first valid element
        before = [Signal(range(width + 1), name=f"before_{k}") for k in range(width + 1)]
        goes = Signal()
        for k in range(width):
            m.d.comb += before[k + 1].eq(before[k] + i.valid[k])
        registers = []
        for which, first in enumerate((self.values, self.costs)):
            register = StreamRegister(beat_layout(placed_layout(), width))
            m.submodules[("value", "cost")[which]] = register
            registers.append(register)
            connect(m, register.o, flipped((self.o, self.o_costs)[which]))
            placed = register.i.payload
            m.d.comb += [register.i.valid.eq(goes), placed.valid.eq(i.valid), placed.end.eq(i.end)]
            for k in range(width):
                m.d.comb += [
                    placed.elements[k].place.eq(first + number + before[k]),
                    placed.elements[k].value.eq(
                        i.elements[k].cost if which else i.elements[k].value),
                ]
        m.d.comb += [
            self.i.ready.eq(registers[0].i.ready & registers[1].i.ready),
            goes.eq(self.i.valid & self.i.ready),
        ]
        with m.If(goes):
            m.d.comb += self.passing.eq(before[width])
            m.d.sync += number.eq(number + before[width])
        with m.If(self.start):
            m.d.sync += number.eq(0)
        return m
