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
"""

import operator
from functools import reduce
from typing import NamedTuple


from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import and_or, count_ones, encode, index_bits, lowest
from hw.config import HardwareConfig
from hw.core.access import (AccessOp, bank_bits, misaligned, operation_layout, pass_layout,
                            row_bits)
from hw.core.combine import combine, partners
from hw.core.loads import slot_layout
from hw.isa import Cause
from hw.memory.amo import controls
from hw.operations import AmoOp, MemOp
from hw.streams import check_stream
from hw.timing import Timing


__all__ = ["Coalescer"]


class _Serving(NamedTuple):
    """The instruction whose lanes are served."""
    operation: data.View  #: Signal(operation_layout)
    slot: Signal  #: Its slot in the load queue.
    left: Signal  #: Signal(threads). The lanes that are not served yet.
    first: Signal  #: Signal(1). No pass of the first bank has left.
    #: Signal(threads). The lanes before which another lane that is left must be served, or goes to
    #: their place.
    rivaled: Signal
    mates: list[Signal]  #: As in :meth:`Coalescer._compare`.
    parts: list[Signal]  #: As in :meth:`Coalescer._compare`.
    #: list of Value. The lanes' data. The operands of an atomic are combined, in the long pipeline
    #: in part.
    operands: list
    #: The partners of the levels that are not done (:mod:`hw.core.combine`).
    partners: list[list[Signal]]


class Coalescer(wiring.Component):
    """Coalescer.

    Latency: the first passes are on offer two cycles after the instruction is accepted, in the long
    pipeline three. Throughput: one pass to each bank a cycle. No cycle is lost between two
    instructions, in the long pipeline one.

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
        threads = config.threads

        current = Signal(operation_layout(config), reset_less=True)
        left = Signal(threads)              # lanes of ``current`` that are not served yet
        working = Signal()                  # lanes are left
        slot = Signal(index_bits(config.load_queue))
        first = Signal()                    # no pass of the first bank has left
        served = Signal(threads)
        done = Signal()                     # the instruction's last pass leaves
        advance = Signal(config.l1_banks)   # a pass of the bank leaves

        # An instruction enters, and takes a slot of the load queue.
        head = self.operation.payload
        fails = Signal()
        wants_slot = Signal()
        may_enter = Signal()
        accept = Signal()
        entering = Signal(threads)
        m.d.comb += [
            fails.eq((head.mask & head.failing).any()),
            wants_slot.eq((head.op == MemOp.LOAD) | ((head.op == MemOp.AMO) & head.writes)),
            may_enter.eq(~working | timing.in_time(done)),
            self.operation.ready.eq(may_enter & (self.slot_free | ~wants_slot)),
            accept.eq(self.operation.valid & self.operation.ready),
            entering.eq(Mux(fails, 0, head.mask)),
            self.allot.eq(accept & wants_slot & ~fails),
            self.entry.warp.eq(head.warp), self.entry.rd.eq(head.rd),
            self.entry.mask.eq(head.mask), self.entry.size.eq(head.size),
            self.entry.signed.eq(head.signed),
        ]
        if config.gather_reads:
            m.d.comb += self.entry.of_unit.eq(head.of_unit)
        for i in range(threads):
            m.d.comb += [
                self.entry.offset[i].eq(head.address[i][:config.line_bits]),
                self.entry.bank[i].eq(self._bank_of(head, i)),
            ]
        mates, rivals, parts = self._compare(m, head)
        takes = timing.needed(accept, may_enter)
        with m.If(takes):
            m.d.sync += [current.eq(head), slot.eq(self.slot), first.eq(1)]
        with m.Elif(advance[0]):
            m.d.sync += first.eq(0)
        # An instruction enters only when no lane is left, so an OR joins both terms. ``accept`` is
        # known later than ``served``.
        m.d.sync += left.eq(left & ~served | Mux(accept, entering, 0))
        with m.If(accept):
            m.d.sync += working.eq(~fails)
        with m.Elif(done):
            m.d.sync += working.eq(0)
        reporting = self._report(m, accept, current)

        held_mates, held_rivals = (
            [Signal(threads, name=f"{name}_{i}") for i in range(threads)]
            for name in ("mates", "rivals"))
        held_parts = [Signal(i, name=f"parts_{i}") for i in range(1, threads)]
        with m.If(takes):
            m.d.sync += [held.eq(made) for held, made in
                         zip(held_mates + held_rivals + held_parts, mates + rivals + parts)]
        rivaled = Signal(threads)
        m.d.comb += rivaled.eq(Cat((left & held).any() for held in held_rivals))

        # Each bank's lanes that are left, and whether there are any. With one bank, the bank has
        # all lanes.
        in_bank, present = [left], [working]
        may_go = Const(1)
        holds = Signal()                    # a pass waits to be taken
        if config.l1_banks > 1:
            in_bank = [Signal(threads, name=f"left_{bank}") for bank in range(config.l1_banks)]
            present = [mine.any() for mine in in_bank]
            member = Signal(data.ArrayLayout(threads, config.l1_banks))
            with m.If(takes):
                m.d.sync += [member[bank][i].eq((self._bank_of(head, i) == bank)
                                                | (head.op == MemOp.FENCE))
                             for bank in range(config.l1_banks) for i in range(threads)]
            m.d.comb += [mine.eq(left & member[bank]) for bank, mine in enumerate(in_bank)]
            may_go = Signal()
            m.d.comb += may_go.eq((current.op != MemOp.FENCE) | ~(holds | self.asking))
        operands, open_partners = self._combine(m, current, left, held_mates, held_rivals)
        served_of, more, held = [], [], []
        for bank, (mine, any_left) in enumerate(zip(in_bank, present)):
            serving = _Serving(current, slot, mine, first, rivaled, held_mates, held_parts,
                               operands, open_partners)
            lanes, leaves, waits = self._serve(m, bank, serving, any_left & may_go)
            m.d.comb += advance[bank].eq(leaves)
            served_of.append(Mux(leaves, lanes, 0))
            more.append(Mux(leaves, self._leaves_lanes(serving), any_left))
            held.append(waits)
        m.d.comb += [
            served.eq(reduce(operator.or_, served_of)),
            holds.eq(Cat(held).any()),
            # Without waiting for ``served``.
            done.eq(working & ~Cat(more).any()),
            self.bank_conflict.eq(advance.any() & ~done),
            self.serving.eq(working),
            self.busy.eq(working | holds | self.operation.valid | reporting),
        ]

        running = Signal()
        m.d.sync += running.eq(1)
        with m.If(running):
            m.d.sync += [
                Assert(working == left.any(), "lanes are left, and it does not work"),
                Assert(~advance.any() | served.any(), "a pass serves no lane"),
                Assert((served & ~left) == 0, "a pass serves a lane again"),
                Assert(done == (working & ((left & ~served) == 0)),
                       "a pass leaves lanes unexpectedly"),
            ]
        check_stream(m, self.operation, name="operation")
        for bank, access in enumerate(self.access):
            check_stream(m, access, name=self._named("access", bank))
        return m

    def _named(self, name, bank):
        """The name of a signal of a bank."""
        return f"{name}_{bank}" if self._config.l1_banks > 1 else name

    def _bank_of(self, operation, lane):
        """The number of the bank that serves a lane."""
        low = self._config.line_bits
        bank = operation.address[lane][low:low + bank_bits(self._config)]
        return Mux(operation.local[lane], 0, bank)

    def _leaves_lanes(self, serving):
        """Whether a pass leaves lanes, without waiting for the lanes that the pass serves."""
        left = serving.left
        return Cat(left[i] & (left[:i] & part).any()
                   for i, part in enumerate(serving.parts, 1)).any()

    def _serve(self, m, bank, serving, goes):
        """Serve lanes of a bank: one pass a cycle.

        Parameters
        ----------
        m : Module
        bank : int
        serving : _Serving
            ``left`` has the lanes of the bank.
        goes : Value
            A pass may leave. Then lanes are left.

        Returns
        -------
        served : Signal(threads)
            The lanes of the pass.
        advance : Value
            The pass leaves.
        holds : Value
            A pass of the bank that has left waits to be taken.
        """
        config, timing, threads = self._config, self._timing, self._config.threads
        current, left, rivaled = serving.operation, serving.left, serving.rivaled

        def named(name):
            return self._named(name, bank)
        # ``served`` are the lanes of the pass. Where words of several lanes go to the same place,
        # ``chosen`` is the lane whose word is taken.
        leader = lowest(m, left, name=named("leader"))
        group, ahead, gathered, chosen, served = (
            Signal(threads, name=named(name))
            for name in ("group", "ahead", "gathered", "chosen", "pass_lanes"))
        is_local = Signal(name=named("is_local"))
        apart = Signal(name=named("apart"))
        room = Signal(name=named("room"))
        m.d.comb += [
            # Only the first bank has lanes in local memory.
            is_local.eq((leader & current.local).any() if bank == 0 else 0),
            apart.eq((current.op == MemOp.STORE) & (current.size != 2)
                     | self._apart(current)),
            group.eq(and_or(leader, serving.mates)),
            ahead.eq(left & ~rivaled & current.local),
            gathered.eq(and_or(ahead, serving.mates)),
            chosen.eq(Mux(is_local, ahead, left & ~rivaled & group)),
            served.eq(left & Mux(is_local, gathered, group & ~Mux(apart, rivaled, 0))),
        ]

        # From here on the fields of the pass are put together.
        m.submodules[named("leaving")] = leaving = timing.register(pass_layout(config))
        wiring.connect(m, leaving.o, wiring.flipped(self.access[bank]))
        picked_shape = data.StructLayout({
            "operation": operation_layout(config), "slot": len(serving.slot), "local": 1,
            "address": 32, "compare": 32, "served": threads, "chosen": threads,
            "partners": data.StructLayout({
                f"level_{depth}": data.ArrayLayout(1 << depth, threads // 2)
                for depth in self._late_levels})})
        picking = Signal(picked_shape, name=named("picking"))
        picked = Signal(picked_shape, name=named("picked"), reset_less=True)
        picked_valid = Signal(name=named("picked_valid"))
        # Loads of global memory place no words; their mask is for sectors. With ``chosen`` at 0 a
        # simulator skips the largest part of this unit's logic most of the time.
        places = Signal(name=named("places"))
        m.d.comb += [
            places.eq(goes & ((current.op != MemOp.LOAD) | is_local | (config.sectors > 1))),
            picking.operation.eq(current), picking.slot.eq(serving.slot),
            *(picking.operation.data[i].eq(operand) for i, operand in enumerate(serving.operands)),
            *(picking.partners[f"level_{depth}"][i].eq(one)
              for depth, found in zip(self._late_levels, serving.partners)
              for i, one in enumerate(found)),
            picking.local.eq(is_local),
            picking.address.eq(and_or(leader, [current.address[i] for i in range(threads)])),
            picking.served.eq(served), picking.chosen.eq(Mux(places, chosen, 0)),
        ]
        with m.If((current.op == MemOp.AMO) & (current.amo == AmoOp.CAS)):
            m.d.comb += picking.compare.eq(
                and_or(leader, [current.compare[i] for i in range(threads)]))
        if timing.has_pick_stage:
            m.d.comb += room.eq(~picked_valid | leaving.i.ready)
            with m.If(room):
                m.d.sync += [picked_valid.eq(goes), picked.eq(picking)]
        else:
            m.d.comb += [room.eq(leaving.i.ready), picked_valid.eq(goes), picked.eq(picking)]
        m.d.comb += leaving.i.valid.eq(picked_valid)
        if bank == 0:
            m.d.comb += self.local_conflict.eq(goes & room & is_local & ~serving.first)
        if config.counters:
            with m.If(goes & room & (current.op == MemOp.LOAD) & ~is_local):
                m.d.comb += self.load_words[bank].eq(count_ones(chosen))
        self._assemble(m, bank, picked, leaving.i.payload)
        return served, goes & room, leaving.o.valid | timing.only_later(picked_valid)

    def _apart(self, operation):
        """Whether an atomic of a whole line serves one lane of each word: operands are not
        combined. Without atomics of whole lines, a pass serves one lane anyway."""
        config = self._config
        if config.combines or not config.line_atomics:
            return 0
        return ((operation.op == MemOp.AMO) & ~operation.writes
                & (operation.amo != AmoOp.CAS))

    def _compare(self, m, head):
        """Three masks of lanes for each lane of an instruction that enters. Passes are made of
        them.

        *mates*
            The lanes that this lane brings into its pass.
        *rivals*
            The lanes that want the same word of the line, or the same bank, and go before this
            lane. Higher lanes go first, since the highest lane's value counts. For narrow stores
            and atomics lower lanes go first: the bytes of several lanes may have to be kept side
            by side, and a later lane sees the result of an earlier lane's atomic.
        *parts*
            The lower lanes that cannot share a pass with this lane.
        """
        config, threads = self._config, self._config.threads
        is_fence, is_amo, is_cas, narrow, together = (
            Signal(name=name) for name in ("is_fence", "is_amo", "is_cas", "narrow", "together"))
        m.d.comb += [
            is_fence.eq(head.op == MemOp.FENCE), is_amo.eq(head.op == MemOp.AMO),
            is_cas.eq(is_amo & (head.amo == AmoOp.CAS)),
            narrow.eq(is_amo | (head.op == MemOp.STORE) & (head.size != 2)),
            # Lanes of an atomic need no pass of their own, if nobody wants the old value.
            together.eq(is_amo & ~head.writes & ~is_cas),
        ]
        combines = together if config.combines else Const(0)
        spreads = self._apart(head)
        mates = [Signal(threads, name=f"new_mates_{i}") for i in range(threads)]
        rivals = [Signal(threads, name=f"new_rivals_{i}") for i in range(threads)]
        parts = [Signal(i, name=f"new_parts_{i}") for i in range(1, threads)]
        every = (1 << threads) - 1
        # The highest bit tells global memory from local.
        mapped = slice(config.line_bits, ceil_log2(config.memory_bytes))
        lines = [Cat(address[mapped], address[-1]) for address in head.address]
        places = [address[2:config.line_bits] for address in head.address]
        with m.If(self._timing.needed(self.operation.valid)):
            # Masks of the other lanes, for each lane. In one line both lanes are local, or neither.
            for i in range(threads):
                lined, worded, banked, clash, joined = (
                    Signal(threads, name=f"{name}_{i}")
                    for name in ("lined", "worded", "banked", "clash", "joined"))
                atomics = Mux(together, every if config.line_atomics
                              else worded if config.combines else 0, 0)
                m.d.comb += [
                    lined.eq(Cat(line == lines[i] for line in lines)),
                    worded.eq(Cat(place == places[i] for place in places)),
                    banked.eq(Mux(head.local[i], head.local, 0)),
                    clash.eq(worded & (lined | banked) | Mux(is_cas, banked, 0)),
                    joined.eq((banked & Mux(narrow & ~combines, 0, worded)
                               | ~banked & Mux(is_amo, atomics, every)) & lined
                              | Mux(is_fence, every, 0)),
                    mates[i].eq(joined | 1 << i),
                    rivals[i].eq(clash & Mux(narrow, (1 << i) - 1, every & (-2 << i))),
                ]
                if i:
                    m.d.comb += parts[i - 1].eq(~joined & (clash | ~banked) | (
                        ~banked & Mux(narrow & ~is_amo | spreads, clash, 0)))
        return mates, rivals, parts

    @property
    def _levels(self):
        """Levels of the tree that combines operands."""
        return range(ceil_log2(self._config.threads) if self._config.combines else 0)

    @property
    def _late_levels(self):
        """The levels after the register of a picked pass, which only the long pipeline has."""
        levels = self._levels
        return levels[self._timing.levels_in_time(len(levels)):]

    def _combine(self, m, current, left, mates, rivals):
        """Combine the operands of an atomic's lanes that are left, in the levels that are not late.

        Lanes that share a pass and a word are mates. The lower of them is a rival of the higher.

        Returns
        -------
        operands : list of Value
            Each lane's data. The lowest lane of a word has the combined operand.
        partners : list of list of Signal
            The partners of each late level. They are 0 if the instruction is no atomic.
        """
        threads, late = self._config.threads, self._late_levels
        same = [Signal(high, name=f"same_{high}") for high in range(threads)]
        with m.If(current.op == MemOp.AMO):
            m.d.comb += [below.eq(Mux(left[high], left & mates[high] & rivals[high], 0))
                         for high, below in enumerate(same)]
        found = [partners(m, same, threads, depth) for depth in self._levels]
        operands = [current.data[i] for i in range(threads)]
        for depth in self._levels[:late.start]:
            operands = combine(m, controls(current.amo), operands, found[depth], depth,
                               name="combined")
        return operands, found[late.start:]

    def _report(self, m, accept, current):
        """Report faults and instructions that begin: as the instruction is accepted, in the long
        pipeline a cycle later.

        Returns whether an instruction is reported in this cycle.
        """
        threads = self._config.threads
        telling = Signal()
        m.d[self._timing.later] += telling.eq(accept)
        head = self._timing.stage(self.operation.payload, current)
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

    def _assemble(self, m, bank, picked, access):
        """Build the pass of the lanes that were picked: operation, line or rows, words."""
        config, threads = self._config, self._config.threads
        current, is_local = picked.operation, picked.local
        lanes = range(threads)
        def named(name):
            return self._named(name, bank)
        placed = Signal(access.data.shape())
        mask = Signal(config.line_bytes)
        operands = [current.data[i] for i in lanes]
        for depth in self._late_levels:
            operands = combine(m, controls(current.amo), operands,
                               picked.partners[f"level_{depth}"], depth,
                               name=named("picked_operand"))
        # A lane's contribution to its word: data, byte mask, row.
        brought_shape = data.StructLayout({"data": 32, "mask": 4, "row": row_bits(config)})
        brought = [Signal(brought_shape, name=named(f"brought_{i}")) for i in lanes]
        for i, lane in enumerate(brought):
            low, value = current.address[i][:2], operands[i]
            m.d.comb += [
                lane.row.eq(current.address[i][config.line_bits:]),
                lane.mask.eq(0xF), lane.data.eq(value),
            ]
            with m.Switch(current.size):
                with m.Case(0):
                    m.d.comb += [lane.mask.eq(1 << low), lane.data.eq(value[:8].replicate(4))]
                with m.Case(1):
                    m.d.comb += [lane.mask.eq(3 << low), lane.data.eq(value[:16].replicate(2))]
        for word in range(config.line_words):
            choice = Signal(threads, name=named(f"choice_{word}"))
            taken = Signal(brought_shape, name=named(f"taken_{word}"))
            with m.If(picked.chosen.any()):
                m.d.comb += [
                    choice.eq(picked.chosen & Cat(address[2:config.line_bits] == word
                                                  for address in current.address)),
                    taken.as_value().eq(and_or(choice, brought)),
                ]
            m.d.comb += [
                access.rows[word].eq(taken.row),
                mask[4 * word:4 * word + 4].eq(taken.mask),
                placed[word].eq(taken.data),
            ]
        with m.Switch(current.op):
            with m.Case(MemOp.FENCE):
                m.d.comb += access.op.eq(AccessOp.FENCE)
            with m.Case(MemOp.AMO):
                m.d.comb += access.op.eq(Mux(is_local, AccessOp.LOCAL_AMO, AccessOp.AMO))
            with m.Case(MemOp.STORE):
                m.d.comb += access.op.eq(Mux(is_local, AccessOp.LOCAL_STORE, AccessOp.STORE))
            with m.Default():
                m.d.comb += access.op.eq(Mux(is_local, AccessOp.LOCAL_LOAD, AccessOp.LOAD))
        m.d.comb += [
            access.amo.eq(current.amo), access.wanted.eq(current.writes),
            access.slot.eq(picked.slot), access.lanes.eq(picked.served),
            access.line.eq(picked.address[config.line_bits + bank_bits(config):]),
            access.mask.eq(mask), access.data.eq(placed),
        ]
        # The word beside that of a CAS holds the value to compare with.
        with m.If((current.op == MemOp.AMO) & (current.amo == AmoOp.CAS)):
            for word in range(config.line_words):
                with m.If(picked.address[2] != word & 1):
                    m.d.comb += access.data[word].eq(picked.compare)
