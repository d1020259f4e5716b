"""The search in a set of the hash table."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.bits import lowest
from hw.config import HardwareConfig
from hw.memory.port import line_layout


__all__ = ["Search"]


class Search(wiring.Component):
    """Finds the way of a set that holds an element, or that the element takes. Combinational.

    Ways are given as bits, one for each word of the line. The bit of a way is the bit of the first
    word of its entry.

    Members
    -------
    line : In(line_layout)
        The line that the set is in.
    ways : In(line_words)
        The ways of the set.
    turn : In(line_words)
        The way that the element takes if it is not found and no way is empty.
    group : In(1)
        Entries are groups. The first word of a group holds a line's number and, in the lowest 4
        bits, the number of members. Without ``group``, the first word of an entry is an element.
    key : In(32)
        The element, never ``EMPTY``. With ``group``: the line's number, with the lowest 4 bits 0.
    found : Out(1)
        The element, or its group, is in the set.
    displaces : Out(1)
        The element is not found, and no way is empty.
    way : Out(line_words)
        One-hot: the first way that holds the element, else the first empty way, else ``turn``.
    """
    def __init__(self, config: HardwareConfig):
        self._words = words = config.line_words
        super().__init__({
            "line": In(line_layout(config)), "ways": In(words), "turn": In(words),
            "group": In(1), "key": In(32),
            "found": Out(1), "displaces": Out(1), "way": Out(words),
        })

    def elaborate(self, platform):
        m = Module()
        empty = Signal(self._words)
        equal = Signal(self._words)
        for i in range(self._words):
            word = self.line[i]
            m.d.comb += [
                empty[i].eq(self.ways[i] & word.all()),
                equal[i].eq(self.ways[i] & (word[4:] == self.key[4:])
                            & Mux(self.group, ~word.all(), word[:4] == self.key[:4])),
            ]
        first_equal = lowest(m, equal, name="first_equal")
        first_empty = lowest(m, empty, name="first_empty")
        m.d.comb += [
            self.found.eq(equal.any()),
            self.displaces.eq(~(equal.any() | empty.any())),
            self.way.eq(Mux(equal.any(), first_equal,
                            Mux(empty.any(), first_empty, self.turn))),
        ]
        return m
