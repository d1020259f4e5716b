"""Grouping: puts an element into a group, and finds the group that is complete."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.bits import and_or
from hw.config import HardwareConfig
from hw.memory.port import line_layout

from .hashing import group_bits
from .registers import EMPTY, group_limit


__all__ = ["Grouping"]


class Grouping(wiring.Component):
    """The groups of section 4.3 (Segura et al., ISCA 2019). Combinational.

    An entry is a group. Word 0 holds the number of the members' line in bits 31:4 and the number
    of members in bits 3:0. The next words are the members, by their numbers in the stream.

    Members
    -------
    line : In(line_layout)
        The line that the set is in.
    found, displaces : In(1)
        The results of :class:`~hw.scu.search.Search`.
    way : In(line_words)
        The element's way, as :class:`~hw.scu.search.Search` says.
    key : In(32)
        The number of the element's line, shifted left by 4.
    number : In(32)
        The element's number in the stream.
    ends : In(1)
        There is no element. The group in ``way``, if any, is complete, and nothing is written.
    header : Out(32)
        The new first word of the entry, which is ``EMPTY`` if the element fills the group.
    headers : Out(line_words)
        Words of the line that become ``header``.
    written : Out(line_words)
        Words of the line that become the element's number.
    complete : Out(1)
        A group is complete: the element fills or displaces it, or ``ends`` is high and ``way``
        holds a group.
    count : Out(4)
        Number of members of the complete group, at least one.
    members : Out(ArrayLayout(32, group_limit))
        Members of the complete group, by their numbers in the stream.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        words = config.line_words
        self._limit = group_limit(config.line_bytes)
        super().__init__({
            "line": In(line_layout(config)), "found": In(1), "displaces": In(1),
            "way": In(words), "key": In(32), "number": In(32), "ends": In(1),
            "header": Out(32), "headers": Out(words), "written": Out(words),
            "complete": Out(1), "count": Out(4),
            "members": Out(data.ArrayLayout(32, self._limit)),
        })

    def elaborate(self, platform):
        m = Module()
        config, limit = self._config, self._limit
        entries = 1 << group_bits(config)
        entry_words = config.line_words // entries

        # The entry. If a line holds only one, there is nothing to choose.
        at = Cat(self.way[entry * entry_words] for entry in range(entries))
        at = at if entries > 1 else Const(1, 1)
        entry = [and_or(at, [self.line[one * entry_words + i] for one in range(entries)])
                 for i in range(limit + 1)]
        before = Signal(4)
        after = Signal(4)
        full = Signal()
        empty = Signal()
        m.d.comb += [
            before.eq(entry[0]),
            after.eq(Mux(self.found, before + 1, 1)),
            full.eq(self.found & (after == limit) & ~self.ends),
            empty.eq(entry[0] == EMPTY),
            self.header.eq(Mux(full, EMPTY, Cat(after, self.key[4:]))),
            self.complete.eq(Mux(self.ends, ~empty, full | self.displaces)),
            self.count.eq(Mux(full, limit, before)),
        ]
        for i in range(limit - 1):
            m.d.comb += self.members[i].eq(entry[i + 1])
        m.d.comb += self.members[limit - 1].eq(Mux(full, self.number, entry[limit]))
        for one in range(entries):
            first = one * entry_words
            with m.If(~self.ends & at[one]):
                m.d.comb += self.headers[first].eq(1)
                for i in range(1, limit + 1):
                    m.d.comb += self.written[first + i].eq(after == i)
        return m
