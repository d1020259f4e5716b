"""The first step of the pipeline: what is multiplied, what is added, and what is known at once."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.float.format import FloatFormat, packed
from hw.float.select import FloatSelect
from hw.float.unpack import Unpack
from hw.operations import FloatOp, RoundingMode


__all__ = ["Prepare", "known_layout", "sum_layout"]


def known_layout(form: FloatFormat):
    """What goes with a number through the pipeline.

    ``exponent`` is that of the window's highest bit. ``product_sign`` and ``addend_sign`` are the
    signs of the two parts of the sum. ``is_ready``: the result is ``ready``, and ``invalid`` its
    only flag. The other fields are as in :func:`hw.float.round.exact_layout`.
    """
    return data.StructLayout({
        "mode": RoundingMode, "exponent": form.exponent + 2, "product_sign": 1, "addend_sign": 1,
        "to_integer": 1, "unsigned": 1, "is_outside": 1,
        "is_ready": 1, "invalid": 1, "ready": form.width,
    })


def sum_layout(form: FloatFormat):
    """Two factors, and an addend at the top of the window that moves to the right by
    ``distance``."""
    return data.StructLayout({
        "first": form.precision, "second": form.precision, "addend": form.width,
        "distance": range(form.window + 1),
    })


class Prepare(wiring.Component):
    """Makes a sum of a product and an addend of each operation that computes a new number, and the
    results of all others. Combinational.

    An addition multiplies by 1.0. A conversion of an integer, or to one, adds it to nothing.

    Members
    -------
    op : In(FloatOp)
    kind : In(3)
        Of operations of :class:`hw.float.select.FloatSelect`.
    unsigned : In(1)
        The integer of a conversion has no sign.
    mode : In(RoundingMode)
    a, b, c : In(format.width)
    sum : Out(sum_layout)
    known : Out(known_layout)
    """
    def __init__(self, form: FloatFormat):
        self._form = form
        super().__init__({
            "op": In(FloatOp), "kind": In(3), "unsigned": In(1), "mode": In(RoundingMode),
            "a": In(form.width), "b": In(form.width), "c": In(form.width),
            "sum": Out(sum_layout(form)), "known": Out(known_layout(form)),
        })

    def elaborate(self, platform):
        m = Module()
        form, op, known = self._form, self.op, self.known
        parts = {}
        for name in "abc":
            m.submodules[f"unpack_{name}"] = unpack = Unpack(form)
            m.d.comb += unpack.word.eq(getattr(self, name))
            parts[name] = unpack.parts
        a, b, c = parts.values()
        m.submodules.select = select = FloatSelect(form)
        m.d.comb += [
            select.op.eq(op), select.kind.eq(self.kind), select.a.eq(self.a), select.b.eq(self.b),
            select.a_parts.eq(a), select.b_parts.eq(b),
            known.mode.eq(self.mode), known.unsigned.eq(self.unsigned),
        ]
        multiplies, adds, to_integer, from_integer = (
            Signal(name=name) for name in ("multiplies", "adds", "to_integer", "from_integer"))
        m.d.comb += [
            multiplies.eq((op.as_value() < FloatOp.ADD.value) | (op == FloatOp.MUL)),
            adds.eq((op == FloatOp.ADD) | (op == FloatOp.SUB)),
            to_integer.eq(op == FloatOp.TO_INT), from_integer.eq(op == FloatOp.FROM_INT),
            known.to_integer.eq(to_integer),
        ]

        # The addend: c of four operations, b of an addition, a of a conversion, else zero.
        addend = Signal.like(c)
        factor = Signal.like(b)
        m.d.comb += [addend.eq(c), factor.eq(b)]
        product_sign = Signal()
        m.d.comb += product_sign.eq(a.sign ^ (multiplies & b.sign)
                                    ^ (op.as_value()[1] & (op.as_value() < FloatOp.ADD.value)))
        with m.Switch(op):
            with m.Case(FloatOp.MADD, FloatOp.NMSUB):
                m.d.comb += known.addend_sign.eq(c.sign)
            with m.Case(FloatOp.MSUB, FloatOp.NMADD):
                m.d.comb += known.addend_sign.eq(~c.sign)
            with m.Case(FloatOp.ADD, FloatOp.SUB):
                m.d.comb += [
                    addend.eq(b), factor.significand.eq(1 << form.fraction),
                    factor.exponent.eq(form.bias), factor.is_zero.eq(0),
                    factor.is_special.eq(0), factor.is_infinite.eq(0),
                    known.addend_sign.eq(b.sign ^ (op == FloatOp.SUB)),
                ]
            with m.Case(FloatOp.MUL):
                m.d.comb += [addend.eq(0), addend.exponent.eq(1),
                             known.addend_sign.eq(product_sign)]
            with m.Default():
                m.d.comb += [addend.eq(a), known.addend_sign.eq(
                    Mux(from_integer, self.a[-1] & ~self.unsigned, a.sign & ~a.is_nan))]

        # The place of the addend. No product, or one far below the addend, leaves it at the top.
        far = form.precision + 3            # from the addend's place at the top to the product
        product_exponent, distance = (Signal(form.exponent + 2, name="product_exponent"),
                                      Signal(range(-(1 << form.exponent + 2),
                                                   1 << form.exponent + 2), name="distance"))
        has_product = Signal()
        m.d.comb += [
            has_product.eq((multiplies | adds) & ~a.is_zero & ~factor.is_zero),
            product_exponent.eq(a.exponent + factor.exponent),
            distance.eq(Mux(to_integer, form.bias + form.width - 1,
                            product_exponent + (far - form.bias)).as_signed() - addend.exponent),
        ]
        stays = Signal()
        m.d.comb += stays.eq(distance[-1] | ~(has_product | to_integer))
        magnitude = Signal(form.width)
        m.d.comb += magnitude.eq((self.a ^ known.addend_sign.replicate(form.width))
                                 + known.addend_sign)
        m.d.comb += [
            self.sum.first.eq(Mux(has_product, a.significand, 0)),
            self.sum.second.eq(factor.significand),
            self.sum.addend.eq(Mux(from_integer, magnitude, Cat(
                Const(0, form.width - form.precision), addend.significand))),
            self.sum.distance.eq(Mux(stays, 0, Mux(distance > form.window, form.window,
                                                   distance[:len(self.sum.distance)]))),
            known.product_sign.eq(Mux(multiplies | adds, product_sign, known.addend_sign)),
            known.exponent.eq(Mux(from_integer, form.bias + form.width - 1, Mux(
                stays, addend.exponent, product_exponent + (far - form.bias)))),
            known.is_outside.eq(to_integer & (distance[-1] | a.is_special)),
        ]

        # NaNs and infinities.
        nan, infinite, sign, invalid = (Signal(name=name) for name in
                                        ("nan", "infinite", "sign", "invalid"))
        uses_c = op.as_value() < FloatOp.ADD.value
        addend_infinite = Signal()
        product_infinite = Signal()
        m.d.comb += [
            addend_infinite.eq(addend.is_infinite & (uses_c | adds)),
            product_infinite.eq((a.is_infinite | factor.is_infinite) & (multiplies | adds)),
            invalid.eq(a.signals | b.signals | uses_c & c.signals
                       | multiplies & (a.is_infinite & b.is_zero | a.is_zero & b.is_infinite)
                       | addend_infinite & product_infinite & ~a.is_nan & ~b.is_nan
                       & (known.addend_sign ^ product_sign)),
            nan.eq(a.is_nan | b.is_nan | uses_c & c.is_nan | invalid),
            infinite.eq(product_infinite | addend_infinite),
            sign.eq(Mux(product_infinite, product_sign, known.addend_sign)),
        ]
        with m.If(multiplies | adds):
            m.d.comb += [
                known.is_ready.eq(nan | infinite), known.invalid.eq(invalid),
                known.ready.eq(Mux(nan, form.canonical,
                                   packed(form, sign, form.special, 0))),
            ]
        with m.Elif(~(to_integer | from_integer)):
            m.d.comb += [known.is_ready.eq(1), known.invalid.eq(select.invalid),
                         known.ready.eq(select.result)]
        return m
