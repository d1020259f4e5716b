"""Programs on several cores whose units exchange edges (GraphPEG).

=========================  =======================================================================
results                    test_algorithms, test_dealt_lists, test_fused_loops
edges of one core          test_the_edges_of_one_core
cores that end, errors     test_a_core_without_warps, test_a_core_whose_warps_end_behind_start,
                           test_an_error_stops_all_cores
counters                   test_counters, test_no_exchange
=========================  =======================================================================
"""

import functools

import numpy as np
import pytest

from checks.campaign.machines import CONFIGS, Launch, run
from hw.isa import Cause, Csr, MemoryMap
from hw.operations import GatherSetting
from sim.native import NativeMachine
from sw.graph import load
from sw.compile.asm.assembler import Assembler
from sw.device import Device


GLOBAL = MemoryMap.GLOBAL

#: Words of memory: offsets of the vertices; the total; the input list; the edges.
_TOTAL, _INPUT, _EDGES = 200, 300, 512
_DEGREES = [3, 0, 900, 1, 700, 5]


def _config(cores):
    """Units of an odd number of cores can test edges, also those of another core."""
    return CONFIGS["graphpeg"].replace(
        name=f"graphpeg-{cores}", cores=cores, l2_banks=2, imem_bytes=1 << 15,
        exchange_interval=64, exchange_threshold=128, graphpeg_filter=cores % 2 == 1)


@functools.lru_cache(maxsize=4)
def _device(cores):
    return Device.simulate(_config(cores))


@functools.lru_cache(maxsize=2)
def _machine(cores):
    return NativeMachine(_config(cores))


def _graph(name):
    return load(name).weighted(40, 7)


GRAPHS = {"rmat": "rmat:scale=8,degree=16,seed=1", "road": "road:side=12,seed=1",
          "powerlaw": "powerlaw:vertices=300,edges=4000,seed=2"}

ALGORITHMS = {"bfs": {"source": 0}, "sssp": {"source": 0}, "cc": {},
              "pagerank": {"iterations": 2}}


@pytest.mark.parametrize("cores", [3, *(pytest.param(cores, marks=pytest.mark.full)
                                        for cores in (2, 4, 6))])
@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(1)
def test_algorithms(algorithm, direction, cores):
    """Results are bit-identical to the reference, and edges are exchanged."""
    entries = 0
    for name, text in GRAPHS.items():
        for schedule in ("graphpeg", "graphpeg:works=3")[:1 + (name == "rmat")]:
            result = _device(cores).run(algorithm, _graph(text), schedule=schedule,
                                        direction=direction, **ALGORITHMS[algorithm])
            assert result.verified, (name, schedule)
            entries += result.counters["exchange_entries"]
    # The slices of sweeps are equal, so they may need no exchange.
    assert entries or direction == "pull" or algorithm in ("cc", "pagerank")


@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
@pytest.mark.sample(1)
def test_dealt_lists(algorithm):
    """All cores start equally often, also where a part of the lists is empty."""
    for text in GRAPHS.values():
        for schedule, frontier in (("graphpeg:lists=own", "lists"),
                                   ("graphpeg:lists=dealt", "lists"), ("graphpeg", "queue")):
            result = _device(3).run(algorithm, _graph(text), schedule=schedule, direction="push",
                                    frontier=frontier, **ALGORITHMS[algorithm])
            assert result.verified, (text, schedule, frontier)


def test_fused_loops():
    """A launch starts the units once for each superstep."""
    for algorithm in ("cc", "pagerank"):
        assert _device(3).run(algorithm, _graph(GRAPHS["rmat"]), schedule="graphpeg",
                              direction="push", fusion=True, **ALGORITHMS[algorithm]).verified


def _word(place):
    return GLOBAL + 4 * place


def _memory():
    memory = np.arange(4096, dtype=np.uint32) * 1000
    offsets = np.cumsum([0, *_DEGREES])
    memory[:len(offsets)] = GLOBAL // 4 + _EDGES + offsets
    memory[_INPUT:_INPUT + len(_DEGREES)] = _word(np.arange(len(_DEGREES)))
    return memory


def _case(inputs=None, idle_core=None, starts=False):
    """Core 0 starts with all vertices, the others with none. All warps of all cores add each
    neighbour times its base to a word.

    Parameters
    ----------
    inputs : int, optional
        Core 0's input list, if it is not the right one.
    idle_core : int, optional
        The warps of this core end at once.
    starts : bool
        They end behind START.
    """
    a = Assembler()
    warp, core, word, base, value, total = a.regs("warp", "core", "word", "base", "value", "total")
    a.csrr(warp, Csr.WARP_ID)
    a.csrr(core, Csr.CORE_ID)
    a.li(total, _word(_TOTAL))
    out, started = a.label("out"), a.label("started")

    def leave():
        if idle_core is not None:
            a.addi(word, core, -idle_core)
            a.beqz(word, out)
    if not starts:
        leave()
    a.bnez(warp, started)
    settings = {GatherSetting.OFFSETS: 0, GatherSetting.INPUT: inputs or _word(_INPUT)}
    for setting, number in settings.items():
        a.li(word, number)
        a.gather_set(word, setting)
    a.sltu(word, a.zero, core)
    a.addi(word, word, -1)
    a.andi(word, word, len(_DEGREES))
    a.gather_set(word, GatherSetting.START)
    a.place(started)
    if starts:
        leave()
    top = a.place("edges")
    a.pop_edge(base)
    a.addi(word, base, 1)
    a.beqz(word, out)
    a.edge_neighbor(value)
    a.mul(value, value, base)
    a.amoadd_w(a.zero, value, total)
    a.j(top)
    a.place(out)
    a.end_warp()
    return Launch(a.finish().words, memory=_memory())


def _sum():
    memory, total = _memory(), 0
    for vertex, degree in enumerate(_DEGREES):
        first = int(memory[vertex]) - GLOBAL // 4
        total += sum(int(memory[first + edge]) for edge in range(degree)) * int(_word(vertex))
    return int(memory[_TOTAL]) + total & 0xFFFF_FFFF


def test_the_edges_of_one_core():
    """All edges belong to core 0, and other cores do some of them. The next launch begins anew."""
    for _ in range(3):
        got = run(_machine(3), _case())
        assert got.failure is None and int(got.memory[_TOTAL]) == _sum()
    machine = _machine(3)
    assert machine.counters()["exchange_entries"] > 0
    decodes = [core["weaver_decodes"] for core in machine.core_counters()]
    assert min(decodes) > CONFIGS["graphpeg"].warps


@pytest.mark.parametrize("idle", [0, 1, 2])
def test_a_core_without_warps(idle):
    """A core whose warps have ended neither receives edges nor holds up the end."""
    got = run(_machine(3), _case(idle_core=idle))
    assert got.failure is None
    assert int(got.memory[_TOTAL]) == (_sum() if idle else int(_memory()[_TOTAL]))
    decodes = [core["weaver_decodes"] for core in _machine(3).core_counters()]
    assert decodes[idle] == 0


@pytest.mark.parametrize("idle", [1, 2])
def test_a_core_whose_warps_end_behind_start(idle):
    """Its unit has begun, and nobody would pop edges that it received."""
    got = run(_machine(3), _case(idle_core=idle, starts=True))
    assert got.failure is None and int(got.memory[_TOTAL]) == _sum()
    decodes = [core["weaver_decodes"] for core in _machine(3).core_counters()]
    assert decodes[idle] == 0 and sum(map(bool, decodes)) == 2


def test_an_error_stops_all_cores():
    """Cores that wait for the end stop when another core fails. The next launch works."""
    for _ in range(2):
        got = run(_machine(3), _case(inputs=4))
        assert (got.failure.cause, got.failure.core, got.failure.address) == (
            Cause.LOAD_ACCESS, 0, 4)
        test_the_edges_of_one_core()


def test_counters():
    """An entry has two edges at least before the first half of it goes."""
    result = _device(3).run("bfs", _graph(GRAPHS["rmat"]), schedule="graphpeg", direction="push",
                            **ALGORITHMS["bfs"])
    counters = result.counters
    assert 0 < counters["exchange_entries"] <= counters["exchange_looks"]
    assert counters["exchange_edges"] >= counters["exchange_entries"]
    assert counters["exchange_difference"] > 128 * counters["exchange_entries"]
    assert counters["cycles"] >= 64 * counters["exchange_looks"] // 2


def test_no_exchange():
    """Without an exchange its counters are 0, and the results are the same."""
    # The two cores of tb/programs/test_graphpeg.py.
    device = Device.simulate(_config(2).replace(exchange_interval=0, exchange_threshold=512))
    result = device.run("bfs", _graph(GRAPHS["rmat"]), schedule="graphpeg", direction="push",
                        **ALGORITHMS["bfs"])
    assert result.verified
    assert not any(result.counters[name] for name in result.counters if "exchange" in name)
