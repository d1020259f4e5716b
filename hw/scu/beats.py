"""Beats: the elements that pass through the unit in one cycle, and the packer that fills them."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.bits import and_or


__all__ = ["Packer", "beat_layout"]


def beat_layout(shape, width):
    """A beat: up to ``width`` elements of a stream. ``end`` marks the last beat.

    In a packed beat the valid elements come first. All elements of a packed beat are valid unless
    the beat is the last.
    """
    return data.StructLayout({
        "elements": data.ArrayLayout(shape, width),
        "valid": width,
        "end": 1,
    })


class Packer(wiring.Component):
    """Turns beats with gaps into full beats, in order.

    Latency: one cycle. Throughput: a beat a cycle; the last beat may take two cycles.

    Parameters
    ----------
    shape : shape
        Shape of an element.
    width : int
        Elements of a beat.

    Members
    -------
    i : In(stream(beat_layout))
        Beats. Any elements may be valid.
    o : Out(stream(beat_layout))
        Packed beats.
    """
    def __init__(self, shape, width):
        self._shape, self._width = shape, width
        layout = stream.Signature(beat_layout(shape, width))
        super().__init__({"i": In(layout), "o": Out(layout)})

    def elaborate(self, platform):
        m = Module()
        width, shape = self._width, self._shape
        i, o = self.i.payload, self.o.payload
        room = Signal()
        m.d.comb += room.eq(~self.o.valid | self.o.ready)

        # The valid elements of the new beat, moved together.
        before = [Signal(range(width + 1), name=f"before_{k}") for k in range(width + 1)]
        for k in range(width):
            m.d.comb += before[k + 1].eq(before[k] + i.valid[k])
        coming = [Signal(shape, name=f"coming_{c}") for c in range(width)]
        for c in range(width):
            lanes = range(c, width)     # an element only moves down
            picks = Cat(i.valid[k] & (before[k] == c) for k in lanes)
            m.d.comb += coming[c].eq(and_or(picks, [i.elements[k] for k in lanes]))

        # The new elements go behind the elements held, which are fewer than a beat.
        held = [Signal(shape, name=f"held_{k}", reset_less=True) for k in range(width - 1)]
        count = Signal(range(width))
        total = Signal(range(2 * width))
        joined = [Signal(shape, name=f"joined_{k}") for k in range(2 * width - 1)]
        for k in range(2 * width - 1):
            # With r held, place k is held[k] or coming[k - r].
            sources = [(k, r) for r in range(width) if k < r or 0 <= k - r < width]
            m.d.comb += joined[k].eq(and_or(
                Cat(count == r for _, r in sources),
                [held[k] if k < r else coming[k - r] for _, r in sources]))
        ending = Signal()           # the end has come, and the elements held are the last beat
        takes = Signal()
        m.d.comb += [
            self.i.ready.eq(room & ~ending),
            takes.eq(self.i.valid & self.i.ready),
            total.eq(count + Mux(ending, 0, before[width])),
        ]
        full = Signal()
        m.d.comb += full.eq(total >= width)
        with m.If(room):
            m.d.sync += self.o.valid.eq(0)
        with m.If(takes | (room & ending)):
            m.d.sync += [
                self.o.valid.eq(full | i.end | ending),
                o.valid.eq(Mux(full, (1 << width) - 1, (1 << total) - 1)),
                o.end.eq(ending | (i.end & (total <= width))),
                count.eq(Mux(full, total - width, total)),
                ending.eq(~ending & i.end & (total > width)),
            ]
            with m.If(ending | (i.end & (total <= width))):
                m.d.sync += count.eq(0)
            m.d.sync += [o.elements[k].eq(joined[k]) for k in range(width)]
            for k in range(width - 1):
                m.d.sync += held[k].eq(Mux(full, joined[k + width], joined[k]))
        return m
