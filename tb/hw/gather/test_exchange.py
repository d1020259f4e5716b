"""Tests of GraphPEG's exchange unit, in a unit whose control processor the bench plays.

============================  ====================================================================
donation                      the_largest_entry_is_halved, entries_of_a_group_are_halved,
                              the_largest_entry_is_found, a_write_of_the_table_is_waited_for
reception                     an_entry_is_received, a_row_that_is_not_full_waits
end                           the_end_waits_to_be_told, starts_follow
REFS                          refs_count_edges
golden model                  exchanges_against_golden
launch, reset                 launches_at_any_time
============================  ====================================================================
"""

import collections
import itertools

import cocotb
import pytest

from hw.config import HardwareConfig
from hw.gather.interface import BalancingControl
from hw.gather.variants import component
from hw.operations import NONE, GatherOp, InputMode
from tb import runner
from tb.clocking import integer, tick
from tb.hw.gather.exchange_driver import ExchangingCore
from tb.hw.gather.graphpeg_driver import Graph
from tb.hw.gather.graphpeg_random import (SIZES, close_list, fill_with_mark, golden_records,
                                          pusher, random_input, random_memory)
from tb.hw.gather.warps import SHAPES, random_degree, random_rates


def _parts(core, entries):
    """Entries as (number of the vertex, first edge, end), edges counted from the vertex's first."""
    found = []
    for entry in entries:
        vertex = core.graph.ids.index(entry["vertex"])
        first, _ = core.rows_of(vertex)
        found.append((vertex, entry["sindex"] - first, entry["eindex"] - first))
    return found


def _random_graph(core):
    """Most vertices have few edges. One may have more than the buffer holds."""
    rng = core.rng
    degrees = [random_degree(rng, core.threads)
               for _ in range(rng.choice([1, 2, core.threads, 3 * core.threads + 1, 40]))]
    most = 2 * core.threads * (core.config.edge_buffer_rows + core.warps)
    degrees[rng.randrange(len(degrees))] = rng.choice([1, most, most])
    core.use(Graph(degrees), rng.random() < 0.5)


async def _popped(core):
    """All records that are handed out until the end."""
    got = []
    while edges := await core.edges(len(got) % core.warps):
        got += edges
    return got


@cocotb.test()
async def the_largest_entry_is_halved(dut):
    """The larger one of the table's largest entry and the present one gives its first half, until
    no entry has two edges. The rest is handed out."""
    core = await ExchangingCore.start(dut)
    rows = core.config.edge_buffer_rows + core.warps
    # The buffer is full, a row is on offer, and entry 2 has 19 edges left.
    core.use(Graph([core.threads * rows, 2, 21, 9]))
    core.start_range(0, 4)
    await core.rest()
    while await core.donation():
        pass
    assert _parts(core, core.pool) == [
        (2, 2, 11), (2, 11, 16), (3, 0, 4), (2, 16, 18), (3, 4, 6), (2, 18, 19), (3, 6, 7),
        (2, 19, 20), (3, 7, 8)]
    given, core.pool[:] = list(core.pool), []
    left = core.records([0, 1, 2, 3])
    for entry in given:
        for edge in range(entry["sindex"], entry["eindex"]):
            left.remove((entry["vertex"], core.graph.neighbor(edge), None))
    assert await _popped(core) == left


@cocotb.test()
async def entries_of_a_group_are_halved(dut):
    """Entries that were taken from a group are not found, those behind them are; the first of
    equals is taken."""
    core = await ExchangingCore.start(dut)
    rows = core.config.edge_buffer_rows + core.warps
    core.use(Graph([core.threads * (rows + 1), 1, 6, 6]))
    core.start_range(0, 4)
    await core.rest()
    for expected in ((2, 0, 3), (3, 0, 3), (2, 3, 4), (3, 3, 4), (2, 4, 5), (3, 4, 5), None):
        entry = await core.donation()
        assert expected == (entry and _parts(core, [entry])[0])
    assert core.nothing == 1
    core.pool.clear()
    assert len(await _popped(core)) == core.threads * (rows + 1) + 3


async def _full(core, place):
    """The buffer is full, a row is on offer, and entries from 2 on fill the table. One of them has
    40 edges, each other one a row."""
    await core.launch()
    degrees = [core.threads] * (4 * core.config.alwt_entries)
    degrees[0] *= core.config.edge_buffer_rows + core.warps
    degrees[place] = 40
    core.use(Graph(degrees))
    core.start_range(0, len(degrees))
    await core.rest()


@cocotb.test()
async def the_largest_entry_is_found(dut):
    """In each place of the table, or in some of a large one."""
    core = await ExchangingCore.start(dut)
    entries = core.config.alwt_entries
    for place in {*range(2, entries + 2, -(-entries // 16)), entries + 1}:
        await _full(core, place)
        assert _parts(core, [await core.donation()]) == [(place, 0, 20)]


@cocotb.test()
async def a_write_of_the_table_is_waited_for(dut):
    """An entry with more edges than the buffer holds can be given, also in a cycle in which others
    come."""
    core = await ExchangingCore.start(dut)
    core.latency = 40
    entries = core.config.alwt_entries
    degree = 2 * core.threads * (core.config.edge_buffer_rows + core.warps)
    asked = []
    for delay in range(10, 40):
        await core.launch()
        core.use(Graph([degree] * entries))
        core.start_range(0, entries)
        await tick(dut, delay)
        there = core.refs() >= degree
        asked.append((there, await core.donation() is not None))
    assert (True, True) in asked and (True, False) not in asked


@cocotb.test()
async def an_entry_is_received(dut):
    """An entry of another core is handed out like one of the input, with its weights."""
    core = await ExchangingCore.start(dut)
    core.use(Graph([3, 0, 9]), weighted=True)
    core.ends = False
    core.start_list([])
    core.ask(1, GatherOp.DEC_ID)
    await core.rest()
    assert core.waits(1) and not core.sink.items
    first, end = core.rows_of(2)
    core.pool.append({"vertex": core.graph.ids[2], "sindex": first + 1, "eindex": end})
    core.receives, core.ends = 1.0, True
    assert (await core.response()).words == [core.graph.ids[2]] * 4
    records = core.records([2])[1:]
    assert await core.answer(1, GatherOp.NEIGHBOR, 0b1111) == [one[1] for one in records[:4]]
    assert await core.answer(1, GatherOp.WEIGHT, 0b1111) == [one[2] for one in records[:4]]
    assert await _popped(core) == records[4:]


@cocotb.test()
async def a_row_that_is_not_full_waits(dut):
    """Edges that come from another core fill the row. The last row leaves when the exchange is
    over."""
    core = await ExchangingCore.start(dut)
    core.use(Graph([1, 9]))
    core.ends = False
    core.start_list([0])
    await core.rest()
    first, end = core.rows_of(1)
    core.pool += [{"vertex": core.graph.ids[1], "sindex": edge, "eindex": edge + 3}
                  for edge in range(first, end, 3)]
    core.receives = 1.0
    got = [await core.edges(0), await core.edges(1)]
    core.ask(0, GatherOp.DEC_ID)
    await core.rest()
    assert not core.pool and core.waits(0) and not core.sink.items
    core.ends = True
    assert len([word for word in (await core.response()).words if word != NONE]) == 2
    got.append(list(zip([core.graph.ids[1]] * 2, await core.answer(0, GatherOp.NEIGHBOR, 0b11),
                        [None] * 2)))
    assert [len(edges) for edges in got] == [4, 4, 2]
    assert sorted(itertools.chain(*got)) == sorted(core.records([0, 1]))
    assert await core.edges(1) == []


@cocotb.test()
async def the_end_waits_to_be_told(dut):
    """A pop of a unit without edges waits until the exchange is over. Then every pop is answered at
    once."""
    core = await ExchangingCore.start(dut)
    core.use(Graph([1]))
    core.ends = False
    core.start_list([])
    core.ask(0, GatherOp.DEC_ID)
    await tick(dut, 50)
    assert core.waits(0) and not core.sink.items
    core.ends = True
    assert (await core.response()).words == [NONE] * 4
    core.ends = False
    assert await core.edges(1) == []


@cocotb.test()
async def starts_follow(dut):
    """Each START opens the unit anew; vertex-list mode ends by itself."""
    core = await ExchangingCore.start(dut)
    core.use(Graph([2, 3]))
    for vertices in ([0], [1, 0], []):
        core.start_list(vertices)
        assert await _popped(core) == core.records(vertices)
    core.ends = False
    core.start_list([1], InputMode.LIST)
    assert await core.answer(0, GatherOp.POP_VERT) == [core.graph.ids[1]]
    assert await core.answer(0, GatherOp.POP_VERT) == []


@cocotb.test()
async def refs_count_edges(dut):
    """REFS has the edges of the table and the buffer, and goes down by what is handed out or
    given."""
    core = await ExchangingCore.start(dut)
    refs = core.refs
    core.use(Graph([7, 0, 400]))
    core.start_list([0, 1, 2])
    await core.rest()
    assert refs() == 407
    await core.edges(0)
    await tick(dut, 2)
    assert refs() == 403
    entry = await core.donation()
    assert refs() == 403 - (entry["eindex"] - entry["sindex"])
    core.receives = 1.0
    await tick(dut, 20)
    pooled = sum(entry["eindex"] - entry["sindex"] for entry in core.pool)
    assert refs() == 403 - pooled > 403 - (entry["eindex"] - entry["sindex"])
    await _popped(core)
    assert refs() == 0


@cocotb.test()
async def exchanges_against_golden(dut):
    """Each edge of the input once, whatever is given and comes back in between. All rows but the
    last are full."""
    core = await ExchangingCore.start(dut)
    for _ in range(runner.parameters()["rounds"]):
        random_rates(core, core.rng)
        random_memory(core)
        core.donates = core.rng.choice([0.0, 0.3, 0.8])
        core.receives = core.rng.choice([0.05, 0.5])
        await core.rest()
        _random_graph(core)
        vertices = random_input(core)
        pushed, mark = [], fill_with_mark(core)
        rows, records = await core.play(work=pusher(core, pushed))
        expected = golden_records(core)
        assert expected == core.records(vertices)
        assert (collections.Counter(record for row in records for record in row)
                == collections.Counter(expected))
        assert all(len(row) == core.threads for row in rows[:-1])
        assert core.refs() == 0
        await close_list(core, pushed, mark)
    assert core.given


@cocotb.test()
async def launches_at_any_time(dut):
    """After a launch in the midst of an exchange the unit behaves like new."""
    core = await ExchangingCore.start(dut)
    for _ in range(runner.turns(runner.parameters()["resets"])):
        core.donates, core.receives = 0.5, 0.5
        random_memory(core)
        _random_graph(core)
        random_input(core)
        for warp in range(core.rng.randrange(core.warps + 1)):
            core.ask(warp, GatherOp.DEC_ID)
        await tick(dut, core.rng.choice([1, 5, 20, 60]))
        await core.launch()
        assert integer(dut.exchange__rbs) == BalancingControl.IDLE.value
        assert (core.refs(), integer(dut.exchange__open)) == (0, 0)
        _random_graph(core)
        vertices = random_input(core)
        got = []
        while words := await core.answer(0):
            got += words
        assert collections.Counter(got) == collections.Counter(
            record[0] for record in core.records(vertices))


def _run(simulator, fields, names, **amounts):
    fields = {"gather": "graphpeg", "cores": 2, "exchange_interval": 64, **fields}
    runner.run_bench(component(HardwareConfig(**fields)), "graphpeg", __name__,
                     simulator=simulator, parameters={"config": fields, **amounts}, tests=names)


_DIRECTED = ["the_largest_entry_is_halved", "entries_of_a_group_are_halved",
             "the_largest_entry_is_found", "a_write_of_the_table_is_waited_for",
             "an_entry_is_received", "a_row_that_is_not_full_waits",
             "the_end_waits_to_be_told", "starts_follow", "refs_count_edges"]

_RANDOM = ["exchanges_against_golden", "launches_at_any_time"]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.sample(1)
def test_directed(simulator, size):
    _run(simulator, {"warps": 2, "threads": 4, **SIZES[size]}, _DIRECTED)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sample(1)
def test_random(simulator, shape, size):
    _run(simulator, {**SHAPES[shape], **SIZES[size]}, _RANDOM, rounds=10, resets=6)
