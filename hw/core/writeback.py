"""Write-back: who writes the registers in a cycle, and what the scheduler is told of it."""

from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.core.loads import writeback_layout
from hw.util import extra_stage, index_bits


__all__ = ["WriteBack"]


class WriteBack(wiring.Component):
    """Write-back: the pipeline's own result cannot wait, a load's can, and what is rare, a
    quotient or what the Weaver gives, waits for both.

    Latency: none. The scheduler is told in the same cycle; with the long pipeline, of what is not
    the pipeline's own, in the next cycle in which the pipeline has no result: until then no other
    such result is written.

    Members
    -------
    own : In(1)
        The pipeline has a result. ``rd`` is not 0.
    result : In(writeback_layout)
    loaded, rare : In(stream(writeback_layout))
        The others'. What is for ``rd`` 0 is taken and dropped.
    write : Out(1)
        A result is written.
    written : Out(writeback_layout)
    tells : Out(1)
        The scheduler is told of one. Of one for ``rd`` 0 it is not.
    told_warp, told_rd : Out
        Whose.
    busy : Out(1)
        A rare result waits, or there is something left to tell.
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
            m.d[extra_stage(self._config)] += [
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
