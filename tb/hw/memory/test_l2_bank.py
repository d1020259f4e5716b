# amaranth: UnusedElaboratable=no
"""Tests of a bank of the L2: order, atomics, write-back, flushes, a memory that refuses."""

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from hw.config import HardwareConfig
from hw.operations import AmoOp
from hw.memory.port import core_request_layout, memory_request_layout
from hw.memory.l2_bank import BUFFER_SETS, BUFFER_WAYS, L2Bank
from tb import runner
from tb.clocking import integer, reset, tick
from tb.hw.memory.bench_l2_bank import Bench


#: The keys name the tests. ``buffer`` is as in the preset ``tiny``.
SHAPES = {
    "1": {"threads": 1, "l2_bytes": 256, "l2_ways": 1, "l2_mshrs": 2},
    "4": {"threads": 4, "l2_bytes": 512, "l2_ways": 2, "l2_mshrs": 4},
    "16": {"threads": 16, "l2_bytes": 2048, "l2_ways": 4, "l2_mshrs": 8},
    "buffer": {"threads": 4, "l2_bytes": 0, "l2_mshrs": 4},
    "4, long": {"threads": 4, "l2_bytes": 512, "l2_ways": 2, "l2_mshrs": 4, "pipeline": "long"},
    "buffer, long": {"threads": 8, "l2_bytes": 0, "l2_mshrs": 8, "pipeline": "long"},
    "4, late": {"threads": 4, "l2_bytes": 512, "l2_ways": 2, "l2_mshrs": 4, "l2_latency": 21},
    "4, line": {"threads": 4, "l2_bytes": 512, "l2_ways": 2, "l2_mshrs": 4,
                "atomic_words": "line"},
    "buffer, line": {"threads": 8, "l2_bytes": 0, "l2_mshrs": 4, "atomic_words": "line"},
    "4, line, long": {"threads": 4, "l2_bytes": 512, "l2_ways": 2, "l2_mshrs": 4,
                      "pipeline": "long", "atomic_words": "line"},
    "8 in 4 sectors": {"threads": 8, "l2_bytes": 512, "l2_ways": 2, "l2_mshrs": 8,
                       "sector_bytes": 8},
    "8 in 2 sectors, direct": {"threads": 8, "l2_bytes": 256, "l2_ways": 1, "l2_mshrs": 4,
                               "sector_bytes": 16, "atomic_words": "line"},
    "8 in 4 sectors, long": {"threads": 8, "l2_bytes": 512, "l2_ways": 2, "l2_mshrs": 4,
                             "sector_bytes": 8, "pipeline": "long"},
    "8 in 4 sectors, pairs": {"threads": 8, "l2_bytes": 512, "l2_ways": 2, "l2_mshrs": 4,
                              "sector_bytes": 8, "fetch_sectors": 2},
}


def _organisation(config):
    """(sets, ways) of the cache, or of the buffer that replaces the cache."""
    if not config.l2_bytes:
        return BUFFER_SETS, BUFFER_WAYS
    return config.l2_bytes // config.line_bytes // config.l2_ways, config.l2_ways


def _capacity(config):
    sets, ways = _organisation(config)
    return sets * ways


async def _random(bench, count, lines):
    rng = bench.rng
    bench.port.latency = rng.choice([(1, 1), (1, 10), (1, 200), (20, 20)])
    bench.port.stall = rng.choice([0.0, 0.0, 0.5, 0.9])
    bench.port.blocks = rng.random() < 0.3
    for end in (bench.port.source, bench.source):
        end.idle = rng.choice([0.0, 0.0, 0.5])
    bench.sink.stall = rng.choice([0.0, 0.0, 0.5, 0.9])
    for _ in range(count):
        await bench.anything(lines)
    await bench.settle()


@cocotb.test()
async def against_model(dut):
    """Random requests to more lines than the cache holds, latency 1 to 200, any order."""
    bench = await Bench.start(dut)
    for _ in range(4):
        await _random(bench, 60, 3 * _capacity(bench.config))
    await bench.verify()
    assert bench.events["memory_write"] > 10


@cocotb.test()
async def few_lines(dut):
    """Random requests to two lines of one set, and to one line, check the order of accesses."""
    bench = await Bench.start(dut)
    sets, _ = _organisation(bench.config)
    for lines in (1, 2, sets + 1):
        await _random(bench, 80, lines)
    await bench.verify()


@cocotb.test()
async def atomics(dut):
    """All operations with operands at the edges. The answer is the line before the operation."""
    bench = await Bench.start(dut)
    edges = [0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x1234_5678]
    words = bench.config.line_words
    for amo in AmoOp:
        for old in edges:
            value = sum(old << 32 * word for word in range(words))
            await bench.write(1, value)
            for step, operand in enumerate(bench.rng.sample(edges, 3)):
                await bench.atomic(1, step % words, amo, operand, wanted=step % 2,
                                   compare=old)
                await bench.atomic(1, step % words, AmoOp.CAS, step, compare=old ^ 1 << 31)
    for bit in range(32):                   # words that differ from it in one bit stay
        await bench.write(1)
        old = bench.model.value(bench.line(1)) >> 32 * (bit % words) & 0xFFFF_FFFF
        await bench.atomic(1, bit % words, AmoOp.CAS, bit, compare=old ^ 1 << bit)
        await bench.read(1)
    await bench.verify()


@cocotb.test()
async def atomics_that_miss(dut):
    """Atomics on one word while its line is being fetched: one fetch, and all are performed."""
    bench = await Bench.start(dut)
    bench.port.latency = (50, 50)
    bench.clear()
    for _ in range(6):
        await bench.atomic(2, 0, AmoOp.ADD, 1)
    await bench.read(2, mask=1)
    await bench.settle()
    assert [request.write for request in bench.port.requests] == [0]
    await bench.verify()


@cocotb.test()
async def misses_are_no_hits(dut):
    """Requests that wait for a line count as accesses, but not as hits when the line has come."""
    bench = await Bench.start(dut)
    bench.port.latency = (50, 50)
    for count in range(1, min(4, bench.config.l2_mshrs) + 1):
        bench.clear()
        for _ in range(count):
            await bench.read(10 * count)
        await bench.settle()
        assert (bench.events["access"], bench.events["hit"]) == (count, 0)
        await bench.read(10 * count)
        await bench.settle()
        assert (bench.events["access"], bench.events["hit"]) == (count + 1, 1)
    await bench.verify()


@cocotb.test()
async def whole_lines(dut):
    """A write of a whole line fetches nothing. A write of a part fetches the line."""
    bench = await Bench.start(dut)
    count = 2 * _capacity(bench.config)
    for number in range(count):
        await bench.write(number)
    await bench.verify()
    assert bench.events["memory_read"] == 0
    assert bench.events["memory_write"] == count
    await bench.write(count, mask=1)
    await bench.write(count)
    await bench.verify()
    assert bench.events["memory_read"] == 1
    assert bench.events["memory_write"] == count + 1


@cocotb.test()
async def lines_one_bit_apart(dut):
    """Two lines whose addresses differ in one bit, for every bit.

    Both are tested as misses at the same time, in the cache, evicted and written back.
    """
    bench = await Bench.start(dut)
    sets, ways = _organisation(bench.config)
    bits = 31 - bench.config.line_bits
    for bit in range(bits):
        one = bench.rng.getrandbits(bits)
        lines = one, one ^ 1 << bit
        for number in lines:
            await bench.read(number)
        for number in lines:
            await bench.write(number, mask=1 << bit % bench.config.line_bytes)
            await bench.atomic(number, bit % bench.config.line_words, AmoOp.ADD, bit)
        for number in (*lines, *(one ^ sets * (1 + way) for way in range(ways)), *lines):
            await bench.read(number)
    await bench.verify()
    await bench.flush(invalidate=True)
    bench.clear()
    for number in [line - bench.line(0) for line in bench.model.numbers()]:
        await bench.read(number)
    await bench.verify()


@cocotb.test()
async def hits(dut):
    """A set holds as many lines as it has ways. The most recently used line is not replaced."""
    bench = await Bench.start(dut)
    sets, ways = _organisation(bench.config)

    async def hits_of(*numbers):
        bench.clear()
        for number in numbers:
            await bench.read(number)
            await bench.settle()
        return bench.events["hit"]

    whole = range(sets * ways)
    assert await hits_of(*whole) == 0
    assert await hits_of(*whole) == len(whole)
    for step in range(6):
        other = sets * (ways + step)
        await hits_of(other)
        assert await hits_of(other) == 1
        if ways > 1:
            assert await hits_of(other, sets * (ways + 20 + step), other) == 2
    await bench.verify()


@cocotb.test()
async def flushes(dut):
    """A flush writes dirty lines back and keeps them. ``invalidate`` drops all lines."""
    bench = await Bench.start(dut)
    count = _capacity(bench.config)
    for number in range(count):
        await bench.write(number)
    await bench.read(0)
    await bench.verify()
    assert bench.events["memory_write"] == count
    bench.clear()
    await bench.flush()
    assert bench.events["memory_write"] == 0             # no line is dirty any more
    for number in range(count):
        await bench.read(number)
    await bench.settle()
    assert bench.events["hit"] == count
    await bench.write(3)
    await bench.settle()
    await bench.flush(invalidate=True)
    assert bench.events["memory_write"] == 1
    for store in (bench.port.store, bench.model):        # the host writes into memory
        for number in range(count):
            store.write(bench.line(number), 0x55 + number, 0xFF)
    bench.clear()
    for number in range(count):
        await bench.read(number)
    await bench.verify()
    assert bench.events["hit"] == 0


@cocotb.test()
async def timing_of_flushes(dut):
    """A sweep takes a step for each set. There are as many sweeps as a set has dirty lines, and
    one at least, whether lines are dropped or not. A line of the last set is still on its way to
    memory when the last sweep ends."""
    bench = await Bench.start(dut)
    sets, ways = _organisation(bench.config)
    sweep = sets + 2 + bench.config.long
    for invalidate in (False, True):
        for dirty in [(), *((set_,) * count for set_ in {0, sets - 1} for count in {1, ways}),
                      range(sets)]:
            for count, set_ in enumerate(dirty):
                await bench.write(set_ + count * sets)
            await bench.settle()
            sweeps = max((list(dirty).count(set_) for set_ in dirty), default=1)
            on_its_way = 2 if sets - 1 in dirty else 0
            assert await bench.flush_cycles(invalidate=invalidate) \
                == 1 + sweeps * sweep + on_its_way
            await bench.flush(invalidate=True)
    await bench.verify()


@cocotb.test()
async def flush_waits(dut):
    """A flush that is requested during traffic waits for all earlier requests.

    After the flush, memory holds all writes.
    """
    bench = await Bench.start(dut)
    bench.port.latency = (30, 60)
    for count in (1, 2, 4, 10, 10):
        for _ in range(count):
            await bench.write(bench.rng.randrange(6), mask=bench.rng.getrandbits(8))
            await bench.anything(6)
        await bench.flush()
        bench.compare_memory()
        await bench.verify()


@cocotb.test()
async def timing(dut):
    """Latency and throughput.

    A hit is answered after three cycles. A miss requests from memory after three cycles, and is
    answered three cycles after memory's answer. The L2 takes one request a cycle, but a
    request for a set that was just written waits a cycle. In the long pipeline a hit and the wait
    take one cycle more. The request to memory and the answer to a miss take two cycles more each.
    With ``l2_latency`` an answer takes so many cycles more, and the throughput is the same.
    """
    bench = await Bench.start(dut)
    more = int(bench.config.long)
    late = more + bench.config.l2_latency
    for number in (0, 1, 2, 3):
        await bench.read(number)
    await bench.settle()

    async def gaps(*requests):
        await tick(dut, 5)
        bench.clear()
        for request in requests:
            await request
        await bench.settle()
        assert bench.events["hit"] == len(requests)
        return [after - before for before, after in zip(bench.accepted, bench.accepted[1:])]

    for _ in range(3):
        assert await gaps(bench.read(1)) == []
        assert bench.answered == [bench.accepted[0] + 3 + late]
    assert await gaps(*(bench.read(i % 4) for i in range(12))) == [1] * 11
    assert bench.answered == list(range(bench.accepted[0] + 3 + late,
                                         bench.accepted[0] + 15 + late))
    assert await gaps(*(bench.read(1) for _ in range(12))) == [1] * 11
    assert await gaps(*(bench.write((0, 1, 3)[i % 3]) for i in range(12))) == [1] * 11
    assert await gaps(bench.write(1), bench.read(1), bench.write(1), bench.write(1)) \
        == [2 + more, 1, 2 + more]
    assert await gaps(bench.atomic(1, 0, AmoOp.ADD, 1), bench.read(2)) == [1]
    assert await gaps(bench.atomic(1, 0, AmoOp.ADD, 1), bench.read(1)) == [2 + more]
    assert await gaps(bench.write(1), bench.atomic(1, 0, AmoOp.ADD, 1)) == [2 + more]
    follows = bench.config.line_atomics and not more
    assert await gaps(*(bench.atomic(1, i % 4, AmoOp.ADD, i) for i in range(12))) \
        == [1 if follows else 2 + more] * 11
    assert await gaps(bench.atomic(1, 0, AmoOp.ADD, 1), bench.atomic(1, 0, AmoOp.XOR, 1),
                      bench.read(1)) == [1 if follows else 2 + more, 2 + more]
    for number in (50, 54):
        bench.clear()
        await bench.read(number)
        await bench.settle()
        assert bench.asked == [bench.accepted[0] + 3 + 2 * more]
        assert bench.answered == [bench.came[0] + 3 + more + late]


@cocotb.test()
async def refusing_memory(dut):
    """A memory that accepts no request while it offers answers: all answers are taken."""
    bench = await Bench.start(dut)
    lines = 3 * _capacity(bench.config)
    for number in range(lines):
        await bench.write(number)                        # so that every fill evicts a dirty line
    for round_ in range(6):
        bench.port.stall, bench.port.latency = 0.0, (10, 40)
        sender = cocotb.start_soon(_some(bench, lines))
        await tick(dut, bench.rng.randrange(5, 40))
        bench.port.stall = 1.0
        bench.port.latency = (1, 1)
        for _ in range(60 + 10 * bench.config.l2_mshrs):
            await tick(dut)
            if not bench.port.waiting and round_ % 2:
                break
        assert not bench.port.waiting, "an answer is not taken while requests are refused"
        bench.port.stall = 0.0
        await sender
    bench.port.blocks = True
    for latency in ((1, 1), (1, 20)):
        bench.port.latency = latency
        await _some(bench, lines)
        await bench.settle()
    await bench.verify()


async def _some(bench, lines):
    for _ in range(50):
        await bench.anything(lines)


@cocotb.test()
async def full_write_back_queue(dut):
    """Memory refuses requests while whole lines evict dirty lines. Victims of fills have room."""
    bench = await Bench.start(dut)
    lines = _capacity(bench.config)
    for number in range(lines):
        await bench.write(number)
    await bench.settle()
    bench.port.latency = (60, 60)
    for number in range(max(1, bench.config.l2_mshrs - 2)):     # more would not be accepted
        await bench.read(lines + number)
    await tick(dut, 30)
    bench.port.stall = 1.0
    sender = cocotb.start_soon(_writes(bench, range(2 * lines, 4 * lines)))
    await tick(dut, 200)
    assert not bench.port.waiting, "an answer is not taken while requests are refused"
    bench.port.stall = 0.0
    await sender
    await bench.verify()


async def _writes(bench, numbers):
    for number in numbers:
        await bench.write(number)


async def _reads(bench, numbers):
    for number in numbers:
        await bench.read(number)


@cocotb.test()
async def refusing_core(dut):
    """A core that takes no answer for a long time loses nothing."""
    bench = await Bench.start(dut)
    for number in range(4):
        await bench.read(number)
    await bench.settle()
    bench.sink.stall = 1.0
    sender = cocotb.start_soon(_reads(bench, [number % 4 for number in range(12)]))
    await tick(dut, 30)
    bench.sink.stall = 0.0
    await sender
    await bench.settle()
    bench.sink.stall = 1.0
    sender = cocotb.start_soon(_some(bench, 2 * _capacity(bench.config)))
    await tick(dut, 200)
    bench.sink.stall = 0.0
    await sender
    await bench.verify()


@cocotb.test()
async def reset_in_flight(dut):
    """After a reset at any time, only the contents of memory remain."""
    bench = await Bench.start(dut)
    lines = 2 * _capacity(bench.config)
    for _ in range(4):
        bench.port.latency = (1, 60)
        sender = cocotb.start_soon(_some(bench, lines))
        await tick(dut, bench.rng.randrange(10, 100))
        sender.cancel()
        dut.rst.value = 1
        bench.forget()
        await reset(dut, 2)
        bench.forget()
        await ReadOnly()
        assert integer(dut.busy) == 1 and integer(dut.request__ready) == 0
        await tick(dut)
        bench.sink.stall = 0.3
        await _some(bench, lines)
        await bench.verify()


def _sector(config, *numbers):
    """The byte mask of sectors of a line."""
    size = config.sector_bytes
    return sum((1 << size) - 1 << number * size for number in numbers)


async def _moved(bench, *requests):
    """What is asked of memory for some requests: (whether it is a write, bytes)."""
    await bench.settle()
    bench.clear()
    for request in requests:
        await request
    await bench.settle()
    return [(request.write, request.mask) for request in bench.port.requests]


@cocotb.test()
async def sectors_are_fetched(dut):
    """Only the sectors that a request needs are fetched, and each once. A line whose sectors have
    come one after the other is one line."""
    bench = await Bench.start(dut)
    config = bench.config
    one, other = _sector(config, 0), _sector(config, 1)
    assert await _moved(bench, bench.read(3, mask=1)) == [(0, one)]
    assert await _moved(bench, bench.read(3, mask=one)) == []
    assert await _moved(bench, bench.read(3, mask=one | other)) == [(0, other)]
    assert (bench.events["access"], bench.events["hit"]) == (1, 0)
    assert await _moved(bench, bench.atomic(3, 0, AmoOp.ADD, 5),
                        bench.atomic(3, config.line_words // config.sectors, AmoOp.ADD, 5)) == []
    assert bench.events["hit"] == 2
    await bench.verify()


@cocotb.test()
async def sectors_are_fetched_together(dut):
    """A sector brings the other of its pair, but not over what was written there."""
    bench = await Bench.start(dut)
    pairs = [_sector(bench.config, *pair) for pair in ((0, 1), (2, 3))]
    third, last = (_sector(bench.config, number) for number in (2, 3))
    assert await _moved(bench, bench.read(3, mask=1)) == [(0, pairs[0])]
    assert await _moved(bench, bench.read(3, mask=pairs[0])) == []
    assert await _moved(bench, bench.read(3, mask=last)) == [(0, pairs[1])]
    assert await _moved(bench, bench.write(5, mask=last)) == []
    assert await _moved(bench, bench.read(5, mask=third), bench.read(5, mask=last)) == [(0, third)]
    await bench.verify()


@cocotb.test()
async def sectors_are_written_back(dut):
    """A flush writes the dirty sectors of a line and no others, and so does the eviction of a line
    that other lines replace."""
    bench = await Bench.start(dut)
    config = bench.config
    sets, ways = _organisation(config)
    last = config.sectors - 1
    await bench.read(2)
    await bench.write(2, mask=1 << last * config.sector_bytes)
    assert await _moved(bench, bench.flush()) == [(1, _sector(config, last))]
    assert await _moved(bench, bench.flush()) == []
    await bench.atomic(2, 0, AmoOp.ADD, 1)
    moved = await _moved(bench, *(bench.read(2 + sets * (1 + i)) for i in range(8 * ways)))
    assert [mask for write, mask in moved if write] == [_sector(config, 0)]
    await bench.verify()


@cocotb.test()
async def whole_sectors(dut):
    """A write of whole sectors fetches nothing, whether its line is there or not. A write of a part
    of a sector fetches the sector. A fetch does not touch what was written."""
    bench = await Bench.start(dut)
    config = bench.config
    one, other = _sector(config, 0), _sector(config, 1)
    assert await _moved(bench, bench.write(5, mask=one)) == []
    assert await _moved(bench, bench.write(5, mask=other)) == []
    assert await _moved(bench, bench.write(6, mask=one | other >> 1 & other)) == [(0, other)]
    await bench.read(5)
    assert await _moved(bench, bench.flush()) == [(1, one | other)] * 2
    await bench.verify()


@cocotb.test()
async def sectors_under_way(dut):
    """While a sector is under way, requests for other sectors of its line wait together, and one
    fetch brings what they need. Requests for a sector that is there do not wait, if nobody waits
    there for the sector before them."""
    bench = await Bench.start(dut)
    config = bench.config
    size, rest = config.sector_bytes, range(1, config.sectors)
    bench.port.latency = (60, 60)
    moved = await _moved(bench, bench.read(1, mask=1),
                         *(bench.read(1, mask=1 << i * size) for i in rest))
    assert moved == [(0, _sector(config, 0)), (0, _sector(config, *rest))]
    await bench.write(9, mask=_sector(config, 0))
    await bench.settle()
    bench.clear()
    await bench.read(9, mask=1 << size)
    await bench.read(9, mask=1)                         # hits meanwhile
    await bench.read(9, mask=1 | 1 << size)
    await bench.write(9, mask=1)                        # waits: it must not overtake the read
    await bench.read(9, mask=1)
    await bench.settle()
    assert len(bench.port.requests) == 1 and bench.events["hit"] == 1
    assert bench.answered[0] - bench.accepted[1] < 10 < bench.answered[1] - bench.accepted[2]
    await bench.verify()


@cocotb.test()
async def lines_replaced_under_way(dut):
    """A line is replaced while sectors of it are under way. Requests that need the sectors that it
    lost get them from memory, in order, and the fetch of a sector is not older than its line."""
    bench = await Bench.start(dut)
    config, rng = bench.config, bench.rng
    sets, ways = _organisation(config)
    size = config.sector_bytes
    for _ in range(20):
        bench.port.latency = rng.choice([(40, 40), (1, 60)])
        for line in range(2):
            number = 1 + sets * line
            await bench.write(number, mask=_sector(config, 0))
            await bench.atomic(number, size // 4, AmoOp.ADD, 1)
            await bench.read(number, mask=1 | 1 << size)
            await bench.write(number, mask=2)
            await bench.read(number)
            for other in range(ways + 1):
                await bench.read(1 + sets * (2 + other + rng.randrange(3)),
                                 mask=1 << size * rng.randrange(config.sectors))
            await bench.read(number, mask=1 | 1 << size)
    await bench.verify()


TESTS = ["against_model", "few_lines", "atomics", "atomics_that_miss", "misses_are_no_hits",
         "whole_lines", "lines_one_bit_apart", "hits", "flushes", "timing_of_flushes",
         "flush_waits", "timing", "refusing_memory", "full_write_back_queue", "refusing_core",
         "reset_in_flight"]
SECTOR_TESTS = ["sectors_are_fetched", "sectors_are_written_back", "whole_sectors",
                "sectors_under_way", "lines_replaced_under_way"]
#: Where sectors are fetched in pairs.
PAIR_TESTS = ["sectors_are_fetched_together", "sectors_are_written_back",
              "lines_replaced_under_way"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sample(2)
def test_l2_bank(simulator, shape):
    runner.run_bench(L2Bank(HardwareConfig(**SHAPES[shape])), "l2_bank", __name__,
                     simulator=simulator, parameters={"config": SHAPES[shape]},
                     tests=TESTS + (PAIR_TESTS if "fetch_sectors" in SHAPES[shape] else
                                    SECTOR_TESTS if "sector_bytes" in SHAPES[shape] else []))


def test_every_bench_is_run():
    benches = {name for name, value in globals().items() if isinstance(value, type(hits))}
    assert benches == {*TESTS, *SECTOR_TESTS, *PAIR_TESTS}


def test_init():
    config = HardwareConfig(threads=4)
    bank = L2Bank(config)
    assert bank.request.payload.shape() == core_request_layout(config)
    assert bank.memory_request.payload.shape() == memory_request_layout(config)


def test_init_wrong_config():
    with pytest.raises((TypeError, AttributeError)):
        L2Bank({"threads": 4})
