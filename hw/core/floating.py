"""Floating point in a core: the pipelines, the divider, and the flags they raise."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.bits import index_bits
from hw.config import HardwareConfig
from hw.core.csr import raised_layout
from hw.core.loads import writeback_layout
from hw.float.divider import FloatDivider
from hw.float.unit import FloatUnit, float_latency
from hw.operations import RoundingMode


__all__ = ["Floating"]


class Floating(wiring.Component):
    """Floating-point pipelines and divider of a core.

    Latency and throughput: those of :class:`hw.float.unit.FloatUnit` and
    :class:`hw.float.divider.FloatDivider`.

    Members
    -------
    enter : In(1)
        An instruction of the unit FLOAT. With ``float = "half"`` not in the cycle after another.
    divides : In(1)
        A FloatDivOp, while not ``divider_busy``.
    op : In(4)
    word : In(32)
        The instruction.
    mode : In(RoundingMode)
        The warp's rounding mode, for an instruction that has none of its own.
    warp, rd, mask : In
        Destination of the result.
    a, b, c : In(ArrayLayout(32, threads))
        The operands; ``c`` is the last one of an operation with fewer than three.
    under_way : Out(float_latency)
        Bit i: an instruction entered the pipelines i + 1 cycles ago.
    leaves : Out(1)
        ``result`` is that of an instruction which entered the pipelines. It cannot wait.
    result : Out(writeback_layout)
    divided : Out(stream(writeback_layout))
        Results of the divider.
    divider_busy : Out(1)
    raises : Out(raised_layout)
        Flags of the active lanes, as an instruction's results leave.
    resumes : Out(warps)
        Warps whose instruction for x0, behind which they fetch nothing, has raised its flags.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        lanes = data.ArrayLayout(32, config.threads)
        layout = writeback_layout(config)
        super().__init__({
            "enter": In(1), "divides": In(1), "op": In(4), "word": In(32),
            "mode": In(RoundingMode), "warp": In(index_bits(config.warps)), "rd": In(5),
            "mask": In(config.threads), "a": In(lanes), "b": In(lanes), "c": In(lanes),
            "under_way": Out(float_latency(config)), "leaves": Out(1), "result": Out(layout),
            "divided": Out(stream.Signature(layout)), "divider_busy": Out(1),
            "raises": Out(raised_layout(config)), "resumes": Out(config.warps),
        })

    def elaborate(self, platform):
        m = Module()
        config, result = self._config, self.result
        m.submodules.unit = unit = FloatUnit(config)
        m.submodules.divider = divider = FloatDivider(config)
        own_mode = self.word[12:15]
        mode = Signal(RoundingMode)
        m.d.comb += [
            mode.eq(Mux(own_mode == RoundingMode.DYNAMIC, self.mode, own_mode)),
            unit.enter.eq(self.enter), unit.op.eq(self.op), unit.kind.eq(own_mode),
            unit.is_unsigned.eq(self.word[20]), unit.mode.eq(mode),
            unit.a.eq(self.a), unit.b.eq(self.b), unit.c.eq(self.c),
            divider.start.eq(self.divides), divider.root.eq(self.op[0]), divider.mode.eq(mode),
            divider.warp.eq(self.warp), divider.rd.eq(self.rd), divider.mask.eq(self.mask),
            divider.a.eq(self.a), divider.b.eq(self.b),
            self.divider_busy.eq(divider.busy),
        ]
        connect(m, divider.result, flipped(self.divided))

        owner_layout = data.StructLayout({
            "warp": index_bits(config.warps), "rd": 5, "mask": config.threads})
        owner = Signal(owner_layout, name="owner")
        m.d.comb += [owner.warp.eq(self.warp), owner.rd.eq(self.rd), owner.mask.eq(self.mask)]
        for stage in range(len(self.under_way)):
            before = owner
            owner = Signal(owner_layout, name=f"owner_{stage}", reset_less=True)
            m.d.sync += owner.eq(before)
        m.d.sync += self.under_way.eq(Cat(self.enter, self.under_way[:-1]))
        m.d.comb += [
            self.leaves.eq(self.under_way[-1]),
            result.warp.eq(owner.warp), result.rd.eq(owner.rd), result.mask.eq(owner.mask),
            result.data.eq(unit.result),
        ]

        flags = 0
        for lane in range(config.threads):
            flags |= Mux(owner.mask[lane], unit.flags[lane].as_value(), 0)
        divided = self.divided.payload
        ends = self.divided.valid & self.divided.ready
        m.d.comb += [
            self.raises[0].valid.eq(self.leaves), self.raises[0].warp.eq(owner.warp),
            self.raises[0].flags.eq(flags),
            self.raises[1].valid.eq(ends), self.raises[1].warp.eq(divided.warp),
            self.raises[1].flags.eq(divider.flags),
            self.resumes.eq(Mux(self.leaves & (owner.rd == 0), 1 << owner.warp, 0)
                            | Mux(ends & (divided.rd == 0), 1 << divided.warp, 0)),
        ]
        return m
