# amaranth: UnusedElaboratable=no
"""Tests of the coalescer: every pass against the model, latency and throughput, faults."""

import random

import cocotb
import pytest

from hw.config import HardwareConfig
from hw.core.access import AccessOp
from hw.core.coalescer import Coalescer
from hw.isa import Cause
from hw.operations import AmoOp, MemOp
from tb import runner
from tb.clocking import integer, reset, tick
from tb.hw.core import bench_unit
from tb.hw.core.bench_coalescer import Bench
from tb.hw.core.models_memory import (LaneMemory, Operation, amo_result, bank_of, fault,
                                      global_address, lanes_of, local_address, passes)
from tb.hw.core.traffic_memory import Traffic


LOAD, STORE, AMO, FENCE = MemOp.LOAD, MemOp.STORE, MemOp.AMO, MemOp.FENCE


def _all(config):
    return (1 << config.threads) - 1


def _made(config, op, addresses, **fields):
    """An instruction of all lanes; the addresses are repeated as needed."""
    addresses = [addresses[lane % len(addresses)] for lane in range(config.threads)]
    return Operation(op, addresses, _all(config), data=list(range(100, 100 + config.threads)),
                     compare=list(range(200, 200 + config.threads)), **fields)


@cocotb.test()
async def directed(dut):
    """The cases that the module's prose names, one after the other."""
    bench = await Bench.start(dut)
    config, line = bench.config, bench.config.line_bytes
    lanes = range(config.threads)
    here, there = global_address(4 * line), global_address(9 * line)
    near, far = local_address(0), local_address(2 * line)
    for op in (LOAD, STORE):
        bench.send(
            _made(config, op, [here + 4 * lane for lane in lanes]),            # one line
            _made(config, op, [here + 4 * lane for lane in reversed(lanes)]),
            _made(config, op, [here]),                                         # one word
            _made(config, op, [here, there]),                                  # two lines
            _made(config, op, [here + line * lane for lane in lanes]),         # a line a lane
            _made(config, op, [near + 4 * lane for lane in lanes]),            # a bank a lane
            _made(config, op, [near]),                                         # one word of a bank
            _made(config, op, [near, far]),                                    # rows of one bank
            _made(config, op, [near, far + 4]),                                # rows of two banks
            _made(config, op, [near, here, far, there]),                       # both memories
        )
        for size in (0, 1):
            bench.send(
                _made(config, op, [here + (lane << size) for lane in lanes], size=size),
                _made(config, op, [near + (lane << size) for lane in lanes], size=size),
                _made(config, op, [here, there + 2, near + 2, far], size=size),
                _made(config, op, [near, far, near + 2], size=size),
            )
    for writes in (0, 1):
        for amo in AmoOp:
            for first, second in ((here, there), (near, far), (near, here)):
                bench.send(_made(config, AMO, [first, first, second, first + 4], amo=amo,
                                 writes=writes))
            bench.send(_made(config, AMO, [near + 4 * lane for lane in lanes], amo=amo,
                             writes=writes))                               # a bank a lane
    bench.send(_made(config, FENCE, [0x1234567]))
    await bench.settle()


@cocotb.test()
async def faults(dut):
    """The lowest lane that fails is reported, misalignment first. Inactive lanes are ignored."""
    bench = await Bench.start(dut)
    config = bench.config
    good, top = global_address(0), config.threads - 1
    end = global_address(config.memory_bytes)
    after = local_address(config.local_bytes)

    def spoilt(op, address, lane, **fields):
        made = _made(config, op, [good], **fields)
        made.address[lane] = address
        return made

    for op in (LOAD, STORE):
        for lane in {0, top // 2, top}:
            for address in (good + 1, good + 2, end, end + 1, end - 4, after, after - 4, 0, 3,
                            good - 4, local_address(0) - 4, 0x2000_0000, 0xFFFF_FFFC):
                for size in range(3):
                    bench.send(spoilt(op, address & 0xFFFF_FFFF, lane, size=size))
    for address in (good + 2, local_address(0), local_address(1), end - 4, end & 0xFFFF_FFFC,
                    after, local_address(0) - 4):
        bench.send(*(spoilt(AMO, address, top, writes=writes) for writes in (0, 1)))
    both = _made(config, LOAD, [end & 0xFFFF_FFFC])
    both.address[0] = good + 1
    idle = _made(config, LOAD, [0])
    idle.address[top], idle.mask = good, 1 << top
    bench.send(both, idle, _made(config, FENCE, [3]))
    await bench.settle()
    assert bench.faults > 60


@cocotb.test()
async def against_model(dut):
    """Random instructions with back-pressure everywhere."""
    bench = await Bench.start(dut)
    traffic = Traffic(bench.rng, bench.config, faults=0.1)
    for _ in range(3):
        for unit, name in ((bench.source, "idle"), (bench, "no_slot"),
                           *((sink, "stall") for sink in bench.sinks)):
            setattr(unit, name, bench.rng.choice([0.0, 0.0, 0.3, 0.8]))
        bench.send(*(traffic.operation() for _ in range(bench_unit.turns(60))))
        await bench.settle()


@cocotb.test()
async def timing(dut):
    """The first passes come with the promised latency, then a pass to each bank a cycle without a
    gap. An instruction is accepted as the last pass of the one leaves whose entry it takes, with
    the long pipeline a cycle later.

    With several banks, a FENCE waits until every pass before it has been taken.
    """
    bench = await Bench.start(dut)
    config = bench.config
    traffic = Traffic(bench.rng, config)
    latency, gap = (3, 1) if config.long else (2, 0)
    if config.l1_banks > 1:
        del traffic.kinds[FENCE]
    await tick(dut, 3)
    bench.send(*(traffic.operation() for _ in range(bench_unit.turns(40))))
    await bench.settle()
    now = bench.accepted[0][0] - 1                  # when the instruction before was accepted
    free = [0] * config.coalescer_depth             # when each entry is free
    passed = [[0] for _ in bench.banks]             # when each pass is taken
    for number, (accepted, counts) in enumerate(bench.accepted):
        place = number % config.coalescer_depth
        now = max(now + 1, free[place])
        assert accepted == now
        for bank, count in enumerate(counts):
            first = max(now + latency, passed[bank][-1] + 1)
            passed[bank].extend(range(first, first + count))
            if count:
                free[place] = max(free[place], passed[bank][-1] - latency + 1 + gap)
    assert bench.taken == [taken[1:] for taken in passed]
    for op in (LOAD, FENCE, STORE):
        for bank in bench.banks:
            bench.taken[bank].clear()
        bench.accepted.clear()
        bench.send(_made(config, op, [global_address(0)]))
        await bench.settle()
        found = [taken for taken in bench.taken if taken]
        assert found == [[bench.accepted[0][0] + latency]] * (
            config.l1_banks if op is FENCE else 1)
    if config.l1_banks > 1:
        bench.accepted.clear(), bench.taken[0].clear()
        bench.send(_made(config, LOAD, [global_address(0)]), _made(config, FENCE, [0]))
        await bench.settle()
        assert bench.taken[0][1] == bench.taken[0][0] + latency


@cocotb.test()
async def slots(dut):
    """Without a free slot, loads and wanted atomics wait. Other instructions do not."""
    bench = await Bench.start(dut)
    config, here = bench.config, global_address(0)
    bench.no_slot = 1.0
    bench.send(_made(config, STORE, [here]), _made(config, AMO, [here]),
               _made(config, FENCE, [here]))
    await bench.settle()
    for waits in (_made(config, LOAD, [here]), _made(config, LOAD, [local_address(0)]),
                  _made(config, AMO, [here], writes=1)):
        bench.no_slot = 1.0
        count = len(bench.accepted)
        bench.send(waits)
        await tick(dut, 10)
        assert len(bench.accepted) == count
        bench.no_slot = 0.0
        await bench.settle()


@cocotb.test()
async def reset_in_flight(dut):
    """A reset after any number of passes leaves nothing behind."""
    bench = await Bench.start(dut)
    config = bench.config
    scattered = _made(config, LOAD, [global_address(config.line_bytes * lane)
                                     for lane in range(config.threads)])
    for delay in range(min(config.threads, 8) + 3):
        for sink in bench.sinks:
            sink.stall = (delay % 2) / 2
        bench.send(scattered, scattered)
        await tick(dut, 1 + delay)
        bench.source.clear()
        await reset(dut, 1)
        bench.send(_made(config, STORE, [global_address(0)]))
        await bench.settle()
        assert not integer(dut.coalescer_busy)


TESTS = ["directed", "faults", "against_model", "timing", "slots", "reset_in_flight"]
WIDE = ["directed", "timing"]
WIDEST = ["timing"]


@pytest.mark.parametrize("shape", [
    pytest.param(shape, marks=[pytest.mark.full] * (fields["threads"] == 32))
    for shape, fields in bench_unit.SHAPES.items()])
@pytest.mark.sample(1)
def test_coalescer(simulator, shape):
    tests = TESTS
    if simulator == "icarus" and bench_unit.SHAPES[shape]["threads"] > 8:   # Icarus takes too long
        tests = WIDE if bench_unit.SHAPES[shape]["threads"] < 32 else WIDEST
    bench_unit.run(shape, __name__, simulator=simulator, tests=tests)


@pytest.mark.sample(1)
def test_combining_of_eight_lanes(simulator):
    """Operands of a line's words are combined on three levels, whichever shapes are drawn."""
    bench_unit.run("8, long", __name__, simulator=simulator, tests=["directed", "against_model"])


def test_every_bench_is_run():
    benches = {name for name, value in globals().items() if isinstance(value, type(directed))}
    assert benches == set(TESTS)


def _effect(config, operation, made, memory):
    """Perform a pass on a memory. Returns the old words of the lanes of an atomic."""
    if made.op in (AccessOp.STORE, AccessOp.LOCAL_STORE):
        for place, byte in made.data.items():
            base = config.line_bytes * made.line if made.rows is None else \
                local_address(config.line_bytes * made.rows[place // 4])
            memory.write(base + place, byte, 1)
    if made.op in (AccessOp.AMO, AccessOp.LOCAL_AMO):
        olds = {}
        for place in sorted(made.data)[::4]:
            base = config.line_bytes * made.line if made.rows is None else \
                local_address(config.line_bytes * made.rows[place // 4])
            operand = sum(made.data[place + byte] << 8 * byte for byte in range(4))
            olds[base + place] = memory.read(base + place)
            memory.write(base + place,
                         amo_result(made.amo, olds[base + place], operand, made.compare))
        return {lane: olds[operation.address[lane]] for lane in made.lanes}
    return {}


@pytest.mark.parametrize("shape", bench_unit.SHAPES)
def test_the_model_does_what_the_lanes_do(shape):
    """The model's passes serve each lane once, and have the effect of lanes in ascending order."""
    config = HardwareConfig(**bench_unit.SHAPES[shape])
    traffic = Traffic(random.Random(1), config)
    lanewise, passwise = (LaneMemory(config, lambda address: address & 0xFF) for _ in range(2))
    for _ in range(300 if runner.whole else 100):
        operation = traffic.operation()
        assert fault(config, operation) is None
        made = passes(config, operation)
        served = [lane for one in made for lane in one.lanes]
        assert sorted(served) == sorted(
            operation.lanes * (config.l1_banks if operation.op is FENCE else 1))
        assert all(bank_of(config, operation, lane) == one.bank
                   for one in made if one.op is not AccessOp.FENCE for lane in one.lanes)
        result = lanewise.execute(operation)
        olds = [_effect(config, operation, one, passwise) for one in made]
        if operation.op is AMO and operation.writes:
            assert {lane: old for one in olds for lane, old in one.items()} == result
        for one in made:
            if one.op is AccessOp.LOAD:
                assert all(operation.address[lane] // config.line_bytes == one.line
                           for lane in one.lanes)
        for address in lanewise.touched():
            assert lanewise.read(address, 1) == passwise.read(address, 1)
        for lane in operation.lanes:
            if operation.op is STORE:
                address = operation.address[lane]
                assert lanewise.read(address) == passwise.read(address)


@pytest.mark.parametrize("place", [global_address, local_address])
def test_lanes_of_a_word_share_a_pass(place):
    """With the old value wanted, or for a CAS, each lane has a pass."""
    config = HardwareConfig()
    words = [place(0), place(0)] if place is global_address else [place(4), place(0)]
    for amo in AmoOp:
        for writes in (0, 1):
            made = passes(config, _made(config, AMO, words, amo=amo, writes=writes))
            alone = config.threads if amo is AmoOp.CAS or words[0] == words[1] \
                else config.threads // 2
            assert len(made) == (alone if writes or amo is AmoOp.CAS else 1), (amo, writes)


def test_init_wrong_config():
    with pytest.raises((TypeError, AttributeError)):
        Coalescer({"threads": 4})


def test_cause_of_a_fault():
    config = HardwareConfig(threads=4)
    made = Operation(LOAD, [0x8000_0001, 0, 0, 0], 0b0011)
    assert fault(config, made) == (Cause.LOAD_MISALIGNED, 0x8000_0001)
    made.mask = 0b0010
    assert fault(config, made) == (Cause.LOAD_ACCESS, 0)
    assert lanes_of(made.mask) == [1]
