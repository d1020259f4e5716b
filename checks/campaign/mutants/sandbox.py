"""A program on a copy of the sources, with limits.

Each copy has a folder of its own, with a cache for the builds of that copy. Earlier builds are read
from the user's cache. Nothing is written into the project.
"""

import contextlib
import dataclasses
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time

from checks.campaign.mutants.mutant import ROOT
from sim import cache
from sim.children import tied


__all__ = ["Ended", "Sandbox", "copy_sources"]


#: Folders and files that are copied.
_FOLDERS = ("base", "checks", "datasets", "docs", "examples", "hw", "sim", "sw",
            "synth", "tb")
_FILES = ("README.md", "graphloom", "graphloom.py", "hatch_build.py", "mkdocs.yml",
          "pyproject.toml", "requirements.lock", "requirements-extras.lock")

#: Bytes of memory of all processes of a program. Endless lists end here.
_MEMORY = 8 << 30

#: A program that waits for nothing ends after so many times its limit of processor time.
_WAITING = 5

#: Builds of an RTL or of a simulator with a fault serve that fault alone.
_OWN_BUILDS = ("hw/", "sim/")


def copy_sources(folder, source=ROOT):
    """Copy the project's sources, with bytecode."""
    for name in _FOLDERS:
        shutil.copytree(source / name, folder / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    for name in _FILES:
        shutil.copy2(source / name, folder / name)


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a program ended: its exit code, or the limit that it reached; and its output."""
    code: int | None
    limit: str
    output: str


class Sandbox(contextlib.AbstractContextManager):
    """A copy of the sources. The end of the context deletes it.

    Parameters
    ----------
    folder : pathlib.Path
        A folder that does not exist yet.
    source : pathlib.Path
        Files to copy.
    file, text : str, optional
        A file that has another text in the copy.
    shared : pathlib.Path, optional
        A folder for the builds of programs whose faults do not change what is built. Bytecode
        that the programs make then goes to ``source``. Python compiles again what is older or
        newer than its source.
    """

    def __init__(self, folder, source, file="", text="", *, shared=None):
        self._folder, self._sources = folder, folder / "sources"
        self._source = None if shared is None else source
        own = shared is None or file.startswith(_OWN_BUILDS)
        self._cache = folder / "cache" if own else shared / "builds"
        self._sources.mkdir(parents=True)
        try:
            copy_sources(self._sources, source)
            if file:
                (self._sources / file).write_text(text)
        except BaseException:
            self.__exit__()
            raise

    def run(self, arguments, seconds) -> Ended:
        """Run Python with arguments.

        Parameters
        ----------
        arguments : iterable of str
        seconds : float
            Limit of processor time for each process.
        """
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("PYTEST_", "COCOTB_"))
                       and name not in ("GRAPHLOOM_WAVES", "PYTHONDONTWRITEBYTECODE")}
        environment |= {"PYTHONPATH": str(self._sources), "PYTHONSAFEPATH": "1",
                        "GRAPHLOOM_OPTIMIZE": "0", "GRAPHLOOM_CACHE": str(self._cache),
                        "GRAPHLOOM_CACHE_SHARED": str(cache.root())}
        output = self._folder / "output.txt"
        with open(output, "w") as file:
            process = subprocess.Popen(
                [sys.executable, *arguments], cwd=self._sources, env=environment, stdout=file,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
                preexec_fn=_limited(seconds))
            try:
                limit = _wait(process, seconds)
            finally:
                _end(process.pid)            # also simulations that the tests have started
                process.wait()
        if process.returncode == -signal.SIGXCPU:
            limit = "timeout"
        return Ended(process.returncode, limit, output.read_text(errors="replace"))

    def _give_bytecode(self):
        for path in self._sources.rglob("__pycache__/*.pyc"):
            kept = self._source / path.relative_to(self._sources)
            if not kept.exists():
                kept.parent.mkdir(exist_ok=True)
                path.rename(kept)            # another copy sees all of the file, or none

    def __exit__(self, *error):
        try:
            if self._source is not None:
                self._give_bytecode()
        except OSError:
            pass                             # it is made again
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


def _limited(seconds):
    tie, limit = tied(), max(1, int(seconds))
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]       # that of a sandbox around this one
    limits = limit, limit + 5
    if most != resource.RLIM_INFINITY:
        limits = min(limit, most), min(limit + 5, most)

    def begin():
        resource.setrlimit(resource.RLIMIT_CPU, limits)
        tie()
    return begin


def _wait(process, seconds):
    """Wait for the end of a program. Returns the limit that it reached, or nothing. Only time in
    which no thread runs, or wants to run, counts as waiting: a busy machine ends nothing."""
    waited, active, now = 0.0, 0.0, time.monotonic()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2)
            return ""
        before = active, now
        active, now = _active(process.pid), time.monotonic()
        waited += max(0.0, now - before[1] - max(0.0, active - before[0]))
        if waited > _WAITING * seconds:
            return "timeout"
        if sum(memory for _, memory in _members(process.pid)) > _MEMORY:
            return "memory"


def _members(session):
    """(process, bytes of memory) for the processes of a session, where the system tells."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                yield int(path.parent.name), int(fields[21]) * resource.getpagesize()


def _active(session):
    """Seconds in which the threads of a session have run or wanted to run, where the system
    tells."""
    total = 0
    for process, _ in _members(session):
        for path in pathlib.Path(f"/proc/{process}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError, ValueError):
                run, wanted, _ = path.read_text().split()
                total += int(run) + int(wanted)
    return total / 1e9


def _end(session):
    """End all processes of a session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(session, signal.SIGKILL)
    for process, _ in _members(session):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
