"""The floating-point pipelines of a warp's lanes."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.float.format import FLAGS
from hw.float.lane import FloatLane, latency
from hw.operations import FloatOp, RoundingMode


__all__ = ["FloatUnit", "float_latency"]


def float_latency(config: HardwareConfig) -> int:
    """Cycles from the operands of an instruction to its results."""
    return latency(config.long) + (config.float == "half")


class FloatUnit(wiring.Component):
    """Floating-point pipelines: one for each lane, or with ``float = "half"`` for two lanes.

    Latency: :func:`float_latency`. Throughput: an instruction a cycle; with ``float = "half"`` in
    two cycles.

    Members
    -------
    enter : In(1)
        An instruction enters. With ``float = "half"`` not in the cycle after another. The results
        of a cycle in which none enters have no meaning.
    op, kind, is_unsigned, mode : In
        As those of :class:`hw.float.prepare.Prepare`.
    a, b, c : In(ArrayLayout(32, threads))
        The operands; ``c`` is the last one of an operation with fewer than three.
    result : Out(ArrayLayout(32, threads))
    flags : Out(ArrayLayout(FLAGS, threads))
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        lanes = data.ArrayLayout(32, config.threads)
        super().__init__({
            "enter": In(1), "op": In(FloatOp), "kind": In(3), "is_unsigned": In(1),
            "mode": In(RoundingMode), "a": In(lanes), "b": In(lanes), "c": In(lanes),
            "result": Out(lanes), "flags": Out(data.ArrayLayout(FLAGS, config.threads)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        units, threads = config.float_lanes, config.threads
        control = Signal(data.StructLayout({"op": FloatOp, "kind": 3, "is_unsigned": 1,
                                            "mode": RoundingMode}))
        m.d.comb += [getattr(control, name).eq(getattr(self, name))
                     for name in ("op", "kind", "is_unsigned", "mode")]
        operands = {name: [getattr(self, name)[i] for i in range(units)] for name in "abc"}
        if units < threads:
            # The other half follows in the next cycle, when no instruction enters.
            held_control = Signal(control.shape(), name="held_control", reset_less=True)
            given = Signal(control.shape(), name="given")
            m.d.comb += given.eq(Mux(self.enter, control, held_control))
            m.d.sync += held_control.eq(control)
            for name in "abc":
                held = Signal(data.ArrayLayout(32, units), name=f"held_{name}", reset_less=True)
                m.d.sync += held.eq(Cat(getattr(self, name)[i] for i in range(units, threads)))
                operands[name] = [Mux(self.enter, operand, held[i])
                                  for i, operand in enumerate(operands[name])]
            control = given
        results, flags = [], []
        for i in range(units):
            m.submodules[f"lane_{i}"] = lane = FloatLane(config.long)
            m.d.comb += [
                lane.op.eq(control.op), lane.kind.eq(control.kind),
                lane.is_unsigned.eq(control.is_unsigned), lane.mode.eq(control.mode),
                *(getattr(lane, name).eq(operands[name][i]) for name in "abc"),
            ]
            results.append(lane.result)
            flags.append(lane.flags.as_value())
        if units < threads:
            before = Signal(32 * units, name="results_before", reset_less=True)
            flags_before = Signal(len(Cat(flags)), name="flags_before", reset_less=True)
            m.d.sync += [before.eq(Cat(results)), flags_before.eq(Cat(flags))]
            results, flags = [before, *results], [flags_before, *flags]
        m.d.comb += [self.result.eq(Cat(results)), self.flags.eq(Cat(flags))]
        return m
