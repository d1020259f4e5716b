"""Replacement: a pseudo-random way of the set, but not the most recently used way."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.util import encode, index_bits, lowest


__all__ = ["Replacement"]


class Replacement(wiring.Component):
    """Victim choice of a set-associative cache.

    The victim is the lowest invalid way. If all ways are valid, a linear-feedback shift register
    draws a way. If the drawn way is the set's most recently used way, its neighbour is the victim.
    Combinational.

    Parameters
    ----------
    sets, ways : int

    Members
    -------
    set : In(index_bits(sets))
        The set for ``valid`` and ``victim``.
    valid : In(ways)
        Valid ways of ``set``.
    victim : Out(ways)
        One-hot: the way to replace.
    touched_set : In(index_bits(sets))
        The set for ``touch``.
    touch : In(ways)
        One-hot: the way of ``touched_set`` that is used in this cycle; zero if none is used.
    """
    def __init__(self, *, sets, ways):
        self._sets = sets
        self._ways = ways
        super().__init__({
            "set": In(index_bits(sets)), "valid": In(ways), "victim": Out(ways),
            "touched_set": In(index_bits(sets)), "touch": In(ways),
        })

    def elaborate(self, platform):
        m = Module()
        ways = self._ways
        if ways == 1:
            m.d.comb += self.victim.eq(1)
            return m

        m.submodules.recent = recent = Memory(shape=index_bits(ways), depth=self._sets, init=[])
        recent_write, recent_read = recent.write_port(), recent.read_port(domain="comb")
        lfsr = Signal(16, init=1)
        # The register shifts only when the cache is used. So a victim depends on the order of the
        # accesses, and not on the cycles between them.
        with m.If(self.touch.any()):
            m.d.sync += lfsr.eq(Cat(lfsr[1:], lfsr[0] ^ lfsr[2] ^ lfsr[3] ^ lfsr[5]))
        drawn = lfsr[:index_bits(ways)]
        invalid = lowest(m, ~self.valid, name="invalid")
        index = Signal(index_bits(ways))
        m.d.comb += [
            recent_read.addr.eq(self.set),
            index.eq(Mux(drawn == recent_read.data, drawn + 1, drawn)),
            self.victim.eq(Mux(invalid.any(), invalid, 1 << index)),
            recent_write.addr.eq(self.touched_set),
            recent_write.data.eq(encode(self.touch)),
            recent_write.en.eq(self.touch.any()),
        ]
        return m
