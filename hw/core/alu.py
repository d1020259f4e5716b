"""A lane's integer unit: arithmetic, logic, shifts, and the comparison that decides a branch."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.operations import AluOp, BranchOp


__all__ = ["Alu"]


class Alu(wiring.Component):
    """Integer unit of one lane. Combinational.

    Members
    -------
    op : In(AluOp)
    a, b : In(32)
        Operands: rs1, and rs2 or the immediate.
    scalar : In(32)
        The result of operations that are the same in all lanes (LUI, AUIPC, LINK, CSRs).
    result : Out(32)
    branch : In(BranchOp)
    taken : Out(1)
        This lane's condition holds for ``a`` and ``b``.
    """
    op: In(AluOp)
    a: In(32)
    b: In(32)
    scalar: In(32)
    result: Out(32)
    branch: In(BranchOp)
    taken: Out(1)

    def elaborate(self, platform):
        m = Module()
        difference = Signal(33)
        equal, less, less_unsigned = Signal(), Signal(), Signal()
        m.d.comb += [
            difference.eq(Cat(self.a, 0) - Cat(self.b, 0)),
            equal.eq(self.a == self.b),
            less_unsigned.eq(difference[32]),
            less.eq(Mux(self.a[31] ^ self.b[31], self.a[31], difference[32])),
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

        # One right shifter serves both right shifts.
        right = Signal(33)
        m.d.comb += right.eq(Cat(self.a, (self.op == AluOp.SRA) & self.a[31]).as_signed()
                             >> self.b[:5])
        with m.Switch(self.op):
            with m.Case(AluOp.ADD):
                m.d.comb += self.result.eq(self.a + self.b)
            with m.Case(AluOp.SUB):
                m.d.comb += self.result.eq(difference)
            with m.Case(AluOp.SLL):
                m.d.comb += self.result.eq(self.a << self.b[:5])
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
