"""A lane's integer unit: arithmetic, logic, shifts, and the comparison that decides a branch."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.operations import AluOp, BranchOp


__all__ = ["Alu"]


def _reversed(m, value, name):
    """A signal with the bits of ``value`` in the opposite order."""
    result = Signal(len(value), name=name)
    m.d.comb += result.eq(Cat(value[bit] for bit in reversed(range(len(value)))))
    return result


class Alu(wiring.Component):
    """Integer unit of one lane. Combinational.

    One adder serves sums, differences, comparisons and addresses, one shifter all shifts.

    Members
    -------
    op : In(AluOp)
    subtract : In(1)
        ``total`` is a difference. High for all of ``op`` but ADD.
    a, b : In(32)
        Operands: rs1, and rs2 or the immediate.
    scalar : In(32)
        The result of operations that are the same in all lanes (LUI, AUIPC, LINK, CSRs).
    total : Out(32)
        ``a + b`` or ``a - b``, whatever ``op``.
    result : Out(32)
    branch : In(BranchOp)
    taken : Out(1)
        This lane's condition holds for ``a`` and ``b``; needs ``subtract``.
    """
    op: In(AluOp)
    subtract: In(1)
    a: In(32)
    b: In(32)
    scalar: In(32)
    total: Out(32)
    result: Out(32)
    branch: In(BranchOp)
    taken: Out(1)

    def elaborate(self, platform):
        m = Module()
        # The sum of a, the inverted b and 1 is the difference; its carry says that it did not
        # borrow. The carry enters as the sum of a bit below the lowest.
        summed = Signal(34)
        equal = Signal()
        less = Signal()
        less_unsigned = Signal()
        m.d.comb += [
            summed.eq(Cat(1, self.a) + Cat(self.subtract, self.b ^ self.subtract.replicate(32))),
            self.total.eq(summed[1:33]),
            equal.eq(self.a == self.b),
            less_unsigned.eq(~summed[33]),
            less.eq(Mux(self.a[31] ^ self.b[31], self.a[31], less_unsigned)),
        ]
        with m.Switch(self.branch):
            with m.Case(BranchOp.BEQ):
                m.d.comb += self.taken.eq(equal)
            with m.Case(BranchOp.BNE):
                m.d.comb += self.taken.eq(~equal)
            with m.Case(BranchOp.BLT):
                m.d.comb += self.taken.eq(less)
            with m.Case(BranchOp.BGE):
                m.d.comb += self.taken.eq(~less)
            with m.Case(BranchOp.BLTU):
                m.d.comb += self.taken.eq(less_unsigned)
            with m.Case(BranchOp.BGEU):
                m.d.comb += self.taken.eq(~less_unsigned)
            with m.Case(BranchOp.JAL, BranchOp.JALR):
                m.d.comb += self.taken.eq(1)

        # A left shift is a right shift of the reversed operand, reversed.
        left = Signal()
        operand = Signal(32)
        right = Signal(32)
        m.d.comb += [
            left.eq(self.op == AluOp.SLL),
            operand.eq(Mux(left, _reversed(m, self.a, "reversed_a"), self.a)),
            right.eq(Cat(operand, (self.op == AluOp.SRA) & self.a[31]).as_signed()
                     >> self.b[:5]),
        ]
        with m.Switch(self.op):
            with m.Case(AluOp.ADD, AluOp.SUB):
                m.d.comb += self.result.eq(self.total)
            with m.Case(AluOp.SLL):
                m.d.comb += self.result.eq(_reversed(m, right, "shifted_left"))
            with m.Case(AluOp.SLT):
                m.d.comb += self.result.eq(less)
            with m.Case(AluOp.SLTU):
                m.d.comb += self.result.eq(less_unsigned)
            with m.Case(AluOp.XOR):
                m.d.comb += self.result.eq(self.a ^ self.b)
            with m.Case(AluOp.SRL, AluOp.SRA):
                m.d.comb += self.result.eq(right)
            with m.Case(AluOp.OR):
                m.d.comb += self.result.eq(self.a | self.b)
            with m.Case(AluOp.AND):
                m.d.comb += self.result.eq(self.a & self.b)
            with m.Default():
                m.d.comb += self.result.eq(self.scalar)
        return m
