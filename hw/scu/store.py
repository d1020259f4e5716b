"""The Data Store: writes elements to their places. Elements in one line share a write.

A line under construction collects the elements that belong to it. The first element of another
line sends the line to the memory and begins the next line, in the same cycle. So elements in
consecutive places never wait.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import and_or, highest, lowest
from hw.config import HardwareConfig
from hw.memory.port import line_layout

from .beats import beat_layout


__all__ = ["DataStore", "placed_layout", "store_request_layout"]


def placed_layout():
    """An element and its place: the number of a word in the address space. If only bit 0 of the
    value is written, ``bit`` is the number of the bit in this word."""
    return data.StructLayout({"place": 30, "bit": 5, "value": 32})


def store_request_layout(config: HardwareConfig):
    """A write of the bytes in ``mask``. With ``bit``, a write of one bit of word ``word`` instead.

    The first word of ``data`` gives the bit. With ``sets``, this word is 1 in the bit only, and the
    bit is set. Otherwise this word is 0 in the bit only, and the bit is cleared.
    """
    return data.StructLayout({
        "line": 32 - config.line_bits,
        "data": line_layout(config),
        "mask": config.line_bytes,
        "bit": 1, "sets": 1, "word": ceil_log2(config.line_words),
    })


class DataStore(wiring.Component):
    """The Data Store with its write coalescing.

    Throughput: a beat a cycle if its elements are in the line of the elements before or in one
    other line. Otherwise a line a cycle. Single bits: one a cycle.

    Parameters
    ----------
    config : HardwareConfig
    width : int
        Elements of a beat.

    Members
    -------
    bits : In(1)
        Elements are single bits.
    i : In(stream(beat_layout(placed_layout)))
        Beats. Any elements may be valid.
    request : Out(stream(store_request_layout))
        Writes. The last write is accepted before ``done``.
    done : Out(1)
        The last beat has been written. Stays high until reset.
    """
    def __init__(self, config: HardwareConfig, width):
        self._config, self._width = config, width
        super().__init__({
            "bits": In(1),
            "i": In(stream.Signature(beat_layout(placed_layout(), width))),
            "request": Out(stream.Signature(store_request_layout(config))),
            "done": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config, width = self._config, self._width
        word_bits = ceil_log2(config.line_words)
        i = self.i.payload
        out = self.request
        line_bits = 30 - word_bits

        line = Signal(line_bits)
        begun = Signal()
        words = Signal(line_layout(config), reset_less=True)
        mask = Signal(config.line_words)
        ending = Signal()
        written = Signal(width)         # elements of the beat that were taken in earlier cycles

        lines = [i.elements[k].place[word_bits:] for k in range(width)]
        open_ = Signal(width)
        here = Signal(width)
        others = Signal(width)
        m.d.comb += [
            open_.eq(Mux(self.i.valid & ~ending, i.valid & ~written, 0)),
            here.eq(Cat(open_[k] & begun & (lines[k] == line) for k in range(width))),
            others.eq(open_ & ~here),
        ]
        first = lowest(m, Mux(self.bits, open_, others), name="first")
        next_line = Signal(line_bits)
        new = Signal(width)             # elements that begin the next line
        m.d.comb += [
            next_line.eq(and_or(first, lines)),
            new.eq(Cat(others[k] & (lines[k] == next_line) for k in range(width))),
        ]

        def placed(name, chosen):
            """Returns a line with the chosen elements in their words, and the mask of the words."""
            values = Signal(line_layout(config), name=f"{name}_values")
            used = Signal(config.line_words, name=f"{name}_words")
            for w in range(config.line_words):
                picks = Signal(width, name=f"{name}_picks_{w}")
                m.d.comb += [
                    picks.eq(Cat(chosen[k] & (i.elements[k].place[:word_bits] == w)
                                 for k in range(width))),
                    used[w].eq(picks.any()),
                ]
                # If several elements have one place, the last counts.
                last = highest(m, picks, name=f"{name}_last_{w}")
                m.d.comb += values[w].eq(
                    and_or(last, [i.elements[k].value for k in range(width)]))
            return values, used
        here_values, here_words = placed("here", here)
        new_values, new_words = placed("new", new)

        room = Signal()
        sends = Signal()
        taken = Signal(width)           # elements that are taken in now
        merged = Signal(line_layout(config))
        m.d.comb += [
            room.eq(~out.valid | out.ready),
            # A line is sent when another begins. The last line is sent at the end.
            sends.eq(room & begun & (others.any() | ending) & ~self.bits),
            merged.eq(Cat(Mux(here_words[w], here_values[w], words[w])
                          for w in range(config.line_words))),
        ]
        with m.If(self.bits):
            m.d.comb += taken.eq(Mux(room, first, 0))
        with m.Else():
            m.d.comb += taken.eq(here | Mux(room | ~begun, new, 0))
        m.d.comb += self.i.ready.eq(~ending & ((open_ & ~taken) == 0))
        with m.If(self.i.valid & ~ending):
            m.d.sync += written.eq(Mux(self.i.ready, 0, written | taken))
            with m.If(self.i.ready):
                m.d.sync += ending.eq(i.end)

        with m.If(sends | (~begun & new.any() & ~self.bits)):
            m.d.sync += [begun.eq(new.any()), line.eq(next_line), words.eq(new_values),
                         mask.eq(new_words)]
        with m.Elif(~self.bits):
            m.d.sync += [words.eq(merged), mask.eq(mask | here_words)]
        with m.If(room):
            m.d.sync += [
                out.valid.eq(Mux(self.bits, open_.any(), sends)),
                out.payload.bit.eq(self.bits),
                out.payload.line.eq(Mux(self.bits, next_line, line)),
                out.payload.data.eq(merged),
                out.payload.mask.eq(Cat(bit.replicate(4) for bit in mask | here_words)),
            ]
            with m.If(self.bits):
                chosen = data.View(placed_layout(), and_or(first, list(map(
                    Value.cast, i.elements))))
                one = Signal(32)
                m.d.comb += one.eq(1 << chosen.bit)
                m.d.sync += [
                    out.payload.sets.eq(chosen.value[0]),
                    out.payload.word.eq(chosen.place[:word_bits]),
                    out.payload.data[0].eq(Mux(chosen.value[0], one, ~one)),
                ]
        m.d.comb += self.done.eq(ending & ~begun & ~out.valid)
        return m
