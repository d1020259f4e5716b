"""Makes .venv from requirements.lock, and adds extras from requirements-extras.lock. The launcher
calls this file, which imports the standard library alone.

The launcher makes .venv with the packages that run graphs, so that a new user sees a result soon.
The first command that needs more has the packages of one extra added (:mod:`base.installation`).

A lock is a file of requirements for pip. Below the hashes of each package stands a comment with the
megabytes to fetch and, in requirements-extras.lock, the extras that need the package.

One process at a time works on .venv. A second process waits for a lock, which the system releases
when the first process ends for any reason. A stamp says that the packages of requirements.lock, or
of one extra, are there. So stamps that do not hold are removed first, and new ones written last.

pip installs the packages: uv is eight times as fast, but ignores the index, proxy and certificates
that a user has configured for pip. pip compiles no modules, which takes a third of its time: Python
compiles and keeps those that it imports, unless the environment forbids this.
"""

import fcntl
import os
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple


__all__ = ["LOCK", "LOCK_OF_EXTRAS", "Package", "has", "main", "packages"]


#: The lock of the packages that run graphs, and that of all others.
LOCK, LOCK_OF_EXTRAS = "requirements.lock", "requirements-extras.lock"

#: The stamp in .venv of requirements.lock; that of an extra has its name behind it.
_STAMP = "graphloom-stamp"

#: pip's line when it has not reached an index, and the system's reason. The second such line ends a
#: set-up that has fetched nothing yet: pip itself would try five times for each package.
_UNREACHED = re.compile(r"Retrying .*(?:NewConnection|NameResolution|ConnectTimeout|Proxy)Error"
                        r"(?:.*\[Errno -?\d+\] (?P<reason>[^'\")]+))?")


class Package(NamedTuple):
    """A package of a lock."""
    text: str  #: Its lines in the lock.
    megabytes: float  #: What is fetched for it.
    extras: frozenset  #: Names of the extras that need it.

    @property
    def requirement(self) -> str:
        """Name, version and marker, such as ``colorama==0.4.6 ; sys_platform == 'win32'``."""
        return self.text.partition("\n")[0].rstrip(" \\")


def packages(root, lock, extra=None) -> list[Package]:
    """The packages of a lock, or those that an extra needs.

    Parameters
    ----------
    root : path
        The project's folder.
    lock : str
        :data:`LOCK` or :data:`LOCK_OF_EXTRAS`.
    extra : str, optional
    """
    found = []
    for text in re.findall(r"(?m)^[^\s#].*\n(?:[ ]+.*\n)*", pathlib.Path(root, lock).read_text()):
        noted = re.search(r"(?m)^ +# ([\d.]+) MB(?:: (.*))?$", text)
        size, names = noted.groups() if noted else (0, "")
        found.append(Package(text, float(size), frozenset((names or "").split())))
    return [each for each in found if extra is None or extra in each.extras]


def _say(text, end="\n"):
    print(text, end=end, file=sys.stderr, flush=True)


def _text(chosen):
    return "".join(package.text for package in chosen)


def _stamp(root, extra=None):
    """The path of a stamp, and its text if the environment is up to date; the launcher makes the
    same text for requirements.lock."""
    path = pathlib.Path(root, ".venv", f"{_STAMP}-{extra}" if extra else _STAMP)
    wanted = _text(packages(root, LOCK_OF_EXTRAS, extra)) if extra \
        else pathlib.Path(root, LOCK).read_text()
    return path, f"{root}\n{wanted}"


def _holds(path, wanted):
    return path.exists() and path.read_text() == wanted


def has(root, extra) -> bool:
    """Whether the launcher's environment in a folder has the packages of an extra."""
    return _holds(*_stamp(root, extra))


def _install(python, requirements, chosen):
    """Run pip and show its progress. Returns pip's exit code, or None if no index can be reached,
    and the end of pip's output."""
    total = len(chosen)
    environment = {**os.environ, "PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                   "PIP_NO_INPUT": "1", "PYTHONUNBUFFERED": "1"}
    environment.pop("PIP_TARGET", None)
    environment.pop("PIP_PREFIX", None)
    # A lock is complete: there is nothing to resolve.
    command = [str(python), "-m", "pip", "install", "--progress-bar", "off", "--no-deps",
               "--requirement", str(requirements)]
    if not environment.get("PYTHONDONTWRITEBYTECODE"):
        command.append("--no-compile")
    requirements.write_text(_text(chosen))
    pip = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           errors="replace")
    lines, unreached, count, fetched, terminal = [], [], 0, False, sys.stderr.isatty()
    try:
        for line in pip.stdout or ():
            lines.append(line.rstrip())
            if line.startswith("Collecting "):
                count = min(count + 1, total)
                name = line.split()[1].partition("==")[0]
                if terminal:
                    _say(f"\r\033[K  fetching {count} of {total}: {name}", end="")
            elif line.lstrip().startswith(("Downloading ", "Using cached ")):
                fetched = True
            elif line.startswith("Installing collected"):
                if terminal:
                    _say("\r\033[K", end="")
                _say(f"  installing {total} packages")
            elif not fetched and (match := _UNREACHED.search(line)):
                unreached.append(match["reason"] or "no answer")
                if len(unreached) == 2:
                    return None, unreached
        return pip.wait(), lines[-15:]
    finally:
        if pip.poll() is None:
            pip.terminate()
            pip.wait()


def _fill(root, chosen, stamps):
    """Install packages and write stamps, {path: text}. Returns an exit code."""
    folder = root / ".venv"
    code, tail = _install(folder / "bin" / "python", folder / "graphloom-requirements.txt", chosen)
    if code is None:
        _say(f"graphloom: error: pip reaches no index of packages ({tail[0]}): set-up needs a "
             "network, once; the next use tries again")
        return 2
    if code:
        _say("\n".join(tail))
        _say(f"graphloom: error: pip could not install the packages of {root} (its last lines are "
             "above); the next use tries again")
        return 2
    for path, text in stamps.items():
        temporary = path.with_name(path.name + ".new")
        temporary.write_text(text)
        os.replace(temporary, path)
    _say("graphloom: set up")
    return 0


def _size(chosen):
    """How much is installed, in words."""
    return (f"{len(chosen)} package{'s' * (len(chosen) != 1)}, about "
            f"{max(1, round(sum(package.megabytes for package in chosen)))} MB to fetch, once")


def _make(root):
    """Make .venv unless it is there."""
    folder, (stamp, wanted) = root / ".venv", _stamp(root)
    if _holds(stamp, wanted) and (folder / "bin/python").exists():
        return 0                              # another process was quicker
    if folder.is_symlink():
        # The environment behind the link may be another copy's: making it anew would empty it.
        _say(f"graphloom: error: {folder} is a link to {os.readlink(folder)}, which is not set up "
             "for this copy; remove the link, and the next use makes an environment here")
        return 2
    import venv         # the command line imports this module as well, and makes none
    version, chosen = "{}.{}.{}".format(*sys.version_info), packages(root, LOCK)
    _say(f"graphloom: setting up {folder} with Python {version}: {_size(chosen)}")
    stamp.unlink(missing_ok=True)
    venv.EnvBuilder(clear=True, symlinks=True, with_pip=True).create(folder)
    return _fill(root, chosen, {stamp: wanted})


def _add(root, extras):
    """Add what .venv lacks of the packages of extras."""
    known = frozenset().union(*(package.extras for package in packages(root, LOCK_OF_EXTRAS)))
    there = {extra for extra in known if has(root, extra)}
    if there.issuperset(extras):
        return 0
    # A package that an extra of these has is not fetched again.
    chosen = [package for package in packages(root, LOCK_OF_EXTRAS)
              if not package.extras.isdisjoint(extras) and package.extras.isdisjoint(there)]
    complete = there.union(extras)
    absent = known.union(extras) - there
    stamps = dict(_stamp(root, extra) for extra in absent
                  if all(not package.extras.isdisjoint(complete)
                         for package in packages(root, LOCK_OF_EXTRAS, extra)))
    for extra in absent:
        _stamp(root, extra)[0].unlink(missing_ok=True)
    _say(f"graphloom: adding {', '.join(extras)} to {root / '.venv'}: {_size(chosen)}")
    return _fill(root, chosen, stamps)


def main(root, extras=()) -> int:
    """Make the environment of the project in ``root`` unless it is there, or add extras to it.
    Returns an exit code."""
    root = pathlib.Path(root)
    try:
        with open(root / ".venv.lock", "w") as guard:
            try:
                fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _say("graphloom: waiting for another process that is setting up")
                fcntl.flock(guard, fcntl.LOCK_EX)
            return _add(root, extras) if extras else _make(root)
    except KeyboardInterrupt:
        _say("\ngraphloom: set-up interrupted; the next use does it again")
        return 130
    except (OSError, subprocess.CalledProcessError) as error:
        _say(f"graphloom: error: cannot set up {root / '.venv'}: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
