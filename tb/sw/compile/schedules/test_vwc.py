"""Virtual warps: the vote that ends a search ends it for one virtual warp, not for the warp."""

import pytest

from hw.config import HardwareConfig
from sw.device import Device
from tb.sw.graphs import random_graph


#: Vertices with several turns of edges, few of which lead to the frontier. So the virtual warps of
#: a warp end their searches in different turns.
GRAPHS = [(200, 3000, 1), (200, 3000, 2)]


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("vertices, edges, seed", GRAPHS)
def test_a_search_ends_for_its_virtual_warp_alone(vertices, edges, seed, width):
    config = HardwareConfig(warps=2, threads=8, memory_bytes=1 << 20, l1_bytes=1 << 12)
    with Device.functional(config, max_cycles=5_000_000) as device:
        result = device.run("bfs", random_graph(vertices, edges, seed), direction="pull",
                            schedule=f"vwc:width={width}", source=0)
    assert result.verified


@pytest.mark.parametrize("degree, algorithm, direction, width", [
    (16, "bfs", "push", 16), (16, "bfs", "pull", 2), (16, "pagerank", "push", 8),
    (16, "pagerank", "pull", 4), (16, "sssp", "pull", 8), (16, "cc", "pull", 8),
    (3, "bfs", "push", 4), (3, "pagerank", "pull", 2), (0, "cc", "push", 2),
    (99, "bfs", "push", 16)])
def test_the_width_follows_the_mean_degree(degree, algorithm, direction, width):
    config = HardwareConfig(warps=2, threads=16, memory_bytes=1 << 20)
    task = Device.functional(config).plan(algorithm, random_graph(64, 64 * degree, 1).weighted(9),
                                          schedule="vwc", direction=direction)
    assert task.used["width"] == width


def test_a_width_that_is_asked_for_stays():
    config = HardwareConfig(warps=2, threads=16, memory_bytes=1 << 20)
    task = Device.functional(config).plan("bfs", random_graph(64, 640, 1), schedule="vwc:width=2")
    _ = task.program
    assert task.used == {"width": 2, "unroll": 1}
