"""The promise of the Data Fetch and its coalescing unit as assertions: every element gets its word.

For each slot the harness knows the line that was requested last and whether the answer is missing.
Answers come in any order, or not at all. The harness watches one arbitrary word: all answers for
the word's line have the same value there. It also watches one arbitrary element. If the element is
the watched word, the word's value must leave in the element's place, behind as many elements as
came in before. So the proof fails if a slot is used for another line while the slot is needed. No
slot is requested again while its answer is missing.

Elements, their beats, answers and waiting times are free. There are eight lines. The proof has no
invariants, so it holds only for the first cycles after reset. The assertions inside the unit are
checked too.
"""

from amaranth.hdl import Array, Assert, Assume, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from checks.formal.harness import Harness
from checks.formal.packer import Watch, ones
from checks.formal.streams import hold
from hw.bits import index_bits
from hw.scu.beats import beat_layout
from hw.scu.fetch import DataFetch
from hw.scu.interface import line_response_layout, read_layout


__all__ = ["FetchPromise"]


#: Bits of the number of a line.
LINE = 3


class FetchPromise(Harness):
    """A Data Fetch and its promise.

    Parameters
    ----------
    config : HardwareConfig
    width, beats, slots, window : int
        As for the Data Fetch.
    """
    def __init__(self, config, width, *, beats, slots, window):
        self._width = width
        self._fields = {"beats": beats, "slots": slots, "window": window}
        super().__init__(config)

    def _ports(self, config):
        return {
            "i": In(stream.Signature(beat_layout(30, self._width))),
            "o": Out(stream.Signature(beat_layout(32, self._width))),
            "read": Out(stream.Signature(read_layout(config))),
            "response": In(stream.Signature(line_response_layout(config))),
            "pick": In(index_bits(self._width) + 1),
            "address": In(ceil_log2(config.line_words) + LINE), "value": In(32),
        }

    def elaborate(self, platform):
        m = Module()
        config, width, slots = self._config, self._width, self._fields["slots"]
        dut = DataFetch(config, width, **self._fields)
        self._place(m, dut)
        for name in ("i", "response"):
            connect(m, flipped(getattr(self, name)), getattr(dut, name))
            hold(m, getattr(dut, name), name=name, rule=Assume)
        for name in ("o", "read"):
            connect(m, getattr(dut, name), flipped(getattr(self, name)))
            hold(m, getattr(dut, name), name=name)
        word_bits = ceil_log2(config.line_words)
        i, o = dut.i.payload, dut.o.payload
        fixed = Signal()
        m.d.sync += fixed.eq(1)
        m.d.comb += [
            Assume(~ResetSignal()), Assume((i.valid & (i.valid + 1)) == 0),
            Assume(i.end | i.valid.all()), Assert(dut.response.ready),
            *(Assume(i.elements[k] < 1 << word_bits + LINE) for k in range(width)),
        ]
        for name in ("address", "value"):
            before = Signal.like(getattr(self, name), name=f"{name}_before")
            m.d.sync += before.eq(getattr(self, name))
            m.d.comb += Assume(~fixed | (getattr(self, name) == before))

        # The memory: the line requested for each slot, and whether the slot has its answer.

        missing = Signal(slots)
        lines = Array(Signal(LINE, name=f"line_{s}") for s in range(slots))
        read, answer = dut.read.payload, dut.response.payload
        asks, answers = Signal(), Signal()
        right = answer.data.as_value().word_select(self.address[:word_bits], 32) == self.value
        m.d.comb += [
            asks.eq(dut.read.valid & dut.read.ready), answers.eq(dut.response.valid),
            Assert(~dut.read.valid | (read.slot < slots)),
            Assert(~dut.read.valid | (read.line < 1 << LINE)),
            Assert(~dut.read.valid | ~missing.bit_select(read.slot, 1)),
            Assume(~answers | ((answer.slot < slots) & missing.bit_select(answer.slot, 1))),
            Assume(~answers | (lines[answer.slot] != self.address[word_bits:]) | right),
        ]
        m.d.sync += missing.eq((missing | Mux(asks, 1 << read.slot, 0))
                               & ~Mux(answers, 1 << answer.slot, 0))
        with m.If(asks):
            m.d.sync += lines[read.slot].eq(read.line)

        # The elements: the number between input and output, and the watched element.

        comes, leaves, present = Signal(), Signal(), Signal(8)
        m.d.comb += [comes.eq(dut.i.valid & dut.i.ready), leaves.eq(dut.o.valid & dut.o.ready)]
        m.d.sync += present.eq(present + Mux(comes, ones(i.valid), 0)
                               - Mux(leaves, ones(o.valid), 0))
        watch = Watch(m, comes=comes, leaves=leaves, came=i.valid, left=o.valid, present=present,
                      pick=self.pick, elements=[i.elements[k] for k in range(width)])
        with m.If(dut.o.valid):
            m.d.comb += [
                Assert((o.valid & (o.valid + 1)) == 0), Assert(o.end | o.valid.all()),
                Assert(ones(o.valid) <= present),
                *(Assert(~o.valid[k] | ~watch.on | (watch.ahead != k)
                         | (watch.value != self.address) | (o.elements[k] == self.value))
                  for k in range(width)),
            ]
        asked_later, out_of_order = Signal(), Signal()
        with m.If(asks):
            m.d.sync += asked_later.eq(read.slot)
        m.d.sync += out_of_order.eq(out_of_order | (answers & missing.all()
                                                    & (answer.slot == asked_later)))
        m.d.comb += [
            Cover(leaves & watch.on & (watch.ahead == 0) & (watch.value == self.address),
                  "the watched element gets its word"),
            Cover(leaves & (present == 2) & ~missing.any(), "two elements have their words"),
            Cover(missing.all(), "all slots wait for a line"),
            Cover(out_of_order, "the second line comes before the first"),
        ]
        return m
