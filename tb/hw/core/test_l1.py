# amaranth: UnusedElaboratable=no
"""Tests of the load/store unit as a whole: coalescer, load queue and L1 data cache."""

import collections

import cocotb
import pytest

from hw.core.l1 import L1, PATIENCE
from hw.isa import MemoryMap
from hw.memory.port import LineOp
from hw.operations import AmoOp, MemOp
from tb.clocking import reset, tick
from tb.hw.core import bench_unit
from tb.hw.core.bench_l1 import Bench
from tb.hw.core.models_memory import (DirectMapped, Operation, global_address, local_address,
                                      passes)
from tb.hw.core.traffic_memory import Traffic


LOAD, STORE, AMO, FENCE = MemOp.LOAD, MemOp.STORE, MemOp.AMO, MemOp.FENCE


class Program:
    """Instructions of all lanes. Each load has a register of its own."""

    def __init__(self, bench):
        self._config = bench.config
        self._count = 0

    def __call__(self, op, base, *, stride=4, space=global_address, **fields):
        self._count += 1
        lanes = range(self._config.threads)
        return Operation(op, [space(base) + stride * lane for lane in lanes],
                         (1 << len(lanes)) - 1, data=[1000 * self._count + i for i in lanes],
                         **{"writes": int(op is LOAD), **fields},
                         warp=self._count // 32 % self._config.warps, rd=self._count % 32)


async def _random(bench, traffic, count):
    rng = bench.rng
    bench.l2.latency = rng.choice([(1, 1), (1, 10), (1, 200), (20, 20)])
    bench.l2.in_order = rng.random() < 0.2
    bench.l2.stall = rng.choice([0.0, 0.0, 0.5, 0.9])
    bench.source.idle = rng.choice([0.0, 0.0, 0.5])
    bench.sink.stall = rng.choice([0.0, 0.0, 0.5, 0.9])
    bench.l2.source.idle = rng.choice([0.0, 0.0, 0.5])
    for _ in range(bench_unit.turns(count)):
        await bench.send(traffic.operation())
    await bench.settle()


@cocotb.test()
async def against_model(dut):
    """Random instructions over twice the cache, latency 1 to 200, answers in any order."""
    bench = await Bench.start(dut)
    traffic = Traffic(bench.rng, bench.config)
    for _ in range(3):
        await _random(bench, traffic, 60)
    await bench.verify()


@cocotb.test()
async def few_lines(dut):
    """Random instructions on two lines: each lane sees its own program order."""
    bench = await Bench.start(dut)
    traffic = Traffic(bench.rng, bench.config, window=2 * bench.config.line_bytes)
    for kinds in ({LOAD: 1, STORE: 1}, {LOAD: 2, AMO: 1}, {LOAD: 4, STORE: 2, AMO: 2, FENCE: 1}):
        traffic.kinds = kinds
        await _random(bench, traffic, 50)
    await bench.verify()


@cocotb.test()
async def program_order(dut):
    """Stores, atomics and fences that overtake the fetch of their line."""
    bench = await Bench.start(dut)
    make = Program(bench)
    latencies = [(1, 1), (5, 5), (40, 40), (1, 40)]
    for latency in bench.rng.sample(latencies, 1 if bench.config.threads > 4 else 4):
        bench.l2.latency = latency
        for between in ([make(STORE, 0)], [make(AMO, 0)], [make(AMO, 0, writes=1)],
                        [make(FENCE, 0)], [make(STORE, 2, size=0, stride=1)],
                        [make(STORE, 0), make(AMO, 0)], [make(FENCE, 0), make(STORE, 0)]):
            for first in ([], [make(LOAD, 0)]):
                await bench.run(make(FENCE, 0))
                await bench.send(*first, *between, make(LOAD, 0), *between, make(LOAD, 0),
                                 make(LOAD, 0, size=0, signed=1))
                await tick(dut, bench.rng.randrange(30))
                await bench.send(make(LOAD, 0))
        await bench.settle()
    for amo in AmoOp:
        await bench.send(make(AMO, 0, stride=0, amo=amo), make(AMO, 0, stride=0, amo=amo, writes=1),
                         make(LOAD, 0))
    await bench.verify()


@cocotb.test()
async def fences_order_requests(dut):
    """The L2 takes all requests before a FENCE, of any bank, before those after the FENCE."""
    bench = await Bench.start(dut)
    config, make = bench.config, Program(bench)
    lines = range(8)
    for stall in (0.0, 0.5, 0.9):
        bench.l2.stall = stall
        bench.l2.requests.clear()
        for turn in range(3):
            shuffled = bench.rng.sample(lines, len(lines))
            await bench.send(*(make(bench.rng.choice([STORE, AMO]),
                                    config.line_bytes * (8 * turn + line))
                               for line in shuffled), make(FENCE, 0))
        await bench.settle()
        first = MemoryMap.GLOBAL // config.line_bytes
        turns = [(request.line - first) // 8 for request in bench.l2.requests]
        assert len(turns) >= 24 and turns == sorted(turns), turns
    await bench.verify()


@cocotb.test()
async def local_atomics(dut):
    """Atomics of local memory: lanes with words of their own, with common words, and with words in
    both memories."""
    bench = await Bench.start(dut)
    config, make = bench.config, Program(bench)
    line, lanes = config.line_bytes, range(config.threads)

    def local(op, places, **fields):
        made = make(op, 0, space=local_address, **fields)
        made.address = [local_address(places[lane % len(places)]) for lane in lanes]
        return made

    own = [4 * lane for lane in lanes]
    patterns = [own, own[::-1], [0], [0, 0, line], [0, line], [0, 4], [line + 4, 0, 4]]
    amos = AmoOp if config.threads <= 4 else [AmoOp.ADD, AmoOp.SWAP, AmoOp.MIN, AmoOp.CAS]
    for amo in amos:
        for places in patterns:
            for writes in (0, 1):
                await bench.send(local(AMO, places, amo=amo, writes=writes))
            mixed = local(AMO, places, amo=amo, writes=1)
            mixed.address[0] = global_address(0)
            mixed.address[-1] = global_address(4)
            await bench.send(local(STORE, places), local(AMO, places, amo=amo), local(LOAD, places),
                             mixed, local(AMO, places, amo=amo, writes=1), local(STORE, own),
                             local(AMO, own, amo=amo), local(AMO, own, amo=amo, writes=1),
                             local(LOAD, [line]))
    await bench.verify()


@cocotb.test()
async def atomics_of_a_line(dut):
    """Atomics on words of global memory: each word of a line once, common words, two lines; loads,
    stores and wanted atomics before and after. With atomics of whole lines a line has one request.
    """
    bench = await Bench.start(dut)
    config, make = bench.config, Program(bench)
    line, lanes = config.line_bytes, range(config.threads)

    def at(op, places, **fields):
        made = make(op, 0, **fields)
        made.address = [global_address(places[lane % len(places)]) for lane in lanes]
        return made

    own = [4 * lane for lane in lanes]
    patterns = [own[::-1], [0], [0, 4], [4, line], [line, 8, 0, 8]]
    amos = AmoOp if config.threads <= 4 else [AmoOp.ADD, AmoOp.SWAP, AmoOp.MAXU, AmoOp.CAS]
    for amo in amos:
        for places in patterns:
            await bench.send(at(STORE, own), at(AMO, places, amo=amo), at(LOAD, places),
                             at(AMO, places, amo=amo, writes=1), at(AMO, own, amo=amo),
                             at(AMO, places, amo=amo), at(LOAD, own))
    for places, lines in ((own, 1), ([0, 4], 1), ([4, line], 2), ([line, 8, 0, 8], 2)):
        await bench.settle()
        before = len(bench.l2.requests)
        made = at(AMO, places, amo=AmoOp.XOR)
        await bench.send(made)
        await bench.settle()
        words = collections.Counter(made.address)
        expected = min(lines, len(words)) if config.line_atomics else len(words)
        if not config.combines:             # as many as the lanes of one word need
            times = {word // line: count for word, count in sorted(
                words.items(), key=lambda item: item[1])}
            expected = sum(times.values()) if config.line_atomics else config.threads
        assert len(bench.l2.requests) - before == expected
    await bench.verify()


@cocotb.test()
async def compare_and_swap(dut):
    """In both memories the lowest lane whose comparison holds wins, with rd = x0, too."""
    bench = await Bench.start(dut)
    make = Program(bench)
    count = bench.config.threads
    for space in (global_address, local_address):
        for writes in (0, 1):
            word = make(STORE, 0, space=space, stride=0)
            word.data = [7] * count
            # Each lane replaces the value of the lane before; then the last lane wins; then none.
            chain, last, none = (make(AMO, 0, space=space, stride=0, amo=AmoOp.CAS, writes=writes)
                                 for _ in range(3))
            chain.compare = [7 + lane for lane in range(count)]
            chain.data = [8 + lane for lane in range(count)]
            last.compare = [6] * (count - 1) + [7 + count]
            last.data = [1000 + lane for lane in range(count)]
            none.compare = [1000 + count] * count
            await bench.send(word, chain, make(LOAD, 0, space=space), last, none,
                             make(LOAD, 0, space=space))
            await bench.settle()
            assert bench.memory.read(space(0)) == 1000 + count - 1
    # A word that differs from its comparison value in one bit stays, for each bit.
    for first in range(0, 32, count):
        word, one_off = make(STORE, 0, space=local_address), make(AMO, 0, space=local_address,
                                                                  amo=AmoOp.CAS)
        word.data = [bench.rng.getrandbits(32) for _ in range(count)]
        one_off.compare = [value ^ 1 << first + lane for lane, value in enumerate(word.data)]
        await bench.send(word, one_off, make(LOAD, 0, space=local_address))
    await bench.verify()


@cocotb.test()
async def timing_of_local_atomics(dut):
    """Lanes with banks of their own share a pass. A pass of local memory after an atomic waits a
    cycle.

    In the long pipeline the pass waits three cycles, and everything takes a cycle more.
    """
    bench = await Bench.start(dut)
    make, more = Program(bench), int(bench.config.long)

    def amo(base=0):
        return make(AMO, base, space=local_address, amo=AmoOp.ADD)

    after = 2 + 2 * more
    for other in (LOAD, STORE, AMO):
        assert await bench.gaps(amo(), make(other, 0, space=local_address)) == [after], other
        found = await bench.gaps(make(other, 0, space=local_address), amo())
        assert found == [after if other is AMO else 1 + more]
    for other in (STORE, FENCE) if bench.config.l1_banks == 1 else (STORE,):
        assert await bench.gaps(amo(), make(other, 0)) == [1 + more], other
    assert await bench.gaps(*(amo(4 * i) for i in range(6))) == [after] * 5
    bench.log.clear()
    await bench.run(make(AMO, 0, space=local_address, writes=1))
    taken, = bench.log["taken"]
    late = more + bench.config.l1_latency
    assert bench.log["loaded"] == [taken + 1 + late]
    assert bench.log["offered"][0] == taken + 4 + late
    await bench.verify()


@cocotb.test()
async def hits(dut):
    """Hits of one load at a time: a set holds as many lines as it has ways."""
    bench = await Bench.start(dut)
    config, make = bench.config, Program(bench)
    line = config.line_bytes
    way = config.l1_bytes // config.l1_ways                  # lines this far apart share a set

    async def hits_of(*operations):
        before = bench.events["load_hit"]
        for operation in operations:
            await bench.run(operation)
        return bench.events["load_hit"] - before

    ways = [way * i for i in range(config.l1_ways)]
    assert await hits_of(*(make(LOAD, base) for base in ways)) == 0
    assert await hits_of(*(make(LOAD, base) for base in ways)) == len(ways)
    assert await hits_of(make(STORE, 0), make(LOAD, 0)) == 1       # a store keeps the line
    assert await hits_of(make(STORE, way * 9), make(LOAD, way * 9)) == 0   # and allocates no line
    assert await hits_of(make(LOAD, way * 9)) == 1
    if len(ways) > 1:
        await hits_of(make(LOAD, way * 10))
        assert await hits_of(make(LOAD, way * 10)) == 1            # the line just used stays
    assert await hits_of(make(AMO, way * 10), make(LOAD, way * 10)) == 0    # an atomic drops it
    assert await hits_of(make(LOAD, line), make(LOAD, line), make(FENCE, 0), make(LOAD, line)) == 1
    dut.flush.value = 1
    await tick(dut)
    dut.flush.value = 0
    await bench.settle()
    assert await hits_of(make(LOAD, line), make(LOAD, line)) == 1
    await bench.verify()


@cocotb.test()
async def lines_loaded_once(dut):
    """A line that a load with the hint brings serves this load and those that join it, and replaces
    no other. A load with the hint hits like any other; one without it installs the line."""
    bench = await Bench.start(dut)
    config, make = bench.config, Program(bench)
    way, count = config.l1_bytes // config.l1_ways, config.l1_ways    # lines of one set
    wanted = [way * i for i in range(count)]

    async def hit(base, **fields):
        before = bench.events["load_hit"]
        await bench.run(make(LOAD, base, **fields))
        return bench.events["load_hit"] - before

    assert not any([await hit(base) for base in wanted])
    assert not any([await hit(way * (count + turn // 2), once=1) for turn in range(8)])
    assert all([await hit(base, once=base // way % 2) for base in wanted])
    assert not await hit(way * count)
    assert await hit(way * count, once=1)
    # Of the loads that wait for a line the first decides.
    bench.l2.latency = (60, 60)
    for first in (0, 1):
        await bench.run(make(FENCE, 0))
        bench.l2.requests.clear()
        await bench.run(make(LOAD, 0, once=first), make(LOAD, 0, once=1 - first))
        assert [request.once for request in bench.l2.requests] == [first]
        assert await hit(0) == 1 - first
    await bench.verify()


@cocotb.test()
async def hits_of_a_direct_mapped_cache(dut):
    """With one way, hits of random instructions one at a time are those of the model."""
    bench = await Bench.start(dut)
    cache = DirectMapped(bench.config)
    traffic = Traffic(bench.rng, bench.config,
                      window=bench.config.l1_bytes + 4 * bench.config.line_bytes)
    right = 0
    for _ in range(bench_unit.count(60)):
        operation = traffic.operation()
        await bench.run(operation)
        right += sum(cache.perform(made) is True for made in passes(bench.config, operation))
        assert bench.events["load_hit"] == right, operation
    assert right
    await bench.verify()


@cocotb.test()
async def lines_one_bit_apart(dut):
    """Two lines that differ in one bit of their address, for every bit, in all of memory. Both are
    among the misses, then both in the cache, then one is the line of a store or atomic."""
    bench = await Bench.start(dut)
    config, make = bench.config, Program(bench)
    bench.l2.latency = (20, 20)
    for bit in range(config.line_bits, (config.memory_bytes - 1).bit_length()):
        one = bench.rng.randrange(config.memory_bytes) & -config.line_bytes
        other = one ^ 1 << bit
        await bench.send(make(LOAD, one), make(LOAD, other), make(LOAD, one))
        await bench.settle()
        await bench.send(make(LOAD, other), make(LOAD, one), make(STORE, one), make(LOAD, other),
                         make(LOAD, one), make(AMO, other), make(LOAD, one), make(LOAD, other))
    await bench.verify()


@cocotb.test()
async def misses_are_merged(dut):
    """Loads of a line send one request while the line is under way, and one more after a store or
    a fence."""
    bench = await Bench.start(dut)
    make = Program(bench)
    bench.l2.latency = (60, 60)
    count = bench.config.load_queue
    loads = [make(LOAD, 0) for _ in range(count)]
    await bench.run(*loads)
    assert len(bench.l2.requests) == 1
    assert bench.events["load_hit"] == 0
    await bench.run(make(FENCE, 0))
    bench.l2.requests.clear()
    await bench.run(make(LOAD, 0), make(STORE, 0), make(LOAD, 0), make(LOAD, 0))
    assert [request.op.name for request in bench.l2.requests] == ["READ", "WRITE", "READ"]
    bench.l2.requests.clear()
    await bench.run(make(FENCE, 0), make(LOAD, 0), make(FENCE, 0), make(LOAD, 0))
    assert [request.op.name for request in bench.l2.requests] == ["READ", "READ"]
    before = bench.events["load_hit"]
    await bench.run(make(LOAD, 0))
    assert bench.events["load_hit"] == before + 1
    await bench.run(make(FENCE, 0), make(LOAD, 0))
    assert bench.events["load_hit"] == before + 1
    await bench.verify()


@cocotb.test()
async def timing_of_hits(dut):
    """A line comes a cycle after its pass, or ``l1_latency`` cycles later, and the write-back three
    cycles after the line. There is a pass a cycle.

    In the long pipeline the line comes a cycle later. A pass that waits for another pass waits a
    cycle more, and also waits after an atomic. Instructions of one pass come every other cycle.
    """
    bench = await Bench.start(dut)
    config, make = bench.config, Program(bench)
    more = int(config.long)
    line = config.line_bytes
    await bench.run(make(LOAD, 0), make(LOAD, line))
    await bench.run(make(LOAD, 0))
    taken, = bench.log["taken"][-1:]
    late = more + config.l1_latency
    assert bench.log["loaded"][-1] == taken + 1 + late
    assert bench.log["offered"][-1] == taken + 4 + late

    loads = min(8, config.load_queue)
    found = await bench.gaps(*(make(LOAD, line * (i % 2)) for i in range(loads)))
    least = 1 + more
    assert found == [least] * (loads - 1)
    way = config.l1_bytes // config.l1_ways                  # another line of the same set
    apart = line if config.long else way                     # not taken for the same line
    for first, second, other, same in (
            (make(STORE, 0), make(LOAD, 0), line, 2 + more),
            (make(STORE, 0), make(STORE, 0), line, 2 + more),
            (make(AMO, 0), make(LOAD, 0), apart, 1 + 2 * more),
            (make(AMO, 0), make(STORE, 0), line, 1 + 2 * more),
            (make(AMO, 0), make(AMO, 0), way, least), (make(STORE, 0), make(AMO, 0), way, least),
            (make(LOAD, 0), make(STORE, 0), line, least)):
        for each in (first, second):
            each.address = [each.address[0]] * config.threads
            each.mask = each.mask if config.combines else 1
        assert await bench.gaps(first, second) == [same], (first.op, second.op)
        second.address = [address + other for address in second.address]
        assert await bench.gaps(first, second) == [least], (first.op, second.op)
    assert await bench.gaps(*(make(STORE, line * (i % 3)) for i in range(8))) == [least] * 7
    # A miss does not delay the pass after it. When the line comes, a pass is held back once for the
    # write of the line; the loads that waited are served beside the stores. (With two MSHRs, a
    # second load would leave no place for one more.) With several banks, most stores are in others.
    bench.l2.latency = (6, 6)
    for waiting in (1, 2) if config.l1_banks == 1 else ():
        await bench.run(make(FENCE, 0))
        found = await bench.gaps(*(make(LOAD, 0) for _ in range(waiting)),
                           *(make(STORE, line * (1 + i % 3)) for i in range(20)))
        # In the long pipeline the pass behind a pass that is held back has come meanwhile.
        assert sorted(found) == [1] * more + [least] * (18 + waiting - more) + [2 + more], \
            " ".join(map(str, found))


@cocotb.test()
async def stalls(dut):
    """The cause of each wait is counted, for as many cycles as the wait takes."""
    bench = await Bench.start(dut)
    config, make = bench.config, Program(bench)
    line, banks = config.line_bytes, config.l1_banks
    more = int(config.long)

    async def stalls_of(*operations):
        bench.stalls.clear()
        await bench.send(*operations)
        await bench.settle()
        return +bench.stalls

    def one_line(op, number, **fields):
        made = make(op, 0, **fields)
        made.address = [global_address(line * number)] * config.threads
        return made

    await bench.run(one_line(LOAD, 0))
    assert await stalls_of(one_line(LOAD, 0), one_line(LOAD, 0)) == {}
    assert await stalls_of(one_line(STORE, 0), one_line(LOAD, 0)) == {"order": 1}
    # Every line is in the L1, so passes to a bank wait for each other and for nothing else.
    scattered = make(LOAD, 0, stride=line)
    await bench.run(make(LOAD, 0, stride=line))
    passes_of_bank = -(-config.threads // banks)
    found = (await stalls_of(scattered))["bank"]
    assert found == passes_of_bank - 1
    # More misses of one bank than it has MSHRs: the load waits for the first line, and the line's
    # arrival takes the cycles of a fill.
    bench.l2.latency = (40, 40)
    mshrs = config.l1_mshrs // banks
    await bench.run(make(FENCE, 0))
    if mshrs < config.load_queue:
        found = await stalls_of(*(one_line(LOAD, banks * (i + 1)) for i in range(mshrs + 1)))
        assert 20 < found["mshr"] < 60 and not found["l2"] and not found["replay"], found
    # The L2 takes no requests for a while.
    bench.l2.stall = 1.0
    bench.stalls.clear()
    sender = cocotb.start_soon(bench.send(*(one_line(STORE, banks * i) for i in range(16))))
    await tick(dut, 100)
    assert bench.stalls["l2"] > 50 and not bench.stalls["mshr"], bench.stalls
    bench.l2.stall = 0.0
    await sender
    # A pass of the set whose line comes waits while the line is installed.
    bench.l2.latency = (10, 10)
    await bench.run(make(FENCE, 0))
    way = config.l1_bytes // config.l1_ways // line              # lines this far apart share a set
    found = await stalls_of(one_line(LOAD, 0),
                            *(one_line(STORE, way * (1 + i % 2)) for i in range(20)))
    assert 1 <= found["fill"] <= 2 + 2 * more, found
    # While every pass is a store, an answer waits for its turn, and then goes first.
    bench.l2.latency = (6, 6)
    await bench.run(make(FENCE, 0))
    found = await stalls_of(one_line(LOAD, 0),
                            *(one_line(STORE, banks * (1 + i % 3)) for i in range(20)))
    if way // banks >= 4 and not config.long:       # the stores are in other sets of the bank
        assert found == {"replay": 1}, found
    await bench.verify()


@cocotb.test()
async def answers_get_their_turn(dut):
    """While every pass hits, an answer waits for the load queue for a limited number of cycles."""
    bench = await Bench.start(dut)
    config, make = bench.config, Program(bench)
    await bench.run(make(LOAD, 0))
    bench.l2.latency = (6, 6)
    missing, *hits = make(LOAD, config.line_bytes), *(make(LOAD, 0) for _ in range(60))
    bench.log.clear()
    sender = cocotb.start_soon(bench.send(missing, *hits))
    while (missing.warp, missing.rd) not in bench.expected:
        await tick(dut)
    while (missing.warp, missing.rd) in bench.expected:
        await tick(dut)
    passed = len(bench.log["taken"])
    assert passed < 6 + PATIENCE + 16 < 1 + len(hits), passed
    await sender
    await bench.verify()


@cocotb.test()
async def write_back_is_refused(dut):
    """No write-back is taken for a long time, and nothing is lost."""
    bench = await Bench.start(dut)
    make = Program(bench)
    bench.sink.stall = 1.0
    operations = [make(LOAD, 16 * (i % 7)) for i in range(2 * bench.config.load_queue)]
    sender = cocotb.start_soon(bench.send(*operations, make(STORE, 0)))
    await tick(dut, 200)
    assert bench.expected
    bench.sink.stall = 0.0
    await sender
    await bench.verify()


@cocotb.test()
async def answers_before_requests(dut):
    """An L2 that accepts no request while it has an answer on offer."""
    bench = await Bench.start(dut)
    bench.l2.blocks = True
    traffic = Traffic(bench.rng, bench.config)
    for latency in ((1, 1), (1, 30)):
        bench.l2.latency = latency
        await bench.send(*(traffic.operation() for _ in range(bench_unit.turns(20))))
        await bench.settle()
    await bench.verify()


@cocotb.test()
async def reset_in_flight(dut):
    """A reset at any time removes all instructions under way."""
    bench = await Bench.start(dut)
    traffic = Traffic(bench.rng, bench.config, window=4 * bench.config.line_bytes)
    for _ in range(4 if bench.config.threads <= 4 else 2):
        bench.l2.latency = (1, 60)
        bench.sink.stall = 0.5
        sender = cocotb.start_soon(bench.send(*(traffic.operation() for _ in range(30))))
        await tick(dut, bench.rng.randrange(10, 100))
        sender.cancel()
        dut.rst.value = 1
        bench.forget()
        await reset(dut, 2)
        bench.forget()
        await bench.run(*bench.whole_local(STORE))
        await bench.run(*(traffic.operation() for _ in range(10)))
        await bench.verify()


@cocotb.test()
async def sectors(dut):
    """A load asks for the sectors of its words. Later loads hit there, and ask for other sectors of
    the line. While sectors are under way, a load of them asks for nothing, and a load of more asks
    once for all of them. A store makes all fetches of its line stale."""
    bench = await Bench.start(dut)
    config, make = bench.config, Program(bench)
    size = config.sector_bytes
    bench.l2.latency = (30, 30)

    async def asked(*operations):
        bench.l2.requests.clear()
        await bench.run(*operations)
        return [request.mask for request in bench.l2.requests if request.op is LineOp.READ]

    def load(*numbers):
        """A load of a word in each of some sectors of the first line."""
        operation = make(LOAD, 0)
        operation.address = [global_address(size * numbers[lane % len(numbers)])
                             for lane in range(config.threads)]
        return operation

    def bytes_of(*numbers):
        return sum((1 << size) - 1 << size * number for number in numbers)

    last = config.sectors - 1
    assert await asked(load(last)) == [bytes_of(last)]
    assert await asked(load(last), load(last)) == []
    assert await asked(load(0)) == [bytes_of(0)]
    assert await asked(load(0, last), load(0), load(last)) == []
    await bench.run(make(FENCE, 0))
    assert await asked(load(0), load(0), load(last), load(0), load(last), load(0, last)) \
        == [bytes_of(0), bytes_of(0, last)]
    assert await asked(load(0, last)) == []
    await bench.run(make(FENCE, 0))
    assert await asked(load(0), load(last), make(STORE, 0), load(0), load(last)) \
        == [bytes_of(0), bytes_of(0, last), bytes_of(0), bytes_of(0, last)]
    assert await asked(load(0, last)) == []
    await bench.verify()


TESTS = ["against_model", "few_lines", "program_order", "fences_order_requests", "local_atomics",
         "atomics_of_a_line", "compare_and_swap", "timing_of_local_atomics", "hits",
         "lines_one_bit_apart", "misses_are_merged", "timing_of_hits", "stalls",
         "answers_get_their_turn", "write_back_is_refused", "answers_before_requests",
         "reset_in_flight"]
WIDE = ["few_lines", "fences_order_requests", "compare_and_swap", "hits", "timing_of_hits"]
WIDEST = ["compare_and_swap", "timing_of_hits"]
ONE_WAY = ["hits_of_a_direct_mapped_cache"]
SECTORS, HINTS = ["sectors"], ["lines_loaded_once"]


@pytest.mark.parametrize("shape", [
    pytest.param(shape, marks=[pytest.mark.full] * (fields["threads"] == 32))
    for shape, fields in bench_unit.SHAPES.items()])
@pytest.mark.sample(2)
def test_load_store_unit(simulator, shape):
    config = bench_unit.SHAPES[shape]
    tests = (TESTS + ONE_WAY * (config["l1_ways"] == 1) + SECTORS * ("sector_bytes" in config)
             + HINTS * ("load_hints" in config))
    if simulator == "icarus" and config["threads"] > 4:      # Icarus takes long for wide designs
        tests = WIDE if config["threads"] < 32 else WIDEST
    bench_unit.run(shape, __name__, simulator=simulator, tests=tests)


def test_every_bench_is_run():
    benches = {name for name, value in globals().items() if isinstance(value, type(hits))}
    assert benches == {*TESTS, *ONE_WAY, *SECTORS, *HINTS}


def test_init_wrong_config():
    with pytest.raises((TypeError, AttributeError)):
        L1({"threads": 4})
