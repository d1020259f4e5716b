"""Machines at the upper limits of warps, cores, and loads under way.

The campaign has every legal value, and these machines run whole programs: random ones against the
simulator, and algorithms against their golden models. Counters of the last core and warp are read.
"""

import pytest

from checks.campaign.machines import check_cores, check_counters, run, simulate
from checks.campaign.random_programs import random_case
from hw.config import preset
from sim.native import NativeMachine
from sw.device import Device
from tb import seeds
from tb.sw.graphs import random_graph


_TINY = preset("tiny").replace(imem_bytes=1 << 15, l2_bytes=1 << 12, l2_ways=2)

MACHINES = {
    "64 warps": _TINY.replace(name="64 warps", warps=64, threads=2, local_bytes=1 << 13,
                              load_queue=512, l1_mshrs=512, l2_mshrs=512, l1_latency=24,
                              l2_latency=100),
    "16 cores": _TINY.replace(name="16 cores", cores=16, l2_banks=8, l1_latency=2,
                              l2_latency=40),
}


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.full
def test_limits(name):
    config = MACHINES[name]
    with NativeMachine(config) as machine:
        case = random_case(config, seeds.seed(0))
        expected, found = simulate(config, case), run(machine, case)
        assert (found.memory == expected.memory).all() and found.failure is None
        check_counters(config, found.counters)
        check_cores(config, found.counters, machine.core_counters(), machine.phase_cycles())
    with Device.simulate(config) as device:
        for algorithm, schedule, options in (
                ("bfs", "vm", {"source": 0}), ("pagerank", "wm", {"iterations": 2}),
                ("cc", "weaver", {}), ("pagerank", "cm", {"iterations": 1})):
            result = device.run(algorithm, random_graph(300, 2000, 1), schedule=schedule, **options)
            assert result.verified
            check_counters(config, result.counters)
