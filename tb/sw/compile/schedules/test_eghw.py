"""The Weaver's schedule on the unit that generates edges: IDs to local memory, records from it.

=====================  ===========================================================================
feature                tests
=====================  ===========================================================================
results                ``test_results``; on the RTL ``test_algorithms``
hybrids, directions    ``test_sides_share_local_memory``
refused                ``test_formats_without_plain_rows``, ``test_local_memory``,
                       ``test_requests``
=====================  ===========================================================================
"""

import pytest

from base.errors import UserError
from checks.campaign.machines import CONFIGS
from hw.config import ConfigError, HardwareConfig
from sw.compile.kernels.split import SPLITS
from sw.device import Device
from tb.sw.compile.kernels.test_programs import ALGORITHMS, GRAPHS, check, config
from tb.sw.compile.schedules.test_weaver import draw


SCHEDULES = ("weaver", "weaver:works=2", "weaver:works=4")


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(10)
def test_results(algorithm, direction, schedule):
    """Bit-identical to the reference, warps in random order, orders and splits that are drawn."""
    rng = draw("eghw", algorithm, direction, schedule)
    # An ordering is of one graph, and GCN has two.
    formats = ["csr"] if algorithm == "gcn" else ["csr", "csr:reorder=rcm"]
    for name in ("one row", "one column", "single", *rng.sample(list(GRAPHS), 3)):
        shape = rng.choice([(2, 4), (4, 8), (4, 1), (8, 2), (1, 32)])
        hardware = config(*shape, cores=rng.choice([1, 2]), imem_bytes=1 << 15, gather="eghw")
        check(hardware, algorithm, GRAPHS[name], schedule, direction,
              seed=rng.randrange(1 << 20), split=rng.choice(SPLITS),
              warps=rng.choice([None, 1]), format=rng.choice(formats),
              **ALGORITHMS[algorithm])


@pytest.mark.parametrize("direction", ["pull", "push"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.sample(4)
def test_algorithms(algorithm, direction):
    with Device.simulate(CONFIGS["eghw"].replace(eghw_requests=16)) as device:
        for name in ("random", "star", "one row"):
            result = device.run(algorithm, GRAPHS[name].weighted(40, 7), schedule="weaver",
                                direction=direction, **ALGORITHMS[algorithm])
            assert result.verified


def test_sides_share_local_memory():
    """A BFS that changes its direction has one buffer of IDs and one of records."""
    device = Device.functional(config(4, 8, gather="eghw", imem_bytes=1 << 15))
    task = device.plan("bfs", GRAPHS["random"], schedule="weaver", direction="auto", source=0)
    words = 4 * 8
    assert task.local.address("records") - task.local.address("vertex_ids") == 4 * words
    assert device.run_task(task).verified


@pytest.mark.parametrize("format", ["csr:block=16", "tigr:k=3", "ell", "dia", "cr2",
                                    "block-coo:block=16"])
def test_formats_without_plain_rows(format):
    device = Device.functional(config(4, 8, gather="eghw"))
    with pytest.raises(UserError, match="schedule 'weaver' with gather = 'eghw' reads rows of "
                                        "vertices by their offsets, which format .* 'csr'"):
        device.plan("pagerank", GRAPHS["random"], schedule="weaver", format=format)


def test_local_memory():
    """32 lanes of 8 warps need 1 KiB for IDs and 2 KiB for records with weights."""
    device = Device.functional(config(8, 32, gather="eghw", local_bytes=1 << 11))
    device.plan("bfs", GRAPHS["random"], schedule="weaver", source=0)
    with pytest.raises(UserError, match="local memory is full: 3072 bytes needed .*vertex_ids "
                                        "1024, records 2048.*local_bytes is 2048"):
        device.plan("sssp", GRAPHS["random"].weighted(9, 1), schedule="weaver", source=0)


def test_requests():
    for value in (0, 17):
        with pytest.raises(ConfigError, match=f"eghw_requests = {value}: must be a power of two "
                                             "from 1 to 16"):
            HardwareConfig(gather="eghw", eghw_requests=value)
