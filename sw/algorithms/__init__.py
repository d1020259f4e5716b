"""Algorithms: the computation along edges and at vertices.

Every module of this folder that has a class with a ``name`` is found. There is no other list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sw.kernels import registry

if TYPE_CHECKING:
    from sw.algorithms.algorithm import Algorithm


__all__ = ["names", "find"]


def names() -> list[str]:
    """Names of all algorithms."""
    return registry.names(__name__, "algorithm")


def find(name: str) -> type[Algorithm]:
    """The class of that name. Raises UserError naming those there are."""
    return registry.find(__name__, "algorithm", name)
