"""A scheduler and workers of a cluster, each a process, and pieces of work for them."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

from base.installation import ROOT
from sim import cache
from sim.children import tied
from sw.study.benchmarks.workers import tell
from sw.study.cluster.place import ClusterPlace


__all__ = ["LocalCluster", "built", "by", "fail", "first_waits", "free_port", "kill", "square",
           "told"]


#: Seconds within which a scheduler or worker must say that it runs.
_BEGIN = 60


def free_port():
    """A port that no program uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class LocalCluster:
    """A scheduler and workers on this machine. The end of the context ends them.

    Parameters
    ----------
    workers : int
    host : str
        The scheduler's ``--host``.
    tls : Tls, optional
    """

    def __init__(self, workers=2, host="127.0.0.1", tls=None):
        self._count, self._host, self._tls, self.workers = workers, host, tls, []
        self._words = [] if tls is None else ["--tls-ca", tls.ca, "--tls-cert", tls.cert,
                                              "--tls-key", tls.key]

    def __enter__(self):
        self.port = free_port()
        self.scheduler, line = self._start("cluster", "--port", str(self.port), "--host",
                                           self._host, *self._words)
        self.address, _, more = line.partition(": a cluster; ")
        assert more, line + _ended(self.scheduler)
        self.place = ClusterPlace(self.address, self._tls)
        for _ in range(self._count):
            self.add()
        return self

    def __exit__(self, *error):
        for process in [*self.workers, self.scheduler]:
            process.terminate()
        for process in [*self.workers, self.scheduler]:
            process.communicate(timeout=300)
            process.stdout.close()
            process.stderr.close()

    def complete(self):
        """Start workers in the place of those that were killed."""
        self.workers = [process for process in self.workers if process.poll() is None]
        while len(self.workers) < self._count:
            self.add()

    def end_worker_of(self, file, number=signal.SIGKILL):
        """Send a signal to the worker that does a piece which left a file (:func:`first_waits`),
        and to its processes as far as Ctrl-C on a terminal reaches them."""
        [process] = [each for each in self.workers if each.pid == int(file.read_text())]
        os.killpg(process.pid, number)
        process.wait(timeout=300)

    def add(self, *words, code=None, address=None):
        """Start a worker. Returns its process and address."""
        address = address or self.address
        process, line = self._start("worker", address, "--jobs", "1", *self._words, *words,
                                    code=code)
        self.workers.append(process)
        found = re.fullmatch(rf"(t\S+): a worker of {re.escape(address)}, 1 runs at a time; end it "
                             "with Ctrl-C\n", line)
        assert found, line + _ended(process)
        return process, found[1]

    @staticmethod
    def _start(*words, code=None):
        program = ["-m", "sw.cli"] if code is None else ["-c", code]
        process = subprocess.Popen(
            [sys.executable, *program, *words], cwd="/", stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            preexec_fn=tied(),
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"})
        return process, process.stdout.readline()


def _ended(process):
    """The error text of a process, which is ended."""
    process.kill()
    return process.communicate()[1]


# Pieces of work

def square(number):
    """A piece that has a result."""
    return {"square": number * number}


def fail(number):
    """A piece that raises an exception."""
    raise ArithmeticError(f"{number} cannot be done")


def kill(number):
    """A piece that kills its process."""
    os.kill(os.getpid(), signal.SIGKILL)


def told(number):
    """A piece that reports its progress."""
    tell(f"half of {number}")
    return square(number)


def by(folder):
    """A piece that takes a moment and says which worker does it."""
    time.sleep(0.5)
    return {"worker": os.getppid()}


def first_waits(folder):
    """A piece that does not end the first time. It leaves a file with its process and worker."""
    mine = pathlib.Path(folder, str(os.getpid()))
    first = not list(mine.parent.iterdir())
    new = mine.with_suffix(".new")
    new.write_text(str(os.getppid()))
    new.rename(mine)
    if first:
        time.sleep(600)
    return {"again": True}


def built(folder):
    """A piece that needs an entry of a cache, whose build takes time and adds to a file."""
    os.environ["GRAPHLOOM_CACHE"] = f"{folder}/cache"

    def make(work):
        with open(f"{folder}/log", "a") as log:
            log.write("built\n")
        time.sleep(1)
        (work / "made").write_text("made")
    try:
        made = cache.entry("simulators", "name", make, what="simulator") / "made"
        return {"made": made.read_text()}
    finally:
        del os.environ["GRAPHLOOM_CACHE"]
