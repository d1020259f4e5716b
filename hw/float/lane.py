"""A lane's floating-point pipeline."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.float.align import Align
from hw.float.format import FLAGS, SINGLE, FloatFormat
from hw.float.normalise import LeadingZeros, normalised
from hw.float.prepare import Prepare, known_layout, sum_layout
from hw.float.round import Rounder
from hw.operations import FloatOp, RoundingMode


__all__ = ["FloatLane", "latency"]


def latency(long) -> int:
    """Cycles from the operands to the result, in the long or in the short pipeline."""
    return 8 if long else 4


class FloatLane(wiring.Component):
    """Floating-point pipeline of one lane: one fused multiplication and addition, of which all
    operations but those of :class:`hw.float.select.FloatSelect` are cases. Throughput: one a cycle.

    The sum is exact in a window of ``format.window`` bits, below which only one bit says whether
    anything is left. So it is rounded once.

    Latency: four cycles. In the long pipeline eight.

    Members
    -------
    op : In(FloatOp)
    kind, unsigned, mode : In
        As those of :class:`hw.float.prepare.Prepare`.
    a, b, c : In(format.width)
    result : Out(format.width)
    flags : Out(FLAGS)
    """
    def __init__(self, long, form: FloatFormat = SINGLE):
        self._long, self._form = long, form
        super().__init__({
            "op": In(FloatOp), "kind": In(3), "unsigned": In(1), "mode": In(RoundingMode),
            "a": In(form.width), "b": In(form.width), "c": In(form.width),
            "result": Out(form.width), "flags": Out(FLAGS),
        })

    def elaborate(self, platform):
        m = Module()
        form = self._form
        window = form.window
        later = "sync" if self._long else "comb"
        m.submodules.prepare = prepare = Prepare(form)
        m.d.comb += [getattr(prepare, name).eq(getattr(self, name))
                     for name in ("op", "kind", "unsigned", "mode", "a", "b", "c")]

        stages = []

        def known(domain):
            """What goes with the number, a stage further."""
            before = stages[-1] if stages else prepare.known
            after = Signal(known_layout(form), name=f"known_{len(stages)}", reset_less=True)
            m.d[domain] += after.eq(before)
            stages.append(after)
            return after

        def signal(width, name):
            return Signal(width, name=name, reset_less=True)

        # The factors, and the addend with its distance.
        terms = signal(sum_layout(form), "terms")
        m.d.sync += terms.eq(prepare.sum)
        known("sync")
        # The products of the factors' parts, and the addend in its place.
        half = form.precision // 2 + form.precision % 2
        first, second = ((value[:half], value[half:]) for value in (terms.first, terms.second))
        products = {}
        for i, one in enumerate(first):
            for j, other in enumerate(second):
                products[i, j] = signal(len(one) + len(other), f"product_{i}{j}")
                m.d[later] += products[i, j].eq(one * other)
        m.submodules.align = align = Align(form)
        moved = signal(window, "moved")
        m.d.comb += [align.value.eq(terms.addend), align.distance.eq(terms.distance)]
        m.d[later] += moved.eq(align.aligned)
        known(later)
        # The product.
        product, addend = signal(2 * form.precision, "product"), signal(window, "addend")
        m.d.sync += [
            product.eq((products[0, 0] | products[1, 1] << 2 * half)
                       + ((products[0, 1] + products[1, 0]) << half)),
            addend.eq(moved),
        ]
        summed = known("sync")
        # The sum, or the difference, which is negative if the addend is larger.
        differs = summed.product_sign ^ summed.addend_sign
        total, is_negative = signal(window + 1, "total"), signal(1, "is_negative")
        m.d[later] += total.eq(Cat(Const(0, 3), product)
                               + (addend ^ differs.replicate(window)) + differs)
        was_different = signal(1, "was_different")
        m.d[later] += was_different.eq(differs)
        known(later)
        # Its magnitude.
        m.d.comb += is_negative.eq(was_different & ~total[-1])
        magnitude, negated = signal(window, "magnitude"), signal(1, "negated")
        cancels = signal(1, "cancels")
        m.d.sync += [
            magnitude.eq((total[:window] ^ is_negative.replicate(window)) + is_negative),
            negated.eq(is_negative), cancels.eq(was_different),
        ]
        counted = known("sync")
        # The distance to the place of its highest bit.
        m.submodules.zeros = zeros = LeadingZeros(window)
        shift, unshifted = signal(len(zeros.count), "shift"), signal(window, "unshifted")
        sign = signal(1, "sign")
        m.d.comb += zeros.value.eq(magnitude)
        m.d[later] += [
            shift.eq(Mux(counted.to_integer, 0,
                         normalised(zeros.count, counted.exponent))),
            unshifted.eq(magnitude),
            # A difference of zero is -0 only if it is rounded down.
            sign.eq(Mux(cancels & (magnitude == 0), counted.mode == RoundingMode.DOWN,
                        counted.product_sign ^ negated)),
        ]
        shifting = known(later)
        # The number with its highest bit at the top.
        m.submodules.round = rounder = Rounder(form)
        exact = signal(rounder.exact.shape(), "exact")
        shifted = unshifted << shift
        top = form.width + 1
        m.d.sync += [
            exact.value.eq(Cat(shifted[:window - top].any(), shifted[window - top:window])),
            exact.exponent.eq(shifting.exponent - shift),
            exact.sign.eq(sign), exact.mode.eq(shifting.mode),
            exact.to_integer.eq(shifting.to_integer), exact.unsigned.eq(shifting.unsigned),
            exact.is_outside.eq(shifting.is_outside),
        ]
        rounding = known("sync")
        # The result.
        ready_flags = Signal(FLAGS)
        m.d.comb += [rounder.exact.eq(exact), ready_flags.invalid.eq(rounding.invalid)]
        m.d[later] += [
            self.result.eq(Mux(rounding.is_ready, rounding.ready, rounder.result)),
            self.flags.eq(Mux(rounding.is_ready, ready_flags, rounder.flags)),
        ]
        return m
