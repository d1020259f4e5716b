"""``graphloom course``: exercises for students, checked on the tree or with their solution."""

import contextlib
from typing import Annotated

import typer

from base.errors import UserError
from base.installation import ROOT, need, need_tree

from .commands import App


__all__ = ["app"]


app = App(help="Exercises for students, with checks and solutions.", no_args_is_help=True)


@app.command("list", epilog="Example: graphloom course list")
def _list():
    """List the exercises, each with its page."""
    from checks.course import EXERCISES
    need_tree("graphloom course list")
    for exercise in EXERCISES:
        print(f"{exercise.name:12} {exercise.task}\n{'':12} {exercise.page}")


@app.command("check", epilog="Exit code: 0 if solved, 1 if not yet. Examples: graphloom course "
             "check counter; graphloom course check counter --solution")
def _check(
        name: Annotated[str, typer.Argument(
            metavar="NAME", help="A name of `graphloom course list`.")],
        solution: Annotated[bool, typer.Option(
            "--solution", help="Check a copy of the tree to which the solution was applied. The "
            "tree itself stays as it is.")] = False):
    """Check your work on an exercise: the tree as you have changed it."""
    from checks.course import find
    from checks.course.checks import solved, verdict
    need_tree(f"graphloom course check {name}")
    need("graphloom course check", "pytest")
    exercise = find(name)
    with solved(exercise, ROOT) if solution else contextlib.nullcontext(ROOT) as folder:
        print(f"Checking {name}{' with its solution' * solution}: hardware that changed is built "
              "first, which takes up to a minute", flush=True)
        code = verdict(exercise, folder)
    if code == 0:
        print(f"{name}: solved")
        return 0
    if code in (1, 2):                  # 2: the check, or what it imports, cannot be imported
        print(f"{name}: not yet; the lines above say what is missing, {exercise.page} has hints")
        return 1
    raise UserError(f"the check of {name} stopped with pytest's exit code {code}; its lines are "
                    "above")
