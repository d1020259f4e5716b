"""The units that are available alone: as components, and as Verilog for use in another design."""

from hw.config import ConfigError, HardwareConfig
from hw.core.core import Core
from hw.emit import verilog
from hw.gather.variants import component
from hw.scu.scu import Scu
from hw.top import FlatGpu


__all__ = ["COMPONENTS", "UNITS"]


def _scu(config):
    if not config.scu:
        raise ConfigError("HardwareConfig: scu = 0: there is no SCU to emit; must be 1 or 4")
    return Scu(config)


#: {name of a unit on the command line: function from configuration to component}. A design that
#: uses a component also needs the component's ``black_boxes``.
COMPONENTS = {"weaver": component, "scu": _scu, "core": Core, "gpu": FlatGpu}


def _emitter(name, component):
    def unit(config: HardwareConfig, assertions: bool = False) -> str:
        top = component(config)
        return verilog({f"graphloom_{name}": top, **getattr(top, "black_boxes", {})},
                       assertions=assertions)
    return unit


#: {name of a unit: function from a configuration, and whether assertions are kept, to Verilog}.
UNITS = {name: _emitter(name, component) for name, component in COMPONENTS.items()}
