"""Programs with GraphPEG: order of accesses, errors of accesses, counters.

================================  ================================================================
edges, lists, two launches        test_edges_of_a_list, test_filter_then_gather
order with the core's accesses    test_the_list_is_seen
errors                            test_an_access_fails, test_an_edge_fails, test_a_long_list_fails,
                                  test_a_list_outside_memory, test_a_start_without_bases,
                                  test_an_error_of_one_of_two_cores
the end of a launch               test_a_launch_ends_with_edges_left
an error with loads under way     test_an_error_of_one_of_two_cores
counters                          test_accesses_are_not_instructions
lockstep                          test_lockstep, test_lockstep_notices
filter of edges                   test_edges_that_count, test_a_word_fails, test_sums_are_bounded,
                                  test_lockstep_of_tests, test_lockstep_notices_tests
================================  ================================================================
"""

import numpy as np
import pytest

from checks.campaign import functional, lockstep
from checks.campaign.machines import CONFIGS, Launch, machine, run, simulate, verify
from hw.isa import UNMAPPED, Cause, Csr, MemoryMap
from hw.operations import EdgeTest, GatherSetting, InputMode
from sim.dram import DramConfig
from sim.native import NativeMachine
from sw.golden.gather.graphpeg import GraphpegFollower
from sw.golden.lockstep import Difference
from sw.compile.asm.assembler import Assembler


GLOBAL = MemoryMap.GLOBAL
CONFIG = CONFIGS["graphpeg"]
_TRACED = CONFIG.replace(trace=True)

#: Words of memory: offsets of 15 vertices, whose degrees are 0, 1, 2 ...; the total; the count; the
#: input list; the output list; the edges, and their weights.
_TOTAL, _COUNT, _INPUT, _OUTPUT, _EDGES, _WEIGHTS = 32, 33, 40, 64, 256, 512
_VERTICES, _NUM_EDGES = 15, 15 * 14 // 2

#: The address behind memory.
_END = GLOBAL + CONFIG.memory_bytes


def _word(place):
    """The address of a word."""
    return GLOBAL + 4 * place


def _memory():
    memory = np.arange(1024, dtype=np.uint32) * 1000
    memory[:_VERTICES + 1] = GLOBAL // 4 + _EDGES + np.cumsum([0, *range(_VERTICES)])
    memory[_INPUT:_INPUT + _VERTICES] = _word(np.arange(_VERTICES)[::-1])
    memory[_OUTPUT:_OUTPUT + 128] = 0
    return memory


class _Program(Assembler):
    """A program whose warp 0 stores settings. All warps take edges until none is left."""

    def __init__(self):
        super().__init__()
        self.warp, self.word, self.base, self.value, self.total = self.regs(
            "warp", "word", "base", "value", "total")
        self.csrr(self.warp, Csr.WARP_ID)
        self.li(self.total, _word(_TOTAL))

    def settings(self, start=_VERTICES, loops=False, **settings):
        """Warp 0 starts the unit, and then goes on or ``loops`` for ever."""
        words = {GatherSetting.OFFSETS: 0, GatherSetting.WEIGHTS: 0,
                 GatherSetting.INPUT: _word(_INPUT), GatherSetting.OUTPUT: _word(_OUTPUT),
                 GatherSetting.LIMIT: 128, GatherSetting.COUNT: _word(_COUNT)}
        words |= {GatherSetting[name]: value for name, value in settings.items()}
        started = self.label("started")
        self.bnez(self.warp, started)
        for setting, value in {**words, GatherSetting.START: start}.items():
            self.li(self.word, value)
            self.gather_set(self.word, setting)
        if loops:
            wait = self.place("wait")
            self.j(wait)
        self.place(started)

    def meet(self):
        self.li(self.word, CONFIG.warps)
        self.bar(self.zero, self.word)

    def edges(self, weighted=False, pushes=False):
        """Add each neighbour, plus its weight, times its base to a word of memory."""
        top, end = self.place("edges"), self.label("no_edge")
        self.pop_edge(self.base)
        self.addi(self.word, self.base, 1)
        self.beqz(self.word, end)
        self.edge_neighbor(self.value)
        if weighted:
            self.edge_weight(self.word)
            self.add(self.value, self.value, self.word)
        if pushes:
            # All pushed words are equal, so that the list does not depend on the order.
            self.li(self.word, 77)
            self.push_vert(self.word)
        self.mul(self.value, self.value, self.base)
        self.amoadd_w(self.zero, self.value, self.total)
        self.j(top)
        self.place(end)

    def close(self):
        """End the output list, behind all pushes."""
        done = self.label("closed")
        self.meet()
        self.bnez(self.warp, done)
        self.gather_set(self.word, GatherSetting.CLOSE)
        self.place(done)

    def case(self):
        self.end_warp()
        return Launch(self.finish().words, memory=_memory())


def _sum(weighted=False):
    """The total to which the edges of all vertices add up."""
    memory, total = _memory(), 0
    for vertex in range(_VERTICES):
        for edge in range(memory[vertex], memory[vertex + 1]):
            place = edge - GLOBAL // 4
            value = int(memory[place]) + weighted * int(memory[place + _WEIGHTS - _EDGES])
            total += value * int(_word(vertex))
    return total


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("start", [_VERTICES, _VERTICES | InputMode.RANGE])
def test_edges_of_a_list(start, weighted):
    program = _Program()
    program.settings(start, INPUT=_word(0 if start & InputMode.RANGE else _INPUT),
                     WEIGHTS=weighted * 4 * (_WEIGHTS - _EDGES))
    program.edges(weighted, pushes=True)
    program.close()
    got = verify(machine("graphpeg"), program.case())
    assert int(got.memory[_TOTAL]) == int(_memory()[_TOTAL]) + _sum(weighted) & 0xFFFF_FFFF
    assert got.memory[_COUNT] == _NUM_EDGES
    assert (got.memory[_OUTPUT:_OUTPUT + 128] == 77).sum() == _NUM_EDGES
    assert not got.memory[_OUTPUT + _NUM_EDGES]


def test_filter_then_gather():
    """Vertices are popped and some pushed; the list that comes of it is the next input."""
    program = _Program()
    program.settings(_VERTICES | InputMode.LIST)
    top, end = program.place("vertices"), program.label("no_vertex")
    program.pop_vert(program.base)
    program.addi(program.word, program.base, 1)
    program.beqz(program.word, end)
    program.push_vert(program.base)
    program.j(top)
    program.place(end)
    program.close()
    program.meet()
    # Warp 0 waits until the count is there.
    ready, wait = program.label("ready"), program.label("wait")
    program.bnez(program.warp, ready)
    program.place(wait)
    program.lw(program.word, program.total, 4 * (_COUNT - _TOTAL))
    program.addi(program.value, program.word, -_VERTICES)
    program.bnez(program.value, wait)
    program.li(program.value, _word(_OUTPUT))
    program.gather_set(program.value, GatherSetting.INPUT)
    program.gather_set(program.word, GatherSetting.START)
    program.place(ready)
    program.meet()
    program.edges()
    case = program.case()
    got = run(machine("graphpeg"), case)
    assert got.failure is None
    assert int(got.memory[_TOTAL]) == int(_memory()[_TOTAL]) + _sum() & 0xFFFF_FFFF
    assert sorted(got.memory[_OUTPUT:_OUTPUT + _VERTICES]) == list(_word(np.arange(_VERTICES)))


def test_the_list_is_seen():
    """The unit reads the list that warp 0 stored last before START, though its stores and the other
    warps' loads keep the load/store unit busy."""
    program = _Program()
    other, ahead = program.label("other"), program.label("ahead")
    program.li(program.base, _word(_INPUT))
    program.bnez(program.warp, other)
    for vertex in range(_VERTICES):
        program.li(program.word, _word(0))
        program.sw(program.word, program.base, 4 * vertex)
        program.li(program.word, _word(vertex))
        program.sw(program.word, program.base, 4 * vertex)
    program.j(ahead)
    program.place(other)
    for place in range(24):
        program.lw(program.word, program.base, 64 * (place % 8))
    program.place(ahead)
    program.settings()
    program.edges()
    case = program.case()
    got = verify(machine("graphpeg"), case)
    assert int(got.memory[_TOTAL]) == int(_memory()[_TOTAL]) + _sum() & 0xFFFF_FFFF


@pytest.mark.parametrize("settings, cause, address", [
    ({"INPUT": 0}, Cause.LOAD_ACCESS, 0),
    ({"INPUT": _word(_INPUT) + 2}, Cause.LOAD_MISALIGNED, _word(_INPUT) + 2),
    ({"OFFSETS": 2}, Cause.LOAD_MISALIGNED, _word(_VERTICES - 1) + 2),
    ({"OFFSETS": 1 << 31}, Cause.LOAD_ACCESS, _word(_VERTICES - 1) + (1 << 31) & 0xFFFF_FFFF),
])
def test_an_access_fails(settings, cause, address):
    """The error has the address, the lane, and the SET of START. The next launch works."""
    program = _Program()
    done = program.label("done")
    program.bnez(program.warp, done)
    program.settings(loops=True, **settings)
    program.place(done)
    got = verify(machine("graphpeg"), program.case())
    assert (got.failure.cause, got.failure.warp, got.failure.lane) == (cause, 0, 0)
    assert got.failure.address == address
    test_edges_of_a_list(_VERTICES, False)


@pytest.mark.parametrize("settings, cause, address", [
    ({"WEIGHTS": 1 << 30}, Cause.LOAD_ACCESS, 4),
    ({"WEIGHTS": 2}, Cause.LOAD_MISALIGNED, 4),
])
def test_an_edge_fails(settings, cause, address):
    """An edge is read ahead: the error has the warp that stored the settings."""
    program = _Program()
    program.settings(loops=True, **settings)
    program.edges()
    got = run(machine("graphpeg"), program.case())
    edge = _memory()[_VERTICES - 1] * 4
    assert (got.failure.cause, got.failure.warp) == (cause, 0)
    assert got.failure.address == int(edge) + settings["WEIGHTS"] & 0xFFFF_FFFF
    test_edges_of_a_list(_VERTICES, False)


@pytest.mark.parametrize("limit, output, address", [
    (_NUM_EDGES - 1, _word(_OUTPUT), UNMAPPED), (0, _word(_OUTPUT), UNMAPPED), (128, 0, 0)])
def test_a_long_list_fails(limit, output, address):
    """A list beyond its limit, or nowhere, is an error and not a loss."""
    program = _Program()
    program.settings(LIMIT=limit, OUTPUT=output)
    program.edges(pushes=True)
    program.close()
    case = program.case()
    got, expected = run(machine("graphpeg"), case), simulate(CONFIG, case)
    for outcome in (got, expected):
        assert outcome.failure.cause == Cause.STORE_ACCESS
        assert outcome.failure.address == address
    assert got.failure.warp == 0


@pytest.mark.parametrize("settings, cause, address, lane", [
    ({"INPUT": _END - 8}, Cause.LOAD_ACCESS, _END, 2),
    ({"INPUT": _END}, Cause.LOAD_ACCESS, _END, 0),
    ({"OUTPUT": _END}, Cause.STORE_ACCESS, _END, 0),
    ({"COUNT": _END}, Cause.STORE_ACCESS, _END, 0),
    ({"COUNT": 0}, Cause.STORE_ACCESS, 0, 0),
])
def test_a_list_outside_memory(settings, cause, address, lane):
    """A list, or its number of vertices, that is not in memory, or not all of it."""
    program = _Program()
    program.settings(**settings)
    program.edges(pushes=True)
    program.close()
    program.j(program.place("wait"))
    failure = run(machine("graphpeg"), program.case()).failure
    assert (failure.cause, failure.address) == (cause, address)
    assert (failure.core, failure.warp, failure.lane) == (0, 0, lane)
    test_edges_of_a_list(_VERTICES, False)


@pytest.mark.parametrize("settings, start, address", [
    ({}, _VERTICES, 0),
    ({}, _VERTICES | InputMode.RANGE, 0),
    # Without OFFSETS the words of the vertices are taken for offsets: 700,000, 701,000 ...
    ({"INPUT": _word(700)}, 1 | InputMode.RANGE, 4 * 700_000),
])
def test_a_start_without_bases(settings, start, address):
    """Settings that were not stored are 0, and there is no memory at 0."""
    program = _Program()
    started = program.label("started")
    program.bnez(program.warp, started)
    for setting, value in {**settings, "START": start}.items():
        program.li(program.word, value)
        program.gather_set(program.word, GatherSetting[setting])
    program.place(started)
    program.edges()
    failure = run(machine("graphpeg"), program.case()).failure
    assert (failure.cause, failure.address) == (Cause.LOAD_ACCESS, address)
    assert (failure.core, failure.warp, failure.lane) == (0, 0, 0)
    test_edges_of_a_list(_VERTICES, False)


def test_an_error_of_one_of_two_cores():
    """Core 1 fails, and stops core 0, whose unit has loads under way. The error has the number of
    the core. The next launch begins anew on both."""
    config = CONFIG.replace(name="graphpeg2", cores=2, l2_banks=2, imem_bytes=1 << 15)
    device = NativeMachine(config, DramConfig(latency=60, queue=16, bytes_per_cycle=32))
    wrong = _Program()
    wrong.csrr(wrong.base, Csr.CORE_ID)
    other = wrong.label("core_0")
    wrong.beqz(wrong.base, other)
    wrong.settings(INPUT=0, loops=True)
    wrong.place(other)
    wrong.settings()
    wrong.edges()
    right = _Program()
    right.settings()
    right.edges()
    for _ in range(3):
        failure = run(device, wrong.case()).failure
        assert (failure.cause, failure.address) == (Cause.LOAD_ACCESS, 0)
        assert (failure.core, failure.warp) == (1, 0)
        got = run(device, right.case())
        assert got.failure is None
        assert int(got.memory[_TOTAL]) == int(_memory()[_TOTAL]) + 2 * _sum() & 0xFFFF_FFFF


def test_a_launch_ends_with_edges_left():
    """Warps that end leave the unit with loads under way. The next launch begins anew."""
    program = _Program()
    program.settings()
    program.pop_edge(program.base)
    case = program.case()
    for _ in range(3):
        assert verify(machine("graphpeg"), case).failure is None
        test_edges_of_a_list(_VERTICES, True)


def test_accesses_are_not_instructions():
    """The unit's accesses count as passes of the L1, not as instructions."""
    program = _Program()
    program.settings()
    program.edges()
    counters = run(machine("graphpeg"), program.case()).counters
    rows = -(-_NUM_EDGES // CONFIG.threads)
    assert counters["weaver_decodes"] == rows + CONFIG.warps
    assert counters["memory_instructions"] == rows                  # the atomics
    # Its loads: the list, offsets for each two vertices, and a row of edges each, in some lines.
    groups, lists = -(-_VERTICES // (CONFIG.threads // 2)), -(-_VERTICES // CONFIG.threads)
    assert counters["l1_loads"] >= lists + groups + rows
    assert counters["local_accesses"] == 0


def _traced():
    """A program that uses all of the unit."""
    program = _Program()
    program.settings(WEIGHTS=4 * (_WEIGHTS - _EDGES))
    program.edges(weighted=True, pushes=True)
    program.close()
    return program.case()


def test_lockstep():
    device = lockstep.machine(_TRACED, lockstep.memory_of(_TRACED, 0))
    done = lockstep.compare(device, [_traced()])
    assert done.instructions > 100 and done.taken > 0


def test_lockstep_notices(monkeypatch):
    """A neighbour of another edge differs."""
    load = GraphpegFollower._load
    monkeypatch.setattr(GraphpegFollower, "_load", lambda self, edge: load(self, edge ^ 1))
    device = lockstep.machine(_TRACED, lockstep.memory_of(_TRACED, 0))
    with pytest.raises(Difference, match="no such edge"):
        lockstep.compare(device, [_traced()])


# The filter of edges

#: Settings of a test: the word 0x400 bytes behind a neighbour against that of the base vertex,
#: which is its offset, or against a bound.
_FILTERED = _TRACED.replace(name="graphpeg_filter", graphpeg_filter=True, imem_bytes=1 << 14)
_NEAR = GLOBAL + 4 * 600


def _tested(test, **settings):
    """A program whose edges are tested, and how often each edge is to be handed out. The neighbours
    are words of memory from 600 on, in any order."""
    program, memory = _Program(), _memory()
    numbers = np.arange(_NUM_EDGES) * 37 % 64
    memory[_EDGES:_EDGES + _NUM_EDGES] = _NEAR + 4 * numbers
    memory[_WEIGHTS:_WEIGHTS + _NUM_EDGES] = np.arange(_NUM_EDGES) % 5
    memory[664:728] = memory[5] + np.arange(64)
    settings = {"WEIGHTS": 4 * (_WEIGHTS - _EDGES), "VALUES": 256, "BASES": 0,
                "BOUND": int(memory[5]) + 20, "TEST": int(test)} | settings
    program.settings(**settings)
    program.edges(weighted=True, pushes=True)
    program.close()
    case = program.case()
    case.memory[:] = memory
    total = count = 0
    for vertex in range(_VERTICES):
        for edge in range(memory[vertex], memory[vertex + 1]):
            place = edge - GLOBAL // 4
            weight = int(memory[place + _WEIGHTS - _EDGES])
            word = int(memory[664 + numbers[place - _EDGES]])
            other = int(memory[vertex]) if test & EdgeTest.BASE else settings["BOUND"]
            other += weight * bool(test & EdgeTest.WEIGHT)
            if ((test & EdgeTest.ABOVE and word > other) or (test & EdgeTest.BELOW and word < other)
                    or (test & EdgeTest.EQUAL and word == other)):
                total += (int(memory[place]) + weight) * int(_word(vertex))
                count += 1
    return case, int(memory[_TOTAL]) + total & 0xFFFF_FFFF, count


def _functional(case):
    return functional.outcome(functional.functional_machine(_FILTERED), case)


@pytest.mark.parametrize("test", [
    EdgeTest.ABOVE, EdgeTest.BELOW | EdgeTest.EQUAL, EdgeTest.ABOVE | EdgeTest.BASE,
    EdgeTest.BELOW | EdgeTest.BASE | EdgeTest.WEIGHT])
def test_edges_that_count(test):
    """Only edges whose test is true are handed out, on the RTL and on the simulators."""
    case, total, count = _tested(test)
    assert 0 < count < _NUM_EDGES
    for got in (verify(NativeMachine(_FILTERED), case), _functional(case)):
        assert (int(got.memory[_TOTAL]), int(got.memory[_COUNT])) == (total, count)


@pytest.mark.parametrize("settings, cause, address", [
    ({"VALUES": 1 << 30}, Cause.LOAD_ACCESS, None), ({"VALUES": 257}, Cause.LOAD_MISALIGNED, None),
    ({"BASES": 1 << 30}, Cause.LOAD_ACCESS, _word(_VERTICES - 1) + (1 << 30)),
    ({"BASES": 2}, Cause.LOAD_MISALIGNED, _word(_VERTICES - 1) + 2)])
def test_a_word_fails(settings, cause, address):
    """An array that is not in memory is an error of the warp that stored the settings."""
    case, _, _ = _tested(EdgeTest.ABOVE | EdgeTest.BASE, **settings)
    got = run(NativeMachine(_FILTERED), case)
    assert (got.failure.cause, got.failure.core, got.failure.warp) == (cause, 0, 0)
    first = int(case.memory[_EDGES + _NUM_EDGES - 14])          # that of the list's first vertex
    assert got.failure.address == (first + settings["VALUES"] if address is None else address)


def test_sums_are_bounded():
    """A sum beyond 32 bits is all ones, so words are below it or equal."""
    case, *_ = _tested(EdgeTest.BELOW | EdgeTest.WEIGHT, BOUND=0xFFFFFFFE)
    for got in (verify(NativeMachine(_FILTERED), case), _functional(case)):
        assert got.memory[_COUNT] == _NUM_EDGES


def test_lockstep_of_tests():
    device = lockstep.machine(_FILTERED, lockstep.memory_of(_FILTERED, 0))
    cases = [_tested(test)[0] for test in (
        EdgeTest.ABOVE | EdgeTest.BASE | EdgeTest.WEIGHT, EdgeTest.EQUAL, EdgeTest(0))]
    assert lockstep.compare(device, cases).taken > 0


def test_lockstep_notices_tests(monkeypatch):
    """Edges that must not be dropped, and others that must, differ."""
    counts = GraphpegFollower._counts_by
    for wrong in (lambda *args: True, lambda *args: not counts(*args)):
        monkeypatch.setattr(GraphpegFollower, "_counts_by", wrong)
        device = lockstep.machine(_FILTERED, lockstep.memory_of(_FILTERED, 0))
        with pytest.raises(Difference, match="lanes without an edge"):
            lockstep.compare(device, [_tested(EdgeTest.ABOVE | EdgeTest.BASE)[0]])
