"""Drives a core on its own: loads programs, launches, and notes the cycle of each issue."""

import random

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, ReadOnly

from hw.config import HardwareConfig
from hw.core.interface import fault_layout
from hw.counters import event_layout
from hw.isa import MemoryMap
from hw.registers import CORE_COUNTERS
from tb import runner
from tb.clocking import integer, reset, start, tick
from tb.hw.memory.responders import L2Model
from tb.streams import unpack


__all__ = ["CoreBench"]


class CoreBench:
    """A core with the L2 played by a model.

    Attributes
    ----------
    l2 : L2Model
        Answers with given latencies.
    issues : list of int
        Cycles since the launch in which an instruction was issued.
    counts : dict
        Events of the last run, summed, by counter.
    """

    def __init__(self, dut):
        self.dut = dut
        self.config = HardwareConfig(**runner.parameters())
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.l2 = L2Model(dut, self.config, self.rng)
        self._events = [(name, field.offset, (1 << field.width) - 1)
                        for name, field in event_layout(self.config)]
        self.issues, self.counts = [], {}

    @classmethod
    async def start(cls, dut):
        """Reset the core and begin."""
        await start(dut)
        return cls(dut)

    def fill(self, words):
        """Write words to the start of global memory, and only there."""
        base, line = MemoryMap.GLOBAL // self.config.line_bytes, self.config.line_bytes
        data = np.asarray(words, np.uint32).tobytes()
        data += bytes(-len(data) % line)
        for number in range(len(data) // line):
            self.l2.store.line(base + number)[:] = data[line * number:line * (number + 1)]

    def memory(self, count):
        """The first ``count`` words of global memory."""
        base, words = MemoryMap.GLOBAL // self.config.line_bytes, self.config.line_words
        lines = (self.l2.store.line(base + number) for number in range(-(-count // words)))
        return np.frombuffer(b"".join(map(bytes, lines)), np.uint32)[:count]

    async def load(self, words):
        """Write instruction memory from its start."""
        dut = self.dut
        for index, word in enumerate(words):
            dut.write.value, dut.write_address.value, dut.write_data.value = 1, index, word
            await tick(dut)
        dut.write.value = 0

    async def launch(self, entry=0, argument=0):
        """Begin a run. On return one cycle of the run has passed."""
        dut = self.dut
        self.issues, self.counts = [], dict.fromkeys(CORE_COUNTERS, 0)
        dut.launch.value, dut.entry.value, dut.argument.value = 1, entry, argument
        await tick(dut)
        dut.launch.value, dut.running.value = 0, 1

    async def watch(self, limit=200_000, until=None):
        """Run until the core is idle, or for ``until`` cycles. Returns the number of cycles."""
        dut = self.dut
        for cycle in range(limit if until is None else until):
            await ReadOnly()
            bits = integer(dut.events)
            events = {name: bits >> offset & mask for name, offset, mask in self._events}
            for name, count in events.items():
                self.counts[name] += count
            if events["instructions"]:
                self.issues.append(cycle)
            stalls = sum(count for name, count in events.items() if name.startswith("stall_"))
            assert stalls + events["instructions"] == events["cycles"], "a cycle is counted once"
            idle = not integer(dut.busy)
            await FallingEdge(dut.clk)
            if idle and until is None and cycle > 1:
                dut.running.value = 0
                return cycle
        assert until is not None, f"the core is still busy after {limit} cycles"
        return until

    async def run(self, case, limit=200_000):
        """Load and run a case to its end."""
        if case.memory is not None:
            self.fill(case.memory)
        await self.load(case.words)
        await self.launch(case.entry, case.argument)
        return await self.watch(limit)

    @property
    def fault(self):
        """The error with which the core stopped, or None."""
        if not integer(self.dut.failed):
            return None
        return unpack(fault_layout(self.config), integer(self.dut.fault))

    async def reset(self):
        """Reset the core in any state. The model forgets everything under way."""
        self.dut.running.value = 0
        self.l2.forget()
        await reset(self.dut)
        self.l2.forget()
        await tick(self.dut, 2)
