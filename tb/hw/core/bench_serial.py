"""What the benches of serial dividers share."""

import random

import cocotb

from hw.config import HardwareConfig
from hw.core.loads import writeback_layout
from tb import runner
from tb.clocking import start, tick


__all__ = ["SerialBench"]


class SerialBench:
    """Drives a divider that takes one instruction at a time, and compares its results."""

    def __init__(self, dut):
        self.dut, self.rng = dut, random.Random(cocotb.RANDOM_SEED)
        self.config = HardwareConfig(**runner.parameters())
        self.layout = writeback_layout(self.config)

    @classmethod
    async def start(cls, dut):
        """Reset the design; nothing begins and no result is taken."""
        await start(dut)
        dut.start.value = dut.result__ready.value = 0
        await tick(dut)
        return cls(dut)
