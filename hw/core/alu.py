"""A lane's integer unit: arithmetic, logic, shifts, and the comparison that decides a branch."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.operations import AluOp, BranchOp


__all__ = ["Alu", "AluControls", "controls"]


#: Control bits of an :class:`Alu`; a stage before may register them. With ``arithmetic`` a shift to
#: the right copies the sign. Each other bit selects a result. ``left`` and ``right`` select a
#: shift, ``less`` and ``less_unsigned`` a comparison. ``both`` selects the bits that both operands
#: have, ``either`` the bits that only one of them has.
AluControls = data.StructLayout(dict.fromkeys((
    "left", "arithmetic", "sum", "right", "less", "less_unsigned", "both", "either", "scalar"), 1))


def controls(op):
    """The :data:`AluControls` of an AluOp."""
    def one_of(*ops):
        return Cat(op == which for which in ops).any()
    return data.View(AluControls, Cat(
        one_of(AluOp.SLL), one_of(AluOp.SRA), one_of(AluOp.ADD, AluOp.SUB),
        one_of(AluOp.SRL, AluOp.SRA), one_of(AluOp.SLT), one_of(AluOp.SLTU),
        one_of(AluOp.OR, AluOp.AND), one_of(AluOp.XOR, AluOp.OR),
        op.as_value() >= AluOp.LUI.value))


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
    control : In(AluControls)
    subtract : In(1)
        ``total`` is a difference. High for all operations but ADD.
    a, b : In(32)
        Operands: rs1, and rs2 or the immediate.
    scalar : In(32)
        The result of operations that are the same in all lanes (LUI, AUIPC, LINK, CSRs).
    total : Out(32)
        ``a + b`` or ``a - b``, whatever ``control`` is.
    result : Out(32)
    branch : In(BranchOp)
    taken : Out(1)
        This lane's condition holds for ``a`` and ``b``; needs ``subtract``.
    """
    control: In(AluControls)
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
        # The difference is the sum of a, the inverted b and 1; a carry out of it means no borrow.
        # The carry in is the carry out of an extra bit below the lowest.
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
        control = self.control
        operand = Signal(32)
        shifted = Signal(32)
        m.d.comb += [
            operand.eq(Mux(control.left, _reversed(m, self.a, "reversed_a"), self.a)),
            shifted.eq(Cat(operand, control.arithmetic & self.a[31]).as_signed() >> self.b[:5]),
            self.result.eq(
                Mux(control.sum, self.total, 0) | Mux(control.right, shifted, 0)
                | Mux(control.left, _reversed(m, shifted, "shifted_left"), 0)
                | Mux(control.both, self.a & self.b, 0) | Mux(control.either, self.a ^ self.b, 0)
                | Mux(control.scalar, self.scalar, 0)
                | control.less & less | control.less_unsigned & less_unsigned),
        ]
        return m
