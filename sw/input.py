"""Opening of the user's files, which are checked before they are opened.

A device may have no end, and a named pipe without a writer would block. So both are refused by
name. A pipe that another program already writes to (``/dev/stdin``, a shell's ``<(...)``) can be
read from start to end.
"""

import io
import os
import stat

from sw.errors import UserError


__all__ = ["open_file"]


def open_file(path: str | os.PathLike[str], pipes: bool = False) -> io.FileIO:
    """A binary file without a buffer, open for reading.

    Parameters
    ----------
    path : str or path
    pipes : bool
        Whether a pipe that is already open is allowed. A pipe cannot seek.

    Raises
    ------
    UserError
        If the path names neither a regular file nor such a pipe.
    OSError
        If there is no such file, or it may not be read.
    """
    path = os.fspath(path)
    mode = os.stat(path).st_mode
    reason = None
    if stat.S_ISDIR(mode):
        reason = "it is a folder"
    elif stat.S_ISFIFO(mode):
        if os.path.exists(os.path.realpath(path)):
            reason = "it is a named pipe" + "; write into the command, and name /dev/stdin" * pipes
        elif not pipes:
            reason = "it is a pipe, must be a file"
    elif not stat.S_ISREG(mode):
        reason = "it is a device or socket, not a file"
    if reason is not None:
        raise UserError(f"{path}: cannot be read: {reason}")
    return open(path, "rb", buffering=0)
