"""A GPU in a cocotb bench, with the machine interface of the host runtime.

:class:`BenchMachine` has the interface of :class:`sim.native.NativeMachine` and drives the host
port of a simulated :class:`hw.gpu.Gpu`. So ``Device.run`` runs whole algorithms on it, from a
thread of cocotb (``cocotb.task.bridge``).
"""

import random

import cocotb
import numpy as np
from cocotb.task import resume
from cocotb.triggers import FallingEdge

from hw.config import HardwareConfig
from hw.isa import Cause, MemoryMap
from hw.registers import (CORE_BASE, CORE_COUNTERS, COUNTERS, IMEM_BASE, WARP_COUNTS, WARP_OFFSET,
                          Control, Register, Status, counter_address)
from sim.errors import SimulationError
from sim.memory import ArrayMemory
from tb import runner
from tb.clocking import integer, start, tick
from tb.hw.memory.responders import DramPort, LineStore, MemoryPort


__all__ = ["BenchMachine"]


class _ArrayStore(LineStore):
    """Lines in an array that begins at the start of global memory."""

    def __init__(self, memory, line_bytes):
        super().__init__(line_bytes)
        self._array, self._line_bytes = memory, line_bytes

    def line(self, number):
        place = number * self._line_bytes - MemoryMap.GLOBAL
        assert 0 <= place < len(self._array), f"line {number:#x} is outside the memory"
        return memoryview(self._array)[place:place + self._line_bytes]


class BenchMachine(ArrayMemory):
    """The machine interface over the ports of a GPU.

    Parameters
    ----------
    dut
        The top.
    dram : sim.dram.DramConfig, optional
        If given, the memory answers in the same cycles as in the native simulator.

    Attributes
    ----------
    port : MemoryPort
        The memory. Without ``dram``, a test may set its ``latency``, ``stall`` and so on.
    """

    def __init__(self, dut, dram=None):
        self.dut = dut
        self.config = HardwareConfig(**runner.parameters()["config"])
        self.memory = np.zeros(self.config.memory_bytes, np.uint8)
        rng = random.Random(cocotb.RANDOM_SEED)
        self.port = (MemoryPort(dut, self.config, rng) if dram is None
                     else DramPort(dut, self.config, rng, dram))
        self.port.store = _ArrayStore(self.memory, self.config.line_bytes)

    @classmethod
    async def start(cls, dut, dram=None):
        """Reset the GPU and wait until it is idle."""
        await start(dut)
        machine = cls(dut, dram)
        await machine.wait()
        return machine

    # From a coroutine

    async def write(self, address, value):
        """Write a register of the host port."""
        dut = self.dut
        dut.host_write.value, dut.host_address.value = 1, int(address)
        dut.host_write_data.value = int(value) & 0xFFFF_FFFF
        await tick(dut)
        dut.host_write.value = 0

    async def read(self, address):
        """Read a register of the host port."""
        dut = self.dut
        dut.host_read.value, dut.host_address.value = 1, int(address)
        await tick(dut)
        dut.host_read.value = 0
        return integer(dut.host_read_data)

    async def wait(self, limit=300_000):
        """Wait until the GPU is idle. Returns the number of cycles."""
        for cycle in range(limit):
            if not integer(self.dut.busy):
                return cycle
            await FallingEdge(self.dut.clk)
        raise SimulationError("limit", f"busy for {limit} cycles")

    async def load(self, words):
        """Write instruction memory."""
        for index, word in enumerate(words):
            await self.write(IMEM_BASE + 4 * index, word)

    async def run(self, entry, argument):
        """Launch and wait. Raises SimulationError for an error of the device."""
        await self.write(Register.ENTRY, entry)
        await self.write(Register.ARGUMENT, argument)
        await self.write(Register.CONTROL, Control.LAUNCH)
        assert integer(self.dut.busy) == 1
        assert await self.read(Register.STATUS) & Status.BUSY
        await self.wait()
        if integer(self.dut.error):
            raise SimulationError("device", str(await self.failure()))

    async def failure(self):
        """Cause, warp, PC and address of the error registers; None if there is no error."""
        if not await self.read(Register.STATUS) & Status.ERROR:
            return None
        return (Cause(await self.read(Register.ERROR_CAUSE)),
                await self.read(Register.ERROR_WARP), await self.read(Register.ERROR_PC),
                await self.read(Register.ERROR_ADDRESS))

    async def write_back(self, invalidate=False):
        """Flush the L2."""
        await self.write(Register.CONTROL,
                         Control.FLUSH | (Control.INVALIDATE if invalidate else 0))
        await self.wait()

    async def read_counter(self, address):
        """A counter of 64 bits."""
        return await self.read(address) | await self.read(address + 4) << 32

    async def read_core(self):
        """The counters of the core."""
        return {name: await self.read_counter(counter_address(name)) for name in CORE_COUNTERS}

    async def read_phases(self):
        """The cycles of each warp of the core by phase."""
        first = CORE_BASE + WARP_OFFSET
        return np.array([[[await self.read_counter(first + 8 * (warp * WARP_COUNTS + count))
                           for count in range(WARP_COUNTS)]
                          for warp in range(self.config.warps)]], np.uint64)

    async def read_counters(self):
        """All counters."""
        values = {name: await self.read_counter(counter_address(name)) for name in COUNTERS}
        lines = self.config.line_bytes
        values["dram_bytes_read"] = values["dram_reads"] * lines
        values["dram_bytes_written"] = values["dram_writes"] * lines
        return values

    # From a thread: the machine interface

    def load_program(self, words):
        resume(self.load)(words)

    def launch(self, entry, argument, *, max_cycles=None, progress=None):
        resume(self.run)(entry, argument)

    def flush(self, invalidate=False):
        resume(self.write_back)(invalidate)

    def counters(self):
        return resume(self.read_counters)()

    def core_counters(self):
        return [resume(self.read_core)()]

    def phase_cycles(self):
        return resume(self.read_phases)()

    def clear_counters(self):
        resume(self.write)(Register.CONTROL, Control.CLEAR)

    def power_on(self):
        pass

    def close(self):
        pass
