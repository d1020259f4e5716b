"""The trace port of a core: what it did in each cycle, for lockstep and for people.

A cycle's record has five parts, each a whole number of 32-bit words, so that software can take it
as an array of words:

========== ======================================================================================
part       what it says
========== ======================================================================================
``status`` whether there is anything in the other parts, and why nothing issued
``state``  of each warp, what keeps it from issuing
``issue``  the instruction that issued
``access`` the addresses and data of the issued instruction, if it is one for the load/store unit
``write``  the result that was written to the register file
========== ======================================================================================
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.core.loads import writeback_layout
from hw.util import index_bits


__all__ = ["Trace", "WarpState", "trace_layout"]


class WarpState(enum.Enum, shape=8):
    """What keeps a warp from issuing; of the whole core, what kept all warps from it.

    The values from ``MEMORY`` to ``FETCH`` are those of :data:`hw.core.scheduler.WARP_STATES`, in
    its order, from 2 on. Of the core, ``READY`` is a cycle with an issue and ``ENDED`` one in
    which no warp was left.
    """
    ENDED   = 0
    READY   = 1
    MEMORY  = 2
    LOCAL   = 3
    WEAVER  = 4
    EXECUTE = 5
    BARRIER = 6
    FETCH   = 7


def trace_layout(config: HardwareConfig):
    """The record of a cycle.

    ``rd`` of ``issue`` is 0 if the instruction writes no register; ``phase`` is the warp's PHASE
    register before it. Fields of lanes that are not in the mask, and of parts that ``status`` does
    not announce, hold anything.
    """
    lanes = data.ArrayLayout(32, config.threads)
    return data.StructLayout({
        "status": data.StructLayout({
            "running": 1, "issued": 1, "accessed": 1, "written": 1, "_0": 4,
            "stall": WarpState, "_1": 16,
        }),
        "state": data.ArrayLayout(WarpState, -(-config.warps // 4) * 4),
        "issue": data.StructLayout({
            "warp": 8, "phase": 8, "rd": 8, "_0": 8, "pc": 32, "mask": 32,
        }),
        "access": data.StructLayout({"address": lanes, "data": lanes}),
        "write": data.StructLayout({"warp": 8, "rd": 8, "_0": 16, "mask": 32, "value": lanes}),
    })


class Trace(wiring.Component):
    """Joins what a core did in a cycle into one record.

    Latency: the record of a cycle is there in the next, with the long pipeline three cycles later:
    when the instruction that was picked is being executed and its operands are known.

    Members
    -------
    running : In(1)
        The cycle is counted.
    issue : In(1)
        An instruction issues.
    active, ready : In(warps)
        Warps that have not ended; those that may be picked.
    waits : In(ArrayLayout)
        Of each warp, what holds of :data:`hw.core.scheduler.WARP_STATES`.
    blocked : In
        The same of the core, in a cycle without issue.
    written : In(writeback_layout)
        A result is written to the register file if ``write`` is high.
    executing : In(1)
        An instruction is executed that was picked in the cycle before, or three; ``warp``, ``pc``, ``rd``,
        ``mask`` and ``phase`` say which.
    accessing : In(1)
        It is one for the load/store unit, with ``address`` and ``data``.
    record : Out(trace_layout)
    """
    def __init__(self, config: HardwareConfig, causes):
        self._config, self._causes = config, causes
        lanes = data.ArrayLayout(32, config.threads)
        super().__init__({
            "running": In(1), "issue": In(1),
            "active": In(config.warps), "ready": In(config.warps),
            "waits": In(data.ArrayLayout(causes, config.warps)), "blocked": In(causes),
            "write": In(1), "written": In(writeback_layout(config)),
            "executing": In(1), "warp": In(index_bits(config.warps)),
            "pc": In(ceil_log2(config.imem_bytes)), "rd": In(5), "mask": In(config.threads),
            "phase": In(3), "accessing": In(1), "address": In(lanes), "data": In(lanes),
            "record": Out(trace_layout(config)),
        })

    def _state(self, active, ready, waits):
        """The first cause that holds, as a number."""
        value = Mux(active, WarpState.FETCH.value, WarpState.ENDED.value)
        for index in reversed(range(self._causes)):
            value = Mux(waits[index], WarpState.MEMORY.value + index, value)
        return Mux(ready, WarpState.READY.value, value)

    def elaborate(self, platform):
        m = Module()
        record, status = self.record, self.record.status
        write = Signal.like(record.write)
        m.d.comb += [
            write.warp.eq(self.written.warp), write.rd.eq(self.written.rd),
            write.mask.eq(self.written.mask), write.value.eq(self.written.data),
            status.issued.eq(self.executing), status.accessed.eq(self.accessing),
            record.issue.warp.eq(self.warp), record.issue.phase.eq(self.phase),
            record.issue.rd.eq(self.rd), record.issue.pc.eq(self.pc),
            record.issue.mask.eq(self.mask),
            record.access.address.eq(self.address), record.access.data.eq(self.data),
        ]
        # The rest is known earlier: what the long pipeline's pick was, when that issues.
        all_stages = 3 if self._config.long else 1
        issue_stages = 2 if self._config.long else 1
        earlier = [
            (all_stages, status.running, self.running), (all_stages, status.written, self.write),
            (issue_stages, status.stall, self._state(0, self.issue, self.blocked)),
            (all_stages, record.write, write),
            *((all_stages, record.state[warp],
               self._state(self.active[warp], self.ready[warp], self.waits[warp]))
              for warp in range(self._config.warps)),
        ]
        for number, (stages, target, value) in enumerate(earlier):
            for stage in range(stages):
                last = stage == stages - 1
                held = target if last else Signal.like(target, name=f"held_{number}_{stage}")
                m.d.sync += held.eq(value)
                value = held
        return m
