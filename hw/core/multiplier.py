"""A lane's multiplier."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.operations import MulOp
from hw.timing import Timing


__all__ = ["Multiplier"]


class Multiplier(wiring.Component):
    """Pipelined multiplier of one lane, which adds up the products of halves. Throughput: one
    product a cycle.

    Latency: one cycle. In the long pipeline two: one for the products of halves, one for their sum.

    Members
    -------
    op : In(MulOp)
    a, b : In(32)
    result : Out(32)
        Valid one cycle after ``op``, ``a`` and ``b``, in the long pipeline two.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({"op": In(MulOp), "a": In(32), "b": In(32), "result": Out(32)})

    def elaborate(self, platform):
        m = Module()
        timing = Timing(self._config)
        op, a, b = (Signal(MulOp, name="op"), Signal(32, reset_less=True, name="operand_a"),
                    Signal(32, reset_less=True, name="operand_b"))
        m.d[timing.sooner] += [op.eq(self.op), a.eq(self.a), b.eq(self.b)]
        halves = {}
        for i, high_a in enumerate((a[:16], a[16:])):
            for j, high_b in enumerate((b[:16], b[16:])):
                halves[i, j] = Signal(32, name=f"product_{i}{j}", reset_less=True)
                m.d[timing.later] += halves[i, j].eq(high_a * high_b)
        # An unsigned product takes a negative factor as the factor plus 2^32. So the high half is
        # too large by the other factor.
        excess = Signal(32, reset_less=True)
        summed_excess = Signal(32, reset_less=True)
        product = Signal(64, reset_less=True)
        is_low = Signal(reset_less=True)
        summed_is_low = Signal(reset_less=True)
        m.d[timing.later] += [
            excess.eq(Mux(((op == MulOp.MULH) | (op == MulOp.MULHSU)) & a[31], b, 0)
                      + Mux((op == MulOp.MULH) & b[31], a, 0)),
            is_low.eq(op == MulOp.MUL),
        ]
        m.d[timing.later] += [
            product.eq((halves[0, 0] | halves[1, 1] << 32)
                       + ((halves[0, 1] + halves[1, 0]) << 16)),
            summed_excess.eq(excess), summed_is_low.eq(is_low),
        ]
        m.d.comb += self.result.eq(
            Mux(summed_is_low, product[:32], product[32:] - summed_excess))
        return m
