"""Write-back: chooses the result that is written to the registers, and tells the scheduler."""

from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.bits import index_bits
from hw.config import HardwareConfig
from hw.core.loads import writeback_layout
from hw.timing import Timing


__all__ = ["WriteBack"]


class WriteBack(wiring.Component):
    """Write-back. The pipeline's own result cannot wait and goes first. A load's result goes next.
    A rare result, which comes from the divider or the Weaver, waits for both.

    Latency: none. Throughput: one result a cycle. The scheduler is told of a result in the same
    cycle. In the long pipeline this comes later for a load's result or a rare result: in the next
    cycle in which the pipeline has no result. Until then no other such result is written.

    Members
    -------
    own : In(1)
        The pipeline has a result. ``rd`` is not 0.
    result : In(writeback_layout)
    loaded, rare : In(stream(writeback_layout))
        Results of loads, and rare results. A result for ``rd`` 0 is taken and dropped.
    write : Out(1)
        A result is written.
    written : Out(writeback_layout)
    tells : Out(1)
        The scheduler is told of a result, unless its ``rd`` is 0.
    told_warp, told_rd : Out
        Warp and register of that result.
    busy : Out(1)
        A rare result waits, or the scheduler has yet to be told of a result.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        layout = writeback_layout(config)
        super().__init__({
            "own": In(1), "result": In(layout),
            "loaded": In(stream.Signature(layout)), "rare": In(stream.Signature(layout)),
            "write": Out(1), "written": Out(layout),
            "tells": Out(1), "told_warp": Out(index_bits(config.warps)), "told_rd": Out(5),
            "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        loaded, rare = self.loaded, self.rare
        m.d.comb += [
            loaded.ready.eq(~self.own),
            rare.ready.eq(~self.own & ~loaded.valid),
            self.write.eq(self.own | Mux(loaded.valid, loaded.payload.rd != 0,
                                         rare.valid & (rare.payload.rd != 0))),
            self.written.eq(Mux(self.own, self.result,
                                Mux(loaded.valid, loaded.payload, rare.payload))),
        ]
        untold = Signal()
        warp = Signal.like(self.told_warp, reset_less=True)
        rd = Signal.like(self.told_rd, reset_less=True)
        with m.If(~self.own):
            m.d[Timing(self._config).later] += [
                untold.eq(self.write), warp.eq(self.written.warp), rd.eq(self.written.rd),
            ]
        m.d.comb += [
            self.tells.eq(self.own | untold),
            self.told_warp.eq(Mux(self.own, self.result.warp, warp)),
            self.told_rd.eq(Mux(self.own, self.result.rd, rd)),
            self.busy.eq(rare.valid | untold),
        ]
        m.d.sync += Assert(~self.own | (self.result.rd != 0), "the pipeline has a result for x0")
        return m
