"""Virtual warps: the vote that ends a search ends it for one virtual warp, not for the warp."""

import pytest

from hw.config import HardwareConfig
from sw.runtime import Device
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
