"""The search in a set of the hash table."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.memory.port import line_layout
from hw.util import lowest


__all__ = ["Search"]


class Search(wiring.Component):
    """The way of a set that an element is in, or goes into. Combinational.

    Ways are told by the first word of their entry, one bit for each word of the line.

    Members
    -------
    line : In(line_layout)
        The line that the set is in.
    ways : In(line_words)
        The ways of the set.
    turn : In(line_words)
        The way that is taken if the element is not there and no way is empty.
    group : In(1)
        Entries begin with a number of a line and, in the lowest 4 bits, of members; else with an
        element.
    key : In(32)
        The element, which is not what an empty way holds; with ``group`` the line's number, the
        lowest 4 bits being 0.
    found : Out(1)
        It is there.
    displaces : Out(1)
        It is not, and another is in the way it goes into.
    way : Out(line_words)
        One-hot: the first way it is in, else the first that is empty, else ``turn``.
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
