"""What stops a core: the first error since the launch."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.core.interface import fault_layout
from hw.util import extra_stage


__all__ = ["FirstError"]


class FirstError(wiring.Component):
    """Keeps the first error. Of errors in one cycle an instruction's in C goes before a memory
    instruction's, and both before a deadlock.

    Latency: it is told in the next cycle, with the long pipeline in the one after that; there all
    come a cycle later than they are known.

    Members
    -------
    launch : In(1)
        Forget it.
    decides : In(1)
        The instruction in C fails; not for want of a barrier.
    decided : In(fault_layout)
        Why and where, if it fails.
    no_barrier : In(1)
        The same instruction fails for want of a barrier; with the long pipeline a cycle later.
    accesses, accessed : In(1), In(fault_layout)
        A memory instruction fails.
    deadlock, deadlocked : In(1), In(fault_layout)
        All warps wait, and always will.
    failed : Out(1)
        There was an error.
    fault : Out(fault_layout)
        Which.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        layout = fault_layout(config)
        super().__init__({
            "launch": In(1), "decides": In(1), "decided": In(layout), "no_barrier": In(1),
            "accesses": In(1), "accessed": In(layout), "deadlock": In(1), "deadlocked": In(layout),
            "failed": Out(1), "fault": Out(layout),
        })

    def elaborate(self, platform):
        m = Module()
        layout = fault_layout(self._config)
        found = Signal(layout)
        fault = Signal(layout, reset_less=True)
        known = Signal()
        m.d.comb += found.eq(self.decided)
        with m.If(self.accesses & ~self.decides):
            m.d.comb += found.eq(self.accessed)
        m.d[extra_stage(self._config)] += [known.eq(self.decides | self.accesses), fault.eq(found)]
        with m.If(self.launch):
            m.d.sync += self.failed.eq(0)
        with m.Elif(~self.failed):
            with m.If(known | self.no_barrier):
                m.d.sync += [self.failed.eq(1), self.fault.eq(fault)]
            with m.Elif(self.deadlock):
                m.d.sync += [self.failed.eq(1), self.fault.eq(self.deadlocked)]
        return m
