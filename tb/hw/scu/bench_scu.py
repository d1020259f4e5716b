"""Coroutines of the tests of the whole unit, and the host that drives the unit."""

import random

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, ReadOnly

from checks.campaign.operations import Operations, text
from hw.isa import MemoryMap
from hw.scu.interface import event_layout
from hw.scu.registers import (ScuCommand, ScuCompare, ScuError, ScuOperation, ScuOutput,
                              ScuRegister, ScuStatus)
from sw.golden.scu import ScuOutcome, ScuModel
from tb import runner
from tb.clocking import integer, reset, start, tick
from tb.hw.memory.responders import L2Model
from tb.hw.scu.configs import scu_config


__all__ = ["Host"]


_BASE = int(MemoryMap.GLOBAL)


class _Lines:
    """Lines of a numpy array, with the methods of :class:`tb.hw.memory.responders.LineStore`."""

    def __init__(self, memory, line_bytes):
        self._memory, self._line_bytes = memory, line_bytes

    def _line(self, number):
        first = number * self._line_bytes - _BASE
        assert 0 <= first < self._memory.nbytes, f"line {number:#x} is not in the memory"
        return self._memory[first:first + self._line_bytes]

    def value(self, number):
        return int.from_bytes(self._line(number).tobytes(), "little")

    def write(self, number, value, mask):
        new = np.frombuffer(value.to_bytes(self._line_bytes, "little"), np.uint8)
        chosen = np.array([mask >> byte & 1 for byte in range(self._line_bytes)], bool)
        self._line(number)[chosen] = new[chosen]


class Host:
    """Drives the register port of the unit, and is its memory.

    Attributes
    ----------
    memory : numpy.ndarray
        The memory that the unit reads and writes.
    l2 : L2Model
        The L2, which answers for the memory.
    operations : int
        Number of random operations to run.
    """

    @classmethod
    async def start(cls, dut):
        self = cls()
        self.dut = dut
        settings = dict(runner.parameters())
        self.operations = settings.pop("operations")
        self.config = scu_config(**settings)
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.memory = np.frombuffer(self.rng.randbytes(self.config.memory_bytes), np.uint8).copy()
        await start(dut)
        self.l2 = L2Model(dut, self.config, self.rng)
        self.l2.store = _Lines(self.memory, self.config.line_bytes)
        return self

    def hurry(self):
        """The memory takes every request at once and answers in the next cycle."""
        self.behave((1, 1), 0, 0)

    def behave(self, latency, stall, idle):
        """Set latencies, and how often the memory takes no request or gives no answer."""
        self.l2.latency, self.l2.stall, self.l2.source.idle = latency, stall, idle

    async def write(self, register, value):
        self.dut.write.value, self.dut.address.value = 1, int(register)
        self.dut.write_data.value = value
        await tick(self.dut)
        self.dut.write.value = 0

    async def read(self, register):
        self.dut.read.value, self.dut.address.value = 1, int(register)
        await tick(self.dut)
        self.dut.read.value = 0
        await ReadOnly()
        value = integer(self.dut.read_data)
        await FallingEdge(self.dut.clk)
        return value

    async def begin(self, registers):
        """Write the registers, COMMAND last."""
        for register in ScuRegister:
            if register >= ScuRegister.LENGTH:
                await self.write(register, registers.get(register, 0))
        await self.write(ScuRegister.COMMAND, registers[ScuRegister.COMMAND])

    async def wait(self, limit=200_000):
        """Wait until the unit is idle. Returns the cycles of the wait.

        In each cycle the event ``stall_l2`` must say whether the memory refuses a request.
        """
        cycles, stalls = 0, event_layout()["stall_l2"]
        while True:
            await ReadOnly()
            busy = integer(self.dut.busy)
            refused = integer(self.dut.request__valid) & ~integer(self.dut.request__ready)
            event = integer(self.dut.events) >> stalls.offset & 1
            assert event == busy & refused, f"stall_l2 is {event} in cycle {cycles}"
            await FallingEdge(self.dut.clk)
            if not busy:
                return cycles
            cycles += 1
            assert cycles < limit, f"no end after {limit} cycles"

    async def outcome(self):
        """The contents of the result registers."""
        result, selected, error, address = [
            await self.read(register) for register in
            (ScuRegister.RESULT, ScuRegister.SELECTED, ScuRegister.ERROR,
             ScuRegister.ERROR_ADDRESS)]
        status = await self.read(ScuRegister.STATUS)
        assert status == (ScuStatus.ERROR if error else ScuStatus.DONE)
        return ScuOutcome(result, selected, ScuError(error), address)

    async def check(self, registers):
        """Perform an operation and compare it with the golden model. Returns its cycles."""
        right = self.memory.copy()
        expected = ScuModel(right, self.config.line_bytes).run(registers)
        await self.begin(registers)
        cycles = await self.wait()
        got = await self.outcome()
        assert got == expected, f"{got}, must be {expected}: {text(registers)}"
        words, right = self.memory.view(np.uint32), right.view(np.uint32)
        wrong = np.flatnonzero(words != right)
        assert not len(wrong), (
            f"{len(wrong)} words differ; the one at {_BASE + 4 * wrong[0]:#x} is "
            f"{words[wrong[0]]:#x}, must be {right[wrong[0]]:#x}: {text(registers)}")
        return cycles


@cocotb.test()
async def random_operations(dut):
    host = await Host.start(dut)
    operations = Operations(host.rng, host.memory, host.config.line_bytes, longest=120)
    for _ in range(runner.turns(host.operations)):
        host.behave(host.rng.choice([(1, 1), (3, 20), (20, 60), (1, 200)]),
                    host.rng.choice([0, 0.3, 0.8]), host.rng.choice([0, 0.5]))
        await host.check(operations.next())


@cocotb.test()
async def random_streams(dut):
    """STREAM alone, with and without weights and filters, on memories of all speeds."""
    host = await Host.start(dut)
    operations = Operations(host.rng, host.memory, host.config.line_bytes, longest=80,
                            operations=(ScuOperation.STREAM,))
    for _ in range(runner.turns(host.operations)):
        host.behave(host.rng.choice([(1, 1), (3, 20), (20, 60), (1, 200)]),
                    host.rng.choice([0, 0.3, 0.8]), host.rng.choice([0, 0.5]))
        await host.check(operations.next())


@cocotb.test()
async def wrong_streams(dut):
    """STREAM with each register that is missing, or that does not go with STREAM."""
    host = await Host.start(dut)
    right = {ScuRegister.COMMAND: ScuCommand.of(ScuOperation.STREAM), ScuRegister.LENGTH: 1,
             ScuRegister.INDEXES: _words(host, 0, [3]), ScuRegister.COUNTS: _words(host, 1, [2]),
             ScuRegister.OPERAND: _words(host, 2, [7]), ScuRegister.SOURCE: _BASE + 4096,
             ScuRegister.DESTINATION: _BASE + 8192, ScuRegister.COSTS: _BASE + 16384}
    table = {ScuRegister.HASH: _BASE + 32768, ScuRegister.HASH_SETS: 4, ScuRegister.HASH_WAYS: 1}
    group = ScuCommand.of(ScuOperation.STREAM, ScuOutput.GROUP)
    await host.check(right)
    for wrong in ({ScuRegister.OPERAND: 0}, {ScuRegister.COSTS: 0}, {ScuRegister.FILTER: _BASE},
                  {ScuRegister.ORDER: _BASE}, {ScuRegister.COMMAND: group, **table},
                  {ScuRegister.COSTS: _BASE + 2}, {ScuRegister.WEIGHTS: 1}):
        await host.check(right | wrong)
        assert (await host.outcome()).error, wrong


@cocotb.test()
async def streams_by_rows(dut):
    """STREAM looks up rows and costs, costs at the keys themselves too; and its throughput with
    rows of sixteen words."""
    host = await Host.start(dut)
    width = host.config.scu
    host.hurry()
    words = host.memory.view(np.uint32)
    offsets, costs, queue, data = (_BASE + 4096 * place for place in range(4))
    length = 150
    words[:length + 1] = [_BASE // 4 + 3072 + 16 * row for row in range(length + 1)]
    words[1024:1024 + length] = host.rng.choices(range(1000), k=length)
    keys = [costs + 4 * row for row in host.rng.sample(range(length), length)]
    registers = {ScuRegister.COMMAND: ScuCommand.of(ScuOperation.STREAM, rows=True, looks=True),
                 ScuRegister.LENGTH: length, ScuRegister.INDEXES: _words(host, 2048, keys),
                 ScuRegister.ROWS: offsets - costs & 0xFFFF_FFFF,
                 ScuRegister.DESTINATION: _BASE + 28672, ScuRegister.COSTS: _BASE + 40960}
    assert queue == registers[ScuRegister.INDEXES] and data == _BASE + 12288
    port = host.config.line_words / (3 + 1 / 32)
    rate = _rate(await host.check(registers), 16 * length)
    assert rate >= 0.75 * min(width, port), rate
    assert (words[10240:10240 + 16] == words[(keys[0] - _BASE) // 4]).all()
    table = {ScuRegister.HASH: _BASE + 61440, ScuRegister.HASH_SETS: 16, ScuRegister.HASH_WAYS: 1}
    filtered = ScuCommand.of(ScuOperation.STREAM, ScuOutput.FILTER_BEST, clear=True, rows=True,
                             looks=True)
    await host.check(registers | table | {ScuRegister.COMMAND: filtered})
    given = {ScuRegister.COMMAND: ScuCommand.of(ScuOperation.STREAM, rows=True),
             ScuRegister.OPERAND: costs}
    await host.check(registers | given)
    for wrong in ({ScuRegister.OPERAND: 0}, {ScuRegister.COMMAND: ScuCommand.of(
            ScuOperation.STREAM, looks=True)}, {ScuRegister.COMMAND: ScuCommand.of(
            ScuOperation.ACCESS_EXPANSION, rows=True)}):
        await host.check(registers | given | wrong)
        assert (await host.outcome()).error, wrong


def _words(host, at, values):
    """Put words into memory. Returns their address."""
    host.memory.view(np.uint32)[at:at + len(values)] = values
    return _BASE + 4 * at


@cocotb.test()
async def a_start_while_busy_is_refused(dut):
    host = await Host.start(dut)
    source = _words(host, 0, range(100))
    registers = {ScuRegister.COMMAND: ScuCommand.of(ScuOperation.DATA), ScuRegister.LENGTH: 100,
                 ScuRegister.SOURCE: source, ScuRegister.DESTINATION: _BASE + 4096}
    await host.begin(registers)
    await tick(dut, 5)
    assert await host.read(ScuRegister.STATUS) == ScuStatus.BUSY
    await host.write(ScuRegister.LENGTH, 3)         # this write has no effect either
    await host.write(ScuRegister.COMMAND, ScuCommand.of(7))
    assert await host.read(ScuRegister.STATUS) == ScuStatus.BUSY | ScuStatus.REFUSED
    await host.wait()
    assert await host.read(ScuRegister.STATUS) == ScuStatus.DONE | ScuStatus.REFUSED
    assert await host.read(ScuRegister.RESULT) == 100
    assert (host.memory[4096:4496] == host.memory[:400]).all()
    await host.check(registers)                     # the check finds REFUSED cleared


@cocotb.test()
async def reset_in_the_middle(dut):
    host = await Host.start(dut)
    operations = Operations(host.rng, host.memory, host.config.line_bytes, longest=120, errors=0)
    for cycles in (1, 14, 20, 40, 90):
        host.behave((1, 30), 0.3, 0.3)
        await host.begin(operations.next())
        await tick(dut, cycles)
        host.l2.forget()
        await reset(dut)
        host.l2.forget()
        assert await host.read(ScuRegister.STATUS) == 0
        await host.check(operations.next())


def _rate(cycles, elements):
    return elements / cycles


@cocotb.test()
async def throughput(dut):
    """The throughput that the unit's docstring promises, with a memory that is always ready."""
    host = await Host.start(dut)
    width, line_words = host.config.scu, host.config.line_words
    host.hurry()
    length = 3000
    # For the elements of a line, a line is read and a line is written. Lines of the bitmask add up.
    port = line_words / (2 + 1 / 32)
    dense = {ScuRegister.COMMAND: ScuCommand.of(ScuOperation.DATA), ScuRegister.LENGTH: length,
             ScuRegister.BITMASK: _words(host, 0, [0xFFFF_FFFF] * 100),
             ScuRegister.DESTINATION: _BASE + 32768}
    for skew in (0, 1, 3):
        dense[ScuRegister.SOURCE] = _BASE + 4096 + 4 * skew
        assert _rate(await host.check(dense), length) >= 0.9 * min(width, port)
    # Long rows.
    rows = {ScuRegister.COMMAND: ScuCommand.of(ScuOperation.ACCESS_EXPANSION),
            ScuRegister.LENGTH: 10,
            ScuRegister.INDEXES: _words(host, 0, [300 * row for row in range(10)]),
            ScuRegister.COUNTS: _words(host, 64, [290] * 10),
            ScuRegister.SOURCE: _BASE + 4096, ScuRegister.DESTINATION: _BASE + 32768}
    assert _rate(await host.check(rows), 2900) >= 0.9 * min(width, port)
    # A replicated word is read once.
    replicate = rows | {ScuRegister.COMMAND: ScuCommand.of(ScuOperation.REPLICATION)}
    assert _rate(await host.check(replicate), 2900) >= 0.9 * min(width, line_words)
    # Single words, each in a line of its own, take a cycle of the port each; so do lines written.
    words = {ScuRegister.COMMAND: ScuCommand.of(ScuOperation.ACCESS), ScuRegister.LENGTH: 600,
             ScuRegister.INDEXES: _words(host, 0, [
                 (line_words * (5 * word % 600) + word % 3) % 6000 for word in range(600)]),
             ScuRegister.SOURCE: _BASE + 4096, ScuRegister.DESTINATION: _BASE + 32768}
    assert _rate(await host.check(words), 600) >= 0.85 / (1 + 2 / line_words)
    # Comparisons write almost nothing.
    compare = {ScuRegister.COMMAND: ScuCommand.of(ScuOperation.BITMASK, compare=ScuCompare.LT),
               ScuRegister.REFERENCE: 1 << 31, ScuRegister.LENGTH: length,
               ScuRegister.SOURCE: _BASE + 4096, ScuRegister.DESTINATION: _BASE + 32768}
    assert _rate(await host.check(compare), length) >= 0.9 * width
    # The hash table: an element a cycle if its line is held.
    few = {ScuRegister.COMMAND: ScuCommand.of(ScuOperation.DATA, ScuOutput.FILTER_UNIQUE,
                                              clear=True),
           ScuRegister.SOURCE: _words(host, 0, [word % 7 for word in range(1500)]),
           ScuRegister.LENGTH: 1500, ScuRegister.DESTINATION: _BASE + 32768,
           ScuRegister.HASH: _BASE + 49152, ScuRegister.HASH_SETS: 4, ScuRegister.HASH_WAYS: 4}
    assert _rate(await host.check(few), 1500) >= 0.85
    # STREAM: two lists are written, and of the elements and their weights lines are read.
    rows |= {ScuRegister.COMMAND: ScuCommand.of(ScuOperation.STREAM),
             ScuRegister.OPERAND: _words(host, 128, range(10)),
             ScuRegister.COSTS: _BASE + 49152}
    port = line_words / (3 + 1 / 32)
    assert _rate(await host.check(rows), 2900) >= 0.85 * min(width, port)
    rows[ScuRegister.WEIGHTS] = _BASE + 8192
    assert _rate(await host.check(rows), 2900) >= 0.85 * min(width, line_words / (4 + 1 / 32))
    # The filter drops nearly all. It takes an element a cycle in each bank: of lines in turn almost
    # a beat a cycle, of one line an element.
    rows |= {ScuRegister.WEIGHTS: 0, ScuRegister.HASH: _BASE + 61440,
             ScuRegister.HASH_SETS: 16, ScuRegister.HASH_WAYS: line_words // 2,
             ScuRegister.COMMAND: ScuCommand.of(ScuOperation.STREAM, ScuOutput.FILTER_BEST,
                                                clear=True)}
    for step, rate in ((1, 0.85 * width), (16, 0.85)):
        rows[ScuRegister.SOURCE] = _words(host, 1024, [word * step % 64 for word in range(3100)])
        assert _rate(await host.check(rows), 2900) >= rate


@cocotb.test()
async def latency(dut):
    """Cycles until the first line is requested, and until an operation of one element ends."""
    host = await Host.start(dut)
    host.hurry()
    registers = {ScuRegister.COMMAND: ScuCommand.of(ScuOperation.DATA), ScuRegister.LENGTH: 1,
                 ScuRegister.SOURCE: _BASE, ScuRegister.DESTINATION: _BASE + 4096}
    await host.begin(registers)
    cycles = 1
    while not integer(dut.request__valid):
        await tick(dut)
        cycles += 1
    await host.wait()
    assert (cycles, await host.check(registers)) == (21, 31)
