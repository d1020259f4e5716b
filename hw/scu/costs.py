"""The costs of STREAM: the word of each element's input, plus the element's weight."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.config import HardwareConfig
from hw.streams import StreamRegister

from .address import CostGenerator
from .beats import beat_layout
from .fetch import DataFetch
from .interface import line_response_layout, read_layout
from .registers import ScuOperation


__all__ = ["StreamCosts"]


#: Beats of costs made ahead of the elements, and beats of weights under way. They cover the latency
#: of a read of the memory.
_BEATS = 128


class StreamCosts(wiring.Component):
    """Makes the costs of the elements, in the beats of the elements.

    Throughput: a beat a cycle, under the conditions of :class:`~hw.scu.fetch.DataFetch`.

    Members
    -------
    start : In(1)
        Begin with the first of ``length`` inputs. ``masked``, ``weighted`` and ``distance`` hold
        from now until the last beat is taken.
    length : In(32)
        Number of inputs.
    masked : In(1)
        Whether there is a bitmask.
    weighted : In(1)
        Whether weights are added.
    distance : In(30)
        Words from an element to its weight.
    bits, counts, given : In(stream)
        Bit, count and word of each input, in beats.
    elements : In(stream(beat_layout(30)))
        The elements in packed beats, as words numbered from address 0 on. Only with ``weighted``.
    o : Out(stream(ArrayLayout(32, width)))
        The costs in the beats of the elements. There is none for an end alone.
    read : Out(stream(read_layout))
        Requests of lines of weights.
    response : In(stream(line_response_layout))
        Answers to ``read``, in any order. Always ready.
    """
    def __init__(self, config: HardwareConfig, width):
        self._config, self._width = config, width
        words = stream.Signature(data.ArrayLayout(32, width))
        super().__init__({
            "start": In(1), "length": In(32), "masked": In(1), "weighted": In(1),
            "distance": In(30), "bits": In(stream.Signature(width)), "counts": In(words),
            "given": In(words), "elements": In(stream.Signature(beat_layout(30, width))),
            "o": Out(words), "read": Out(stream.Signature(read_layout(config))),
            "response": In(stream.Signature(line_response_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        config, width = self._config, self._width
        m.submodules.generator = generator = CostGenerator(width)
        m.submodules.ahead = ahead = SyncFIFOBuffered(width=32 * width, depth=_BEATS)
        m.submodules.weights = weights = DataFetch(config, width, beats=_BEATS)
        m.submodules.sums = sums = StreamRegister(data.ArrayLayout(32, width))
        connect(m, flipped(self.bits), generator.bits)
        connect(m, flipped(self.counts), generator.counts)
        connect(m, flipped(self.given), generator.indexes)
        connect(m, weights.read, flipped(self.read))
        connect(m, flipped(self.response), weights.response)
        connect(m, sums.o, flipped(self.o))
        made, element = generator.o.payload, self.elements.payload
        some = Signal()
        m.d.comb += [
            generator.start.eq(self.start), generator.length.eq(self.length),
            generator.masked.eq(self.masked),
            generator.operation.eq(ScuOperation.ACCESS_EXPANSION),
            some.eq(made.valid.any()),
            ahead.w_data.eq(made.elements), ahead.w_en.eq(generator.o.valid & some),
            generator.o.ready.eq(ahead.w_rdy | ~some),
            weights.i.valid.eq(self.elements.valid), self.elements.ready.eq(weights.i.ready),
            weights.i.payload.valid.eq(element.valid), weights.i.payload.end.eq(element.end),
        ]
        for k in range(width):
            m.d.comb += weights.i.payload.elements[k].eq(element.elements[k] + self.distance)
        first = data.View(data.ArrayLayout(32, width), ahead.r_data)
        alone = Signal()                    # an end without elements
        present = Signal()
        m.d.comb += [
            alone.eq(~weights.o.payload.valid.any()),
            present.eq(weights.o.valid & ~alone | ~self.weighted),
            sums.i.valid.eq(ahead.r_rdy & present), ahead.r_en.eq(sums.i.ready & present),
            weights.o.ready.eq(alone | (sums.i.ready & ahead.r_rdy)),
        ]
        for k in range(width):
            m.d.comb += sums.i.payload[k].eq(
                first[k] + Mux(self.weighted, weights.o.payload.elements[k], 0))
        return m
