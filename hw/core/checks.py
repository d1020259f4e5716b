"""Checks of programs that a launch can ask for: lanes that part where they cannot, and stacks.

A compiler of C knows nothing of lanes. Two things then go wrong without a word. At a branch the
lowest active lane decides for all lanes, also for those whose condition differs. And the stack of
a lane grows into the stack of the next one. :data:`hw.registers.Register.CHECKS` makes errors of
both.

The stacks of lanes are aligned blocks of memory, of equal size, a power of two. As long as a lane
stays in its block, the higher bits of its stack pointer do not change. So it is enough to compare
what an instruction of the ALU writes to the stack pointer with the stack pointer's old value.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import encode, index_bits, lowest
from hw.config import HardwareConfig
from hw.core.interface import checks_layout, fault_layout
from hw.isa import STACK_POINTER, Cause
from hw.operations import BranchOp
from hw.registers import Checks
from hw.timing import Timing


__all__ = ["LaneChecks"]


class LaneChecks(wiring.Component):
    """Finds the lanes that break a rule of ``checks`` in stage X.

    Latency: an error comes one cycle after the decisions that stage C takes for the same
    instruction; in the long pipeline, in their cycle. Throughput: one instruction a cycle.

    Members
    -------
    checks : In(checks_layout)
        The rules that hold. Constant during a launch.
    branches, computes : In(1)
        A branch or jump, or an instruction of the ALU that writes ``rd``, is in X.
    branch : In(BranchOp)
    rd : In(5)
    warp, pc, mask, leader : In
        The instruction's warp, PC and active lanes, and the lowest of these lanes, one-hot.
    target : In(32)
        rs1 of the lowest active lane.
    passing : In(threads)
        Lanes whose condition holds.
    a, old, result : In(ArrayLayout(32, threads))
        Values of rs1, the values of ``rd`` before the instruction, and those that it writes.
    fails : Out(1)
        Lanes break a rule.
    fault : Out(fault_layout)
        The address is the bit mask of these lanes. The lane is the lowest of them whose stack
        pointer is wrong, else 0.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        threads = config.threads
        lanes = data.ArrayLayout(32, threads)
        super().__init__({
            "checks": In(checks_layout(config)),
            "branches": In(1), "computes": In(1), "branch": In(BranchOp), "rd": In(5),
            "warp": In(index_bits(config.warps)), "pc": In(ceil_log2(config.imem_bytes)),
            "mask": In(threads), "leader": In(threads), "target": In(32), "passing": In(threads),
            "a": In(lanes), "old": In(lanes), "result": In(lanes),
            "fails": Out(1), "fault": Out(fault_layout(config)),
        })

    def elaborate(self, platform):
        m = Module()
        threads = self._config.threads
        moved = range(ceil_log2(Checks.LEAST_STACK), ceil_log2(self._config.memory_bytes))
        parts = Signal(threads)            # lanes that would go another way
        leaves = Signal(threads)           # lanes whose stack pointer leaves their block
        taken = Signal()
        m.d.comb += [
            taken.eq((self.passing & self.leader).any()),
            parts.eq(Mux(self.branch == BranchOp.JALR,
                         Cat(self.a[i] != self.target for i in range(threads)),
                         self.passing ^ taken.replicate(threads))),
            leaves.eq(Cat(((self.old[i] ^ self.result[i])[moved.start:moved.stop]
                           & self.checks.stack).any() for i in range(threads))),
        ]
        wrong = Signal(threads)
        moves = Signal()
        warp = Signal.like(self.warp, reset_less=True)
        pc = Signal.like(self.pc, reset_less=True)
        m.d.sync += [
            wrong.eq(Mux(self.branches & self.checks.lanes, self.mask & parts, 0)
                     | Mux(self.computes & (self.rd == STACK_POINTER), self.mask & leaves, 0)),
            moves.eq(self.computes), warp.eq(self.warp), pc.eq(self.pc),
        ]
        m.d[Timing(self._config).later] += [
            self.fails.eq(wrong.any()),
            self.fault.cause.eq(Mux(moves, Cause.LANE_STACK, Cause.LANES_DISAGREE)),
            self.fault.warp.eq(warp), self.fault.pc.eq(pc), self.fault.address.eq(wrong),
            self.fault.lane.eq(Mux(moves, encode(lowest(m, wrong, name="first")), 0)),
        ]
        return m
