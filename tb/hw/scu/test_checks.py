# amaranth: UnusedElaboratable=no
"""Tests of the checks of registers, the sieve and the bounds."""

import cocotb
import numpy as np
import pytest
from cocotb.triggers import ReadOnly

from hw.isa import MemoryMap
from hw.scu.checks import Bounds, RegisterCheck, Sieve, fault_layout, register_layout
from hw.scu.registers import ScuCommand, ScuError, ScuOperation, ScuOutput, ScuRegister
from sw.golden import scu as golden
from tb import runner
from tb.clocking import integer, reset, tick
from tb.hw.memory.packing import packed
from tb.hw.memories import memory_of
from tb.hw.scu.block import BlockBench
from tb.hw.scu.configs import scu_config
from tb.hw.scu.streams import BeatSink, BeatSource, Together, Transfers, cut, hush
from tb.streams import StreamSource


SHAPES = [{"scu": width, "line_bytes": line} for width in (1, 4) for line in (16, 64)]
WORD = 0xFFFF_FFFF
BASE = int(MemoryMap.GLOBAL)


class _Registers(golden.ScuModel):
    """The golden model without elements: an operation is only its registers."""
    def _elements(self):
        return np.zeros(0, np.int64), None

    def _store(self, values):
        return 0, 0, None


class Bench(BlockBench):
    """One of the three blocks.

    Parameters
    ----------
    name : str
        ``"registers"``, ``"sieve"`` or ``"bounds"``.
    """
    def connect(self, dut, name):
        self.name = name
        self.end = BASE + self.config.memory_bytes
        if name != "registers":
            self.source = BeatSource(dut, f"{name}__i", 30, self.width)
            self.sources = [self.source]
            self.sink = BeatSink(dut, f"{name}__o", 30, self.width, packed=name == "bounds")
            self.times = Transfers(dut, f"{name}__i", f"{name}__o")
        if name == "sieve":
            self.bits = StreamSource(dut, "sieve__bits")
            self.sources.append(self.bits)

    def shake(self):
        """Set random speeds of all streams."""
        self.source.idle = self.rng.choice([0, 0, 0.5])
        self.sink.stall = self.rng.choice([0, 0, 0.3, 0.9])
        if self.name == "sieve":
            self.bits.idle = self.rng.choice([0, 0, 0.5, 0.9])

    async def begin(self, **ports):
        """Start the block; ports keep their values."""
        for name, value in ports.items():
            getattr(self.dut, f"{self.name}__{name}").value = value
        start_port = getattr(self.dut, f"{self.name}__start")
        start_port.value = 1
        await tick(self.dut)
        start_port.value = 0

    def fault(self):
        """Error and address of the fault."""
        fault = fault_layout().from_bits(integer(getattr(self.dut, f"{self.name}__fault")))
        return fault.error, fault.address

    async def over(self):
        """Check after a stream that nothing else comes out. A reset drops input not taken yet."""
        await hush(self.dut, f"{self.name}__o", 3)
        if not all(source.drained for source in self.sources):
            self.dut.rst.value = 1
            for source in self.sources:
                source.clear()
            await reset(self.dut)


def _registers(rng, config):
    """Random registers that are almost right."""
    line, end = config.line_bytes, BASE + config.memory_bytes     # of the largest memory 1 << 32

    def address():
        value = rng.choice([BASE, end - 4, rng.randrange(BASE, end, 4), rng.randrange(BASE, end, 4),
                            end - 4 * rng.randrange(1, 40)])
        return rng.choice([value] * 30 + [value + rng.randrange(4), end & WORD, BASE - 4, 4,
                                          WORD - 3])

    def optional():
        return rng.choice([0, address()])
    lengths = [0, 1, 7, 31, 32, 33, 40, rng.randrange(200)]
    registers = {name: optional() for name in ScuRegister if name >= ScuRegister.LENGTH}
    registers.update({
        ScuRegister.COMMAND: rng.getrandbits(32) & rng.choice([0xFFFF_EFCF, WORD])
        if rng.random() < 0.1 else ScuCommand.of(
            rng.choice(list(ScuOperation)), rng.choice(list(ScuOutput)), rng.randrange(6)),
        ScuRegister.SOURCE: address(), ScuRegister.INDEXES: address(),
        ScuRegister.DESTINATION: address(), ScuRegister.COUNTS: address(),
        ScuRegister.HASH: rng.choice([BASE, end - line, end - 4 * line,
                                      rng.randrange(BASE, end, line)] * 4
                                     + [BASE + 4, end & WORD, 0]),
        ScuRegister.HASH_SETS: rng.choice([1 << rng.randrange(12), 1, 4] * 5
                                          + [0, 3, 6, 1 << 31, WORD]),
        ScuRegister.HASH_WAYS: rng.choice([1, 1, 2, 4] * 4 + [8, 16, 32, 0, 3, 1 << 31]),
    })
    for name in (ScuRegister.LENGTH, ScuRegister.FILTER_LENGTH, ScuRegister.OPERAND_LENGTH):
        registers[name] = rng.choice(lengths * 3 + [1 << 14, 1 << 30, 1 << 31, WORD])
    if rng.random() < 0.8:          # registers that do not go together are refused first
        output = ScuOutput((registers[ScuRegister.COMMAND] & ScuCommand.OUTPUT) >> 4)
        if output:
            registers[ScuRegister.ORDER] = 0
            registers[ScuRegister.OPERAND] = address() if output == ScuOutput.FILTER_BEST else 0
    return registers


@cocotb.test()
async def registers_as_the_model(dut):
    """Random registers give the golden model's errors and addresses. Every error occurs, and none.
    """
    bench = await Bench.start(dut, "registers")
    memory = np.zeros(bench.config.memory_bytes, np.uint8)
    model = _Registers(memory, bench.config.line_bytes)
    layout, seen = register_layout(), dict.fromkeys(ScuError, 0)
    for _ in range(350):
        registers = _registers(bench.rng, bench.config)
        outcome = model.run(registers)
        await bench.begin(registers=packed(layout, {
            name.name.lower(): value for name, value in registers.items()
            if name.name.lower() in layout.members}))
        cycles = 0
        while integer(dut.registers__done) == 0:
            await tick(dut)
            cycles += 1
            assert cycles < 20, "the check does not end"
        await ReadOnly()
        error, address = bench.fault()
        assert (error, address) == (outcome.error, outcome.error_address), registers
        assert cycles == 11 if outcome.error == ScuError.NONE else cycles <= 11
        output = (registers[ScuRegister.COMMAND] & ScuCommand.OUTPUT) >> 4
        if output and error == ScuError.NONE:
            sets, ways = (registers[name] for name in (ScuRegister.HASH_SETS,
                                                       ScuRegister.HASH_WAYS))
            assert 1 << integer(dut.registers__sets_bits) == sets
            assert 1 << integer(dut.registers__ways_bits) == ways
            assert integer(dut.registers__table_bytes) == model._table.nbytes
        seen[error] += 1
        await tick(dut, 1 + bench.rng.randrange(3))
        assert integer(dut.registers__done) == 0
    del seen[ScuError.VECTOR]       # an error of elements only
    assert min(seen.values()) > 10, seen


async def _sieve(bench, length, bits):
    """Send a stream through the sieve. ``bits`` is None if there is no filter."""
    width, rng = bench.width, bench.rng
    items = [rng.getrandbits(30) for _ in range(length)]
    count = WORD if bits is None else len(bits)
    base = rng.getrandbits(30) << 2
    await bench.begin(present=int(bits is not None), address=base, length=count & WORD)
    if bits is not None:
        padded = bits + [rng.getrandbits(1) for _ in range(-count % 32)]
        bench.bits.send(sum(bit << lane for lane, bit in enumerate(padded[first:first + width]))
                        for first in range(0, len(padded), width))
    bench.source.send(cut(items, width, rng, element=30))
    got = await bench.sink.stream()
    expected = [item for k, item in enumerate(items[:count]) if bits is None or bits[k]]
    assert got == expected
    await tick(bench.dut)
    lacking = bits is not None and length > count
    address = base + count // 32 * 4 & WORD
    assert bench.fault() == ((ScuError.VECTOR, address) if lacking else (0, 0))
    await bench.over()


@cocotb.test()
async def sieve(dut):
    """Filters of any density, no filter, and filters that are too short or longer than needed."""
    bench = await Bench.start(dut, "sieve")
    for length in [*range(2 * bench.width + 2), 31, 33, 80]:
        for count in (length, max(0, length - bench.rng.randint(1, 6)), length + 40):
            bench.shake()
            density = bench.rng.choice([0, 0.1, 0.5, 1])
            await _sieve(bench, length, [int(bench.rng.random() < density) for _ in range(count)])
        await _sieve(bench, length, None)
    bench.source.idle = bench.sink.stall = bench.bits.idle = 0
    bench.times.clear()
    await _sieve(bench, 30 * bench.width, [1, 0] * (15 * bench.width))
    assert bench.times.sieve__i == bench.times.sieve__o         # no latency
    assert bench.times.sieve__o[29] - bench.times.sieve__o[0] == 29


async def _bounds(bench, items, *, source, destination, operand=0, order=0, operand_length=0,
                  bits=0, costs=None, weights=0):
    """Send a stream through the bounds. Expect the definition's result, element by element."""
    width, rng, end = bench.width, bench.rng, bench.end
    streams = costs is not None
    words, costs_words = ((end - at) // 4 if BASE <= at < end else 0
                          for at in (destination, costs or 0))
    passed, fault = [], (0, 0)
    for k, item in enumerate(items):
        address = source + 4 * item & WORD
        if not BASE <= address < end:
            fault = ScuError.UNMAPPED, address
        elif weights and not BASE <= (weights + 4 * item & WORD) < end:
            fault = ScuError.UNMAPPED, weights + 4 * item & WORD
        elif (operand or order) and not streams and k >= operand_length:
            fault = ScuError.VECTOR, (operand or order) + 4 * operand_length & WORD
        elif not order and k >= words * (32 if bits else 1):
            fault = ScuError.UNMAPPED, destination + 4 * words & WORD
        elif streams and k >= costs_words:
            fault = ScuError.UNMAPPED, costs + 4 * costs_words & WORD
        if fault[0]:
            break
        passed.append(address >> 2)
    await bench.begin(bits=bits, registers=packed(register_layout(), {
        "source": source, "destination": destination, "operand": operand, "order": order,
        "operand_length": operand_length, "costs": costs or 0, "weights": weights,
        "command": ScuCommand.of(ScuOperation.STREAM if streams else ScuOperation.DATA)}))
    await tick(bench.dut)
    bench.source.send(cut(items, width, rng, element=30))
    assert await bench.sink.stream() == passed
    await tick(bench.dut)
    assert bench.fault() == fault
    await bench.over()
    return fault[0]


@cocotb.test()
async def bounds(dut):
    """Each fault at each lane, several at once, and none."""
    bench = await Bench.start(dut, "bounds")
    rng, width, end = bench.rng, bench.width, bench.end
    memory_words = bench.config.memory_bytes // 4
    seen = dict.fromkeys((0, ScuError.UNMAPPED, ScuError.VECTOR), 0)
    for length in [*range(14), 40, 70]:
        for kind in ("none", "read", "operand", "order", "room", "bits", "any", "costs", "weights",
                     "streams"):
            bench.shake()
            source = rng.randrange(BASE, end, 4)
            first = -(source - BASE) // 4           # a word that may be below SOURCE
            items = [rng.randrange(first, first + memory_words) & WORD >> 2 for _ in range(length)]
            fields = {"source": source, "destination": BASE}
            last = rng.randint(0, length)           # number of right elements
            if kind in ("read", "any", "streams") and last < length:
                items[last] = rng.choice([first - 1, first + memory_words, rng.getrandbits(30)]) \
                    & WORD >> 2
            if kind in ("operand", "any"):
                fields.update(operand=0x8000_0010, operand_length=rng.choice([last, last + 5]))
            if kind == "order" or (kind == "any" and rng.random() < 0.5):
                fields.update(order=0xFFFF_FFF0, operand_length=last)
            if kind in ("costs", "weights", "streams"):
                fields.update(operand=0x8000_0010, operand_length=rng.randrange(3), costs=BASE)
            if kind in ("costs", "streams"):
                fields["costs"] = end - 4 * rng.choice([last, last + 1]) & WORD
            if kind in ("weights", "streams") and length:
                # The weight of an element is outside the memory, or none is.
                fields["weights"] = source if rng.random() < 0.3 else (
                    end - 4 * rng.choice(items) & WORD)
            if kind in ("room", "any", "streams"):
                fields["destination"] = end - 4 * last & WORD
            if kind == "bits":
                fields.update(bits=1, destination=rng.choice(
                    [BASE, end - 4 * rng.randrange(3) & WORD]))
            seen[await _bounds(bench, items, **fields)] += 1
    assert min(seen.values()) > 10, seen
    for destination in (BASE - 4, end & WORD, 4):
        assert await _bounds(bench, [0, 1], source=BASE, destination=destination)
    bench.source.idle = bench.sink.stall = 0
    bench.times.clear()
    await _bounds(bench, [*range(30 * width)], source=BASE, destination=BASE)
    given = bench.times.bounds__o
    assert given[29] - given[0] == 29
    assert given[0] - bench.times.bounds__i[0] == 1


@pytest.mark.parametrize("fields", SHAPES, ids="{0[scu]}-{0[line_bytes]}".format)
@pytest.mark.sample(2)
def test_checks(simulator, fields):
    fields = fields | memory_of(simulator)
    config = scu_config(**fields)
    runner.run_bench(Together(registers=RegisterCheck(config), sieve=Sieve(config.scu),
                              bounds=Bounds(config, config.scu)),
                     "checks", __name__, simulator=simulator, parameters=fields)
