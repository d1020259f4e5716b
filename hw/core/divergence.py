"""Thread masks and the divergence stack: TMC, SPLIT, JOIN, PRED.

A SPLIT whose lanes disagree pushes one entry: the lanes left behind, the PC where these lanes
resume, and the whole mask. The first JOIN that meets the entry turns to the lanes left behind. The
second JOIN restores the whole mask and pops the entry. A SPLIT whose lanes agree pushes nothing.
Its JOIN finds the same stack level as the SPLIT, and does nothing.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import and_or, index_bits
from hw.config import HardwareConfig
from hw.operations import WarpOp


__all__ = ["Divergence", "stack_depth"]


def stack_depth(config: HardwareConfig):
    """Entries of a warp's divergence stack. Each entry splits off at least one lane."""
    return max(1, config.threads - 1)


class Divergence(wiring.Component):
    """Thread masks and divergence stacks of all warps.

    Latency: ``select`` names the warp a cycle before its operation; the operation's outputs are
    combinational. Throughput: one operation a cycle; for one warp, one in two cycles.

    Members
    -------
    launch : In(1)
        All warps become active with all lanes, and all stacks empty.
    select : In
        The warp whose operation is performed in the next cycle.
    mask_of, mask : In, Out(threads)
        Any warp, and its thread mask in the same cycle.
    active : Out(warps)
        Warps that have not ended.
    perform : In(1)
        Perform ``op`` of ``warp``, whose mask is ``lanes``.
    op, warp, lanes, pc : In
    passing : In(threads)
        Lanes whose rs1 is not zero.
    scalar_1, scalar_2 : In(32)
        rs1 and rs2 of the lowest active lane.
    returned : In
        rs1 of the lowest active lane again, as the pointer of a JOIN. ``stack_depth(config) + 1``
        stands for all larger values.
    pointer : Out(32)
        Entries on the stack before the operation: the result of a SPLIT.
    jump : Out(1)
        The warp resumes at ``jump_pc``; else after the operation.
    jump_pc : Out
    ends : Out(1)
        The operation ends the warp.
    overflow, underflow : Out(1)
        The operation fails: SPLIT with a full stack, JOIN with an empty one.
    set_mask, set_warp, set_lanes : In
        Set the mask of ``set_warp`` to ``set_lanes`` (the Weaver's answer).
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        warp_bits, pc_bits = index_bits(config.warps), ceil_log2(config.imem_bytes)
        super().__init__({
            "launch": In(1), "select": In(warp_bits),
            "mask_of": In(warp_bits), "mask": Out(config.threads), "active": Out(config.warps),
            "perform": In(1), "op": In(WarpOp), "warp": In(warp_bits),
            "lanes": In(config.threads), "pc": In(pc_bits), "passing": In(config.threads),
            "scalar_1": In(32), "scalar_2": In(32),
            "returned": In(range(stack_depth(config) + 2)),
            "pointer": Out(32), "jump": Out(1), "jump_pc": Out(pc_bits), "ends": Out(1),
            "overflow": Out(1), "underflow": Out(1),
            "set_mask": In(1), "set_warp": In(warp_bits), "set_lanes": In(config.threads),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        warps, threads = config.warps, config.threads
        depth = stack_depth(config)
        level_bits = ceil_log2(depth + 1)
        entry_shape = data.StructLayout({
            "turned": 1,                            # the lanes left behind are running
            "behind": threads, "whole": threads,
            "pc": ceil_log2(config.imem_bytes),
        })
        m.submodules.stack = stack = Memory(
            shape=entry_shape, depth=warps << ceil_log2(depth), init=[],
            attrs={"ram_style": "distributed", "no_rw_check": 1})
        stack_read, stack_write = stack.read_port(), stack.write_port()

        masks = [Signal(threads, name=f"mask_{i}") for i in range(warps)]
        levels = [Signal(level_bits, name=f"level_{i}") for i in range(warps)]
        selected, performing, asked, setting = (
            Signal(warps, name=name) for name in ("selected", "performing", "asked", "setting"))
        # The level of the warp that performs. This warp did not perform in the cycle before.
        level = Signal(level_bits)
        selected_level = Signal(level_bits)
        top_level = Signal(level_bits)
        m.d.sync += level.eq(Mux(self.launch, 0, selected_level))
        m.d.comb += [
            selected.eq(1 << self.select),
            asked.eq(1 << self.mask_of),
            performing.eq(Mux(self.perform, 1 << self.warp, 0)),
            setting.eq(Mux(self.set_mask, 1 << self.set_warp, 0)),
            self.mask.eq(and_or(asked, masks)),
            selected_level.eq(and_or(selected, levels)), top_level.eq(selected_level - 1),
            stack_read.addr.eq(Cat(top_level[:ceil_log2(depth)], self.select)),
            self.pointer.eq(level),
        ]

        entry = stack_read.data
        passing = Signal(threads)
        failing = Signal(threads)
        diverges = Signal()
        meets = Signal()
        after = Signal(threads)
        m.d.comb += [
            passing.eq(self.lanes & self.passing),
            failing.eq(self.lanes & ~self.passing),
            diverges.eq((self.op == WarpOp.SPLIT) & passing.any() & failing.any()),
            meets.eq((self.op == WarpOp.JOIN) & (self.returned != level)),
            self.overflow.eq(self.perform & diverges & (level == depth)),
            self.underflow.eq(self.perform & meets & (level == 0)),
            self.jump.eq(meets & ~entry.turned),
            self.jump_pc.eq(entry.pc),
            after.eq(self.lanes),
        ]
        with m.Switch(self.op):
            with m.Case(WarpOp.TMC):
                m.d.comb += after.eq(self.scalar_1)
            with m.Case(WarpOp.SPLIT):
                m.d.comb += after.eq(Mux(diverges, passing, self.lanes))
            with m.Case(WarpOp.JOIN):
                m.d.comb += after.eq(
                    Mux(meets, Mux(entry.turned, entry.whole, entry.behind), self.lanes))
            with m.Case(WarpOp.PRED):
                m.d.comb += after.eq(Mux(passing.any(), passing, self.scalar_2))
        m.d.comb += [
            # All sides of a SPLIT have lanes, so only TMC and PRED can end a warp.
            self.ends.eq(Mux(self.op == WarpOp.TMC, self.scalar_1[:threads] == 0,
                             (self.op == WarpOp.PRED) & ~passing.any()
                             & (self.scalar_2[:threads] == 0))),
            stack_write.en.eq(self.perform & (diverges | (meets & ~entry.turned))
                              & ~self.overflow & ~self.underflow),
            stack_write.addr.eq(Cat(Mux(diverges, level, level - 1)[:ceil_log2(depth)],
                                    self.warp)),
            stack_write.data.eq(entry),
        ]
        with m.If(diverges):
            m.d.comb += [
                stack_write.data.turned.eq(0), stack_write.data.behind.eq(failing),
                stack_write.data.whole.eq(self.lanes), stack_write.data.pc.eq(self.pc + 4),
            ]
        with m.Else():
            m.d.comb += stack_write.data.turned.eq(1)

        for i in range(warps):
            with m.If(self.launch):
                m.d.sync += [masks[i].eq((1 << threads) - 1), levels[i].eq(0),
                             self.active[i].eq(1)]
            with m.Elif(setting[i]):
                m.d.sync += [masks[i].eq(self.set_lanes), self.active[i].eq(self.set_lanes.any())]
            with m.Elif(performing[i] & ~self.overflow & ~self.underflow):
                m.d.sync += [masks[i].eq(after), self.active[i].eq(~self.ends)]
                with m.If(diverges):
                    m.d.sync += levels[i].eq(level + 1)
                with m.Elif(meets & entry.turned):
                    m.d.sync += levels[i].eq(level - 1)

        running = Signal()
        m.d.sync += running.eq(1)
        with m.If(running):
            m.d.sync += Assert(self.active == Cat(mask.any() for mask in masks),
                               "a warp is active without lanes, or has lanes and is not")
        with m.If(running & self.perform):
            m.d.sync += [
                Assert(self.lanes.any(), "a warp without lanes performs an operation"),
                # Each side of a SPLIT has a lane, and no lane is in both sides or in neither.
                Assert(~diverges | (((passing & failing) == 0)
                                    & ((passing | failing) == self.lanes))),
            ]
        return m
