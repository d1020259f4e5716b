"""Tests of the unit that generates edges: values by hand, timing, and random runs in many shapes
against the golden model and against the promise.

============================  ====================================================================
works, records, settings      records_of_two_rows, weights_lie_beside, settings, no_vertex
SKIP                          skip_ends_the_entry, skipped_edges_are_counted
timing, loads under way       an_entry_takes_a_cycle, requests_hide_latency
golden model                  against_golden
each edge once, at any time   promise_under_races
launch, reset                 launches_at_any_time
wrong parameters              test_wrong_variant
============================  ====================================================================
"""

import itertools

import cocotb
import pytest

from hw.config import ConfigError, HardwareConfig
from hw.gather.eghw.unit import EdgeGenerator
from hw.gather.variants import component
from hw.operations import NONE, GatherSetting
from tb import runner
from tb.clocking import tick
from tb.hw.gather.eghw_driver import Core, Graph
from tb.hw.gather.warps import SHAPES, random_degree, random_distance, random_rates


@cocotb.test()
async def records_of_two_rows(dut):
    """Works cross rows; the last is not full; then no lane has work."""
    core = await Core.start(dut)
    graph = Graph([1, 2, 0, 3, 4])
    core.use(graph)
    first = graph.rows[graph.ids[0]][0]
    edge = [graph.neighbor(first + number) for number in range(10)]
    core.row(0, [0, 2, 1])
    await core.rest()
    core.row(1, [4, None, 3])
    zero, one, _, three, four = graph.ids
    assert await core.answer(1) == (0b1111, [zero, one, one, four], [*edge[:3], edge[6]],
                                    [None] * 4)
    assert await core.answer(0) == (0b1111, [four, four, four, three],
                                    [*edge[7:10], edge[3]], [None] * 4)
    assert await core.answer(0) == (0b0011, [three, three, NONE, NONE], edge[4:6], [None] * 2)
    for warp in range(core.warps):
        assert await core.answer(warp) == (0b1111, [NONE] * 4, [], [])


@cocotb.test()
async def weights_lie_beside(dut):
    core = await Core.start(dut)
    graph = Graph([5])
    core.use(graph, weighted=True)
    edges = graph.rows[graph.ids[0]]
    core.row(1, [0])
    mask, ids, neighbors, weights = await core.answer(1)
    assert (mask, ids) == (0b1111, graph.ids * 4)
    assert neighbors == [graph.neighbor(edge) for edge in edges[:4]]
    assert weights == [graph.weight(edge) for edge in edges[:4]]
    assert (await core.answer(0))[2:] == ([graph.neighbor(edges[4])], [graph.weight(edges[4])])


@cocotb.test()
async def settings(dut):
    """A SET without lane 0 or of no setting changes nothing; the same value may come again."""
    core = await Core.start(dut)
    graph = Graph([8])
    core.use(graph)
    core.set(GatherSetting.RECORDS, 0x1234, mask=0b1110)
    core.set(GatherSetting.RECORDS + 1, 0x1234)
    core.row(0, [0])
    first = await core.answer(0)
    for setting in GatherSetting:
        core.set(setting, core.model._settings[setting])
    assert await core.answer(0) != first
    assert (await core.answer(0))[0] == 0b1111


@cocotb.test()
async def no_vertex(dut):
    """A row without a vertex, and a row beyond the table, give nothing."""
    core = await Core.start(dut)
    core.use(Graph([3]))
    core.row(0, [None] * 4)
    core.row(0, [0], distance=31)
    assert await core.answer(1) == (0b1111, [NONE] * 4, [], [])


@cocotb.test()
async def skip_ends_the_entry(dut):
    """A SKIP ends only the entry being handed out, if a lane in the mask names it."""
    core = await Core.start(dut)
    graph = Graph([9, 9])
    core.use(graph)
    core.row(0, [0, 1])
    zero, one = graph.ids
    assert (await core.answer(0))[1] == [zero] * 4
    core.skip(0, [one, one, zero], 0b011)
    assert (await core.answer(0))[1] == [zero] * 4
    core.skip(1, [one, one, zero], 0b111)
    assert (await core.answer(0))[1] == [one] * 4
    core.skip(1, [zero])
    assert (await core.answer(1))[1] == [one] * 4
    core.skip(1, [one])
    assert (await core.answer(1))[1] == [NONE] * 4


@cocotb.test()
async def skipped_edges_are_counted(dut):
    """A SKIP that comes while a work is filled cuts off only what is left then."""
    core = await Core.start(dut)
    graph = Graph([20, 1])
    core.use(graph)
    core.row(0, [0, 1])
    await core.rest()
    core.ask(0)
    core.ask(1)
    core.skip(0, [graph.ids[0]])
    for _ in range(2):
        assert (await core.response())[2] == [graph.ids[0]] * 4
    assert (await core.answer(0))[1] == [graph.ids[1], NONE, NONE, NONE]
    assert core.skipped == core.model.skipped == 12


@cocotb.test()
async def an_entry_takes_a_cycle(dut):
    """The latencies that follow from the docstring, with data a cycle after their load."""
    core = await Core.start(dut)
    core.use(Graph([4, 4, 4, 4, 1, 1, 1, 1]))
    core.row(0, [0, 1, 2, 3])
    await core.rest()
    core.row(0, [4, 5, 6, 7])
    await core.rest()
    cycles = []
    for warp in (0, 1, 0, 1, 0):
        await core.answer(warp)
        cycles.append(core.responses[-1].cycle - core.requests[-1].cycle)
    assert cycles[:4] == [cycles[0]] * 4
    assert cycles[4] == cycles[0] + 3


async def _works(core, count):
    """Cycles that all warps take for some works."""
    begin = len(core.responses)
    for warp in range(core.warps):
        core.ask(warp)
    for number in range(count):
        warp, *_ = await core.response()
        if number < count - core.warps:
            core.ask(warp)
    cycles = [event.cycle for event in core.responses[begin:]]
    return cycles[-1] - cycles[0]


@cocotb.test()
async def requests_hide_latency(dut):
    """Loads of several warps are under way together, up to the configuration's number."""
    core = await Core.start(dut, latency=40)
    core.use(Graph([4 * 60]))
    core.row(0, [0])
    await core.rest()
    core.most = 0
    cycles = await _works(core, 40)
    runs = min(core.warps, core.config.eghw_requests)
    assert core.most == runs
    assert 40 * 20 / runs / 2 < cycles < 40 * 60 / runs, cycles


async def _random_rows(core, weighted):
    """A new graph, and some rows of its vertices; the unit is at rest."""
    rng = core.rng
    graph = Graph([random_degree(rng, core.threads) for _ in range(rng.randrange(1, 20))])
    await core.rest()
    core.use(graph, weighted)
    for _ in range(rng.randrange(2 * core.warps + 1)):
        await core.rest()
        core.row(rng.randrange(core.warps),
                 [rng.choice([None, *range(len(graph.ids))]) for _ in range(core.threads)],
                 core.all_lanes if rng.random() < 0.5 else rng.randrange(1, core.all_lanes + 1),
                 random_distance(rng, core.model.rows))
    return graph


def _random_memory(core):
    core.latency = core.rng.choice([1, 3, 30])
    core.accesses.stall = core.rng.choice([0.0, 0.0, 0.5])
    core.data.idle = core.rng.choice([0.0, 0.0, 0.5])


@cocotb.test()
async def against_golden(dut):
    """Rounds of registration and distribution; answers and records are compared with the model."""
    core = await Core.start(dut)
    rng = core.rng
    for _ in range(runner.turns(runner.parameters()["rounds"])):
        random_rates(core, rng)
        _random_memory(core)
        graph = await _random_rows(core, rng.random() < 0.5)
        empty, until = 0, rng.choice([1, core.warps])
        while empty < until:
            idle = core.idle_warps()
            for warp in rng.sample(idle, rng.randrange(len(idle) + 1)):
                core.ask(warp)
            if core.expected:
                _, _, ids, _ = await core.response()
                empty += ids[0] == NONE
            elif rng.random() < 0.2:
                await core.rest()
                core.skip(rng.randrange(core.warps),
                          [rng.choice(graph.ids) for _ in range(core.threads)],
                          rng.getrandbits(core.threads))
        while core.expected:
            await core.response()
    assert core.skipped == core.model.skipped


@cocotb.test()
async def promise_under_races(dut):
    """Rows and skips at any time: each edge of a registered vertex once, in order, none lost.

    Each vertex is registered once in a round, and each warp asks again once it has its answer, so
    that a warp's works come in order.
    """
    core = await Core.start(dut, golden=False)
    rng = core.rng
    for _ in range(runner.turns(runner.parameters()["rounds"])):
        random_rates(core, rng)
        _random_memory(core)
        graph = Graph([random_degree(rng, core.threads)
                       for _ in range(core.model.rows * core.threads)])
        await core.rest()
        core.use(graph, rng.random() < 0.5)
        vertices = iter(rng.sample(range(len(graph.ids)), len(graph.ids)))
        rows = rng.sample(range(core.model.rows), core.model.rows)
        registered, given, skipped, ended = set(), {}, set(), 0
        before = core.skipped
        late = {}                            # warp -> whether it asked behind the last row
        while rows or ended < core.warps:
            if rows and rng.random() < 0.3:
                lanes = [rng.choice([None, vertex])
                         for vertex in itertools.islice(vertices, core.threads)]
                mask = rng.randrange(1, core.all_lanes + 1)
                core.row(rows.pop(), lanes, mask)
                registered |= {graph.ids[vertex] for lane, vertex in enumerate(lanes)
                               if vertex is not None and mask >> lane & 1}
            for warp in core.idle_warps():
                if rng.random() < 0.7:
                    late[warp] = not rows
                    core.ask(warp)
            if not core.expected:
                await tick(dut)
                continue
            warp, mask, ids, records = await core.response()
            works = ids[:len(records)]
            assert ids[len(records):] == [NONE] * (core.threads - len(records))
            assert mask == ((1 << len(works)) - 1 or core.all_lanes)
            ended += late[warp] and not works
            for vertex, record in zip(works, records):
                given.setdefault(vertex, []).append(record)
            if works and rng.random() < 0.15:
                skipped.add(works[-1])
                core.skip(warp, [works[-1]] * core.threads)
        while core.expected:
            _, _, ids, records = await core.response()
            for vertex, record in zip(ids, records):
                given.setdefault(vertex, []).append(record)
        assert set(given) <= registered
        missing = 0
        for vertex in registered:
            edges = [(graph.neighbor(edge), graph.weight(edge) if core.weighted else None)
                     for edge in graph.rows[vertex]]
            got = given.get(vertex, [])
            assert sorted(got, key=edges.index) == edges[:len(got)]
            assert len(got) == len(edges) or (vertex in skipped and got)
            missing += len(edges) - len(got)
        # Each edge that was registered was handed out or skipped.
        await core.rest()
        assert core.skipped - before == missing


@cocotb.test()
async def launches_at_any_time(dut):
    """After a launch, with no access under way, the unit behaves like new."""
    core = await Core.start(dut)
    rng = core.rng
    for _ in range(runner.turns(runner.parameters()["resets"])):
        _random_memory(core)
        await _random_rows(core, rng.random() < 0.5)
        for warp in core.idle_warps()[:rng.randrange(core.warps + 1)]:
            core.ask(warp)
        for _ in range(rng.randrange(len(core.expected) + 1)):
            await core.response()
        await core.rest()
        await core.launch()
        mask, ids, *_ = await core.answer(rng.randrange(core.warps))
        assert mask == core.all_lanes and set(ids) == {NONE}


def _run(simulator, fields, names, seed=1, **amounts):
    fields = {"gather": "eghw", **fields}
    runner.run_bench(component(HardwareConfig(**fields)), "eghw", __name__,
                     simulator=simulator, parameters={"config": fields, **amounts}, seed=seed,
                     tests=names)


#: The benches that need a shape of their own.
_DIRECTED = ["records_of_two_rows", "weights_lie_beside", "settings", "no_vertex",
             "skip_ends_the_entry", "skipped_edges_are_counted", "an_entry_takes_a_cycle",
             "requests_hide_latency"]

_RANDOM = ["against_golden", "promise_under_races", "launches_at_any_time"]


@pytest.mark.parametrize("requests", [1, 2, 16])
@pytest.mark.sample(2)
def test_directed(simulator, requests):
    _run(simulator, {"warps": 2, "threads": 4, "eghw_requests": requests}, _DIRECTED)


@pytest.mark.parametrize("requests", [1, 2, 16])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sample(2)
def test_random(simulator, shape, requests):
    _run(simulator, {**SHAPES[shape], "eghw_requests": requests}, _RANDOM, rounds=12,
         resets=8)


def test_wrong_variant():
    with pytest.raises(ConfigError, match="gather = 'fsm': must be 'eghw'"):
        EdgeGenerator(HardwareConfig(gather="fsm"))
