"""The promise of the checks of lanes as assertions: exactly the lanes that break a rule are named.

The harness holds the checks. Instructions, masks, values and rules are free. It assumes what the
core gives: the leader is the lowest active lane, the target is its rs1, and an instruction either
branches or computes. The rule of stacks is stated with the addresses of blocks, not with the bits
that change. The model's answer waits in registers for as many cycles as the unit takes.
"""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, Signal
from amaranth.lib.wiring import In
from amaranth.utils import ceil_log2

from checks.formal.harness import Harness
from hw.bits import index_bits
from hw.core.checks import LaneChecks
from hw.isa import STACK_POINTER, Cause
from hw.operations import BranchOp
from hw.registers import Checks


__all__ = ["LaneChecksPromise"]


class LaneChecksPromise(Harness):
    """The checks of lanes and their promise."""
    def _ports(self, config):
        threads = config.threads
        return {
            "lanes": In(1), "size": In(range(self._least, self._most + 2)), "branches": In(1),
            "computes": In(1), "branch": In(BranchOp), "rd": In(5),
            "warp": In(index_bits(config.warps)), "pc": In(ceil_log2(config.imem_bytes)),
            "mask": In(threads), "passing": In(threads),
            **{f"{name}_{i}": In(32) for i in range(threads) for name in
               ("a", "old", "result")},
        }

    #: Binary logarithms of the smallest stack, and of the memory.
    _least = ceil_log2(Checks.LEAST_STACK)

    @property
    def _most(self):
        return ceil_log2(self._config.memory_bytes) - 1

    def elaborate(self, platform):
        m = Module()
        config, lanes = self._config, range(self._config.threads)
        m.submodules.dut = dut = LaneChecks(config)
        values = {name: [getattr(self, f"{name}_{i}") for i in lanes]
                  for name in ("a", "old", "result")}
        leader, target, leads = Signal(len(lanes)), Signal(32), Signal()
        m.d.comb += [
            leader.eq(self.mask & (~self.mask + 1)),
            Assume(self.mask.any()), Assume(~(self.branches & self.computes)),
            Assume(self.size >= self._least), Assume(self.size <= self._most + 1),
        ]
        for i in lanes:
            with m.If(leader[i]):
                m.d.comb += [target.eq(values["a"][i]), leads.eq(self.passing[i])]
        # A size of the whole memory stands for no rule.
        stacks = range(self._least, self._most + 1)
        m.d.comb += [
            dut.checks.lanes.eq(self.lanes),
            dut.checks.stack.eq(Cat(self.size <= bit for bit in stacks)),
            *(getattr(dut, name).eq(getattr(self, name)) for name in (
                "branches", "computes", "branch", "rd", "warp", "pc", "mask", "passing")),
            dut.leader.eq(leader), dut.target.eq(target),
            *(getattr(dut, name)[i].eq(values[name][i]) for name in values for i in lanes),
        ]

        def block(address):
            """The number of an address's block, among those of the memory."""
            inside = address[:self._most + 1]
            found = Signal.like(inside)
            for bit in stacks:
                with m.If(self.size == bit):
                    m.d.comb += found.eq(inside >> bit)
            return found

        disagree = Cat(Mux(self.branch == BranchOp.JALR, values["a"][i] != target,
                           self.passing[i] != leads) for i in lanes)
        left = Cat(block(values["old"][i]) != block(values["result"][i]) for i in lanes)
        expected = Cat(
            self.mask & Mux(self.branches & self.lanes, disagree, 0)
            | self.mask & Mux(self.computes & (self.rd == STACK_POINTER), left, 0),
            self.computes, self.warp, self.pc)
        for stage in range(2 if config.pipeline == "long" else 1):
            later = Signal(len(expected), name=f"expected_{stage}")
            m.d.sync += later.eq(expected)
            expected = later
        wrong, moves = expected[:len(lanes)], expected[len(lanes)]
        place = expected[len(lanes) + 1:]
        first = Signal(index_bits(len(lanes)))
        for i in reversed(lanes):
            with m.If(wrong[i] & ~wrong[:i].any()):
                m.d.comb += first.eq(i)
        fault = dut.fault
        m.d.comb += [
            Assert(dut.fails == wrong.any()),
            Assert(~dut.fails | (fault.address == wrong)),
            Assert(~dut.fails | (Cat(fault.warp, fault.pc) == place)),
            Assert(~dut.fails | (fault.cause == Mux(moves, Cause.LANE_STACK,
                                                    Cause.LANES_DISAGREE))),
            Assert(~dut.fails | (fault.lane == Mux(moves, first, 0))),
        ]
        for message, event in {
                "a lane disagrees, and the first does not": dut.fails & ~moves & ~wrong[0],
                "two lanes leave their stacks": dut.fails & moves & (wrong[0] & wrong[-1]),
                "a lane leaves, and the first does not": dut.fails & moves & ~wrong[0],
                "the smallest stack is left": dut.fails & moves & (self.size == self._least),
                }.items():
            m.d.comb += Cover(event, message)
        return m
