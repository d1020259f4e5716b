"""The SIMT core: the pipeline from fetch to write-back.

======  ===========================================================================================
stage   action
======  ===========================================================================================
F0, F1  a warp is picked and its instruction read (:mod:`hw.core.fetch`)
F2      the instruction is decoded and buffered
P       a ready warp is picked (:mod:`hw.core.scheduler`)
I       the warp's instruction issues: its registers are read
O       the operands are there; CSRs are read
X       ALU; addresses and requests leave for the load/store unit and the Weaver; the multiplier and
        the divider take their operands
C       decisions for the whole warp are made: branches, thread masks, barriers, errors
R       a result is written to the registers: from X, from C, or from the multiplier; in a cycle
        without such a result, that of a load, the divider, or the Weaver
======  ===========================================================================================

In the long pipeline each stage takes a cycle. In the short pipeline F1 and F2 share a cycle, P and
I share one, and O, X and C share one.

Nothing after P ever stalls, since an instruction is picked only under these conditions:

- The queue in front of the load/store unit or the Weaver has room. In the long pipeline the
  Weaver's queue has one place.
- For a division, the divider is idle.
- The result need not be written in the same cycle as another result (:func:`late`).
"""

from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import Out, connect, flipped
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.core.alu import Alu, AluControls, controls
from hw.core.barrier import Barriers
from hw.core.crosslane import CrossLane
from hw.core.csr import CsrFile
from hw.core.decode import Decoder, decoded_layout
from hw.core.divergence import Divergence, stack_depth
from hw.core.divider import Divider
from hw.core.errors import FirstError
from hw.core.fetch import Fetch
from hw.core.interface import core_signature, fault_layout
from hw.core.issue_queue import IssueQueue
from hw.core.loads import writeback_layout
from hw.core.lsu import LoadStoreUnit, memory_event_layout
from hw.core.multiplier import Multiplier
from hw.core.phases import PhaseCounters
from hw.core.registers import RegisterFile
from hw.core.scheduler import WARP_STATES, Scheduler, issued_layout
from hw.core.trace import Trace, trace_layout
from hw.core.writeback import WriteBack
from hw.isa import Cause
from hw.operations import AluOp, BranchOp, Unit, WarpOp
from hw.util import StreamRegister, and_or, at_most, cut, extra_stage, lowest
from hw.weaver.interface import request_layout as weaver_request_layout
from hw.weaver.weaver import Weaver


__all__ = ["Core", "late"]


def late(config: HardwareConfig) -> dict:
    """Delay of each unit's results against the ALU's, in cycles, for units whose results cannot
    wait."""
    control = int(config.long)
    return {Unit.ALU: 0, Unit.BRANCH: control, Unit.WARP: control, Unit.CROSS: control,
            Unit.MUL: 1 + control}


class Core(wiring.Component):
    """SIMT core.

    Latency in cycles, from the pick of an instruction to the earliest pick of a dependent
    instruction:

    ==================================================  =====  ====
    pipeline                                            short  long
    ==================================================  =====  ====
    ALU                                                     3     5
    votes, shuffles                                         3     6
    multiplication                                          4     7
    division                                               35    39
    load that hits in L1                                    9    15
    load or atomic of local memory                          9    15
    the warp's next, if the PC or the mask may change       4     9
    the same after a BAR that releases                      4    11
    ==================================================  =====  ====

    Throughput: one warp instruction a cycle. A single warp issues one in two cycles, in the long
    pipeline one in three.

    Members
    -------
    number : In
        The core's number. Constant.
    launch : In(1)
        Start all warps at ``entry``. Only while not busy.
    entry : In
    argument : In(32)
        Value of the CSR MSCRATCH.
    write, write_address, write_data : In(1), In, In(32)
        The host writes a word of instruction memory. Only while not busy.
    request : Out(stream(core_request_layout))
        Requests to the L2.
    response : In(stream(core_response_layout))
        Answers of the L2, in any order. Never waits for ``request``.
    running : In(1)
        A launch is under way: cycles are counted.
    halt : In(1)
        Another core has failed. All warps stop, and instructions under way end.
    busy : Out(1)
        A warp is active, or memory accesses are under way.
    failed : Out(1)
        The core stopped with ``fault``, the first error since the launch.
    fault : Out(fault_layout)
    events : Out(event_layout)
        Increments of the performance counters.
    clear : In(1)
        Zero the counters of phases.
    read, index, value : In(1), In, Out(32)
        Read the counters of phases (:class:`hw.core.phases.PhaseCounters`).
    trace : Out(trace_layout)
        Record of the cycle before, in the long pipeline of three cycles before; only with
        ``config.trace``.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            **core_signature(config).members,
            **({"trace": Out(trace_layout(config))} if config.trace else {}),
        })

    def _collides(self, unit, under_way):
        """Whether the result of an instruction picked now for ``unit`` would come in the same
        cycle as the result of an instruction picked before."""
        delays = late(self._config)
        return Cat(stage[other] for distance, stage in enumerate(under_way, 1)
                   for other, delay in delays.items() if delay == delays[unit] + distance).any()

    def elaborate(self, platform):
        m = Module()
        config = self._config
        threads = config.threads
        lanes_shape = data.ArrayLayout(32, threads)

        m.submodules.fetch = fetch = Fetch(config)
        m.submodules.decoder = decoder = Decoder()
        m.submodules.scheduler = scheduler = Scheduler(config)
        m.submodules.registers = registers = RegisterFile(config)
        m.submodules.divergence = divergence = Divergence(config)
        m.submodules.barriers = barriers = Barriers(config)
        m.submodules.csrs = csrs = CsrFile(config)
        m.submodules.lsu = lsu = LoadStoreUnit(config)
        m.submodules.writeback = writeback = WriteBack(config)

        # Fetch and decode.
        decoded = Signal(decoded_layout())
        stopped = Signal()
        m.d.comb += [
            stopped.eq(self.failed | self.halt),
            fetch.launch.eq(self.launch), fetch.entry.eq(self.entry),
            fetch.write.eq(self.write), fetch.write_address.eq(self.write_address),
            fetch.write_data.eq(self.write_data),
            fetch.may_fetch.eq(scheduler.may_fetch),
            decoder.predecoded.eq(fetch.fetched_word),
            decoded.eq(decoder.decoded),
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

        # I: read registers and thread mask.
        extra = extra_stage(config)
        issued = scheduler.issued
        raises = Signal()                   # an error in C, other than a barrier's
        o_valid = Signal()
        o = Signal(issued_layout(config), reset_less=True)
        o_mask = Signal(threads, reset_less=True)
        m.d.comb += [
            registers.warp.eq(issued.warp),
            registers.rs1.eq(issued.decoded.rs1),
            registers.rs2.eq(issued.decoded.rs2),
            registers.rs3.eq(issued.decoded.rs3),
            divergence.mask_of.eq(issued.warp),
        ]
        # After a fault in C, the short pipeline drops the instruction in I. The long one need not:
        # all instructions under way belong to other warps.
        drops = Signal()
        if not config.long:
            m.d.comb += drops.eq(raises | barriers.invalid)
        m.d.sync += [
            o_valid.eq(scheduler.issue & ~drops), o.eq(issued), o_mask.eq(divergence.mask),
        ]

        # O: the operands. ``second`` is the ALU's second operand.
        x_valid = Signal()
        x = Signal(issued_layout(config), reset_less=True)
        x_mask = Signal(threads, reset_less=True)
        leader = Signal(threads, reset_less=True)
        a, b, c, second = (Signal(lanes_shape, name=name, reset_less=True)
                           for name in ("a", "b", "c", "second"))
        control = Signal(AluControls, reset_less=True)
        subtract = Signal(reset_less=True)
        # A result that is the same in all lanes. Only THREAD_ID differs from lane to lane.
        scalar = Signal(32, reset_less=True)
        is_thread = Signal(reset_less=True)
        m.d[extra] += [
            x_valid.eq(o_valid), x.eq(o), x_mask.eq(o_mask),
            leader.eq(lowest(m, o_mask, name="lowest_lane")),
            a.eq(registers.a), b.eq(registers.b), c.eq(registers.c),
            control.eq(controls(AluOp(o.decoded.op))),
            subtract.eq((o.decoded.unit != Unit.LSU) & (o.decoded.op != AluOp.ADD)),
            scalar.eq(Mux(o.decoded.op == AluOp.LUI, o.decoded.imm,
                          Mux(o.decoded.op == AluOp.AUIPC, o.pc + o.decoded.imm, csrs.value))),
            is_thread.eq(csrs.is_thread & (o.decoded.op >= AluOp.CSRRW)),
        ]
        for i in range(threads):
            m.d[extra] += second[i].eq(Mux(o.decoded.use_imm, o.decoded.imm, registers.b[i]))

        # X: results of the lanes, and operands of the lowest active lane.
        op = x.decoded
        i_units, o_units, units = ({unit: Signal(name=f"{name}_{unit.name.lower()}")
                                    for unit in Unit} for name in "iox")
        for unit in Unit:
            m.d.comb += i_units[unit].eq(scheduler.issued_units.bit_select(unit.value, 1))
            m.d.sync += o_units[unit].eq(i_units[unit] & ~drops)
            m.d[extra] += units[unit].eq(o_units[unit])
        leading_1, leading_2 = (Signal(32, name=name) for name in ("leading_1", "leading_2"))
        results = Signal(lanes_shape)
        passing, nonzero = Signal(threads, name="passing"), Signal(threads, name="nonzero")
        m.d.comb += [
            leading_1.eq(and_or(leader, [a[i] for i in range(threads)])),
            leading_2.eq(and_or(leader, [b[i] for i in range(threads)])),
            csrs.launch.eq(self.launch),
            csrs.access.eq(units[Unit.ALU] & (op.op >= AluOp.CSRRW)),
            csrs.op.eq(op.op), csrs.number.eq(op.csr), csrs.warp.eq(x.warp),
            csrs.reads_number.eq(issued.decoded.csr), csrs.reads_warp.eq(o.warp),
            # The immediate has the bits of rs1, so this also notices an immediate of 0.
            csrs.writes.eq((op.op == AluOp.CSRRW) | (op.rs1 != 0)),
            csrs.argument.eq(self.argument), csrs.core.eq(self.number),
            csrs.active.eq(divergence.active), csrs.mask.eq(o_mask),
        ]
        m.submodules.crosslane = crosslane = CrossLane(config)
        m.d.comb += [
            crosslane.enable.eq(units[Unit.CROSS]), crosslane.op.eq(op.op),
            crosslane.mask.eq(x_mask), crosslane.a.eq(a), crosslane.b.eq(b),
        ]
        products, addresses = [], []
        for i in range(threads):
            m.submodules[f"alu_{i}"] = alu = Alu()
            m.submodules[f"multiplier_{i}"] = multiplier = Multiplier(config)
            m.d.comb += [
                alu.control.eq(control), alu.subtract.eq(subtract), alu.branch.eq(op.branch),
                alu.a.eq(a[i]), alu.b.eq(second[i]),
                alu.scalar.eq(Mux(is_thread, i, scalar)),
                results[i].eq(alu.result),
                passing[i].eq(alu.taken), nonzero[i].eq(a[i] != 0),
                multiplier.op.eq(op.op), multiplier.a.eq(a[i]), multiplier.b.eq(b[i]),
            ]
            products.append(multiplier.result)
            addresses.append(alu.total)

        # C: decisions for the whole warp.
        deciding = Signal(issued_layout(config), reset_less=True)
        decided = deciding.decoded
        c_mask, c_leader, c_passing, c_nonzero = (
            Signal(threads, name=f"c_{name}", reset_less=True)
            for name in ("mask", "leader", "passing", "nonzero"))
        branches, masks = (Signal(name=f"c_{name}") for name in ("branch", "warp"))
        scalar_1, scalar_2, base = (Signal(32, name=name, reset_less=True)
                                    for name in ("scalar_1", "scalar_2", "base"))
        m.d[extra] += [
            branches.eq(units[Unit.BRANCH]), masks.eq(units[Unit.WARP]),
            deciding.eq(x), c_mask.eq(x_mask), c_leader.eq(leader),
            c_passing.eq(passing), c_nonzero.eq(nonzero),
            scalar_1.eq(leading_1), scalar_2.eq(leading_2),
            base.eq(Mux(op.branch == BranchOp.JALR, leading_1, x.pc)),
        ]
        most = stack_depth(config) + 1
        returned = Signal(range(most + 1), reset_less=True)
        m.d[extra] += returned.eq(at_most(leading_1, most))
        target = Signal(32)
        taken = Signal()
        jumps_outside = Signal()
        is_bar, is_trap, is_mask_op = (Signal(name=name)
                                       for name in ("is_bar", "is_trap", "is_mask_op"))
        m.d.comb += [
            # Only the sum of a JALR can be odd.
            target.eq((base + decided.imm) & 0xFFFF_FFFE),
            taken.eq(branches & (c_passing & c_leader).any()),
            jumps_outside.eq(taken & (target[1] | target[ceil_log2(config.imem_bytes):].any())),
            csrs.operand.eq(Mux(decided.use_imm, decided.rs1, scalar_1)),
            csrs.leaves_warp.eq(deciding.warp),
            is_bar.eq(masks & (decided.op == WarpOp.BAR)),
            is_trap.eq(masks & (decided.op == WarpOp.TRAP)),
            is_mask_op.eq(masks & ~is_bar & ~is_trap),
            divergence.launch.eq(self.launch),
            divergence.select.eq(x.warp if config.long else issued.warp),
            divergence.perform.eq(is_mask_op), divergence.op.eq(decided.op),
            divergence.warp.eq(deciding.warp), divergence.lanes.eq(c_mask),
            divergence.pc.eq(deciding.pc), divergence.passing.eq(c_nonzero),
            divergence.scalar_1.eq(scalar_1), divergence.scalar_2.eq(scalar_2),
            divergence.returned.eq(returned),
            barriers.launch.eq(self.launch), barriers.active.eq(divergence.active),
            scheduler.at_barrier.eq(barriers.waiting),
            fetch.redirect.eq(taken | (is_mask_op & divergence.jump)),
            fetch.redirect_warp.eq(deciding.warp),
            fetch.redirect_pc.eq(Mux(taken, target, divergence.jump_pc)),
        ]

        m.d[extra] += [
            barriers.arrive.eq(is_bar), barriers.warp.eq(deciding.warp),
            barriers.number.eq(at_most(scalar_1, config.barriers)),
            barriers.count.eq(at_most(scalar_2, config.warps + 1)),
        ]

        # Results: from X, from C, or of a multiplication that has left X.
        multiplying, multiplied, multiplied_mask = units[Unit.MUL], x, x_mask
        of_c = Signal()
        moving = [scheduler.issue, o_valid, x_valid, of_c] if config.long else [x_valid]
        for stage in range(late(config)[Unit.MUL]):
            before = (multiplying, multiplied, multiplied_mask)
            multiplying = Signal(name=f"multiplying_{stage}")
            multiplied = Signal(issued_layout(config), name=f"multiplied_{stage}",
                                reset_less=True)
            multiplied_mask = Signal(threads, name=f"multiplied_mask_{stage}", reset_less=True)
            m.d.sync += [multiplying.eq(before[0]), multiplied.eq(before[1]),
                         multiplied_mask.eq(before[2])]
            moving.append(multiplying)
        r_valid = Signal()
        r = Signal(writeback_layout(config), reset_less=True)
        c_results = Signal(lanes_shape)
        m.d[extra] += of_c.eq(units[Unit.BRANCH] | units[Unit.WARP] | units[Unit.CROSS])
        # Without a vote or shuffle, the result of ``crosslane`` is 0.
        of_warp = Signal(32)
        m.d.comb += of_warp.eq(Mux(branches, deciding.pc + 4, Mux(masks, divergence.pointer, 0)))
        for i in range(threads):
            m.d.comb += c_results[i].eq(crosslane.result[i] | of_warp)

        def result(multiplication, of_warp, of_lanes):
            return Mux(multiplying, multiplication, Mux(of_c, of_warp, of_lanes))
        m.d.sync += [
            r_valid.eq((multiplying & multiplied.decoded.writes)
                       | (of_c & decided.writes & ~raises) | (units[Unit.ALU] & op.writes)),
            r.warp.eq(result(multiplied.warp, deciding.warp, x.warp)),
            r.rd.eq(result(multiplied.decoded.rd, decided.rd, op.rd)),
            r.mask.eq(result(multiplied_mask, c_mask, x_mask)),
            r.data.eq(result(Cat(*products), c_results.as_value(), results.as_value())),
        ]

        # Units of the instructions picked in the cycles before, latest first.
        under_way = [i_units, o_units, units] if config.long else [units]

        # Load/store unit.
        memory = lsu.instruction
        m.d.comb += [
            lsu.launch.eq(self.launch),
            lsu.picked.eq(under_way[0][Unit.LSU]), lsu.enter.eq(units[Unit.LSU]),
            memory.op.eq(op.op), memory.amo.eq(op.amo), memory.size.eq(op.size),
            memory.signed.eq(op.signed), memory.writes.eq(op.writes),
            memory.warp.eq(x.warp), memory.rd.eq(Mux(op.writes, op.rd, 0)),
            memory.pc.eq(x.pc), memory.mask.eq(x_mask), memory.data.eq(b),
            memory.compare.eq(c), memory.address.eq(Cat(addresses)),
        ]
        m.d[extra] += [
            scheduler.local_wait.eq(lsu.started_local),
            scheduler.local_warp.eq(lsu.started_warp),
            scheduler.local_rd.eq(lsu.started_rd),
        ]
        connect(m, lsu.request, flipped(self.request))
        connect(m, flipped(self.response), lsu.response)

        # Divider.
        divider_busy = Signal()
        divided_valid = Signal()
        divided_taken = Signal()
        divided = Signal(writeback_layout(config))
        if config.divider != "none":
            m.submodules.divider = divider = Divider(config)
            m.d.comb += [
                # A division whose destination is x0 is dropped.
                divider.start.eq(units[Unit.DIV] & op.writes), divider.op.eq(op.op),
                divider.warp.eq(x.warp), divider.rd.eq(op.rd), divider.mask.eq(x_mask),
                divider.a.eq(a), divider.b.eq(b),
                divider.result.ready.eq(divided_taken),
                divider_busy.eq(divider.busy),
                divided_valid.eq(divider.result.valid), divided.eq(divider.result.payload),
            ]

        # Weaver.
        weaver_ready = Signal()
        weaver_busy = Signal()
        weaver_valid = Signal()
        weaver_taken = Signal()
        weaver_result = Signal(writeback_layout(config))
        weaver_resume = Signal(config.warps)
        if config.weaver != "none":
            m.submodules.weaver = weaver = Weaver(config)
            request = Signal(weaver_request_layout(config))
            response = weaver.response
            if config.long:
                # One request at a time: a place is as wide as all registers that are read.
                m.submodules.weaver_queue = queue = StreamRegister(request.shape())
                connect(m, queue.o, weaver.request)
                m.d.comb += [
                    queue.i.valid.eq(units[Unit.WEAVER]), queue.i.payload.eq(request),
                    weaver_ready.eq(~(weaver.request.valid | Cat(
                        stage[Unit.WEAVER] for stage in under_way).any())),
                ]
                m.d.sync += Assert(~queue.i.valid | queue.i.ready,
                                   "the Weaver's register overflows")
            else:
                m.submodules.weaver_queue = queue = IssueQueue(config, request.shape())
                connect(m, queue.o, weaver.request)
                m.d.comb += [
                    queue.picked.eq(under_way[0][Unit.WEAVER]),
                    queue.enter.eq(units[Unit.WEAVER]), queue.instruction.eq(request),
                    weaver_ready.eq(queue.room),
                ]
            answer = response.payload
            m.d.comb += [
                request.op.eq(op.op), request.warp.eq(x.warp),
                request.rd.eq(Mux(op.writes, op.rd, 0)), request.mask.eq(x_mask),
                request.vid.eq(a), request.loc.eq(b), request.degree.eq(c),
                weaver.reset_table.eq(self.launch),
                response.ready.eq(weaver_taken),
                weaver_busy.eq(weaver.request.valid),
                weaver_valid.eq(response.valid),
                weaver_result.warp.eq(answer.warp), weaver_result.rd.eq(answer.rd),
                # DEC_ID writes all lanes, even lanes that it then deactivates.
                weaver_result.mask.eq(answer.mask | answer.set_mask.replicate(threads)),
                weaver_result.data.eq(answer.data),
                divergence.set_mask.eq(weaver_taken & weaver_valid & answer.set_mask),
                divergence.set_warp.eq(answer.warp), divergence.set_lanes.eq(answer.mask),
                weaver_resume.eq(Mux(divergence.set_mask, 1 << answer.warp, 0)),
                self.events.weaver_decodes.eq(weaver.decoded),
                self.events.weaver_waits.eq(weaver.waiting & self.running),
            ]
        dividing = Cat(stage[Unit.DIV] for stage in under_way).any()
        ready = {Unit.LSU: lsu.room, Unit.WEAVER: weaver_ready,
                 Unit.DIV: ~(divider_busy | dividing)}
        barred = {unit: self._collides(unit, under_way) for unit in late(config)}
        if config.long:
            # The Weaver and the divider take one instruction at a time. ``ready`` does not yet
            # count the instruction that was picked in the cycle before.
            barred |= {unit: under_way[0][unit] for unit in (Unit.WEAVER, Unit.DIV)}
        m.d.comb += [
            scheduler.unit_ready.eq(Cat(ready.get(unit, Const(1)) for unit in Unit)),
            scheduler.barred.eq(Cat(barred.get(unit, Const(0)) for unit in Unit)),
        ]

        # Write-back.
        rare = stream.Signature(writeback_layout(config)).create()
        m.d.comb += [
            rare.valid.eq(divided_valid | weaver_valid),
            rare.payload.eq(Mux(divided_valid, divided, weaver_result)),
            divided_taken.eq(rare.ready), weaver_taken.eq(rare.ready & ~divided_valid),
            # The pipeline has no result for x0.
            writeback.own.eq(r_valid), writeback.result.eq(r),
            registers.write.eq(writeback.write), registers.result.eq(writeback.written),
            scheduler.written.eq(writeback.tells),
            scheduler.written_warp.eq(writeback.told_warp),
            scheduler.written_rd.eq(writeback.told_rd),
        ]
        connect(m, lsu.writeback, writeback.loaded)
        connect(m, cut(m, config, rare, name="rare_result"), writeback.rare)

        # Warps that resume: resolved in C, released by a barrier, or answered by the Weaver.
        resolved = Signal()
        released = Signal(config.warps)
        m.d[extra] += released.eq(barriers.released)
        m.d.comb += [
            # A warp that failed may resume, too: all warps stop before it can be picked.
            resolved.eq(branches | is_mask_op),
            scheduler.resume.eq(Mux(resolved, 1 << deciding.warp, 0) | released | weaver_resume),
        ]

        # Errors: the first stops all warps. A deadlock lasts until it is reported.
        m.submodules.errors = errors = FirstError(config)
        deadlocked = errors.deadlocked
        raised = Signal()
        decided_fault = Signal(fault_layout(config))
        m.d.comb += [
            errors.launch.eq(self.launch), self.failed.eq(errors.failed),
            self.fault.eq(errors.fault), fetch.pc_of.eq(deadlocked.warp),
            raises.eq(is_trap | jumps_outside | divergence.overflow | divergence.underflow),
            errors.decides.eq(raised | barriers.invalid),
            deadlocked.cause.eq(Cause.BARRIER_DEADLOCK),
            # A warp fetches nothing after its BAR, so its PC is that of the BAR plus 4.
            deadlocked.pc.eq((fetch.pc - 4)[:len(fetch.pc)]),
            decided_fault.cause.eq(
                Mux(is_trap, decided.csr[:len(decided_fault.cause)],
                    Mux(jumps_outside, Cause.FETCH_ACCESS,
                        Mux(divergence.overflow, Cause.STACK_OVERFLOW,
                            Mux(divergence.underflow, Cause.STACK_UNDERFLOW,
                                Cause.BARRIER_ID))))),
            decided_fault.warp.eq(deciding.warp),
            decided_fault.address.eq(Mux(jumps_outside, target,
                                         Mux(is_bar, scalar_1, decided.imm))),
            # A fetch error is reported at the address that cannot be fetched, not at the jump.
            decided_fault.pc.eq(Mux(decided_fault.cause == Cause.FETCH_ACCESS,
                                    decided_fault.address, deciding.pc)),
        ]
        m.d[extra] += [
            raised.eq(raises), errors.decided.eq(decided_fault),
            errors.accesses.eq(lsu.fails), errors.accessed.eq(lsu.fault),
            errors.deadlock.eq(barriers.deadlock), deadlocked.warp.eq(barriers.deadlock_warp),
            deadlocked.address.eq(barriers.deadlock_number),
        ]
        m.d.comb += self.busy.eq((divergence.active.any() & ~stopped) | Cat(moving).any()
                                 | r_valid | lsu.busy | divider_busy | weaver_busy
                                 | writeback.busy)

        # Counters.
        cycle = Signal(64)
        instret = Signal(64)
        m.d.comb += [csrs.cycle.eq(cycle), csrs.instret.eq(instret)]
        with m.If(self.launch):
            m.d.sync += [cycle.eq(0), instret.eq(0)]
        with m.Else():
            m.d.sync += [cycle.eq(cycle + self.running), instret.eq(instret + scheduler.issue)]
        events = self.events
        if config.counters:
            m.submodules.phases = phases = PhaseCounters(config)
            ends = Signal()
            m.d[extra] += [
                phases.now.eq(cycle), phases.leaves.eq(csrs.sets_phase | ends),
                phases.ends.eq(ends), phases.warp.eq(deciding.warp),
                phases.phase.eq(csrs.left_phase),
            ]
            m.d.comb += [
                ends.eq(is_mask_op & divergence.ends),
                phases.launch.eq(self.launch), phases.clear.eq(self.clear),
                phases.read.eq(self.read), phases.index.eq(self.index),
                self.value.eq(phases.value),
            ]
            running = Signal(name="counted_cycle")
            m.d[extra] += running.eq(self.running)
            first_cause = lowest(m, scheduler.blocked, name="first_cause")
            # The cause of a stall is known late in a cycle.
            m.d[extra] += [
                events.cycles.eq(running), events.instructions.eq(scheduler.issue),
                events.stall_idle.eq(running & ~scheduler.issue & ~scheduler.blocked.any()),
                *(events[f"stall_{cause}"].eq(running & first_cause[i])
                  for i, cause in enumerate(WARP_STATES)),
            ]
            m.d.comb += [
                events.lanes.eq(Mux(o_valid, sum(o_mask[i] for i in range(threads)), 0)),
                *(events[name].eq(lsu.events[name]) for name, _ in memory_event_layout(config)),
            ]
        if config.trace:
            m.submodules.trace = trace = Trace(config, len(WARP_STATES))
            m.d.comb += [
                trace.running.eq(self.running), trace.issue.eq(scheduler.issue),
                trace.active.eq(divergence.active), trace.ready.eq(scheduler.ready),
                trace.waits.eq(scheduler.waits), trace.blocked.eq(scheduler.blocked),
                trace.write.eq(writeback.write), trace.written.eq(writeback.written),
                trace.executing.eq(x_valid), trace.warp.eq(x.warp), trace.pc.eq(x.pc),
                trace.rd.eq(Mux(op.writes, op.rd, 0)), trace.mask.eq(x_mask),
                trace.phase.eq(csrs.phase), trace.accessing.eq(units[Unit.LSU]),
                trace.address.eq(memory.address), trace.data.eq(memory.data),
                self.trace.eq(trace.record),
            ]
        return m
