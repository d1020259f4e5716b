"""Simulators that are built in a process of their own, while the runs before them go on."""

import contextlib
from typing import Any

from sim.native import NativeMachine
from sw.study.benchmarks.workers import PieceProcess, packed


__all__ = ["Builder"]


def _build(config):
    NativeMachine(config).close()
    return {}


class Builder(contextlib.AbstractContextManager):
    """Builds the simulators of configurations, one after another. The end of the context gives up
    what is not built yet.

    Parameters
    ----------
    configs : list of HardwareConfig
        In the order in which they are needed.
    """
    def __init__(self, configs):
        self._left = list(configs)
        self._process: Any = PieceProcess() if configs else None
        for config in configs:
            self._process.begin(packed(_build, (config,)))

    def __exit__(self, *error):
        if self._process is not None:
            self._process.end()

    def wait(self, config):
        """Wait until the simulator of a configuration is built, if that is under way. A build that
        failed is left to the run, which tells the reason."""
        while config in self._left and self._process.alive:
            self._process.hear()
            self._left.pop(0)
