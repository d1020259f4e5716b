"""A lane's floating-point pipeline."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.float.align import Align
from hw.float.format import FLAGS, SINGLE, FloatFormat
from hw.float.normalise import Normalise
from hw.float.prepare import Prepare
from hw.float.round import Rounder
from hw.operations import FloatOp, RoundingMode


__all__ = ["FloatLane", "latency"]


#: Bits of a factor of an FPGA's multiplier. The fewer bits are left, the shorter is the sum of the
#: products.
_FACTOR = 18


def latency(long) -> int:
    """Cycles from the operands to the result, in the long or in the short pipeline."""
    return 8 if long else 4


class FloatLane(wiring.Component):
    """Floating-point pipeline of one lane: one fused multiplication and addition, of which all
    operations are cases but those that only look at their operands. Throughput: one a cycle.

    The sum is exact in a window of ``format.window`` bits, below which only one bit says whether
    anything is left. So it is rounded once.

    A difference is the sum with the complement of the smaller part, and 1. This 1 is not added
    here, but goes with the number until it is rounded. If the part turns out to be larger, the
    complement of the sum is the magnitude, without any 1.

    Latency: four cycles. In the long pipeline eight.

    Members
    -------
    op : In(FloatOp)
    kind, is_unsigned, mode : In
        As those of :class:`hw.float.prepare.Prepare`.
    a, b, c : In(format.width)
        The operands; ``c`` is the last one of an operation with fewer than three.
    result : Out(format.width)
    flags : Out(FLAGS)
    """
    def __init__(self, long, form: FloatFormat = SINGLE):
        self._long, self._form = long, form
        super().__init__({
            "op": In(FloatOp), "kind": In(3), "is_unsigned": In(1), "mode": In(RoundingMode),
            "a": In(form.width), "b": In(form.width), "c": In(form.width),
            "result": Out(form.width), "flags": Out(FLAGS),
        })

    def elaborate(self, platform):
        m = Module()
        form, window = self._form, self._form.window
        later = "sync" if self._long else "comb"

        def stage(domain, value, name):
            """The value after a step of the pipeline."""
            after = Signal(value.shape(), name=name, reset_less=True)
            m.d[domain] += after.eq(value)
            return after

        # The factors, the addend and the exponents.
        m.submodules.prepare = prepare = Prepare(form)
        m.d.comb += [getattr(prepare, name).eq(getattr(self, name))
                     for name in ("op", "kind", "is_unsigned", "mode", "a", "b", "c")]
        terms = stage("sync", prepare.terms, "terms")
        known = stage("sync", prepare.known, "known_terms")

        # The products of the factors' parts, and the place of the sum.
        split = min(_FACTOR, form.precision - 1)
        first, second = ((value[:split], value[split:]) for value in (terms.first, terms.second))
        products = {(i, j): stage(later, one * other, f"product_{i}{j}")
                    for i, one in enumerate(first) for j, other in enumerate(second)}
        place = stage(later, self._placed(m, terms, known), "place")
        addend = stage(later, terms.addend, "addend_multiplied")
        known = stage(later, known, "known_multiplied")

        # The product.
        product = stage("sync", ((products[0, 0] | products[1, 1] << 2 * split)
                                 + ((products[0, 1] + products[1, 0]) << split)
                                 )[:2 * form.precision], "product")
        addend, place = stage("sync", addend, "addend"), stage("sync", place, "place_aligning")
        known = stage("sync", known, "known_aligning")

        # Both in the window.
        m.submodules.align = align = Align(form)
        differs = known.product_sign ^ known.addend_sign
        m.d.comb += [
            align.product.eq(product), align.addend.eq(addend),
            align.moves_addend.eq(place.moves_addend), align.has_product.eq(place.has_product),
            align.distance.eq(place.distance), align.inverts.eq(differs),
        ]
        fixed, moved = stage(later, align.fixed, "fixed"), stage(later, align.moved, "moved")
        place, known = stage(later, place, "place_adding"), stage(later, known, "known_adding")

        # The sum.
        total = stage("sync", (fixed + moved)[:window + 1], "total")
        place, known = stage("sync", place, "place_summed"), stage("sync", known, "known_summed")

        # Its magnitude and sign.
        differs, negated, sign = (Signal(name=name) for name in ("differs", "negated", "sign"))
        upper = list(range(form.shifts - 1, form.shifts // 2, -1))
        m.submodules.coarse = coarse = Normalise(form, upper, window + 1)
        before = coarse.before
        m.d.comb += [
            differs.eq(known.product_sign ^ known.addend_sign),
            negated.eq(differs & ~total[-1] & ~known.from_integer),
            sign.eq(Mux(place.moves_addend & place.has_product, known.product_sign,
                        known.addend_sign) ^ negated),
            # An integer begins at the second bit.
            before.value.eq(Cat(total[:window - 1] ^ negated.replicate(window - 1),
                                ~known.from_integer & (total[window - 1] ^ negated),
                                total[-1] & ~differs)),
            before.borrow.eq(differs & (total[-1] | known.from_integer)),
            before.room.eq(place.exponent[:form.shifts]),
            before.is_free.eq(place.exponent[form.shifts:].any()),
        ]
        first_step = 1 << upper[0]
        is_zero = (coarse.is_empty & ~before.value[:window + 1 - first_step].any()
                   & ~before.borrow)
        found = Signal(self._found_layout(), name="found_here")
        integer_low = window - 1 - form.width
        m.d.comb += [
            found.sign.eq(Mux(is_zero & differs, known.mode == RoundingMode.DOWN, sign)),
            found.is_zero.eq(is_zero), found.integer.eq(total[integer_low:window - 1]),
            found.integer_half.eq(total[integer_low - 1]),
            found.integer_rest.eq(total[:integer_low - 1].any()),
            found.ready.eq(Mux(known.takes_other ^ (known.chooses & sign), known.other,
                               known.ready)),
        ]
        found = stage(later, found, "found")
        value, coarse_shift = (stage(later, coarse.after, "value"),
                               stage(later, coarse.shift, "coarse_shift"))
        place, known = stage(later, place, "place_normal"), stage(later, known, "known_normal")

        # Its highest bit at the top.
        m.submodules.fine = fine = Normalise(form, range(upper[-1] - 1, -1, -1), coarse.bits)
        m.d.comb += fine.before.eq(value)
        m.submodules.round = rounder = Rounder(form)
        exact = Signal(rounder.exact.shape(), name="exact_here")
        m.d.comb += [
            exact.significand.eq(fine.after.value[2:]), exact.half.eq(fine.after.value[1]),
            exact.quarter.eq(fine.after.value[0]), exact.rest.eq(fine.after.rest),
            exact.borrow.eq(fine.after.borrow),
            exact.exponent.eq(place.exponent),
            exact.is_outside.eq(place.is_outside), exact.is_fraction.eq(place.is_fraction),
            *(getattr(exact, name).eq(getattr(found, name)) for name in found.shape().members),
            *(getattr(exact, name).eq(getattr(known, name)) for name in (
                "mode", "to_integer", "unsigned", "compares", "kind", "is_ready", "invalid")),
        ]
        exact = stage("sync", exact, "exact")
        shift = stage("sync", coarse_shift | fine.shift, "shift")

        # The result.
        m.d.comb += [rounder.exact.eq(exact), rounder.exact.exponent.eq(exact.exponent - shift)]
        m.d[later] += [self.result.eq(rounder.result), self.flags.eq(rounder.flags)]
        return m

    def _found_layout(self):
        width = self._form.width
        return data.StructLayout({"sign": 1, "is_zero": 1, "integer": width, "integer_half": 1,
                                  "integer_rest": 1, "ready": width})

    def _placed(self, m, terms, known):
        """Which part of the sum moves to the right, and how far, as for
        :class:`hw.float.align.Align`. ``exponent`` is that of the window's highest bit, or 0 of an
        integer that stays in its place."""
        form = self._form
        place = Signal(data.StructLayout({
            "moves_addend": 1, "has_product": 1, "distance": form.shifts,
            "exponent": form.exponent + 1, "is_outside": 1, "is_fraction": 1}), name="place_here")
        bits = form.exponent + 2
        difference, distance = Signal(bits, name="difference"), Signal(bits - 1, name="distance")
        is_below, exponent = Signal(), Signal(form.exponent + 1)
        m.d.comb += [
            difference.eq(terms.product_exponent - terms.addend_exponent),
            is_below.eq(difference[-1]),
            place.has_product.eq(terms.has_product),
            place.moves_addend.eq(known.from_integer
                                  | (terms.has_product | known.to_integer) & ~is_below),
            # The complement is one less than the distance the other way.
            distance.eq(difference[:-1] ^ is_below.replicate(bits - 1)),
            place.distance.eq(Mux(known.from_integer, 0, distance[:form.shifts]
                                  | distance[form.shifts:].any().replicate(form.shifts))),
            exponent.eq(terms.product_exponent + 1),
            place.exponent.eq(Mux(known.to_integer, 0, Mux(place.moves_addend, exponent,
                                                           terms.addend_exponent))),
            place.is_outside.eq(is_below | terms.is_special),
             place.is_fraction.eq(distance >= form.width),
        ]
        return place
