"""Makes .venv from requirements.lock, and adds the packages of requirements-all.lock. The launcher
calls this file, which imports the standard library alone.

The launcher makes .venv with the packages that run graphs, so that a new user sees a result soon.
The first command that needs more packages has all of them installed (:mod:`base.installation`).

One process at a time works on .venv. A second process waits for a lock, which the system releases
when the first process ends for any reason. A stamp says that the packages of a lock file are there,
so the stamp is removed first and written last.

pip installs the packages: uv is eight times as fast, but ignores the index, proxy and certificates
that a user has configured for pip. pip compiles no modules, which takes a third of its time: Python
compiles and keeps those that it imports, unless the environment forbids this.
"""

import fcntl
import os
import pathlib
import subprocess
import sys


__all__ = ["has_all", "main"]


#: The stamps in .venv: of requirements.lock, and of requirements-all.lock.
_STAMP, _STAMP_OF_ALL = "graphloom-stamp", "graphloom-stamp-all"


def _say(text, end="\n"):
    print(text, end=end, file=sys.stderr, flush=True)


def _wanted(root, lock):
    """The stamp's text for an environment that is up to date; the launcher makes the same text."""
    return f"{root}\n{(root / lock).read_text()}"


def _stamped(root, stamp, lock):
    path = root / ".venv" / stamp
    return path.exists() and path.read_text() == _wanted(root, lock)


def has_all(root) -> bool:
    """Whether the launcher's environment in a folder has the packages of requirements-all.lock."""
    root = pathlib.Path(root)
    return _stamped(root, _STAMP_OF_ALL, "requirements-all.lock")


def _install(python, lock):
    """Run pip and show its progress. Returns pip's exit code and the end of pip's output."""
    total = sum(1 for line in lock.read_text().splitlines() if line[:1].isalnum())
    environment = {**os.environ, "PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                   "PIP_NO_INPUT": "1", "PYTHONUNBUFFERED": "1"}
    environment.pop("PIP_TARGET", None)
    environment.pop("PIP_PREFIX", None)
    command = [str(python), "-m", "pip", "install", "--progress-bar", "off", "--requirement",
               str(lock)]
    if not environment.get("PYTHONDONTWRITEBYTECODE"):
        command.append("--no-compile")
    pip = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           errors="replace")
    lines, count, terminal = [], 0, sys.stderr.isatty()
    try:
        for line in pip.stdout or ():
            lines.append(line.rstrip())
            if line.startswith("Collecting "):
                count = min(count + 1, total)
                name = line.split()[1].partition("==")[0]
                if terminal:
                    _say(f"\r\033[K  fetching {count} of {total}: {name}", end="")
            elif line.startswith("Installing collected"):
                if terminal:
                    _say("\r\033[K", end="")
                _say(f"  installing {total} packages")
        return pip.wait(), lines[-15:]
    finally:
        if pip.poll() is None:
            pip.terminate()
            pip.wait()


def _fill(root, lock, stamp, prepare=lambda: None):
    """Install the packages of a lock, between the end of the old stamp and the new one. Returns an
    exit code."""
    folder = root / ".venv"
    stamp, wanted = folder / stamp, _wanted(root, lock)
    stamp.unlink(missing_ok=True)
    prepare()
    code, tail = _install(folder / "bin" / "python", root / lock)
    if code:
        _say("\n".join(tail))
        _say(f"graphloom: error: pip could not install {root / lock} (its last lines are above); "
             "the next use tries again")
        return 2
    temporary = stamp.with_suffix(".new")
    temporary.write_text(wanted)
    os.replace(temporary, stamp)
    _say("graphloom: set up")
    return 0


def _make(root):
    """Make .venv unless it is there."""
    folder = root / ".venv"
    if _stamped(root, _STAMP, "requirements.lock") and (folder / "bin/python").exists():
        return 0                              # another process was quicker
    if folder.is_symlink():
        # The environment behind the link may be another copy's: making it anew would empty it.
        _say(f"graphloom: error: {folder} is a link to {os.readlink(folder)}, which is not set up "
             "for this copy; remove the link, and the next use makes an environment here")
        return 2
    import venv         # the command line imports this module as well, and makes none
    version = "{}.{}.{}".format(*sys.version_info)
    _say(f"graphloom: setting up {folder} with Python {version}: about 180 MB to fetch and 800 "
         "MB on disk, once")
    return _fill(root, "requirements.lock", _STAMP, lambda: venv.EnvBuilder(
        clear=True, symlinks=True, with_pip=True).create(folder))


def _add(root):
    """Add what .venv lacks of all packages."""
    if has_all(root):
        return 0
    _say(f"graphloom: adding the packages of all commands to {root / '.venv'}: about 320 MB to "
         "fetch and 1300 MB on disk, once")
    return _fill(root, "requirements-all.lock", _STAMP_OF_ALL)


def main(root, work=_make) -> int:
    """Make the environment of the project in ``root`` unless it is there, or with ``_add`` complete
    it. Returns an exit code."""
    root = pathlib.Path(root)
    try:
        with open(root / ".venv.lock", "w") as guard:
            try:
                fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _say("graphloom: waiting for another process that is setting up")
                fcntl.flock(guard, fcntl.LOCK_EX)
            return work(root)
    except KeyboardInterrupt:
        _say("\ngraphloom: set-up interrupted; the next use does it again")
        return 130
    except (OSError, subprocess.CalledProcessError) as error:
        _say(f"graphloom: error: cannot set up {root / '.venv'}: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], _add if sys.argv[2:] == ["all"] else _make))
