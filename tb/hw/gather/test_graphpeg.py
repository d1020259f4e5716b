"""Tests of GraphPEG: values by hand, timing, and random runs in many shapes against the golden
model.

============================  ====================================================================
rows, records, weights        rows_of_entries, rows_cross_lines, weights_lie_beside,
                              neighbors_follow_bases
end, settings, START          the_end, settings, accesses_name_a_warp, a_pop_waits_for_the_start,
                              starts_follow
inputs                        range_of_vertices, lists_are_refilled, vertices_are_popped
output list                   pushed_vertices, a_list_ends_at_its_limit, rows_wait_for_stores
states of the table           groups_change_state
edge buffer                   buffer_fills, the_last_row_comes_last,
                              busy_while_a_place_is_chosen
answers in any order          answers_come_backwards, groups_change_state
timing, loads under way       an_entry_takes_a_cycle, a_row_takes_a_cycle, a_push_takes_its_lanes,
                              requests_hide_latency
golden model                  against_golden, lists_against_golden
launch, reset                 launches_at_any_time, accesses_end_with_the_launch
wrong parameters              test_wrong_variant
============================  ====================================================================
"""

import collections
import itertools
import random

import cocotb
from cocotb.triggers import FallingEdge, ReadOnly
import pytest

from hw.config import ConfigError, HardwareConfig
from hw.gather.graphpeg.unit import GraphPeg
from hw.gather.graphpeg.accesses import buffer_rows, group_size, groups
from hw.gather.variants import component
from hw.isa import UNMAPPED
from hw.operations import NONE, GatherOp, GatherSetting, InputMode
from tb import runner
from tb.clocking import integer, tick
from tb.hw.gather.graphpeg_driver import COUNT, INPUT, OUTPUT, Core, Graph
from tb.hw.gather.graphpeg_random import (SIZES, close_list, fill_with_mark, golden_records,
                                          pusher, random_graph, random_input, random_memory)
from tb.hw.gather.warps import SHAPES, random_rates


@cocotb.test()
async def rows_of_entries(dut):
    """Rows cross entries, entries without edges give none, and the last row is not full."""
    core = await Core.start(dut)
    core.use(Graph([1, 2, 0, 3, 4, 0]))
    core.start_list([0, 2, 1, 4, 2, 3, 5])
    records = core.records([0, 1, 4, 3])
    assert await core.edges(1) == records[:4]
    assert await core.edges(0) == records[4:8]
    assert await core.edges(1) == records[8:]
    for warp in range(core.warps):
        assert await core.edges(warp) == []


@cocotb.test()
async def rows_cross_lines(dut):
    """Rows of 0 and 1 edges, a line, and one over; the first edges lie anywhere in a line."""
    core = await Core.start(dut)
    lane = core.threads
    core.use(Graph([0, 1, lane, lane + 1, 4 * lane, 4 * lane + 1, 0]))
    for vertex in range(7):
        core.start_list([vertex])
        got = []
        while edges := await core.edges(vertex % core.warps):
            got += edges
        assert got == core.records([vertex])


@cocotb.test()
async def weights_lie_beside(dut):
    core = await Core.start(dut)
    core.use(Graph([5]), weighted=True)
    core.start_list([0])
    records = core.records([0])
    assert records[0][2] is not None
    assert await core.edges(1) == records[:4]
    # The words stay until the next pop, in any order, for the lanes of the mask.
    assert await core.answer(1, GatherOp.WEIGHT, 0b0101) == [records[0][2], records[2][2]]
    assert await core.edges(0) == records[4:]
    assert await core.answer(1, GatherOp.NEIGHBOR, 0b1000) == [records[3][1]]


@cocotb.test()
async def neighbors_follow_bases(dut):
    """A DEC has two answers. Nothing comes between them; an answer to a read comes behind."""
    core = await Core.start(dut)
    core.use(Graph([5]), weighted=True)
    core.start_list([0])
    records = core.records([0])
    core.ask(1, GatherOp.DEC)
    first = await core.response()
    assert list(zip(first.words, first.neighbors)) == [record[:2] for record in records[:4]]
    core.ask(0, GatherOp.DEC)
    core.ask(1, GatherOp.WEIGHT, 0b1111)
    answers = {answer.op: answer for answer in [await core.response(), await core.response()]}
    assert answers[GatherOp.WEIGHT].words == [record[2] for record in records[:4]]
    assert answers[GatherOp.DEC].words[0] == records[4][0]
    assert answers[GatherOp.DEC].neighbors == [records[4][1], NONE, NONE, NONE]
    core.ask(1, GatherOp.DEC)
    assert (await core.response()).neighbors == [NONE] * 4


@cocotb.test()
async def the_end(dut):
    """Without vertices, and without edges, every answer is the end."""
    core = await Core.start(dut)
    core.use(Graph([0] * 20))
    for vertices in ([], [3], range(20)):
        core.start_list(vertices)
        for warp in range(core.warps):
            assert await core.edges(warp) == []


@cocotb.test()
async def settings(dut):
    """A SET without lane 0 or of no setting changes nothing; the same value may come again."""
    core = await Core.start(dut)
    core.use(Graph([9]))
    core.set(GatherSetting.OFFSETS, 0x1234, mask=0b1110)
    core.set(GatherSetting.CLOSE + 1, 0x1234)
    core.start_list([0])
    records = core.records([0])
    assert await core.edges(0) == records[:4]
    for setting in GatherSetting:
        if setting not in (GatherSetting.START, GatherSetting.CLOSE):
            core.set(setting, core.model._settings[setting])
    assert await core.edges(1) == records[4:8]
    assert await core.edges(0) == records[8:]


@cocotb.test()
async def accesses_name_a_warp(dut):
    """An access names the warp of the last SET."""
    core = await Core.start(dut)
    core.use(Graph([9]))
    setters = set()
    for _ in range(8):
        core.named.clear()
        core.start_list([0])
        while await core.edges(0):
            pass
        assert core.named == {core.setter}
        setters.add(core.setter)
    assert len(setters) > 1


@cocotb.test()
async def a_pop_waits_for_the_start(dut):
    """Before START a pop waits; nothing else waits behind it."""
    core = await Core.start(dut)
    core.ask(1, GatherOp.DEC_ID)
    core.use(Graph([2]))
    await core.rest()
    assert not core.responses
    core.start_list([0])
    assert (await core.response()).words[:2] == core.graph.ids * 2


@cocotb.test()
async def starts_follow(dut):
    """A START follows the end of another; the other mode has nothing left."""
    core = await Core.start(dut)
    core.use(Graph([1, 2, 3]))
    core.start_list([1], InputMode.LIST)
    assert await core.answer(0) == []
    assert await core.answer(1, GatherOp.POP_VERT) == [core.graph.ids[1]]
    assert await core.answer(1, GatherOp.POP_VERT) == []
    core.start_range(0, 3)
    assert await core.answer(0, GatherOp.POP_VERT) == []
    assert await core.edges(1) == core.records([0, 1, 2])[:4]
    assert await core.edges(1) == core.records([0, 1, 2])[4:]
    assert await core.edges(1) == []


@cocotb.test()
async def range_of_vertices(dut):
    core = await Core.start(dut)
    degrees = [vertex % 3 for vertex in range(40)]
    core.use(Graph(degrees))
    core.start_range(2, 37)
    got = []
    while edges := await core.edges(0):
        got += edges
    assert got == core.records(range(2, 39))
    assert not any(INPUT <= address < INPUT + (1 << 16) for load in core.loads for address in load)


@cocotb.test()
async def lists_are_refilled(dut):
    """Lists of some lengths that begin anywhere in a line."""
    core = await Core.start(dut)
    core.use(Graph([1] * 70))
    for count, place in ((1, 3), (core.threads, 1), (core.threads + 1, 0), (70, 5)):
        core.start_list(range(count), place=INPUT + 4 * place)
        got = []
        while edges := await core.edges(0):
            got += edges
        assert got == core.records(range(count))


@cocotb.test()
async def vertices_are_popped(dut):
    """In vertex-list mode nothing is gathered; vertices come in their order."""
    core = await Core.start(dut)
    core.use(Graph([3] * 70))
    for start in (core.start_list, lambda vertices, mode: core.start_range(0, len(vertices), mode)):
        for count in (0, 1, core.threads, core.threads + 1, 70):
            start(range(count), InputMode.LIST)
            got = []
            while words := await core.answer(len(got) % core.warps, GatherOp.POP_VERT):
                assert len(words) == min(core.threads, count - len(got))
                got += words
            assert got == core.graph.ids[:count]
    assert all(INPUT <= address < INPUT + (1 << 16) for load in core.loads for address in load)


@cocotb.test()
async def pushed_vertices(dut):
    """Active lanes append in their order; CLOSE stores the rest and the count; a list follows."""
    core = await Core.start(dut)
    core.use(Graph([1]))
    for pushes in ([], [(0b0100, 1)], [(0b1111, 1)], [(0b1111, 1), (0b0001, 9)], [(0b0000, 1)],
                   [(0b1010, 1), (0b0111, 5), (0b1111, 9), (0b1001, 20), (0b0010, 30)]):
        expected = []
        for mask, first in pushes:
            words = [first + lane for lane in range(core.threads)]
            core.push(core.rng.randrange(core.warps), words, mask)
            expected += [word for lane, word in enumerate(words) if mask >> lane & 1]
        core.stores.clear()
        core.set(GatherSetting.CLOSE, core.rng.getrandbits(32))
        await core.rest()
        places = [OUTPUT + 4 * index for index in range(len(expected))]
        assert [core.memory[place] for place in places] == expected
        assert core.memory[COUNT] == len(expected)
        # Full rows were stored before, in one access each; the count comes last.
        assert core.stores[-1] == [COUNT]
        assert len(core.stores) <= 2 + len(expected) // core.threads


@cocotb.test()
async def a_list_ends_at_its_limit(dut):
    """As many vertices as the limit says are stored. One more is a store that fails."""
    core = await Core.start(dut)
    for limit in (0, 3, 4):
        core.stores.clear()
        core.use(Graph([1]))
        core.set(GatherSetting.LIMIT, limit)
        core.push(0, range(1, 1 + limit))
        await core.rest()
        assert all(UNMAPPED not in store for store in core.stores)
        core.push(0, [7, 8, 9])
        core.push(0, [7, 8, 9])
        await core.rest()
        assert core.stores.count([UNMAPPED]) == 1
        core.set(GatherSetting.CLOSE, 0)
        await core.rest()
        assert core.memory[COUNT] == limit
        assert [core.memory[OUTPUT + 4 * index] for index in range(limit)] == [1, 2, 3, 4][:limit]
        await core.launch()


@cocotb.test()
async def rows_wait_for_stores(dut):
    """While no access is taken, two rows of pushed vertices wait in the ring, one row is on offer,
    and one push waits for the ring. Every vertex is stored later, at its place."""
    core = await Core.start(dut)
    core.use(Graph([1]))
    lanes = core.threads
    for full in (True, False):
        core.accesses.stall = 1
        await core.source.drain()
        await tick(dut, 2)
        before, expected = len(core.requests), []
        for number in range(9):
            words = [core.rng.getrandbits(32) for _ in range(lanes)]
            mask = core.all_lanes if full else core.rng.randrange(1, core.all_lanes)
            core.push(number % core.warps, words, mask)
            expected += [word for lane, word in enumerate(words) if mask >> lane & 1]
        await tick(dut, 20 * lanes)
        assert integer(dut.busy) == 1
        if full:
            assert len(core.requests) - before == 4
        core.stores.clear()
        core.accesses.stall = 0
        core.set(GatherSetting.CLOSE, 0)
        await core.rest()
        assert core.memory[COUNT] == len(expected)
        assert [core.memory[OUTPUT + 4 * index] for index in range(len(expected))] == expected
        rows = [[OUTPUT + 4 * index for index in range(begin, min(begin + lanes, len(expected)))]
                for begin in range(0, len(expected), lanes)]
        assert core.stores == [*rows, [COUNT]]


def _part(core):
    """A function that gives the array of a load: INPUT, or OFFSETS, NEIGHBORS, WEIGHTS."""
    graph, settings = core.graph, core.model._settings
    offsets = graph.ids[0] + settings[GatherSetting.OFFSETS] & 0xFFFFFFFF
    edges = graph.rows[graph.ids[0]].start * 4
    ends = {"OFFSETS": offsets, "NEIGHBORS": edges,
            "WEIGHTS": edges + settings[GatherSetting.WEIGHTS] & 0xFFFFFFFF if core.weighted
            else INPUT,
            "INPUT": INPUT}
    return lambda addresses: max(
        (begin, name) for name, begin in ends.items() if addresses[0] >= begin)[1]


@cocotb.test()
async def groups_change_state(dut):
    """A group of the table waits for its offsets (FI), then for the groups whose offsets came
    before (RD), gives out its entries (FE), and only then takes vertices again (IVD)."""
    core = await Core.start(dut)
    size, count, rows = group_size(core.config), groups(core.config), buffer_rows(core.config)
    lanes, vertices = core.threads, size * (count + 2)
    # The edges of a vertex are more rows than the buffer has.
    core.use(Graph([lanes * (rows + 2)] * vertices))
    part, given = _part(core), set()
    assert count == 4 and core.config.gather_requests > count

    def offsets():
        return [load for load in core.loads if part(load) == "OFFSETS"]
    core.holds = lambda load: part(load) == "OFFSETS" and load[0] not in given

    async def gather(group):
        """Take the edges of a group's vertices. They come in the order of the vertices."""
        got = []
        for _ in range(size * (rows + 2)):
            got += await core.edges(core.rng.randrange(core.warps))
        assert got == core.records(range(group * size, (group + 1) * size))
    core.start_range(0, vertices)
    await tick(dut, 100)
    asked = offsets()
    assert core.loads == asked and len(asked) == count       # IVD -> FI, all of them
    given.add(asked[1][0])                                   # group 1: FI -> RD -> FE
    await tick(dut, 100)
    given.add(asked[3][0])                                   # group 3: FI -> RD
    await tick(dut, 100)
    assert len(core.loads) == count + rows and len(offsets()) == count
    await gather(1)                                          # group 1: FE -> IVD; group 3: FE
    await gather(3)
    assert len(offsets()) == count                           # group 0 is filled next, which is FI
    given.add(asked[0][0])
    await tick(dut, 100)
    assert len(offsets()) == count                           # group 0 is FE
    await gather(0)
    await tick(dut, 20)
    assert len(offsets()) == count + 2                       # groups 0 and 1: IVD -> FI
    core.holds = lambda load: False
    got = []
    while edges := await core.edges(0):
        got += edges
    left = [2 * size + i for i in range(size)] + [*range(count * size, vertices)]
    assert collections.Counter(got) == collections.Counter(core.records(left))


@cocotb.test()
async def answers_come_backwards(dut):
    """As many loads as possible are taken, then all are answered, the last one first."""
    core = await Core.start(dut)
    core.choose = lambda due: due[-1]

    async def in_turns():
        while True:
            for core._paused, cycles in ((True, 40), (False, 20)):
                await tick(dut, cycles)
    for weighted in (False, True):
        core.use(Graph([3, 0, 4 * core.threads + 1, 1, 0, 0, core.threads] * 6), weighted)
        vertices = [*range(42)]
        random.Random(1).shuffle(vertices)          # some orders do not use all requests
        core.start_list(vertices)
        turns = cocotb.start_soon(in_turns())
        got = []
        while edges := await core.edges(core.rng.randrange(core.warps)):
            assert not len(got) % core.threads
            got += edges
        turns.cancel()
        core._paused = False
        assert collections.Counter(got) == collections.Counter(core.records(vertices))
    assert core.most == core.config.gather_requests


@cocotb.test()
async def accesses_end_with_the_launch(dut):
    """Launches while a load of each kind is under way, and while an access is on offer."""
    core = await Core.start(dut)
    for kept in ("INPUT", "OFFSETS", "NEIGHBORS", "WEIGHTS", "STORE", None):
        core.use(Graph([core.threads * 20, 1, 5, 0]), weighted=True)
        part = _part(core)
        core.holds = lambda load, kept=kept: part(load) == kept
        core.start_list([0, 1, 2, 3])
        core.ask(0, GatherOp.DEC)
        await tick(dut, 60)
        if kept == "STORE":
            core.accesses.stall = 1
            core.push(1, range(core.threads))
            core.push(1, range(core.threads))
            await tick(dut, 20)
            assert integer(dut.access__valid) == 1
        elif kept:
            assert any(part(load[2]) == kept for load in core._loads)
        await core.launch()
        core.accesses.stall = 0
        core.holds = lambda load: False
        await tick(dut, 5)
        assert integer(dut.busy) == 0 and integer(dut.access__valid) == 0
        core.use(Graph([2, 7, 0, 1]), weighted=True)
        core.start_list([3, 1, 0])
        got = []
        while edges := await core.edges(0):
            got += edges
        assert collections.Counter(got) == collections.Counter(core.records([3, 1, 0]))
        core.push(0, [9])
        core.set(GatherSetting.CLOSE, 0)
        await core.rest()
        assert (core.memory[OUTPUT], core.memory[COUNT]) == (9, 1)


@cocotb.test()
async def buffer_fills(dut):
    """Rows are gathered ahead while there is a place, one for each warp included."""
    core = await Core.start(dut)
    rows = core.config.edge_buffer_rows + core.warps
    core.use(Graph([core.threads] * (2 * rows)))
    core.start_range(0, 2 * rows)
    await core.rest()

    def asked():
        """Rows of edges that were asked for."""
        edges = core.graph.rows[core.graph.ids[0]][0] * 4
        return sum(load[0] >= edges for load in core.loads)
    assert asked() == rows
    # A row that a warp has popped keeps its place until the warp asks again.
    for taken in range(3):
        assert len(await core.edges(0)) == core.threads
        await core.rest()
        assert asked() == rows + taken
    got = 3 * core.threads
    while edges := await core.edges(1):
        got += len(edges)
    assert got == 2 * rows * core.threads


@cocotb.test()
async def busy_while_a_place_is_chosen(dut):
    """A row waits for a place. From the question that returns one to the row's access, the unit is
    busy in every cycle, though nothing is on offer yet."""
    core = await Core.start(dut)
    rows = core.config.edge_buffer_rows + core.warps
    core.use(Graph([core.threads] * (3 * rows)))
    core.start_range(0, 3 * rows)
    await core.rest()
    part = _part(core)
    core.holds = lambda load: part(load) == "NEIGHBORS"
    for number in range(rows):
        await core.edges(number % core.warps)
    await tick(dut, 40)
    core.ask(0, GatherOp.DEC_ID)
    offered = False
    while not offered:                           # the question is accepted in this cycle
        await FallingEdge(dut.clk)
        await ReadOnly()
        assert integer(dut.busy) == 1
        offered = integer(dut.access__valid) == 1
    assert core.waits(0)


@cocotb.test()
async def the_last_row_comes_last(dut):
    """The row that is not full is handed out last, even if its data come first."""
    core = await Core.start(dut, latency=40)
    core.use(Graph([1]))
    for _ in range(20):
        core.use(Graph([4 * core.threads + 1]))
        core.start_list([0])
        assert [len(await core.edges(0)) for _ in range(6)] == [core.threads] * 4 + [1, 0]


@cocotb.test()
async def an_entry_takes_a_cycle(dut):
    """Entries with one edge, or none, take a cycle each, if the table has enough of them."""
    core = await Core.start(dut)
    cycles = {}
    for degree in (0, 1):
        for count in (16, 32):
            core.use(Graph([degree] * 32))
            core.start_range(0, count)
            await core.source.drain()
            begin, before = cocotb.utils.get_sim_time("ns"), len(core.loads)
            while (core._loads or integer(dut.busy) == 1 or not core.data.drained
                   or len(core.loads) == before):
                await tick(dut)
            cycles[degree, count] = (cocotb.utils.get_sim_time("ns") - begin) // 10
            await core.launch()
    most = 18 if core.config.alwt_entries >= 16 and core.config.gather_requests > 1 else 60
    for degree in (0, 1):
        assert cycles[degree, 32] - cycles[degree, 16] <= most, cycles


@cocotb.test()
async def a_row_takes_a_cycle(dut):
    """Warps that wait are answered one a cycle while rows are complete, then by the end."""
    core = await Core.start(dut)
    core.use(Graph([core.threads * core.warps]))
    core.start_list([0])
    await core.rest()
    for warp in range(core.warps):
        core.ask(warp, GatherOp.DEC_ID)
    for _ in range(core.warps):
        await core.response()
    for warp in range(core.warps):
        core.ask(warp, GatherOp.NEIGHBOR)
    for _ in range(core.warps):
        await core.response()
    for events in (core.responses[:core.warps], core.responses[core.warps:]):
        assert [event.cycle - events[0].cycle for event in events] == list(range(core.warps))
    assert core.responses[0].cycle - core.requests[-2 * core.warps].cycle == 2
    assert core.responses[core.warps].cycle - core.requests[-core.warps].cycle == 1


@cocotb.test()
async def a_push_takes_its_lanes(dut):
    """The lanes of a PUSH that are active take a cycle each; another PUSH follows at once."""
    core = await Core.start(dut)
    core.use(Graph([1]))
    await core.source.drain()
    for mask in (0b1111, 0b0101, 0, 0b1000, 0b0001):
        core.push(0, [1, 2, 3, 4], mask)
    await core.source.drain()
    cycles = [event.cycle for event in core.requests[-5:]]
    assert [cycle - cycles[0] for cycle in cycles] == [0, 4, 6, 7, 8]


@cocotb.test()
async def requests_hide_latency(dut):
    """As many loads as the configuration has are under way; the time goes down with them."""
    core = await Core.start(dut, latency=1)
    core.latency = 60
    core.rng.randint = lambda low, high: high
    rows = core.config.edge_buffer_rows
    core.use(Graph([core.threads * rows]))
    core.start_list([0])
    await core.source.drain()
    begin = cocotb.utils.get_sim_time("ns")
    await core.rest()
    cycles = (cocotb.utils.get_sim_time("ns") - begin) // 10
    requests = core.config.gather_requests
    assert core.most == min(requests, rows)
    assert cycles <= 62 * (2 + -(-rows // requests)) + 2 * rows + 20, cycles


@cocotb.test()
async def against_golden(dut):
    """Each edge of the input once, with its words, and rising within a row; all rows but the last
    are full. The list of pushed vertices is exact."""
    core = await Core.start(dut)
    for _ in range(runner.turns(runner.parameters()["rounds"])):
        random_rates(core, core.rng)
        random_memory(core)
        await core.rest()
        random_graph(core)
        vertices, pushed, mark = random_input(core), [], fill_with_mark(core)
        rows, records = await core.play(work=pusher(core, pushed))
        expected = golden_records(core)
        assert expected == core.records(vertices)
        assert (collections.Counter(record for row in records for record in row)
                == collections.Counter(expected))
        assert all(len(row) == core.threads for row in rows[:-1])
        if len({*vertices}) == len(vertices):
            place = {record[:2]: index for index, record in enumerate(expected)}
            for row in records:
                for one, other in itertools.pairwise(row):
                    assert one[0] != other[0] or place[other[:2]] == place[one[:2]] + 1
        await close_list(core, pushed, mark)


@cocotb.test()
async def lists_against_golden(dut):
    """Vertices come once, in their order. Edges may follow in the same launch."""
    core = await Core.start(dut)
    for _ in range(runner.turns(runner.parameters()["rounds"])):
        random_rates(core, core.rng)
        random_memory(core)
        await core.rest()
        random_graph(core)
        vertices, pushed, mark = random_input(core, InputMode.LIST), [], fill_with_mark(core)
        rows, _ = await core.play(GatherOp.POP_VERT, pusher(core, pushed))
        got = [word for row in rows for word in row]
        assert got == [core.graph.ids[vertex] for vertex in vertices]
        while (answer := core.model.pop_vertices(0))[1][0] != NONE:
            row = rows.pop(0)
            assert row == answer[1].tolist()[:len(row)] and int(answer[0].sum()) == len(row)
        assert not rows
        await close_list(core, pushed, mark)


@cocotb.test()
async def launches_at_any_time(dut):
    """After a launch, also with loads under way, the unit behaves like new."""
    core = await Core.start(dut)
    rng = core.rng
    for _ in range(runner.turns(runner.parameters()["resets"])):
        random_memory(core)
        random_graph(core)
        random_input(core)
        for warp in range(rng.randrange(core.warps + 1)):
            core.ask(warp, GatherOp.DEC_ID)
            core.push(warp, range(core.threads))
        if rng.random() < 0.3:
            core.set(GatherSetting.CLOSE, 0)
        await tick(dut, rng.choice([1, 5, 20, 60]))
        await core.launch()
        core.ask(0, GatherOp.DEC_ID)
        await tick(dut, 20)
        assert core.waits(0) and not core.sink.items and integer(dut.access__valid) == 0
        random_graph(core)
        vertices = random_input(core)
        got = []
        while (answer := await core.response()).words[0] != NONE:
            got += [word for word in answer.words if word != NONE]
            core.ask(0, GatherOp.DEC_ID)
        assert collections.Counter(got) == collections.Counter(
            record[0] for record in core.records(vertices))
        core.push(0, [5])
        core.set(GatherSetting.CLOSE, 0)
        await core.rest()
        assert (core.memory[OUTPUT], core.memory[COUNT]) == (5, 1)


def _run(simulator, fields, names, seed=1, **amounts):
    fields = {"gather": "graphpeg", **fields}
    runner.run_bench(component(HardwareConfig(**fields)), "graphpeg", __name__,
                     simulator=simulator, parameters={"config": fields, **amounts}, seed=seed,
                     tests=names)


#: The benches that need a shape of their own.
_DIRECTED = ["rows_of_entries", "rows_cross_lines", "weights_lie_beside", "neighbors_follow_bases",
             "the_end", "settings", "accesses_name_a_warp", "a_pop_waits_for_the_start",
             "starts_follow", "range_of_vertices", "lists_are_refilled", "vertices_are_popped",
             "pushed_vertices", "a_list_ends_at_its_limit", "rows_wait_for_stores",
             "answers_come_backwards", "accesses_end_with_the_launch", "buffer_fills",
             "the_last_row_comes_last", "an_entry_takes_a_cycle", "a_row_takes_a_cycle",
             "a_push_takes_its_lanes", "requests_hide_latency"]

_RANDOM = ["against_golden", "lists_against_golden", "launches_at_any_time"]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.sample(1)
def test_directed(simulator, size):
    _run(simulator, {"warps": 2, "threads": 4, **SIZES[size]}, _DIRECTED)


def test_states(simulator):
    """Four groups, and more loads under way than groups."""
    _run(simulator, {"warps": 2, "threads": 4, "alwt_entries": 8, "edge_buffer_rows": 4},
         ["groups_change_state", "busy_while_a_place_is_chosen"])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sample(2)
def test_random(simulator, shape, size):
    _run(simulator, {**SHAPES[shape], **SIZES[size]}, _RANDOM, rounds=12, resets=8)


def test_wrong_variant():
    with pytest.raises(ConfigError, match="gather = 'fsm': must be 'graphpeg'"):
        GraphPeg(HardwareConfig(gather="fsm"))
