"""The promise of thread masks and divergence stacks as assertions: masks partition, pushes pair.

The harness holds the unit and, for each warp, a mask and a list of the open splits. Operations,
operands and the Weaver's answers are free. The harness assumes the core's behavior: a warp was
selected in the cycle before it performs; the warp has a lane and performs with its present mask. A
warp does not perform in two consecutive cycles, while its mask is being set, or during a launch.

Two statements go beyond a single operation. First, suppose that nothing activates a lane of the
other side of an open split. Then the running lanes and the lanes that each open split has left
behind are disjoint, and no stack overflows. Second, suppose that only SPLIT and JOIN change the
mask. Then the running lanes are all lanes of the present side: no lane is lost, and with an empty
stack all lanes run.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In
from amaranth.utils import ceil_log2

from checks.formal.harness import Harness
from hw.bits import at_most, index_bits
from hw.core.divergence import Divergence, stack_depth
from hw.operations import WarpOp


__all__ = ["DivergencePromise"]


class DivergencePromise(Harness):
    """The masks and stacks of all warps, and their promise."""
    def _ports(self, config):
        warp_bits, pc_bits = index_bits(config.warps), ceil_log2(config.imem_bytes)
        return {
            "launch": In(1), "select": In(warp_bits), "mask_of": In(warp_bits),
            "perform": In(1), "op": In(WarpOp), "pc": In(pc_bits),
            "nonzero": In(config.threads), "scalar_1": In(32), "scalar_2": In(32),
            "set_mask": In(1), "set_warp": In(warp_bits), "set_lanes": In(config.threads),
        }

    def elaborate(self, platform):
        m = Module()
        config = self._config
        warps, threads, depth = range(config.warps), config.threads, stack_depth(config)
        every = (1 << threads) - 1
        dut = Divergence(config)
        peek = self._place(m, dut)

        # The model: each warp's mask, and its open splits from the outermost to the innermost.

        entry_shape = data.StructLayout({
            "turned": 1, "behind": threads, "whole": threads, "pc": len(self.pc)})
        masks = Array(Signal(threads, name=f"running_{w}") for w in warps)
        counts = Array(Signal(range(depth + 1), name=f"open_{w}") for w in warps)
        splits = [[Signal(entry_shape, name=f"split_{w}_{i}") for i in range(depth)]
                  for w in warps]
        warp, performed, recent = Signal.like(self.select), Signal(), Signal.like(self.select)
        m.d.sync += [warp.eq(self.select), performed.eq(self.perform), recent.eq(warp)]

        lanes, count, top = Signal(threads), Signal.like(counts[0]), Signal(entry_shape)
        passing, failing = Signal(threads), Signal(threads)
        splits_, joins, fails = Signal(), Signal(), Signal()
        after = Signal(threads)
        m.d.comb += [
            lanes.eq(masks[warp]), count.eq(counts[warp]),
            passing.eq(lanes & self.nonzero), failing.eq(lanes & ~self.nonzero),
            splits_.eq((self.op == WarpOp.SPLIT) & (passing != 0) & (failing != 0)),
            joins.eq((self.op == WarpOp.JOIN) & (self.scalar_1 != count)),
            fails.eq((splits_ & (count == depth)) | (joins & (count == 0))),
            after.eq(lanes),
        ]
        for w in warps:
            for i in range(depth):
                with m.If((warp == w) & (count == i + 1)):
                    m.d.comb += top.eq(splits[w][i])
        with m.If(splits_):
            m.d.comb += after.eq(passing)
        with m.Elif(joins):
            m.d.comb += after.eq(Mux(top.turned, top.whole, top.behind))
        with m.Elif(self.op == WarpOp.TMC):
            m.d.comb += after.eq(self.scalar_1)
        with m.Elif(self.op == WarpOp.PRED):
            m.d.comb += after.eq(Mux(passing != 0, passing, self.scalar_2))
        changes = self.perform & ~fails
        for w in warps:
            mine = changes & (warp == w)
            with m.If(self.launch):
                m.d.sync += [masks[w].eq(every), counts[w].eq(0)]
            with m.Elif(self.set_mask & (self.set_warp == w)):
                m.d.sync += masks[w].eq(self.set_lanes)
            with m.Elif(mine):
                m.d.sync += [masks[w].eq(after),
                             counts[w].eq(count + splits_ - (joins & top.turned))]
            for i in range(depth):
                with m.If(mine & splits_ & (count == i)):
                    m.d.sync += [splits[w][i].turned.eq(0), splits[w][i].behind.eq(failing),
                                 splits[w][i].whole.eq(lanes), splits[w][i].pc.eq(self.pc + 4)]
                with m.If(mine & joins & (count == i + 1)):
                    m.d.sync += splits[w][i].turned.eq(1)

        # Assumptions about the core, and the promise of the unit.

        m.d.comb += [
            dut.launch.eq(self.launch), dut.select.eq(self.select), dut.mask_of.eq(self.mask_of),
            dut.perform.eq(self.perform), dut.op.eq(self.op), dut.warp.eq(warp),
            dut.lanes.eq(lanes), dut.pc.eq(self.pc), dut.passing.eq(self.nonzero),
            dut.scalar_1.eq(self.scalar_1), dut.scalar_2.eq(self.scalar_2),
            dut.returned.eq(at_most(self.scalar_1, stack_depth(self._config) + 1)),
            dut.set_mask.eq(self.set_mask), dut.set_warp.eq(self.set_warp),
            dut.set_lanes.eq(self.set_lanes),
            Assume(~ResetSignal()),
            Assume(~self.perform | ((lanes != 0) & ~self.launch
                                    & ~(performed & (recent == warp))
                                    & ~(self.set_mask & (self.set_warp == warp)))),
            Assume((self.op == WarpOp.TMC) | (self.op == WarpOp.SPLIT)
                   | (self.op == WarpOp.JOIN) | (self.op == WarpOp.PRED)),
            Assert(dut.mask == masks[self.mask_of]),
            Assert(dut.active == Cat(masks[w].any() for w in warps)),
            Assert(dut.overflow == (self.perform & splits_ & (count == depth))),
            Assert(dut.underflow == (self.perform & joins & (count == 0))),
        ]
        with m.If(changes):
            m.d.comb += [
                Assert(dut.pointer == count), Assert(dut.ends == (after == 0)),
                Assert(dut.jump == (joins & ~top.turned)),
                Assert(~dut.jump | (dut.jump_pc == top.pc)),
            ]
        self._assert_partition(m, masks, counts, splits, changes, warp, after, dut.overflow)
        m.d.comb += [
            Cover(changes & splits_, "a SPLIT leaves lanes behind"),
            Cover(changes & joins & ~top.turned, "a JOIN turns to the lanes left behind"),
            Cover(changes & joins & top.turned, "a JOIN brings both sides together"),
            Cover(dut.overflow, "the stack overflows"),
            Cover(dut.underflow, "the stack underflows"),
        ]

        read = Mux(performed & (recent == warp), 0, 1 << warp)      # warps whose top was read
        self._add_invariants(m, peek, masks, counts, splits, read)
        return m

    def _add_invariants(self, m, peek, masks, counts, splits, read):
        """Assert that registers and stack agree with the model."""
        depth = stack_depth(self._config)
        rows, stride = peek.memory("stack"), 1 << ceil_log2(depth)
        for w in range(self._config.warps):
            m.d.comb += [Assert(peek.signal(f"mask_{w}") == masks[w]),
                         Assert(peek.signal(f"level_{w}") == counts[w]),
                         Assert(counts[w] <= depth)]
            with m.If((read >> w)[0]):
                m.d.comb += Assert(peek.signal("level") == counts[w])
            for i in range(depth):
                with m.If(i < counts[w]):
                    m.d.comb += [Assert(rows[stride * w + i] == splits[w][i].as_value()),
                                 Assert(splits[w][i].behind != 0),
                                 Assert(splits[w][i].whole != 0)]
                with m.If((read >> w)[0] & (counts[w] == i + 1)):
                    m.d.comb += Assert(peek.output("stack") == splits[w][i].as_value())

    def _assert_partition(self, m, masks, counts, splits, changes, warp, after, overflow):
        """Assert the relations between the masks of a warp."""
        threads, depth = self._config.threads, stack_depth(self._config)
        every = (1 << threads) - 1
        joins_or_splits = (self.op == WarpOp.SPLIT) | (self.op == WarpOp.JOIN)
        for w in range(self._config.warps):
            # The lanes that may run: for each open split, the lanes of the running side.
            sides = [Mux(split.turned, split.behind, split.whole & ~split.behind)
                     for split in splits[w]]
            inside = Signal(threads, name=f"inside_{w}")
            m.d.comb += inside.eq(every)
            for i in range(depth):
                with m.If(counts[w] == i + 1):
                    m.d.comb += inside.eq(sides[i])
            sets = self.set_mask & (self.set_warp == w)
            mine = changes & (warp == w) & ~joins_or_splits
            other, outside = Signal(name=f"other_{w}"), Signal(name=f"outside_{w}")
            with m.If(self.launch):
                m.d.sync += [other.eq(0), outside.eq(0)]
            with m.Elif(sets | mine):
                m.d.sync += other.eq(1)
                with m.If((Mux(sets, self.set_lanes, after) & ~inside) != 0):
                    m.d.sync += outside.eq(1)
            started = Signal(name=f"started_{w}")       # before a launch no lane runs
            with m.If(self.launch):
                m.d.sync += started.eq(1)
            m.d.comb += [Assert(~outside | other),
                         Assert(started | other | (masks[w] == 0) & (counts[w] == 0))]

            with m.If(~outside):
                m.d.comb += [Assert((masks[w] & ~inside) == 0),
                             Assert(~(overflow & (warp == w)))]
            with m.If(~other & started):
                m.d.comb += Assert(masks[w] == inside)
            for i, split in enumerate(splits[w]):
                around = sides[i - 1] if i else every
                with m.If((i < counts[w]) & ~outside):
                    m.d.comb += [
                        Assert(split.behind != 0), Assert((split.behind & ~split.whole) == 0),
                        Assert((split.whole & ~split.behind) != 0),
                        Assert((split.whole & ~around) == 0),
                        Assert(other | (split.whole == around)),
                        # Running lanes and lanes left behind by each split are disjoint.
                        Assert(split.turned | ((masks[w] & split.behind) == 0)),
                    ]
                    for outer in splits[w][:i]:
                        m.d.comb += Assert(split.turned | outer.turned
                                           | ((split.behind & outer.behind) == 0))
