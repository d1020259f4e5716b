"""Reading the vectors that steer an operation: one word, or one bit, after the other."""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.memory.port import line_layout
from hw.util import mux_tree

from .interface import SLOTS, line_response_layout, read_layout


__all__ = ["BIT_LINES", "BitVector", "WordVector", "vector_lines"]


#: Lines that the buffer of a vector of bits holds: one has the bits of many groups.
BIT_LINES = 2


def vector_lines(config: HardwareConfig):
    """Lines that the buffer of each of the four vectors of words holds: a power of two, of what the
    two vectors of bits leave."""
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
    """A vector of words, ``width`` of them a cycle.

    It asks for the lines ahead of their use, as far as its buffer has room.

    Latency: the first line is asked for two cycles after the start. Throughput: a group a cycle,
    and a line a cycle, as long as lines come in time.

    Parameters
    ----------
    config : HardwareConfig
    width : int
        Words of a group, a power of two of at most a line.
    lines : int, optional
        Lines that the buffer holds; by default what the configuration says.

    Members
    -------
    start : In(1)
        Begin: ``address`` and ``length`` hold from the next cycle until the last group is taken.
        No line of an earlier vector may be under way; what is on offer of it is withdrawn.
    address, length : In(32)
        A multiple of 4; words.
    read : Out(stream(read_layout))
    response : In(stream(line_response_layout))
        Always ready.
    o : Out(stream(ArrayLayout(32, width)))
        The words in order, from the first on; those of the last group that are behind the last
        word are anything.
    """
    def __init__(self, config: HardwareConfig, width, *, lines=None):
        self._config, self._width = config, width
        self._lines = lines or vector_lines(config)
        super().__init__(_ports(config, data.ArrayLayout(32, width)))

    def elaborate(self, platform):
        m = Module()
        config, width = self._config, self._width
        depth = self._lines
        slot_bits, group_bits = ceil_log2(depth), ceil_log2(width)
        line_bits = config.line_bits

        m.submodules.lines = lines = Memory(shape=line_layout(config), depth=depth, init=[])
        line_write, line_read = lines.write_port(), lines.read_port(domain="comb")

        # Lines are asked for.
        first_word = self.address[2:]
        last_word = Signal(30)
        next_line = Signal(32 - line_bits)
        unasked = Signal(33 - line_bits)
        asked_slot = Signal(slot_bits)
        head_slot = Signal(slot_bits)
        held = Signal(range(depth + 1))
        arrived = Signal(depth)
        # A line is cut into chunks, aligned groups; where the vector is not aligned to them, a
        # group is the end of one chunk and the beginning of the next.
        skew = Signal(max(1, group_bits))
        chunk = Signal(max(1, line_bits - 2 - group_bits))
        chunks = Signal(33)         # to come
        groups = Signal(33)         # to come
        begin = Signal()            # the vector is known
        m.d.comb += last_word.eq(first_word + self.length - 1)
        m.d.sync += begin.eq(self.start)
        with m.If(begin):
            shift = (first_word & width - 1) + self.length + width - 1
            m.d.sync += [
                next_line.eq(first_word[line_bits - 2:]),
                unasked.eq(Mux(self.length == 0, 0, last_word[line_bits - 2:]
                               - first_word[line_bits - 2:] + 1)),
                chunks.eq(shift >> group_bits),
                groups.eq(self.length + width - 1 >> group_bits),
            ]
            if group_bits:
                m.d.sync += skew.eq(first_word[:group_bits])
            if line_bits - 2 > group_bits:
                m.d.sync += chunk.eq(first_word[group_bits:line_bits - 2])
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

        # And cut into groups.
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
        before = Signal(data.ArrayLayout(32, width), reset_less=True)   # the last chunk
        primed = Signal()
        room = Signal()
        emits = Signal()
        m.d.comb += [
            room.eq(~self.o.valid | self.o.ready),
            emits.eq(room & (groups != 0)
                     & Mux(skew == 0, chunk_ready, primed & (chunk_ready | (chunks == 0)))),
            pops.eq(Mux((skew == 0) | primed, emits & (chunks != 0), chunk_ready)),
        ]
        with m.If(pops):
            m.d.sync += [before.eq(words), primed.eq(1)]
        with m.If(room):
            m.d.sync += self.o.valid.eq(emits)
            both = [*(before[k] for k in range(width)), *(words[k] for k in range(width))]
            for k in range(width):
                # By skew: the word itself, or one of those behind it in the last chunk and this.
                m.d.sync += self.o.payload[k].eq(mux_tree(skew, [
                    both[(k + s) if s else width + k] for s in range(width)])
                    if width > 1 else words[0])
        with m.If(emits):
            m.d.sync += groups.eq(groups - 1)

        with m.If(self.start):
            m.d.sync += [unasked.eq(0), groups.eq(0), chunks.eq(0), held.eq(0), arrived.eq(0),
                         asked_slot.eq(0), head_slot.eq(0), primed.eq(0), self.o.valid.eq(0),
                         skew.eq(0), chunk.eq(0)]
        m.d.sync += Assert(~self.response.valid
                           | ~arrived.bit_select(self.response.payload.slot[:slot_bits], 1),
                           "a line comes twice")
        return m


class BitVector(wiring.Component):
    """A vector of bits, ``width`` of them a cycle; the first is bit 0 of its first word.

    Latency and throughput as :class:`WordVector`'s.

    Members
    -------
    start, address, read, response
        As :class:`WordVector`'s.
    length : In(32)
        Bits.
    o : Out(stream(width))
        The bits in order, and then those behind the last in its word, which are anything.
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
