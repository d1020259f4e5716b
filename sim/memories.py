"""The choice between the models of the simulated DRAM.

``simple`` is a bus with a latency and a queue (:class:`sim.dram.DramConfig`); every other model is
a device (:class:`sim.dram_device.DramDevice`).
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from base import numbers
from hw.config import ConfigError, HardwareConfig

from .dram import DramConfig
from .dram_device import DramDevice
from .dram_parts import PARTS


__all__ = ["MODELS", "SimulatedDram", "changes_of", "check_field", "dram_of", "field_names",
           "parse_memory"]


SimulatedDram = DramConfig | DramDevice

#: The names of the models.
MODELS = ("simple", *PARTS)


def field_names() -> list[str]:
    """The fields of all models, each once."""
    return list(dict.fromkeys(["model", *_names(DramConfig), *_names(DramDevice)]))


#: The memories of presets that have one of their own; others have the simple model's. A load of
#: preset ``gpu`` that misses its caches takes 550 cycles, 300 of them here; its four ports, each
#: with a channel, carry 0.16 bytes a cycle for each of the 32 lanes of its 8 cores.
_OF_PRESET: dict[str, dict[str, Any]] = {
    "gpu": {"model": "hbm2", "ratio": "25/16", "answer_delay": 247},
}


def dram_of(fields: Mapping[str, Any], hardware: HardwareConfig | None = None) -> SimulatedDram:
    """The memory with these values in place of its model's own.

    ``hardware`` is in front of it. Without ``model`` the memory is that of the preset of which the
    hardware is a copy, else simple. Raises ConfigError."""
    own = {} if hardware is None or "model" in fields else _OF_PRESET.get(hardware.origin, {})
    changes = own | dict(fields)
    model = changes.pop("model", "simple")
    if model not in MODELS:
        raise ConfigError(f"DRAM: model = {model!r}: must be one of {', '.join(MODELS)}")
    if model != "simple":
        for name in changes:
            if name in _names(DramConfig) and name not in _names(DramDevice):
                raise ConfigError(f"DramDevice: model = {model!r}: a device has no field {name!r}; "
                                  "choose model=simple as well")
        return DramDevice.of(model, **changes)
    names = _names(DramConfig)
    for name in changes:
        if name in field_names() and name not in names:
            raise ConfigError(f"DramConfig: {name} = {changes[name]!r}: the simple model has no "
                              f"such field; choose a device as well, model={' or '.join(PARTS)}")
        if name not in names:
            raise ConfigError(f"DramConfig has no field {name!r}; it has model, {', '.join(names)}")
    config = DramConfig(**changes)
    config.check_given(changes)
    return config


def changes_of(memory: SimulatedDram, hardware: HardwareConfig) -> list[str]:
    """The texts by which :func:`parse_memory` gives this memory behind some hardware."""
    own = dram_of({}, hardware)
    if memory == own:
        return []
    changes = memory.changes
    return ["model=simple", *changes] if own != DramConfig() and isinstance(
        memory, DramConfig) else changes


def parse_memory(assignments: Iterable[str] = (),
                 hardware: HardwareConfig | None = None) -> SimulatedDram:
    """The memory that ``FIELD=VALUE`` texts describe, each field once, as a command line gives
    them; ``hardware`` as of :func:`dram_of`. Raises ConfigError."""
    changes: dict[str, Any] = {}
    for text in assignments:
        name, equals, value = (part.strip(" ") for part in text.partition("="))
        if not equals:
            raise ConfigError(f"DRAM option {text!r} is not FIELD=VALUE")
        if name in changes:
            raise ConfigError(f"DRAM: {name} is set twice")
        number = numbers.integer(value)
        changes[name] = value if number is None else number
    return dram_of(changes, hardware)


def check_field(name: str, value: Any) -> None:
    """Raises ConfigError for a value that a field cannot have in any model, whatever other fields
    are."""
    if name == "model":
        dram_of({name: value})
        return
    slow = {"slow_bytes_per_cycle": 1} if name.startswith("slow_") else {}
    errors = []
    for model in MODELS:
        if name not in _names(DramConfig if model == "simple" else DramDevice):
            continue
        try:
            dram_of({"model": model, **slow, name: value})
        except ConfigError as error:
            errors.append(error)
        else:
            return
    raise errors[0]


def _names(kind: type[DramConfig] | type[DramDevice]) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]
