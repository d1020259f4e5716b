"""Sampling-based reordering on a device, against the model in numpy.

=====================  ===========================================================================
feature                tests
=====================  ===========================================================================
counts of the kernel   ``test_counts``
several rounds         ``test_rounds_are_those_of_the_ordering``
the RTL                ``test_on_the_rtl``, ``test_edges_in_slow_memory``
results in order       ``test_results_come_back_in_order``
refused                ``test_refused``, ``test_warps_of_one_lane_have_no_tiles``
planted faults         ``test_a_lane_that_is_left_out_is_seen``, ``test_other_samples_are_seen``
=====================  ===========================================================================
"""

import numpy as np
import pytest

from base.errors import RunError, UserError
from hw.config import preset
from sim.dram import DramConfig
from sw.graph import generate, sage
from sw.compile.kernels.kernel import Kernel
from sw.operators.reordering import Reordering
from sw.operators.reordering.sampling import TileSampling
from sw.device import Device
from tb.sw.compile.kernels.test_programs import GRAPHS, config


COMMUNITY = "community:vertices=300,edges=3000,communities=12,mixing=0.1,shuffle=1,seed=1"


@pytest.mark.parametrize("warps, threads", [(1, 2), (2, 4), (4, 8), (1, 32)])
@pytest.mark.parametrize("sample", [100, 40, 1])
@pytest.mark.sample(6)
def test_counts(warps, threads, sample):
    """A round compares the counts of all its sweeps."""
    for seed, (name, graph) in enumerate(GRAPHS.items()):
        hardware = config(warps, threads, cores=1 + seed % 2, imem_bytes=1 << 15)
        with Device.functional(hardware, seed=seed) as device:
            result = Reordering(device, graph, sample).round()
        assert result.verified, name


@pytest.mark.parametrize("threads", [4, 16])
def test_rounds_are_those_of_the_ordering(threads):
    graph = generate(COMMUNITY)
    with Device.functional(config(2, threads, imem_bytes=1 << 15)) as device:
        reordering = Reordering(device, graph)
        for _ in range(3):
            reordering.round()
    expected = sage.sage(graph.src, graph.dst, graph.num_vertices, rounds=3, lanes=threads,
                         sector=device.config.line_bytes // 4)
    assert np.array_equal(reordering.order, expected)
    assert not np.array_equal(expected, np.arange(graph.num_vertices))
    ends = zip(reordering.graph.src, reordering.graph.dst)
    assert sorted(ends) == sorted(zip(reordering.ids[graph.src], reordering.ids[graph.dst]))


def test_on_the_rtl():
    """The sweeps of a round take cycles, of which each launch tells its own."""
    graph = generate("rmat:scale=5,degree=4,seed=1")
    with Device.simulate(preset("tiny")) as device:
        result = Reordering(device, graph, 60).round()
    assert result.verified and result.cycles > 1000
    assert result.launches == result.outputs["counts"].shape[1] > 3


def test_edges_in_slow_memory():
    """Sweeps read the edges from the slow region, and count the same."""
    graph, orders, cycles = generate("rmat:scale=5,degree=4,seed=1"), [], []
    for dram in (DramConfig(), DramConfig(slow_bytes_per_cycle=1)):
        with Device.simulate(preset("tiny"), dram=dram) as device:
            reordering = Reordering(device, graph)
            result = reordering.round()
        orders.append(reordering.order.tolist())
        cycles.append(result.cycles)
    assert orders[0] == orders[1] and cycles[0] < cycles[1]
    assert result.counters["slow_bytes_read"] > 0


def test_results_come_back_in_order():
    graph = generate(COMMUNITY)
    with Device.functional(config(2, 8, imem_bytes=1 << 15)) as device:
        reordering = Reordering(device, graph)
        reordering.round()
        plain = device.run("pagerank", graph, schedule="tile", iterations=2)
        other = device.run("pagerank", reordering.graph, schedule="tile", iterations=2)
    assert np.array_equal(reordering.in_order(other.outputs["rank"]), plain.outputs["rank"])
    assert not np.array_equal(other.outputs["rank"], plain.outputs["rank"])


@pytest.mark.parametrize("sample", [0, 101, "many"])
def test_refused(sample):
    with pytest.raises(UserError, match="sample is .*, must be an integer from 1 to 100"):
        Reordering(Device.functional(config(2, 4)), GRAPHS["random"], sample)


def test_warps_of_one_lane_have_no_tiles():
    with pytest.raises(UserError, match="lanes is 1, must be a power of two from 2 to 32"):
        Reordering(Device.functional(config(4, 1)), GRAPHS["random"])


def fails(sample=100):
    with pytest.raises(RunError, match="differs from the golden model"):
        with Device.functional(config(2, 8, imem_bytes=1 << 15)) as device:
            Reordering(device, GRAPHS["dense"], sample).round()


def test_a_lane_that_is_left_out_is_seen(monkeypatch):
    """A planted fault: a lane compares with its neighbour twice, and with another lane never."""
    whole = Kernel.partner
    monkeypatch.setattr(Kernel, "partner", lambda self, into, source, distance: whole(
        self, into, source, 1 if distance == 3 else distance))
    fails()


def test_other_samples_are_seen(monkeypatch):
    """A planted fault: all sweeps sample the same vertices."""
    whole = TileSampling.prepare

    def prepare(self, k):
        whole(self, k)
        k.a.mv(self._mix, k.a.zero)

    monkeypatch.setattr(TileSampling, "prepare", prepare)
    fails(50)
