"""Arithmetic of atomics, for the L2, for local memory and for combining lanes."""

from amaranth.hdl import Cat, Mux, Signal
from amaranth.lib import data

from hw.operations import AmoOp


__all__ = ["AmoControls", "atomic", "controls"]


#: Decoded controls of an operation for :func:`atomic`. A register may hold the controls first.
#: ``smaller`` and ``larger`` select the old value or the operand by comparison. ``sets`` always
#: selects the operand. ``compares`` selects the operand if the old value equals the compared value.
#: ``both`` sets a bit of the result where both words have the bit. ``either`` sets a bit where only
#: one of the words has the bit.
AmoControls = data.StructLayout(dict.fromkeys((
    "unsigned", "adds", "smaller", "larger", "sets", "compares", "both", "either"), 1))


def controls(op):
    """The :data:`AmoControls` of an AmoOp."""
    def one_of(*ops):
        return Cat(op == which for which in ops).any()
    return data.View(AmoControls, Cat(
        one_of(AmoOp.MINU, AmoOp.MAXU), one_of(AmoOp.ADD), one_of(AmoOp.MIN, AmoOp.MINU),
        one_of(AmoOp.MAX, AmoOp.MAXU), one_of(AmoOp.SWAP), one_of(AmoOp.CAS),
        ~one_of(AmoOp.XOR, AmoOp.ADD), one_of(AmoOp.XOR, AmoOp.OR)))


def atomic(m, control, old, operand, *, compare=None, name):
    """The word that an atomic operation stores. Combinational.

    All operations but SWAP and CAS are associative and commutative, and SWAP is associative. So
    the operands of several lanes may be combined first, in lane order. Operands of CAS may not be
    combined.

    Parameters
    ----------
    m : Module
        Where the logic is added.
    control : View(AmoControls)
        Controls of the operation.
    old, operand : 32-bit values
    compare : 32-bit value, optional
        The value that CAS compares with the old value. If omitted, the operation must not be CAS.
    name : str
        Prefix of the signals.

    Returns
    -------
    Signal(32)
    """
    result = Signal(32, name=f"{name}_result")
    less, equal, keeps, takes = (Signal(name=f"{name}_{part}")
                                 for part in ("less", "equal", "keeps", "takes"))
    # Flipping the sign bits turns a signed comparison into an unsigned one.
    flip = Signal(32, name=f"{name}_flip")
    compares = 0
    if compare is not None:
        compares = control.compares
        m.d.comb += equal.eq(old == compare)
    # All results but the sum are computed bit by bit.
    m.d.comb += [
        flip.eq(Mux(control.unsigned, 0, 1 << 31)),
        less.eq((old ^ flip) < (operand ^ flip)),
        keeps.eq(Mux(less, control.smaller, control.larger) | compares & ~equal),
        takes.eq(Mux(less, control.larger, control.smaller) | control.sets | compares & equal),
    ]
    m.d.comb += result.eq(
        Mux(control.adds, old + operand, 0) | Mux(control.both, old & operand, 0)
        | Mux(control.either | keeps, old & ~operand, 0)
        | Mux(control.either | takes, operand & ~old, 0))
    return result
