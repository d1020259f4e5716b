"""Tests of GraphPEG's filter of edges: values by hand, timing, and random runs in many shapes
against the golden model.

============================  ====================================================================
relations, sums, settings     relations, sums_are_bounded
rows                          kept_edges_fill_rows, nothing_counts, tests_follow
timing                        a_row_takes_a_cycle, an_edge_takes_a_cycle
places                        packed_rows_wait, words_come_backwards
golden model, words change    filter_against_golden, words_change
launch, reset                 launches_while_words_come
without a test                test_without_a_test
============================  ====================================================================
"""

import collections

import cocotb
import pytest

from hw.config import HardwareConfig
from hw.gather.graphpeg.accesses import filter_rows, packed_rows
from hw.gather.variants import component
from hw.isa import MemoryMap
from hw.operations import EdgeTest, GatherOp, GatherSetting
from tb import runner
from tb.clocking import integer, tick
from tb.hw.gather.graphpeg_driver import Core, Graph
from tb.hw.gather.graphpeg_random import (SIZES, close_list, fill_with_mark, golden_records,
                                          pusher, random_input, random_memory)
from tb.hw.gather.warps import SHAPES, random_degree, random_rates


#: Where neighbours lie, and the distances of words from neighbours and from base vertices.
_NEIGHBORS, _VALUES, _BASES = MemoryMap.GLOBAL + (4 << 16), 1 << 16, 5 << 16

_RELATIONS = EdgeTest.ABOVE, EdgeTest.BELOW, EdgeTest.EQUAL


def _use(core, edges, *, weighted=False):
    """Give the unit a graph, whose vertices have these edges: lists of (neighbour's number,
    weight)."""
    graph = Graph([len(row) for row in edges])
    for vertex, row in zip(graph.ids, edges):
        for edge, (neighbor, weight) in zip(graph.rows[vertex], row):
            graph.memory.store_word(4 * edge, _NEIGHBORS + 4 * neighbor)
            distance, = (value for setting, value in graph.distances(True)
                         if setting == GatherSetting.WEIGHTS)
            graph.memory.store_word(4 * edge + distance & 0xFFFFFFFF, weight)
    core.use(graph, weighted)
    core.set(GatherSetting.VALUES, _VALUES)
    core.set(GatherSetting.BASES, _BASES)


def _words(core, values, bases=()):
    """Store the words of neighbours and of base vertices, by their numbers."""
    for number, word in enumerate(values):
        core.memory.store_word(_NEIGHBORS + _VALUES + 4 * number, word)
    for number, word in enumerate(bases):
        core.memory.store_word(core.graph.ids[number] + _BASES, word)


def _test(core, test, bound=0):
    core.set(GatherSetting.BOUND, bound)
    core.set(GatherSetting.TEST, test)


async def _all(core):
    """All edges until none is left; only the last row may be not full."""
    rows = []
    while edges := await core.edges(len(rows) % core.warps):
        assert not rows or len(rows[-1]) == core.threads
        rows.append(edges)
    return [edge for row in rows for edge in row]


def _numbers(edges):
    return sorted((neighbor - _NEIGHBORS) // 4 for _, neighbor, _ in edges)


@cocotb.test()
async def relations(dut):
    """Words are compared with the bound, or with the base vertex's word, without a sign."""
    core = await Core.start(dut)
    words = [0, 4, 5, 6, 1 << 31, 0xFFFFFFFF]
    _use(core, [[(number, 9) for number in range(len(words))]])
    for other in (5, 0, 0xFFFFFFFF):
        for test in range(32):
            expected = [number for number, word in enumerate(words) if not test & 7
                        or (test & EdgeTest.ABOVE and word > other)
                        or (test & EdgeTest.BELOW and word < other)
                        or (test & EdgeTest.EQUAL and word == other)]
            _words(core, words, [other if test & EdgeTest.BASE else 7])
            _test(core, test, 7 if test & EdgeTest.BASE else other)
            core.start_list([0])
            assert _numbers(await _all(core)) == expected


@cocotb.test()
async def sums_are_bounded(dut):
    """A weight is added to the bound or to the base vertex's word; no sum passes 32 bits. Without
    weights nothing is added."""
    core = await Core.start(dut)
    weights = [0, 1, 2, 3, 0xFFFFFFF0, 0xFFFFFFFE]
    for weighted in (True, False):
        _use(core, [[(number, weight) for number, weight in enumerate(weights)]],
             weighted=weighted)
        for word in (12, 0xFFFFFFFF):
            _words(core, [word] * len(weights), [10])
            for relation in _RELATIONS:
                for base in (0, EdgeTest.BASE):
                    _test(core, relation | base | EdgeTest.WEIGHT, 3 if base else 10)
                    core.start_list([0])
                    sums = [min(10 + weighted * weight, 0xFFFFFFFF) for weight in weights]
                    assert _numbers(await _all(core)) == [
                        number for number, other in enumerate(sums) if relation == (
                            EdgeTest.ABOVE if word > other else
                            EdgeTest.BELOW if word < other else EdgeTest.EQUAL)]


@cocotb.test()
async def kept_edges_fill_rows(dut):
    """Edges of several rows share a row. Neighbours and weights stay beside their bases."""
    core = await Core.start(dut)
    count, lanes = 6 * core.threads + 1, core.threads
    for modulus in (1, 2, 3, lanes + 1, count):
        _use(core, [[(number, 100 + number)] for number in range(count)], weighted=True)
        _words(core, [number % modulus for number in range(count)])
        _test(core, EdgeTest.EQUAL, 0)
        core.start_range(0, count)
        got = await _all(core)
        assert collections.Counter(got) == collections.Counter(
            core.records(range(0, count, modulus)))


@cocotb.test()
async def nothing_counts(dut):
    """If no edge counts, the answer is the end; so it is without edges."""
    core = await Core.start(dut)
    for edges in ([[(0, 1)] * 3 * core.threads] * 5, [[], []]):
        _use(core, edges)
        _words(core, [3])
        _test(core, EdgeTest.ABOVE, 3)
        core.start_range(0, len(edges))
        for warp in range(core.warps):
            assert await core.edges(warp) == []


@cocotb.test()
async def tests_follow(dut):
    """Each START has the test of then; a launch ends tests."""
    core = await Core.start(dut)
    _use(core, [[(number, 0) for number in range(3 * core.threads)]])
    _words(core, range(3 * core.threads))
    for test, least in ((EdgeTest.ABOVE, 5), (0, 0), (EdgeTest.ABOVE, 9)):
        _test(core, test, least - 1)
        core.start_list([0])
        assert _numbers(await _all(core)) == list(range(least, 3 * core.threads))
    await core.rest()
    await core.launch()
    _use(core, [[(number, 0) for number in range(5)]])
    _words(core, [0] * 5)
    core.start_list([0])
    assert _numbers(await _all(core)) == list(range(5))


@cocotb.test()
async def a_row_takes_a_cycle(dut):
    """Rows that are packed are handed out one a cycle."""
    core = await Core.start(dut)
    rows = core.warps
    _use(core, [[(0, 0)] * (core.threads * rows)])
    core.start_list([0])
    await core.rest()
    for warp in range(core.warps):
        core.ask(warp, GatherOp.DEC_ID)
    for _ in range(rows):
        await core.response()
    events = core.responses[-rows:]
    assert [event.cycle - events[0].cycle for event in events] == list(range(rows))


@cocotb.test()
async def an_edge_takes_a_cycle(dut):
    """A row takes a cycle for each edge that is kept, and one more; of a row that is kept as it
    is, all edges take one."""
    core = await Core.start(dut)
    lanes = core.threads
    cycles = {}
    for kept in (0, 1, lanes - 1, lanes):
        for rows in (8, 24):
            _use(core, [[(lane, 0) for lane in range(lanes)] * rows])
            _words(core, [lane < kept for lane in range(lanes)])
            _test(core, EdgeTest.EQUAL, 1)
            core.start_list([0])
            await core.source.drain()
            begin = cocotb.utils.get_sim_time("ns")
            got = await _all(core)
            assert len(got) == kept * rows
            cycles[kept, rows] = (cocotb.utils.get_sim_time("ns") - begin) // 10
    for kept, most in ((0, 3), (1, 3), (lanes - 1, lanes + 2), (lanes, 6)):
        assert cycles[kept, 24] - cycles[kept, 8] <= 16 * most, cycles


@cocotb.test()
async def packed_rows_wait(dut):
    """Without pops rows are packed while there is a place, then gathered and asked for while there
    is one. The unit is at rest then. Each edge is handed out later."""
    core = await Core.start(dut)
    config, lanes = core.config, core.threads
    rows = packed_rows(config) + filter_rows(config) + config.edge_buffer_rows + 12
    _use(core, [[(lane, 0) for lane in range(lanes)] for _ in range(rows + core.warps)])
    _words(core, [1] * lanes)
    _test(core, EdgeTest.EQUAL, 1)
    core.start_range(0, rows + core.warps)
    await core.rest()
    values = sum(load[0] in range(_NEIGHBORS + _VALUES, _NEIGHBORS + _VALUES + 4 * lanes)
                 for load in core.loads)
    # One more row is being packed, and one waits for a place.
    assert values == packed_rows(config) + filter_rows(config) + 1
    assert integer(dut.busy) == 0
    got = await _all(core)
    assert collections.Counter(got) == collections.Counter(
        core.records(range(rows + core.warps)))


@cocotb.test()
async def words_come_backwards(dut):
    """The words of base vertices come before those of neighbours, and the last rows first."""
    core = await Core.start(dut)
    core.choose = lambda due: due[-1]
    rng, lanes = core.rng, core.threads
    for _ in range(4):
        edges = [[(rng.randrange(8), rng.randrange(4)) for _ in range(rng.randrange(2 * lanes))]
                 for _ in range(30)]
        _use(core, edges, weighted=True)
        _words(core, [rng.randrange(8) for _ in range(8)], [rng.randrange(5) for _ in range(30)])
        _test(core, EdgeTest.ABOVE | EdgeTest.BASE | EdgeTest.WEIGHT)
        core.start_range(0, 30)
        expected = golden_records(core)
        core.latency = 20
        assert collections.Counter(await _all(core)) == collections.Counter(expected)


def _random_filter(core):
    """A random graph, words and test; sometimes without a test."""
    rng = core.rng
    count = rng.choice([1, 2, core.threads, 3 * core.threads + 1, 40])
    few = rng.choice([1, 2, 20])
    _use(core, [[(rng.randrange(few), rng.choice([0, 1, 2, 0xFFFFFFFE]))
                 for _ in range(random_degree(rng, core.threads))] for _ in range(count)],
         weighted=rng.random() < 0.5)
    most = rng.choice([1, 4, 40])
    _words(core, [rng.choice([rng.randrange(most), rng.getrandbits(32)]) for _ in range(few)],
           [rng.randrange(most) for _ in range(count)])
    _test(core, rng.randrange(32), rng.randrange(most))


@cocotb.test()
async def filter_against_golden(dut):
    """Each edge whose test is true once, with its words; all rows but the last are full."""
    core = await Core.start(dut)
    for _ in range(runner.turns(runner.parameters()["rounds"])):
        random_rates(core, core.rng)
        random_memory(core)
        await core.rest()
        _random_filter(core)
        pushed, mark = [], fill_with_mark(core)
        random_input(core)
        rows, records = await core.play(work=pusher(core, pushed))
        assert (collections.Counter(record for row in records for record in row)
                == collections.Counter(golden_records(core)))
        assert all(len(row) == core.threads for row in rows[:-1])
        await close_list(core, pushed, mark)


@cocotb.test()
async def words_change(dut):
    """Words change while rows are gathered. An edge is judged by a word that its neighbour had."""
    core = await Core.start(dut)
    rng, few = core.rng, 40
    for _ in range(runner.turns(runner.parameters()["rounds"])):
        random_memory(core)
        await core.rest()
        _use(core, [[(rng.randrange(few), 0)] * rng.randrange(1, core.threads + 1)
                    for _ in range(60)])
        before = [rng.randrange(2) for _ in range(few)]
        _words(core, before)
        _test(core, EdgeTest.EQUAL, 1)
        core.start_range(0, 60)
        changed = set()

        def work(_, changed=changed):
            number = rng.randrange(few)
            changed.add(number)
            core.memory.store_word(_NEIGHBORS + _VALUES + 4 * number, rng.randrange(2))
        _, records = await core.play(work=work)
        got = collections.Counter(record for row in records for record in row)
        for record, times in collections.Counter(core.records(range(60))).items():
            number = (record[1] - _NEIGHBORS) // 4
            assert got[record] <= times
            if number not in changed:
                assert got[record] == times * before[number]
        assert set(got) <= set(core.records(range(60)))


@cocotb.test()
async def launches_while_words_come(dut):
    """Launches while a load of each kind is under way, rows are packed, and at any time."""
    core = await Core.start(dut)
    places = {"VALUES": _NEIGHBORS + _VALUES, "BASES": None, "PACKED": -1}
    for kept, place in places.items():
        _use(core, [[(lane, 1) for lane in range(core.threads)] * 9] * 3, weighted=True)
        _words(core, [2] * core.threads, [0] * 3)
        _test(core, EdgeTest.ABOVE | EdgeTest.BASE | EdgeTest.WEIGHT)
        first = core.graph.ids[0] + _BASES if place is None else place
        core.holds = lambda load, first=first: 0 <= load[0] - first < 1 << 16
        core.start_list([0, 1, 2])
        await tick(dut, 60)
        assert kept == "PACKED" or core._loads
        await core.launch()
        core.holds = lambda load: False
        await tick(dut, 5)
        assert integer(dut.busy) == 0 and integer(dut.access__valid) == 0
    for _ in range(runner.turns(runner.parameters()["resets"])):
        random_memory(core)
        _random_filter(core)
        random_input(core)
        core.ask(0, GatherOp.DEC_ID)
        await tick(dut, core.rng.choice([5, 20, 60, 100]))
        await core.launch()
        _random_filter(core)
        random_input(core)
        _, records = await core.play()
        assert (collections.Counter(record for row in records for record in row)
                == collections.Counter(golden_records(core)))


def _run(simulator, fields, names, module=__name__, seed=1, **amounts):
    fields = {"gather": "graphpeg", "graphpeg_filter": True, **fields}
    runner.run_bench(component(HardwareConfig(**fields)), "graphpeg_filter", module,
                     simulator=simulator, parameters={"config": fields, **amounts}, seed=seed,
                     tests=names)


_DIRECTED = ["relations", "sums_are_bounded", "kept_edges_fill_rows", "nothing_counts",
             "tests_follow", "a_row_takes_a_cycle", "an_edge_takes_a_cycle", "packed_rows_wait",
             "words_come_backwards"]


def test_directed(simulator):
    _run(simulator, {"warps": 2, "threads": 4}, _DIRECTED)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sample(2)
def test_random(simulator, shape, size):
    _run(simulator, {**SHAPES[shape], **SIZES[size]},
         ["filter_against_golden", "words_change", "launches_while_words_come"],
         rounds=12, resets=8)


def test_without_a_test(simulator):
    """Without a test the unit hands out what it does without a filter."""
    _run(simulator, SHAPES["tiny"], ["against_golden", "launches_at_any_time"],
         module="tb.hw.gather.test_graphpeg", rounds=12, resets=8)
