"""Finding the modules of a package: a new schedule, format or algorithm is one new file."""

import functools
import importlib
import pkgutil

from sw.errors import UserError


__all__ = ["names", "find"]


@functools.cache
def _classes(package, what):
    found = {}
    module = importlib.import_module(package)
    for entry in pkgutil.iter_modules(module.__path__):
        part = importlib.import_module(f"{package}.{entry.name}")
        for value in vars(part).values():
            if isinstance(value, type) and value.__module__ == part.__name__ \
                    and getattr(value, "name", None):
                if value.name in found:
                    raise TypeError(f"two {what}s are named {value.name!r}")
                found[value.name] = value
    return dict(sorted(found.items()))


def names(package, what) -> list[str]:
    """The names that :func:`find` knows."""
    return list(_classes(package, what))


def find(package, what, name):
    """The class in ``package`` whose ``name`` is that. UserError if there is none."""
    classes = _classes(package, what)
    if name not in classes:
        raise UserError(f"no {what} {name!r}; there are {', '.join(classes)}")
    return classes[name]
