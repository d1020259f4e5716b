"""Instruction buffers, scoreboard and warp scheduler.

Each warp has a buffer of two decoded instructions. A warp is ready under two conditions: its next
instruction reads or writes no register that waits for a result, and the instruction's unit can take
it. Each cycle one ready warp is picked, round-robin. The warp issues in the same cycle, in the long
pipeline in the next. The long pipeline does not pick a warp in two cycles in a row, since an
instruction leaves its buffer only when it issues.

After an instruction that may change the PC or the thread mask, a warp fetches nothing until it is
resumed. The execute stage, a barrier's release or the Weaver's answer resumes the warp.
"""

from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal
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
        "decoded": decoded_layout(),
    })


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
    unit_ready : In(len(Unit))
        Bit ``Unit``: the unit takes an instruction that is picked in this cycle, in the long
        pipeline in the next.
    barred : In(len(Unit))
        Bit ``Unit``: an instruction picked before forbids a pick for the unit in this cycle.
    picked : Out(warps)
        One-hot: the warp that is picked in this cycle.
    issue : Out(1)
        ``issued`` is issued in this cycle.
    issued : Out(issued_layout)
    issued_units : Out(len(Unit))
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
        self._config = config
        warps = config.warps
        warp_bits = index_bits(warps)
        super().__init__({
            "launch": In(1), "halt": In(1), "active": In(warps),
            "fetched": In(1), "fetched_warp": In(warp_bits),
            "fetched_pc": In(ceil_log2(config.imem_bytes)), "decoded": In(decoded_layout()),
            "may_fetch": Out(warps), "resume": In(warps), "at_barrier": In(warps),
            "unit_ready": In(len(Unit)), "barred": In(len(Unit)),
            "picked": Out(warps), "issue": Out(1), "issued": Out(issued_layout(config)),
            "issued_units": Out(len(Unit)),
            "local_wait": In(1), "local_warp": In(warp_bits), "local_rd": In(5),
            "written": In(1), "written_warp": In(warp_bits), "written_rd": In(5),
            "blocked": Out(len(STALLS)),
            **({"ready": Out(warps), "waits": Out(data.ArrayLayout(len(STALLS), warps))}
               if config.trace else {}),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        warps = config.warps
        m.submodules.buffers = buffers = Memory(shape=issued_layout(config), depth=2 * warps,
                                                init=[])
        buffer_write, buffer_read = buffers.write_port(), buffers.read_port(domain="comb")
        buffer_place = Signal(1 + index_bits(warps))
        m.submodules.arbiter = arbiter = RoundRobin(warps)
        m.d.comb += arbiter.advance.eq(1)

        grant = arbiter.grant
        fetched_by = Signal(warps)
        written_by = Signal(warps)
        local_by = Signal(warps)
        written_register = Signal(32)
        local_register = Signal(32)
        m.d.comb += [
            fetched_by.eq(Mux(self.fetched, 1 << self.fetched_warp, 0)),
            written_by.eq(Mux(self.written, 1 << self.written_warp, 0)),
            local_by.eq(Mux(self.local_wait, 1 << self.local_warp, 0)),
            written_register.eq(1 << self.written_rd),
            local_register.eq(1 << self.local_rd),
        ]
        extra = Timing(config).later
        issuing = Signal(warps)             # one-hot
        m.d[extra] += issuing.eq(Mux(self.launch, 0, grant) if config.long else grant)
        issued_registers = Signal(32)       # one bit, or two
        first_register = Mux(self.issued.decoded.writes, 1 << self.issued.decoded.rd, 0)
        second = second_destination(config, self.issued.decoded)
        m.d.comb += issued_registers.eq(first_register | Mux(second != 0, 1 << second, 0))

        follows = Signal()
        if config.long:
            # The register that each warp's last instruction writes, or x0, which nothing waits for.
            # A second register need not be known: the next instruction of an instruction that
            # writes two is fetched when its warp is resumed.
            last_writes = [Signal(5, name=f"last_written_{w}", reset_less=True)
                           for w in range(warps)]
            last_written = Signal(5)
            m.d.comb += [last_written.eq(and_or(fetched_by, last_writes)),
                         follows.eq(self.decoded.needs.bit_select(last_written, 1))]

        write_places, read_places = [], []
        units, states = [], []
        for w in range(warps):
            def signal(shape, name, **kwargs):
                return Signal(shape, name=f"{name}_{w}", **kwargs)
            # The fields of the (up to two) buffered instructions that all warps need at a time.
            summary = data.StructLayout({
                "needs": 32, "units": len(Unit),        # one-hot
                "follows": 1,                           # needs the result of the one before it
            })
            first, second = (signal(summary, name, reset_less=True)
                             for name in ("first", "second"))
            entering = signal(summary, "entering")
            count, read_place, unresolved = (signal(2, "count"), signal(1, "read_place"),
                                             signal(1, "unresolved"))
            # The unresolved instruction waits for the mask from the unit that hands out edges.
            asks_mask = signal(1, "asks_mask")
            busy = signal(32, "busy")
            has, takes, gives = signal(1, "has"), signal(1, "takes"), signal(1, "gives")
            # A picked instruction leaves its place when it issues. ``ahead`` is the first of the
            # remaining instructions, ``held`` their number.
            ahead = signal(summary, "ahead")
            held = signal(2, "held")
            # There is an instruction, and no register of it waits for a result.
            eligible = signal(1, "eligible")
            unit_takes, unit_ok = signal(1, "unit_takes"), signal(1, "unit_ok")
            fits = signal(1, "fits")
            issues = issuing[w]
            units.append(first.units)
            read_places.append(read_place)
            write_places.append(read_place ^ count[0])
            m.d.comb += [
                has.eq(held != 0), takes.eq(fetched_by[w]), gives.eq(grant[w]),
                ahead.eq(Mux(issues, second, first) if config.long else first),
                held.eq(count - issues if config.long else count),
                entering.needs.eq(self.decoded.needs),
                entering.units.eq(1 << self.decoded.unit.as_value()),
                entering.follows.eq(follows),
                unit_ok.eq(unit_takes & ~(self.barred & first.units).any()),
                arbiter.requests[w].eq(eligible & ~self.halt & unit_ok
                                       & (~issues if config.long else 1)),
                self.may_fetch[w].eq(self.active[w] & ~unresolved & ~takes & fits),
            ]
            m.d[extra] += unit_takes.eq((self.unit_ready & ahead.units).any())
            if config.long:
                # ``eligible`` and ``fits`` are found a cycle ahead. A pick in between makes no
                # difference to ``eligible``: no warp is picked in two cycles in a row. ``fits``
                # notices the place that a pick frees a cycle later.
                pending = signal(32, "pending")
                comes, goes = signal(1, "comes"), signal(1, "goes")
                some, several = any_and_several(pending)
                m.d.comb += [
                    pending.eq(busy & ahead.needs),
                    comes.eq(written_by[w] & pending.bit_select(self.written_rd, 1)),
                    goes.eq(issues & second.follows),
                ]
                with m.If(takes):
                    m.d.sync += last_writes[w].eq(
                        Mux(self.decoded.writes, self.decoded.rd, 0))
                m.d.sync += [
                    eligible.eq(has & ~(some & ~comes | several) & ~goes & ~self.launch),
                    fits.eq((held == 0) | (held == 1) & ~takes),
                ]
            else:
                m.d.comb += [eligible.eq(has & ((busy & first.needs) == 0)), fits.eq(count < 2)]
            with m.If(self.launch):
                m.d.sync += [count.eq(0), read_place.eq(0), unresolved.eq(0), busy.eq(0)]
            with m.Else():
                m.d.sync += count.eq(count + takes - issues)
                with m.If(issues):
                    m.d.sync += [first.eq(second), read_place.eq(~read_place)]
                with m.If(takes):
                    with m.If((count == 0) | ((count == 1) & issues)):
                        m.d.sync += first.eq(entering)
                    with m.Else():
                        m.d.sync += second.eq(entering)
                with m.If(takes & self.decoded.changes):
                    m.d.sync += [
                        unresolved.eq(1),
                        asks_mask.eq(self.decoded.unit == Unit.GATHER),
                    ]
                with m.Elif(self.resume[w]):
                    m.d.sync += unresolved.eq(0)
                m.d.sync += busy.eq((busy & ~Mux(written_by[w], written_register, 0))
                                    | Mux(issues, issued_registers, 0))
            if config.counters or config.trace:
                # The unit whose result a busy register waits for, for units with a cause.
                behind = {cause: stall.unit for cause, stall in STALLS.items()
                          if stall.unit is not None}
                from_unit = {unit: signal(32, f"from_{unit.name.lower()}", reset_less=True)
                             for unit in behind.values()}
                for unit, registers in from_unit.items():
                    with m.If(issues):
                        m.d.sync += registers.eq(Mux(self.issued_units[unit.value],
                                                     registers | issued_registers,
                                                     registers & ~issued_registers))
                from_local = signal(32, "from_local", reset_less=True)
                m.d.sync += from_local.eq((from_local | Mux(local_by[w], local_register, 0))
                                          & ~Mux(issues, issued_registers, 0))
                waits, refused = signal(32, "waits"), signal(1, "refused")
                holds = {cause: signal(1, f"waits_{cause}") for cause in STALLS}
                unresolved_mask = signal(1, "unresolved_mask")
                m.d.comb += [
                    waits.eq(busy & ahead.needs),
                    refused.eq(eligible & ~unit_ok & (~issues if config.long else 1)),
                    unresolved_mask.eq(self.active[w] & ~has & unresolved & asks_mask),
                    holds["local"].eq(has & (waits & from_unit[Unit.LSU] & from_local).any()),
                    holds["execute"].eq(has & ~Cat(holds["local"], *(
                        holds[cause] for cause in behind)).any()),
                    holds["barrier"].eq(self.active[w] & self.at_barrier[w]),
                    holds["fetch"].eq(self.active[w] & ~has & ~holds["barrier"]
                                      & ~unresolved_mask),
                ]
                for cause, unit in behind.items():
                    elsewhere = from_local if unit is Unit.LSU else Const(0, 32)
                    m.d.comb += holds[cause].eq(
                        (has & ((waits & from_unit[unit] & ~elsewhere).any()
                                | (refused & first.units[unit.value])))
                        | (unresolved_mask if unit is Unit.GATHER else 0))
                states.append(Cat(holds.values()))
            m.d.sync += Assert(~gives | has, "an empty buffer issues")
            m.d.sync += Assert(~takes | (held < 2), "an instruction buffer overflows")

        picked_units = Signal(len(Unit))
        # A place that is read is overwritten a cycle later at the earliest.
        m.d[extra] += [
            buffer_place.eq(Cat((grant & Cat(read_places)).any(), encode(grant))),
            self.issued_units.eq(Mux(self.launch, 0, picked_units) if config.long
                                 else picked_units),
        ]
        m.d.comb += [
            self.picked.eq(grant),
            picked_units.eq(and_or(grant, units)),
            self.issue.eq(issuing.any()),
            buffer_read.addr.eq(buffer_place),
            self.issued.eq(buffer_read.data),
            buffer_write.addr.eq(Cat((fetched_by & Cat(write_places)).any(), self.fetched_warp)),
            buffer_write.data.warp.eq(self.fetched_warp),
            buffer_write.data.pc.eq(self.fetched_pc),
            buffer_write.data.decoded.eq(self.decoded),
            buffer_write.en.eq(self.fetched),
        ]
        if config.counters or config.trace:
            held = [Signal(len(STALLS), name=f"state_{w}") for w in range(warps)]
            nobody = Signal()
            m.d[extra] += [nobody.eq(~grant.any()),
                           *(signal.eq(state) for signal, state in zip(held, states))]
            with m.If(nobody):
                m.d.comb += self.blocked.eq(Cat(
                    Cat(state[kind] for state in held).any()
                    for kind in range(len(STALLS))))
        if config.trace:
            m.d.comb += [self.ready.eq(arbiter.requests), self.waits.eq(Cat(states))]
        return m
