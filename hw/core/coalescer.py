"""The coalescer: turns the addresses of a warp's lanes into passes over lines or banks.

The coalescer takes a memory instruction and serves its lanes pass by pass. In each pass the lowest
lane that is left is the leader.

- If the leader's address is in global memory, the pass serves all lanes left whose addresses are in
  the same line. For an atomic, the addresses must be in the same word.
- If the leader's address is in local memory, the pass serves the highest lane left in each bank,
  and every lane that wants the same row. For an atomic, the pass serves the lowest lane left.

Lanes of one instruction that access the same word are served as follows:

- Stores of words share a pass, and the highest lane's value is stored.
- Stores of bytes or halfwords get a pass each, in ascending order of lanes.
- Atomics of global memory whose old value is not wanted share a pass, and the L1 combines their
  operands. Other atomics get a pass each, in ascending order.
- Lanes of a CAS always get a pass each, whatever their addresses.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.core.access import AccessOp, misaligned, operation_layout, pass_layout, row_bits
from hw.core.loads import slot_layout
from hw.isa import Cause
from hw.operations import AmoOp, MemOp
from hw.util import (StreamBuffer, StreamRegister, and_or, check_stream, encode, extra_stage, guard,
                     index_bits, lowest)


__all__ = ["Coalescer"]


class Coalescer(wiring.Component):
    """Coalescer.

    Latency: the first pass is on offer two cycles after the instruction is accepted, in the long
    pipeline three. Throughput: one pass a cycle. No cycle is lost between two instructions, in the
    long pipeline one.

    Members
    -------
    operation : In(stream(operation_layout))
        Memory instructions in program order of each warp; at least one lane is active.
    access : Out(stream(pass_layout))
        The passes.
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
    started_global : Out(1)
        An instruction whose lowest active lane is in global memory begins.
    started_local : Out(1)
        The same for local memory.
    started_warp, started_rd : Out
        The warp, and the register that waits for the instruction.
    local_conflict : Out(1)
        A pass of local memory is sent that is not its instruction's first.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        warp_bits = index_bits(config.warps)
        super().__init__({
            "operation": In(stream.Signature(operation_layout(config))),
            "access": Out(stream.Signature(pass_layout(config))),
            "allot": Out(1), "entry": Out(slot_layout(config)),
            "slot": In(index_bits(config.load_queue)), "slot_free": In(1),
            "fault": Out(1), "fault_cause": Out(Cause), "fault_address": Out(32),
            "fault_pc": Out(32), "fault_warp": Out(warp_bits),
            "fault_lane": Out(index_bits(config.threads)),
            "busy": Out(1),
            "started_global": Out(1), "started_local": Out(1),
            "started_warp": Out(warp_bits), "started_rd": Out(5),
            "local_conflict": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        threads = config.threads

        current = Signal(operation_layout(config), reset_less=True)
        left = Signal(threads)              # lanes of ``current`` that are not served yet
        working = Signal()                  # lanes are left
        slot = Signal(index_bits(config.load_queue))
        first = Signal()
        served = Signal(threads)
        advance = Signal()                  # a pass leaves
        done = Signal()                     # the instruction's last pass leaves

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
            may_enter.eq(~working | (0 if config.long else done)),
            self.operation.ready.eq(may_enter & (self.slot_free | ~wants_slot)),
            accept.eq(self.operation.valid & self.operation.ready),
            entering.eq(Mux(fails, 0, head.mask)),
            self.allot.eq(accept & wants_slot & ~fails),
            self.entry.warp.eq(head.warp), self.entry.rd.eq(head.rd),
            self.entry.mask.eq(head.mask), self.entry.size.eq(head.size),
            self.entry.signed.eq(head.signed),
        ]
        for i in range(threads):
            m.d.comb += self.entry.offset[i].eq(head.address[i][:config.line_bits])
        mates, rivals, parts = self._compare(m, head)
        # The long pipeline loads the wide registers whether or not an instruction enters: their
        # enable does not wait for ``accept``.
        takes = may_enter if config.long else accept
        with m.If(takes):
            m.d.sync += [current.eq(head), slot.eq(self.slot), first.eq(1)]
        with m.Elif(advance):
            m.d.sync += first.eq(0)
        # An instruction enters only when no lane is left, so an OR joins both terms. ``accept`` is
        # known later than ``served``.
        m.d.sync += left.eq(left & ~Mux(advance, served, 0) | Mux(accept, entering, 0))
        with m.If(accept):
            m.d.sync += working.eq(~fails)
        with m.Elif(done):
            m.d.sync += working.eq(0)
        reporting = self._report(m, accept, current)

        # The pass: ``served`` are its lanes. Where words of several lanes go to the same place,
        # ``chosen`` is the lane whose word is taken.
        held_mates, held_rivals = (
            [Signal(threads, name=f"{name}_{i}") for i in range(threads)]
            for name in ("mates", "rivals"))
        held_parts = [Signal(i, name=f"parts_{i}") for i in range(1, threads)]
        with m.If(takes):
            m.d.sync += [held.eq(made) for held, made in
                         zip(held_mates + held_rivals + held_parts, mates + rivals + parts)]
        leader = lowest(m, left, name="leader")
        rivaled, group, ahead, gathered, chosen = (
            Signal(threads, name=name)
            for name in ("rivaled", "group", "ahead", "gathered", "chosen"))
        is_local = Signal()
        apart = Signal()
        more = Signal()
        m.d.comb += [
            is_local.eq((leader & current.local).any()),
            apart.eq((current.op == MemOp.STORE) & (current.size != 2)),
            rivaled.eq(Cat((left & held).any() for held in held_rivals)),
            group.eq(and_or(leader, held_mates)),
            ahead.eq(left & ~rivaled & current.local), gathered.eq(and_or(ahead, held_mates)),
            chosen.eq(Mux(is_local, ahead, left & ~rivaled & group)),
            served.eq(left & Mux(is_local, gathered, group & ~Mux(apart, rivaled, 0))),
            # ``more`` tells whether this pass leaves lanes, without waiting for ``served``.
            more.eq(Cat(left[i] & (left[:i] & held).any()
                        for i, held in enumerate(held_parts, 1)).any()),
            done.eq(advance & ~more),
            self.local_conflict.eq(advance & ~first & is_local),
        ]

        # From here on the fields of the pass are put together.
        m.submodules.leaving = leaving = (StreamBuffer if config.long else StreamRegister)(
            pass_layout(config))
        wiring.connect(m, leaving.o, wiring.flipped(self.access))
        picked_shape = data.StructLayout({
            "operation": operation_layout(config), "slot": len(slot), "local": 1,
            "address": 32, "compare": 32, "served": threads, "chosen": threads})
        picking = Signal(picked_shape)
        picked = Signal(picked_shape, reset_less=True)
        picked_valid = Signal()
        room = Signal()
        # Loads, and atomics of global memory, place no words. With ``chosen`` at 0 a simulator
        # skips the largest part of this unit's logic most of the time.
        places = Signal()
        m.d.comb += [
            places.eq(working & ((current.op == MemOp.STORE) | is_local)),
            picking.operation.eq(current), picking.slot.eq(slot), picking.local.eq(is_local),
            picking.address.eq(and_or(leader, [current.address[i] for i in range(threads)])),
            picking.served.eq(served), picking.chosen.eq(Mux(places, chosen, 0)),
            advance.eq(working & room),
        ]
        with m.If((current.op == MemOp.AMO) & (current.amo == AmoOp.CAS)):
            m.d.comb += picking.compare.eq(
                and_or(leader, [current.compare[i] for i in range(threads)]))
        if config.long:
            m.d.comb += room.eq(~picked_valid | leaving.i.ready)
            with m.If(room):
                m.d.sync += [picked_valid.eq(working), picked.eq(picking)]
        else:
            m.d.comb += [room.eq(leaving.i.ready), picked_valid.eq(working), picked.eq(picking)]
        m.d.comb += [
            leaving.i.valid.eq(picked_valid),
            self.busy.eq(working | picked_valid | self.access.valid
                         | self.operation.valid | reporting),
        ]
        self._assemble(m, picked, leaving.i.payload)

        running = Signal()
        m.d.sync += running.eq(1)
        with m.If(running):
            m.d.sync += [
                Assert(working == left.any(), "lanes are left, and it does not work"),
                Assert(~advance | served.any(), "a pass serves no lane"),
                Assert((served & ~left) == 0, "a pass serves a lane again"),
                Assert(more == (left & ~served).any(), "a pass leaves lanes unexpectedly"),
            ]
        check_stream(m, self.operation, name="operation")
        check_stream(m, self.access, name="access")
        return m

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
        is_fence, is_amo, is_cas, narrow, combines = (
            Signal(name=name) for name in ("is_fence", "is_amo", "is_cas", "narrow", "combines"))
        m.d.comb += [
            is_fence.eq(head.op == MemOp.FENCE), is_amo.eq(head.op == MemOp.AMO),
            is_cas.eq(is_amo & (head.amo == AmoOp.CAS)),
            narrow.eq(is_amo | (head.op == MemOp.STORE) & (head.size != 2)),
            combines.eq(~head.writes & ~is_cas),
        ]
        mates = [Signal(threads, name=f"new_mates_{i}") for i in range(threads)]
        rivals = [Signal(threads, name=f"new_rivals_{i}") for i in range(threads)]
        parts = [Signal(i, name=f"new_parts_{i}") for i in range(1, threads)]
        space = len(head.address[0]) - 1             # the bit that tells global memory from local
        mapped = slice(config.line_bits, ceil_log2(config.memory_bytes))
        places = [address[2:config.line_bits] for address in head.address]
        with m.If(guard(config, self.operation.valid)):
            for high in range(threads):
                m.d.comb += mates[high][high].eq(1)
                for low in range(high):
                    lined, worded, banked, clash, joined = (
                        Signal(name=f"{name}_{low}_{high}")
                        for name in ("lined", "worded", "banked", "clash", "joined"))
                    one, other = head.address[low], head.address[high]
                    m.d.comb += [
                        lined.eq(Cat(one[mapped], one[space]) == Cat(other[mapped], other[space])),
                        worded.eq(places[low] == places[high]),
                        banked.eq(head.local[low] & head.local[high]),
                        clash.eq(worded & (lined | banked) | is_cas & banked),
                        joined.eq(Mux(head.local[low], ~narrow & worded,
                                      ~is_amo | combines & worded) & lined | is_fence),
                        mates[low][high].eq(joined), mates[high][low].eq(joined),
                        rivals[low][high].eq(clash & ~narrow), rivals[high][low].eq(clash & narrow),
                        parts[high - 1][low].eq(Mux(banked, clash & ~joined,
                                                    ~joined | clash & narrow & ~is_amo)),
                    ]
        return mates, rivals, parts

    def _report(self, m, accept, current):
        """Report faults and instructions that begin: as the instruction is accepted, in the long
        pipeline a cycle later.

        Returns whether an instruction is reported in this cycle.
        """
        threads = self._config.threads
        telling = Signal()
        m.d[extra_stage(self._config)] += telling.eq(accept)
        head = current if self._config.long else self.operation.payload
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
            starts.eq(telling & ~failing.any() & (head.op != MemOp.FENCE)),
            self.started_local.eq(starts & (starter & head.local).any()),
            self.started_global.eq(starts & ~(starter & head.local).any()),
            self.started_warp.eq(head.warp), self.started_rd.eq(head.rd),
        ]
        return telling

    def _assemble(self, m, picked, access):
        """Build the pass of the lanes that were picked: operation, line or rows, words."""
        config, threads = self._config, self._config.threads
        current, is_local = picked.operation, picked.local
        lanes = range(threads)
        is_amo = Signal(name="picked_amo")
        placed = Signal(access.data.shape())
        mask = Signal(config.line_bytes)
        m.d.comb += is_amo.eq(current.op == MemOp.AMO)
        # A lane's contribution to its word: data, byte mask, row.
        brought_shape = data.StructLayout({"data": 32, "mask": 4, "row": row_bits(config)})
        brought = [Signal(brought_shape, name=f"brought_{i}") for i in lanes]
        for i, lane in enumerate(brought):
            low, value = current.address[i][:2], current.data[i]
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
            choice = Signal(threads, name=f"choice_{word}")
            taken = Signal(brought_shape, name=f"taken_{word}")
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
            access.line.eq(picked.address[config.line_bits:]),
            access.word.eq(picked.address[2:config.line_bits]),
            access.mask.eq(mask), access.data.eq(placed), access.compare.eq(picked.compare),
        ]
        with m.If(is_amo & ~is_local):
            m.d.comb += [access.data[i].eq(current.data[i]) for i in lanes]
