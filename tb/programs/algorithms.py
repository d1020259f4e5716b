"""Whole algorithms on the machines that tests share."""

import pytest

from checks.campaign.machines import CONFIGS, CORES, SCUS, check_counters, machine
from sw.device import Device


__all__ = ["OPTIONS", "run"]


#: Parameters of each algorithm.
OPTIONS = {"bfs": {"source": 0}, "cc": {}, "pagerank": {"iterations": 3}, "sssp": {"source": 0},
           "gcn": {"dimension": 3, "columns": 9}}

_LIMIT = 5_000_000


def run(name, graph, algorithm, schedule, *, memory=None, **options):
    """A verified run on a configuration, with a check that the counters reconcile.

    Skips the test if virtual warps are requested and a warp has one lane. ``memory`` describes the
    machine's memory.
    """
    config = (CONFIGS | CORES | SCUS)[name]
    if schedule.startswith("vwc") and config.threads == 1:
        pytest.skip("a warp of one lane has no virtual warps")
    with Device(config, lambda: machine(name, **memory or {})) as device:
        try:
            result = device.run(algorithm, graph, schedule=schedule, max_cycles=_LIMIT,
                                **OPTIONS[algorithm] | options)
        finally:
            device._machine = None          # which other tests share
    assert result.verified
    check_counters(config, result.counters)
    return result
