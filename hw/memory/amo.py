"""The arithmetic of atomics: of the shared level, of local memory, and of combining lanes."""

from amaranth.hdl import Mux, Signal

from hw.operations import AmoOp


__all__ = ["atomic"]


def atomic(m, op, old, operand, *, compare=None, name):
    """The word an atomic operation stores.

    All operations but SWAP and CAS are associative and commutative, and SWAP is associative:
    operands of several lanes may be combined first, in lane order. Those of CAS may not.

    Parameters
    ----------
    m : Module
        Where the logic is added.
    op : Signal(AmoOp)
    old, operand : 32-bit values
    compare : 32-bit value, optional
        With what CAS compares the old value. Without it ``op`` is not CAS.
    name : str
        Prefix of the signals.

    Returns
    -------
    Signal(32)
    """
    result = Signal(32, name=f"{name}_result")
    less = Signal(name=f"{name}_less")
    unsigned = Signal(name=f"{name}_unsigned")
    # Flipping the sign bits turns a signed comparison into an unsigned one.
    flip = Signal(32, name=f"{name}_flip")
    m.d.comb += [
        unsigned.eq((op == AmoOp.MINU) | (op == AmoOp.MAXU)),
        flip.eq(Mux(unsigned, 0, 1 << 31)),
        less.eq((old ^ flip) < (operand ^ flip)),
    ]
    # All but the sum is made bit by bit: which of the two bits must be set for a one.
    both, only_old, only_operand, keeps, takes = (
        Signal(name=f"{name}_{part}") for part in
        ("both", "only_old", "only_operand", "keeps", "takes"))
    with m.Switch(op):
        with m.Case(AmoOp.MIN, AmoOp.MINU):
            m.d.comb += [keeps.eq(less), takes.eq(~less)]
        with m.Case(AmoOp.MAX, AmoOp.MAXU):
            m.d.comb += [keeps.eq(~less), takes.eq(less)]
        if compare is not None:
            with m.Case(AmoOp.CAS):
                m.d.comb += [takes.eq(old == compare), keeps.eq(~takes)]
        with m.Case(AmoOp.ADD, AmoOp.XOR, AmoOp.OR, AmoOp.AND):
            pass
        with m.Default():
            m.d.comb += takes.eq(1)
    differs = (op == AmoOp.XOR) | (op == AmoOp.OR)
    m.d.comb += [
        both.eq((op != AmoOp.XOR) & (op != AmoOp.ADD)),
        only_old.eq(differs | keeps), only_operand.eq(differs | takes),
        result.eq(Mux(op == AmoOp.ADD, old + operand, 0) | Mux(both, old & operand, 0)
                  | Mux(only_old, old & ~operand, 0) | Mux(only_operand, operand & ~old, 0)),
    ]
    return result
