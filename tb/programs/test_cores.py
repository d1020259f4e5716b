"""Several cores: programs, algorithms, errors and counters."""

import numpy as np
import pytest

from checks.campaign.lanes import place_of_lane
from checks.campaign.machines import (CORES, Launch, check_cores, check_counters, machine, run,
                                      simulate, verify)
from checks.campaign.random_programs import random_case
from hw.isa import Cause, Csr, MemoryMap
from sw.graph import Graph
from sw.graph.load import load
from sw.compile.asm.assembler import Assembler, Condition
from sw.compile.kernels.split import SPLITS
from sw.device import Device
from tb import seeds
from tb.programs import counts
from tb.sw.graphs import random_graph


LATENCIES = (1, 20, 100)
OPTIONS = {"bfs": {}, "cc": {}, "pagerank": {"iterations": 3}, "sssp": {},
           "gcn": {"dimension": 3, "columns": 9}}


def finish(a, **options):
    """End the program here, and return its case."""
    a.end_warp()
    return Launch(a.finish().words, **options)


@pytest.mark.parametrize("name", CORES)
def test_counts(name):
    counts.check_programs(name, CORES[name])


@pytest.mark.parametrize("name", CORES)
def test_random_programs(name):
    for number in range(6):
        seed = seeds.seed(number)
        kind = {"latency": LATENCIES[number % 3], "queue": (2, 16)[number % 2]}
        try:
            verify(machine(name, **kind), random_case(CORES[name], seed))
        except AssertionError as error:
            raise AssertionError(f"configuration {name}, seed {seed}: {error}") from None


@pytest.mark.parametrize("name", CORES)
def test_the_programs_do_not_depend_on_the_order_of_cores(name):
    for seed in range(3):
        case = random_case(CORES[name], seed)
        first = simulate(CORES[name], case)
        assert first.failure is None
        for order in range(2):
            other = simulate(CORES[name], case, seed=order)
            assert np.array_equal(first.memory, other.memory)
            assert first.counters == other.counters


@pytest.mark.parametrize("name", CORES)
def test_who_is_who(name):
    config = CORES[name]
    for number, expected in (
            (Csr.CORE_ID, lambda core, warp, thread: core),
            (Csr.WARP_ID, lambda core, warp, thread: warp),
            (Csr.THREAD_ID, lambda core, warp, thread: thread),
            (Csr.NUM_CORES, lambda core, warp, thread: config.cores)):
        a = Assembler()
        value, place = a.regs("value", "place")
        place_of_lane(a, place, MemoryMap.GLOBAL)
        a.csrr(value, number)
        a.sw(value, place)
        got = verify(machine(name), finish(a)).memory
        shape = config.cores, config.warps, config.threads
        assert np.array_equal(got[:np.prod(shape)].reshape(shape),
                              np.fromfunction(expected, shape, dtype=int)
                              * np.ones(shape, int)), number


@pytest.mark.parametrize("name", CORES)
def test_local_memory_is_the_cores_own(name):
    """Each core writes the same local words, waits for its warps, and reads them back."""
    config = CORES[name]
    a = Assembler()
    value, place, out, count = a.regs("value", "place", "out", "count")
    a.csrr(value, Csr.CORE_ID)
    a.addi(value, value, 100)
    a.csrr(place, Csr.THREAD_ID)
    a.slli(place, place, 2)
    a.li(count, MemoryMap.LOCAL)
    a.add(place, place, count)
    a.sw(value, place)
    a.csrr(count, Csr.NUM_WARPS)
    a.bar(a.zero, count)
    a.lw(value, place)
    place_of_lane(a, out, MemoryMap.GLOBAL)
    a.sw(value, out)
    got = verify(machine(name), finish(a)).memory
    lanes = config.warps * config.threads
    assert np.array_equal(got[:config.cores * lanes], np.repeat(np.arange(config.cores) + 100,
                                                                lanes))


@pytest.mark.parametrize("name", CORES)
def test_atomics_of_all_cores_meet(name):
    """Every lane draws tickets from one counter, and each number is drawn once."""
    config = CORES[name]
    tickets, draws = 64, 5
    a = Assembler()
    value, place, left, counter = a.regs("value", "place", "left", "counter")
    a.li(counter, MemoryMap.GLOBAL)
    a.li(left, draws)
    with a.while_uniform(Condition("ne", left, a.zero)):
        a.li(value, 1)
        a.amoadd_w(value, value, counter)
        a.slli(value, value, 2)
        a.add(place, value, counter)
        a.li(value, 1)
        a.amoadd_w(a.zero, value, place)
        a.addi(left, left, -1)
    memory = np.zeros(4096, np.uint32)
    memory[0] = tickets                    # the first ticket; its word lies behind the counter
    got = verify(machine(name), finish(a, memory=memory)).memory
    lanes = config.cores * config.warps * config.threads
    assert got[0] == tickets + draws * lanes
    assert (got[tickets:tickets + draws * lanes] == 1).all()
    assert got[tickets + draws * lanes] == 0


@pytest.mark.parametrize("name", CORES)
def test_a_store_is_seen_after_a_fence(name):
    """Core 0 stores data and then a flag. The other cores wait for the flag and must see the
    data."""
    config = CORES[name]
    a = Assembler()
    core, value, place, flag = a.regs("core", "value", "place", "flag")
    a.csrr(core, Csr.CORE_ID)
    a.li(place, MemoryMap.GLOBAL)
    a.li(flag, MemoryMap.GLOBAL + 1024)
    a.lw(value, place)                     # now every core's L1 has the lines without the data
    a.lw(value, place, 512)
    with a.if_uniform(Condition("eq", core, a.zero)) as first:
        a.csrr(value, Csr.WARP_ID)
        with a.if_uniform(Condition("eq", value, a.zero)):
            a.li(value, 77)
            a.sw(value, place)
            a.sw(value, place, 512)
            a.fence()
            a.amoswap_w(a.zero, value, flag)
        first.otherwise()
        top, seen = a.place("wait"), a.label("seen")
        a.amoor_w(value, a.zero, flag)
        a.bnez(value, seen)
        a.j(top)
        a.place(seen)
        a.fence()
        a.lw(value, place, 512)
        place_of_lane(a, flag, MemoryMap.GLOBAL + 2048)
        a.sw(value, flag)
        a.lw(value, place)
        place_of_lane(a, flag, MemoryMap.GLOBAL + 4096)
        a.sw(value, flag)
    case = finish(a)
    for latency in LATENCIES:
        got = run(machine(name, latency=latency), case).memory
        lanes = config.warps * config.threads
        for start in (512, 1024):
            others = got[start + lanes:start + config.cores * lanes]
            assert (others == 77).all()


@pytest.mark.parametrize("name", CORES)
@pytest.mark.parametrize("failing", ("first", "last"))
def test_an_error_stops_all_cores(name, failing):
    """One core fails while the others run without end. The failing core is reported."""
    config = CORES[name]
    number = 0 if failing == "first" else config.cores - 1
    a = Assembler()
    core, place = a.regs("core", "place")
    a.csrr(core, Csr.CORE_ID)
    a.li(place, number)
    with a.if_uniform(Condition("eq", core, place)):
        a.li(place, 0x4000_0000)
        a.lw(core, place)
    top = a.place("forever")
    a.j(top)
    case = Launch(a.finish().words)
    got = run(machine(name), case)
    assert got.failure.cause is Cause.LOAD_ACCESS and got.failure.core == number
    assert got.failure.address == 0x4000_0000
    # The next launch works as usual.
    verify(machine(name), random_case(config, 4))


@pytest.mark.parametrize("name", CORES)
@pytest.mark.parametrize("algorithm", OPTIONS)
@pytest.mark.parametrize("direction", ("push", "pull"))
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.sample(5)
def test_algorithms(name, algorithm, direction, split):
    config = CORES[name]
    for graph in (random_graph(40, 160, 5), random_graph(100, 900, 6)):
        graph = graph.weighted(1000)
        for schedule in ("vm", "em", "weaver"):
            with Device(config, lambda: machine(name)) as device:
                try:
                    result = device.run(algorithm, graph, schedule=schedule, direction=direction,
                                        split=split, max_cycles=5_000_000,
                                        **OPTIONS[algorithm])
                finally:
                    device._machine = None          # which other tests share
            assert result.verified
            check_counters(config, result.counters)


@pytest.mark.parametrize("schedule", ("vm", "em", "weaver"))
def test_a_counter_gives_more_to_those_who_are_done(schedule):
    """The static split gives all vertices with many edges to the first core or warp. With a counter
    the other cores or warps take some of these vertices, too."""
    name = "pair"
    config = CORES[name]
    part = config.threads * (config.warps if schedule == "weaver" else 1)
    takers = config.cores * (1 if schedule == "weaver" else config.warps)
    vertices = 12 * part * takers
    heavy = np.flatnonzero(np.arange(vertices) // part % takers == 0)
    targets = np.repeat(heavy, 12)
    graph = Graph(vertices, np.arange(len(targets)) * 7 % vertices, targets, name="uneven")
    cycles = {}
    for split in SPLITS:
        with Device(config, lambda: machine(name)) as device:
            try:
                cycles[split] = device.run("pagerank", graph, schedule=schedule, iterations=2,
                                           split=split).cycles
            finally:
                device._machine = None              # which other tests share
    if schedule == "em":                            # em splits edges, so nothing is uneven
        assert 0.8 < cycles["counter"] / cycles["static"] < 1.2
    else:
        assert cycles["counter"] < 0.85 * cycles["static"], cycles


@pytest.mark.parametrize("schedule", ("em", "em:unroll=1"))
@pytest.mark.parametrize("name", CORES)
def test_vertices_that_another_core_adds(name, schedule):
    """A vertex may count at once that another core has reached in this launch. The L1 may still
    have its word from before, infinity, to which no weight may be added past 32 bits."""
    for seed in (1, 4, 5, 7):
        graph = load(f"rmat:scale=5,degree=8,seed={seed}", weights=255)
        with Device(CORES[name], lambda: machine(name)) as device:
            try:
                assert device.run("sssp", graph, schedule=schedule, direction="push",
                                  source=graph.hub).verified
            finally:
                device._machine = None              # which other tests share


@pytest.mark.parametrize("name", CORES)
def test_counters_of_each_core(name):
    """In each core, issued instructions and stalls add up to the cycles. The cycles of a warp's
    phases add up to the warp's cycles."""
    config, device = CORES[name], machine(name)
    run(device, random_case(config, 7))
    totals, cores = device.counters(), device.core_counters()
    assert all(counters["instructions"] > 0 for counters in cores)
    check_cores(config, totals, cores, device.phase_cycles())
    device.clear_counters()
    assert not device.phase_cycles().any()
    assert not any(any(core.values()) for core in device.core_counters())
