"""The units that can hand out edges, by the name of the variant."""

from amaranth.lib import wiring

from hw.config import ConfigError, HardwareConfig
from hw.gather.eghw import EdgeGenerator
from hw.gather.fsm import Weaver
from hw.gather.graphpeg import GraphPeg
from hw.gather.scan import ScanWeaver
from hw.gather.stream import StreamWeaver


__all__ = ["VARIANTS", "component"]


#: {value of ``HardwareConfig.gather``: class of the unit}. A class takes the configuration, and has
#: the members of :func:`hw.gather.interface.unit_signature`.
VARIANTS = {unit.variant: unit for unit in (Weaver, ScanWeaver, StreamWeaver,
                                            EdgeGenerator, GraphPeg)}


def component(config: HardwareConfig) -> wiring.Component:
    """The unit of a configuration. Raises ConfigError if the configuration has none."""
    if config.gather == "none":
        raise ConfigError("HardwareConfig: gather = 'none': there is no unit that hands out edges; "
                          f"must be {' or '.join(map(repr, VARIANTS))}")
    return VARIANTS[config.gather](config)
