"""The first error since the launch, which stops a core."""

from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.core.interface import fault_layout


__all__ = ["FirstError"]


class FirstError(wiring.Component):
    """Keeps the first error since the launch. Latency: one cycle.

    If several errors come in one cycle, an error in stage C goes before a memory instruction's,
    and both go before a deadlock.

    Members
    -------
    launch : In(1)
        Forget the error.
    decides : In(1)
        An instruction fails in stage C.
    decided : In(fault_layout)
        Cause and place of that failure.
    accesses, accessed : In(1), In(fault_layout)
        A memory instruction fails, with cause and place.
    deadlock, deadlocked : In(1), In(fault_layout)
        All active warps wait at barriers, and none can be released any more.
    failed : Out(1)
        There was an error since the launch.
    fault : Out(fault_layout)
        The first error; valid while ``failed``.
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
