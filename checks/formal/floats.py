"""Promises of a lane's floating-point pipeline as assertions, in any format.

Operands, modes and operations are free. The pipeline keeps nothing, so the harness delays the
operands by its latency, and compares.
"""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hw.float.format import FloatFormat
from hw.float.lane import FloatLane, latency
from hw.float.unpack import Unpack
from hw.operations import FloatOp, RoundingMode


__all__ = ["BoundsPromise", "OrderPromise"]


def _delayed(m, value, name):
    """A value as it was when the operands of the present result came."""
    for cycle in range(latency(long=False)):
        after = Signal.like(value, name=f"{name}_{cycle}")
        m.d.sync += after.eq(value)
        value = after
    return value


def _key(m, form, word, name):
    """An integer that is ordered as the numbers, with -0 just below +0."""
    key = Signal(signed(form.width), name=f"{name}_key")
    magnitude = word[:-1]
    m.d.comb += key.eq(Mux(word[-1], ~Cat(magnitude, 0), Cat(magnitude, 0)).as_signed())
    return key


class _Promise(wiring.Component):
    """Pipelines with free operands.

    Parameters
    ----------
    form : FloatFormat
    """
    def __init__(self, form: FloatFormat):
        self._form = form
        super().__init__({
            "op": In(FloatOp), "kind": In(3), "mode": In(RoundingMode),
            "a": In(form.width), "b": In(form.width), "c": In(form.width)})

    def _lane(self, m, name, mode, operands):
        m.submodules[name] = lane = FloatLane(False, self._form)
        m.d.comb += [lane.op.eq(self.op), lane.kind.eq(self.kind), lane.mode.eq(mode),
                     *(getattr(lane, port).eq(value) for port, value in operands.items())]
        return lane

    def _parts(self, m, operands):
        """The operands of the present result in parts, and whether there are any."""
        parts = {}
        for name, value in operands.items():
            m.submodules[f"unpack_{name}"] = unpack = Unpack(self._form)
            m.d.comb += unpack.word.eq(_delayed(m, value, name))
            parts[name] = unpack
        age = Signal(range(latency(long=False) + 1))
        with m.If(age < latency(long=False)):
            m.d.sync += age.eq(age + 1)
        return parts, age == latency(long=False)


class OrderPromise(_Promise):
    """Comparisons, minimum and maximum follow the order of the words as signed magnitudes."""
    def elaborate(self, platform):
        m = Module()
        form = self._form
        selects = self.op == FloatOp.SELECT
        m.d.comb += [Assume(selects | (self.op == FloatOp.COMPARE)),
                     Assume(self.kind < Mux(selects, 2, 3))]
        operands = {"a": self.a, "b": self.b, "c": self.b}
        lane = self._lane(m, "dut", self.mode, operands)
        parts, lasts = self._parts(m, {"a": self.a, "b": self.b})
        selects, kind = _delayed(m, selects, "selects"), _delayed(m, self.kind, "kind")
        words = {name: unpack.word for name, unpack in parts.items()}
        a, b = (unpack.parts for unpack in parts.values())
        keys = [_key(m, form, word, name) for name, word in words.items()]
        less, equal, unordered = keys[0] < keys[1], words["a"] == words["b"], a.is_nan | b.is_nan
        zeros = a.is_zero & b.is_zero
        holds, chosen = Signal(), Signal(form.width)
        m.d.comb += [
            holds.eq(~unordered & Mux(kind[1], equal | zeros, Mux(
                kind[0], less & ~zeros, less | equal | zeros))),
            chosen.eq(Mux(unordered, Mux(a.is_nan & b.is_nan, form.canonical,
                                         Mux(a.is_nan, words["b"], words["a"])),
                          Mux(less ^ kind[0], words["a"], words["b"]))),
        ]
        signals = a.signals | b.signals
        invalid = Mux(selects | kind[1], signals, unordered)
        with m.If(lasts):
            m.d.comb += [
                Assert(lane.result == Mux(selects, chosen, holds)),
                Assert(lane.flags.as_value() == Mux(invalid, 1 << 4, 0)),
            ]
        m.d.comb += [
            Cover(lasts & selects & zeros & ~equal, "a minimum of zeros of both signs"),
            Cover(lasts & ~selects & (kind == 0) & a.sign & less & ~unordered & ~zeros,
                  "a negative number is less"),
        ]
        return m


class BoundsPromise(_Promise):
    """What is rounded down and what is rounded up are next to each other, and a product has the
    sign and the exponent that its factors give."""
    def elaborate(self, platform):
        m = Module()
        form = self._form
        m.d.comb += Assume(self.op.as_value() <= FloatOp.MUL.value)
        multiplies = self.op == FloatOp.MUL
        fused = self.op.as_value() < FloatOp.ADD.value
        operands = {"a": self.a, "b": self.b, "c": Mux(fused, self.c, self.b)}
        down, up = (self._lane(m, mode.name.lower(), mode, operands)
                    for mode in (RoundingMode.DOWN, RoundingMode.UP))
        parts, lasts = self._parts(m, operands)
        multiplies = _delayed(m, multiplies, "multiplies")
        a, b, c = (unpack.parts for unpack in parts.values())
        numbers = lasts & ~(a.is_special | b.is_special | c.is_special)
        low, high = (_key(m, form, lane.result, name)
                     for name, lane in (("down", down), ("up", up)))
        inexact, zero = down.flags.inexact, ~(down.result[:-1].any() | up.result[:-1].any())
        field, sum_of_fields = down.result[form.fraction:-1], Signal(form.exponent + 2)
        product = Signal(signed(form.exponent + 2))
        normal = ~(a.is_zero | a.is_subnormal | b.is_zero | b.is_subnormal)
        m.d.comb += [sum_of_fields.eq(a.exponent + b.exponent),
                     product.eq(sum_of_fields - form.bias)]
        with m.If(numbers):
            m.d.comb += [
                Assert(down.flags.inexact == up.flags.inexact),
                Assert(high - low == (inexact | zero & (down.result != up.result))),
                Assert(~inexact | (high - low == 1)),
            ]
            with m.If(multiplies):
                m.d.comb += [
                    Assert(down.result[-1] == (a.sign ^ b.sign)),
                    Assert(up.result[-1] == (a.sign ^ b.sign)),
                ]
                with m.If(normal & (product > 0) & (product < form.special - 1)):
                    m.d.comb += Assert((field == product) | (field == product + 1))
        m.d.comb += [
            Cover(numbers & down.flags.overflow, "a result is too large"),
            Cover(numbers & down.flags.underflow & ~multiplies, "a sum is tiny and inexact"),
            Cover(numbers & ~multiplies & zero & a.significand[-1], "numbers cancel"),
        ]
        return m
