"""Common parts of the benches of the unit's blocks."""

import random

import cocotb

from tb import runner
from tb.clocking import start, tick
from tb.hw.scu.configs import scu_config


__all__ = ["BlockBench"]


class BlockBench:
    """A block, with the sources and sinks at its ports.

    Attributes
    ----------
    dut
        The top module.
    config : HardwareConfig
        :func:`~tb.hw.scu.configs.scu_config` of the bench's parameters.
    width : int
        Elements of a beat.
    rng : random.Random
    """

    @classmethod
    async def start(cls, dut, *which):
        """Start the clock, reset, and call :meth:`connect` with the other arguments."""
        self = cls()
        await start(dut)
        self.dut, self.config = dut, scu_config(**runner.parameters())
        self.width = self.config.scu
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.connect(dut, *which)
        await tick(dut)
        return self

    def connect(self, dut):
        """Put sources and sinks at the block's ports."""
        raise NotImplementedError
