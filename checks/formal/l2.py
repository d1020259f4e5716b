"""The promise of a bank of the L2 as assertions: each read returns what was written last, and each
request is answered once.

The harness holds a bank and follows one byte of memory, which may be any byte of the first line.
The byte has a value after all accepted requests, and one in memory. For each tag of a core the
harness knows whether an answer is owed, and the value that the byte must have in it. For each MSHR
it knows what memory owes. Requests for two lines of a set, answers of memory and the byte's place
are free. The harness assumes the behavior of cores and memory: a tag is used again when it was
answered; a request stays until it is taken; memory answers what was asked, in any order, with any
value in the bytes that were not asked for. Atomics are XOR, which computes a byte from that byte
alone. There is no flush.

The proof has no invariants, so it holds only for the first cycles after reset.
"""

from amaranth.hdl import Array, Assert, Assume, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from checks.formal.answering import steady
from checks.formal.harness import Harness
from checks.formal.streams import hold
from hw.memory.l2_bank import L2Bank
from hw.memory.port import (LineOp, core_request_layout, core_response_layout,
                            memory_request_layout, memory_response_layout)
from hw.operations import AmoOp


__all__ = ["L2Promise"]


#: The other line that requests may name, of the first line's set.
OTHER = 2


class L2Promise(Harness):
    """A bank and its promise.

    Parameters
    ----------
    config : HardwareConfig
        A small shape.
    """

    def _ports(self, config):
        return {
            "request": In(stream.Signature(core_request_layout(config))),
            "response": Out(stream.Signature(core_response_layout(config))),
            "memory_request": Out(stream.Signature(memory_request_layout(config))),
            "memory_response": In(stream.Signature(memory_response_layout(config))),
            "place": In(ceil_log2(config.line_bytes)), "first": In(8),
        }

    def elaborate(self, platform):
        m = Module()
        config = self._config
        dut = L2Bank(config)
        self._place(m, dut)
        connect(m, flipped(self.request), dut.request)
        connect(m, dut.response, flipped(self.response))
        connect(m, dut.memory_request, flipped(self.memory_request))
        connect(m, flipped(self.memory_response), dut.memory_response)
        steady(m, self, "place", "first")
        m.d.comb += Assume(~ResetSignal())
        for port in (dut.request, dut.memory_response):
            hold(m, port, name="held", rule=Assume)

        answered, changed = self._follow_cores(m, dut)
        self._follow_memory(m, dut)

        written = dut.memory_request.valid & dut.memory_request.payload.write
        joined = Signal()       # a part of the first line was asked for
        asked = dut.memory_request.payload
        with m.If(dut.memory_request.valid & ~asked.write & (asked.line == 0)
                  & ~asked.mask.all()):
            m.d.sync += joined.eq(1)
        m.d.comb += [
            Cover(answered & changed, "a read returns a written byte"),
            Cover(written & dut.memory_request.ready, "a line is written back"),
            *([Cover(answered & joined & changed, "a part of a line is fetched")]
              if self._config.sectors > 1 else []),
        ]
        return m

    def _sector(self, mask):
        """Whether the sector of the byte has a byte of a mask."""
        config = self._config
        size = config.line_bytes // config.sectors
        return Array(mask[at:at + size].any() for at in range(0, config.line_bytes, size))[
            self.place >> ceil_log2(size)]

    def _byte(self, line):
        return line.as_value().word_select(self.place, 8)

    def _follow_cores(self, m, dut):
        """The byte's value, and the answers that are owed. Returns whether the byte is given, and
        whether it has another value than at first."""
        value = Signal(8)       # after all accepted requests, XORed with the first value
        request, answer = dut.request.payload, dut.response.payload
        takes = dut.request.valid & dut.request.ready
        gives = dut.response.valid & dut.response.ready
        names = request.line == 0
        writes = names & request.mask.bit_select(self.place, 1)
        is_read, is_atomic = request.op == LineOp.READ, request.op == LineOp.ATOMIC
        reads = Mux(is_read, names & self._sector(request.mask), writes)
        owes = is_read | is_atomic & request.wanted
        with m.If(dut.request.valid):
            m.d.comb += [
                Assume((request.line & ~OTHER) == 0),
                Assume(request.op.as_value() <= LineOp.ATOMIC.value),
                Assume(request.amo == AmoOp.XOR),
                Assume(~is_read | (request.mask != 0)),
            ]
            for word in range(self._config.line_words):
                named = request.mask[4 * word:4 * word + 4]
                m.d.comb += Assume(~is_atomic | (named == 0) | named.all())
            words = [request.mask[4 * word] for word in range(self._config.line_words)]
            m.d.comb += Assume(~is_atomic | (sum(words) == 1))
        tags = range(1 << len(request.tag.as_value()))
        owed, checked = (Array(Signal(name=f"{name}_{tag}") for tag in tags)
                         for name in ("owed", "checked"))
        right = Array(Signal(8, name=f"right_{tag}") for tag in tags)
        asked, told = request.tag.as_value(), answer.tag.as_value()
        m.d.comb += [
            Assume(~dut.request.valid | (asked < 2)), Assume(~(takes & owes) | ~owed[asked]),
            Assert(dut.busy | ~sum((owed[tag] for tag in tags), 0).any(), "an answer is missing"),
        ]
        with m.If(gives):
            m.d.comb += [Assert(owed[told], "an answer that nobody waits for"),
                         Assert(~checked[told] | (self._byte(answer.data) == right[told]),
                                "an answer has an old byte")]
            m.d.sync += owed[told].eq(0)
        with m.If(takes & owes):
            m.d.sync += [owed[asked].eq(1), checked[asked].eq(reads),
                         right[asked].eq(value ^ self.first)]
        brought = self._byte(request.data)
        with m.If(takes & writes & ~is_read):
            m.d.sync += value.eq(brought ^ Mux(is_atomic, value, self.first))
        return gives & checked[told], value != 0

    def _follow_memory(self, m, dut):
        """The byte in memory, and what memory owes."""
        memory = Signal(8)      # XORed with the first value
        request, answer = dut.memory_request.payload, dut.memory_response.payload
        asks = dut.memory_request.valid & dut.memory_request.ready
        gives = dut.memory_response.valid & dut.memory_response.ready
        moves = (request.line == 0) & request.mask.bit_select(self.place, 1)
        mshrs = range(self._config.l2_mshrs)
        pending, known = (Array(Signal(name=f"{name}_{i}") for i in mshrs)
                          for name in ("pending", "known"))
        held = Array(Signal(8, name=f"held_{i}") for i in mshrs)
        with m.If(dut.memory_response.valid):
            m.d.comb += [Assume(pending[answer.tag]),
                         Assume(~known[answer.tag]
                                | (self._byte(answer.data) == held[answer.tag]))]
        with m.If(gives):
            m.d.sync += pending[answer.tag].eq(0)
        with m.If(asks & ~request.write):
            m.d.comb += Assert(~pending[request.tag], "a tag is used twice at a time")
            m.d.sync += [pending[request.tag].eq(1), known[request.tag].eq(moves),
                         held[request.tag].eq(memory ^ self.first)]
        with m.If(asks & request.write & moves):
            m.d.sync += memory.eq(self._byte(request.data) ^ self.first)
