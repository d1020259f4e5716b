"""The first error since the launch, which stops a core."""

from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.core.interface import fault_layout
from hw.timing import Timing


__all__ = ["FirstError"]


class FirstError(wiring.Component):
    """Keeps the first error since the launch. Latency: one cycle.

    If several errors come in one cycle, an error in stage C goes before a memory instruction's,
    and both go before a deadlock. A check of :mod:`hw.core.checks` fails for an instruction before
    the one in stage C, in the long pipeline for the same; the earlier instruction goes first, and
    of one instruction the error in stage C.

    Members
    -------
    launch : In(1)
        Forget the error.
    decides : In(1)
        An instruction fails in stage C.
    decided : In(fault_layout)
        Cause and place of that failure.
    checks, checked : In(1), In(fault_layout)
        Lanes break a rule, with cause and place.
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
            "checks": In(1), "checked": In(layout),
            "accesses": In(1), "accessed": In(layout), "deadlock": In(1), "deadlocked": In(layout),
            "failed": Out(1), "fault": Out(layout),
        })

    def elaborate(self, platform):
        m = Module()
        first = self.deadlocked
        checks, decides = (self.checks, self.checked), (self.decides, self.decided)
        in_c = Timing(self._config).stage((decides, checks), (checks, decides))
        for fails, fault in [(self.accesses, self.accessed), *in_c]:     # the last goes first
            first = Mux(fails, fault, first)
        with m.If(self.launch):
            m.d.sync += self.failed.eq(0)
        with m.Elif(~self.failed):
            m.d.sync += [
                self.failed.eq(self.checks | self.decides | self.accesses | self.deadlock),
                self.fault.eq(first),
            ]
        return m
