"""Fused loops: one kernel with all supersteps, on the instruction-set simulator.

==============================  ===================================================
barrier: nobody goes ahead      test_nobody_passes_the_barrier_early
results and supersteps          test_same_results, test_frontiers, test_formats,
                                test_warps_that_take_no_part
counted loops                   test_numbers_of_iterations
one launch                      test_same_results
refusals                        test_refusals, test_operations_are_refused
sections of a kernel            tb/sw/compile/asm/test_virtual.py
with caches                     tb/programs/test_fusion.py
==============================  ===================================================

``Device.run`` compares every result with the golden model.
"""

import functools
import types

import numpy as np
import pytest

from base.errors import UserError
from hw.config import preset
from hw.isa import Csr
from sw.golden.cores import Cores
from sw.graph import Graph
from sw.compile.kernels import barrier
from sw.compile.kernels.kernel import Kernel
from sw.compile.asm.virtual import VirtualAssembler
from sw.device import Device
from sw.compile.buffers import Buffers
from tb.sw.graphs import random_graph


TINY = preset("tiny").replace(warps=4, imem_bytes=1 << 14, local_bytes=1 << 12)
GRAPHS = {
    "random": random_graph(40, 160, 5).weighted(9),
    "chain": Graph(30, range(29), range(1, 30)).weighted(9),
    "alone": Graph(1, [], [], []),
}
ALGORITHMS = {"bfs": {"source": 0}, "sssp": {"source": 0}, "cc": {},
              "pagerank": {"iterations": 3}}
SCHEDULES = ("vm", "vwc", "em", "wm", "cm", "twc", "twce", "etwc", "strict", "tile", "weaver")

#: Algorithms whose supersteps do not depend on the order of the lanes.
ORDERLY = ("bfs", "pagerank")


#: Instructions after which a run is given up. No run takes a tenth of them.
_LIMIT = 2_000_000


def config_of(cores, **fields):
    return TINY.replace(cores=cores, l2_banks=min(cores, 2), **fields)


def both(device, graph, algorithm, **choices):
    """A run by launches and a fused run, of the same plan."""
    choices = ALGORITHMS[algorithm] | choices
    one, other = (device.run(algorithm, graph, fusion=fusion, max_cycles=_LIMIT, **choices)
                  for fusion in (False, True))
    assert one.checksum == other.checksum and other.launches == 1
    if algorithm in ORDERLY:
        assert one.supersteps == other.supersteps
    return one, other


@pytest.mark.parametrize("cores", (1, 2, 3, 6))
@pytest.mark.parametrize("seed", (None, 1, 2))
def test_nobody_passes_the_barrier_early(cores, seed):
    """Before each barrier a lane of each warp adds to the word of the round; behind it every warp
    must read the number of all warps. With a seed, cores and warps take turns at random."""
    rounds, config = 9, config_of(cores)
    buffers = Buffers(config)
    task = types.SimpleNamespace(config=config, buffers=buffers, warps=config.warps,
                                 algorithm=None, direction=None)
    for name, words in (("counts", rounds), ("seen", rounds * cores * config.warps)):
        buffers.reserve(name, words)
    barrier.reserve(task)
    a = VirtualAssembler()
    k = Kernel(a, task, "rounds", None)
    one, place, word, seen = a.regs("one", "place", "word", "seen")
    a.csrr(seen, Csr.CORE_ID)
    k.times(seen, seen, config.warps)
    a.csrr(word, Csr.WARP_ID)
    a.add(seen, seen, word)
    k.scaled(seen, seen, "seen")
    for number in range(rounds):
        a.li(place, buffers.address("counts") + 4 * number)
        a.li(one, 1)
        a.tmc(one)
        a.amoadd_w(a.zero, one, place)
        k.widen()
        barrier.meet(k)
        a.lw(word, place)
        a.sw(word, seen)
        k.step(seen, 4 * cores * config.warps)
    a.end_warp()
    simulator = Cores(config, seed=seed)
    simulator.load_program(a.finish().words)
    simulator.start(0)
    simulator.run(limit=1 << 20)
    first = (buffers.address("seen") - buffers.address("counts")) // 4
    read = simulator.memory.view(np.uint32)[first:][:rounds * cores * config.warps]
    assert (read == cores * config.warps).all()


@pytest.mark.parametrize("cores", (1, 2, 6))
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(24)
def test_same_results(algorithm, schedule, cores):
    device = Device.functional(config_of(cores), seed=cores)
    for graph in GRAPHS.values():
        both(device, graph, algorithm, schedule=schedule, split=("static", "counter")[cores % 2])


@pytest.mark.parametrize("deduplicate", (True, False))
@pytest.mark.parametrize("frontier", ("queue", "bitmap", "bytemap", "counter", "bitmap/queue",
                                      "queue/bytemap", "bytemap/bitmap"))
@pytest.mark.parametrize("algorithm", ("bfs", "sssp"))
@pytest.mark.sample(14)
def test_frontiers(algorithm, frontier, deduplicate):
    for cores in (1, 2):
        device = Device.functional(config_of(cores), seed=3)
        for graph in GRAPHS.values():
            both(device, graph, algorithm, schedule="vm", frontier=frontier,
                 deduplicate=deduplicate)


@pytest.mark.parametrize("choices", (
    {"format": "g-shards:shard=16", "schedule": "em"}, {"format": "cr2:cluster_bits=4"},
    {"format": "tigr:k=3"}, {"format": "csr:block=16"}, {"frontier": "rqueue", "direction": "pull"},
    {"direction": "pull", "schedule": "weaver"}, {"schedule": "compact"},
    {"algorithm": "sssp", "delta": 4}), ids=str)
def test_formats(choices):
    for cores in (1, 2):
        device = Device.functional(config_of(cores), seed=4)
        both(device, GRAPHS["random"], **{"algorithm": "bfs", "schedule": "vm"} | choices)


def test_warps_that_take_no_part():
    for cores in (1, 3):
        both(Device.functional(config_of(cores)), GRAPHS["random"], "bfs", schedule="vm", warps=3)


@pytest.mark.parametrize("direction, schedule", (("pull", "vm"), ("push", "vm"), ("pull", "twc")))
@pytest.mark.parametrize("registers", (31, 13))
def test_numbers_of_iterations(direction, schedule, registers, monkeypatch):
    """The last superstep has kernels of its own, and two sets of kernels may take turns. The same
    kernel may be a section several times, and with few registers each has values in local memory.
    """
    monkeypatch.setattr("sw.compile.programs.VirtualAssembler",
                        functools.partial(VirtualAssembler, registers=registers))
    device = Device.functional(config_of(2, local_bytes=1 << 14))
    for iterations in (1, 2, 3, 4, 7):
        both(device, GRAPHS["random"], "pagerank", iterations=iterations, direction=direction,
             schedule=schedule)


@pytest.mark.parametrize("algorithm, choices, message", (
    ("pagerank", {"tolerance": 0.1},
     "fusion=yes cannot have what only the host can do: .*a sum of decimals"),
    ("bfs", {"direction": "auto"}, "fusion=yes is for one plan: the host chooses the plan"),
    ("gcn", {}, "gcn: fusion=yes needs an algorithm whose supersteps are a loop")))
def test_refusals(algorithm, choices, message):
    device = Device.functional(TINY)
    with pytest.raises(UserError, match=message):
        device.plan(algorithm, GRAPHS["random"].undirected().simplify(), schedule="vm",
                    fusion=True, **choices)


@pytest.mark.parametrize("schedule", ("scu", "scu-enhanced", "scu-stream"))
def test_operations_are_refused(schedule):
    device = Device.functional(TINY.replace(scu=4))
    with pytest.raises(UserError, match=f"fusion=yes needs kernels only, and with schedule "
                                        f"'{schedule}' the host starts operations"):
        device.plan("bfs", GRAPHS["random"], schedule=schedule, fusion=True)
