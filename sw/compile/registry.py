"""Finding the modules of a package: a new schedule, format or algorithm is one new file."""

import functools
import importlib
import pkgutil
from typing import Any

from base.errors import UserError


__all__ = ["names", "find"]


@functools.cache
def _classes(package: str, what: str, attribute: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    module = importlib.import_module(package)
    for entry in pkgutil.iter_modules(module.__path__):
        part = importlib.import_module(f"{package}.{entry.name}")
        for value in vars(part).values():
            if not isinstance(value, type) \
                    or not f"{value.__module__}.".startswith(f"{part.__name__}."):
                continue
            name = getattr(value, attribute, None)
            if name:
                if name in found:
                    raise TypeError(f"two {what}s are named {name!r}")
                found[name] = value
    return dict(sorted(found.items()))


def names(package: str, what: str, attribute: str = "name") -> list[str]:
    """The names that :func:`find` knows."""
    return list(_classes(package, what, attribute))


def find(package: str, what: str, name: str, attribute: str = "name") -> Any:
    """The class in ``package`` whose ``attribute`` is ``name``: one that a module of the package
    has, or a package in it. UserError if there is none."""
    classes = _classes(package, what, attribute)
    if name not in classes:
        raise UserError(f"there is no {what} {name!r}; there are {', '.join(classes)}")
    return classes[name]
