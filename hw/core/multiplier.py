"""A lane's multiplier."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.operations import MulOp


__all__ = ["Multiplier"]


class Multiplier(wiring.Component):
    """Pipelined multiplier of one lane: one product a cycle, a cycle after its operands.

    Members
    -------
    op : In(MulOp)
    a, b : In(32)
    result : Out(32)
        Valid the cycle after ``op``, ``a`` and ``b``.
    """
    op: In(MulOp)
    a: In(32)
    b: In(32)
    result: Out(32)

    def elaborate(self, platform):
        m = Module()
        op = Signal(MulOp)
        a, b = Signal(32, reset_less=True), Signal(32, reset_less=True)
        product = Signal(64)
        # A negative factor counts as itself plus 2^32: the high half of the unsigned product is
        # too large by the other factor.
        excess = Signal(32)
        m.d.sync += [op.eq(self.op), a.eq(self.a), b.eq(self.b)]
        m.d.comb += [
            product.eq(a * b),
            excess.eq(Mux(((op == MulOp.MULH) | (op == MulOp.MULHSU)) & a[31], b, 0)
                      + Mux((op == MulOp.MULH) & b[31], a, 0)),
            self.result.eq(Mux(op == MulOp.MUL, product[:32], product[32:] - excess)),
        ]
        return m
