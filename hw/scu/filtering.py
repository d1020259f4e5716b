"""Filtering: whether an element is kept, and what becomes of its set."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.memory.port import line_layout


__all__ = ["Filtering"]


class Filtering(wiring.Component):
    """The filters of section 4.2 (Segura et al., ISCA 2019). Combinational.

    An element that is not found is kept and takes its way. One that is found is dropped, unless
    costs count and its own is less, unsigned, than the one in the table, which it then replaces.

    Members
    -------
    line : In(line_layout)
        The line that the set is in.
    found, way : In
        Of :class:`~hw.scu.search.Search`.
    best : In(1)
        Costs count: an entry is an element and its cost, from an even word on.
    cost : In(32)
    kept : Out(1)
    written : Out(line_words)
        Words of the line that become the element, and, with ``best``, its cost in odd words.
    """
    def __init__(self, config: HardwareConfig):
        self._words = words = config.line_words
        super().__init__({
            "line": In(line_layout(config)), "found": In(1), "way": In(words), "best": In(1),
            "cost": In(32), "kept": Out(1), "written": Out(words),
        })

    def elaborate(self, platform):
        m = Module()
        # Compared everywhere and then chosen, not the other way round: that is shorter in time.
        cheaper = Signal(self._words)
        for i in range(0, self._words, 2):
            m.d.comb += cheaper[i].eq(self.cost < self.line[i + 1])
        m.d.comb += [
            self.kept.eq(~self.found | (self.best & (self.way & cheaper).any())),
            self.written.eq(Mux(self.kept, self.way | Mux(self.best, self.way << 1, 0), 0)),
        ]
        return m
