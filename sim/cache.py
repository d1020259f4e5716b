"""The cache of everything that is built: simulators, Verilog, benches, netlists.

An entry is a folder ``ROOT/KIND/NAME``. Its name is a hash of everything that goes into it, so an
entry never changes. A build makes the entry in a temporary folder, writes the SHA-256 of each file
into :data:`DIGESTS` and renames the folder to its place. A process therefore sees a whole entry or
none. Each use checks the digests. A damaged entry is built again, and a line on standard error says
so. A lock per entry makes a second process wait for the first instead of doing the same work; the
lock ends with its process.

The cache holds code that is loaded. So the root, the folder of a kind, and all of an entry must
belong to the user or to root, and nobody else may be able to write them.
``GRAPHLOOM_CACHE_SHARED`` names a second cache that is read and never written; the same rule holds
for that cache.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import pathlib
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Callable

from .errors import ToolError


__all__ = ["DIGESTS", "digest", "entry", "folder", "hashed", "kept", "root", "shared", "writing"]


#: The file of an entry that holds the SHA-256 of each other file; ``sha256sum -c`` reads it.
DIGESTS = "SHA256SUMS"

#: An entry that was not used for so many seconds is deleted when another one is added.
_KEEP_SECONDS = 30 * 24 * 3600

#: A temporary folder that was not changed for so many seconds belongs to a build that was killed.
_WORK_SECONDS = 24 * 3600

#: What a program prints if it cannot write.
_NO_ROOM = [os.strerror(number) for number in
            (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)]

_ADVICE = "set GRAPHLOOM_CACHE to a folder that can be written"


def hashed(*parts: object) -> str:
    """A name for an entry: a hash of texts, bytes and whatever else has a text form."""
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:32]


def _say(text: str) -> None:
    """Write a line to standard error, if there is one."""
    with contextlib.suppress(OSError, ValueError):
        if sys.stderr is not None:
            print(f"graphloom: note: {text}", file=sys.stderr, flush=True)


# Folders

def _risk(status):
    """Why another user could change the file of this status, in words; None if nobody could."""
    if status.st_uid not in (os.geteuid(), 0):
        return "belongs to another user"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by others"
    return None


def _named(variable):
    """The absolute path that an environment variable names, or None."""
    text = os.environ.get(variable)
    if not text:
        return None
    path = os.path.expanduser(text)
    if path.startswith("~"):
        raise ToolError(f"{variable}={text!r} names the home folder of a user who has none: give "
                        "the folder's whole path")
    return pathlib.Path(path).absolute()


def _default():
    """The folder of the cache if ``GRAPHLOOM_CACHE`` does not name one."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):         # to be ignored then, by the specification of XDG
        base = os.path.expanduser("~/.cache")
    if not os.path.isabs(base):
        raise ToolError(f"HOME names no home folder to keep a cache in: {_ADVICE}")
    return pathlib.Path(base, "graphloom")


def root() -> pathlib.Path:
    """The folder of the cache, created if need be.

    ``GRAPHLOOM_CACHE`` if set, else ``graphloom`` in ``XDG_CACHE_HOME``, else in ``~/.cache``.

    Raises
    ------
    ToolError
        If the folder cannot be created, or another user could change what is in it.
    """
    return _created(_named("GRAPHLOOM_CACHE") or _default())


def folder(kind: str) -> pathlib.Path:
    """The folder of a kind of entries in the cache, created if need be. Raises ToolError."""
    return _created(root() / kind)


def kept(kind: str, name: str) -> pathlib.Path:
    """A folder for files that a command adds to, one by one; created if need be. Raises ToolError.

    Its files have no digests, so the code that reads a file has to check it.
    """
    path = _created(folder(kind) / name)
    with contextlib.suppress(OSError):
        os.utime(path)
    _forget_unused(path.parent)
    return path


def _created(path):
    """A folder that nobody else may write, made with its parents if it does not exist."""
    try:
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
        why = _risk(os.stat(path))
    except OSError as error:
        raise ToolError(f"cannot create the cache folder {path}: {error.strerror}: "
                        f"{_ADVICE}") from None
    if why is not None:
        raise ToolError(f"the cache folder {path} {why}, and programs in this folder are run: make "
                        "it yours alone (chown, chmod go-w), or set GRAPHLOOM_CACHE to a folder of "
                        "your own")
    return path


def shared() -> pathlib.Path | None:
    """The folder of the shared cache, which ``GRAPHLOOM_CACHE_SHARED`` names; None if it does not.

    Raises
    ------
    ToolError
        If there is no such folder, or another user than root could change what is in it.
    """
    path = _named("GRAPHLOOM_CACHE_SHARED")
    if path is None:
        return None
    try:
        why = _risk(os.stat(path)) if path.is_dir() else "is no folder"
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    if why is not None:
        raise ToolError(f"GRAPHLOOM_CACHE_SHARED={str(path)!r} {why}: name a folder that belongs "
                        "to root or to you and that nobody else can write")
    return path


# Writing

@contextlib.contextmanager
def writing(place):
    """A context in which a folder of the cache is written. A failed write raises ToolError.

    A failed program counts as a failed write if its output says that there is no room.
    """
    try:
        yield
    except ToolError:
        raise
    except Exception as error:
        why = next((text for text in _NO_ROOM if text in str(error)), None)
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            why = error.strerror
        if why is None:
            raise
        raise ToolError(f"cannot write the cache folder {place}: {why}: make room in it, or "
                        f"{_ADVICE}") from None


def _private_mode(path):
    """Remove the permission to write from all others."""
    os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) & ~0o022)


# Entries

def digest(path: pathlib.Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(place):
    """The files of an entry except the digests, by their path within it, in a fixed order."""
    return {path.relative_to(place).as_posix(): path for path in sorted(place.rglob("*"))
            if not path.is_dir() and path != place / DIGESTS}


def _seal(work):
    """Write the digests of the built files, which nobody else may write."""
    (work / DIGESTS).write_text("".join(f"{digest(path)}  {name}\n"
                                        for name, path in _files(work).items()))
    for path in work.rglob("*"):
        _private_mode(path)


_ABSENT = "is not there"


def _fault(place):
    """The damage of an entry, in words; None if the entry is whole."""
    try:
        status = os.lstat(place)
    except OSError:
        return _ABSENT
    if not stat.S_ISDIR(status.st_mode):
        return "is no folder"
    try:
        wanted = dict(line.split("  ", 1)[::-1]
                      for line in (place / DIGESTS).read_text().splitlines())
        found = _files(place)
        for path in (place, *place.rglob("*")):
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                return f"{path.name} is a link"
            why = _risk(status)
            if why is not None:
                return f"{path.name} {why}"
        for name in {**wanted, **found}:
            if name not in found:
                return f"{name} is missing"
            if wanted.get(name) != digest(found[name]):
                return f"{name} has changed since its build"
    except (OSError, ValueError):
        return "the entry cannot be read"
    return None


def _remove(path):
    """Delete a file or a folder. Parts that cannot be deleted stay."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def _forget_unused(where):
    """Delete entries that were not used for a month, and the folders of killed builds."""
    now = time.time()
    for path in where.iterdir():
        with contextlib.suppress(OSError):
            age = now - path.lstat().st_mtime
            if age > (_WORK_SECONDS if path.suffix == ".tmp" else _KEEP_SECONDS):
                _remove(path)


@contextlib.contextmanager
def _lock(path, what):
    """Hold a lock file, which names the process that holds it."""
    # The file is not emptied before the lock is held, because it names the process that holds it.
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    with open(handle, "r+", encoding="ascii", errors="replace") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = file.read(20).strip()
            if owner != str(os.getpid()):               # another thread builds the same
                number = f" (pid {owner})" if owner.isdecimal() else ""
                _say(f"waiting for another process that builds the same {what}{number}")
            fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def entry(kind: str, name: str, make: Callable[[pathlib.Path], object], *,
          what: str) -> pathlib.Path:
    """The folder of an entry, built if there is none or if it is damaged.

    Parameters
    ----------
    kind : str
        Name of the folder of such entries.
    name : str
        Name of the entry, with a hash of everything that goes into it (:func:`hashed`).
    make : callable
        Called with an empty folder, into which it writes the files of the entry.
    what : str
        Name of the built thing in notices: ``"simulator"``.

    Raises
    ------
    ToolError
        If the cache cannot be written, or another user could change its contents.
    """
    common = shared()
    if common is not None:
        place = common / kind / name
        fault = _fault(place)
        if fault is None:
            return place
        if fault != _ABSENT:
            _say(f"the shared cache is damaged and not used for this {what}: {place}: {fault}")
    place = folder(kind) / name
    if _fault(place) is not None:
        with writing(place.parent), _lock(place.with_name(f"{name}.lock"), what):
            fault = _fault(place)
            if fault is not None:
                if fault != _ABSENT:
                    _say(f"the {what} in the cache is damaged and is built again: {place}: "
                         f"{fault}")
                _build(place, make)
    with contextlib.suppress(OSError):
        os.utime(place)
    return place


def _build(place, make):
    """Build an entry in a temporary folder and rename it to its place. The entry's lock is held, so
    other temporary folders of the entry are left from killed builds."""
    for left in place.parent.glob(f"{place.name}.*.tmp"):
        _remove(left)
    work = place.with_name(f"{place.name}.{secrets.token_hex(8)}.tmp")
    work.mkdir(mode=0o755)
    try:
        make(work)
        _seal(work)
        if os.path.lexists(place):
            old = place.with_name(f"{place.name}.{secrets.token_hex(8)}.tmp")
            os.rename(place, old)       # works even where another user owns it
            _remove(old)
        os.rename(work, place)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    _forget_unused(place.parent)
