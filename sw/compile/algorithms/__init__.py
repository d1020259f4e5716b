"""Algorithms: the computation along edges and at vertices.

An algorithm is a program of the language (:mod:`sw.lang`): one of :mod:`sw.lang.programs`, or
``FILE.py``, ``FILE.py:NAME`` of several in a file, or ``FILE.gt``. Or it is a module of this
folder, written by hand, that has a class with a ``name``.
"""

from __future__ import annotations

import functools
import pathlib
from typing import TYPE_CHECKING

from base.errors import UserError
from sw.compile import registry
from sw.lang import programs

if TYPE_CHECKING:
    from sw.compile.algorithm import Algorithm


__all__ = ["names", "find"]


#: The programs that stand in lists of algorithms: those of the papers' figures.
_LISTED = ("bfs", "cc", "pagerank", "sssp")


def names() -> list[str]:
    """Names of the algorithms that lists, benchmarks and campaigns go through."""
    return sorted({*registry.names(__name__, "algorithm"), *_LISTED})


def find(name: str) -> type[Algorithm]:
    """The class of that name. Raises UserError naming those there are."""
    if name in registry.names(__name__, "algorithm"):
        return registry.find(__name__, "algorithm", name)
    file, _, which = name.partition(".py:")
    if which or name.endswith((".py", ".gt")):
        path = pathlib.Path(f"{file}.py" if which else name)
        # A file that has changed is read again.
        return _program(str(path), path.stat().st_mtime_ns if path.exists() else 0, which or None)
    if name not in programs.names():
        raise UserError(f"there is no algorithm {name!r}; there are "
                        f"{', '.join(sorted({*names(), *programs.names()}))}, or a file NAME.py "
                        "or NAME.gt with a program")
    return _named(name)


@functools.cache
def _named(name: str) -> type[Algorithm]:
    """The class of one of :mod:`sw.lang.programs`, whose results have a check of their own."""
    from sw.golden.results import CHECKS
    from sw.compile.lower.algorithm import algorithm_of
    return algorithm_of(programs.find(name), CHECKS.get(name))


@functools.cache
def _program(path: str, changed: int, name: str | None) -> type[Algorithm]:
    """The class of a program of a user's, in a file that was ``changed`` at that time."""
    from sw.compile.lower.algorithm import algorithm_of
    return algorithm_of(programs.open_program(path, name)[0])
