"""Dispatch: sends the elements of a stream of beats to banks, one a cycle to each bank."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.bits import and_or, index_bits, lowest

from .beats import beat_layout


__all__ = ["Dispatch", "addressed_layout", "dispatched_layout"]


def addressed_layout(shape, banks):
    """An element and the number of its bank."""
    return data.StructLayout({"bank": index_bits(banks), "element": shape})


def dispatched_layout(shape):
    """An element of a bank, or, after the last element, ``end`` alone."""
    return data.StructLayout({"element": shape, "end": 1})


class Dispatch(wiring.Component):
    """Sends each element to its bank. The elements of a bank stay in order.

    A window holds the oldest beats. In each cycle, each bank takes the oldest of its elements in
    the window. A beat without elements leaves the window, and the beats behind it move up.

    Latency: one cycle. Throughput: a beat a cycle if its elements have different banks. With four
    banks, four elements a beat and random banks, a window of two beats sends 2.7 elements a cycle.

    Parameters
    ----------
    shape : shape
        Shape of an element.
    width : int
        Elements of a beat.
    banks : int
        Number of banks.
    window : int
        Beats in the window.

    Members
    -------
    enable : In(banks)
        The banks that take part. Holds from the first beat until the last end is taken.
    i : In(stream(beat_layout(addressed_layout)))
        Beats. Any elements may be valid. Elements belong to banks that take part.
    o_0, … : Out(stream(dispatched_layout)) of each bank
        The elements of the bank, then an end.
    """
    def __init__(self, shape, width, banks, *, window):
        self._shape, self._width, self._banks, self._window = shape, width, banks, window
        super().__init__({
            "enable": In(banks),
            "i": In(stream.Signature(beat_layout(addressed_layout(shape, banks), width))),
            **{f"o_{bank}": Out(stream.Signature(dispatched_layout(shape)))
               for bank in range(banks)},
        })

    @property
    def o(self):
        """The streams of the banks."""
        return [getattr(self, f"o_{bank}") for bank in range(self._banks)]

    def elaborate(self, platform):
        m = Module()
        width, window = self._width, range(self._window)        # 0: the oldest beat
        held = [Signal(self.i.payload.elements.shape(), name=f"held_{w}", reset_less=True)
                for w in window]
        left = [Signal(width, name=f"left_{w}") for w in window]
        sent = [Signal(width, name=f"sent_{w}") for w in window]
        rest = [Signal(width, name=f"rest_{w}") for w in window]
        ending = Signal()               # the end has come
        ended = Signal(self._banks)     # the banks that have taken their end

        places = [(w, k) for w in window for k in range(width)]
        sends = []
        takes = Signal(self._banks)
        for bank, o in enumerate(self.o):
            wants = Signal(len(places), name=f"wants_{bank}")
            m.d.comb += wants.eq(Cat(left[w][k] & (held[w][k].bank == bank) for w, k in places))
            first = lowest(m, wants, name=f"first_{bank}")
            last = ending & self.enable[bank] & ~ended[bank]
            m.d.comb += [
                o.valid.eq(wants.any() | last), o.payload.end.eq(~wants.any()),
                o.payload.element.eq(and_or(first, [held[w][k].element for w, k in places])),
                takes[bank].eq(o.valid & o.ready & o.payload.end),
            ]
            sends.append(Mux(o.ready, first, 0))
        for w in window:
            m.d.comb += [
                sent[w].eq(Cat(Cat(send[w * width + k] for send in sends).any()
                               for k in range(width))),
                rest[w].eq(left[w] & ~sent[w]),
            ]

        # A beat moves up if there is room in front of it.
        room = Signal(self._window)
        comes = Signal()
        for w in window:
            m.d.comb += room[w].eq((rest[w] == 0) | (room[w - 1] if w else 0))
            m.d.sync += left[w].eq(rest[w])
            with m.If(room[w]):
                m.d.sync += [left[w].eq(rest[w + 1]), held[w].eq(held[w + 1])] \
                    if w + 1 < self._window else [
                        left[w].eq(Mux(comes, self.i.payload.valid, 0)),
                        held[w].eq(self.i.payload.elements)]
        m.d.comb += [
            self.i.ready.eq(room[-1] & ~ending),
            comes.eq(self.i.valid & self.i.ready),
        ]
        with m.If(comes):
            m.d.sync += ending.eq(self.i.payload.end)
        with m.If(ending):
            m.d.sync += ended.eq(ended | takes)
            with m.If((ended | takes) == self.enable):
                m.d.sync += [ending.eq(0), ended.eq(0)]
        return m
