"""Files that Graphloom writes for its user. Every writer uses this module.

A reader of an output sees the old file or the new one, never half of one:

- A regular file, or a name that is free, is written beside its place under a name that nobody can
  guess, and moved there when it is complete. The new file has the mode of the old one, and its
  owner if this user may give files away. A new name gets the mode that the umask leaves.
- A symbolic link stays, and its target is replaced.
- A character device, a FIFO or an open descriptor (``/dev/null``, ``/dev/stdout``, ``/dev/fd/3``,
  the shell's ``>(...)``) is written as it is.
- Folders, block devices and sockets are refused.

A folder that is made as a whole (a report, a site) replaces an empty folder or an earlier one of
its kind when it is complete (:func:`replacing_folder`).
"""

import contextlib
import errno
import fcntl
import io
import os
import pathlib
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable
from typing import BinaryIO

from base.errors import UserError


__all__ = ["Output", "check", "check_folder", "descriptor", "identity", "marked_by",
           "replacing", "replacing_folder"]


#: The name of a file.
Path = str | os.PathLike[str]

#: Symbolic links that are followed from one name, as in Linux.
_LINKS = 40

_DESCRIPTOR = re.compile(r"/(?:dev|proc/(?:thread-)?self)/fd/([0-9]+)")

_REFUSED = ((stat.S_ISDIR, "a folder"), (stat.S_ISBLK, "a block device"),
            (stat.S_ISSOCK, "a socket"))


def _refusal(path: Path, error: OSError) -> UserError:
    return UserError(f"{path}: cannot be written: {error.strerror or error}")


def descriptor(path: Path) -> int | None:
    """The number of the descriptor of this process that a path names, as ``/dev/stdout`` does, or
    None."""
    path = os.fspath(path)
    for _ in range(_LINKS):
        if match := _DESCRIPTOR.fullmatch(path):
            return int(match[1])
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except OSError:
            break
    return None


class _Place:
    """The place that the name of an output leads to. Raises UserError and OSError if it cannot be
    written."""

    def __init__(self, name: Path) -> None:
        name = os.fspath(name)
        if not name:
            raise UserError("the name of a file to write is empty")
        if "\0" in name:
            raise UserError(f"{name!r}: the name of a file cannot have a NUL character")
        #: The path without symbolic links.
        self.path = os.path.realpath(name)
        #: Status of the existing file; None if there is none yet.
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
        if self.status is None:
            return
        for wrong, what in _REFUSED:
            if wrong(self.status.st_mode):
                raise UserError(f"{name}: cannot be written: it is {what}")
        if not os.access(self.path, os.W_OK):
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
        return path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC,
                             0o666 if self.status is None else 0o600)

    def through(self) -> int:
        """A descriptor of a device, a FIFO or an open file."""
        if self.descriptor is None:
            return os.open(self.path, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
        for stream in (sys.stdout, sys.stderr):       # what was printed before comes before
            if stream is not None:
                stream.flush()
        return os.dup(self.descriptor)


class _Through(io.FileIO):
    """A device, a FIFO or an open file: written in order. ``/dev/null`` would say that it is always
    at 0."""

    def seekable(self) -> bool:
        return False

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
                if (old := self._place.status) is not None:
                    with contextlib.suppress(PermissionError):
                        os.fchown(self.fileno(), old.st_uid, old.st_gid)
                    os.fchmod(self.fileno(), stat.S_IMODE(old.st_mode))
                os.replace(self._beside, self._place.path)
                self._beside = None
            self.stream.close()
        except OSError as error:
            raise _refusal(self.name, error) from None
        finally:
            self.discard()

    def discard(self) -> None:
        """Give up what was written, unless :meth:`commit` has put it in its place."""
        with contextlib.suppress(OSError):
            if self._beside is not None:
                os.unlink(self._beside)
        self._beside = None
        with contextlib.suppress(OSError):
            self.stream.close()


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


def check_folder(folder: Path, option: str,
                 foreign: Callable[[pathlib.Path], Iterable[str]]) -> pathlib.Path:
    """Refuse a folder that cannot be replaced as a whole.

    Parameters
    ----------
    folder : str or path
        A new name, an empty folder, or an earlier folder of the same kind.
    option : str
        The option that names it, for messages.
    foreign : callable
        Called with a folder that exists; gives the names in it that nothing of this kind has made.

    Returns
    -------
    pathlib.Path
        The folder without symbolic links.

    Raises
    ------
    UserError
        Naming the option, the folder and the reason.
    """
    try:
        target = pathlib.Path(folder).resolve()
        if not target.parent.is_dir():
            raise UserError(f"{option} {folder}: there is no folder {target.parent}")
        if target.exists() and not target.is_dir():
            raise UserError(f"{option} {folder}: it is no folder; name a new folder")
        for place in (target.parent, target):
            if place.exists() and not os.access(place, os.W_OK):
                raise UserError(f"{option} {folder}: cannot be written: {place} is read-only")
        others = list(foreign(target)) if target.is_dir() else []
        if others:
            raise UserError(f"{option} {folder}: the folder holds other files, such as "
                            f"{others[0]}; name a new folder")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"{option} {folder}: cannot be written: {reason}") from None
    return target


@contextlib.contextmanager
def replacing_folder(folder: Path, option: str,
                     foreign: Callable[[pathlib.Path], Iterable[str]]) -> Generator[pathlib.Path]:
    """An empty folder that is put in the place of ``folder`` when the block ends well. Parameters
    and errors are those of :func:`check_folder`.

    If the block raises, nothing is left behind and ``folder`` stays as it was.
    """
    target = check_folder(folder, option, foreign)
    room = None
    try:
        room = pathlib.Path(tempfile.mkdtemp(prefix=".graphloom-", dir=target.parent))
        made, before = room / "made", room / "before"
        made.mkdir()
        yield made
        if target.exists():
            target.rename(before)
        try:
            made.rename(target)
        except BaseException:
            if before.exists():
                before.rename(target)
            raise
    except OSError as error:
        raise UserError(f"{option} {folder}: cannot be written: {error.strerror}") from None
    finally:
        if room is not None:
            shutil.rmtree(room, ignore_errors=True)


def marked_by(mark: str) -> Callable[[pathlib.Path], Iterable[str]]:
    """The argument ``foreign`` for folders of which each has a file ``mark``: all names in a folder
    without that file."""
    return lambda target: [] if (target / mark).exists() else sorted(os.listdir(target))
