"""Copies of the source tree, and patches that are applied to them."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

from base.errors import UserError


__all__ = ["apply", "copy", "files"]


#: Folders that a tree without history has beside its sources.
_NOT_SOURCES = ("__pycache__", "node_modules")


def _run(arguments, folder):
    """Run git in a folder as if no repository were around it. Raises UserError if there is no
    git."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("GIT_")} | {"LC_ALL": "C"}
    try:
        return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True,
                              check=False, env=environment, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise UserError("applying a patch needs git, which is not installed "
                        "(Debian: apt-get install git)") from None


def _tracked(root):
    """Files of the repository whose top folder is ``root``, or None if ``root`` is not one."""
    if not (root / ".git").exists():
        return None
    done = _run(["ls-files", "-z"], root)
    return done.stdout.rstrip("\0").split("\0") if done.returncode == 0 else None


def files(root: pathlib.Path) -> list[pathlib.PurePath]:
    """The files of a source tree, relative to its folder, in the order of their names.

    These are the files that git tracks and that are there. A tree without history, such as an
    unpacked sdist, has all files but those in folders of tools.
    """
    tracked = _tracked(root)
    if tracked is not None:
        return sorted(pathlib.PurePath(name) for name in tracked if (root / name).is_file())
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders
                      if not name.startswith(".") and name not in _NOT_SOURCES]
        place = pathlib.PurePath(folder).relative_to(root)
        found += [place / name for name in names if not name.endswith(".pyc")]
    return sorted(found)


def copy(root: pathlib.Path, folder: pathlib.Path) -> None:
    """Copy the files of a source tree into a folder, as they are now."""
    for name in files(root):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, folder / name)


def apply(patch: pathlib.Path, folder: pathlib.Path) -> None:
    """Apply a patch to the files of a folder. Raises UserError, and changes nothing, if a part of
    the patch does not fit."""
    # git would take a folder within a repository for a part of the repository, and skip files.
    done = _run(["init", "--quiet"], folder)
    if done.returncode == 0:
        done = _run(["apply", "--whitespace=nowarn", str(patch)], folder)
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if line), "no reason given")
        raise UserError(f"{patch} does not apply to this tree: "
                        f"{reason.removeprefix('error: ')}; try a fresh checkout")
