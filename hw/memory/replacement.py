"""Replacement: a way that has passed, or a pseudo-random way, but not the most recently used way.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.bits import encode, index_bits, lowest


__all__ = ["Replacement"]


class Replacement(wiring.Component):
    """Victim choice of a set-associative cache.

    The victim is the lowest invalid way. If all ways are valid, a linear-feedback shift register
    draws a way. If the drawn way is the set's most recently used way, its neighbour is the victim.
    Combinational.

    With ``passing`` a way may be used *once*, for a line that is not wanted again soon. The last
    such way of a set is the next victim if all ways are valid, unless the way is used again
    meanwhile. Such a use does not count as the most recent one.

    Parameters
    ----------
    sets, ways : int
    passing : bool
        Whether there is ``once``.

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
    once : In(1)
        Whether ``touch`` is for a line that is not wanted again soon.
    """
    def __init__(self, *, sets, ways, passing=False):
        self._sets = sets
        self._ways = ways
        self._passing = passing
        super().__init__({
            **({"once": In(1)} if passing else {}),
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
        once = passed = is_passed = Const(0)
        if self._passing:
            once = self.once
            passed, is_passed = self._remember(m)
        invalid = lowest(m, ~self.valid, name="invalid")
        index = Signal(index_bits(ways))
        m.d.comb += [
            recent_read.addr.eq(self.set),
            index.eq(Mux(drawn == recent_read.data, drawn + 1, drawn)),
            self.victim.eq(Mux(invalid.any(), invalid, 1 << Mux(is_passed, passed, index))),
            recent_write.addr.eq(self.touched_set),
            recent_write.data.eq(encode(self.touch)),
            recent_write.en.eq(self.touch.any() & ~once),
        ]
        return m

    def _remember(self, m):
        """A way of ``set``, and whether it was used once."""
        bits = index_bits(self._ways)
        m.submodules.passing = passing = Memory(shape=bits + 1, depth=self._sets, init=[])
        write = passing.write_port()
        victims, touched = passing.read_port(domain="comb"), passing.read_port(domain="comb")
        way = encode(self.touch)
        m.d.comb += [
            victims.addr.eq(self.set),
            touched.addr.eq(self.touched_set), write.addr.eq(self.touched_set),
            write.data.eq(Cat(way, self.once)),
            write.en.eq(self.touch.any() & (self.once | (touched.data[:bits] == way))),
        ]
        return victims.data[:bits], victims.data[bits]
