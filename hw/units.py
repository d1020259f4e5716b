"""The units whose Verilog can be had on their own, for use in another design."""

from hw.config import ConfigError, HardwareConfig
from hw.core.core import Core
from hw.emit import verilog as emit
from hw.scu.scu import Scu
from hw.top import verilog
from hw.weaver.weaver import Weaver


__all__ = ["UNITS"]


def _component(name, component):
    def unit(config: HardwareConfig) -> str:
        return emit({f"graphloom_{name}": component(config)})
    return unit


def _weaver(config):
    if config.weaver == "none":
        raise ConfigError("HardwareConfig: weaver = 'none': there is no Weaver to emit; "
                          "must be 'fsm'")
    return Weaver(config)


def _scu(config):
    if not config.scu:
        raise ConfigError("HardwareConfig: scu = 0: there is no SCU to emit; must be 1 or 4")
    return Scu(config)


#: Name of a unit, as the command line takes it: a function from configuration to Verilog.
UNITS = {
    "weaver": _component("weaver", _weaver),
    "scu": _component("scu", _scu),
    "core": _component("core", Core),
    "gpu": verilog,
}
