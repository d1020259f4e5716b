"""The place of an element in the hash table."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig

from .registers import ScuOutput, entry_bytes, hash_set


__all__ = ["Hashing", "group_bits", "word_bits"]


def word_bits(config: HardwareConfig):
    """log2 of the words of a line."""
    return ceil_log2(config.line_words)


def group_bits(config: HardwareConfig):
    """log2 of the entries of GROUP in a line."""
    return ceil_log2(config.line_bytes // entry_bytes(ScuOutput.GROUP, config.line_bytes))


class Hashing(wiring.Component):
    """Finds line and place of a set of the hash table. Combinational.

    Normally the set is the set of an element (:func:`~hw.scu.registers.hash_set`). On a walk
    through the table, an entry of GROUP is given by its number. If a line holds one such entry,
    this number is the number of the line in the table.

    Parameters
    ----------
    config : HardwareConfig
    banks : int
        Number of banks that share the table, a power of two.

    Members
    -------
    mode : In(2)
        A filter or GROUP, as :class:`~hw.scu.registers.ScuOutput`.
    address : In(32)
        Address of the table, a multiple of the line size.
    sets_bits : In(5)
        log2 of the number of sets of the table.
    ways_bits : In(3)
        log2 of the number of ways of a set. A set is not larger than a line.
    value : In(32)
        The element.
    banked : In(1)
        A walk visits only lines of one bank.
    walks : In(1)
        Find the entry ``position`` instead of the set of ``value``.
    position : In(32 - line_bits + group_bits)
        Number of an entry of GROUP.
    key : Out(32)
        The word to compare entries with: the element. For GROUP, the number of the element's line,
        from bit 4 on.
    line : Out(32 - line_bits)
        Number of the line in memory.
    offset : Out(word_bits)
        First word of the set, or of the entry, in the line.
    last : Out(1)
        ``position`` is in the last line of the walk, or ``outside``.
    outside : Out(1)
        ``position`` is in no line of the table. Never without ``banked``.
    """
    def __init__(self, config: HardwareConfig, *, banks=1):
        self._config, self._banks = config, banks
        line_shape = 32 - config.line_bits
        super().__init__({
            "mode": In(2), "address": In(32), "sets_bits": In(5), "ways_bits": In(3),
            "value": In(32), "banked": In(1), "walks": In(1),
            "position": In(line_shape + group_bits(config)),
            "key": Out(32), "line": Out(line_shape), "offset": Out(word_bits(config)),
            "last": Out(1), "outside": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        words, halves = word_bits(config), group_bits(config)
        line_shape = 32 - config.line_bits

        entry_bits = Signal(range(words + 1))           # log2 of the words of an entry
        set_bits = Signal(range(words + 1))             # log2 of the words of a set
        with m.Switch(self.mode):
            for output in (ScuOutput.FILTER_UNIQUE, ScuOutput.FILTER_BEST, ScuOutput.GROUP):
                with m.Case(int(output)):
                    size = entry_bytes(output, config.line_bytes)
                    m.d.comb += entry_bits.eq(ceil_log2(size // 4))
        m.d.comb += set_bits.eq(entry_bits + self.ways_bits)

        element = Signal(32)
        group = Signal()
        m.d.comb += [
            group.eq(self.mode == ScuOutput.GROUP),
            element.eq(Mux(group, self.value[words:][:28], self.value)),
            self.key.eq(Mux(group, element << 4, element)),
        ]

        # A constant of a fixed width: a shift by so many bits would be very wide otherwise.
        ones = Const(-1, 32)
        sets = Signal(32)                               # number of sets - 1
        number = Signal(32)
        place = Signal(32 + words)                      # first word of the set in the table
        index = Signal(line_shape)
        m.d.comb += [
            sets.eq(~(ones << self.sets_bits)[:32]),
            number.eq(hash_set(element, 1 << 32) & sets),
            place.eq(number << set_bits),
            index.eq(Mux(self.walks, self.position[halves:], place[words:])),
            self.line.eq(self.address[config.line_bits:] + index),
            self.offset.eq(Mux(self.walks,
                               Cat(Const(0, words - halves), self.position[:halves]),
                               place[:words])),
        ]

        size = Signal(6)                                # log2 of the words of the table
        table_words = Signal(32)                        # number of words of the table - 1
        at = Signal(line_shape)                         # line in the table of the position
        end = Signal(line_shape)                        # last line of the table
        banks = self._banks - 1
        m.d.comb += [
            size.eq(self.sets_bits + set_bits),
            table_words.eq(~(ones << size)[:32]),
            at.eq(self.position[halves:]), end.eq(table_words[words:]),
            self.last.eq(Mux(self.banked, at | banks, at) == Mux(self.banked, end | banks, end)),
            self.outside.eq(self.last & ((at & banks) > (end & banks))),
        ]
        return m
