"""Directed programs of single instructions: divisions, votes, shuffles, atomics in both memories.

Results are compared with the simulator, and some also with the results that they must have.
"""

import itertools

import numpy as np
import pytest

from checks.campaign.machines import CONFIGS, machine, run, verify
from hw.isa import Csr, MemoryMap
from sw.compile.asm.assembler import Assembler, Condition
from tb.programs.test_features import assembler, finish


GLOBAL, LOCAL = MemoryMap.GLOBAL, MemoryMap.LOCAL

#: Atomics of one operand.
ATOMICS = ("amoadd_w", "amoswap_w", "amoxor_w", "amoor_w", "amoand_w", "amomin_w", "amomax_w",
           "amominu_w", "amomaxu_w")

CORNERS = (0, 1, 2, 3, 7, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFE, 0xFFFF_FFFF)


def rows(got, config, count):
    """The first ``count`` rows that a program has stored, with one word for each lane."""
    lanes = config.warps * config.threads
    return got.memory[:count * lanes].reshape(count, lanes)


def storing(config):
    """An assembler, the lane's number, and a function that stores a register to the next row."""
    a, lane, place = assembler(config)
    step = a.reg("step")
    a.li(step, 4 * config.warps * config.threads)

    def store(register):
        a.sw(register, place)
        a.add(place, place, step)
    return a, lane, store


@pytest.mark.parametrize("name", [name for name in CONFIGS if CONFIGS[name].divider != "none"])
def test_division(name):
    """Corners by corners, and numbers that differ by lane; some lanes inactive."""
    config = CONFIGS[name]
    a, lane, store = storing(config)
    x, y, z, full = a.regs("x", "y", "z", "full")
    pairs = list(itertools.product(CORNERS, CORNERS))
    for number, (dividend, divisor) in enumerate(pairs):
        if name in ("tiny", "one") or number % 4 == 0:
            a.li(x, dividend)
            a.li(y, divisor)
            for method in (a.div, a.divu, a.rem, a.remu):
                method(z, x, y)
                store(z)
    a.li(x, 0x9E37_79B9)
    a.mul(x, x, lane)
    a.addi(y, lane, -3)
    a.csrr(full, Csr.ACTIVE_MASK)
    for mask in (-1, 1, 0xAAAA_AAAA | 1):
        a.li(z, mask)
        a.tmc(z)
        a.li(z, 5)
        for method in (a.div, a.divu, a.rem, a.remu):
            method(a.zero, x, y)
            method(z, x, y)
            method(z, x, z)
            method(x, x, y)
        a.tmc(full)
        store(x)
        store(z)
    got = rows(verify(machine(name), finish(a)), config, 4)
    # 0 / 0 in all four ways.
    assert (got == np.array([[0xFFFF_FFFF], [0xFFFF_FFFF], [0], [0]])).all()


@pytest.mark.parametrize("name", CONFIGS)
def test_votes(name):
    """Votes of all lanes and of some lanes, with all, some and none in favour."""
    config = CONFIGS[name]
    a, lane, store = storing(config)
    x, y, mask, full = a.regs("x", "y", "mask", "full")
    a.csrr(full, Csr.ACTIVE_MASK)
    thread = a.reg("thread")
    a.csrr(thread, Csr.THREAD_ID)
    for active in (-1, 1, 6, 0x8000_0001):
        for aye in (0, -1, 2, 4, 0x55555555):
            a.li(y, 77)
            a.li(mask, active)
            a.ori(mask, mask, 1)
            a.li(x, aye)
            a.srl(x, x, thread)
            a.tmc(mask)
            for vote in (a.vote_all, a.vote_any, a.vote_uni, a.vote_ballot):
                vote(y, x)
                store(y)
            a.tmc(full)
            store(y)
    got = rows(verify(machine(name), finish(a)), config, 4)
    # All lanes vote, and none is in favour.
    assert (got == np.array([[0], [0], [1], [0]])).all()


@pytest.mark.parametrize("name", CONFIGS)
def test_shuffles(name):
    """Shuffles in segments of all widths, and with a different operand in each lane."""
    config = CONFIGS[name]
    a, lane, store = storing(config)
    x, y, how, full = a.regs("x", "y", "how", "full")
    threads = config.threads
    shuffles = (a.shfl_up, a.shfl_down, a.shfl_bfly, a.shfl_idx)
    a.csrr(full, Csr.ACTIVE_MASK)
    a.addi(x, lane, 100)
    for b in (1, threads - 1):
        a.li(how, b | 63 << 6)
        for shuffle in shuffles:
            shuffle(y, x, how)
            store(y)
    for width in (1, 2, threads // 2 or 1, threads):
        for b in (0, 1, width - 1, width, 63):
            a.li(how, b | width - 1 << 6 | (-width & 63) << 12)
            for shuffle in shuffles:
                shuffle(y, x, how)
                store(y)
    a.li(y, 0x9E37_79B9)
    a.mul(y, y, lane)
    a.li(how, 5)
    a.tmc(how)                          # inactive lanes are read nonetheless
    for shuffle in shuffles:
        shuffle(y, x, y)
        a.slli(y, y, 2)
        shuffle(x, x, y)
    a.tmc(full)
    store(x)
    store(y)
    got = rows(verify(machine(name), finish(a)), config, 8).reshape(8, config.warps, threads)
    thread = np.arange(threads)
    lanes = 100 + np.arange(config.warps * threads).reshape(config.warps, threads)
    for index, b in enumerate((1, threads - 1)):
        up, down, flip, one = got[4 * index:4 * index + 4]
        assert (up == lanes[:, np.where(thread >= b, thread - b, thread)]).all()
        assert (down == lanes[:, np.where(thread + b < threads, thread + b, thread)]).all()
        beyond = (thread ^ b) >= threads
        assert (flip == lanes[:, np.where(beyond, thread, thread ^ b)]).all()
        assert (one == lanes[:, np.where(b < threads, b, thread)]).all()


@pytest.mark.parametrize("name", CONFIGS)
def test_a_sum_of_all_lanes_by_shuffles(name):
    """A use of shuffles in a program: every lane gets the sum over the warp."""
    config = CONFIGS[name]
    a, lane, store = storing(config)
    total, other, how = a.regs("total", "other", "how")
    a.mv(total, lane)
    distance = config.threads // 2
    while distance:
        a.li(how, distance | config.threads - 1 << 6)
        a.shfl_bfly(other, total, how)
        a.add(total, total, other)
        distance //= 2
    store(total)
    got = rows(verify(machine(name), finish(a)), config, 1).reshape(config.warps, config.threads)
    lanes = np.arange(config.warps * config.threads).reshape(config.warps, config.threads)
    assert (got == lanes.sum(axis=1, keepdims=True)).all()


@pytest.mark.parametrize("name", CONFIGS)
def test_every_atomic(name):
    """Every atomic on each lane's own word, and by all lanes on one word where the order does not
    matter."""
    config = CONFIGS[name]
    a, lane, place = assembler(config)
    x, value, shared = a.regs("x", "value", "shared")
    a.li(value, 0x9E37_79B9)
    a.mul(value, value, lane)
    for index, (method, wanted) in enumerate(itertools.product(ATOMICS, (True, False))):
        getattr(a, method)(x if wanted else a.zero, value, place)
        if wanted:
            a.sw(x, place, 1024)
        a.add(value, value, value)
        a.addi(value, value, index)
        if method != "amoswap_w":
            a.li(shared, GLOBAL + 4096 + 4 * index)
            getattr(a, method)(x if wanted else a.zero, value, shared)
            a.addi(x, a.zero, 0)
    rng = np.random.default_rng(2)
    verify(machine(name), finish(a, rng.integers(1 << 32, size=1100, dtype=np.uint32)))


@pytest.mark.parametrize("name", ("tiny", "large", "wide"))
def test_atomics_in_order_of_lanes(name):
    """Every lane of one warp gets a ticket of its own, in order. A lane sees its own store."""
    config = CONFIGS[name]
    a, lane, place = assembler(config)
    x, counter, one = a.regs("x", "counter", "one")
    a.csrr(x, Csr.WARP_ID)
    with a.if_uniform(Condition("ne", x, a.zero)):
        a.end_warp()
    a.li(counter, GLOBAL + 4096)
    a.li(one, 1)
    a.li(x, 100)
    a.sw(x, counter)
    a.amoadd_w(x, one, counter)
    a.sw(x, place)
    a.lw(x, counter)
    a.sw(x, place, 512)
    a.amoswap_w(x, lane, counter)
    a.sw(x, place, 1024)
    got = verify(machine(name), finish(a)).memory
    assert (got[:config.threads] == 100 + np.arange(config.threads)).all()
    assert (got[128:128 + config.threads] == 100 + config.threads).all()


def alone(config):
    """As ``storing``, for one warp alone; also gives a register that points to local memory."""
    a, lane, store = storing(config)
    local = a.reg("local")
    a.csrr(local, Csr.WARP_ID)
    with a.if_uniform(Condition("ne", local, a.zero)):
        a.end_warp()
    a.li(local, LOCAL)
    return a, lane, store, local


@pytest.mark.parametrize("name", CONFIGS)
def test_every_atomic_on_local_memory(name):
    """Distinct words, one word, few words, and lanes in both memories; old values wanted or not."""
    config = CONFIGS[name]
    a, lane, store, local = alone(config)
    x, value, pointer, other = a.regs("x", "value", "pointer", "other")
    words = min(config.threads, config.local_bytes // 4)
    a.slli(pointer, lane, 2)
    a.add(pointer, pointer, local)
    a.li(value, 0x9E37_79B9)
    a.mul(value, value, lane)
    a.sw(value, pointer)
    for number, method in enumerate((*ATOMICS, "amocas_w")):
        atomic = getattr(a, method)
        for mask in (words - 1, 0, 1, words - 2 if words > 2 else 0):
            a.andi(pointer, lane, mask)
            a.slli(pointer, pointer, 2)
            a.add(pointer, pointer, local)
            for wanted in (True, False):
                a.xori(value, value, number + 17 * mask)
                if wanted and method == "amocas_w":
                    a.lw(x, pointer)
                atomic(x if wanted else a.zero, value, pointer)
                if wanted:
                    a.add(value, value, x)
        a.lw(x, pointer)
        store(x)
        # The odd lanes use global memory.
        a.andi(other, lane, 1)
        a.neg(other, other)
        a.li(x, (GLOBAL + 0x8000) ^ LOCAL)
        a.and_(other, other, x)
        a.xor(pointer, pointer, other)
        atomic(x, value, pointer)
        store(x)
        atomic(a.zero, lane, pointer)
        a.lw(x, pointer)
        store(x)
    verify(machine(name), finish(a))


@pytest.mark.parametrize("name", ("tiny", "scalar", "large"))
def test_a_counter_of_all_warps_in_local_memory(name):
    """Every lane of every warp draws tickets. Together the tickets are all numbers, once each."""
    config = CONFIGS[name]
    lanes = config.warps * config.threads
    a, lane, store = storing(config)
    local, one, x, warps = a.regs("local", "one", "x", "warps")
    a.li(local, LOCAL)
    a.li(one, 1)
    a.csrr(warps, Csr.NUM_WARPS)
    a.sw(a.zero, local)
    a.bar(a.zero, warps)
    for _ in range(6):
        a.amoadd_w(x, one, local)
        store(x)
        a.amoadd_w(a.zero, one, local)
    a.bar(a.zero, warps)
    a.lw(x, local)
    store(x)
    got = rows(run(machine(name), finish(a)), config, 7)
    tickets = got[:6].reshape(-1)
    assert len(set(tickets.tolist())) == 6 * lanes and max(tickets) < 12 * lanes
    assert (got[6] == 12 * lanes).all()
    # Within a warp and draw, the tickets ascend with the lanes.
    assert (np.diff(got[:6].reshape(-1, config.threads).astype(int), axis=1) > 0).all()


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("base", (GLOBAL + 0x8000, LOCAL))
def test_compare_and_swap_in_order_of_lanes(name, base):
    """A chain of swaps through the lanes; a swap that only the last lane wins; a swap that no lane
    wins."""
    config = CONFIGS[name]
    a, lane, store, local = alone(config)
    x, next_, word = a.regs("x", "next", "word")
    a.li(word, base)
    a.sw(a.zero, word)
    a.addi(next_, lane, 1)
    a.mv(x, lane)
    a.amocas_w(x, next_, word)          # each lane finds the value that the lane before left
    store(x)
    a.lw(x, word)
    store(x)
    a.addi(x, lane, 1)
    a.addi(next_, lane, 100)
    a.amocas_w(x, next_, word)          # only the last lane's comparison holds
    store(x)
    a.li(x, 1000)
    a.amocas_w(x, lane, word)
    store(x)
    a.sw(a.zero, word)
    a.amocas_w(a.zero, next_, word)     # rd = x0 compares with 0: the first lane wins
    a.lw(x, word)
    store(x)
    got = rows(verify(machine(name), finish(a)), config, 5)[:, :config.threads]
    thread, last = np.arange(config.threads), config.threads - 1
    assert (got[0] == thread).all() and (got[1] == config.threads).all()
    assert (got[2] == config.threads).all()
    assert (got[3] == 100 + last).all() and (got[4] == 100).all()


@pytest.mark.parametrize("name", ("tiny", "scalar", "large", "wide"))
@pytest.mark.parametrize("base", (GLOBAL + 0x8000, LOCAL))
def test_additions_by_compare_and_swap(name, base):
    """All lanes of all warps add to one word. Each lane repeats its swap until it succeeds."""
    config = CONFIGS[name]
    a = Assembler()
    word, lane, old, new, seen, left, full, warps = a.regs(
        "word", "lane", "old", "new", "seen", "left", "full", "warps")
    a.csrr(lane, Csr.WARP_ID)
    a.slli(lane, lane, (config.threads - 1).bit_length())
    a.csrr(old, Csr.THREAD_ID)
    a.add(lane, lane, old)
    a.csrr(full, Csr.ACTIVE_MASK)
    a.csrr(warps, Csr.NUM_WARPS)
    a.li(word, base)
    a.sw(a.zero, word)
    a.bar(a.zero, warps)
    a.li(left, 3)
    more = a.reg("more")

    def test():
        a.snez(more, left)
        return more
    with a.while_(test, full):
        a.lw(old, word)
        a.addi(new, old, 1)
        a.mv(seen, old)
        a.amocas_w(seen, new, word)
        a.sub(seen, seen, old)
        a.seqz(seen, seen)
        a.sub(left, left, seen)
        # Without the fence a lane could read an old line of the L1 again and again.
        a.fence()
    a.bar(a.zero, warps)
    a.fence()
    a.lw(old, word)
    a.li(word, GLOBAL)
    a.sw(old, word)
    got = run(machine(name), finish(a))
    assert got.failure is None and got.memory[0] == 3 * config.warps * config.threads
