"""What stops a core: the first error since the launch."""

from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.core.interface import fault_layout


__all__ = ["FirstError"]


class FirstError(wiring.Component):
    """Keeps the first error. Of errors in one cycle an instruction's in C goes before a memory
    instruction's, and both before a deadlock.

    Latency: it is told in the next cycle.

    Members
    -------
    launch : In(1)
        Forget it.
    decides : In(1)
        An instruction fails in C.
    decided : In(fault_layout)
        Why and where.
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
            "launch": In(1), "decides": In(1), "decided": In(layout),
            "accesses": In(1), "accessed": In(layout), "deadlock": In(1), "deadlocked": In(layout),
            "failed": Out(1), "fault": Out(layout),
        })

    def elaborate(self, platform):
        m = Module()
        with m.If(self.launch):
            m.d.sync += self.failed.eq(0)
        with m.Elif(~self.failed):
            m.d.sync += [
                self.failed.eq(self.decides | self.accesses | self.deadlock),
                self.fault.eq(Mux(self.decides, self.decided,
                                  Mux(self.accesses, self.accessed, self.deadlocked))),
            ]
        return m
