"""Files that Graphloom writes for its user. Every writer uses this module.

A reader of an output sees the old file or the new one, never half of one:

- A regular file, or a name that is free, is written beside its place under a name that nobody can
  guess, and moved there when it is complete. The new file has the mode and the owner of the old
  one. A new name gets the mode that the umask leaves.
- A symbolic link stays, and its target is written.
- A file with several hard links, or one whose owner this user cannot keep, stays the same file:
  its contents are replaced when the new contents are complete.
- A character device, a FIFO or an open descriptor (``/dev/null``, ``/dev/stdout``, ``/dev/fd/3``,
  the shell's ``>(...)``) is written as it is.
- Folders, block devices and sockets are refused.
"""

import contextlib
import errno
import fcntl
import io
import os
import secrets
import shutil
import signal
import stat
import sys
from collections.abc import Generator
from typing import BinaryIO

from sw.errors import UserError


__all__ = ["Output", "check", "descriptor", "identity", "replacing"]


#: The name of a file.
Path = str | os.PathLike[str]

#: Symbolic links that are followed from one name, as in Linux.
_LINKS = 40

#: Signals that end the program, which wait while the contents of a file are replaced.
_ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def _refusal(path: Path, error: OSError) -> UserError:
    return UserError(f"{path}: cannot be written: {error.strerror or error}")


def descriptor(path: Path) -> int | None:
    """The number of the descriptor of this process that a path names, as ``/dev/stdout`` does, or
    None."""
    path = os.fspath(path)
    folders = {os.path.realpath(name) for name in ("/proc/self/fd", "/proc/thread-self/fd",
                                                   "/dev/fd")}
    for _ in range(_LINKS):
        folder, name = os.path.split(path)
        if name.isascii() and name.isdecimal() and os.path.realpath(folder) in folders:
            return int(name)
        try:
            path = os.path.join(folder, os.readlink(path))
        except OSError:
            return None
    return None


class _Place:
    """The place that an output's name leads to.

    Attributes
    ----------
    descriptor : int or None
        The descriptor of this process that the name names, if any.
    path : str
        The path without symbolic links.
    status : os.stat_result or None
        Status of the existing file; None if there is none yet.
    """

    def __init__(self, name: Path) -> None:
        name = os.fspath(name)
        if not name:
            raise UserError("the name of a file to write is empty")
        if "\0" in name:
            raise UserError(f"{name!r}: the name of a file cannot have a NUL character")
        self.path = os.path.realpath(name)
        self.status: os.stat_result | None = None
        self.descriptor = descriptor(name)
        if self.descriptor is not None:
            self.status = os.fstat(self.descriptor)
            if fcntl.fcntl(self.descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                raise OSError(errno.EBADF, "it is open for reading only")
            return
        folder = os.path.dirname(name) or "."
        if not os.path.isdir(folder):
            raise UserError(f"{name}: cannot be written: there is no folder {folder}")
        with contextlib.suppress(FileNotFoundError):
            self.status = os.stat(name)
        for wrong, what in ((stat.S_ISDIR, "a folder"), (stat.S_ISBLK, "a block device"),
                            (stat.S_ISSOCK, "a socket")):
            if self.status is not None and wrong(self.status.st_mode):
                raise UserError(f"{name}: cannot be written: it is {what}")
        if self.status is not None and not os.access(self.path, os.W_OK):
            raise OSError(errno.EACCES, "it is read-only")

    @property
    def is_file(self) -> bool:
        """Whether the output is a regular file, which is replaced as a whole."""
        return self.descriptor is None and (self.status is None
                                            or stat.S_ISREG(self.status.st_mode))

    def beside(self) -> tuple[str, int]:
        """Create a file beside the place. Returns its path and its descriptor."""
        path = os.path.join(os.path.dirname(self.path),
                            f".graphloom-{secrets.token_hex(8)}.part")
        mode = 0o666 if self.status is None else 0o600
        return path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
                             | os.O_CLOEXEC, mode)

    def through(self) -> int:
        """A descriptor of a device, a FIFO or what is open already."""
        if self.descriptor is None:
            return os.open(self.path, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
        for stream in (sys.stdout, sys.stderr):       # what was printed before comes before
            if stream is not None:
                stream.flush()
        return os.dup(self.descriptor)


class _Through(io.FileIO):
    """A device, a FIFO or a file that is open already: written from where it stands, in order.
    Some devices answer where they stand, and answer always the same."""

    def seekable(self) -> bool:
        return False

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        raise io.UnsupportedOperation("seek")

    def tell(self) -> int:
        raise io.UnsupportedOperation("tell")


class Output:
    """A file that is being written.

    Parameters
    ----------
    path : str or path
        Its name. A FIFO is waited for until somebody reads it.

    Attributes
    ----------
    name : str
        As given.
    stream : binary file
        Where the contents are written.

    Raises
    ------
    UserError
        If the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.name = os.fspath(path)
        self._beside: str | None = None
        self.stream: BinaryIO
        try:
            self._place = _Place(path)
            if self._place.is_file:
                self._beside, opened = self._place.beside()
                self.stream = os.fdopen(opened, "w+b")
            else:
                self.stream = io.BufferedWriter(_Through(self._place.through(), "wb"))
        except OSError as error:
            raise _refusal(self.name, error) from None

    def fileno(self) -> int:
        """The descriptor behind :attr:`stream`."""
        return self.stream.fileno()

    def commit(self) -> None:
        """End the file and put it in its place. Raises UserError, and then leaves nothing."""
        try:
            self.stream.flush()
            if self._beside is not None:
                os.fsync(self.fileno())
                if self._keep_owner():
                    self.stream.close()
                    os.replace(self._beside, self._place.path)
                    self._beside = None
                else:
                    self._rewrite()
            self.stream.close()
        except OSError as error:
            raise _refusal(self.name, error) from None
        finally:
            self.discard()

    def discard(self) -> None:
        """Give up what was written, unless :meth:`commit` has put it in its place."""
        if self._beside is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._beside)
            self._beside = None
        with contextlib.suppress(OSError):
            self.stream.close()

    def _keep_owner(self) -> bool:
        """Give the new file the owner and mode of the old one; False if it must not replace it."""
        old = self._place.status
        if old is None:
            return True
        if old.st_nlink > 1:
            return False
        new = os.fstat(self.fileno())
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            try:
                os.fchown(self.fileno(), old.st_uid, old.st_gid)
            except PermissionError:
                return False
        os.fchmod(self.fileno(), stat.S_IMODE(old.st_mode))
        return True

    def _rewrite(self) -> None:
        """Replace the contents of the old file. Its room is made first, so that a full disk or a
        limit leaves the old contents."""
        size = os.fstat(self.fileno()).st_size
        with open(self._place.path, "r+b") as file, _undisturbed():
            old = os.fstat(file.fileno()).st_size
            if size > old:
                try:
                    os.posix_fallocate(file.fileno(), old, size - old)
                except OSError:
                    os.ftruncate(file.fileno(), old)
                    raise
            self.stream.seek(0)
            shutil.copyfileobj(self.stream, file)
            file.truncate(size)
            file.flush()
            os.fsync(file.fileno())


@contextlib.contextmanager
def _undisturbed() -> Generator[None]:
    """Hold back the signals that end the program."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def replacing(path: Path) -> Generator[BinaryIO]:
    """A binary stream whose contents are put in the place of ``path`` when the block ends well.

    If the block raises, nothing is left behind and ``path`` stays as it was.

    Raises
    ------
    UserError
        On entry, or later, if the file cannot be written.
    """
    output = Output(path)
    try:
        yield output.stream
        output.commit()
    except OSError as error:
        raise _refusal(output.name, error) from None
    finally:
        output.discard()


def check(path: str | None, suffixes: tuple[str, ...] = ()) -> None:
    """Refuse an output that cannot be written, by trying.

    Parameters
    ----------
    path : str or None
        None is accepted: the option was not given.
    suffixes : tuple of str
        Endings of which the name must have one. A device may have any name, unless the ending
        chooses between several formats.

    Raises
    ------
    UserError
        Naming the path and the reason.
    """
    if path is None:
        return
    try:
        place = _Place(path)
        if suffixes and not path.lower().endswith(suffixes) and (place.is_file
                                                                 or len(suffixes) > 1):
            raise UserError(f"{path}: the name must end in {' or '.join(suffixes)}")
        if place.is_file:
            beside, opened = place.beside()
            os.close(opened)
            os.unlink(beside)
    except OSError as error:
        raise _refusal(path, error) from None


def identity(path: Path) -> str | tuple[int, int] | None:
    """A value that is the same for all names of one file.

    Symbolic and hard links of a file have the same. None for a character device, which any number
    of outputs may share, and for a name that leads nowhere.
    """
    number = descriptor(path)
    try:
        status = os.stat(path) if number is None else os.fstat(number)
    except FileNotFoundError:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return None
    return None if stat.S_ISCHR(status.st_mode) else (status.st_dev, status.st_ino)
