"""Whole runs on the RTL, in the native simulator: every algorithm, direction and schedule.

Each run is compared with the golden model; the shapes are the smallest preset and the corners.
"""

import itertools

import pytest

from base.errors import RunError
from checks.campaign.machines import CONFIGS
from hw.config import preset
from sw.device import Device
from tb.sw.graphs import random_graph


GRAPHS = [random_graph(90, 400, 1), random_graph(150, 100, 2), random_graph(20, 300, 3)]
RUNS = list(itertools.product((("pagerank", {"iterations": 3}), ("bfs", {"source": 5})),
                              ("pull", "push"), ("vm", "em", "weaver")))


@pytest.mark.parametrize("name", ["tiny", "one", "scalar",
                                  pytest.param("wide", marks=pytest.mark.full)])
@pytest.mark.parametrize("graph", range(len(GRAPHS)))
@pytest.mark.sample(1)
def test_all_runs(name, graph):
    with Device.simulate(CONFIGS[name], max_cycles=2_000_000) as device:
        for (algorithm, options), direction, schedule in RUNS:
            result = device.run(algorithm, GRAPHS[graph], schedule=schedule, direction=direction,
                                **options)
            assert result.verified and result.cycles > result.counters["instructions"] > 0


def test_the_same_run_takes_the_same_cycles():
    with Device.simulate(preset("tiny")) as device:
        first = device.run("bfs", GRAPHS[0], schedule="weaver")
        device.run("pagerank", GRAPHS[1], schedule="em")
        again = device.run("bfs", GRAPHS[0], schedule="weaver")
    assert first.to_json() == again.to_json()


def test_limit_and_recovery():
    seen = []
    with Device.simulate(preset("tiny"), progress=seen.append) as device:
        with pytest.raises(RunError, match="not finished after 3000 cycles") as caught:
            device.run("pagerank", GRAPHS[0], schedule="vm", max_cycles=3000)
        assert caught.value.counters["cycles"] > 2900
        assert device.run("pagerank", GRAPHS[0], schedule="vm").verified
