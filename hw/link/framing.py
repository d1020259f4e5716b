"""Frames of :mod:`hw.link.frames` in hardware: bytes to words of a buffer, and words to bytes.

The CRC logic takes a byte a cycle, from a register.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.crc.catalog import CRC32_ETHERNET
from amaranth.lib.wiring import In, Out

from hw.link.frames import ESCAPE, ESCAPED, FLAG, MAX_WORDS


__all__ = ["BUFFER_WORDS", "FrameReceiver", "FrameTransmitter", "end_layout", "word_layout"]


#: Words of a buffer that holds the longest frame with header and CRC; a power of two.
BUFFER_WORDS = 2 * MAX_WORDS

_BITS = BUFFER_WORDS.bit_length() - 1


#: The end of a frame. ``good``: the CRC is correct, and the length is whole words that fit the
#: buffer. ``words``: the number of words without the CRC.
end_layout = data.StructLayout({"good": 1, "words": _BITS})

#: A word to send, and whether the word is the frame's last.
word_layout = data.StructLayout({"word": 32, "last": 1})


class FrameReceiver(wiring.Component):
    """Converts bytes to the words of a frame. Frames without a byte are skipped.

    Latency: the end is valid two cycles after its flag was taken. Throughput: a byte a cycle; no
    byte between the flag and the cycle in which the end is taken.

    Members
    -------
    i : In(stream(8))
        Bytes from the line.
    write, address, word : Out(1), Out(range(BUFFER_WORDS)), Out(32)
        Write a word of the frame, or its CRC, to ``address`` of the buffer.
    o : Out(stream(end_layout))
        The frame has ended. No word of the next frame is written before the end is taken.
    """
    def __init__(self):
        super().__init__({"i": In(stream.Signature(8)),
                          "write": Out(1), "address": Out(_BITS), "word": Out(32),
                          "o": Out(stream.Signature(end_layout))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = CRC32_ETHERNET(data_width=8).create()
        # One byte of the frame without its escape, or the frame's end, in registers.
        byte = Signal(8, reset_less=True)
        valid = Signal()
        ended = Signal()
        escaped = Signal()
        m.d.comb += self.i.ready.eq(~ended & ~self.o.valid)
        m.d.sync += [valid.eq(0), ended.eq(0)]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                byte.eq(Mux(escaped, self.i.payload ^ ESCAPED, self.i.payload)),
                valid.eq((self.i.payload != FLAG) & (self.i.payload != ESCAPE)),
                ended.eq(self.i.payload == FLAG), escaped.eq(self.i.payload == ESCAPE),
            ]

        length = Signal(_BITS + 3)              # bytes received; the highest bit means too many
        m.d.comb += [crc.start.eq(ended), crc.valid.eq(valid), crc.data.eq(byte)]
        m.d.sync += [self.write.eq(valid & (length[:2] == 3) & ~length[-1]),
                     self.address.eq(length[2:])]
        with m.If(valid):
            m.d.sync += [self.word.eq(Cat(self.word[8:], byte)),
                         length.eq(Mux(length[-1], length, length + 1))]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(ended):
            m.d.sync += [
                length.eq(0), self.o.valid.eq(length != 0),
                self.o.payload.good.eq(crc.match_detected & (length[:2] == 0) & ~length[-1]),
                self.o.payload.words.eq(length[2:] - 1),
            ]
        return m


class FrameTransmitter(wiring.Component):
    """Converts words to the bytes of frames, with CRC and flags.

    Throughput: five cycles a word without escapes.

    Members
    -------
    i : In(stream(word_layout))
    o : Out(stream(8))
        From a register.
    """
    def __init__(self):
        super().__init__({"i": In(stream.Signature(word_layout)), "o": Out(stream.Signature(8))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = CRC32_ETHERNET(data_width=8).create()
        rest = Signal(32, reset_less=True)      # the bytes of the word not sent yet
        index = Signal(2)
        last = Signal()             # the last word of the frame
        closing = Signal()          # the CRC is sent
        escaped = Signal()
        special = Signal()
        room = Signal()
        byte = rest[:8]
        m.d.comb += [
            room.eq(~self.o.valid | self.o.ready),
            special.eq(((byte == FLAG) | (byte == ESCAPE)) & ~escaped),
            crc.data.eq(byte),
        ]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.FSM(name="state"):
            with m.State("IDLE"):
                m.d.comb += crc.start.eq(1)
                m.d.sync += closing.eq(0)
                with m.If(self.i.valid & room):
                    m.d.sync += [self.o.valid.eq(1), self.o.payload.eq(FLAG)]
                    m.next = "LOAD"
            with m.State("LOAD"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += [rest.eq(self.i.payload.word), last.eq(self.i.payload.last)]
                with m.If(self.i.valid):
                    m.next = "BYTES"
            with m.State("BYTES"):
                with m.If(room):
                    m.d.sync += [self.o.valid.eq(1), escaped.eq(special)]
                    with m.If(special):
                        m.d.sync += self.o.payload.eq(ESCAPE)
                    with m.Else():
                        m.d.comb += crc.valid.eq(1)
                        m.d.sync += [self.o.payload.eq(Mux(escaped, byte ^ ESCAPED, byte)),
                                     rest.eq(rest[8:]), index.eq(index + 1)]
                        with m.If(index == 3):
                            m.next = "LOAD"
                            with m.If(closing):
                                m.next = "CLOSE"
                            with m.Elif(last):
                                m.next = "CRC"
            with m.State("CRC"):
                m.d.sync += [rest.eq(crc.crc), closing.eq(1)]
                m.next = "BYTES"
            with m.State("CLOSE"):
                with m.If(room):
                    m.d.sync += [self.o.valid.eq(1), self.o.payload.eq(FLAG)]
                    m.next = "CLOSE_AGAIN"
            with m.State("CLOSE_AGAIN"):
                with m.If(room):
                    m.d.sync += [self.o.valid.eq(1), self.o.payload.eq(FLAG)]
                    m.next = "IDLE"
        return m
