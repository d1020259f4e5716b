"""Checks of exercises: of the tree as it is, or of a copy with the solution applied."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from base import scratch
from sim.children import tied

from . import copies

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator, Sequence

    from . import Exercise


__all__ = ["environment", "solved", "verdict"]


@contextlib.contextmanager
def solved(exercise: Exercise, root: pathlib.Path) -> Iterator[pathlib.Path]:
    """A copy of the tree with the solution of an exercise applied, while the context lasts.

    Raises UserError if the solution does not apply.
    """
    with scratch.folder("course") as folder:
        copies.copy(root, folder)
        copies.apply(root / exercise.patch, folder)
        yield folder


def environment(root: pathlib.Path) -> dict[str, str]:
    """The environment in which Python finds the modules of a tree and no others of the project."""
    return {**os.environ, "PYTHONPATH": str(root), "PYTHONSAFEPATH": "1",
            "PYTHONDONTWRITEBYTECODE": "1"}


def verdict(exercise: Exercise, root: pathlib.Path, extra: Sequence[str] = ()) -> int:
    """Run the check of an exercise in a tree, with this process' Python and standard output.

    Returns pytest's exit code: 0 if the exercise is solved, 1 if not. ``extra`` are further
    arguments of pytest.
    """
    with scratch.folder("course-cache") as cache:
        pytest = subprocess.Popen(
            [sys.executable, "-m", "pytest", "--quiet", "--tb=short", "-o", f"cache_dir={cache}",
             *extra, str(exercise.check)],
            cwd=root, env=environment(root), preexec_fn=tied(), stdin=subprocess.DEVNULL)
        try:
            return pytest.wait()
        except KeyboardInterrupt:
            pytest.terminate()
            pytest.wait()
            raise
