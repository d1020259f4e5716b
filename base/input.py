"""Opening of the user's files, which are checked before they are opened.

A device may have no end, and a named pipe without a writer would block. So both are refused by
name. A pipe that another program already writes to (``/dev/stdin``, a shell's ``<(...)``) can be
read from start to end.
"""

import io
import os
import stat

from base.errors import UserError


__all__ = ["MOST_BYTES", "MOST_TEXT", "open_file", "read_bytes", "read_text"]


#: Bytes of the largest file that is read as a whole: of results, and of texts that people write.
MOST_BYTES, MOST_TEXT = 1 << 30, 16 << 20


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


def read_bytes(path: str | os.PathLike[str], most: int = MOST_BYTES) -> bytes:
    """The contents of a file; what grows while it is read is read up to ``most``.

    Raises
    ------
    UserError
        If the path names no file that can be read, or one of more than ``most`` bytes.
    """
    try:
        with open_file(path, pipes=True) as file:
            parts: list[bytes] = []
            left = most + 1
            while left and (part := file.read(min(left, 1 << 20))):
                parts.append(part)
                left -= len(part)
    except OSError as error:
        raise UserError(f"{os.fspath(path)}: cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise UserError(f"{os.fspath(path)!r}: is not the name of a file") from None
    if not left:
        raise UserError(f"{os.fspath(path)}: has more than {most >> 20:,} MiB, which is too much")
    return b"".join(parts)


def read_text(path: str | os.PathLike[str], most: int = MOST_TEXT) -> str:
    """The text of a file in UTF-8, with or without a byte-order mark, as :func:`read_bytes`. Ends
    of lines are those of Unix."""
    try:
        text = read_bytes(path, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{os.fspath(path)}: is no text in UTF-8: byte {error.start:,} cannot be "
                        "read") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
