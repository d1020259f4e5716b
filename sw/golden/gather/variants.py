"""The reference models of the units that hand out edges. Each unit has a module of its name here,
with a function ``model``; one whose answers depend on the time also has a function ``follower``. A
unit in one file outside of :mod:`hw.gather` has these functions in its file."""

import importlib

from base.errors import UserError
from hw.config import HardwareConfig
from hw.gather.variants import OUTSIDE


__all__ = ["follower", "model"]


def _module(config):
    module = OUTSIDE.get(config.gather)
    if module is None:
        return importlib.import_module(f".{config.gather}", __package__)
    if not hasattr(module, "model"):
        raise UserError(f"{module.__file__}: there is no function model(config), which makes the "
                        "reference model of the unit")
    return module


def model(config: HardwareConfig):
    """The model of a configuration's unit; ``None`` if the configuration has none."""
    return None if config.unit is None else _module(config).model(config)


def follower(config: HardwareConfig):
    """What lockstep asks in place of the model, and then tells the hardware's answers; ``None`` if
    the model's answers follow from the order of the instructions."""
    make = None if config.unit is None else getattr(_module(config), "follower", None)
    return make and make(config)
