"""The cache of everything that is built: simulators, Verilog, benches, netlists.

An entry is a folder ``ROOT/KIND/NAME``. Its name is a hash of everything that goes into it, so an
entry never changes. A build makes the entry in a temporary folder, writes the SHA-256 of each file
into :data:`DIGESTS`, flushes all of it to disk and renames the folder to its place. A process
therefore sees a whole entry or none. Each use checks the digests. A damaged entry is built again,
and a line on standard error says so. A lock per entry makes a second process wait for the first
instead of doing the same work; the lock ends with its process.

The cache holds code that is loaded. So the root, its parents and each entry must belong to the
user or to root, and nobody else may be able to write them. ``GRAPHLOOM_CACHE_SHARED`` names a
second cache that is read and never written; the same rule holds for that cache.
"""

import contextlib
import errno
import hashlib
import os
import pathlib
import secrets
import shutil
import signal
import stat
import sys
import time
from collections.abc import Callable

from .errors import ToolError


__all__ = ["DIGESTS", "digest", "entry", "folder", "hashed", "kept", "root", "shared",
           "write_atomically", "writing"]


#: The file of an entry that holds the SHA-256 of each other file; ``sha256sum -c`` reads it.
DIGESTS = "SHA256SUMS"

#: An entry that was not used for so many seconds is deleted when another one is added.
_KEEP_SECONDS = 30 * 24 * 3600

#: A temporary folder that was not changed for so many seconds belongs to a build that was killed.
_WORK_SECONDS = 24 * 3600

#: Errors that say that a folder cannot be written.
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EACCES, errno.EPERM,
               errno.EIO, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EISDIR,
               errno.EEXIST, errno.ENOTEMPTY)

#: Texts of those errors that a program prints if it has run out of room.
_NO_ROOM = [os.strerror(number) for number in
            (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)]
if hasattr(signal, "SIGXFSZ"):
    _NO_ROOM.append(str(signal.strsignal(signal.SIGXFSZ)))

#: Bytes below which a file system counts as full, if a program failed on it.
_ROOM_BYTES = 1 << 20

#: The user who owns the files of users that a container does not know.
_OVERFLOW_USER = 65534

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


# Owners of folders

def _private(group):
    """Whether a group has no other member than the user, as each user's own group has."""
    try:
        import grp
        import pwd
        name = pwd.getpwuid(os.geteuid()).pw_name
        found = grp.getgrgid(group)
    except (ImportError, KeyError):
        return False
    return found.gr_name == name and set(found.gr_mem) <= {name}


def _open_to(status):
    """The others who may write a file of this status, in words; None if nobody may."""
    if status.st_mode & stat.S_IWOTH:
        return "can be written by every user"
    if status.st_mode & stat.S_IWGRP and not _private(status.st_gid):
        return "can be written by its group"
    return None


def _risk(status, others=()):
    """Why another user could change the file of this status, in words; None if nobody could."""
    if not hasattr(os, "geteuid"):
        return None
    if status.st_uid not in (os.geteuid(), 0, *others):
        return "belongs to another user"
    return _open_to(status)


def _check(path):
    """Refuse a folder that another user could change, or replace through one of its parents."""
    why = _risk(os.stat(path))
    if why is not None:
        advice = ("make it yours alone (chmod go-w)" if "written" in why
                  else "remove it or change its owner")
        raise ToolError(f"the cache folder {path} {why}, and programs in this folder are run: "
                        f"{advice}, or set GRAPHLOOM_CACHE to a folder of your own")
    for parent in dict.fromkeys((*path.parents, *path.resolve().parents)):
        status = os.stat(parent)
        # In a sticky folder, as /tmp is, only its owner may rename or delete an entry.
        if _risk(status, (_OVERFLOW_USER,)) is not None and not (
                status.st_mode & stat.S_ISVTX and status.st_uid in (os.geteuid(), 0)):
            why = _risk(status, (_OVERFLOW_USER,))
            raise ToolError(f"the cache folder {path} can be replaced by others, since {parent} "
                            f"{why}: set GRAPHLOOM_CACHE to a folder of your own")


# Folders

def _named(variable):
    """The absolute path that an environment variable names, or None."""
    text = os.environ.get(variable)
    if not text:
        return None
    try:
        return pathlib.Path(text).expanduser().absolute()
    except (RuntimeError, FileNotFoundError):
        raise ToolError(f"{variable}={text!r} names the home folder of a user who has none: give "
                        "the folder's whole path") from None


def _default():
    """The folder of the cache if ``GRAPHLOOM_CACHE`` does not name one."""
    base = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "")
    if not base.is_absolute():          # to be ignored then, by the specification of XDG
        text = os.environ.get("HOME")
        if text is not None and not os.path.isabs(text):    # the empty one would stand for /
            raise ToolError(f"HOME={text!r} is no absolute path: correct it, or {_ADVICE}")
        try:
            home = pathlib.Path.home()
        except RuntimeError:
            raise ToolError(f"no home folder to keep a cache in: {_ADVICE}") from None
        base = home / ".cache"
    return base / "graphloom"


def root() -> pathlib.Path:
    """The folder of the cache, created if need be.

    ``GRAPHLOOM_CACHE`` if set, else ``graphloom`` in ``XDG_CACHE_HOME``, else in ``~/.cache``.

    Raises
    ------
    ToolError
        If the folder cannot be created, or another user could change what is in it.
    """
    path = _named("GRAPHLOOM_CACHE") or _default()
    return _created(path)


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
        _check(path)
    except OSError as error:
        why = error.strerror
        at = path
        while not os.path.lexists(at):
            at = at.parent
        if at.is_symlink() and not at.exists():
            why = f"{at} is a link to {os.readlink(at)}, which does not exist"
        elif not at.is_dir():
            why = f"{at} is no folder"
        raise ToolError(f"cannot create the cache folder {path}: {why}: {_ADVICE}") from None
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
        why = _risk(os.stat(path))
        if not path.is_dir():
            why = "is no folder"
        elif why is None:
            _check(path)
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    if why is not None:
        raise ToolError(f"GRAPHLOOM_CACHE_SHARED={str(path)!r} {why}: name a folder that belongs "
                        "to root or to you and that nobody else can write")
    return path


# Writing

def _refusal(error, place):
    """Why a folder could not be written, in words; None if the error has another reason."""
    if isinstance(error, OSError):
        return error.strerror if error.errno in _UNWRITABLE else None
    text = str(error)
    for why in _NO_ROOM:
        if why in text:
            return why
    try:
        full = shutil.disk_usage(place).free < _ROOM_BYTES
    except OSError:
        return None
    return os.strerror(errno.ENOSPC) if full else None


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
        why = _refusal(error, place)
        if why is None:
            raise
        raise ToolError(f"cannot write the cache folder {place}: {why}: make room in it, or "
                        f"{_ADVICE}") from None


def _flush(path):
    """Have the system write a file or a folder to its disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):    # no such thing on this file system
            raise
    finally:
        os.close(handle)


def _private_mode(path):
    """Remove the permission to write from all others."""
    mode = stat.S_IMODE(os.stat(path).st_mode)
    if mode & 0o022:
        os.chmod(path, mode & ~0o022)


def _work(place):
    """A new, empty folder beside a place, readable by others as far as the umask permits."""
    while True:
        work = place.with_name(f"{place.name}.{secrets.token_hex(8)}.tmp")
        with contextlib.suppress(FileExistsError):
            work.mkdir(mode=0o755)
            return work


def write_atomically(path: pathlib.Path, text: str) -> None:
    """Write a file so that another process sees the old file or the whole new file."""
    while True:
        work = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
        with contextlib.suppress(FileExistsError):
            file = open(work, "x", encoding="utf-8")     # noqa: SIM115 - closed below
            break
    try:
        with file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(work, path)
    except BaseException:
        work.unlink(missing_ok=True)
        raise


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
    """Write the digests of the built files, and have all files written to disk."""
    lines = []
    for name, path in _files(work).items():
        _private_mode(path)
        lines.append(f"{digest(path)}  {name}\n")
        _flush(path)
    (work / DIGESTS).write_text("".join(lines))
    _private_mode(work / DIGESTS)
    _flush(work / DIGESTS)
    for path in (*(path for path in work.rglob("*") if path.is_dir()), work):
        _private_mode(path)
        _flush(path)


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
    """Hold a lock file, which names the process that holds it. Yields whether there are locks."""
    # The file is not emptied before the lock is held, because it names the process that holds it.
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
    with open(handle, "r+", encoding="ascii", errors="replace") as file:
        held = False
        with contextlib.suppress(ImportError, OSError):     # else both do the work
            import fcntl
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = file.read(20).strip()
                if owner != str(os.getpid()):               # another thread builds the same
                    number = f" (pid {owner})" if owner.isdecimal() else ""
                    _say(f"waiting for another process that builds the same {what}{number}")
                fcntl.flock(file, fcntl.LOCK_EX)
            held = True
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield held


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
        with writing(place.parent), _lock(place.with_name(f"{name}.lock"), what) as alone:
            fault = _fault(place)
            if fault is not None:
                if fault != _ABSENT:
                    _say(f"the {what} in the cache is damaged and is built again: {place}: "
                         f"{fault}")
                _build(place, make, alone)
    with contextlib.suppress(OSError):
        os.utime(place)
    return place


def _build(place, make, alone):
    """Build an entry in a temporary folder and rename it to its place.

    `alone` says that no other process can be building this entry. Then its temporary folders are
    left from killed builds.
    """
    if alone:
        for left in place.parent.iterdir():
            if left.name.startswith(f"{place.name}.") and left.suffix == ".tmp":
                _remove(left)
    work = _work(place)
    try:
        make(work)
        _seal(work)
        if os.path.lexists(place) and _fault(place) is not None:
            old = place.with_name(f"{place.name}.{secrets.token_hex(8)}.tmp")
            os.rename(place, old)       # works even where another user owns it
            _remove(old)
        try:
            os.rename(work, place)
        except OSError:
            if _fault(place) is not None:   # else, without locks, another process was faster
                raise
        _flush(place.parent)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    _forget_unused(place.parent)
