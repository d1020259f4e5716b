"""Counters: they add up, and known programs give known counts.

For every program of this folder, :func:`checks.campaign.machines.check_counters` checks that issued
instructions and stalls add up to the cycles.
"""

import functools

import pytest

from checks.campaign.machines import CONFIGS, Launch, check_counters, machine, run, verify
from checks.campaign.random_programs import random_case
from hw.isa import Csr, MemoryMap, encode
from hw.registers import COUNTERS
from hw.stalls import L1_STALLS
from sw.golden.simulator import Simulator
from sw.compile.asm.assembler import Assembler, Condition


CONFIG = CONFIGS["tiny"]
LANES = CONFIG.warps * CONFIG.threads
STALLS = [name for name in COUNTERS if name.startswith("stall_")]


def counted(build, name="tiny", repeat=1):
    """Counters of a program that every warp executes. ``build`` gets the assembler, the lane's
    number among all lanes, and registers to use."""
    a = Assembler()
    lane, *registers = a.regs("lane", "x", "y", "z")
    config = CONFIGS[name]
    a.csrr(lane, Csr.WARP_ID)
    a.slli(lane, lane, (config.threads - 1).bit_length())
    a.csrr(registers[0], Csr.THREAD_ID)
    a.add(lane, lane, registers[0])
    for _ in range(repeat):
        build(a, lane, *registers)
    a.end_warp()
    case = Launch(a.finish().words)
    counters = run(machine(name), case).counters
    check_counters(config, counters)
    return counters


def biggest_stall(counters):
    return max(STALLS, key=lambda name: counters[name])


def test_counters_add_up_over_launches_and_are_cleared():
    device = machine("tiny")
    case = random_case(CONFIG, 7)
    once = run(device, case).counters
    device.flush(invalidate=True)
    case.fill(device.memory)
    device.launch(0, case.argument)
    twice = device.counters()
    for name in ("instructions", "lanes", "memory_instructions", "l1_accesses", "l1_loads",
                 "load_words", "l1_fetches", "local_accesses", "local_conflicts", "atomics",
                 "atomic_lanes"):
        assert twice[name] == 2 * once[name], name
    stalls = sum(twice[name] for name in STALLS)
    assert twice["instructions"] + stalls == twice["cycles"] > once["cycles"]
    device.clear_counters()
    assert not any(device.counters().values())


def test_no_counters():
    outcome = verify(machine("bare"), random_case(CONFIGS["bare"], 3))
    assert not any(outcome.counters[name] for name in COUNTERS)


def test_instructions_and_lanes():
    counters = counted(lambda a, lane, x, y, z: [a.li(x, 1), a.tmc(x), a.nop()])
    assert counters["instructions"] == CONFIG.warps * 8
    assert counters["lanes"] == CONFIG.warps * (6 * CONFIG.threads + 2)
    assert counters["memory_instructions"] == counters["l1_accesses"] == counters["atomics"] == 0


def words(a, lane, pointer, base=MemoryMap.GLOBAL, scale=2):
    """Set ``pointer`` to a word of each lane's own."""
    a.slli(pointer, lane, scale)
    with a.scope("base") as (base_register,):
        a.li(base_register, base)
        a.add(pointer, pointer, base_register)


def test_a_line_is_one_access():
    def build(a, lane, x, y, z):
        words(a, lane, x)
        a.lw(y, x, 0)
        a.add(y, y, y)      # waits for the line
        a.lw(y, x, 0)
        a.sw(y, x, 0)
    counters = counted(build)
    assert counters["memory_instructions"] == 3 * CONFIG.warps
    assert counters["l1_accesses"] == 3 * CONFIG.warps
    assert counters["l1_loads"] == 2 * CONFIG.warps and counters["l1_load_hits"] == CONFIG.warps
    assert counters["l2_accesses"] == 2 * CONFIG.warps
    assert counters["dram_reads"] == CONFIG.warps == counters["l1_fetches"]
    assert counters["load_words"] == 2 * LANES
    assert biggest_stall(counters) == "stall_memory"


def test_lines_of_their_own_are_an_access_a_lane():
    def build(a, lane, x, y, z):
        words(a, lane, x, scale=CONFIG.line_bits)
        a.lw(y, x, 0)
    counters = counted(build)
    for name in ("l1_accesses", "l1_loads", "load_words", "l1_fetches", "dram_reads"):
        assert counters[name] == LANES, name
    assert counters["l1_load_hits"] == 0


def test_a_word_of_several_lanes_is_wanted_once():
    def build(a, lane, x, y, z):
        a.srli(x, lane, 1)                  # two lanes a word, of which each wants a half
        words(a, x, x)
        a.andi(z, lane, 1)
        a.slli(z, z, 1)
        a.add(x, x, z)
        a.lhu(y, x, 0)
        words(a, lane, x, MemoryMap.LOCAL)
        a.lw(y, x, 0)                       # local memory is not counted
    assert counted(build)["load_words"] == LANES // 2


def test_atomics():
    def together(a, lane, x, y, z):
        a.li(x, MemoryMap.GLOBAL)
        a.amoadd_w(a.zero, lane, x)
    counters = counted(together, repeat=5)
    assert counters["atomics"] == 5 * CONFIG.warps
    assert counters["atomic_lanes"] == 5 * LANES

    def one_by_one(a, lane, x, y, z):
        a.li(x, MemoryMap.GLOBAL)
        a.amoadd_w(y, lane, x)
    counters = counted(one_by_one)
    assert counters["atomics"] == counters["atomic_lanes"] == LANES
    assert counters["memory_instructions"] == CONFIG.warps


def test_local_memory():
    def conflict_free(a, lane, x, y, z):
        words(a, lane, x, MemoryMap.LOCAL)
        a.sw(lane, x, 0)
        a.lw(y, x, 0)
    counters = counted(conflict_free)
    assert counters["local_accesses"] == 2 * CONFIG.warps and counters["local_conflicts"] == 0
    assert counters["memory_instructions"] == counters["l1_accesses"] == 0

    def conflicts(a, lane, x, y, z):
        words(a, lane, x, MemoryMap.LOCAL, scale=CONFIG.line_bits)
        a.lw(y, x, 0)
    counters = counted(conflicts)
    assert counters["local_accesses"] == LANES
    assert counters["local_conflicts"] == LANES - CONFIG.warps

    def broadcast(a, lane, x, y, z):
        a.li(x, MemoryMap.LOCAL)
        a.lw(y, x, 4)
    assert counted(broadcast)["local_conflicts"] == 0


def test_atomics_of_local_memory():
    """Atomics of local memory count as passes of local memory, and send no request. Lanes of
    one word share a pass, unless they want the old value; then they count as conflicts."""
    def distinct(a, lane, x, y, z):
        words(a, lane, x, MemoryMap.LOCAL)
        a.amoadd_w(y, lane, x)
        a.amoadd_w(a.zero, lane, x)
    counters = counted(distinct)
    assert counters["local_accesses"] == 2 * CONFIG.warps and counters["local_conflicts"] == 0
    assert counters["memory_instructions"] == counters["l1_accesses"] == counters["atomics"] == 0

    def one_word(a, lane, x, y, z):
        a.li(x, MemoryMap.LOCAL)
        a.amoadd_w(a.zero, lane, x)
    counters = counted(one_word)
    assert counters["local_accesses"] == CONFIG.warps and counters["local_conflicts"] == 0

    def answered(a, lane, x, y, z):
        a.li(x, MemoryMap.LOCAL)
        a.amoadd_w(y, lane, x)
    counters = counted(answered)
    assert counters["local_accesses"] == LANES
    assert counters["local_conflicts"] == LANES - CONFIG.warps


def test_lanes_of_a_compare_and_swap_are_not_combined():
    def build(method):
        def emit(a, lane, x, y, z):
            a.li(x, MemoryMap.GLOBAL)
            getattr(a, method)(a.zero, lane, x)
        return emit
    together, apart = counted(build("amoswap_w")), counted(build("amocas_w"))
    assert together["atomics"] == CONFIG.warps and apart["atomics"] == LANES
    assert together["atomic_lanes"] == apart["atomic_lanes"] == LANES


@pytest.mark.parametrize("cause, build", [
    ("stall_execute", lambda a, lane, x, y, z: [a.mul(x, x, x) for _ in range(60)]),
    ("stall_execute", lambda a, lane, x, y, z: [a.divu(x, x, y) for _ in range(20)]),
    ("stall_fetch", lambda a, lane, x, y, z: [_jump(a) for _ in range(60)]),
    ("stall_memory", lambda a, lane, x, y, z: [a.li(x, MemoryMap.GLOBAL),
                                               *(_chase(a, x, y) for _ in range(20))]),
    ("stall_local", lambda a, lane, x, y, z: [a.li(x, MemoryMap.LOCAL), a.sw(x, x, 0),
                                              *(a.lw(x, x, 0) for _ in range(40))]),
    ("stall_local", lambda a, lane, x, y, z: [a.li(x, MemoryMap.LOCAL), a.sw(x, x, 0),
                                              *(a.amoor_w(x, x, x) for _ in range(40))]),
])
def test_attribution(cause, build):
    counters = counted(build)
    assert biggest_stall(counters) == cause, {name: counters[name] for name in STALLS}


def test_attribution_to_local_memory_with_every_register():
    """Loads to any register wait equally long for local memory."""
    def build(count, a, lane, x, y, z):
        *_, register = a.regs(*(f"r{i}" for i in range(count)))
        numbers.append(register.number)
        a.li(x, MemoryMap.LOCAL)
        a.sw(x, x, 0)
        for _ in range(4):
            a.lw(register, x, 0)
            a.add(y, register, register)
    numbers = []
    waits = {counted(functools.partial(build, count))["stall_local"] for count in range(1, 27)}
    assert len(waits) == 1 and waits.pop() > 0
    assert max(numbers) > 28 and len(set(numbers)) == 26


def _jump(a):
    target = a.label("next")
    a.j(target)
    a.place(target)


def _chase(a, x, y):
    a.fence()
    a.lw(y, x, 0)
    a.add(y, y, y)


def test_attribution_to_a_barrier():
    """One warp jumps about while the other waits for it at a barrier. Without the barrier the
    cycles count as stalls of fetch."""
    def build(a, lane, x, y, z, meet=True):
        a.csrr(x, Csr.WARP_ID)
        a.li(y, CONFIG.warps)
        with a.if_uniform(Condition("eq", x, a.zero)):
            for _ in range(60):
                _jump(a)
        if meet:
            a.bar(a.zero, y)
    assert biggest_stall(counted(build)) == "stall_barrier"
    assert biggest_stall(counted(functools.partial(build, meet=False))) == "stall_fetch"


def test_attribution_to_the_weaver_and_to_nothing():
    counters = counted(lambda a, lane, x, y, z: [a.weaver_dec_id(x) for _ in range(10)])
    assert counters["weaver_decodes"] == 10 * CONFIG.warps
    assert biggest_stall(counters) == "stall_weaver"
    assert 0 < counters["weaver_waits"] <= counters["cycles"]

    def stores(a, lane, x, y, z):
        words(a, lane, x, scale=6)
        for offset in range(0, 64, 16):
            a.sw(lane, x, offset)
    counters = counted(stores, repeat=2)
    assert counters["stall_idle"] > 50 and not counters["weaver_waits"]


@pytest.mark.parametrize("name", ["tiny", "scan", "stream", "late"])
def test_skipped_edges(name):
    """Registered edges are handed out or skipped. One warp registers four vertices of 10 edges, and
    skips two of them after a work of 4 edges each. The rest is 5 works."""
    a, config = Assembler(), CONFIGS[name]
    lane, pointer, degree, token, place = a.regs("lane", "pointer", "degree", "token", "place")
    a.csrr(token, Csr.WARP_ID)
    a.csrr(lane, Csr.THREAD_ID)
    words(a, lane, pointer)
    a.li(degree, 10)
    with a.if_uniform(Condition("eq", token, a.zero)):
        a.weaver_reg(lane, lane, degree)
        a.li(token, -1)
        a.weaver_skip(token)                     # closes the warp, where it was opened
        for _ in range(2):
            a.weaver_dec(token, place)
            a.weaver_skip(token)
        for number in range(6):
            a.weaver_dec(token, place)
            a.sw(token, pointer, 4 * config.threads * number)
    a.end_warp()
    case = Launch(a.finish().words)
    outcome = verify(machine(name), case)
    given = outcome.memory[:6 * config.threads].reshape(6, -1).tolist()
    assert given == [[2] * 4, [2] * 4, [2, 2, 3, 3], [3] * 4, [3] * 4, [0xFFFF_FFFF] * 4]
    check_counters(config, outcome.counters)
    assert outcome.counters["weaver_decodes"] == 8
    registered, handed_out = config.threads * 10, 2 * 4 + 5 * 4
    assert outcome.counters["weaver_skipped"] == registered - handed_out == 12
    simulator = Simulator(config)
    simulator.load_program(case.words)
    simulator.start(case.entry, case.argument)
    simulator.run()
    assert simulator.gather.skipped == 12


def _chase_beside_the_weaver(decodes):
    """One warp asks the Weaver so many times, while the other waits for global memory."""
    def build(a, lane, x, y, z):
        a.csrr(x, Csr.WARP_ID)
        with a.if_uniform(Condition("eq", x, a.zero)):
            for _ in range(decodes):
                a.weaver_dec_id(y)
            a.end_warp()
        a.li(x, MemoryMap.GLOBAL)
        for _ in range(20):
            _chase(a, x, y)
    return counted(build)


def test_memory_does_not_hide_waits_for_the_weaver():
    """A DEC_ID keeps its warp for four cycles. ``stall_weaver`` has nearly none of them while
    another warp waits for memory. ``weaver_stalls`` has those in which the other does not issue."""
    alone = counted(lambda a, lane, x, y, z: [a.weaver_dec_id(x) for _ in range(10)])
    assert alone["weaver_stalls"] == alone["stall_weaver"] > 0
    assert _chase_beside_the_weaver(0)["weaver_stalls"] == 0
    for decodes in (10, 20):
        hidden = _chase_beside_the_weaver(decodes)
        assert hidden["stall_weaver"] < decodes / 2
        assert 3.5 * decodes < hidden["weaver_stalls"] <= 4 * decodes


def _line(a, x):
    a.li(x, MemoryMap.GLOBAL)


@pytest.mark.parametrize("cause, build, least, most", [
    # Each lane's line is a pass, and all lines are in one bank.
    ("bank", lambda a, lane, x, y, z: [words(a, lane, x, scale=CONFIG.line_bits), a.lw(y, x, 0)],
     LANES - CONFIG.warps, LANES - CONFIG.warps),
    # There are as many misses as MSHRs at once, and twice as many lines.
    ("mshr", lambda a, lane, x, y, z: [words(a, lane, x, scale=CONFIG.line_bits), a.lw(y, x, 0)],
     20, 60),
    # Stores to the set of a line that comes.
    ("fill", lambda a, lane, x, y, z: [_line(a, x), a.lw(y, x, 0), *(
        a.sw(lane, x, (1 + i % 2) * CONFIG.l1_bytes // CONFIG.l1_ways) for i in range(40))], 1, 4),
    # Hits use every cycle, so the answer of a miss goes first in the end.
    ("replay", lambda a, lane, x, y, z: [
        words(a, lane, x, scale=CONFIG.line_bits), a.lw(y, x, 0), a.add(y, y, y),
        a.lw(z, x, LANES * CONFIG.line_bytes), *(a.lw(a.zero, x, 0) for _ in range(60))], 1, 20),
    # A load from a line that an instruction before it stores to.
    ("order", lambda a, lane, x, y, z: [
        _line(a, x), a.lw(y, x, 0), a.add(y, y, y), a.sw(lane, x, 0), a.lw(y, x, 0)], 1, 40),
    # Without an L2, memory takes stores more slowly than the L1.
    ("l2", lambda a, lane, x, y, z: [_line(a, x), *(
        a.sw(lane, x, CONFIG.line_bytes * i) for i in range(60))], 100, 700),
])
def test_waits_in_front_of_the_l1(cause, build, least, most):
    counters = counted(build)
    assert least <= counters[f"l1_stall_{cause}"] <= most, {
        name: counters[f"l1_stall_{name}"] for name in ("bank", *L1_STALLS)}


def test_hits_do_not_wait_in_front_of_the_l1():
    def build(a, lane, x, y, z):
        _line(a, x)
        a.add(y, y, y)
        for offset in range(0, CONFIG.line_bytes, 4):
            a.lw(y, x, offset)
    counters = counted(build, repeat=3)
    assert not any(counters[f"l1_stall_{name}"] for name in ("bank", "fill", "replay", "l2"))


def test_the_coalescer_is_busy_for_each_pass():
    """Where no pass waits, lanes are served in as many cycles as there are passes."""
    def build(a, lane, x, y, z, scale, loads):
        words(a, lane, x, MemoryMap.LOCAL, scale)
        for _ in range(loads):      # the first waits until the launch has emptied the L1
            a.lw(y, x, 0)
            a.add(y, y, y)
    for scale, passes in ((2, CONFIG.warps), (CONFIG.line_bits, LANES)):
        one, more = (counted(functools.partial(build, scale=scale, loads=n)) for n in (1, 11))
        for name in ("coalescer_busy", "local_accesses"):
            assert more[name] - one[name] == 10 * passes
    assert counted(lambda a, lane, x, y, z: a.nop())["coalescer_busy"] == 0


def test_loads_under_way():
    """A load that hits is under way for six cycles, whether others are or not; a store is not."""
    def build(a, lane, x, y, z, loads):
        words(a, lane, x)
        a.sw(lane, x, 0)
        a.lw(y, x, 0)
        a.add(y, y, y)
        for _ in range(loads):
            a.lw(z, x, 0)
    before, after = (counted(functools.partial(build, loads=loads)) for loads in (0, 20))
    assert after["l1_load_hits"] - before["l1_load_hits"] == 20 * CONFIG.warps
    assert after["loads_under_way"] - before["loads_under_way"] == 6 * 20 * CONFIG.warps
    stores = counted(lambda a, lane, x, y, z: [words(a, lane, x), a.sw(lane, x, 0)])
    assert stores["loads_under_way"] == 0 < stores["coalescer_busy"]


def test_one_instruction():
    counters = run(machine("tiny"), Launch((encode("tmc", rs1=0),))).counters
    assert counters["instructions"] == CONFIG.warps and counters["lanes"] == LANES
    assert sum(counters[name] for name in STALLS) + CONFIG.warps == counters["cycles"] < 40
