"""Filtering: decides whether an element is kept, and how its set changes."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.memory.port import line_layout


__all__ = ["Filtering"]


class Filtering(wiring.Component):
    """The filters of section 4.2 (Segura et al., ISCA 2019). Combinational.

    An element that is not found is kept and takes its way. An element that is found is dropped,
    with one exception. If costs count and the element's cost is less (unsigned) than the cost in
    the table, the element is kept and replaces the entry.

    Members
    -------
    line : In(line_layout)
        The line that the set is in.
    found : In(1)
        The element is in the set, as :class:`~hw.scu.search.Search` says.
    way : In(line_words)
        The element's way, as :class:`~hw.scu.search.Search` says.
    best : In(1)
        Costs count. An entry is an element and its cost, and begins at an even word.
    cost : In(32)
        Cost of the element.
    kept : Out(1)
        The element is kept.
    written : Out(line_words)
        Words of the line that become the element. With ``best``, odd words become its cost.
    """
    def __init__(self, config: HardwareConfig):
        self._words = words = config.line_words
        super().__init__({
            "line": In(line_layout(config)), "found": In(1), "way": In(words), "best": In(1),
            "cost": In(32), "kept": Out(1), "written": Out(words),
        })

    def elaborate(self, platform):
        m = Module()
        # All costs are compared before one result is chosen. Choosing first has a longer path.
        cheaper = Signal(self._words)
        for i in range(0, self._words, 2):
            m.d.comb += cheaper[i].eq(self.cost < self.line[i + 1])
        m.d.comb += [
            self.kept.eq(~self.found | (self.best & (self.way & cheaper).any())),
            self.written.eq(Mux(self.kept, self.way | Mux(self.best, self.way << 1, 0), 0)),
        ]
        return m
