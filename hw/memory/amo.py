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
    with m.Switch(op):
        with m.Case(AmoOp.ADD):
            m.d.comb += result.eq(old + operand)
        with m.Case(AmoOp.XOR):
            m.d.comb += result.eq(old ^ operand)
        with m.Case(AmoOp.OR):
            m.d.comb += result.eq(old | operand)
        with m.Case(AmoOp.AND):
            m.d.comb += result.eq(old & operand)
        with m.Case(AmoOp.MIN, AmoOp.MINU):
            m.d.comb += result.eq(Mux(less, old, operand))
        with m.Case(AmoOp.MAX, AmoOp.MAXU):
            m.d.comb += result.eq(Mux(less, operand, old))
        if compare is not None:
            with m.Case(AmoOp.CAS):
                m.d.comb += result.eq(Mux(old == compare, operand, old))
        with m.Default():
            m.d.comb += result.eq(operand)
    return result
