"""The coalescer: turns the addresses of a warp's lanes into passes over lines or banks.

The coalescer takes a memory instruction and serves its lanes pass by pass. Each bank of the L1 has
passes of its own, for the lanes whose lines are in the bank. The first bank also has the lanes in
local memory. In each cycle each bank that has room takes a pass, if lanes of the bank are left. In
each pass the lowest lane of the bank that is left is the leader.

- If the leader's address is in global memory, the pass serves all lanes left whose addresses are in
  the same line. For an atomic, the addresses must be in the same word, unless the configuration has
  atomics of whole lines and the old value is not wanted.
- If the leader's address is in local memory, the pass serves the highest lane left in each bank,
  and every lane that wants the same row. For an atomic, the lowest lane left in each bank counts
  in place of the highest.

Lanes of one instruction that access the same word are served as follows:

- Stores of words share a pass, and the highest lane's value is stored.
- Stores of bytes or halfwords get a pass each, in ascending order of lanes.
- Atomics whose old value is not wanted share a pass, and their operands are combined
  (:mod:`hw.core.combine`), unless the configuration says otherwise. Other atomics get a pass each,
  in ascending order.
- Lanes of a CAS always get a pass each, whatever their addresses.

Accesses to one place are in one bank, so they keep their order. Accesses in different banks have no
order, except around a FENCE. A FENCE goes to all banks in the same cycle. With several banks it
waits until the L2 has taken every request before it.

Several instructions can be served at the same time (``coalescer_depth``). Each bank serves the
oldest of them of which it has lanes left, so a bank with few lanes of an instruction does not wait
for a bank with many. Each instruction has an entry, with its lanes and the result of their
comparison.
"""

import operator
from functools import reduce

from amaranth.hdl import Array, Assert, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.bits import and_or, encode, index_bits, lowest
from hw.config import HardwareConfig
from hw.core.access import bank_bits, misaligned, operation_layout, pass_layout
from hw.core.loads import slot_layout
from hw.core.passes import BankPasses, Serving, combined_in_time
from hw.core.related import Related, compare
from hw.isa import Cause
from hw.operations import MemOp
from hw.streams import check_stream
from hw.timing import Timing


__all__ = ["Coalescer"]


class _Entry:
    """An instruction whose lanes are served.

    Parameters
    ----------
    config : HardwareConfig
    suffix : str
        The end of the names of its signals.
    """
    def __init__(self, config: HardwareConfig, suffix: str):
        threads = config.threads
        self.operation = Signal(operation_layout(config), name=f"current{suffix}",
                                reset_less=True)
        #: Lanes that are not served yet.
        self.left = Signal(threads, name=f"left{suffix}")
        self.working = Signal(name=f"working{suffix}")  #: Lanes are left.
        self.slot = Signal(index_bits(config.load_queue), name=f"slot{suffix}")
        self.first = Signal(name=f"first{suffix}")  #: No pass of the first bank has left.
        self.served = Signal(threads, name=f"served{suffix}")  #: Lanes of passes that leave.
        self.done = Signal(name=f"done{suffix}")  #: The instruction's last pass leaves.
        self.related = Related.signals(threads, suffix=suffix)
        self.rivaled = Signal(threads, name=f"rivaled{suffix}")  #: As in ``Serving``.
        #: The lanes of each bank that are left, and whether there are any. With one bank, the bank
        #: has all lanes.
        self.in_bank, self.present = [self.left], [self.working]
        self.member = None
        if config.l1_banks > 1:
            self.in_bank = [Signal(threads, name=f"left_{bank}{suffix}")
                            for bank in range(config.l1_banks)]
            self.present = [mine.any() for mine in self.in_bank]
            self.member = Signal(data.ArrayLayout(threads, config.l1_banks),
                                 name=f"member{suffix}")
        self.operands, self.partners = [], []

    def serving(self, bank) -> Serving:
        """What a bank serves of it."""
        return Serving(self.operation, self.slot, self.in_bank[bank], self.first, self.rivaled,
                       self.related, self.operands, self.partners)


class Coalescer(wiring.Component):
    """Coalescer.

    Latency: the first passes are on offer two cycles after the instruction is accepted, in the long
    pipeline three. Throughput: one pass to each bank a cycle. No cycle is lost between two
    instructions; in the long pipeline one, unless several instructions are served at the same time.

    Members
    -------
    operation : In(stream(operation_layout))
        Memory instructions in program order of each warp; at least one lane is active.
    access : Out(stream(pass_layout)) of each bank
        The passes.
    asking : In(1)
        A bank has a pass or a request under way. A FENCE waits for the end, if there are several
        banks.
    allot, entry : Out(1), Out(slot_layout)
        A load, or an atomic whose old value is wanted, takes a slot of the load queue.
    slot, slot_free : In, In(1)
        The slot that ``allot`` takes, and whether a slot is free.
    fault : Out(1)
        An address is misaligned or not mapped, and the instruction is dropped. The outputs of
        faults and of instructions that begin come when the instruction is accepted, in the long
        pipeline a cycle later.
    fault_cause, fault_address, fault_pc, fault_warp, fault_lane : Out
        Cause and place of the fault, for the lowest lane that fails.
    busy : Out(1)
        An instruction is under way.
    serving : Out(1)
        Lanes of an instruction are left to serve, whether a pass leaves in this cycle or waits.
    started_global : Out(1)
        An instruction whose lowest active lane is in global memory begins. Accesses of the unit
        that hands out edges do not count.
    started_local : Out(1)
        The same for local memory.
    started_warp, started_rd : Out
        The warp, and the register that waits for the instruction.
    bank_conflict : Out(1)
        A pass leaves, and leaves lanes to wait for another.
    local_conflict : Out(1)
        A pass of local memory is sent that is not its instruction's first in the bank.
    load_words : Out of each bank
        The words of global memory that the lanes of a load want, whose pass leaves. 0 without
        counters.
    """
    def __init__(self, config: HardwareConfig):
        self._config, self._timing = config, Timing(config)
        warp_bits = index_bits(config.warps)
        super().__init__({
            "operation": In(stream.Signature(operation_layout(config))),
            "access": Out(stream.Signature(pass_layout(config))).array(config.l1_banks),
            "asking": In(1),
            "allot": Out(1), "entry": Out(slot_layout(config)),
            "slot": In(index_bits(config.load_queue)), "slot_free": In(1),
            "fault": Out(1), "fault_cause": Out(Cause), "fault_address": Out(32),
            "fault_pc": Out(32), "fault_warp": Out(warp_bits),
            "fault_lane": Out(index_bits(config.threads)),
            "busy": Out(1), "serving": Out(1),
            "started_global": Out(1), "started_local": Out(1),
            "started_warp": Out(warp_bits), "started_rd": Out(5),
            "bank_conflict": Out(1), "local_conflict": Out(1),
            "load_words": Out(range(config.threads + 1)).array(config.l1_banks),
        })

    def elaborate(self, platform):
        m = Module()
        config, timing = self._config, self._timing
        depth = config.coalescer_depth
        entries = [_Entry(config, f"_of_{number}" if depth > 1 else "") for number in range(depth)]

        # An instruction enters, and takes a slot of the load queue.
        head = self.operation.payload
        fails = Signal()
        wants_slot = Signal()
        accept = Signal()
        place = Signal(range(depth))            # the entry for the next instruction
        free = Signal(depth)
        may_enter = Signal()
        m.d.comb += [
            fails.eq((head.mask & head.failing).any()),
            wants_slot.eq((head.op == MemOp.LOAD) | ((head.op == MemOp.AMO) & head.writes)),
            free.eq(Cat(~entry.working | timing.in_time(entry.done) for entry in entries)),
            may_enter.eq(free.bit_select(place, 1)),
            self.operation.ready.eq(may_enter & (self.slot_free | ~wants_slot)),
            accept.eq(self.operation.valid & self.operation.ready),
            self.allot.eq(accept & wants_slot & ~fails),
            self.entry.warp.eq(head.warp), self.entry.rd.eq(head.rd),
            self.entry.mask.eq(head.mask), self.entry.size.eq(head.size),
            self.entry.signed.eq(head.signed),
        ]
        if config.gather_reads:
            m.d.comb += self.entry.of_unit.eq(head.of_unit)
        for i in range(config.threads):
            m.d.comb += [
                self.entry.offset[i].eq(head.address[i][:config.line_bits]),
                self.entry.bank[i].eq(self._bank_of(head, i)),
            ]
        latest = entries[0].operation           # the last that was accepted
        if depth > 1:
            latest_place = Signal.like(place)
            with m.If(accept):
                m.d.sync += latest_place.eq(place)
            with m.If(accept & ~fails):
                m.d.sync += place.eq(place + 1)
            latest = Signal(operation_layout(config))
            m.d.comb += latest.as_value().eq(Array(
                entry.operation.as_value() for entry in entries)[latest_place])
        reporting = self._report(m, accept, latest)
        made = compare(m, config, head, timing.needed(self.operation.valid))
        for number, entry in enumerate(entries):
            self._relate(m, entry, f"_of_{number}" if depth > 1 else "")

        # Each bank serves an entry.
        holds = Signal()                        # a pass waits to be taken
        advance = Signal(config.l1_banks)       # a pass of the bank leaves
        turns = [Signal(depth, name=f"turn_{bank}", init=1) if depth > 1 else Const(1)
                 for bank in range(config.l1_banks)]
        # A FENCE goes to all banks at once: a bank that has not come to it has a pass that waits.
        may_fence = ~(holds | self.asking) if config.l1_banks > 1 else Const(1)
        served, more, held = [], [], []
        for bank, turn in enumerate(turns):
            serving, goes = self._choose(m, entries, bank, turn, may_fence)
            lanes, leaves, waits = BankPasses(config, bank).serve(
                m, serving, goes, self.access[bank], self.local_conflict, self.load_words[bank])
            m.d.comb += advance[bank].eq(leaves)
            served.append(Mux(leaves, lanes, 0))
            more.append(Mux(leaves, serving.leaves_lanes, 1))
            held.append(waits)
            if depth > 1:
                here = Cat(entry.present[bank] & its for entry, its in zip(entries, turn)).any()
                self._pass_on(m, entries, bank, place, turn, here & more[bank])
        conflicts = []
        for number, entry in enumerate(entries):
            mine = [turn[number] for turn in turns]
            m.d.comb += [
                entry.served.eq(reduce(operator.or_, (
                    Mux(its, lanes, 0) if depth > 1 else lanes
                    for its, lanes in zip(mine, served)))),
                # Without waiting for ``served``.
                entry.done.eq(entry.working & ~Cat(
                    any_left & (~its | further if depth > 1 else further)
                    for its, any_left, further in zip(mine, entry.present, more)).any()),
            ]
            conflicts.append(~entry.done & Cat(
                leaves & its for leaves, its in zip(advance, mine)).any())
            with m.If(advance[0] & mine[0]):
                m.d.sync += entry.first.eq(0)
            here = place == number
            self._enter(m, entry, made, fails, may_enter & here, accept & here)
        m.d.comb += [
            holds.eq(Cat(held).any()),
            self.bank_conflict.eq(Cat(conflicts).any()),
            self.serving.eq(Cat(entry.working for entry in entries).any()),
            self.busy.eq(self.serving | holds | self.operation.valid | reporting),
        ]
        self._check(m, entries, advance)
        return m

    def _relate(self, m, entry, suffix):
        """What follows from an entry's registers: each bank's lanes, and combined operands."""
        m.d.comb += entry.rivaled.eq(Cat((entry.left & rivals).any()
                                         for rivals in entry.related.rivals))
        if entry.member is not None:
            m.d.comb += [mine.eq(entry.left & entry.member[bank])
                         for bank, mine in enumerate(entry.in_bank)]
        entry.operands, entry.partners = combined_in_time(
            m, self._config, entry.operation, entry.left, entry.related, suffix)

    def _enter(self, m, entry, made, fails, may_enter, accept):
        """The registers of an entry, when an instruction may enter it and is accepted."""
        config, timing, threads = self._config, self._timing, self._config.threads
        head = self.operation.payload
        entering = Signal(threads)
        takes = timing.needed(accept, may_enter)
        m.d.comb += entering.eq(Mux(fails, 0, head.mask))
        with m.If(takes):
            m.d.sync += [entry.operation.eq(head), entry.slot.eq(self.slot), entry.first.eq(1)]
            m.d.sync += [held.eq(new) for held, new in zip(entry.related.all, made.all)]
            if entry.member is not None:
                m.d.sync += [entry.member[bank][i].eq((self._bank_of(head, i) == bank)
                                                      | (head.op == MemOp.FENCE))
                             for bank in range(config.l1_banks) for i in range(threads)]
        # An instruction enters only when no lane is left, so an OR joins both terms. ``accept`` is
        # known later than ``served``.
        m.d.sync += entry.left.eq(entry.left & ~entry.served | Mux(accept, entering, 0))
        with m.If(accept):
            m.d.sync += entry.working.eq(~fails)
        with m.Elif(entry.done):
            m.d.sync += entry.working.eq(0)

    def _pass_on(self, m, entries, bank, place, turn, stays):
        """Give a bank's turn to the oldest other entry of which the bank has lanes left, unless it
        ``stays``. If there is none, to the entry that the next instruction takes."""
        with m.If(~stays):
            m.d.sync += turn.eq(1 << place)
            # The entry that the next instruction takes is the oldest, if an instruction is there.
            with m.Switch(place):
                for first in range(len(entries)):
                    order = [*range(first, len(entries)), *range(first)]
                    with m.Case(first):
                        for number in reversed(order):
                            with m.If(entries[number].present[bank] & ~turn[number]):
                                m.d.sync += turn.eq(1 << number)

    def _choose(self, m, entries, bank, turn, may_fence):
        """What a bank serves, and whether a pass may leave."""
        choices = [entry.serving(bank) for entry in entries]
        goes = [entry.present[bank] & its & ((entry.operation.op != MemOp.FENCE) | may_fence)
                for entry, its in zip(entries, turn)]
        if len(entries) == 1:
            return choices[0], goes[0]
        end = f"_at_{bank}"

        def chosen(values, name):
            result = Signal.like(values[0], name=name + end, reset_less=True)
            m.d.comb += Value.cast(result).eq(and_or(Cat(turn), values))
            return result
        related = Related.signals(self._config.threads, suffix=end)
        m.d.comb += [one.eq(and_or(Cat(turn), values)) for one, *values in zip(
            related.all, *(entry.related.all for entry in entries))]
        return Serving(
            chosen([one.operation for one in choices], "current"),
            chosen([one.slot for one in choices], "slot"),
            chosen([one.left for one in choices], "left"),
            chosen([one.first for one in choices], "first"),
            chosen([one.rivaled for one in choices], "rivaled"), related,
            [chosen(list(values), f"operand_{i}")
             for i, values in enumerate(zip(*(one.operands for one in choices)))],
            [[chosen(list(values), f"partner_{level}_{i}")
              for i, values in enumerate(zip(*found))]
             for level, found in enumerate(zip(*(one.partners for one in choices)))]), \
            Cat(goes).any()

    def _check(self, m, entries, advance):
        """Assert that the lanes of each instruction are served, each once."""
        running = Signal()
        m.d.sync += running.eq(1)
        with m.If(running):
            for entry in entries:
                m.d.comb += [
                    Assert(entry.working == entry.left.any(),
                           "lanes are left, and it does not work"),
                    Assert((entry.served & ~entry.left) == 0, "a pass serves a lane again"),
                    Assert(entry.done == (entry.working & ((entry.left & ~entry.served) == 0)),
                           "a pass leaves lanes unexpectedly"),
                ]
            m.d.comb += Assert(
                ~advance.any() | Cat(entry.served.any() for entry in entries).any(),
                "a pass serves no lane")
        check_stream(m, self.operation, name="operation")
        for bank, access in enumerate(self.access):
            check_stream(m, access,
                         name=f"access_{bank}" if self._config.l1_banks > 1 else "access")

    def _bank_of(self, operation, lane):
        """The number of the bank that serves a lane."""
        low = self._config.line_bits
        bank = operation.address[lane][low:low + bank_bits(self._config)]
        return Mux(operation.local[lane], 0, bank)

    def _report(self, m, accept, latest):
        """Report faults and instructions that begin: as the instruction is accepted, in the long
        pipeline a cycle later.

        Returns whether an instruction is reported in this cycle.
        """
        threads = self._config.threads
        telling = Signal()
        m.d[self._timing.later] += telling.eq(accept)
        head = self._timing.stage(self.operation.payload, latest)
        failing = Signal(threads)
        m.d.comb += failing.eq(head.mask & head.failing)
        culprit = lowest(m, failing, name="culprit")
        starter = lowest(m, head.mask, name="starter")
        is_load = head.op == MemOp.LOAD
        starts = Signal()
        m.d.comb += [
            self.fault.eq(telling & failing.any()),
            self.fault_address.eq(and_or(culprit, [head.address[i] for i in range(threads)])),
            self.fault_cause.eq(
                Mux((culprit & Cat(misaligned(head.size, address)
                                   for address in head.address)).any(),
                    Mux(is_load, Cause.LOAD_MISALIGNED, Cause.STORE_MISALIGNED),
                    Mux(is_load, Cause.LOAD_ACCESS, Cause.STORE_ACCESS))),
            self.fault_pc.eq(head.pc), self.fault_warp.eq(head.warp),
            self.fault_lane.eq(encode(culprit)),
            starts.eq(telling & ~failing.any() & (head.op != MemOp.FENCE)
                      & ~(head.of_unit if self._config.gather_reads else 0)),
            self.started_local.eq(starts & (starter & head.local).any()),
            self.started_global.eq(starts & ~(starter & head.local).any()),
            self.started_warp.eq(head.warp), self.started_rd.eq(head.rd),
        ]
        return telling
