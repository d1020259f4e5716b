"""Circuits on bits: one-hot signals, priorities and round robin, indexes, multiplexers."""

import operator
from functools import reduce

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2


__all__ = ["RoundRobin", "and_or", "any_and_several", "at_most", "count_ones", "encode",
           "highest", "index_bits", "lowest", "merge_bytes", "mux_tree"]


#: Operators on a path of an expression, at most, for values of any number.
_LEVELS = 64


def index_bits(count):
    """Bits of an index into ``count`` items; at least one, so that the signal exists."""
    return max(1, ceil_log2(count))


def at_most(value, most):
    """The smaller of ``value`` and the constant ``most``."""
    return Mux(value > most, most, value)[:most.bit_length()]


def any_and_several(value):
    """Whether a bit of ``value`` is set, and whether more than one bit is set.

    The number of bits is a power of two.
    """
    found = [(bit, Const(0, 1)) for bit in value]
    while len(found) > 1:
        found = [(a | b, several_a | several_b | a & b)
                 for (a, several_a), (b, several_b) in zip(found[::2], found[1::2], strict=True)]
    return found[0]


def _smeared(m, value, move, name):
    """``value`` with each set bit copied to all places on one side of the bit, in log2 steps.

    The circuit has no carry chain. For these widths this is faster than arithmetic.
    """
    width = len(value)
    smeared = Signal(width, name=f"{name}_smeared_0")
    m.d.comb += smeared.eq(value)
    shift = 1
    while shift < width:
        wider = Signal(width, name=f"{name}_smeared_{shift}")
        m.d.comb += wider.eq(smeared | move(smeared, shift))
        smeared = wider
        shift *= 2
    return smeared


def lowest(m, value, *, name):
    """One-hot signal of the lowest set bit of ``value``; zero if no bit is set."""
    smeared = _smeared(m, value, operator.lshift, name)
    result = Signal(len(value), name=name)
    m.d.comb += result.eq(smeared ^ smeared << 1)
    return result


def highest(m, value, *, name):
    """One-hot signal of the highest set bit of ``value``; zero if no bit is set."""
    smeared = _smeared(m, value, operator.rshift, name)
    result = Signal(len(value), name=name)
    m.d.comb += result.eq(smeared ^ smeared >> 1)
    return result


def encode(one_hot, bits=None):
    """The index of the set bit of a one-hot value; zero if none is set."""
    width = len(one_hot)
    bits = index_bits(width) if bits is None else bits
    return Cat((one_hot & sum(1 << i for i in range(width) if i >> bit & 1)).any()
               for bit in range(bits))


def and_or(one_hot, values):
    """The value whose bit of ``one_hot`` is set; zero if no bit is set.

    An AND-OR, the smallest multiplexer.
    """
    # Not an AND with a replicated bit: Verilog, and so a simulator, would compute it bit by bit.
    terms = [Mux(one_hot[i], value, 0) for i, value in enumerate(values)]
    # Expressions of many hundred levels are too deep for Amaranth.
    while len(terms) > _LEVELS:
        terms = [reduce(operator.or_, terms[i:i + _LEVELS])
                 for i in range(0, len(terms), _LEVELS)]
    return reduce(operator.or_, terms)


def count_ones(value):
    """The number of bits of ``value`` that are set, by a tree of adders."""
    terms = list(value)
    while len(terms) > 1:
        terms = [sum(terms[i + 1:i + 2], terms[i]) for i in range(0, len(terms), 2)]
    return terms[0]


def mux_tree(index, values):
    """``values[index]`` as a tree of two-input multiplexers.

    The number of ``values`` is a power of two.
    """
    values = list(values)
    bit = 0
    while len(values) > 1:
        values = [Mux(index[bit], values[i + 1], values[i]) for i in range(0, len(values), 2)]
        bit += 1
    return values[0]


def merge_bytes(mask, new, old):
    """Bytes of ``new`` where the mask bit is set, else bytes of ``old``; a word at a time."""
    words = []
    for low in range(0, len(mask), 4):
        bits = Cat(Mux(mask[low + byte], Const(0xFF, 8), 0) for byte in range(4))
        word = slice(8 * low, 8 * low + 32)
        words.append((new[word] & bits) | (old[word] & ~bits))
    return Cat(*words)


class RoundRobin(wiring.Component):
    """Round-robin arbiter.

    The grant is combinational. When ``advance`` is high, the priority moves past the granted
    requester.

    Parameters
    ----------
    count : int
        Number of requesters, at least 1.

    Members
    -------
    requests : In(count)
        One bit for each requester.
    advance : In(1)
        The grant is used in this cycle.
    grant : Out(count)
        One-hot; zero if there is no request.
    """
    def __init__(self, count):
        if count < 1:
            raise ValueError(f"RoundRobin needs at least one requester, not {count!r}")
        self._count = count
        super().__init__({"requests": In(count), "advance": In(1), "grant": Out(count)})

    def elaborate(self, platform):
        m = Module()
        above = Signal(self._count)     # requesters after the last granted one
        preferred = Signal(self._count)
        m.d.comb += preferred.eq(self.requests & above)
        first = lowest(m, preferred, name="first")
        wrapped = lowest(m, self.requests, name="wrapped")
        m.d.comb += self.grant.eq(Mux(preferred.any(), first, wrapped))
        smeared = _smeared(m, self.grant, operator.lshift, "granted")
        with m.If(self.advance & self.grant.any()):
            m.d.sync += above.eq(smeared << 1)
        return m
