"""The first step of the pipeline: what is multiplied, what is added, and what is known at once."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.float.format import FloatFormat
from hw.float.unpack import Unpack
from hw.operations import FloatOp, RoundingMode


__all__ = ["Prepare", "known_layout", "terms_layout"]


def known_layout(form: FloatFormat):
    """What goes with a number through the pipeline.

    ``product_sign`` and ``addend_sign`` are the signs of the two parts of the sum. ``is_ready``:
    the result is ``ready``, and ``invalid`` its only flag; a minimum or maximum is ``other`` if
    ``takes_other``, which with ``chooses`` changes if the sum is negative. ``compares``: the result
    is whether the sum is zero (``kind`` 2), negative (1), or one of the two (0).
    """
    return data.StructLayout({
        "mode": RoundingMode, "product_sign": 1, "addend_sign": 1,
        "to_integer": 1, "from_integer": 1, "unsigned": 1, "compares": 1, "kind": 2,
        "is_ready": 1, "invalid": 1, "chooses": 1, "takes_other": 1,
        "ready": form.width, "other": form.width,
    })


def terms_layout(form: FloatFormat):
    """Two factors, of which one is 0 without ``has_product``, and an addend with its highest bit at
    the top. The exponents are those of the product's second highest bit and of the addend's
    highest one. ``is_special``: the addend is an infinity or a NaN."""
    return data.StructLayout({
        "first": form.precision, "second": form.precision, "addend": form.width,
        "has_product": 1, "product_exponent": signed(form.exponent + 2),
        "addend_exponent": form.exponent, "is_special": 1,
    })


class Prepare(wiring.Component):
    """Makes a sum of a product and an addend of each operation that computes a number or compares
    two, and the results of all others. Combinational.

    An addition multiplies by 1.0; a multiplication adds zero. The minimum, the maximum and
    comparisons subtract. A conversion adds its operand to nothing, at the place of an integer.

    Members
    -------
    op : In(FloatOp)
        CLASS needs a format of at least 11 fraction bits.
    kind : In(3)
        The instruction's funct3: of SIGN 0 takes the sign of b, 1 its opposite, 2 the exclusive or;
        of SELECT 0 is the minimum and 1 the maximum; of COMPARE 0 is at most, 1 less, 2 equal.
    is_unsigned : In(1)
        The integer of a conversion has no sign.
    mode : In(RoundingMode)
    a, b, c : In(format.width)
        The operands. ``c`` is the last one: of an operation with two ``b``, with one ``a``.
    terms : Out(terms_layout)
    known : Out(known_layout)
    """
    def __init__(self, form: FloatFormat):
        self._form = form
        super().__init__({
            "op": In(FloatOp), "kind": In(3), "is_unsigned": In(1), "mode": In(RoundingMode),
            "a": In(form.width), "b": In(form.width), "c": In(form.width),
            "terms": Out(terms_layout(form)), "known": Out(known_layout(form)),
        })

    def elaborate(self, platform):
        m = Module()
        form, op, known, terms = self._form, self.op, self.known, self.terms
        parts = {}
        for name in "abc":
            m.submodules[f"unpack_{name}"] = unpack = Unpack(form)
            m.d.comb += unpack.word.eq(getattr(self, name))
            parts[name] = unpack.parts
        a, b, c = parts.values()
        fused, multiplies, subtracts, computes, converts = (Signal(name=name) for name in (
            "fused", "multiplies", "subtracts", "computes", "converts"))
        selects = op == FloatOp.SELECT
        m.d.comb += [
            fused.eq(op.as_value() < FloatOp.ADD.value),
            multiplies.eq(fused | (op == FloatOp.MUL)),
            computes.eq(op.as_value() <= FloatOp.MUL.value),
            subtracts.eq((op == FloatOp.SUB) | selects | (op == FloatOp.COMPARE)
                         | (op == FloatOp.MSUB) | (op == FloatOp.NMADD)),
            known.to_integer.eq(op == FloatOp.TO_INT),
            known.from_integer.eq(op == FloatOp.FROM_INT),
            converts.eq(known.to_integer | known.from_integer),
            known.compares.eq(op == FloatOp.COMPARE), known.kind.eq(self.kind),
            known.mode.eq(self.mode), known.unsigned.eq(self.is_unsigned),
        ]
        # A negative integer is subtracted from 0.
        product = a.sign ^ (multiplies & b.sign) ^ (fused & op.as_value()[1])
        converted = c.sign & Mux(known.from_integer, ~self.is_unsigned, ~c.is_nan)
        m.d.comb += [
            known.product_sign.eq(Mux(converts, converted & known.to_integer, product)),
            known.addend_sign.eq(Mux(converts, converted, Mux(
                op == FloatOp.MUL, product, c.sign ^ subtracts))),
        ]
        # The exponent, less the bias and 1, which together are a single bit.
        factor_exponent, exponent = (Signal(form.exponent, name="factor_exponent"),
                                     Signal(form.exponent + 2, name="exponent"))
        m.d.comb += [
            factor_exponent.eq(Mux(multiplies, b.exponent, form.bias)),
            exponent.eq(Cat(Const(1, 1), a.exponent) + Cat(Const(1, 1), factor_exponent)),
        ]
        low, high = exponent[1:form.exponent], exponent[form.exponent:]
        m.d.comb += [
            terms.has_product.eq(~(converts | a.is_zero | multiplies & b.is_zero)),
            terms.first.eq(Mux(terms.has_product, a.significand, 0)),
            terms.second.eq(Mux(multiplies, b.significand, 1 << form.fraction)),
            terms.product_exponent.eq(Mux(
                converts, form.bias + form.width - 1,
                Cat(low, ~high[0], high[0] == high[1], high == 0).as_signed())),
            terms.addend_exponent.eq(c.exponent), terms.is_special.eq(c.is_special),
            terms.addend.eq(Mux(known.from_integer, self.c, Cat(
                Const(0, form.width - form.precision), c.significand))),
        ]
        with m.If(op == FloatOp.MUL):
            m.d.comb += [terms.addend_exponent.eq(1), terms.addend.eq(0)]
        self._make_ready(m, a, b, c, fused, multiplies, computes)
        return m

    def _make_ready(self, m, a, b, c, fused, multiplies, computes):
        """NaNs, infinities, signs, classes, and the operands to choose from."""
        form, op, known, kind = self._form, self.op, self.known, self.kind
        product_infinite, addend_infinite, nan, invalid, unordered = (
            Signal(name=name) for name in (
                "product_infinite", "addend_infinite", "nan", "invalid", "unordered"))
        selects, is_class = op == FloatOp.SELECT, op == FloatOp.CLASS
        # The last operand of a multiplication is a factor.
        m.d.comb += [
            product_infinite.eq(a.is_infinite | multiplies & b.is_infinite),
            addend_infinite.eq(c.is_infinite & (op != FloatOp.MUL)),
            unordered.eq(a.is_nan | c.is_nan | fused & b.is_nan),
            invalid.eq(a.signals | c.signals | fused & b.signals | computes & (
                multiplies & (a.is_infinite & b.is_zero | a.is_zero & b.is_infinite)
                | addend_infinite & product_infinite & ~unordered
                & (known.addend_sign ^ known.product_sign))),
            nan.eq(computes & (unordered | invalid) | selects & a.is_nan & c.is_nan),
            known.invalid.eq(Mux(computes | selects, invalid, known.compares & (
                Mux(kind[1], invalid, unordered)))),
            known.is_ready.eq(
                computes & (unordered | invalid | product_infinite | addend_infinite)
                | (op == FloatOp.SIGN) | selects | is_class | known.compares & unordered),
            known.chooses.eq(selects & ~unordered),
            known.takes_other.eq(selects & Mux(unordered, a.is_nan & ~c.is_nan, ~kind[0])),
            known.other.eq(self.c),
        ]
        sign = Signal()
        keeps, fills = Signal(), Signal()
        number = ~(a.is_zero | a.is_subnormal | a.is_special)
        classes = Cat(
            a.sign & a.is_infinite, a.sign & number, a.sign & a.is_subnormal, a.sign & a.is_zero,
            ~a.sign & a.is_zero, ~a.sign & a.is_subnormal, ~a.sign & number,
            ~a.sign & a.is_infinite, a.signals, a.is_nan & ~a.signals)
        m.d.comb += [
            keeps.eq((op == FloatOp.SIGN) | selects & ~nan), fills.eq(computes | nan),
            sign.eq(Mux(computes, ~nan & Mux(product_infinite, known.product_sign,
                                            known.addend_sign),
                        keeps & Mux(selects, a.sign, Mux(kind[1], a.sign ^ b.sign,
                                                        b.sign ^ kind[0])))),
        ]
        m.d.comb += known.ready.eq(Cat(
            Mux(keeps, self.a, Mux(is_class, classes, 0))[:form.fraction - 1],
            Mux(keeps, self.a[form.fraction - 1], nan),
            Mux(fills, form.special, Mux(keeps, self.a[form.fraction:-1], 0)), sign))
