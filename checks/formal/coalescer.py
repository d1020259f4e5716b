"""The promise of the coalescer as assertions: each active lane is served exactly once.

The harness holds a coalescer and the accepted instructions that are not served yet. Inputs, slots
and the readiness for passes are free. Each bank has its own lanes of an instruction, and all lanes
of a FENCE. In a bank, at most two instructions are not served: while the last pass of an
instruction waits to be taken, another instruction may have entered. The long pipeline holds two
more passes, and so two more instructions. Each further entry of the coalescer holds another. The
long pipeline and several entries have no invariants here, so their proofs hold only for the first
cycles after reset.

With several banks, a FENCE is offered to all banks in the same cycle. In the cycle before, no pass
was offered, and no bank had a request under way.

A pass serves lanes of the older instruction that were not served before. The pass must fit each of
its lanes: the line, or the row of the lane's bank; the lane's bytes, unless a higher lane of the
pass writes these bytes; the value that a CAS compares with. The operand of an atomic is that of all
lanes of the word, combined in lane order. This is checked for the operations on bits, which show
that each lane counts once. For the others it is checked where the word has one lane: benches test
the arithmetic. Some lanes must not share a word with another such lane in one pass: lanes whose old
value is wanted, and lanes that compare. A pass leaves no lane behind whose access to the same place
should come first.
"""

import operator
from functools import reduce

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from checks.formal.harness import Harness
from checks.formal.streams import hold
from hw.bits import index_bits
from hw.core.access import AccessOp, check_address, operation_layout, pass_layout, row_bits
from hw.core.coalescer import Coalescer
from hw.isa import Cause, MemoryMap
from hw.operations import AmoOp, MemOp
from hw.timing import Timing


__all__ = ["CoalescerPromise"]


class CoalescerPromise(Harness):
    """A coalescer and its promise."""
    def _ports(self, config):
        return {
            "operation": In(stream.Signature(operation_layout(config))),
            "access": Out(stream.Signature(pass_layout(config))).array(config.l1_banks),
            "slot": In(index_bits(config.load_queue)), "slot_free": In(1), "asking": In(1),
        }

    def elaborate(self, platform):
        m = Module()
        config, threads = self._config, self._config.threads
        dut = Coalescer(config)
        peek = self._place(m, dut)
        head = Signal(operation_layout(config))
        m.d.comb += [
            head.eq(self.operation.payload),
            dut.operation.valid.eq(self.operation.valid), dut.operation.payload.eq(head),
            self.operation.ready.eq(dut.operation.ready),
            dut.slot.eq(self.slot), dut.slot_free.eq(self.slot_free), dut.asking.eq(self.asking),
            Assume(~ResetSignal()), Assume(head.mask != 0), Assume(head.size != 3),
            Assume((head.op != MemOp.AMO) | (head.size == 2)),
        ]

        # The core's decoding of the addresses.

        for lane, at in enumerate(head.address):
            m.d.comb += Cat(head.local[lane], head.failing[lane]).eq(
                Cat(check_address(config, head.op, head.size, at)))

        # Accepted instructions, and faults.

        def is_local(address):
            bits = ceil_log2(config.local_bytes)
            return address[bits:] == MemoryMap.LOCAL >> bits

        def is_global(address):
            bits = ceil_log2(config.memory_bytes)
            return address[bits:] == MemoryMap.GLOBAL >> bits

        accepted = Signal()
        fails, cause, address = Signal(), Signal(Cause), Signal(32)
        culprit = Signal.like(dut.fault_lane)
        load = head.op == MemOp.LOAD
        for lane in reversed(range(threads)):
            at = head.address[lane]
            misaligned = ((head.size == 2) & (at[:2] != 0)) | ((head.size == 1) & at[0])
            unmapped = ~is_global(at) & ~is_local(at)
            with m.If(head.mask[lane] & (misaligned | unmapped) & (head.op != MemOp.FENCE)):
                m.d.comb += [
                    fails.eq(1), address.eq(at), culprit.eq(lane),
                    cause.eq(Mux(misaligned,
                                 Mux(load, Cause.LOAD_MISALIGNED, Cause.STORE_MISALIGNED),
                                 Mux(load, Cause.LOAD_ACCESS, Cause.STORE_ACCESS))),
                ]
        wants_slot = load | ((head.op == MemOp.AMO) & head.writes)
        # Faults are reported at once, or a cycle later in the long pipeline.
        told = data.StructLayout({
            "accepted": 1, "fails": 1, "cause": Cause, "address": 32, "pc": 32,
            "warp": len(dut.fault_warp), "lane": len(dut.fault_lane)})
        telling = Signal(told)
        m.d[Timing(config).later] += [
            telling.accepted.eq(accepted), telling.fails.eq(fails), telling.cause.eq(cause),
            telling.address.eq(address), telling.pc.eq(head.pc), telling.warp.eq(head.warp),
            telling.lane.eq(culprit),
        ]
        m.d.comb += [
            accepted.eq(self.operation.valid & self.operation.ready),
            Assert(dut.fault == (telling.accepted & telling.fails)),
            Assert(~dut.fault | ((dut.fault_cause == telling.cause)
                                 & (dut.fault_address == telling.address)
                                 & (dut.fault_pc == telling.pc)
                                 & (dut.fault_warp == telling.warp)
                                 & (dut.fault_lane == telling.lane))),
            Assert(dut.allot == (accepted & ~fails & wants_slot)),
            Assert(~dut.allot | self.slot_free),
        ]

        banks = range(config.l1_banks)
        oweds, covers = [], []
        for bank in banks:
            mine = Signal(threads, name=f"mine_{bank}")     # lanes that the bank is to serve
            m.d.comb += mine.eq(Cat(
                head.mask[lane] & ((Mux(is_local(at), 0, self._bank_of(at)) == bank)
                                   | (head.op == MemOp.FENCE))
                for lane, at in enumerate(head.address)))
            owed, cover = self._bank(m, dut, peek, bank, head, Mux(accepted & ~fails, mine, 0),
                                     is_local, is_global)
            oweds.append(owed)
            covers.append(cover)
        m.d.comb += [
            Assert(dut.busy == (Cat(owed.any() for owed in oweds).any() | self.operation.valid
                                | (telling.accepted if config.long else 0))),
            *(Cover(Cat(cover[text] for cover in covers).any(), text) for text in covers[0]),
            Cover(accepted & Cat(owed.any() for owed in oweds).any(),
                  "an instruction comes while another is served"),
            Cover(dut.fault, "a fault is reported"),
        ]
        if config.l1_banks > 1:
            self._fences(m, dut)
        hold(m, dut.operation, name="operation", rule=Assume, peek=peek)
        if not self._has_invariants:
            return m
        # Invariants of all banks.
        left, current = peek.signal("left"), Signal(operation_layout(config))
        fence = current.op == MemOp.FENCE
        m.d.comb += [current.eq(peek.signal("current")),
                     Assert(peek.signal("working") == left.any())]
        if config.l1_banks > 1:
            inside = [peek.signal(f"left_{bank}") for bank in banks]
            m.d.comb += [Assert(reduce(operator.or_, inside) == left),
                         *(Assert(~fence | (one == left)) for one in inside)]
        for lane in range(threads):
            mates, rivals = peek.signal(f"mates_{lane}"), peek.signal(f"rivals_{lane}")
            for other in range(threads):
                joined, first = self._related(current, lane, other, is_local)
                _, second = self._related(current, other, lane, is_local)
                narrow_store = (current.op == MemOp.STORE) & (current.size != 2)
                part = Mux(is_local(current.address[lane]) & is_local(current.address[other]),
                           (first | second) & ~joined,
                           ~joined | (first | second) & narrow_store)
                with m.If(left[lane] & left[other]):
                    m.d.comb += [Assert(mates[other] == (fence | joined)),
                                 Assert(fence | (rivals[other] == first))]
                    if other < lane:
                        parts = peek.signal(f"parts_{lane}")
                        m.d.comb += Assert(parts[other] == (~fence & part))
        return m

    def _fences(self, m, dut):
        """A FENCE is new in all banks or in none, and nothing was under way before."""
        banks = range(self._config.l1_banks)
        quiet, fences, fresh = (Signal(len(banks), name=name)
                                for name in ("quiet", "fences", "fresh"))
        asked = Signal()
        held = Signal(len(banks), name="held_access")
        m.d.sync += [
            asked.eq(self.asking), quiet.eq(~Cat(dut.access[bank].valid for bank in banks)),
            held.eq(Cat(dut.access[bank].valid & ~dut.access[bank].ready for bank in banks)),
        ]
        m.d.comb += [
            fences.eq(Cat(dut.access[bank].valid & (dut.access[bank].payload.op == AccessOp.FENCE)
                          for bank in banks)),
            fresh.eq(fences & ~held),
            Assert(~fresh.any() | (fresh.all() & (self._config.long | ~asked & quiet.all()))),
            Cover(fresh.any(), "a fence comes to all banks"),
        ]

    def _bank(self, m, dut, peek, bank, head, entering, is_local, is_global):
        """The promise for a bank.

        Parameters
        ----------
        entering : Value
            The lanes of the instruction ``head`` that are to be served from now on.

        Returns
        -------
        owed : Signal(threads)
            The lanes of the oldest instruction that are not served.
        covers : dict of Value
            Events, by their texts.
        """
        config, threads = self._config, self._config.threads
        several = config.l1_banks > 1

        def named(name):
            return f"{name}_{bank}" if several else name
        port, access = dut.access[bank], dut.access[bank].payload
        taken = Signal(name=named("taken"))
        m.d.comb += [
            self.access[bank].valid.eq(port.valid), self.access[bank].payload.eq(access),
            port.ready.eq(self.access[bank].ready), taken.eq(port.valid & port.ready),
        ]

        # The unserved instructions, the oldest first.

        under_way = range((4 if config.long else 2) + config.coalescer_depth - 1)
        operations = [Signal(operation_layout(config), name=named(f"operation_{k}"))
                      for k in under_way]
        slots = [Signal.like(self.slot, name=named(f"slot_{k}")) for k in under_way]
        oweds = [Signal(threads, name=named(f"owed_{k}")) for k in under_way]
        older, newer, older_slot, newer_slot = *operations[:2], *slots[:2]
        owed, owed_next = oweds[:2]
        left = Signal(threads, name=named("left_over"))
        ends = Signal(name=named("ends"))
        count = Signal(range(len(under_way) + 1), name=named("count"))   # instructions that stay
        m.d.comb += [
            left.eq(Mux(taken, owed & ~access.lanes, owed)), ends.eq(left == 0),
            count.eq(sum(one != 0 for one in oweds[1:]) + (left != 0)),
        ]
        m.d.sync += owed.eq(left)
        with m.If(ends):
            for k in under_way[:-1]:
                m.d.sync += [oweds[k].eq(oweds[k + 1]), operations[k].eq(operations[k + 1]),
                             slots[k].eq(slots[k + 1])]
            m.d.sync += oweds[-1].eq(0)
        with m.If(entering.any()):
            m.d.comb += Assert(ends | (oweds[-1] == 0))
            for k in under_way:
                with m.If(count == k):
                    m.d.sync += [oweds[k].eq(entering), operations[k].eq(head),
                                 slots[k].eq(self.slot)]

        # The promise for a pass.

        with m.If(port.valid):
            m.d.comb += [Assert(access.lanes != 0), Assert((access.lanes & ~owed) == 0)]
            self._fits(m, bank, access, older, older_slot, owed, is_local)
        waited = Signal(2 if config.long else 1, name=named("waited"))
        waits = (owed != 0) & ~port.valid
        if several:
            waits &= older.op != MemOp.FENCE
        m.d.sync += waited.eq(Mux(waits, waited << 1 | 1, 0))
        m.d.comb += Assert(~waited.all() | port.valid | ~waits)
        covers = {
            "a pass leaves lanes for the next": taken & (left != 0),
            "all lanes load from one line":
                taken & (access.lanes == (1 << threads) - 1) & (access.op == AccessOp.LOAD),
            "an atomic of local memory is served": taken & (access.op == AccessOp.LOCAL_AMO),
            "lanes of an atomic share a pass":
                taken & (access.lanes == (1 << threads) - 1) & (access.op == AccessOp.AMO),
        }
        hold(m, port, name=named("access"), peek=peek)
        if not self._has_invariants:
            return owed, covers

        # Invariants: the coalescer's registers hold the owed lanes.

        inside = Signal(threads, name=named("inside"))
        current = Signal(operation_layout(config), name=named("latest_inside"))
        latest = Signal(operation_layout(config), name=named("latest"))
        m.d.comb += [
            inside.eq(peek.signal(f"left_{bank}") if several else peek.signal("left")),
            current.eq(peek.signal("current")), latest.eq(Mux(owed_next != 0, newer, older)),
            Assert((owed_next == 0) | (owed != 0)),
            Assert(owed == Mux(port.valid, access.lanes, 0) | Mux(owed_next != 0, 0, inside)),
            Assert((owed_next == 0) | (port.valid & (owed_next == inside))),
            Assert(~port.valid | (owed_next != 0) | ((access.lanes & inside) == 0)),
            Assert((owed & ~older.mask) == 0), Assert((owed_next & ~newer.mask) == 0),
        ]
        with m.If(inside != 0):
            m.d.comb += [
                Assert(current == latest),
                Assert(peek.signal("slot") == Mux(owed_next != 0, newer_slot, older_slot)),
            ]
        for one, of in ((older, owed), (newer, owed_next)):
            with m.If(of != 0):
                m.d.comb += [Assert(one.size != 3),
                             Assert((one.op != MemOp.AMO) | (one.size == 2))]
            for lane in range(threads):
                at = one.address[lane]
                with m.If(of != 0):
                    m.d.comb += Assert(Cat(one.local[lane], one.failing[lane]) == Cat(
                        check_address(config, one.op, one.size, at)))
                with m.If(of[lane] & (one.op != MemOp.FENCE)):
                    m.d.comb += [
                        Assert(is_global(at) | is_local(at)),
                        Assert((one.size != 1) | ~at[0]), Assert((one.size != 2) | ~at[:2].any()),
                        Assert(Mux(is_local(at), 0, self._bank_of(at)) == bank),
                    ]
        return owed, covers

    @property
    def _has_invariants(self):
        """Whether induction finds the coalescer's registers described."""
        return not self._config.long and self._config.coalescer_depth == 1

    def _bank_of(self, at):
        """The bank of the L1 that has a global address."""
        low = self._config.line_bits
        return at[low:low + ceil_log2(self._config.l1_banks)]

    def _related(self, operation, lane, other, is_local):
        """Relation of two lanes.

        Returns whether ``lane`` brings ``other`` into its pass, and whether ``other``, with an
        access to the same place, comes first.
        """
        if lane == other:
            return 1, 0
        bits = self._config.line_bits
        one, two = operation.address[lane], operation.address[other]
        amo, cas = operation.op == MemOp.AMO, operation.amo == AmoOp.CAS
        alone = amo | (operation.op == MemOp.STORE) & (operation.size != 2)
        word, bank = one[2:] == two[2:], one[2:bits] == two[2:bits]
        local, lined = is_local(one), one[bits:] == two[bits:]
        combines = amo & ~operation.writes & ~cas
        joined = Mux(local, word & (~alone | combines),
                     Mux(amo, combines & (word | self._config.line_atomics & lined), lined))
        clash = Mux(local, is_local(two) & (bank | amo & cas), word)
        return joined, clash & (alone if other < lane else ~alone)

    def _fits(self, m, bank, access, operation, slot, owed, is_local):
        """Assert that a pass of a bank fits each of its lanes."""
        low = self._config.line_bits + ceil_log2(self._config.l1_banks)
        config, threads = self._config, self._config.threads
        is_store = operation.op == MemOp.STORE
        is_amo = operation.op == MemOp.AMO
        local = ((access.op == AccessOp.LOCAL_LOAD) | (access.op == AccessOp.LOCAL_STORE)
                 | (access.op == AccessOp.LOCAL_AMO))
        is_cas = is_amo & (operation.amo == AmoOp.CAS)
        is_bitwise = is_amo & Cat(operation.amo == op for op in (
            AmoOp.AND, AmoOp.OR, AmoOp.XOR)).any()
        one_lane = (access.lanes & (access.lanes - 1)) == 0

        def combined(low, high):
            return Mux(operation.amo == AmoOp.AND, low & high,
                       Mux(operation.amo == AmoOp.OR, low | high, low ^ high))
        with m.Switch(operation.op):
            with m.Case(MemOp.LOAD):
                m.d.comb += Assert((access.op == AccessOp.LOAD)
                                   | (access.op == AccessOp.LOCAL_LOAD))
            with m.Case(MemOp.STORE):
                m.d.comb += Assert((access.op == AccessOp.STORE)
                                   | (access.op == AccessOp.LOCAL_STORE))
            with m.Case(MemOp.AMO):
                m.d.comb += [Assert((access.op == AccessOp.AMO)
                                    | (access.op == AccessOp.LOCAL_AMO)),
                             Assert(access.amo == operation.amo),
                             Assert(access.wanted == operation.writes),
                             Assert(~access.wanted | local | one_lane),
                             Assert(~is_cas | one_lane)]
            with m.Case(MemOp.FENCE):
                m.d.comb += [Assert(access.op == AccessOp.FENCE), Assert(access.lanes == owed)]
        with m.If((operation.op == MemOp.LOAD) | (is_amo & operation.writes)):
            m.d.comb += Assert(access.slot == slot)

        written = [0] * config.line_bytes            # by the passes' lanes, (written, byte)
        for lane in range(threads):
            at = operation.address[lane]
            place, column = at[:config.line_bits], at[2:config.line_bits]
            row = Signal(row_bits(config), name=f"row_of_{bank}_{lane}")
            beside = Signal(32, name=f"beside_{bank}_{lane}")
            m.d.comb += [row.eq(access.rows[column]), beside.eq(access.data[column ^ 1])]
            with m.If(access.lanes[lane] & (operation.op != MemOp.FENCE)):
                m.d.comb += Assert(local == is_local(at))
                with m.If(local):
                    m.d.comb += Assert(row == at[config.line_bits:][:row_bits(config)])
                with m.Else():
                    m.d.comb += Assert(access.line == at[low:][:len(access.line)])
                with m.If(is_cas):
                    m.d.comb += Assert(beside == operation.compare[lane])
                with m.If(is_amo):
                    for other in range(lane):
                        shares = access.lanes[other] & (operation.address[other] == at)
                        m.d.comb += Assert(~shares | ~operation.writes & ~is_cas)
            size = Mux(operation.size == 2, 4, Mux(operation.size == 1, 2, 1))
            for byte in range(config.line_bytes):
                covers = Signal(name=f"covers_{bank}_{lane}_{byte}")
                value = Signal(8, name=f"value_{bank}_{lane}_{byte}")
                offset = Signal(config.line_bits, name=f"offset_{bank}_{lane}_{byte}")
                m.d.comb += [
                    offset.eq(byte - place),
                    covers.eq(access.lanes[lane] & (byte >= place) & (byte < place + size)),
                    value.eq(operation.data[lane].word_select(offset[:2], 8)),
                ]
                written[byte] = (covers, value, written[byte])
            # A lane that is left behind must not come first at the same place.
            for behind in range(lane):
                other = operation.address[behind]
                with m.If(access.lanes[lane] & owed[behind] & ~access.lanes[behind]
                          & (is_store | is_amo)):
                    m.d.comb += Assert(other != at)
        with m.If(is_store | is_amo):
            for byte, chain in enumerate(written):
                right, covered, several = 0, 0, 0
                layers = []
                while chain:
                    covers, value, chain = chain
                    layers.append((covers, value))
                for covers, value in reversed(layers):      # the highest lane wins
                    both = Mux(is_bitwise & covered, combined(right, value), value)
                    right = Mux(covers, both, right)
                    several |= covered & covers
                    covered |= covers
                got = access.data.as_value()[8 * byte:8 * byte + 8]
                known = is_store | is_bitwise | (operation.amo == AmoOp.SWAP) | ~several
                m.d.comb += [Assert(access.mask[byte] == covered),
                             Assert(~(access.mask[byte] & known) | (got == right))]
