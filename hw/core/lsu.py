"""The load/store unit: the path of memory instructions from execute to write-back."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.bits import index_bits
from hw.config import HardwareConfig
from hw.core.access import check_address, instruction_layout, operation_layout
from hw.core.banks import add_banks, counted
from hw.core.coalescer import Coalescer
from hw.core.interface import fault_layout
from hw.core.issue_queue import IssueQueue
from hw.core.loads import LoadQueue, writeback_layout
from hw.counters import event_layout
from hw.gather.interface import access_layout, fetched_layout
from hw.memory.port import core_request_layout, core_response_layout
from hw.operations import MemOp
from hw.stalls import L1_STALLS
from hw.timing import Timing


__all__ = ["LoadStoreUnit", "memory_event_layout"]


#: Counters of the core whose events come from the load/store unit.
_EVENTS = ("memory_instructions", "coalescer_busy", "loads_under_way", "l1_accesses", "l1_loads",
           "l1_load_hits", "load_words", "l1_fetches", "l1_stall_bank",
           *(f"l1_stall_{name}" for name in L1_STALLS), "local_accesses", "local_conflicts",
           "atomics", "atomic_lanes")


def memory_event_layout(config: HardwareConfig):
    """The part of :func:`hw.counters.event_layout` that comes from the load/store unit."""
    layout = event_layout(config)
    return data.StructLayout({name: layout[name].shape for name in _EVENTS})


class LoadStoreUnit(wiring.Component):
    """Load/store unit, with these parts:

    - a queue (:mod:`hw.core.issue_queue`); addresses are checked as instructions leave it,
    - the coalescer, which makes passes of an instruction (:mod:`hw.core.coalescer`),
    - L1 and local memory, which perform the passes (:mod:`hw.core.banks`, :mod:`hw.core.l1`),
    - the load queue, which collects the words of a load (:mod:`hw.core.loads`).

    Latency and throughput are those of the parts.

    Members
    -------
    launch : In(1)
        L1 forgets its lines.
    picked, room : In(1), Out(1)
        As in :class:`hw.core.issue_queue.IssueQueue`.
    enter : In(1)
        An instruction enters. Never held up.
    instruction : In(instruction_layout)
    request : Out(stream(core_request_layout))
        Requests to the L2.
    response : In(stream(core_response_layout))
        Answers of the L2, in any order. Never waits for ``request``.
    writeback : Out(stream(writeback_layout))
        Results of loads, and old values of atomics. ``rd`` may be 0.
    started_local : Out(1)
        An instruction in local memory begins.
    started_warp, started_rd : Out
        The warp, and the register that waits for the instruction.
    fails : Out(1)
        An instruction is dropped because an address is misaligned or not mapped.
    fault : Out(fault_layout)
        Cause and place of the failure.
    busy : Out(1)
        An instruction is under way.
    events : Out(memory_event_layout)
        Increments of the performance counters.
    access, fetched : In(stream(access_layout)), Out(stream(fetched_layout))
        The accesses of the unit that hands out edges, if there is a unit that reads memory
        (:func:`hw.gather.interface.unit_signature`). An access takes its turn behind the
        instructions that are in the queue when it comes on offer, and before later ones.
    access_pc : In(32)
        With ``access``: the PC that a fault reports.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            "launch": In(1), "picked": In(1), "room": Out(1),
            "enter": In(1), "instruction": In(instruction_layout(config)),
            "request": Out(stream.Signature(core_request_layout(config))),
            "response": In(stream.Signature(core_response_layout(config))),
            "writeback": Out(stream.Signature(writeback_layout(config))),
            "started_local": Out(1), "started_warp": Out(index_bits(config.warps)),
            "started_rd": Out(5),
            "fails": Out(1), "fault": Out(fault_layout(config)), "busy": Out(1),
            "events": Out(memory_event_layout(config)),
            **({"access": In(stream.Signature(access_layout(config))), "access_pc": In(32),
                "fetched": Out(stream.Signature(fetched_layout(config)))}
               if config.gather_reads else {}),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.queue = queue = IssueQueue(config, instruction_layout(config))
        m.submodules.coalescer = coalescer = Coalescer(config)
        m.submodules.loads = loads = LoadQueue(config)
        banks = add_banks(m, config, self.request, self.response)

        # Addresses are checked as they leave the queue.
        source = self._join(m, queue) if config.gather_reads else queue.o
        queued = source.payload
        checked = stream.Signature(operation_layout(config)).create()
        m.d.comb += [
            queue.picked.eq(self.picked), self.room.eq(queue.room),
            queue.enter.eq(self.enter), queue.instruction.eq(self.instruction),
            checked.valid.eq(source.valid), source.ready.eq(checked.ready),
            *(checked.payload[name].eq(queued[name]) for name, _ in instruction_layout(config)),
        ]
        for i, address in enumerate(queued.address):
            m.d.comb += Cat(checked.payload.local[i], checked.payload.failing[i]).eq(
                Cat(check_address(config, queued.op, queued.size, address)))
        connect(m, Timing(config).cut(m, checked, name="checked"), coalescer.operation)

        for number, bank in enumerate(banks):
            connect(m, coalescer.access[number], bank.access)
            m.d.comb += [
                loads.loaded[number].eq(bank.loaded),
                loads.loaded_valid[number].eq(bank.loaded_valid), bank.flush.eq(self.launch),
            ]
        if config.gather_reads:
            self._divide(m, loads)
        else:
            connect(m, loads.writeback, flipped(self.writeback))
        m.d.comb += [
            loads.allot.eq(coalescer.allot), loads.entry.eq(coalescer.entry),
            coalescer.slot.eq(loads.slot), coalescer.slot_free.eq(loads.free),
            coalescer.asking.eq(Cat(bank.asking for bank in banks).any()),
            self.started_local.eq(coalescer.started_local),
            self.started_warp.eq(coalescer.started_warp),
            self.started_rd.eq(coalescer.started_rd),
            self.fails.eq(coalescer.fault),
            self.fault.cause.eq(coalescer.fault_cause), self.fault.warp.eq(coalescer.fault_warp),
            self.fault.pc.eq(coalescer.fault_pc), self.fault.address.eq(coalescer.fault_address),
            self.fault.lane.eq(coalescer.fault_lane),
            self.busy.eq(checked.valid | coalescer.busy | loads.busy
                         | Cat(bank.busy for bank in banks).any()),
        ]

        events = self.events
        m.d[Timing(config).later] += events.memory_instructions.eq(coalescer.started_global)
        m.d[Timing(config).later] += events.l1_stall_bank.eq(coalescer.bank_conflict)
        m.d.comb += [events[f"l1_stall_{name}"].eq(sum(bank.stalls[i] for bank in banks))
                     for i, name in enumerate(L1_STALLS)]
        number = counted(banks)
        m.d.comb += [
            events.coalescer_busy.eq(coalescer.serving), events.loads_under_way.eq(loads.level),
            events.l1_accesses.eq(sum(bank.load_access | bank.store_access | bank.atomic_access
                                      for bank in banks)),
            events.l1_loads.eq(number["load_access"]), events.l1_load_hits.eq(number["load_hit"]),
            events.load_words.eq(sum(coalescer.load_words)),
            events.l1_fetches.eq(sum(bank.fetches for bank in banks)),
            events.local_accesses.eq(number["local_access"]),
            events.local_conflicts.eq(coalescer.local_conflict),
            events.atomics.eq(number["atomic_access"]),
            events.atomic_lanes.eq(sum(Mux(bank.atomic_access, bank.atomic_lanes, 0)
                                       for bank in banks)),
        ]
        return m

    def _join(self, m, queue):
        """The instructions of the queue and the accesses of the unit, in one stream."""
        config, access = self._config, self.access.payload
        joined = stream.Signature(instruction_layout(config)).create(path=("joined",))
        ahead = Signal.like(queue.level)       # instructions that go before the access on offer
        waits = Signal()                       # the access was on offer in the cycle before
        turn = Signal()
        left = Signal.like(queue.level)
        of_unit = joined.payload
        m.d.comb += [
            left.eq(Mux(waits, ahead, queue.level)), turn.eq(self.access.valid & (left == 0)),
            joined.valid.eq(turn | queue.o.valid),
            queue.o.ready.eq(joined.ready & ~turn), self.access.ready.eq(joined.ready & turn),
        ]
        m.d.sync += [
            waits.eq(self.access.valid & ~self.access.ready),
            ahead.eq(left - (queue.o.valid & queue.o.ready)),
        ]
        with m.If(turn):
            m.d.comb += [
                of_unit.of_unit.eq(1), of_unit.op.eq(Mux(access.store, MemOp.STORE, MemOp.LOAD)),
                of_unit.size.eq(2), of_unit.writes.eq(~access.store), of_unit.warp.eq(access.warp),
                of_unit.rd.eq(access.tag), of_unit.pc.eq(self.access_pc),
                of_unit.mask.eq(access.mask), of_unit.address.eq(access.address),
                of_unit.data.eq(access.data),
            ]
        with m.Else():
            m.d.comb += of_unit.eq(queue.o.payload)
        return joined

    def _divide(self, m, loads):
        """Results of the load queue go to the registers or to the unit."""
        result, fetched = loads.writeback.payload, self.fetched.payload
        m.d.comb += [
            self.writeback.valid.eq(loads.writeback.valid & ~loads.of_unit),
            self.writeback.payload.eq(result),
            self.fetched.valid.eq(loads.writeback.valid & loads.of_unit),
            fetched.warp.eq(result.warp), fetched.tag.eq(result.rd), fetched.mask.eq(result.mask),
            fetched.data.eq(result.data),
            loads.writeback.ready.eq(Mux(loads.of_unit, self.fetched.ready,
                                         self.writeback.ready)),
        ]
