"""The records of the units that can hand out edges, and their components. Each folder here is a
unit; nothing else lists them.

A unit may also be one file outside of this folder, which has record, component and reference model.
The environment variable :data:`VARIABLE` names such files. Processes that this one starts have the
variable too, with absolute paths.
"""

import importlib
import importlib.util
import os
import pathlib
import pkgutil
import sys
import traceback
from types import ModuleType

from base.errors import ConfigError, UserError
from hw import gather
from hw.gather.variant import GatherVariant


__all__ = ["OUTSIDE", "VARIABLE", "VARIANTS", "component", "source"]


#: The environment variable that names files of units, with a colon between two.
VARIABLE = "GRAPHLOOM_UNITS"


def _variants():
    found = [importlib.import_module(f"{gather.__name__}.{module.name}").VARIANT
             for module in pkgutil.iter_modules(gather.__path__) if module.ispkg]
    # The Weavers go first.
    return {unit.name: unit for unit in sorted(
        found, key=lambda unit: (unit.reads_memory, unit.name))}


def _loaded(path):
    """The module of a file. Raises UserError."""
    name = f"{__package__}.outside.{path.stem}_{len(OUTSIDE)}"
    spec = importlib.util.spec_from_file_location(name, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise UserError(f"{VARIABLE}: {path}: there is no such file; must be the .py of a unit")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise UserError(f"{error.filename}:{error.lineno}: {error.msg}") from None
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
                 if frame.filename == str(path)]
        raise UserError(f"{path}:{lines[-1] if lines else 1}: {type(error).__name__}: "
                        f"{error}") from None
    return module


def _add_outside():
    paths = [pathlib.Path(text).absolute()
             for text in os.environ.get(VARIABLE, "").split(os.pathsep) if text]
    for path in paths:
        module = _loaded(path)
        unit = getattr(module, "VARIANT", None)
        if not isinstance(unit, GatherVariant):
            raise UserError(f"{path}: there is no VARIANT, the record of the unit")
        if unit.name in VARIANTS or not unit.name.isidentifier() or unit.name == "none":
            raise UserError(f"{path}: the unit's name {unit.name!r} is taken, or is no identifier")
        if not hasattr(module, unit.component):
            raise UserError(f"{path}: there is no class {unit.component}, the unit's component")
        VARIANTS[unit.name], OUTSIDE[unit.name] = unit, module
    if paths:
        os.environ[VARIABLE] = os.pathsep.join(map(str, paths))


#: {value of ``HardwareConfig.gather``: the unit's record}.
VARIANTS: dict[str, GatherVariant] = _variants()

#: {name of a unit outside of this folder: its module}.
OUTSIDE: dict[str, ModuleType] = {}

_add_outside()


def component(config):
    """The unit of a configuration, a :class:`hw.gather.unit.GatheringUnit`. Raises ConfigError if
    the configuration has none."""
    if config.unit is None:
        raise ConfigError("HardwareConfig: gather = 'none': there is no unit that hands out edges; "
                          f"must be {' or '.join(map(repr, VARIANTS))}")
    module = OUTSIDE.get(config.gather) or importlib.import_module(f".{config.gather}.unit",
                                                                   __package__)
    return getattr(module, config.unit.component)(config)


def source(name: str) -> bytes:
    """The text of a unit outside of this folder, for the names of what is built of it; empty for
    other units."""
    module = OUTSIDE.get(name)
    return pathlib.Path(str(module.__file__)).read_bytes() if module is not None else b""
