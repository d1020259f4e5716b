"""Folders for the time that a command runs.

A folder is removed at the end of its context, also if a signal ends the command. A process that is
killed cannot clean up: the next folder of the same purpose removes what such processes have left.
A lock on a file in the folder says that its process lives.
"""

import contextlib
import fcntl
import os
import pathlib
import shutil
import tempfile
from collections.abc import Generator


__all__ = ["folder"]


#: Name of the file whose lock says that a folder is used.
_LOCK = ".in-use"


def _is_left(path: str) -> bool:
    """Whether a folder is this user's and its process has ended."""
    if os.path.islink(path) or os.stat(path).st_uid != os.getuid():
        return False
    with open(os.path.join(path, _LOCK), "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True


@contextlib.contextmanager
def folder(purpose: str) -> Generator[pathlib.Path]:
    """An empty folder ``graphloom-PURPOSE-...`` among the system's temporary files, which only this
    user can enter, and which is removed at the end of the context."""
    prefix = f"graphloom-{purpose}-"
    with os.scandir(tempfile.gettempdir()) as entries:
        others = [entry.path for entry in entries if entry.name.startswith(prefix)]
    for path in others:
        with contextlib.suppress(OSError):              # another process is faster, or uses it
            if _is_left(path):
                shutil.rmtree(path, ignore_errors=True)
    # The lock is made and held beside the folder's place, before anybody can see the folder there.
    made = pathlib.Path(tempfile.mkdtemp(prefix="graphloom-new-"))
    place = made.with_name(made.name.replace("graphloom-new-", prefix))
    try:
        with open(made / _LOCK, "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            made.rename(place)
            yield place
    finally:
        for path in (made, place):
            shutil.rmtree(path, ignore_errors=True)
