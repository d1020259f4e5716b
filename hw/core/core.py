"""The SIMT core: the pipeline from fetch to write-back.

======  ===========================================================================================
stage   action
======  ===========================================================================================
F0, F1  a warp is picked and its instruction read (:mod:`hw.core.fetch`)
F2      the instruction is decoded and buffered
P       a ready warp is picked (:mod:`hw.core.scheduler`)
I       the warp's instruction issues: its registers are read
O       the operands are there; CSRs are read
X       ALU; addresses and requests leave for the load/store unit and the Weaver; the multiplier,
        the floating-point pipelines and the dividers take their operands
C       decisions for the whole warp are made: branches, thread masks, barriers, errors
R       a result is written to the registers: from X, from C, from the multiplier, or from the
        floating-point pipelines; in a cycle without such a result, that of a load, a divider, or
        the Weaver
======  ===========================================================================================

In the long pipeline each stage takes a cycle. In the short pipeline F1 and F2 share a cycle, P and
I share one, and O, X and C share one.

Nothing after P ever stalls, since an instruction is picked only under these conditions:

- The queue in front of the load/store unit or the Weaver has room. In the long pipeline the
  Weaver's queue has one place.
- For a division, the divider is idle.
- The result need not be written in the same cycle as another result (:func:`late`).
"""

from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import Out, connect, flipped
from amaranth.utils import ceil_log2

from hw.bits import and_or, at_most, lowest
from hw.config import HardwareConfig
from hw.core.alu import Alu, controls
from hw.core.barrier import Barriers
from hw.core.checks import LaneChecks
from hw.core.crosslane import CrossLane
from hw.core.csr import CsrFile
from hw.core.decode import Decoder, decoded_layout, second_destination
from hw.core.divergence import Divergence, stack_depth
from hw.core.divider import Divider
from hw.core.errors import FirstError
from hw.core.fetch import Fetch
from hw.core.floating import Floating
from hw.core.gathering import Gathering
from hw.core.interface import core_signature, fault_layout
from hw.core.loads import writeback_layout
from hw.core.lsu import LoadStoreUnit, memory_event_layout
from hw.core.multiplier import Multiplier
from hw.core.phases import PhaseCounters
from hw.core.registers import RegisterFile
from hw.core.scheduler import Scheduler, issued_layout
from hw.core.stages import Deciding, Decision, Executing, Issued, Leaving, unit_signals
from hw.core.trace import Trace, trace_layout
from hw.core.writeback import WriteBack
from hw.float.unit import float_latency
from hw.isa import Cause
from hw.operations import AluOp, BranchOp, Unit, WarpOp
from hw.stalls import STALLS
from hw.timing import Timing


__all__ = ["Core", "late"]


def late(config: HardwareConfig) -> dict:
    """Delay of each unit's results against the ALU's, in cycles, for units whose results cannot
    wait."""
    control = Timing(config).extra
    return {Unit.ALU: 0, Unit.BRANCH: control, Unit.WARP: control, Unit.CROSS: control,
            Unit.MUL: 1 + control,
            **({Unit.FLOAT: float_latency(config)} if config.floats else {})}


class Attached(NamedTuple):
    """A unit that takes instructions at its own pace, as the core sees it."""
    #: Its instructions. :data:`hw.stalls.STALLS` has the cause of the warps that wait for it.
    unit: Unit
    #: There is room for an instruction that is picked in this cycle, in the long pipeline in the
    #: next.
    room: ValueLike
    busy: ValueLike  #: An instruction is under way.
    #: stream(writeback_layout). Results that wait for a free cycle of the write-back. Units earlier
    #: in the core's list go first. The load/store unit has a stream of its own.
    result: Any = None
    #: ``room`` does not count an instruction that was picked in the cycle before.
    room_is_late: bool = False


class _Parts:
    """The units that several stages use. Each is a submodule of the core."""
    def __init__(self, m, config):
        m.submodules.fetch = self.fetch = Fetch(config)
        m.submodules.decoder = self.decoder = Decoder(config)
        m.submodules.scheduler = self.scheduler = Scheduler(config)
        m.submodules.registers = self.registers = RegisterFile(config)
        m.submodules.divergence = self.divergence = Divergence(config)
        m.submodules.barriers = self.barriers = Barriers(config)
        m.submodules.checks = self.checks = LaneChecks(config)
        m.submodules.csrs = self.csrs = CsrFile(config)
        m.submodules.lsu = self.lsu = LoadStoreUnit(config)
        m.submodules.writeback = self.writeback = WriteBack(config)
        if config.floats:
            m.submodules.floating = self.floating = Floating(config)


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
    float operation; with ``float = "half"`` one more       7    13
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
    checks : In(checks_layout)
        Checks of the launch, beside the errors that always stop it.
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
    exchange : Out(exchange_signature)
        The registers of the unit that hands out edges; only with ``config.exchanges``.
    trace : Out(trace_layout)
        Record of the cycle before, in the long pipeline of three cycles before; only with
        ``config.trace``.
    """
    def __init__(self, config: HardwareConfig):
        self._config, self._timing = config, Timing(config)
        super().__init__({
            **core_signature(config).members,
            **({"trace": Out(trace_layout(config))} if config.trace else {}),
        })

    def _collides(self, unit, under_way):
        """Whether the result of an instruction picked now for ``unit`` would come in the same
        cycle as the result of an instruction picked before."""
        delays = late(self._config)
        return Cat(stage[other] for distance, stage in enumerate(under_way, 1)
                   for other, delay in delays.items()
                   if other in stage and delay == delays[unit] + distance).any()

    def elaborate(self, platform):
        m = Module()
        config, timing = self._config, self._timing
        parts = _Parts(m, config)
        decision = Decision()
        stopped = Signal()
        m.d.comb += stopped.eq(self.failed | self.halt)
        self._fetch(m, parts, stopped)
        picked, o = self._issue(m, parts, decision)
        x = self._read_operands(m, parts, o)
        c, results, addresses, products = self._execute(m, parts, o, x)
        self._decide(m, parts, x, c, decision)
        multiplied, r = self._leave(m, parts, x, results, products, c, decision)
        # Units of the instructions picked in the cycles before, latest first.
        under_way = timing.stage([x.units], [picked, o.units, x.units])
        memory = self._access(m, parts, x, addresses, under_way)
        attached, answered = self._attach(m, parts, x, under_way)
        if config.floats:
            answered |= self._compute_floats(m, parts, x, attached, under_way)
            under_way += [{Unit.FLOAT: bit} for bit in parts.floating.under_way]
        self._admit(m, parts, attached, under_way)
        self._write_back(m, parts, r, attached)
        self._resume(m, parts, c, decision, answered)
        self._report_errors(m, parts, c, decision)
        moving = timing.stage([x.valid],
                              [parts.scheduler.issue, o.valid, x.valid, c.gives_result])
        if config.floats:
            moving.append(parts.floating.under_way)
        m.d.comb += self.busy.eq((parts.divergence.active.any() & ~stopped)
                                 | Cat(moving, multiplied).any() | r.valid
                                 | Cat(one.busy for one in attached).any() | parts.writeback.busy)
        self._count(m, parts, o, c, decision)
        if config.trace:
            self._trace(m, parts, x, memory)
        return m

    def _fetch(self, m, parts, stopped):
        """F0 to F2: fetch and decode."""
        fetch, decoder, scheduler = parts.fetch, parts.decoder, parts.scheduler
        decoded = Signal(decoded_layout(self._config))
        m.d.comb += [
            fetch.launch.eq(self.launch), fetch.entry.eq(self.entry),
            fetch.write.eq(self.write), fetch.write_address.eq(self.write_address),
            fetch.write_data.eq(self.write_data),
            fetch.may_fetch.eq(scheduler.may_fetch),
            decoder.predecoded.eq(fetch.fetched_word),
            decoded.eq(decoder.decoded),
            scheduler.launch.eq(self.launch),
            scheduler.halt.eq(stopped),
            scheduler.active.eq(parts.divergence.active),
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

    def _issue(self, m, parts, decision):
        """I: read registers and thread mask. Returns the units of the instruction that issues in
        this cycle, and the packet of O."""
        scheduler, registers, divergence = parts.scheduler, parts.registers, parts.divergence
        issued = scheduler.issued
        o = Issued(self._config)
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
        m.d.comb += drops.eq(self._timing.in_time(decision.raises | parts.barriers.invalid))
        m.d.sync += [
            o.valid.eq(scheduler.issue & ~drops), o.instruction.eq(issued),
            o.mask.eq(divergence.mask),
        ]
        picked = unit_signals(self._config, "i")
        for unit in self._config.units:
            m.d.comb += picked[unit].eq(scheduler.issued_units.bit_select(unit.value, 1))
            m.d.sync += o.units[unit].eq(picked[unit] & ~drops)
        return picked, o

    def _read_operands(self, m, parts, o):
        """O: the operands, and the controls of the ALU. Returns the packet of X."""
        config = self._config
        registers, csrs = parts.registers, parts.csrs
        x = Executing(config)
        pc, op = o.instruction.pc, o.instruction.decoded
        m.d[self._timing.later] += [
            x.valid.eq(o.valid), x.instruction.eq(o.instruction), x.mask.eq(o.mask),
            *(x.units[unit].eq(o.units[unit]) for unit in config.units),
            x.leader.eq(lowest(m, o.mask, name="lowest_lane")),
            x.a.eq(registers.a), x.b.eq(registers.b), x.c.eq(registers.c),
            *(x.second[i].eq(Mux(op.use_imm, op.imm, registers.b[i]))
              for i in range(config.threads)),
            x.control.eq(controls(AluOp(op.op))),
            x.subtract.eq((op.unit != Unit.LSU) & (op.op != AluOp.ADD)),
            x.scalar.eq(Mux(op.op == AluOp.LUI, op.imm,
                            Mux(op.op == AluOp.AUIPC, pc + op.imm, csrs.value))),
            x.is_thread.eq(csrs.is_thread & (op.op >= AluOp.CSRRW)),
        ]
        return x

    def _execute(self, m, parts, o, x):
        """X: results of the lanes, and operands of the lowest active lane.

        Returns the packet of C, and for each lane the ALU's result, the address of a memory access,
        and the multiplier's result, which comes after X.
        """
        config, csrs = self._config, parts.csrs
        threads = config.threads
        warp, pc, op = x.instruction.warp, x.instruction.pc, x.instruction.decoded
        c = Deciding(config)
        m.d.comb += [
            csrs.launch.eq(self.launch),
            csrs.access.eq(x.units[Unit.ALU] & (op.op >= AluOp.CSRRW)),
            csrs.op.eq(op.op), csrs.number.eq(op.csr), csrs.warp.eq(warp),
            csrs.reads_number.eq(parts.scheduler.issued.decoded.csr),
            csrs.reads_warp.eq(o.instruction.warp),
            # The immediate has the bits of rs1, so this also notices an immediate of 0.
            csrs.writes.eq((op.op == AluOp.CSRRW) | (op.rs1 != 0)),
            csrs.argument.eq(self.argument), csrs.core.eq(self.number),
            csrs.active.eq(parts.divergence.active), csrs.mask.eq(o.mask),
        ]
        results = Signal(data.ArrayLayout(32, threads))
        passing, nonzero = Signal(threads, name="passing"), Signal(threads, name="nonzero")
        addresses, products = [], []
        for i in range(threads):
            m.submodules[f"alu_{i}"] = alu = Alu()
            m.submodules[f"multiplier_{i}"] = multiplier = Multiplier(config)
            m.d.comb += [
                alu.control.eq(x.control), alu.subtract.eq(x.subtract), alu.branch.eq(op.branch),
                alu.a.eq(x.a[i]), alu.b.eq(x.second[i]),
                alu.scalar.eq(Mux(x.is_thread, i, x.scalar)),
                results[i].eq(alu.result),
                passing[i].eq(alu.taken), nonzero[i].eq(x.a[i] != 0),
                multiplier.op.eq(op.op), multiplier.a.eq(x.a[i]), multiplier.b.eq(x.b[i]),
            ]
            addresses.append(alu.total)
            products.append(multiplier.result)
        leading_1, leading_2 = (Signal(32, name=name) for name in ("leading_1", "leading_2"))
        m.d.comb += [
            leading_1.eq(and_or(x.leader, [x.a[i] for i in range(threads)])),
            leading_2.eq(and_or(x.leader, [x.b[i] for i in range(threads)])),
        ]
        checks = parts.checks
        m.d.comb += [
            checks.checks.eq(self.checks), checks.branches.eq(x.units[Unit.BRANCH]),
            checks.computes.eq(x.units[Unit.ALU] & op.writes),
            checks.branch.eq(op.branch), checks.rd.eq(op.rd), checks.warp.eq(warp),
            checks.pc.eq(pc), checks.mask.eq(x.mask), checks.leader.eq(x.leader),
            checks.target.eq(leading_1), checks.passing.eq(passing), checks.a.eq(x.a),
            checks.old.eq(x.c), checks.result.eq(results),
        ]
        m.d[self._timing.later] += [
            c.branches.eq(x.units[Unit.BRANCH]), c.changes_warp.eq(x.units[Unit.WARP]),
            c.gives_result.eq(x.units[Unit.BRANCH] | x.units[Unit.WARP] | x.units[Unit.CROSS]),
            c.instruction.eq(x.instruction), c.mask.eq(x.mask), c.leader.eq(x.leader),
            c.passing.eq(passing), c.nonzero.eq(nonzero),
            c.scalar_1.eq(leading_1), c.scalar_2.eq(leading_2),
            c.base.eq(Mux(op.branch == BranchOp.JALR, leading_1, pc)),
            c.returned.eq(at_most(leading_1, stack_depth(config) + 1)),
        ]
        return c, results, addresses, products

    def _decide(self, m, parts, x, c, decision):
        """C: decisions for the whole warp."""
        config = self._config
        fetch, divergence, barriers, csrs = (parts.fetch, parts.divergence, parts.barriers,
                                             parts.csrs)
        warp, pc, op = c.instruction.warp, c.instruction.pc, c.instruction.decoded
        target, taken = decision.target, decision.taken
        m.d.comb += [
            # Only the sum of a JALR can be odd.
            target.eq((c.base + op.imm) & 0xFFFF_FFFE),
            taken.eq(c.branches & (c.passing & c.leader).any()),
            decision.jumps_outside.eq(
                taken & (target[1] | target[ceil_log2(config.imem_bytes):].any())),
            csrs.operand.eq(Mux(op.use_imm, op.rs1, c.scalar_1)),
            csrs.leaves_warp.eq(warp),
            decision.is_bar.eq(c.changes_warp & (op.op == WarpOp.BAR)),
            decision.is_trap.eq(c.changes_warp & (op.op == WarpOp.TRAP)),
            decision.is_mask_op.eq(c.changes_warp & ~decision.is_bar & ~decision.is_trap),
            decision.raises.eq(decision.is_trap | decision.jumps_outside
                               | divergence.overflow | divergence.underflow),
            divergence.launch.eq(self.launch),
            divergence.select.eq(self._timing.stage(parts.scheduler.issued, x.instruction).warp),
            divergence.perform.eq(decision.is_mask_op), divergence.op.eq(op.op),
            divergence.warp.eq(warp), divergence.lanes.eq(c.mask),
            divergence.pc.eq(pc), divergence.passing.eq(c.nonzero),
            divergence.scalar_1.eq(c.scalar_1), divergence.scalar_2.eq(c.scalar_2),
            divergence.returned.eq(c.returned),
            barriers.launch.eq(self.launch), barriers.active.eq(divergence.active),
            parts.scheduler.at_barrier.eq(barriers.waiting),
            fetch.redirect.eq(taken | (decision.is_mask_op & divergence.jump)),
            fetch.redirect_warp.eq(warp),
            fetch.redirect_pc.eq(Mux(taken, target, divergence.jump_pc)),
        ]
        m.d[self._timing.later] += [
            barriers.arrive.eq(decision.is_bar), barriers.warp.eq(warp),
            barriers.number.eq(at_most(c.scalar_1, config.barriers)),
            barriers.count.eq(at_most(c.scalar_2, config.warps + 1)),
        ]

    def _leave(self, m, parts, x, results, products, c, decision):
        """Results that cannot wait: from X, from C, or of a multiplication that has left X.

        Returns a bit for each stage behind X that holds a multiplication, and the packet of R.
        """
        config = self._config
        m.submodules.crosslane = crosslane = CrossLane(config)
        m.d.comb += [
            crosslane.enable.eq(x.units[Unit.CROSS]), crosslane.op.eq(x.instruction.decoded.op),
            crosslane.mask.eq(x.mask), crosslane.a.eq(x.a), crosslane.b.eq(x.b),
        ]
        # Without a vote or shuffle, the result of ``crosslane`` is 0.
        of_warp = Signal(32)
        m.d.comb += of_warp.eq(Mux(c.branches, c.instruction.pc + 4,
                                   Mux(c.changes_warp, parts.divergence.pointer, 0)))
        c_results = Signal(data.ArrayLayout(32, config.threads))
        m.d.comb += [c_results[i].eq(crosslane.result[i] | of_warp)
                     for i in range(config.threads)]

        multiplied, multiplication = [], (x.units[Unit.MUL], x.instruction, x.mask)
        for stage in range(late(config)[Unit.MUL]):
            before = multiplication
            multiplication = (
                Signal(name=f"multiplying_{stage}"),
                Signal(issued_layout(config), name=f"multiplied_{stage}", reset_less=True),
                Signal(config.threads, name=f"multiplied_mask_{stage}", reset_less=True))
            m.d.sync += [after.eq(value) for after, value in zip(multiplication, before)]
            multiplied.append(multiplication[0])
        multiplying, product, product_mask = multiplication

        def chosen(of_product, of_c, of_x):
            return Mux(multiplying, of_product, Mux(c.gives_result, of_c, of_x))
        r = Leaving(config)
        of_product, of_c, of_x = (one.decoded for one in (product, c.instruction, x.instruction))
        m.d.sync += [
            r.valid.eq((multiplying & of_product.writes)
                       | (c.gives_result & of_c.writes & ~decision.raises)
                       | (x.units[Unit.ALU] & of_x.writes)),
            r.result.warp.eq(chosen(product.warp, c.instruction.warp, x.instruction.warp)),
            r.result.rd.eq(chosen(of_product.rd, of_c.rd, of_x.rd)),
            r.result.mask.eq(chosen(product_mask, c.mask, x.mask)),
            r.result.data.eq(chosen(Cat(*products), c_results.as_value(), results.as_value())),
        ]
        if config.floats:
            floating = parts.floating
            with m.If(floating.leaves):
                m.d.sync += [r.valid.eq(floating.result.rd != 0), r.result.eq(floating.result)]
        return multiplied, r

    def _access(self, m, parts, x, addresses, under_way):
        """X: memory accesses enter the load/store unit. Returns the access."""
        lsu, scheduler = parts.lsu, parts.scheduler
        warp, pc, op = x.instruction.warp, x.instruction.pc, x.instruction.decoded
        memory = lsu.instruction
        m.d.comb += [
            lsu.launch.eq(self.launch),
            lsu.picked.eq(under_way[0][Unit.LSU]), lsu.enter.eq(x.units[Unit.LSU]),
            memory.op.eq(op.op), memory.amo.eq(op.amo), memory.size.eq(op.size),
            memory.signed.eq(op.signed), memory.writes.eq(op.writes),
            memory.warp.eq(warp), memory.rd.eq(Mux(op.writes, op.rd, 0)),
            memory.pc.eq(pc), memory.mask.eq(x.mask), memory.data.eq(x.b),
            memory.compare.eq(x.c), memory.address.eq(Cat(addresses)),
        ]
        if self._config.load_hints:
            m.d.comb += memory.once.eq(op.once)
        m.d[self._timing.later] += [
            scheduler.local_wait.eq(lsu.started_local),
            scheduler.local_warp.eq(lsu.started_warp),
            scheduler.local_rd.eq(lsu.started_rd),
        ]
        connect(m, lsu.request, flipped(self.request))
        connect(m, flipped(self.response), lsu.response)
        return memory

    def _attach(self, m, parts, x, under_way):
        """X: the units that take instructions at their own pace. Returns their records, and the
        warps whose thread mask the unit that hands out edges sets in this cycle."""
        config, timing, divergence = self._config, self._timing, parts.divergence
        warp, op = x.instruction.warp, x.instruction.decoded

        def on_its_way(unit):
            return Cat(stage[unit] for stage in under_way).any()
        attached = [Attached(Unit.LSU, parts.lsu.room, parts.lsu.busy)]
        if config.divider != "none":
            m.submodules.divider = divider = Divider(config)
            starts = x.units[Unit.DIV] & op.writes
            if config.floats:
                starts &= ~op.op[2]     # no FloatDivOp
            m.d.comb += [
                # A division whose destination is x0 is dropped.
                divider.start.eq(starts), divider.op.eq(op.op),
                divider.warp.eq(warp), divider.rd.eq(op.rd), divider.mask.eq(x.mask),
                divider.a.eq(x.a), divider.b.eq(x.b),
            ]
            attached.append(Attached(Unit.DIV, ~(divider.busy | on_its_way(Unit.DIV)),
                                     divider.busy, divider.result, timing.looks_ahead))
        answered = Signal(config.warps)
        if config.gather != "none":
            m.submodules.gathering = gathering = Gathering(config)
            request = gathering.instruction
            m.d.comb += [
                gathering.launch.eq(self.launch),
                gathering.picked.eq(under_way[0][Unit.GATHER]),
                gathering.under_way.eq(on_its_way(Unit.GATHER)),
                gathering.enter.eq(x.units[Unit.GATHER]),
                request.op.eq(op.op), request.warp.eq(warp),
                request.rd.eq(op.rd), request.rd2.eq(second_destination(config, op)),
                request.mask.eq(x.mask),
                request.vid.eq(x.a), request.loc.eq(x.b), request.degree.eq(x.c),
                divergence.set_mask.eq(gathering.set_mask),
                divergence.set_warp.eq(gathering.set_warp),
                divergence.set_lanes.eq(gathering.set_lanes),
                answered.eq(Mux(gathering.set_mask, 1 << gathering.set_warp, 0)),
                self.events.weaver_decodes.eq(gathering.events.decoded),
                self.events.weaver_waits.eq(gathering.events.waiting & self.running),
                self.events.weaver_skipped.eq(gathering.events.skipped),
            ]
            if config.gather_reads:
                m.d.comb += [gathering.pc.eq(x.instruction.pc),
                             parts.lsu.access_pc.eq(gathering.access_pc)]
                connect(m, gathering.access, parts.lsu.access)
                connect(m, parts.lsu.fetched, gathering.fetched)
            if config.exchanges:
                connect(m, gathering.exchange, flipped(self.exchange))
                m.d.comb += gathering.active.eq(divergence.active.any()
                                                & ~(self.failed | self.halt))
            attached.append(Attached(Unit.GATHER, gathering.room, gathering.busy,
                                     gathering.result, timing.looks_ahead))
        return attached, answered

    def _compute_floats(self, m, parts, x, attached, under_way):
        """X: floating-point instructions enter the pipelines or their divider, which is attached.
        Returns the warps whose instruction has nothing left but flags, and has raised them."""
        floating, csrs, op = parts.floating, parts.csrs, x.instruction.decoded
        dividing = [stage[Unit.DIV] for stage in under_way]
        room = ~(Cat(dividing, floating.divider_busy, *(
            one.busy for one in attached if one.unit is Unit.DIV)).any())
        m.d.comb += [
            floating.enter.eq(x.units[Unit.FLOAT]),
            floating.divides.eq(x.units[Unit.DIV] & op.op[2]),
            floating.op.eq(op.op), floating.word.eq(op.imm), floating.mode.eq(csrs.mode),
            floating.warp.eq(x.instruction.warp), floating.mask.eq(x.mask),
            floating.rd.eq(Mux(op.writes, op.rd, 0)),
            floating.a.eq(x.a), floating.b.eq(x.b), floating.c.eq(x.c),
            csrs.raises.eq(floating.raises),
        ]
        attached.append(Attached(Unit.DIV, room, floating.divider_busy, floating.divided,
                                 self._timing.looks_ahead))
        return floating.resumes

    def _admit(self, m, parts, attached, under_way):
        """P: the units for which the scheduler may pick an instruction."""
        config, units = self._config, self._config.units
        room = {one.unit: one.room for one in attached}
        barred = {unit: self._collides(unit, under_way) for unit in late(self._config)}
        barred |= {one.unit: under_way[0][one.unit] for one in attached if one.room_is_late}
        if config.float == "half":
            barred[Unit.FLOAT] |= under_way[0][Unit.FLOAT]
        m.d.comb += [
            parts.scheduler.unit_ready.eq(Cat(room.get(unit, Const(1)) for unit in units)),
            parts.scheduler.barred.eq(Cat(barred.get(unit, Const(0)) for unit in units)),
        ]

    def _write_back(self, m, parts, r, attached):
        """R: results go to the registers, and the scheduler is told."""
        config = self._config
        writeback, registers, scheduler = parts.writeback, parts.registers, parts.scheduler
        rare = stream.Signature(writeback_layout(config)).create()
        before = Const(0)                   # a unit earlier in the list has a result
        for result in [one.result for one in attached if one.result is not None]:
            with m.If(result.valid & ~before):
                m.d.comb += rare.payload.eq(result.payload)
            m.d.comb += result.ready.eq(rare.ready & ~before)
            before |= result.valid
        m.d.comb += [
            rare.valid.eq(before),
            # The pipeline has no result for x0.
            writeback.own.eq(r.valid), writeback.result.eq(r.result),
            registers.write.eq(writeback.write), registers.result.eq(writeback.written),
            scheduler.written.eq(writeback.tells),
            scheduler.written_warp.eq(writeback.told_warp),
            scheduler.written_rd.eq(writeback.told_rd),
        ]
        connect(m, parts.lsu.writeback, writeback.loaded)
        connect(m, self._timing.cut(m, rare, name="rare_result"), writeback.rare)

    def _resume(self, m, parts, c, decision, answered):
        """Warps that fetch again: resolved in C, released by a barrier, or given a mask by the unit
        that hands out edges."""
        resolved = Signal()
        released = Signal(self._config.warps)
        m.d[self._timing.later] += released.eq(parts.barriers.released)
        m.d.comb += [
            # A warp that failed may resume, too: all warps stop before it can be picked.
            resolved.eq(c.branches | decision.is_mask_op),
            parts.scheduler.resume.eq(Mux(resolved, 1 << c.instruction.warp, 0)
                                      | released | answered),
        ]

    def _report_errors(self, m, parts, c, decision):
        """The first error stops all warps. A deadlock lasts until it is reported."""
        config = self._config
        barriers, divergence, fetch, lsu = (parts.barriers, parts.divergence, parts.fetch,
                                            parts.lsu)
        warp, pc, op = c.instruction.warp, c.instruction.pc, c.instruction.decoded
        m.submodules.errors = errors = FirstError(config)
        deadlocked = errors.deadlocked
        raised = Signal()
        fault = Signal(fault_layout(config))
        m.d.comb += [
            errors.launch.eq(self.launch), self.failed.eq(errors.failed),
            self.fault.eq(errors.fault), fetch.pc_of.eq(deadlocked.warp),
            errors.decides.eq(raised | barriers.invalid),
            deadlocked.cause.eq(Cause.BARRIER_DEADLOCK),
            # A warp fetches nothing after its BAR, so its PC is that of the BAR plus 4.
            deadlocked.pc.eq((fetch.pc - 4)[:len(fetch.pc)]),
            fault.cause.eq(
                Mux(decision.is_trap, op.csr[:len(fault.cause)],
                    Mux(decision.jumps_outside, Cause.FETCH_ACCESS,
                        Mux(divergence.overflow, Cause.STACK_OVERFLOW,
                            Mux(divergence.underflow, Cause.STACK_UNDERFLOW,
                                Cause.BARRIER_ID))))),
            fault.warp.eq(warp),
            fault.address.eq(Mux(decision.jumps_outside, decision.target,
                                 Mux(decision.is_bar, c.scalar_1, op.imm))),
            # A fetch error is reported at the address that cannot be fetched, not at the jump.
            fault.pc.eq(Mux(fault.cause == Cause.FETCH_ACCESS, fault.address, pc)),
        ]
        m.d[self._timing.later] += [
            raised.eq(decision.raises), errors.decided.eq(fault),
            errors.checks.eq(parts.checks.fails), errors.checked.eq(parts.checks.fault),
            errors.accesses.eq(lsu.fails), errors.accessed.eq(lsu.fault),
            errors.deadlock.eq(barriers.deadlock), deadlocked.warp.eq(barriers.deadlock_warp),
            deadlocked.address.eq(barriers.deadlock_number),
        ]

    def _count(self, m, parts, o, c, decision):
        """The counters that CSRs read, and the events of the performance counters."""
        config = self._config
        csrs, scheduler, events = parts.csrs, parts.scheduler, self.events
        cycle = Signal(64)
        instret = Signal(64)
        m.d.comb += [csrs.cycle.eq(cycle), csrs.instret.eq(instret)]
        with m.If(self.launch):
            m.d.sync += [cycle.eq(0), instret.eq(0)]
        with m.Else():
            m.d.sync += [cycle.eq(cycle + self.running), instret.eq(instret + scheduler.issue)]
        if not config.counters:
            return
        extra = self._timing.later
        m.submodules.phases = phases = PhaseCounters(config)
        ends = Signal()
        m.d[extra] += [
            phases.now.eq(cycle), phases.leaves.eq(csrs.sets_phase | ends),
            phases.ends.eq(ends), phases.warp.eq(c.instruction.warp),
            phases.phase.eq(csrs.left_phase),
        ]
        m.d.comb += [
            ends.eq(decision.is_mask_op & parts.divergence.ends),
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
              for i, cause in enumerate(STALLS)),
            # Other causes may come first, and hide this one from ``stall_weaver``.
            events.weaver_stalls.eq(running & scheduler.blocked[list(STALLS).index("weaver")]),
        ]
        m.d.comb += [
            events.lanes.eq(Mux(o.valid, sum(o.mask[i] for i in range(config.threads)), 0)),
            *(events[name].eq(parts.lsu.events[name]) for name, _ in memory_event_layout(config)),
        ]

    def _trace(self, m, parts, x, memory):
        """The trace port."""
        scheduler, writeback = parts.scheduler, parts.writeback
        warp, pc, op = x.instruction.warp, x.instruction.pc, x.instruction.decoded
        m.submodules.trace = trace = Trace(self._config)
        m.d.comb += [
            trace.running.eq(self.running), trace.issue.eq(scheduler.issue),
            trace.active.eq(parts.divergence.active), trace.ready.eq(scheduler.ready),
            trace.waits.eq(scheduler.waits), trace.blocked.eq(scheduler.blocked),
            trace.write.eq(writeback.write), trace.written.eq(writeback.written),
            trace.executing.eq(x.valid), trace.warp.eq(warp), trace.pc.eq(pc),
            trace.rd.eq(Mux(op.writes, op.rd, 0)),
            trace.rd2.eq(second_destination(self._config, op)), trace.mask.eq(x.mask),
            trace.phase.eq(parts.csrs.phase), trace.accessing.eq(x.units[Unit.LSU]),
            trace.address.eq(memory.address), trace.data.eq(memory.data),
            self.trace.eq(trace.record),
        ]
