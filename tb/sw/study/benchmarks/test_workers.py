"""Pieces of work: a piece that fails, or kills its process, loses no other piece."""

import os
import signal
import subprocess
import sys

import pytest

from sw.study.benchmarks.executors import Processes
from sw.study.benchmarks.sources import digest
from sw.study.benchmarks.workers import tell
from sw.cli.tests import ROOT


def _square(number):
    return {"square": number * number}


def _fail(number):
    raise ArithmeticError(f"{number} cannot be done")


def _kill(number):
    os.kill(os.getpid(), signal.SIGKILL)


def _end(number):
    os._exit(3)


def _number():
    return {"process": os.getpid()}


def _report():
    tell("half of it")
    tell("all of it")
    return {}


def _all(pieces, jobs):
    records, begun = {}, []
    Processes(jobs).work(pieces.items(), records.__setitem__, begun.append)
    assert sorted(begun) == sorted(records) == sorted(pieces)
    return records


@pytest.mark.parametrize("jobs", [1, 2])
def test_each_piece_has_its_record(jobs):
    records = _all({str(n): (_square, (n,)) for n in range(5)}, jobs)
    assert records == {str(n): {"square": n * n} for n in range(5)}


def test_what_fails_loses_no_other():
    pieces = {name: (function, (7,)) for name, function in
              (("fail", _fail), ("kill", _kill), ("end", _end), ("square", _square))}
    records = _all(pieces, 2)
    assert records["square"] == {"square": 49}
    assert records["fail"]["error"] == "ArithmeticError: 7 cannot be done"
    assert "in _fail" in records["fail"]["traceback"]
    assert records["kill"] == {"error": "its process was ended by SIGKILL"}
    assert records["end"] == {"error": "its process ended with exit code 3"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_piece_that_depends_on_another(jobs):
    """None holds the next piece back until one has ended."""
    records, asked = {}, []

    def pieces():
        for number in range(3):
            while len(records) < number:
                asked.append(number)
                yield None
            yield number, (_square, (number,))

    Processes(jobs).work(pieces(), records.__setitem__)
    assert list(records) == [0, 1, 2] and asked == ([] if jobs == 1 else [1, 2])
    with pytest.raises(RuntimeError, match="waits for none that is being done"):
        Processes(jobs).work(iter([None]), records.__setitem__)


@pytest.mark.parametrize("fresh", [False, True])
def test_a_process_of_its_own(fresh):
    found = []
    Processes(1).work([(n, (_number, ())) for n in range(3)],
                      lambda piece, record: found.append(record["process"]), fresh=fresh)
    assert len(set(found)) == (3 if fresh else 1)


def test_progress():
    """Progress comes before the record. Outside of a piece nobody listens."""
    tell("nothing")
    heard = []
    Processes(1).work([("piece", (_report, ()))], lambda piece, record: heard.append(record),
                      told=lambda piece, text: heard.append((piece, text)))
    assert heard == [("piece", "half of it"), ("piece", "all of it"), {}]


_LATE = """
import multiprocessing, os, signal
from sw.study.benchmarks.workers import _serve
pipe, parents = multiprocessing.Pipe()
parents.close()
_serve(pipe, os.getppid(), False)
os.kill(os.getpid(), signal.{})
print("ended")
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_worker_that_ends_by_itself_may_be_ended(name):
    """The parent closes the pipe and then ends the process, which may have seen the pipe's end."""
    done = subprocess.run([sys.executable, "-c", _LATE.format(name)], cwd=ROOT, timeout=60,
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


def test_an_interruption_ends_the_work():
    def stop(piece, record):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Processes(1).work([(n, (_square, (n,))) for n in range(3)], stop)


def test_sources_have_a_digest():
    assert digest("sw/graph") == digest("sw/graph") != digest("sw/compile/formats")


def test_two_signals_at_once():
    """Ctrl-C reaches a worker at the same time as its parent's signal: one exception, and nothing
    on standard error."""
    code = """if True:
        import os, signal
        from sw.study.benchmarks.workers import heed_signals
        heed_signals()
        both = signal.SIGINT, signal.SIGTERM
        signal.pthread_sigmask(signal.SIG_BLOCK, both)
        for number in both:
            os.kill(os.getpid(), number)
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, both)
        except KeyboardInterrupt:
            print("once")
        os.kill(os.getpid(), signal.SIGINT)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                          env=os.environ | {"PYTHONPATH": str(ROOT)}, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "once\n", "")
