"""The units whose Verilog can be had on their own, for use in another design."""

from amaranth.back import verilog as amaranth_verilog

from hw.config import ConfigError, HardwareConfig
from hw.core.core import Core
from hw.top import verilog
from hw.weaver.weaver import Weaver


__all__ = ["UNITS"]


def _component(name, component):
    def emit(config: HardwareConfig) -> str:
        return amaranth_verilog.convert(component(config), name=f"graphloom_{name}",
                                        emit_src=False)
    return emit


def _weaver(config):
    if config.weaver == "none":
        raise ConfigError("HardwareConfig: weaver = 'none': there is no Weaver to emit; "
                          "must be 'fsm'")
    return Weaver(config)


#: Name of a unit, as the command line takes it: a function from configuration to Verilog.
UNITS = {
    "weaver": _component("weaver", _weaver),
    "core": _component("core", Core),
    "gpu": verilog,
}
