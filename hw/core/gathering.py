"""The place of the unit that hands out edges in the core: a queue before it, its answers behind."""

from amaranth.hdl import Assert, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.bits import index_bits
from hw.config import HardwareConfig
from hw.core.issue_queue import IssueQueue
from hw.core.loads import writeback_layout
from hw.gather.interface import (access_layout, event_layout, exchange_signature, fetched_layout,
                                 request_layout)
from hw.gather.variants import component
from hw.streams import StreamRegister


__all__ = ["Gathering"]


class Gathering(wiring.Component):
    """The configuration's unit that hands out edges, behind a queue.

    In the short pipeline the queue is an :class:`~hw.core.issue_queue.IssueQueue`. In the long
    pipeline the queue has one place, since a place is as wide as all registers that are read.

    Latency of the queue: one cycle. Throughput: one instruction a cycle, in the long pipeline one
    at a time.

    Members
    -------
    launch : In(1)
        Forget everything.
    picked : In(1)
        An instruction for the unit was picked in the cycle before.
    under_way : In(1)
        An instruction that was picked has not entered.
    enter : In(1)
        An instruction enters. Never held up.
    instruction : In(request_layout)
    room : Out(1)
        There is room for an instruction that is picked in this cycle, in the long pipeline in the
        next.
    busy : Out(1)
        An instruction waits in the queue, or the unit is busy.
    result : Out(stream(writeback_layout))
        Answers. An answer that sets the mask writes all lanes, even lanes that it deactivates.
    set_mask : Out(1)
        The answer that is taken sets the thread mask of ``set_warp`` to ``set_lanes``.
    set_warp, set_lanes : Out
    events : Out(event_layout)
        Events of the unit.

    Only with a unit that reads memory:

    pc : In(32)
        The PC of the instruction that enters.
    access, fetched : Out(stream(access_layout)), In(stream(fetched_layout))
        As in :func:`hw.gather.interface.unit_signature`.
    access_pc : Out(32)
        The PC of the last instruction for the unit of the warp that ``access`` names.

    Only with a unit that exchanges edges:

    active : In(1)
        A warp can execute instructions.
    exchange : Out(exchange_signature)
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            "launch": In(1), "picked": In(1), "under_way": In(1), "enter": In(1),
            "instruction": In(request_layout(config)), "room": Out(1), "busy": Out(1),
            "result": Out(stream.Signature(writeback_layout(config))),
            "set_mask": Out(1), "set_warp": Out(index_bits(config.warps)),
            "set_lanes": Out(config.threads), "events": Out(event_layout()),
            **({"pc": In(32), "access": Out(stream.Signature(access_layout(config))),
                "fetched": In(stream.Signature(fetched_layout(config))), "access_pc": Out(32)}
               if config.gather_reads else {}),
            **({"active": In(1), "exchange": Out(exchange_signature())}
               if config.exchanges else {}),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.unit = unit = component(config)
        if config.long:
            m.submodules.queue = queue = StreamRegister(self.instruction.shape())
            m.d.comb += [
                queue.i.valid.eq(self.enter), queue.i.payload.eq(self.instruction),
                self.room.eq(~(queue.o.valid | self.under_way)),
            ]
            m.d.sync += Assert(~queue.i.valid | queue.i.ready,
                               "the register of the unit that hands out edges overflows")
        else:
            m.submodules.queue = queue = IssueQueue(config, self.instruction.shape())
            m.d.comb += [
                queue.picked.eq(self.picked), queue.enter.eq(self.enter),
                queue.instruction.eq(self.instruction), self.room.eq(queue.room),
            ]
        connect(m, queue.o, unit.request)
        answer = unit.response.payload
        result = self.result.payload
        m.d.comb += [
            unit.reset.eq(self.launch), self.busy.eq(queue.o.valid),
            self.result.valid.eq(unit.response.valid), unit.response.ready.eq(self.result.ready),
            result.warp.eq(answer.warp), result.rd.eq(answer.rd), result.data.eq(answer.data),
            result.mask.eq(answer.mask | answer.set_mask.replicate(config.threads)),
            self.set_mask.eq(self.result.valid & self.result.ready & answer.set_mask),
            self.set_warp.eq(answer.warp), self.set_lanes.eq(answer.mask),
            self.events.eq(unit.events),
        ]
        if config.gather_reads:
            self._access(m, unit, queue)
        if config.exchanges:
            mine, outer = unit.exchange, self.exchange
            m.d.comb += [
                outer.open.eq(mine.open & self.active), outer.dry.eq(mine.dry | ~self.active),
                outer.refs.eq(mine.refs), outer.room.eq(mine.room), outer.rbs.eq(mine.rbs),
                outer.rbw.eq(mine.rbw), mine.rbc.eq(outer.rbc), mine.received.eq(outer.received),
                mine.over.eq(outer.over),
            ]
        return m

    def _access(self, m, unit, queue):
        """The accesses of the unit. The PC of a warp's last instruction is kept for its faults. An
        access on offer keeps its PC."""
        # The depth is at least 2: Verilog has no address of zero bits.
        m.submodules.pcs = pcs = Memory(shape=32, depth=max(2, self._config.warps), init=[],
                                        attrs={"no_rw_check": 1})
        write, read = pcs.write_port(), pcs.read_port(domain="comb")
        connect(m, unit.access, flipped(self.access))
        connect(m, flipped(self.fetched), unit.fetched)
        waits, held = Signal(name="waits"), Signal(32, name="held", reset_less=True)
        m.d.sync += [waits.eq(self.access.valid & ~self.access.ready), held.eq(self.access_pc)]
        m.d.comb += [
            write.en.eq(self.enter), write.addr.eq(self.instruction.warp), write.data.eq(self.pc),
            read.addr.eq(unit.access.payload.warp), self.access_pc.eq(Mux(waits, held, read.data)),
            self.busy.eq(queue.o.valid | unit.busy),
        ]
