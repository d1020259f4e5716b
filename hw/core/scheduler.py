"""Instruction buffers, scoreboard and warp scheduler.

Each warp has a buffer of two decoded instructions. A warp is ready under two conditions: its next
instruction reads or writes no register that waits for a result, and the instruction's unit can take
it. Each cycle one ready warp is picked, round-robin. The warp issues in the same cycle, in the long
pipeline in the next. The long pipeline does not pick a warp in two cycles in a row, since an
instruction leaves its buffer only when it issues.

After an instruction that may change the PC or the thread mask, a warp fetches nothing until it is
resumed. The execute stage, a barrier's release or the Weaver's answer resumes the warp.
"""

from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import RoundRobin, and_or, any_and_several, encode, index_bits
from hw.config import HardwareConfig
from hw.core.decode import decoded_layout, second_destination
from hw.operations import Unit
from hw.stalls import STALLS
from hw.timing import Timing


__all__ = ["Scheduler", "issued_layout"]


def issued_layout(config: HardwareConfig):
    """An issued instruction, its warp and its PC."""
    return data.StructLayout({
        "warp": index_bits(config.warps),
        "pc": ceil_log2(config.imem_bytes),
        "decoded": decoded_layout(config),
    })


class _Arriving:
    """The events of this cycle, by warp one-hot: an instruction is fetched, a result comes, a
    register turns out to wait for local memory; and the registers, one-hot."""
    def __init__(self, warps):
        self.fetched_by, self.written_by, self.local_by = (
            Signal(warps, name=name) for name in ("fetched_by", "written_by", "local_by"))
        self.written_register, self.local_register = (
            Signal(32, name=name) for name in ("written_register", "local_register"))
        self.follows = Signal(name="follows")   # it needs the result of the one before it


class _Issuing:
    """The instruction that issues: its warp, one-hot, and the registers it writes, one or two."""
    def __init__(self, warps):
        self.by = Signal(warps, name="issuing")
        self.registers = Signal(32, name="issued_registers")


#: The fields of a buffered instruction that all warps need at a time. ``units`` is one-hot;
#: ``follows``: the instruction needs the result of the one before it.
def _summary_layout(config):
    return data.StructLayout({"needs": 32, "units": len(config.units), "follows": 1})


class _Warp:
    """A warp's buffer of up to two instructions, and its registers that wait for results."""
    def __init__(self, config, number):
        summary = _summary_layout(config)

        def signal(shape, name, **kwargs):
            return Signal(shape, name=f"{name}_{number}", **kwargs)
        self.number, self.signal = number, signal
        self.first, self.second = (signal(summary, name, reset_less=True)
                                   for name in ("first", "second"))
        self.entering = signal(summary, "entering")
        self.count, self.read_place = signal(2, "count"), signal(1, "read_place")
        self.unresolved = signal(1, "unresolved")
        # The unresolved instruction waits for the mask from the unit that hands out edges.
        self.asks_mask = signal(1, "asks_mask")
        self.busy = signal(32, "busy")
        self.has, self.takes, self.gives = (signal(1, name) for name in ("has", "takes", "gives"))
        # A picked instruction leaves its place when it issues. ``ahead`` is the first of the
        # remaining instructions, ``held`` their number.
        self.ahead, self.held = signal(summary, "ahead"), signal(2, "held")
        # There is an instruction, and no register of it waits for a result.
        self.eligible = signal(1, "eligible")
        self.unit_takes, self.unit_ok = signal(1, "unit_takes"), signal(1, "unit_ok")
        self.fits = signal(1, "fits")
        self.last_written = signal(5, "last_written", reset_less=True)


class Scheduler(wiring.Component):
    """Instruction buffers, scoreboard and warp scheduler.

    Latency: an instruction may be picked in the cycle after its fetch. In the long pipeline this
    takes a cycle more, unless the instruction had to queue. An instruction that waits for a result
    may be picked in the cycle after the result is written. Throughput: one instruction a cycle. In
    the long pipeline one warp issues one instruction in two cycles.

    Members
    -------
    launch : In(1)
        Forget all instructions, and all registers that wait for results.
    halt : In(1)
        Issue nothing.
    active : In(warps)
        Warps that have not ended.
    fetched, fetched_warp, fetched_pc, decoded : In
        A fetched and decoded instruction enters its warp's buffer.
    may_fetch : Out(warps)
        Warps with room in their buffer and no unresolved instruction. In the long pipeline a place
        that becomes free is told a cycle late.
    resume : In(warps)
        Warps whose unresolved instruction has been resolved.
    at_barrier : In(warps)
        Warps that wait at a barrier; for attribution only.
    unit_ready : In(len(units))
        Bit ``Unit``: the unit takes an instruction that is picked in this cycle, in the long
        pipeline in the next.
    barred : In(len(units))
        Bit ``Unit``: an instruction picked before forbids a pick for the unit in this cycle.
    picked : Out(warps)
        One-hot: the warp that is picked in this cycle.
    issue : Out(1)
        ``issued`` is issued in this cycle.
    issued : Out(issued_layout)
    issued_units : Out(len(units))
        One-hot: the unit of ``issued``; zero if nothing is issued. Known earlier in the cycle than
        ``issued``.
    local_wait, local_warp, local_rd : In
        A register waits for local memory, not global; for attribution only.
    written, written_warp, written_rd : In
        A result is written to a register in this cycle.
    blocked : Out(len(STALLS))
        If no warp is picked, a bit for each cause of :data:`hw.stalls.STALLS` that holds for any
        warp; else zero. In the long pipeline a cycle later.
    ready, waits : Out
        Warps that may be picked, and for each warp the causes of :data:`hw.stalls.STALLS` that
        hold; only with a trace port.
    """
    def __init__(self, config: HardwareConfig):
        self._config, self._timing = config, Timing(config)
        warps = config.warps
        warp_bits = index_bits(warps)
        super().__init__({
            "launch": In(1), "halt": In(1), "active": In(warps),
            "fetched": In(1), "fetched_warp": In(warp_bits),
            "fetched_pc": In(ceil_log2(config.imem_bytes)), "decoded": In(decoded_layout(config)),
            "may_fetch": Out(warps), "resume": In(warps), "at_barrier": In(warps),
            "unit_ready": In(len(config.units)), "barred": In(len(config.units)),
            "picked": Out(warps), "issue": Out(1), "issued": Out(issued_layout(config)),
            "issued_units": Out(len(config.units)),
            "local_wait": In(1), "local_warp": In(warp_bits), "local_rd": In(5),
            "written": In(1), "written_warp": In(warp_bits), "written_rd": In(5),
            "blocked": Out(len(STALLS)),
            **({"ready": Out(warps), "waits": Out(data.ArrayLayout(len(STALLS), warps))}
               if config.trace else {}),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.arbiter = arbiter = RoundRobin(config.warps)
        m.d.comb += arbiter.advance.eq(1)
        warps = [_Warp(config, number) for number in range(config.warps)]
        arriving = self._arrive(m, warps)
        issuing = self._issue(m, warps, arriving, arbiter.grant)
        states = []
        for w, warp in enumerate(warps):
            issues = issuing.by[w]
            m.d.comb += [
                warp.takes.eq(arriving.fetched_by[w]), warp.gives.eq(arbiter.grant[w]),
                warp.unit_ok.eq(warp.unit_takes & ~(self.barred & warp.first.units).any()),
                arbiter.requests[w].eq(warp.eligible & ~self.halt & warp.unit_ok
                                       & self._timing.stage(1, ~issues)),
                self.may_fetch[w].eq(self.active[w] & ~warp.unresolved & ~warp.takes & warp.fits),
            ]
            self._buffer(m, warp, arriving, issues)
            self._mark(m, warp, arriving, issuing)
            self._look_ahead(m, warp, arriving, issues)
            if config.counters or config.trace:
                states.append(self._attribute(m, warp, arriving, issuing))
            m.d.sync += Assert(~warp.gives | warp.has, "an empty buffer issues")
            m.d.sync += Assert(~warp.takes | (warp.held < 2), "an instruction buffer overflows")
        if states:
            self._report(m, arbiter.grant, states)
        if config.trace:
            m.d.comb += [self.ready.eq(arbiter.requests), self.waits.eq(Cat(states))]
        return m

    def _arrive(self, m, warps):
        """The fetched instruction and the results that come."""
        arriving = _Arriving(len(warps))
        m.d.comb += [
            arriving.fetched_by.eq(Mux(self.fetched, 1 << self.fetched_warp, 0)),
            arriving.written_by.eq(Mux(self.written, 1 << self.written_warp, 0)),
            arriving.local_by.eq(Mux(self.local_wait, 1 << self.local_warp, 0)),
            arriving.written_register.eq(1 << self.written_rd),
            arriving.local_register.eq(1 << self.local_rd),
        ]
        if self._timing.looks_ahead:
            # The register that each warp's last instruction writes, or x0, which nothing waits for.
            # A second register need not be known: the next instruction of an instruction that
            # writes two is fetched when its warp is resumed.
            last_written = Signal(5)
            m.d.comb += [
                last_written.eq(and_or(arriving.fetched_by, [one.last_written for one in warps])),
                arriving.follows.eq(self.decoded.needs.bit_select(last_written, 1)),
            ]
        return arriving

    def _issue(self, m, warps, arriving, grant):
        """The buffered instructions: one enters, and the one that was picked issues."""
        m.submodules.buffers = buffers = Memory(shape=issued_layout(self._config),
                                                depth=2 * len(warps), init=[])
        write, read = buffers.write_port(), buffers.read_port(domain="comb")
        buffer_place = Signal(1 + index_bits(len(warps)))
        picked_units = Signal(len(self._config.units))
        issuing = _Issuing(len(warps))
        op = self.issued.decoded
        second = second_destination(self._config, op)

        def unless_launched(value):
            return self._timing.stage(value, Mux(self.launch, 0, value))
        # A place that is read is overwritten a cycle later at the earliest.
        m.d[self._timing.later] += [
            issuing.by.eq(unless_launched(grant)),
            self.issued_units.eq(unless_launched(picked_units)),
            buffer_place.eq(Cat((grant & Cat(one.read_place for one in warps)).any(),
                                encode(grant))),
        ]
        m.d.comb += [
            self.picked.eq(grant), self.issue.eq(issuing.by.any()),
            picked_units.eq(and_or(grant, [one.first.units for one in warps])),
            read.addr.eq(buffer_place), self.issued.eq(read.data),
            issuing.registers.eq(Mux(op.writes, 1 << op.rd, 0)
                                 | Mux(second != 0, 1 << second, 0)),
            write.addr.eq(Cat(
                (arriving.fetched_by & Cat(one.read_place ^ one.count[0] for one in warps)).any(),
                self.fetched_warp)),
            write.data.warp.eq(self.fetched_warp), write.data.pc.eq(self.fetched_pc),
            write.data.decoded.eq(self.decoded), write.en.eq(self.fetched),
        ]
        return issuing

    def _buffer(self, m, warp, arriving, issues):
        """A warp's buffer: the summaries of its instructions."""
        first, second, entering, count = warp.first, warp.second, warp.entering, warp.count
        stage = self._timing.stage
        m.d.comb += [
            warp.has.eq(warp.held != 0),
            warp.ahead.eq(stage(first, Mux(issues, second, first))),
            warp.held.eq(stage(count, count - issues)),
            entering.needs.eq(self.decoded.needs),
            entering.units.eq(1 << Value.cast(self.decoded.unit)),
            entering.follows.eq(arriving.follows),
        ]
        with m.If(self.launch):
            m.d.sync += [count.eq(0), warp.read_place.eq(0)]
        with m.Else():
            m.d.sync += count.eq(count + warp.takes - issues)
            with m.If(issues):
                m.d.sync += [first.eq(second), warp.read_place.eq(~warp.read_place)]
            with m.If(warp.takes):
                with m.If((count == 0) | ((count == 1) & issues)):
                    m.d.sync += first.eq(entering)
                with m.Else():
                    m.d.sync += second.eq(entering)

    def _mark(self, m, warp, arriving, issuing):
        """The scoreboard: the registers that wait for results, and the unresolved instruction."""
        w = warp.number
        with m.If(self.launch):
            m.d.sync += [warp.unresolved.eq(0), warp.busy.eq(0)]
        with m.Else():
            with m.If(warp.takes & self.decoded.changes):
                m.d.sync += [warp.unresolved.eq(1),
                             warp.asks_mask.eq(self.decoded.unit == Unit.GATHER)]
            with m.Elif(self.resume[w]):
                m.d.sync += warp.unresolved.eq(0)
            m.d.sync += warp.busy.eq(
                (warp.busy & ~Mux(arriving.written_by[w], arriving.written_register, 0))
                | Mux(issuing.by[w], issuing.registers, 0))

    def _look_ahead(self, m, warp, arriving, issues):
        """Whether a warp is ready, and has room for an instruction."""
        m.d[self._timing.later] += warp.unit_takes.eq((self.unit_ready & warp.ahead.units).any())
        if not self._timing.looks_ahead:
            m.d.comb += [warp.eligible.eq(warp.has & ((warp.busy & warp.first.needs) == 0)),
                         warp.fits.eq(warp.count < 2)]
            return
        # A pick in between makes no difference to ``eligible``: no warp is picked in two cycles in
        # a row. ``fits`` notices the place that a pick frees a cycle later.
        pending = warp.signal(32, "pending")
        comes, goes = warp.signal(1, "comes"), warp.signal(1, "goes")
        some, several = any_and_several(pending)
        m.d.comb += [
            pending.eq(warp.busy & warp.ahead.needs),
            comes.eq(arriving.written_by[warp.number] & pending.bit_select(self.written_rd, 1)),
            goes.eq(issues & warp.second.follows),
        ]
        with m.If(warp.takes):
            m.d.sync += warp.last_written.eq(Mux(self.decoded.writes, self.decoded.rd, 0))
        m.d.sync += [
            warp.eligible.eq(warp.has & ~(some & ~comes | several) & ~goes & ~self.launch),
            warp.fits.eq((warp.held == 0) | (warp.held == 1) & ~warp.takes),
        ]

    def _attribute(self, m, warp, arriving, issuing):
        """The causes of :data:`hw.stalls.STALLS` for which a warp waits."""
        w, has, signal, issues = warp.number, warp.has, warp.signal, issuing.by[warp.number]
        active, registers = self.active[w], issuing.registers
        # The unit whose result a busy register waits for, for units with a cause.
        behind = {cause: stall.unit for cause, stall in STALLS.items() if stall.unit is not None}
        from_unit = {unit: signal(32, f"from_{unit.name.lower()}", reset_less=True)
                     for unit in behind.values()}
        for unit, waiting in from_unit.items():
            with m.If(issues):
                m.d.sync += waiting.eq(Mux(self.issued_units[unit.value],
                                           waiting | registers, waiting & ~registers))
        from_local = signal(32, "from_local", reset_less=True)
        m.d.sync += from_local.eq(
            (from_local | Mux(arriving.local_by[w], arriving.local_register, 0))
            & ~Mux(issues, registers, 0))
        waits, refused = signal(32, "waits"), signal(1, "refused")
        holds = {cause: signal(1, f"waits_{cause}") for cause in STALLS}
        unresolved_mask = signal(1, "unresolved_mask")
        m.d.comb += [
            waits.eq(warp.busy & warp.ahead.needs),
            refused.eq(warp.eligible & ~warp.unit_ok & self._timing.stage(1, ~issues)),
            unresolved_mask.eq(active & ~has & warp.unresolved & warp.asks_mask),
            holds["local"].eq(has & (waits & from_unit[Unit.LSU] & from_local).any()),
            holds["execute"].eq(has & ~Cat(holds["local"], *(
                holds[cause] for cause in behind)).any()),
            holds["barrier"].eq(active & self.at_barrier[w]),
            holds["fetch"].eq(active & ~has & ~holds["barrier"] & ~unresolved_mask),
        ]
        for cause, unit in behind.items():
            elsewhere = from_local if unit is Unit.LSU else Const(0, 32)
            m.d.comb += holds[cause].eq(
                (has & ((waits & from_unit[unit] & ~elsewhere).any()
                        | (refused & warp.first.units[unit.value])))
                | (unresolved_mask if unit is Unit.GATHER else 0))
        return Cat(holds.values())

    def _report(self, m, grant, states):
        """The causes for which warps wait when none is picked."""
        held = [Signal(len(STALLS), name=f"state_{w}") for w in range(len(states))]
        nobody = Signal()
        m.d[self._timing.later] += [nobody.eq(~grant.any()),
                                    *(signal.eq(state) for signal, state in zip(held, states))]
        with m.If(nobody):
            m.d.comb += self.blocked.eq(Cat(
                Cat(state[kind] for state in held).any() for kind in range(len(STALLS))))
