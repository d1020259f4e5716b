"""Algorithms: the computation along edges and at vertices.

Every module of this folder that has a class with a ``name`` is found. There is no other list. A
name that none of them has is that of a program of the language (:mod:`sw.lang`): one of
:mod:`sw.lang.programs`, or ``FILE.py``, ``FILE.py:NAME`` of several in a file, or ``FILE.gt``.
"""

from __future__ import annotations

import functools
import pathlib
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
    file, _, which = name.partition(".py:")
    if which or name.endswith((".py", ".gt")):
        path = pathlib.Path(f"{file}.py" if which else name)
        # A file that has changed is read again.
        return _program(str(path), path.stat().st_mtime_ns if path.exists() else 0, which or None)
    from sw.lang import programs
    if name not in programs.names():
        raise UserError(f"there is no algorithm {name!r}; there are "
                        f"{', '.join(sorted({*names(), *programs.names()}))}, or a file NAME.py "
                        "or NAME.gt with a program")
    return _program(str(programs.path(name)), 0, name)


@functools.cache
def _program(path: str, changed: int, name: str | None) -> type[Algorithm]:
    """The class of a program of the language, in a file that was ``changed`` at that time."""
    from sw.lang.programs import open_program
    from sw.vm.rtl.forms import algorithm_of
    return algorithm_of(open_program(path, name)[0])
