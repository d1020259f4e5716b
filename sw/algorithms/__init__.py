"""Algorithms: the computation along edges and at vertices.

Every module of this folder that has a class with a ``name`` is found. There is no other list. A
name that none of them has is that of a program of the language (:mod:`sw.lang`): one of
:mod:`sw.lang.programs`, or a file whose name ends in ``.py``.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from sw.errors import UserError
from sw.kernels import registry

if TYPE_CHECKING:
    from sw.kernels.algorithm import Algorithm


__all__ = ["names", "find"]


def names() -> list[str]:
    """Names of all algorithms."""
    return registry.names(__name__, "algorithm")


def find(name: str) -> type[Algorithm]:
    """The class of that name. Raises UserError naming those there are."""
    if name in names():
        return registry.find(__name__, "algorithm", name)
    return _program(name)


@functools.cache
def _program(name: str) -> type[Algorithm]:
    """The class of a program of the language."""
    from sw.lang import programs
    from sw.lang.reader import read_file
    from sw.vm.rtl.algorithm import algorithm_of
    if name.endswith(".py"):
        return algorithm_of(read_file(name))
    if name not in programs.names():
        raise UserError(f"there is no algorithm {name!r}; there are "
                        f"{', '.join(sorted({*names(), *programs.names()}))}, or a file NAME.py "
                        "with a program")
    return algorithm_of(programs.find(name))
