"""Fused loops on the RTL: what a superstep has stored, the next one finds, whatever a core has in
its L1.

==============================  ===================================================
caches of several cores         test_stale_lines, test_fused
every unit that gathers         test_units
six cores                       test_six_cores
counters, phases                test_phases
the cost of launches            test_launch_cycles
on both simulators of the RTL   tb/hw/test_gpu.py
barrier, plans, refusals        tb/sw/compile/kernels/test_fusion.py
==============================  ===================================================

``Device.run`` compares every result with the golden model.
"""

import types

import numpy as np
import pytest

from checks.campaign.machines import CORES, SCUS, Launch, machine
from checks.campaign.machines import run as run_program
from hw.config import preset
from hw.control import launch_cycles
from sim.native import NativeMachine
from sw.graph import Graph
from sw.compile.kernels import barrier
from sw.compile.kernels.kernel import Kernel
from sw.compile.asm.virtual import VirtualAssembler
from sw.device import Device
from sw.compile.buffers import Buffers
from tb.programs.algorithms import run
from tb.sw.graphs import random_graph


GRAPHS = {
    "random": random_graph(40, 160, 5).weighted(9),
    # Many supersteps, whose frontiers go back and forth between all cores.
    "chain": Graph(61, [*range(30), *range(30)], [*range(1, 31), *range(31, 61)]).weighted(9),
}
ALGORITHMS = ("bfs", "sssp", "cc", "pagerank")


@pytest.mark.parametrize("name", CORES)
@pytest.mark.parametrize("latency", (1, 40))
def test_stale_lines(name, latency):
    """Each lane reads the words of all lanes, so that every L1 has their lines, and stores its own
    word between two barriers. In each round it must read what all lanes have just stored."""
    rounds, config = 5, CORES[name]
    lanes = config.cores * config.warps * config.threads
    buffers = Buffers(config)
    task = types.SimpleNamespace(config=config, buffers=buffers, warps=config.warps,
                                 algorithm=None, direction=None)
    for words in (("values", lanes), ("sums", rounds * lanes)):
        buffers.reserve(*words)
    barrier.reserve(task)
    a = VirtualAssembler(threads=config.threads)
    k = Kernel(a, task, "rounds", None)
    own, out, value, word, place = a.regs("own", "out", "value", "word", "place")
    k.lane_index(value)
    k.scaled(own, value, "values")
    k.scaled(out, value, "sums")
    for _ in range(rounds):
        a.addi(value, value, 1)
        a.sw(value, own)
        barrier.meet(k)
        total = a.reg("total")
        a.mv(total, a.zero)
        a.li(place, buffers.address("values"))
        for lane in range(lanes):
            a.lw(word, place, 4 * lane)
            a.add(total, total, word)
        a.sw(total, out)
        k.step(out, 4 * lanes)
        barrier.meet(k)
    a.end_warp()
    got = run_program(machine(name, latency=latency), Launch(a.finish().words)).memory
    first = (buffers.address("sums") - buffers.address("values")) // 4
    sums = got[first:][:rounds * lanes].reshape(rounds, lanes)
    expected = [sum(range(number, number + lanes)) for number in range(1, rounds + 1)]
    assert np.array_equal(sums, np.repeat(expected, lanes).reshape(rounds, lanes))


@pytest.mark.parametrize("name", ("tiny", "large", "long", "pair", "trio"))
@pytest.mark.parametrize("schedule", ("vm", "em", "wm", "twc", "strict", "weaver"))
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(12)
def test_fused(name, algorithm, schedule):
    if schedule == "twc" and name == "trio":
        pytest.skip("twc needs warps of at least 4 lanes")
    for graph in GRAPHS.values():
        one, other = (run(name, graph, algorithm, schedule, fusion=fusion,
                          split="counter" if name == "trio" else "static")
                      for fusion in (False, True))
        assert one.checksum == other.checksum and other.launches == 1
        if algorithm in ("bfs", "pagerank"):
            assert one.supersteps == other.supersteps


@pytest.mark.parametrize("frontier", ("bitmap", "bytemap", "counter", "bitmap/queue"))
@pytest.mark.parametrize("name", CORES)
@pytest.mark.sample(4)
def test_frontiers(name, frontier):
    for graph in GRAPHS.values():
        run(name, graph, "sssp", "vm", frontier=frontier, fusion=True)


@pytest.mark.parametrize("name", ("scan", "stream", "eghw"))
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(6)
def test_units(name, algorithm):
    for graph in GRAPHS.values():
        for direction in ("push", "pull") if algorithm != "cc" else (None,):
            run(name, graph, algorithm, "weaver", fusion=True, direction=direction)


def test_six_cores(optimized):
    with Device.simulate(preset("tiny").replace(cores=6, l2_banks=2, imem_bytes=1 << 14)) as device:
        for first, graph in enumerate(GRAPHS.values()):
            for turn, algorithm in enumerate(ALGORITHMS, first):
                result = device.run(algorithm, graph, schedule=("vm", "weaver")[turn % 2],
                                    fusion=True)
                assert result.verified and result.launches == 1


def test_phases():
    """The wait at the barrier counts as the beginning of the next kernel."""
    result = run("pair", GRAPHS["chain"], "cc", "vm", fusion=True, phases=True)
    assert np.array_equal(result.phases[..., :-1].sum(axis=-1), result.phases[..., -1])
    assert result.phases[..., 0].all()


def test_launch_cycles():
    """Launches and operations of the SCU cost what the device is told, beside the same cycles."""
    config = SCUS["narrow"]
    found = {}
    for cost in (None, 0, 1000):
        device = Device(config, lambda: NativeMachine(config), launch_cycles=cost)
        with device:
            for schedule, fusion in (("vm", False), ("vm", True), ("scu", False),
                                     ("scu-stream:pieces=4", False)):
                graph = GRAPHS["random" if "pieces" in schedule else "chain"]
                result = device.run("bfs", graph, schedule=schedule, fusion=fusion)
                cost = launch_cycles(config) if cost is None else cost
                orders = result.launches + result.counters["scu_operations"]
                assert bool(result.counters["scu_beside"]) == ("pieces" in schedule)
                assert result.orders == orders and result.launch_cycles == cost * orders
                assert result.total_cycles == result.cycles + cost * orders
                record = result.to_json()
                assert record["total_cycles"] == result.total_cycles
                assert record["launch_cycles"] == result.launch_cycles
                found.setdefault((schedule, fusion), set()).add((result.cycles, orders))
    assert all(len(same) == 1 for same in found.values())
    [(_, one)], [(_, many)] = found["vm", True], found["vm", False]
    assert one == 1 and many == 31
