"""The floating-point divider: quotients and square roots of a warp's lanes."""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.bits import index_bits
from hw.config import HardwareConfig
from hw.core.loads import writeback_layout
from hw.float.divide import FloatDivideLane
from hw.float.format import FLAGS
from hw.operations import RoundingMode


__all__ = ["FloatDivider"]


class FloatDivider(wiring.Component):
    """Serial divider of all lanes of a warp, or of one half of them after the other.

    Latency: the result is on offer 29 cycles after ``start``; one more if a quotient's significand
    is below 1.0, and one for each place by which a subnormal operand or result is moved. With
    ``float = "half"`` the second half follows the first, and both take so long. Throughput: one
    instruction at a time; the next may start in the cycle after the result was taken.

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
        Quotients or roots.
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
        units = config.float_lanes
        passes = config.threads // units
        owner = Signal(data.StructLayout({
            "root": 1, "mode": RoundingMode, "warp": index_bits(config.warps), "rd": 5,
            "mask": config.threads}), reset_less=True)
        lanes = [FloatDivideLane() for _ in range(units)]
        left = Signal(range(lanes[0].digits + 1))
        low, unsettled = Signal(units), Signal(units)
        loads, normalises, begins, steps, settles = (
            Signal(name=name) for name in ("loads", "normalises", "begins", "steps", "settles"))
        again = Signal()
        found = [lane.result for lane in lanes]
        flags = [lane.flags.as_value() for lane in lanes]

        def operands(port):
            return [port[i] for i in range(config.threads)]
        sources = {"a": operands(self.a)[:units], "b": operands(self.b)[:units]}
        if passes == 2:
            second_pass = Signal()
            m.d.comb += again.eq(~second_pass)
            with m.If(self.start):
                m.d.sync += second_pass.eq(0)
            with m.Elif(loads):
                m.d.sync += second_pass.eq(1)
            for name, port in (("a", self.a), ("b", self.b)):
                held = Signal(data.ArrayLayout(32, units), name=f"held_{name}", reset_less=True)
                with m.If(self.start):
                    m.d.sync += held.eq(Cat(operands(port)[units:]))
                sources[name] = [Mux(self.start, source, held[i])
                                 for i, source in enumerate(sources[name])]
            first = Signal(data.ArrayLayout(32, units), name="first_half", reset_less=True)
            first_flags = Signal(FLAGS.size * units, name="first_flags",
                                 reset_less=True)
            with m.If(loads):
                m.d.sync += [first.eq(Cat(found)), first_flags.eq(Cat(flags))]
            found = [first[i] for i in range(units)] + found
            flags = [first_flags.word_select(i, FLAGS.size) for i in range(units)] + flags

        for i, lane in enumerate(lanes):
            m.submodules[f"lane_{i}"] = lane
            m.d.comb += [
                lane.load.eq(loads), lane.normalise.eq(normalises), lane.begin.eq(begins),
                lane.step.eq(steps), lane.settle.eq(settles),
                lane.root.eq(Mux(self.start, self.root, owner.root)),
                lane.mode.eq(Mux(self.start, self.mode, owner.mode)),
                lane.a.eq(sources["a"][i]), lane.b.eq(sources["b"][i]),
                low[i].eq(lane.is_low), unsettled[i].eq(lane.is_unsettled),
            ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += loads.eq(self.start)
                with m.If(self.start):
                    m.d.sync += [
                        owner.root.eq(self.root), owner.mode.eq(self.mode),
                        owner.warp.eq(self.warp), owner.rd.eq(self.rd), owner.mask.eq(self.mask)]
                    m.next = "NORMALISE"
            with m.State("NORMALISE"):
                m.d.comb += [normalises.eq(low.any()), begins.eq(~low.any())]
                m.d.sync += left.eq(lanes[0].digits)
                with m.If(begins):
                    m.next = "DIVIDE"
            with m.State("DIVIDE"):
                m.d.comb += steps.eq(1)
                m.d.sync += left.eq(left - 1)
                with m.If(left == 1):
                    m.next = "SETTLE"
            with m.State("SETTLE"):
                m.d.comb += settles.eq(1)
                with m.If(~unsettled.any()):
                    m.next = "DONE"
                    with m.If(again):
                        m.d.comb += loads.eq(1)
                        m.next = "NORMALISE"
            with m.State("DONE"):
                m.d.comb += self.result.valid.eq(1)
                with m.If(self.result.ready):
                    m.next = "IDLE"
        with m.If(self.start):
            m.d.sync += self.busy.eq(1)
        with m.Elif(self.result.valid & self.result.ready):
            m.d.sync += self.busy.eq(0)
        raised = 0
        for i, flag in enumerate(flags):
            raised |= Mux(owner.mask[i], flag, 0)
        m.d.comb += [
            result.warp.eq(owner.warp), result.rd.eq(owner.rd), result.mask.eq(owner.mask),
            result.data.eq(Cat(found)), self.flags.eq(raised),
        ]
        started = Signal()
        m.d.sync += started.eq(1)
        with m.If(started):
            m.d.sync += Assert(~self.start | ~self.busy, "a division starts during another")
        return m
