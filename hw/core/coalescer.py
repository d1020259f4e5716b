"""The coalescer: turns the addresses of a warp's lanes into passes over lines or banks.

It takes a memory instruction and serves the lanes that are left pass by pass. The lowest lane that
is left leads. If its address is in global memory, the pass serves all lanes whose addresses are in
the same line (an atomic: the same word). If it is in local memory, the pass serves, in each bank,
the highest lane left and every lane that wants the same row (an atomic: the lowest lane left).

Lanes that store to one word are served by one pass, and the highest lane's value is stored; lanes
that store bytes or halfwords to one word get a pass each, in ascending order. The operands of
atomics on one word of global memory are combined if the old value is not wanted; else such lanes,
too, get a pass each, in ascending order. Lanes of a CAS always get a pass each.
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.core.access import AccessOp, operation_layout, pass_layout
from hw.core.loads import slot_layout
from hw.isa import Cause, MemoryMap
from hw.operations import AmoOp, MemOp
from hw.util import and_or, check_stream, highest, index_bits, lowest


__all__ = ["Coalescer"]


class Coalescer(wiring.Component):
    """Coalescer with address check.

    Latency: the first pass is offered two cycles after the instruction is accepted. Throughput:
    one pass a cycle, and no cycle between instructions.

    Members
    -------
    operation : In(stream(operation_layout))
        Memory instructions in program order of each warp; at least one lane is active.
    access : Out(stream(pass_layout))
        The passes.
    allot, entry : Out
        A load, or an atomic whose old value is wanted, takes a slot of the load queue.
    slot, slot_free : In
        That slot, and whether there is one.
    fault : Out(1)
        An address is misaligned or not mapped; the instruction is dropped.
    fault_cause, fault_address, fault_pc, fault_warp : Out
        What and where; of the lowest lane that fails.
    busy : Out(1)
        An instruction is under way.
    started_global : Out(1)
        An instruction whose leading lane is in global memory begins.
    started_local : Out(1)
        The same for local memory; ``started_warp`` and ``started_rd`` tell who waits for it.
    started_warp, started_rd : Out
    local_conflict : Out(1)
        A local pass was sent that was not its instruction's first.
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
            "busy": Out(1),
            "started_global": Out(1), "started_local": Out(1),
            "started_warp": Out(warp_bits), "started_rd": Out(5),
            "local_conflict": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        threads, words = config.threads, config.line_words

        current = Signal(operation_layout(config), reset_less=True)
        left = Signal(threads)              # lanes of ``current`` that are not served yet
        locals_ = Signal(threads)           # lanes of ``current`` in local memory
        slot = Signal(index_bits(config.load_queue))
        first = Signal()
        served = Signal(threads)
        advance = Signal()                  # a pass leaves
        done = Signal()                     # and it is the instruction's last

        # Entering: check the addresses, take a slot.
        head = self.operation.payload
        in_local, in_global, misaligned, unmapped = (
            Signal(threads, name=name)
            for name in ("in_local", "in_global", "misaligned", "unmapped"))
        for i in range(threads):
            address = head.address[i]
            local_bits = ceil_log2(config.local_bytes)
            memory_bits = ceil_log2(config.memory_bytes)
            m.d.comb += [
                in_local[i].eq(address[local_bits:] == MemoryMap.LOCAL >> local_bits),
                in_global[i].eq(address[memory_bits:] == MemoryMap.GLOBAL >> memory_bits),
                misaligned[i].eq(Mux(head.size == 2, address[:2].any(),
                                     (head.size == 1) & address[0])),
                unmapped[i].eq(~in_global[i] & ~in_local[i]),
            ]
        checked = Signal()
        failing = Signal(threads)
        fails = Signal()
        wants_slot = Signal()
        accept = Signal()
        m.d.comb += [
            checked.eq(head.op != MemOp.FENCE),
            failing.eq(Mux(checked, head.mask & (misaligned | unmapped), 0)),
            fails.eq(failing.any()),
            wants_slot.eq((head.op == MemOp.LOAD) | ((head.op == MemOp.AMO) & head.writes)),
            self.operation.ready.eq((~left.any() | done) & (self.slot_free | ~wants_slot)),
            accept.eq(self.operation.valid & self.operation.ready),
            self.allot.eq(accept & wants_slot & ~fails),
            self.entry.warp.eq(head.warp), self.entry.rd.eq(head.rd),
            self.entry.mask.eq(head.mask), self.entry.size.eq(head.size),
            self.entry.signed.eq(head.signed),
        ]
        for i in range(threads):
            m.d.comb += self.entry.offset[i].eq(head.address[i][:config.line_bits])
        culprit = lowest(m, failing, name="culprit")
        is_load = head.op == MemOp.LOAD
        m.d.comb += [
            self.fault.eq(accept & fails),
            self.fault_address.eq(and_or(culprit, [head.address[i] for i in range(threads)])),
            self.fault_cause.eq(
                Mux((culprit & misaligned).any(),
                    Mux(is_load, Cause.LOAD_MISALIGNED, Cause.STORE_MISALIGNED),
                    Mux(is_load, Cause.LOAD_ACCESS, Cause.STORE_ACCESS))),
            self.fault_pc.eq(head.pc), self.fault_warp.eq(head.warp),
        ]
        entering = Signal(threads)
        entering_leader = lowest(m, head.mask, name="entering_leader")
        m.d.comb += [
            entering.eq(Mux(fails, 0, head.mask)),
            self.started_local.eq(accept & ~fails & checked & (entering_leader & in_local).any()),
            self.started_global.eq(accept & ~fails & checked & (entering_leader & in_global).any()),
            self.started_warp.eq(head.warp), self.started_rd.eq(head.rd),
        ]
        with m.If(accept):
            m.d.sync += [
                current.eq(head), left.eq(entering), locals_.eq(in_local), slot.eq(self.slot),
                first.eq(1),
            ]
        with m.Elif(advance):
            m.d.sync += [left.eq(left & ~served), first.eq(0)]

        # The pass: who is served.
        leader = lowest(m, left, name="leader")
        leader_address = Signal(32)
        is_local, is_amo, is_cas = Signal(), Signal(), Signal()
        same_line, same_word, candidates = (
            Signal(threads, name=name) for name in ("same_line", "same_word", "candidates"))
        offsets = [Signal(index_bits(words), name=f"offset_{i}") for i in range(threads)]
        line_of = [current.address[i][config.line_bits:] for i in range(threads)]
        row_width = ceil_log2(config.local_bytes) - config.line_bits
        leader_line = leader_address[config.line_bits:]
        leader_word = leader_address[2:config.line_bits]
        m.d.comb += [
            leader_address.eq(and_or(leader, [current.address[i] for i in range(threads)])),
            is_local.eq((leader & locals_).any()),
            is_amo.eq(current.op == MemOp.AMO),
            is_cas.eq(is_amo & (current.amo == AmoOp.CAS)),
            same_line.eq(left & Cat(line == leader_line for line in line_of)),
            same_word.eq(same_line & Cat(offset == leader_word for offset in offsets)),
            candidates.eq(Mux(is_local, Mux(is_cas, leader, left & locals_), same_line)),
        ]
        for i in range(threads):
            m.d.comb += offsets[i].eq(current.address[i][2:config.line_bits])

        # Words at their places: one candidate of each word of the line, or bank, is chosen. That is
        # the highest, whose value counts; or, for bytes and halfwords, the lowest, and the others
        # follow in later passes, since their bytes may have to be kept side by side. For atomics it
        # is the lowest as well: the others see what it leaves.
        access = Signal(pass_layout(config))
        narrow = Signal()
        m.d.comb += narrow.eq(is_amo | (current.op == MemOp.STORE) & (current.size != 2))
        byte_masks = [Signal(4, name=f"byte_mask_{i}") for i in range(threads)]
        store_words = [Signal(32, name=f"store_word_{i}") for i in range(threads)]
        for i in range(threads):
            low = current.address[i][:2]
            value = current.data[i]
            m.d.comb += [byte_masks[i].eq(0xF), store_words[i].eq(value)]
            with m.Switch(current.size):
                with m.Case(0):
                    m.d.comb += [byte_masks[i].eq(1 << low),
                                 store_words[i].eq(value[:8].replicate(4))]
                with m.Case(1):
                    m.d.comb += [byte_masks[i].eq(3 << low),
                                 store_words[i].eq(value[:16].replicate(2))]
        placed = Signal(access.data.shape())
        mask = Signal(config.line_bytes)
        in_row = Signal(threads)            # of local candidates: the row that their bank opens
        chosen = Signal(threads)
        any_chosen = []
        row_hits = []
        # What a lane brings to its word: data, byte mask, row.
        brought_shape = data.StructLayout({"data": 32, "mask": 4, "row": row_width})
        brought = [Signal(brought_shape, name=f"brought_{i}") for i in range(threads)]
        # Loads and atomics in global memory place nothing. Saying so lets a simulator pass over the
        # largest part of this unit's logic most of the time.
        places = Signal()
        m.d.comb += places.eq(left.any() & ((current.op == MemOp.STORE) | is_local))
        for i in range(threads):
            m.d.comb += brought[i].eq(Cat(store_words[i], byte_masks[i], line_of[i][:row_width]))
        for word in range(words):
            wanting = Signal(threads, name=f"wanting_{word}")
            choice = Signal(threads, name=f"choice_{word}")
            taken = Signal(brought_shape, name=f"taken_{word}")
            hits = Signal(threads, name=f"row_hits_{word}")
            with m.If(places):
                m.d.comb += wanting.eq(candidates & Cat(offset == word for offset in offsets))
                top = highest(m, wanting, name=f"highest_{word}")
                bottom = lowest(m, wanting, name=f"lowest_{word}")
                m.d.comb += [
                    choice.eq(Mux(narrow, bottom, top)),
                    taken.as_value().eq(and_or(choice, brought)),
                    hits.eq(wanting & Cat(lane.row == taken.row for lane in brought)),
                ]
            m.d.comb += [
                access.rows[word].eq(taken.row),
                mask[4 * word:4 * word + 4].eq(taken.mask),
                placed[word].eq(taken.data),
            ]
            any_chosen.append(choice)
            row_hits.append(hits)
        m.d.comb += [
            chosen.eq(reduce(or_, any_chosen)),
            in_row.eq(reduce(or_, row_hits)),
        ]

        combines = Signal()
        m.d.comb += combines.eq(~current.writes & ~is_cas)
        with m.If(current.op == MemOp.FENCE):
            m.d.comb += [access.op.eq(AccessOp.FENCE), served.eq(left)]
        with m.Elif(is_amo):
            m.d.comb += [
                access.op.eq(Mux(is_local, AccessOp.LOCAL_AMO, AccessOp.AMO)),
                served.eq(Mux(is_local, chosen, Mux(combines, same_word, leader))),
            ]
        with m.Elif(current.op == MemOp.STORE):
            m.d.comb += [
                access.op.eq(Mux(is_local, AccessOp.LOCAL_STORE, AccessOp.STORE)),
                served.eq(Mux(narrow, chosen, Mux(is_local, in_row, same_line))),
            ]
        with m.Else():
            m.d.comb += [
                access.op.eq(Mux(is_local, AccessOp.LOCAL_LOAD, AccessOp.LOAD)),
                served.eq(Mux(is_local, in_row, same_line)),
            ]
        m.d.comb += [
            access.amo.eq(current.amo), access.wanted.eq(current.writes), access.slot.eq(slot),
            access.lanes.eq(served), access.line.eq(leader_line), access.word.eq(leader_word),
            access.mask.eq(mask),
            access.data.eq(placed),
            done.eq(advance & ((left & ~served) == 0)),
            advance.eq(left.any() & (~self.access.valid | self.access.ready)),
            self.busy.eq(left.any() | self.access.valid | self.operation.valid),
            self.local_conflict.eq(advance & ~first & is_local & (current.op != MemOp.FENCE)),
        ]
        with m.If(is_amo & ~is_local):
            for i in range(threads):
                m.d.comb += access.data[i].eq(current.data[i])
        with m.If(is_cas):
            m.d.comb += access.compare.eq(and_or(leader, [current.compare[i]
                                                          for i in range(threads)]))
        with m.If(~self.access.valid | self.access.ready):
            m.d.sync += [self.access.valid.eq(left.any()), self.access.payload.eq(access)]

        running = Signal()
        m.d.sync += running.eq(1)
        with m.If(running):
            m.d.sync += [
                Assert(~advance | served.any(), "a pass serves no lane"),
                Assert((served & ~left) == 0, "a pass serves a lane again"),
            ]
        check_stream(m, self.operation, name="operation")
        check_stream(m, self.access, name="access")
        return m
