"""Readers of the vectors that control an operation, as streams of words or of bits."""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import ceil_log2

from hw.bits import mux_tree
from hw.config import HardwareConfig
from hw.memory.port import line_layout

from .interface import SLOTS, line_response_layout, read_layout


__all__ = ["BIT_LINES", "BitVector", "WordVector", "vector_lines"]


#: Lines in the buffer of a vector of bits. One line has the bits of many beats.
BIT_LINES = 2


def vector_lines(config: HardwareConfig):
    """Lines in the buffer of each of the four vectors of words, a power of two. The buffers of the
    two vectors of bits are taken off first."""
    lines = max(2, config.scu_vector_bytes // config.line_bytes // 4 - BIT_LINES // 2)
    return min(1 << lines.bit_length() - 1, SLOTS)


def _ports(config, element):
    return {
        "start": In(1), "address": In(32), "length": In(32),
        "read": Out(stream.Signature(read_layout(config))),
        "response": In(stream.Signature(line_response_layout(config))),
        "o": Out(stream.Signature(element)),
    }


class WordVector(wiring.Component):
    """Reads a vector of words, ``width`` words a cycle.

    Lines are requested ahead of their use, as far as the buffer has room.

    Latency: the first line is requested two cycles after the start. Throughput: a beat a cycle,
    and a line a cycle, as long as lines arrive in time.

    Parameters
    ----------
    config : HardwareConfig
    width : int
        Words of a beat: a power of two, at most the words of a line.
    lines : int, optional
        Lines in the buffer. Default: :func:`vector_lines`.

    Members
    -------
    start : In(1)
        Begin. ``address`` and ``length`` hold from the next cycle until the last beat is taken.
        No line of an earlier vector may be under way. A beat on offer is withdrawn.
    address : In(32)
        Address of the vector, a multiple of 4.
    length : In(32)
        Number of words.
    read : Out(stream(read_layout))
        Requests of lines.
    response : In(stream(line_response_layout))
        Answers to ``read``, in any order. Always ready.
    o : Out(stream(ArrayLayout(32, width)))
        The words in order. The words of the last beat behind the vector's end are undefined.
    """
    def __init__(self, config: HardwareConfig, width, *, lines=None):
        self._config, self._width = config, width
        self._lines = lines or vector_lines(config)
        super().__init__(_ports(config, data.ArrayLayout(32, width)))

    def elaborate(self, platform):
        m = Module()
        config, width = self._config, self._width
        depth = self._lines
        slot_bits, beat_bits = ceil_log2(depth), ceil_log2(width)
        line_bits = config.line_bits

        m.submodules.lines = lines = Memory(shape=line_layout(config), depth=depth, init=[])
        line_write, line_read = lines.write_port(), lines.read_port(domain="comb")

        # Lines are requested.
        first_word = self.address[2:]
        last_word = Signal(30)
        next_line = Signal(32 - line_bits)
        unasked = Signal(33 - line_bits)
        asked_slot = Signal(slot_bits)
        head_slot = Signal(slot_bits)
        held = Signal(range(depth + 1))
        arrived = Signal(depth)
        # A line is cut into chunks, which are aligned beats. If the vector is not aligned to
        # chunks, a beat is the end of one chunk and the beginning of the next.
        skew = Signal(max(1, beat_bits))
        chunk = Signal(max(1, line_bits - 2 - beat_bits))
        chunks = Signal(33)         # chunks to come
        beats = Signal(33)          # beats to come
        begin = Signal()            # the vector is known
        m.d.comb += last_word.eq(first_word + self.length - 1)
        m.d.sync += begin.eq(self.start)
        with m.If(begin):
            shift = (first_word & width - 1) + self.length + width - 1
            m.d.sync += [
                next_line.eq(first_word[line_bits - 2:]),
                unasked.eq(Mux(self.length == 0, 0, last_word[line_bits - 2:]
                               - first_word[line_bits - 2:] + 1)),
                chunks.eq(shift >> beat_bits),
                beats.eq(self.length + width - 1 >> beat_bits),
            ]
            if beat_bits:
                m.d.sync += skew.eq(first_word[:beat_bits])
            if line_bits - 2 > beat_bits:
                m.d.sync += chunk.eq(first_word[beat_bits:line_bits - 2])
        asks = Signal()
        frees = Signal()
        m.d.comb += [
            self.read.valid.eq((unasked != 0) & (held != depth)),
            self.read.payload.line.eq(next_line),
            self.read.payload.slot.eq(asked_slot),
            asks.eq(self.read.valid & self.read.ready),
            self.response.ready.eq(1),
            line_write.addr.eq(self.response.payload.slot),
            line_write.data.eq(self.response.payload.data),
            line_write.en.eq(self.response.valid),
            line_read.addr.eq(head_slot),
        ]
        with m.If(asks):
            m.d.sync += [next_line.eq(next_line + 1), unasked.eq(unasked - 1),
                         asked_slot.eq(asked_slot + 1)]
        m.d.sync += [
            held.eq(held + asks - frees),
            arrived.eq((arrived | Mux(self.response.valid,
                                      1 << self.response.payload.slot[:slot_bits], 0))
                       & ~Mux(frees, 1 << head_slot, 0)),
        ]

        # Lines are cut into beats.
        words = Signal(data.ArrayLayout(32, width))
        chunk_ready = Signal()
        pops = Signal()
        last_of_line = Signal()
        line = line_read.data
        per_line = config.line_words // width
        m.d.comb += [
            words.as_value().eq(mux_tree(chunk, [Cat(line[c * width + k] for k in range(width))
                                           for c in range(per_line)])),
            chunk_ready.eq((chunks != 0) & arrived.bit_select(head_slot, 1)),
            last_of_line.eq(chunk == per_line - 1),
            frees.eq(pops & last_of_line),
        ]
        with m.If(pops):
            m.d.sync += [chunks.eq(chunks - 1), chunk.eq(Mux(last_of_line, 0, chunk + 1))]
        with m.If(frees):
            m.d.sync += head_slot.eq(head_slot + 1)
        before = Signal(data.ArrayLayout(32, width), reset_less=True)   # the chunk before
        primed = Signal()
        room = Signal()
        emits = Signal()
        m.d.comb += [
            room.eq(~self.o.valid | self.o.ready),
            emits.eq(room & (beats != 0)
                     & Mux(skew == 0, chunk_ready, primed & (chunk_ready | (chunks == 0)))),
            pops.eq(Mux((skew == 0) | primed, emits & (chunks != 0), chunk_ready)),
        ]
        with m.If(pops):
            m.d.sync += [before.eq(words), primed.eq(1)]
        with m.If(room):
            m.d.sync += self.o.valid.eq(emits)
            both = [*(before[k] for k in range(width)), *(words[k] for k in range(width))]
            for k in range(width):
                # Skew 0: word k of this chunk. Skew s: word k + s of the chunk before and this one.
                m.d.sync += self.o.payload[k].eq(mux_tree(skew, [
                    both[(k + s) if s else width + k] for s in range(width)])
                    if width > 1 else words[0])
        with m.If(emits):
            m.d.sync += beats.eq(beats - 1)

        with m.If(self.start):
            m.d.sync += [unasked.eq(0), beats.eq(0), chunks.eq(0), held.eq(0), arrived.eq(0),
                         asked_slot.eq(0), head_slot.eq(0), primed.eq(0), self.o.valid.eq(0),
                         skew.eq(0), chunk.eq(0)]
        m.d.sync += Assert(~self.response.valid
                           | ~arrived.bit_select(self.response.payload.slot[:slot_bits], 1),
                           "a line comes twice")
        return m


class BitVector(wiring.Component):
    """Reads a vector of bits, ``width`` bits a cycle. The first bit is bit 0 of the first word.

    Latency and throughput are those of :class:`WordVector`.

    Members
    -------
    start, address, read, response
        As for :class:`WordVector`.
    length : In(32)
        Number of bits.
    o : Out(stream(width))
        The bits in order, up to the end of the last word. Bits behind the vector's end are
        undefined.
    """
    def __init__(self, config: HardwareConfig, width):
        self._config, self._width = config, width
        super().__init__(_ports(config, width))

    def elaborate(self, platform):
        m = Module()
        width = self._width
        m.submodules.words = words = WordVector(self._config, 1, lines=BIT_LINES)
        for name in ("start", "address"):
            m.d.comb += getattr(words, name).eq(getattr(self, name))
        m.d.comb += words.length.eq((self.length >> 5) + self.length[:5].any())
        connect(m, words.read, wiring.flipped(self.read))
        connect(m, wiring.flipped(self.response), words.response)
        index = Signal(ceil_log2(32 // width))
        m.d.comb += [
            self.o.valid.eq(words.o.valid),
            self.o.payload.eq(words.o.payload[0].word_select(index, width)),
            words.o.ready.eq(self.o.ready & index.all()),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += index.eq(index + 1)
        with m.If(self.start):
            m.d.sync += index.eq(0)
        return m
