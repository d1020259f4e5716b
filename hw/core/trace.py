"""The trace port of a core: a record of each cycle, for lockstep and for people.

A record has five parts. Each part is a whole number of 32-bit words, so software can read the
record as an array of words:

========== ======================================================================================
part       content
========== ======================================================================================
``status`` which of the other parts are valid, and why no instruction issued
``state``  for each warp, the cause that keeps it from issuing
``issue``  the instruction that issued
``access`` addresses and data of the issued instruction, if the load/store unit executes it
``write``  the result that was written to the register file
========== ======================================================================================
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import index_bits
from hw.config import HardwareConfig
from hw.core.loads import writeback_layout
from hw.stalls import STALLS, WARP_STATES
from hw.timing import Timing


__all__ = ["Trace", "trace_layout"]


def trace_layout(config: HardwareConfig):
    """The record of a cycle.

    ``stall`` and ``state`` are numbers of :data:`hw.stalls.WARP_STATES`. ``rd`` of ``issue`` is 0
    if the instruction writes no register, and ``rd2`` if it writes no second one. ``phase`` is the
    warp's PHASE register before the instruction. Fields of lanes outside the mask, and parts that
    ``status`` does not announce, are undefined.
    """
    lanes = data.ArrayLayout(32, config.threads)
    return data.StructLayout({
        "status": data.StructLayout({
            "running": 1, "issued": 1, "accessed": 1, "written": 1, "_0": 4,
            "stall": 8, "_1": 16,
        }),
        "state": data.ArrayLayout(8, -(-config.warps // 4) * 4),
        "issue": data.StructLayout({
            "warp": 8, "phase": 8, "rd": 8, "rd2": 8, "pc": 32, "mask": 32,
        }),
        "access": data.StructLayout({"address": lanes, "data": lanes}),
        "write": data.StructLayout({"warp": 8, "rd": 8, "_0": 16, "mask": 32, "value": lanes}),
    })


class Trace(wiring.Component):
    """Joins the events of a core's cycle into one record.

    Latency: one cycle, in the long pipeline three. Then the instruction that was picked in the
    cycle is being executed, and its operands are known. Throughput: one record a cycle.

    Members
    -------
    running : In(1)
        The cycle is counted.
    issue : In(1)
        An instruction issues.
    active, ready : In(warps)
        Warps that have not ended; warps that may be picked.
    waits : In(ArrayLayout)
        For each warp, the causes of :data:`hw.stalls.STALLS` that hold.
    blocked : In
        The same for the core, in a cycle without issue.
    write, written : In(1), In(writeback_layout)
        The result ``written`` is written to the register file if ``write`` is high.
    executing : In(1)
        An instruction is executed that was picked one cycle before, in the long pipeline three.
    warp, pc, rd, rd2, mask, phase : In
        The warp, PC, destinations, thread mask and phase of the instruction.
    accessing : In(1)
        The load/store unit executes the instruction.
    address, data : In(ArrayLayout(32, threads))
        The addresses and data of that access, by lane.
    record : Out(trace_layout)
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        lanes = data.ArrayLayout(32, config.threads)
        super().__init__({
            "running": In(1), "issue": In(1),
            "active": In(config.warps), "ready": In(config.warps),
            "waits": In(data.ArrayLayout(len(STALLS), config.warps)), "blocked": In(len(STALLS)),
            "write": In(1), "written": In(writeback_layout(config)),
            "executing": In(1), "warp": In(index_bits(config.warps)),
            "pc": In(ceil_log2(config.imem_bytes)), "rd": In(5), "rd2": In(5),
            "mask": In(config.threads), "phase": In(3), "accessing": In(1), "address": In(lanes),
            "data": In(lanes),
            "record": Out(trace_layout(config)),
        })

    def _state(self, active, ready, waits):
        """The number of the state for the first cause that holds."""
        number = WARP_STATES.index
        value = Mux(active, number("fetch"), number("ended"))
        for index, cause in reversed(list(enumerate(STALLS))):
            value = Mux(waits[index], number(cause), value)
        return Mux(ready, number("ready"), value)

    def elaborate(self, platform):
        m = Module()
        record, status = self.record, self.record.status
        write = Signal.like(record.write)
        m.d.comb += [
            write.warp.eq(self.written.warp), write.rd.eq(self.written.rd),
            write.mask.eq(self.written.mask), write.value.eq(self.written.data),
            status.issued.eq(self.executing), status.accessed.eq(self.accessing),
            record.issue.warp.eq(self.warp), record.issue.phase.eq(self.phase),
            record.issue.rd.eq(self.rd), record.issue.rd2.eq(self.rd2),
            record.issue.pc.eq(self.pc),
            record.issue.mask.eq(self.mask),
            record.access.address.eq(self.address), record.access.data.eq(self.data),
        ]
        # The other fields are known earlier. ``issue`` and ``blocked`` come with the issue, in the
        # long pipeline a cycle after the pick.
        extra = Timing(self._config).extra
        all_stages, issue_stages = 1 + 2 * extra, 1 + extra
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
