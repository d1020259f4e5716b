"""The records of the units that can hand out edges. Each folder here is a unit; nothing else lists
them."""

import importlib
import pkgutil

from hw import gather
from hw.gather.variant import GatherVariant


__all__ = ["VARIANTS"]


def _variants():
    found = [importlib.import_module(f"{gather.__name__}.{module.name}").VARIANT
             for module in pkgutil.iter_modules(gather.__path__) if module.ispkg]
    # The Weavers go first.
    return {unit.name: unit for unit in sorted(
        found, key=lambda unit: (unit.reads_memory, unit.name))}


#: {value of ``HardwareConfig.gather``: the unit's record}.
VARIANTS: dict[str, GatherVariant] = _variants()
