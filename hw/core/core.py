"""The SIMT core: the pipeline from fetch to write-back.

==========  =======================================================================================
stage       what happens
==========  =======================================================================================
F0, F1      a warp is picked and its instruction read (:mod:`hw.core.fetch`), decoded and buffered
I           a ready warp issues (:mod:`hw.core.scheduler`); its registers are read
X           ALU, branches, CSRs, thread masks and barriers; addresses and requests leave for the
            load/store unit and the Weaver; the multiplier and the divider take their operands
R           the result of X, or of the multiplier a cycle later, is written to the registers;
            when there is none, a load's, the divider's, or the Weaver's
==========  =======================================================================================

Nothing after issue ever stalls: the load/store unit and the Weaver have queues, and an instruction
issues only if there is room; a division issues only if the divider is idle.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, fifo, wiring
from amaranth.lib.wiring import Out, connect, flipped
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.core.access import operation_layout
from hw.core.alu import Alu
from hw.core.barrier import Barriers
from hw.core.coalescer import Coalescer
from hw.core.crosslane import CrossLane
from hw.core.csr import CsrFile
from hw.core.decode import Decoder, decoded_layout
from hw.core.divergence import Divergence
from hw.core.divider import Divider
from hw.core.fetch import Fetch
from hw.core.interface import core_signature
from hw.core.l1 import L1
from hw.core.loads import LoadQueue, writeback_layout
from hw.core.multiplier import Multiplier
from hw.core.phases import PhaseCounters
from hw.core.registers import RegisterFile
from hw.core.scheduler import WARP_STATES, Scheduler, issued_layout
from hw.core.trace import Trace, trace_layout
from hw.isa import Cause
from hw.operations import AluOp, BranchOp, Unit, WarpOp
from hw.util import and_or, lowest
from hw.weaver.interface import request_layout as weaver_request_layout
from hw.weaver.weaver import Weaver


__all__ = ["Core"]


#: Memory instructions and Weaver instructions that wait between execute and their units.
LSU_QUEUE = 4
WEAVER_QUEUE = 4


class Core(wiring.Component):
    """SIMT core.

    Latency, from issue to the earliest issue of a dependent instruction: 3 cycles for the ALU,
    votes and shuffles, 4 for multiplications, 35 for divisions, 9 for a load that hits in L1 or a
    load or atomic of local memory. From an instruction
    that may change the PC or the thread mask to the warp's next instruction: 4 cycles. Throughput:
    one warp instruction a cycle; of one warp, one in two cycles.

    Members
    -------
    number : In
        The core's number. Constant.
    launch : In(1)
        Start all warps at ``entry``. Only while not busy.
    entry : In
    argument : In(32)
        What MSCRATCH reads.
    write, write_address, write_data : In
        The host writes a word of instruction memory. Only while not busy.
    request : Out(stream(core_request_layout))
    response : In(stream(core_response_layout))
        To and from the shared level.
    running : In(1)
        A launch is under way: cycles are counted.
    halt : In(1)
        Another core has failed: all warps stop, what is under way ends.
    busy : Out(1)
        A warp is active, or memory accesses are under way.
    failed : Out(1)
        The core stopped with ``fault``, the first since the launch.
    fault : Out(fault_layout)
    events : Out(event_layout)
        For the performance counters.
    clear : In(1)
        Zero the counters of phases.
    read, index, value : In, In, Out
        Read them (:class:`hw.core.phases.PhaseCounters`).
    trace : Out(trace_layout)
        What the core did in the cycle before; only with ``config.trace``.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            **core_signature(config).members,
            **({"trace": Out(trace_layout(config))} if config.trace else {}),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        threads = config.threads
        lanes_shape = data.ArrayLayout(32, threads)

        m.submodules.fetch = fetch = Fetch(config)
        m.submodules.decoder = decoder = Decoder(config)
        m.submodules.scheduler = scheduler = Scheduler(config)
        m.submodules.registers = registers = RegisterFile(config)
        m.submodules.divergence = divergence = Divergence(config)
        m.submodules.barriers = barriers = Barriers(config)
        m.submodules.csrs = csrs = CsrFile(config)
        m.submodules.coalescer = coalescer = Coalescer(config)
        m.submodules.loads = loads = LoadQueue(config)
        m.submodules.l1 = l1 = L1(config)

        # Fetch and decode.
        decoded = Signal(decoded_layout())
        stopped = Signal()
        m.d.comb += [
            stopped.eq(self.failed | self.halt),
            fetch.launch.eq(self.launch), fetch.entry.eq(self.entry),
            fetch.write.eq(self.write), fetch.write_address.eq(self.write_address),
            fetch.write_data.eq(self.write_data),
            fetch.may_fetch.eq(scheduler.may_fetch),
            decoder.word.eq(fetch.fetched_word),
            decoded.eq(decoder.decoded),
            fetch.pc_of.eq(barriers.deadlock_warp),
            scheduler.launch.eq(self.launch),
            scheduler.halt.eq(stopped),
            scheduler.active.eq(divergence.active),
            scheduler.fetched.eq(fetch.fetched),
            scheduler.fetched_warp.eq(fetch.fetched_warp),
            scheduler.fetched_pc.eq(fetch.fetched_pc),
            scheduler.decoded.eq(decoded),
        ]
        with m.If(fetch.fetched_outside):
            m.d.comb += [
                decoded.unit.eq(Unit.WARP), decoded.op.eq(WarpOp.TRAP), decoded.writes.eq(0),
                decoded.needs.eq(0), decoded.changes.eq(1), decoded.csr.eq(Cause.FETCH_ACCESS),
                decoded.imm.eq(Cat(fetch.fetched_pc, fetch.fetched_outside)),
            ]

        # Issue: read registers and thread mask.
        issued = scheduler.issued
        x_valid = Signal()
        x = Signal(issued_layout(config), reset_less=True)
        x_mask = Signal(threads, reset_less=True)
        x_fault = Signal()
        m.d.comb += [
            registers.warp.eq(issued.warp),
            registers.rs1.eq(issued.decoded.rs1),
            registers.rs2.eq(issued.decoded.rs2),
            registers.rs3.eq(issued.decoded.rs3),
            divergence.select.eq(issued.warp),
            divergence.mask_of.eq(issued.warp),
        ]
        m.d.sync += [
            x_valid.eq(scheduler.issue & ~x_fault),
            x.eq(issued), x_mask.eq(divergence.mask),
        ]

        # Execute.
        op = x.decoded
        units = {unit: Signal(name=f"x_{unit.name.lower()}") for unit in Unit}
        for unit, active in units.items():
            m.d.comb += active.eq(x_valid & (op.unit == unit))
        leader = lowest(m, x_mask, name="leader")
        scalar_1, scalar_2, scalar = Signal(32), Signal(32), Signal(32)
        next_pc, target = Signal(32), Signal(32)
        results = Signal(lanes_shape)
        takens, nonzero = Signal(threads), Signal(threads)
        is_csr = Signal()
        m.d.comb += [
            scalar_1.eq(and_or(leader, [registers.a[i] for i in range(threads)])),
            scalar_2.eq(and_or(leader, [registers.b[i] for i in range(threads)])),
            next_pc.eq(x.pc + 4),
            target.eq(Mux(op.branch == BranchOp.JALR, (scalar_1 + op.imm) & 0xFFFF_FFFE,
                          x.pc + op.imm)),
            is_csr.eq(units[Unit.ALU] & (op.op >= AluOp.CSRRW)),
            csrs.launch.eq(self.launch),
            csrs.access.eq(is_csr), csrs.op.eq(op.op), csrs.number.eq(op.csr),
            csrs.warp.eq(x.warp),
            csrs.operand.eq(Mux(op.use_imm, op.rs1, scalar_1)),
            # An rs1 of x0, or an immediate of 0, stands at the same place.
            csrs.writes.eq((op.op == AluOp.CSRRW) | (op.rs1 != 0)),
            csrs.argument.eq(self.argument), csrs.core.eq(self.number),
            csrs.active.eq(divergence.active), csrs.mask.eq(x_mask),
        ]
        with m.Switch(op.op):
            with m.Case(AluOp.LUI):
                m.d.comb += scalar.eq(op.imm)
            with m.Case(AluOp.AUIPC):
                m.d.comb += scalar.eq(target)
            with m.Case(AluOp.LINK):
                m.d.comb += scalar.eq(next_pc)
            with m.Default():
                m.d.comb += scalar.eq(csrs.value)

        m.submodules.crosslane = crosslane = CrossLane(config)
        m.d.comb += [
            crosslane.enable.eq(units[Unit.CROSS]), crosslane.op.eq(op.op),
            crosslane.mask.eq(x_mask), crosslane.a.eq(registers.a), crosslane.b.eq(registers.b),
        ]
        products = []
        for i in range(threads):
            m.submodules[f"alu_{i}"] = alu = Alu()
            m.submodules[f"multiplier_{i}"] = multiplier = Multiplier()
            m.d.comb += [
                alu.op.eq(op.op), alu.branch.eq(op.branch),
                alu.a.eq(registers.a[i]), alu.b.eq(Mux(op.use_imm, op.imm, registers.b[i])),
                alu.scalar.eq(Mux(csrs.is_thread & (op.op >= AluOp.CSRRW), i, scalar)),
                results[i].eq(Mux(units[Unit.WARP], divergence.pointer,
                                  Mux(units[Unit.CROSS], crosslane.result[i], alu.result))),
                takens[i].eq(alu.taken),
                nonzero[i].eq(registers.a[i] != 0),
                multiplier.op.eq(op.op),
                multiplier.a.eq(registers.a[i]), multiplier.b.eq(registers.b[i]),
            ]
            products.append(multiplier.result)

        taken = Signal()
        jumps_outside = Signal()
        is_bar, is_trap, is_mask_op = Signal(), Signal(), Signal()
        m.d.comb += [
            taken.eq(units[Unit.ALU] & (takens & leader).any()),
            jumps_outside.eq(taken & (target[:2].any() | target[ceil_log2(config.imem_bytes):]
                                      .any())),
            is_bar.eq(units[Unit.WARP] & (op.op == WarpOp.BAR)),
            is_trap.eq(units[Unit.WARP] & (op.op == WarpOp.TRAP)),
            is_mask_op.eq(units[Unit.WARP] & ~is_bar & ~is_trap),
            divergence.launch.eq(self.launch),
            divergence.perform.eq(is_mask_op), divergence.op.eq(op.op),
            divergence.warp.eq(x.warp), divergence.lanes.eq(x_mask), divergence.pc.eq(x.pc),
            divergence.passing.eq(nonzero),
            divergence.scalar_1.eq(scalar_1), divergence.scalar_2.eq(scalar_2),
            barriers.launch.eq(self.launch),
            barriers.arrive.eq(is_bar), barriers.warp.eq(x.warp),
            barriers.number.eq(scalar_1), barriers.count.eq(scalar_2),
            barriers.active.eq(divergence.active),
            scheduler.at_barrier.eq(barriers.waiting),
            fetch.redirect.eq(taken | (is_mask_op & divergence.jump)),
            fetch.redirect_warp.eq(x.warp),
            fetch.redirect_pc.eq(Mux(taken, target, divergence.jump_pc)),
        ]

        # Results: of X, or of the multiplication that was in X a cycle ago.
        multiplying = Signal()
        multiplied = Signal(issued_layout(config), reset_less=True)
        multiplied_mask = Signal(threads, reset_less=True)
        r_valid = Signal()
        r = Signal(writeback_layout(config), reset_less=True)
        m.d.sync += [
            multiplying.eq(units[Unit.MUL]), multiplied.eq(x), multiplied_mask.eq(x_mask),
            r_valid.eq((multiplying & multiplied.decoded.writes)
                       | ((units[Unit.ALU] | units[Unit.WARP] | units[Unit.CROSS])
                          & op.writes & ~x_fault)),
            r.warp.eq(Mux(multiplying, multiplied.warp, x.warp)),
            r.rd.eq(Mux(multiplying, multiplied.decoded.rd, op.rd)),
            r.mask.eq(Mux(multiplying, multiplied_mask, x_mask)),
            r.data.eq(Mux(multiplying, Cat(*products), results.as_value())),
        ]

        # Load/store unit.
        operation = Signal(operation_layout(config))
        m.submodules.lsu_queue = lsu_queue = fifo.SyncFIFO(width=operation.shape().size,
                                                           depth=LSU_QUEUE)
        m.d.comb += [
            operation.op.eq(op.op), operation.amo.eq(op.amo), operation.size.eq(op.size),
            operation.signed.eq(op.signed), operation.writes.eq(op.writes),
            operation.warp.eq(x.warp), operation.rd.eq(Mux(op.writes, op.rd, 0)),
            operation.pc.eq(x.pc), operation.mask.eq(x_mask), operation.data.eq(registers.b),
            operation.compare.eq(registers.c),
        ]
        for i in range(threads):
            m.d.comb += operation.address[i].eq(registers.a[i] + op.imm)
        m.d.comb += [
            lsu_queue.w_data.eq(operation), lsu_queue.w_en.eq(units[Unit.LSU]),
            coalescer.operation.valid.eq(lsu_queue.r_rdy),
            coalescer.operation.payload.eq(data.View(operation_layout(config),
                                                     lsu_queue.r_data)),
            lsu_queue.r_en.eq(coalescer.operation.ready),
            loads.allot.eq(coalescer.allot), loads.entry.eq(coalescer.entry),
            coalescer.slot.eq(loads.slot), coalescer.slot_free.eq(loads.free),
            loads.loaded.eq(l1.loaded), loads.loaded_valid.eq(l1.loaded_valid),
            l1.flush.eq(self.launch),
            scheduler.local_wait.eq(coalescer.started_local),
            scheduler.local_warp.eq(coalescer.started_warp),
            scheduler.local_rd.eq(coalescer.started_rd),
        ]
        connect(m, coalescer.access, l1.access)
        connect(m, l1.request, flipped(self.request))
        connect(m, flipped(self.response), l1.response)

        # Divider.
        divider_busy = Signal()
        divided_valid, divided_taken = Signal(), Signal()
        divided = Signal(writeback_layout(config))
        if config.divider != "none":
            m.submodules.divider = divider = Divider(config)
            m.d.comb += [
                # A quotient for x0 is nobody's.
                divider.start.eq(units[Unit.DIV] & op.writes), divider.op.eq(op.op),
                divider.warp.eq(x.warp), divider.rd.eq(op.rd), divider.mask.eq(x_mask),
                divider.a.eq(registers.a), divider.b.eq(registers.b),
                divider.result.ready.eq(divided_taken),
                divider_busy.eq(divider.busy),
                divided_valid.eq(divider.result.valid), divided.eq(divider.result.payload),
            ]

        # Weaver.
        weaver_ready, weaver_busy = Signal(), Signal()
        weaver_valid, weaver_sets_mask, weaver_taken = Signal(), Signal(), Signal()
        weaver_result = Signal(writeback_layout(config))
        weaver_lanes = Signal(threads)
        weaver_resume = Signal(config.warps)
        if config.weaver != "none":
            m.submodules.weaver = weaver = Weaver(config)
            request = Signal(weaver_request_layout(config))
            m.submodules.weaver_queue = queue = fifo.SyncFIFO(width=request.shape().size,
                                                              depth=WEAVER_QUEUE)
            answer = weaver.response.payload
            m.d.comb += [
                request.op.eq(op.op), request.warp.eq(x.warp),
                request.rd.eq(Mux(op.writes, op.rd, 0)), request.mask.eq(x_mask),
                request.vid.eq(registers.a), request.loc.eq(registers.b),
                request.degree.eq(registers.c),
                queue.w_data.eq(request), queue.w_en.eq(units[Unit.WEAVER]),
                weaver.request.valid.eq(queue.r_rdy),
                weaver.request.payload.eq(data.View(weaver_request_layout(config),
                                                    queue.r_data)),
                queue.r_en.eq(weaver.request.ready),
                weaver.reset_table.eq(self.launch),
                weaver.response.ready.eq(weaver_taken),
                weaver_ready.eq(queue.level + units[Unit.WEAVER] < WEAVER_QUEUE),
                weaver_busy.eq(queue.r_rdy),
                weaver_valid.eq(weaver.response.valid),
                weaver_sets_mask.eq(answer.set_mask),
                weaver_lanes.eq(answer.mask),
                weaver_result.warp.eq(answer.warp), weaver_result.rd.eq(answer.rd),
                # DEC_ID writes all lanes, also those that it then deactivates.
                weaver_result.mask.eq(answer.mask | answer.set_mask.replicate(threads)),
                weaver_result.data.eq(answer.data),
                divergence.set_mask.eq(weaver_taken & weaver_valid & weaver_sets_mask),
                divergence.set_warp.eq(answer.warp), divergence.set_lanes.eq(answer.mask),
                weaver_resume.eq(Mux(divergence.set_mask, 1 << answer.warp, 0)),
                self.events.weaver_decodes.eq(weaver.decoded),
                self.events.weaver_waits.eq(weaver.waiting & self.running),
            ]
        m.d.comb += scheduler.unit_ready.eq(Cat(
            ~units[Unit.MUL], 1, lsu_queue.level + units[Unit.LSU] < LSU_QUEUE,
            ~units[Unit.MUL], weaver_ready, ~divider_busy & ~units[Unit.DIV],
            ~units[Unit.MUL]))

        # Write-back: the pipeline's own result cannot wait, the others can.
        written = Signal(writeback_layout(config))
        writing = Signal()
        m.d.comb += [
            loads.writeback.ready.eq(~r_valid),
            divided_taken.eq(~r_valid & ~loads.writeback.valid),
            weaver_taken.eq(~r_valid & ~loads.writeback.valid & ~divided_valid),
            writing.eq(r_valid | loads.writeback.valid | divided_valid | weaver_valid),
            written.eq(Mux(r_valid, r, Mux(loads.writeback.valid, loads.writeback.payload,
                                           Mux(divided_valid, divided, weaver_result)))),
            registers.write.eq(writing & (written.rd != 0)), registers.result.eq(written),
            scheduler.written.eq(registers.write), scheduler.written_warp.eq(written.warp),
            scheduler.written_rd.eq(written.rd),
        ]

        # What may resume: all that X resolved, what a barrier frees, what the Weaver answered.
        resolved = Signal()
        m.d.comb += [
            resolved.eq(x_valid & op.changes & ~is_bar & ~is_trap & (op.unit != Unit.WEAVER)
                        & ~x_fault),
            scheduler.resume.eq(Mux(resolved, 1 << x.warp, 0) | barriers.released | weaver_resume),
        ]

        # Errors: the first is kept, and stops all warps.
        x_cause, x_address, x_pc = Signal(Cause), Signal(32), Signal(32)
        m.d.comb += [
            x_fault.eq(is_trap | jumps_outside | csrs.illegal | divergence.overflow
                       | divergence.underflow | barriers.invalid),
            x_cause.eq(Mux(is_trap, op.csr[:len(x_cause)],
                           Mux(jumps_outside, Cause.FETCH_ACCESS,
                               Mux(csrs.illegal, Cause.ILLEGAL,
                                   Mux(divergence.overflow, Cause.STACK_OVERFLOW,
                                       Mux(divergence.underflow, Cause.STACK_UNDERFLOW,
                                           Cause.BARRIER_ID)))))),
            x_address.eq(Mux(jumps_outside, target, Mux(barriers.invalid, scalar_1, op.imm))),
            # What failed to be fetched is what failed, not the jump to it.
            x_pc.eq(Mux(x_cause == Cause.FETCH_ACCESS, x_address, x.pc)),
        ]
        with m.If(self.launch):
            m.d.sync += self.failed.eq(0)
        with m.Elif(~self.failed):
            with m.If(x_fault):
                m.d.sync += [
                    self.failed.eq(1), self.fault.cause.eq(x_cause), self.fault.warp.eq(x.warp),
                    self.fault.pc.eq(x_pc), self.fault.address.eq(x_address),
                ]
            with m.Elif(coalescer.fault):
                m.d.sync += [
                    self.failed.eq(1), self.fault.cause.eq(coalescer.fault_cause),
                    self.fault.warp.eq(coalescer.fault_warp),
                    self.fault.pc.eq(coalescer.fault_pc),
                    self.fault.address.eq(coalescer.fault_address),
                ]
            with m.Elif(barriers.deadlock):
                m.d.sync += [
                    self.failed.eq(1), self.fault.cause.eq(Cause.BARRIER_DEADLOCK),
                    self.fault.warp.eq(barriers.deadlock_warp),
                    # Behind its BAR, a warp fetches nothing.
                    self.fault.pc.eq((fetch.pc - 4)[:len(fetch.pc)]),
                    self.fault.address.eq(barriers.deadlock_number),
                ]
        m.d.comb += self.busy.eq((divergence.active.any() & ~stopped) | x_valid | r_valid
                                 | multiplying | coalescer.busy | loads.busy | l1.busy
                                 | divider_busy | weaver_busy)

        # Counters.
        cycle, instret = Signal(64), Signal(64)
        m.d.comb += [csrs.cycle.eq(cycle), csrs.instret.eq(instret)]
        with m.If(self.launch):
            m.d.sync += [cycle.eq(0), instret.eq(0)]
        with m.Else():
            m.d.sync += [cycle.eq(cycle + self.running), instret.eq(instret + scheduler.issue)]
        events = self.events
        if config.counters:
            m.submodules.phases = phases = PhaseCounters(config)
            ends = Signal()
            m.d.comb += [
                ends.eq(is_mask_op & divergence.ends & ~x_fault),
                phases.launch.eq(self.launch), phases.clear.eq(self.clear), phases.now.eq(cycle),
                phases.leaves.eq(csrs.sets_phase | ends), phases.ends.eq(ends),
                phases.warp.eq(x.warp), phases.phase.eq(csrs.phase),
                phases.read.eq(self.read), phases.index.eq(self.index),
                self.value.eq(phases.value),
            ]
            first_cause = lowest(m, scheduler.blocked, name="first_cause")
            idle = Signal()
            m.d.comb += [
                events.cycles.eq(self.running),
                events.instructions.eq(scheduler.issue),
                events.lanes.eq(Mux(scheduler.issue,
                                    sum(divergence.mask[i] for i in range(threads)), 0)),
                idle.eq(self.running & ~scheduler.issue & ~scheduler.blocked.any()),
                events.stall_idle.eq(idle),
                events.memory_instructions.eq(coalescer.started_global),
                events.l1_accesses.eq(l1.load_access | l1.store_access | l1.atomic_access),
                events.l1_loads.eq(l1.load_access), events.l1_load_hits.eq(l1.load_hit),
                events.local_accesses.eq(l1.local_access),
                events.local_conflicts.eq(coalescer.local_conflict),
                events.atomics.eq(l1.atomic_access),
                events.atomic_lanes.eq(Mux(l1.atomic_access, l1.atomic_lanes, 0)),
            ]
            for i, cause in enumerate(WARP_STATES):
                m.d.comb += events[f"stall_{cause}"].eq(first_cause[i] & self.running)
        if config.trace:
            m.submodules.trace = trace = Trace(config, len(WARP_STATES))
            m.d.comb += [
                trace.running.eq(self.running), trace.issue.eq(scheduler.issue),
                trace.active.eq(divergence.active), trace.ready.eq(scheduler.ready),
                trace.waits.eq(scheduler.waits), trace.blocked.eq(scheduler.blocked),
                trace.write.eq(registers.write), trace.written.eq(written),
                trace.executing.eq(x_valid), trace.warp.eq(x.warp), trace.pc.eq(x.pc),
                trace.rd.eq(Mux(op.writes, op.rd, 0)), trace.mask.eq(x_mask),
                trace.phase.eq(csrs.phase), trace.accessing.eq(units[Unit.LSU]),
                trace.address.eq(operation.address), trace.data.eq(operation.data),
                self.trace.eq(trace.record),
            ]
        return m
