"""The units that are available alone: as components, and as Verilog for use in another design."""

import dataclasses
import re
from collections.abc import Callable
from typing import Any

from amaranth.lib import wiring

from hw.board_system import bit_cycles
from hw.config import ConfigError, HardwareConfig
from hw.core.coalescer import Coalescer
from hw.core.core import Core
from hw.core.l1 import L1
from hw.emit import verilog as emit
from hw.flat_ports import FlatPorts
from hw.gather.variants import VARIANTS, component
from hw.link.frames import BAUD
from hw.link.link import Link
from hw.memory.l2_bank import L2Bank
from hw.scu.scu import Scu
from hw.sdram.controller import SdramController
from hw.sdram.timing import BYTES
from hw.top import FlatGpu


__all__ = ["UNITS", "Clock", "HardwareUnit", "verilog"]


@dataclasses.dataclass(frozen=True)
class Clock:
    """What a unit with pins has to know of its board."""
    frequency: float = 50.0  #: Of the clock, in MHz.
    baud: int = BAUD  #: Bits a second on the serial line.


@dataclasses.dataclass(frozen=True, kw_only=True)
class HardwareUnit:
    """A part of the hardware that is of use alone."""
    name: str  #: Its name on the command line.
    doc: str  #: What it is, in a few words.
    #: Makes the component, of a configuration and a clock. The component's attribute
    #: ``black_boxes``, if any, holds its black boxes.
    make: Callable[[HardwareConfig, Clock], wiring.Component]
    #: The fields that the configuration must have for this unit.
    changes: dict[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    clocked: bool = False  #: Whether the clock makes a difference.
    #: Whose registers its port has: ``"gpu"``, those of the host's map, or ``"scu"``.
    registers: str = ""
    programs: bool = False  #: Whether it runs programs, which see the memory map.

    def configure(self, config: HardwareConfig) -> HardwareConfig:
        """A configuration with the fields that the unit needs, under the same name."""
        return config.replace(**self.changes, name=config.name)

    def build(self, config: HardwareConfig, clock: Clock | None = None) -> wiring.Component:
        """The component. Raises ConfigError if the configuration has no such unit."""
        return self.make(self.configure(config), clock or Clock())

    def flat(self, config: HardwareConfig, clock: Clock | None = None) -> FlatPorts:
        """The component with plain ports. Raises ConfigError as :meth:`build`."""
        return FlatPorts(self.build(config, clock))


def verilog(flat: FlatPorts, name: str, *, assertions=False, header="") -> str:
    """The Verilog of a unit with plain ports, whose top module is ``name``; all other modules have
    names that begin with it.

    ``assertions`` and ``header`` are as of :func:`hw.emit.verilog`.
    """
    text = emit({name: flat, **flat.black_boxes}, assertions=assertions, header=header)
    for other in flat.black_boxes:
        part = f"{name}_{other.removeprefix('graphloom_')}"
        text = re.sub(rf"(?<![\w.]){other}\b", part, text)
    return text


def _gather(config, _clock):
    return component(config)


def _scu(config, _clock):
    if not config.scu:
        raise ConfigError("HardwareConfig: scu = 0: there is no SCU to emit; must be 1 or 4")
    return Scu(config)


def _sdram(config, clock):
    # The ports do not depend on how much of the chip the GPU uses.
    held = config.replace(memory_bytes=min(config.memory_bytes, BYTES), name=config.name)
    return SdramController(held, frequency=clock.frequency)


def _link(config, clock):
    return Link(config, bit_cycles(clock.frequency, clock.baud), round(1e6 * clock.frequency))


#: {name of a unit: its record}.
UNITS = {unit.name: unit for unit in (
    HardwareUnit(name="weaver", doc="the configuration's unit that hands out edges", make=_gather),
    *(HardwareUnit(name=name, doc=variant.doc, changes={"gather": name}, make=_gather)
      for name, variant in VARIANTS.items()),
    HardwareUnit(name="scu", doc="the Stream Compaction Unit", make=_scu,
                 registers="scu"),
    HardwareUnit(name="core", doc="a core with its L1", make=lambda config, _: Core(config),
                 programs=True),
    HardwareUnit(name="gpu", doc="the whole GPU", make=lambda config, _: FlatGpu(config),
                 registers="gpu", programs=True),
    HardwareUnit(name="coalescer", doc="the coalescer of a core's loads, stores and atomics",
                 make=lambda config, _: Coalescer(config)),
    HardwareUnit(name="l1", doc="a bank of the L1 data cache", make=lambda config, _: L1(config)),
    HardwareUnit(name="l2-bank", doc="a bank of the L2 cache, with the atomic unit",
                 make=lambda config, _: L2Bank(config)),
    HardwareUnit(name="sdram", doc="the controller of an SDRAM chip", make=_sdram, clocked=True),
    HardwareUnit(name="link", doc="the host link on a serial line (UART)", make=_link,
                 clocked=True),
)}
