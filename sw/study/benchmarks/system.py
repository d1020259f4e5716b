"""Runs on hardware of their own, for figures that compare systems."""

import dataclasses

from hw.config import HardwareConfig
from sim.memories import SimulatedDram
from sw.study.benchmarks.batch import Case


__all__ = ["System", "SystemRun", "scu_systems"]


#: Factor between the memories, and their queues, of the large and the small system.
_TIMES = 4


@dataclasses.dataclass(frozen=True)
class System:
    """A GPU and its memory."""
    config: HardwareConfig  #: Configuration of the GPU; its name is the system's name.
    dram: SimulatedDram

    @property
    def name(self) -> str:
        """The system's name in tables."""
        return self.config.name

    @property
    def peak_bytes(self) -> float:
        """Largest number of bytes that memory moves per core cycle. A line occupies the bus of its
        port for its cycles, and a port moves at most one line per cycle."""
        return self.dram.peak_bytes(self.config)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SystemRun(Case):
    """A run on a system, in place of the batch's hardware.

    The record also has ``steps``, as in :class:`sw.device.result.Result`.
    """
    system: System

    def record(self):
        return super().record() | {"system": dataclasses.asdict(self.system)}

    def describe(self):
        return f"{super().describe()} ({self.system.name})"

    def hardware(self, config):
        return self.system.config

    def memory(self, dram):
        return self.system.dram

    def measured(self, result):
        return super().measured(result) | {"steps": result.steps}


def scu_systems(config, dram) -> dict:
    """The two systems of the SCU's paper by name, ``"large"`` and ``"small"``. Both are the given
    hardware, except for the fields that make a system large or small."""
    return {
        "large": System(config.replace(name="large", cores=4, l2_bytes=1 << 19, l2_banks=4, scu=4),
                        dram.wider(_TIMES)),
        "small": System(config.replace(name="small", scu=1), dram),
    }
