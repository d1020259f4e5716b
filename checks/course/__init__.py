"""The course: exercises, their checks, and their solutions.

An exercise has a page, ``docs/course/NAME.md``, and a folder, ``examples/course/NAME``. The folder
has a check, which is a file of pytest, and a solution, which is a patch with an explanation. A
check looks at the tree in which it runs. So a student runs the check on the tree that the student
has changed, and the solution is checked in a copy of the tree to which the patch was applied.
"""

from __future__ import annotations

import dataclasses
import pathlib

from base.errors import UserError


__all__ = ["EXERCISES", "Exercise", "find"]


@dataclasses.dataclass(frozen=True)
class Exercise:
    """An exercise of the course."""
    name: str  #: Its name on the command line.
    task: str  #: The task in a line.

    @property
    def page(self) -> pathlib.PurePosixPath:
        """The page, relative to the tree."""
        return pathlib.PurePosixPath("docs/course") / f"{self.name}.md"

    @property
    def folder(self) -> pathlib.PurePosixPath:
        """The folder of check and solution, relative to the tree."""
        return pathlib.PurePosixPath("examples/course") / self.name

    @property
    def check(self) -> pathlib.PurePosixPath:
        """The file of tests, relative to the tree."""
        return self.folder / f"test_{self.name}.py"

    @property
    def patch(self) -> pathlib.PurePosixPath:
        """The solution, relative to the tree."""
        return self.folder / "solution.patch"


#: The exercises in their order.
EXERCISES = (
    Exercise("trace", "read a trace: which warp stalls, and when do lanes part"),
    Exercise("counter", "add a performance counter that agrees with model and trace"),
    Exercise("instruction", "add an instruction to table, ALU, simulator and tests"),
    Exercise("schedule", "add a schedule: all lanes of a warp share a row"),
    Exercise("cache", "give the caches another replacement, and explain the counters"),
    Exercise("unit", "add a unit that hands out two edges a cycle"),
)


def find(name: str) -> Exercise:
    """The exercise of a name. Raises UserError if there is none."""
    for exercise in EXERCISES:
        if exercise.name == name:
            return exercise
    raise UserError(f"no exercise is called {name!r}; there are "
                    + ", ".join(exercise.name for exercise in EXERCISES))
