"""Algorithms: what is computed along edges and at vertices.

Every module of this folder that has a class with a ``name`` is found; nothing else lists them.
"""

from sw.kernels import registry


__all__ = ["names", "find"]


def names() -> list[str]:
    """Names of all algorithms."""
    return registry.names(__name__, "algorithm")


def find(name):
    """The class of that name. Raises UserError naming those there are."""
    return registry.find(__name__, "algorithm", name)
