"""Directed programs: the state at a launch, CSRs, barriers, ordering, all access widths.

Directed programs of divisions, votes, shuffles and atomics are in test_instructions.py.
"""

import numpy as np
import pytest

from checks.campaign.machines import CONFIGS, Launch, machine, run, verify
from checks.campaign.random_programs import random_case
from hw.isa import Csr, MemoryMap, encode
from sw.compile.asm.assembler import Assembler, Condition


GLOBAL, LOCAL = MemoryMap.GLOBAL, MemoryMap.LOCAL


def assembler(config, array=GLOBAL):
    """An assembler, the lane's number among all lanes, and the address of the lane's word in an
    array of one word for each lane."""
    a = Assembler()
    lane, place = a.regs("lane", "place")
    a.csrr(lane, Csr.WARP_ID)
    a.slli(lane, lane, (config.threads - 1).bit_length())
    a.csrr(place, Csr.THREAD_ID)
    a.add(lane, lane, place)
    a.slli(place, lane, 2)
    with a.scope("base") as (base,):
        a.li(base, array)
        a.add(place, place, base)
    return a, lane, place


def finish(a, memory=None, **options):
    a.end_warp()
    return Launch(a.finish().words, memory=memory, **options)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.sample(3)
def test_csrs(name):
    config = CONFIGS[name]
    numbers = (Csr.MSCRATCH, Csr.PHASE, Csr.THREAD_ID, Csr.WARP_ID, Csr.CORE_ID, Csr.ACTIVE_MASK,
               Csr.NUM_THREADS, Csr.NUM_WARPS, Csr.NUM_CORES, Csr.CYCLEH, Csr.INSTRETH)
    a, lane, place = assembler(config)
    lanes = config.warps * config.threads
    with a.scope("value", "step") as (value, step):
        a.li(step, 4 * lanes)
        for number in numbers:
            a.csrr(value, number)
            a.sw(value, place)
            a.add(place, place, step)
    got = verify(machine(name), finish(a, argument=0xDEAD_BEEF)).memory
    got = got[:len(numbers) * lanes].reshape(len(numbers), config.warps, config.threads)
    thread, warp = np.arange(config.threads), np.arange(config.warps)[:, None]
    for number, values in zip(numbers, got):
        expected = {
            Csr.MSCRATCH: 0xDEAD_BEEF, Csr.THREAD_ID: thread, Csr.WARP_ID: warp,
            Csr.ACTIVE_MASK: (1 << config.threads) - 1, Csr.NUM_THREADS: config.threads,
            Csr.NUM_WARPS: config.warps, Csr.NUM_CORES: 1,
        }.get(number, 0)
        assert (values == expected).all(), number


def test_cycle_and_instret_rise_and_begin_anew_at_a_launch():
    config = CONFIGS["tiny"]
    for _ in range(2):
        a, lane, place = assembler(config)
        before, after = a.regs("before", "after")
        for csr, offset in ((Csr.CYCLE, 0), (Csr.INSTRET, 64)):
            a.csrr(before, csr)
            for _ in range(10):
                a.add(lane, lane, lane)
            a.csrr(after, csr)
            a.sub(before, after, before)
            a.sw(before, place, offset)
            a.sw(after, place, offset + 128)
        outcome = run(machine("tiny"), finish(a))
        words = outcome.memory.reshape(-1, 16)[:, :8]
        cycles, instructions, total_cycles, total_instructions = words[0], words[1], words[2], \
            words[3]
        # Each of the ten instructions waits 3 cycles for the one before.
        assert (cycles >= 30).all() and (cycles < 60).all()
        assert (instructions >= 11).all() and (instructions <= 11 * config.warps + 30).all()
        assert (total_cycles < outcome.counters["cycles"]).all()
        assert (total_instructions < outcome.counters["instructions"]).all()


def test_active_warps():
    config = CONFIGS["large"]
    a, lane, place = assembler(config)
    x, warps = a.regs("x", "warps")
    # All warps but the last end. The last warp waits until it sees their end.
    a.csrr(x, Csr.WARP_ID)
    a.li(warps, config.warps - 1)
    with a.if_uniform(Condition("ne", x, warps)):
        a.end_warp()
    a.li(warps, 1 << config.warps - 1)
    a.csrr(x, Csr.ACTIVE_WARPS)
    with a.while_uniform(Condition("ne", x, warps)):
        a.csrr(x, Csr.ACTIVE_WARPS)
    a.sw(x, place)
    got = run(machine("large"), finish(a)).memory[:config.warps * config.threads]
    assert (got[-config.threads:] == 1 << config.warps - 1).all()
    assert not got[:-config.threads].any()


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.sample(4)
def test_phase_is_the_warps_own_and_is_0_at_a_launch(name):
    config = CONFIGS[name]
    a, lane, place = assembler(config)
    x, = a.regs("x")
    a.csrr(x, Csr.PHASE)
    a.sw(x, place)
    a.csrr(x, Csr.WARP_ID)
    a.addi(x, x, 1)
    a.csrrw(a.zero, Csr.PHASE, x)
    a.csrrsi(x, Csr.PHASE, 4)
    a.sw(x, place, 1024)
    a.csrrci(x, Csr.PHASE, 1)
    a.sw(x, place, 1536)
    a.csrr(x, Csr.PHASE)
    a.sw(x, place, 512)
    case = finish(a)
    for _ in range(2):
        verify(machine(name), case)


def test_entry_and_argument():
    config = CONFIGS["tiny"]
    a, lane, place = assembler(config)
    a.end_warp()
    second = a.here
    with a.scope("x", "y") as (x, y):
        a.csrr(x, Csr.MSCRATCH)
        a.li(y, GLOBAL)
        a.sw(x, y)
    got = verify(machine("tiny"), finish(a, entry=second, argument=77))
    assert got.memory[0] == 77


@pytest.mark.parametrize("name", ("tiny", "scalar", "large"))
def test_launches_see_what_the_launch_before_wrote(name):
    """There is no flush between the launches. At a launch the L1 forgets its lines, and the L2
    keeps its lines."""
    config, device = CONFIGS[name], machine(name)
    a, lane, place = assembler(config)
    x = a.reg("x")
    lanes = config.warps * config.threads
    a.lw(x, place)
    a.addi(x, x, 3)
    a.sw(x, place)
    case = finish(a)
    device.flush(invalidate=True)
    case.fill(device.memory)
    device.load_program(case.words)
    for _ in range(4):
        device.launch(0, 0)
    device.flush()
    assert (device.memory.view(np.uint32)[:lanes] == 12).all()
    # The device sees the host's changes after an invalidating flush.
    device.flush(invalidate=True)
    device.memory.view(np.uint32)[:lanes] = np.arange(lanes)
    device.launch(0, 0)
    device.flush()
    assert (device.memory.view(np.uint32)[:lanes] == np.arange(lanes) + 3).all()


@pytest.mark.parametrize("name", CONFIGS)
def test_every_width_at_every_offset(name):
    """Loads of all kinds over a random block, then stores of all kinds into another."""
    config = CONFIGS[name]
    a, lane, source = assembler(config)
    lanes = config.warps * config.threads
    x, target, array = a.regs("x", "target", "array")
    a.li(array, 4 * lanes)
    a.add(target, source, array)
    for load, step in (("lb", 1), ("lbu", 1), ("lh", 2), ("lhu", 2), ("lw", 4)):
        for offset in range(0, 4, step):
            getattr(a, load)(x, source, offset)
            a.sw(x, target)
            a.add(target, target, array)
    for store, step in (("sb", 1), ("sh", 2), ("sw", 4)):
        for offset in range(0, 4, step):
            a.lw(x, source)
            getattr(a, store)(x, target, offset)
            a.add(target, target, array)
    rng = np.random.default_rng(1)
    verify(machine(name), finish(a, rng.integers(1 << 32, size=40 * lanes, dtype=np.uint32)))


@pytest.mark.parametrize("name", ("tiny", "wide", "large"))
@pytest.mark.parametrize("store", ("sb", "sh", "sw"))
@pytest.mark.parametrize("region", (GLOBAL, LOCAL))
def test_lanes_that_store_to_one_place(name, store, region):
    """The highest lane wins. If lanes store to different parts of one word, all parts stay."""
    config = CONFIGS[name]
    size = {"sb": 1, "sh": 2, "sw": 4}[store]
    a, lane, place = assembler(config, GLOBAL + 4096)
    x, pointer, warp = a.regs("x", "pointer", "warp")
    a.csrr(warp, Csr.WARP_ID)
    a.slli(warp, warp, 4 if config.local_bytes < 64 * config.warps else 6)
    for mask in (0, 1, 3, 7):
        a.csrr(pointer, Csr.THREAD_ID)
        a.andi(pointer, pointer, mask)
        a.slli(pointer, pointer, size.bit_length() - 1)
        a.add(pointer, pointer, warp)
        a.li(x, region)
        a.add(pointer, pointer, x)
        a.addi(x, lane, 0x81)
        getattr(a, store)(x, pointer)
        a.andi(pointer, pointer, -4)
        a.lw(x, pointer)
        a.sw(x, place)
        a.addi(place, place, 1024)
    case = finish(a)
    if region == LOCAL:
        # Local memory keeps its contents between launches, so begin with zeros.
        b = Assembler()
        x, pointer = b.regs("x", "pointer")
        b.csrr(pointer, Csr.THREAD_ID)
        b.slli(pointer, pointer, 2)
        b.li(x, LOCAL)
        b.add(pointer, pointer, x)
        for offset in range(0, min(2048, config.local_bytes), 4 * config.threads):
            b.sw(b.zero, pointer, offset)
        run(machine(name), finish(b))
    verify(machine(name), case)


@pytest.mark.parametrize("name", ("tiny", "scalar", "large"))
def test_barriers_order_memory(name):
    """Each round every warp reads what its neighbour wrote in the round before."""
    config = CONFIGS[name]
    lanes = config.warps * config.threads
    a, lane, place = assembler(config)
    other, warps, number, x, rounds = a.regs("other", "warps", "number", "x", "rounds")
    a.addi(other, lane, config.threads)
    a.andi(other, other, lanes - 1)
    a.slli(other, other, 2)
    a.li(x, GLOBAL)
    a.add(other, other, x)
    a.li(warps, config.warps)
    a.li(rounds, 12)
    a.mv(x, lane)
    with a.while_uniform(Condition("ne", rounds, a.zero)):
        a.sw(x, place)
        a.li(number, 0)
        a.bar(number, warps)
        a.lw(x, other)
        a.addi(x, x, 1)
        a.li(number, config.barriers - 1)
        a.bar(number, warps)
        a.addi(rounds, rounds, -1)
    a.sw(x, place)
    got = verify(machine(name), finish(a)).memory[:lanes]
    assert sorted(got) == sorted(np.arange(lanes) + 12)


def test_barriers_of_some_warps():
    """Pairs of warps meet at barriers of their own, at different times."""
    config = CONFIGS["large"]
    assert config.barriers == config.warps // 2
    a, lane, place = assembler(config)
    warp, number, two, delay = a.regs("warp", "number", "two", "delay")
    a.csrr(warp, Csr.WARP_ID)
    a.srli(number, warp, 1)
    a.li(two, 2)
    for _ in range(5):
        a.slli(delay, warp, 3)
        a.addi(delay, delay, 1)
        with a.while_uniform(Condition("ne", delay, a.zero)):
            a.addi(delay, delay, -1)
        a.bar(number, two)
        a.sw(number, place)
    verify(machine("large"), finish(a))


def test_largest_program():
    """Instruction memory filled to the last word."""
    for name in ("tiny", "bare"):
        config = CONFIGS[name]
        words = [encode("addi", rd=1, imm=0)]
        words += [encode("addi", rd=1, rs1=1, imm=1)] * (config.imem_bytes // 4 - 5)
        words += [encode("lui", rd=2, imm=GLOBAL >> 12), encode("sw", rs1=2, rs2=1),
                  encode("addi"), encode("tmc")]
        assert len(words) == config.imem_bytes // 4
        got = verify(machine(name), Launch(tuple(words)))
        assert got.memory[0] == len(words) - 5


def test_edges_of_memory():
    """The first and last words of global and local memory."""
    config = CONFIGS["tiny"]
    a, lane, place = assembler(config)
    x, pointer, step = a.regs("x", "pointer", "step")
    a.csrr(step, Csr.WARP_ID)
    with a.if_uniform(Condition("ne", step, a.zero)):
        a.end_warp()
    for base, size in ((GLOBAL, config.memory_bytes), (LOCAL, config.local_bytes)):
        a.slli(pointer, lane, 2)
        a.li(step, base + size - 4 * config.threads)
        a.add(pointer, pointer, step)
        a.sw(lane, pointer)
        a.lbu(x, pointer)
        a.slli(pointer, lane, 2)
        a.li(step, base)
        a.add(pointer, pointer, step)
        a.sw(x, pointer)
        a.lw(x, pointer)
        a.sw(x, place, 64)
    got = verify(machine("tiny"), finish(a)).memory
    assert got[-config.threads:].tolist() == list(range(config.threads))


def test_memory_behaves_alike_however_slow_it_is():
    config = CONFIGS["tiny"]
    for seed in range(4):
        case = random_case(config, seed)
        cycles = [verify(machine("tiny", **kind), case).counters["cycles"]
                  for kind in ({"latency": 20}, {"latency": 3, "queue": 2, "bytes_per_cycle": 4})]
        assert cycles[0] != cycles[1]
