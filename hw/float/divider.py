"""The floating-point divider: quotients and square roots of a warp's lanes."""

from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.bits import and_or, index_bits
from hw.config import HardwareConfig
from hw.core.loads import writeback_layout
from hw.float.divide import FloatDivideLane
from hw.float.format import FLAGS
from hw.operations import RoundingMode


__all__ = ["SHARED", "FloatDivider"]


#: Lanes that share a divider.
SHARED = 8


class FloatDivider(wiring.Component):
    """Serial dividers of a warp: one for eight lanes, which takes the active ones in turn. The
    dividers of more lanes go together.

    Latency: for each active lane, of the eight that have most, 16 cycles; one more if a quotient's
    significand is below 1.0, and one for each place by which a subnormal operand or result is
    moved; 2 cycles for a lane whose result needs no digits, as that of a NaN, an infinity or a
    zero. One cycle more until the result is on offer. Throughput: one instruction at a time; the
    next may start in the cycle after the result was taken.

    Members
    -------
    start : In(1)
        Take the operands. Only while not ``busy``.
    root : In(1)
        Take roots of ``a``, and do not divide.
    mode : In(RoundingMode)
    warp, rd, mask : In
        Destination of the result.
    a, b : In(ArrayLayout(32, threads))
        Dividends and divisors.
    busy : Out(1)
        A division is under way, or its result has not been taken.
    result : Out(stream(writeback_layout))
        Quotients or roots. Lanes that are not in the mask have words without meaning.
    flags : Out(FLAGS)
        Those of the active lanes of the result.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        lanes = data.ArrayLayout(32, config.threads)
        super().__init__({
            "start": In(1), "root": In(1), "mode": In(RoundingMode),
            "warp": In(index_bits(config.warps)), "rd": In(5), "mask": In(config.threads),
            "a": In(lanes), "b": In(lanes), "busy": Out(1),
            "result": Out(stream.Signature(writeback_layout(config))), "flags": Out(FLAGS),
        })

    def elaborate(self, platform):
        m = Module()
        config, result = self._config, self.result.payload
        lanes = data.ArrayLayout(32, config.threads)
        owner = Signal(data.StructLayout({
            "root": 1, "mode": RoundingMode, "warp": index_bits(config.warps), "rd": 5,
            "mask": config.threads, "a": lanes, "b": lanes}), reset_less=True)
        shared = min(SHARED, config.threads)
        # The lanes of each divider that are still to come, and the first of them.
        left, turn = Signal(shared), Signal(shared)
        m.d.comb += turn.eq(left & ~(left - 1))

        dividers = [FloatDivideLane() for _ in range(0, config.threads, shared)]
        low, unsettled, ready = (Signal(len(dividers), name=name)
                                 for name in ("low", "unsettled", "ready"))
        loads, normalises, begins, steps, settles, ends = (Signal(name=name) for name in (
            "loads", "normalises", "begins", "steps", "settles", "ends"))
        found, raised = Signal(lanes, reset_less=True), 0
        for i, divider in enumerate(dividers):
            m.submodules[f"divider_{i}"] = divider
            own = range(i * shared, (i + 1) * shared)
            # Without an active lane it divides 0 by 0, which needs no digits.
            chosen = Signal(len(own), name=f"chosen_{i}")
            m.d.comb += [
                chosen.eq(turn & owner.mask[own.start:own.stop]), divider.load.eq(loads),
                divider.normalise.eq(normalises),
                divider.begin.eq(begins), divider.step.eq(steps), divider.settle.eq(settles),
                divider.root.eq(owner.root), divider.mode.eq(owner.mode),
                divider.a.eq(and_or(chosen, [owner.a[lane] for lane in own])),
                divider.b.eq(and_or(chosen, [owner.b[lane] for lane in own])),
                low[i].eq(divider.is_low), unsettled[i].eq(divider.is_unsettled),
                ready[i].eq(divider.is_ready),
            ]
            for place, lane in enumerate(own):
                with m.If(ends & turn[place]):
                    m.d.sync += found[lane].eq(divider.result)
            raised |= Mux(chosen.any(), divider.flags.as_value(), 0)
        flags = Signal(FLAGS.size, reset_less=True)
        with m.If(ends):
            m.d.sync += [flags.eq(flags | raised), left.eq(left & ~turn)]

        steps_left = Signal(range(dividers[0].steps + 1))
        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.start):
                    m.d.sync += [
                        owner.root.eq(self.root), owner.mode.eq(self.mode),
                        owner.warp.eq(self.warp), owner.rd.eq(self.rd), owner.mask.eq(self.mask),
                        owner.a.eq(self.a), owner.b.eq(self.b), flags.eq(0), self.busy.eq(1)]
                    masks = [self.mask[first:first + shared]
                             for first in range(0, config.threads, shared)]
                    any_of = 0
                    for mask in masks:
                        any_of |= mask
                    m.d.sync += left.eq(any_of)
                    m.next = "LOAD"
            with m.State("LOAD"):
                m.d.comb += loads.eq(1)
                m.next = "NORMALISE"
                with m.If(left == 0):
                    m.next = "DONE"
            with m.State("NORMALISE"):
                m.d.sync += steps_left.eq(dividers[0].steps)
                m.d.comb += [normalises.eq(low.any()), begins.eq(~low.any())]
                with m.If(ready.all()):
                    m.d.comb += ends.eq(1)
                    m.next = "LOAD"
                with m.Elif(begins):
                    m.next = "DIVIDE"
            with m.State("DIVIDE"):
                m.d.comb += steps.eq(1)
                m.d.sync += steps_left.eq(steps_left - 1)
                with m.If(steps_left == 1):
                    m.next = "SETTLE"
            with m.State("SETTLE"):
                m.d.comb += settles.eq(1)
                with m.If(~unsettled.any()):
                    m.d.comb += ends.eq(1)
                    m.next = "LOAD"
            with m.State("DONE"):
                m.d.comb += self.result.valid.eq(1)
                with m.If(self.result.ready):
                    m.d.sync += self.busy.eq(0)
                    m.next = "IDLE"
        m.d.comb += [
            result.warp.eq(owner.warp), result.rd.eq(owner.rd), result.mask.eq(owner.mask),
            result.data.eq(found), self.flags.eq(flags),
        ]
        started = Signal()
        m.d.sync += started.eq(1)
        with m.If(started):
            m.d.sync += Assert(~self.start | ~self.busy, "a division starts during another")
        return m
