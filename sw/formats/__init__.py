"""Storage formats: how a graph lies in the device's memory, and how a kernel reads it.

Every module of this folder that has a class with a ``name`` is found; nothing else lists them.
"""

from sw.kernels import registry


__all__ = ["names", "find"]


def names() -> list[str]:
    """What there is."""
    return registry.names(__name__, "format")


def find(name):
    """The class of that name. Raises UserError naming those there are."""
    return registry.find(__name__, "format", name)
