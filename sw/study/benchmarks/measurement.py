"""The interface of what a batch runs: a measurement, with its record as a line of JSON."""

from __future__ import annotations

import abc
import pathlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hw.config import HardwareConfig
    from sim.memories import SimulatedDram


__all__ = ["Measurement", "inputs", "on"]


class Measurement(abc.ABC):
    """One thing to measure. Measurements are hashable; equal ones are done once. ``simulates`` says
    whether it needs the simulator, and ``timed`` whether it measures wall time, so that nothing
    else may run at the same time."""
    simulates, timed = False, False

    @property
    def reads(self) -> tuple[str, ...]:
        """The texts of graphs and the names of files that :meth:`run` reads."""
        return ()

    @abc.abstractmethod
    def key(self, config: HardwareConfig, dram: SimulatedDram) -> str:
        """The key of its line: all that its record depends on."""

    @abc.abstractmethod
    def record(self) -> dict:
        """The measurement as JSON can hold it."""

    @abc.abstractmethod
    def describe(self) -> str:
        """The measurement in a few words, for a line of progress."""

    @abc.abstractmethod
    def run(self, config: HardwareConfig, dram: SimulatedDram) -> dict:
        """Measure in this process. Returns the contents of the line, without the key. A record with
        an ``"error"`` is a failure."""

    def hardware(self, config: HardwareConfig) -> HardwareConfig:
        """The configuration that is simulated, derived from the batch's configuration."""
        return config


def inputs(plan, graph) -> tuple[str, ...]:
    """The graph's text and the names of files that a run of a plan reads."""
    features = dict(plan.parameters).get("features")
    return (graph,) if features is None else (graph, features)


def on(words, graph) -> str:
    """Words about a run, and its graph without the folder of its file."""
    return " ".join([*words, "on", pathlib.Path(graph).name])
