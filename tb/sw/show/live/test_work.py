"""The work of the live page's server: limits, losses and the end."""

import os
import signal
import threading
import time

import pytest

from base.errors import UserError
from sw.study.benchmarks.workers import tell
from sw.show.live import work
from sw.show.live.work import BUILDING, BUILT, PageWork


@pytest.fixture
def made(monkeypatch):
    monkeypatch.setattr(work, "_LOOK", 0.05)
    monkeypatch.setattr(work, "_LINE", 0.1)
    found = PageWork()
    yield found
    found.close()


def square(number):
    """A piece with a result and a line of progress."""
    tell(f"squaring {number}")
    return {"square": number * number, "process": os.getpid()}


def endless():
    """A piece that does not end."""
    tell(BUILDING)
    tell(BUILT)
    while True:
        time.sleep(0.01)


def large():
    """A piece that takes memory without end."""
    kept = []
    while True:
        kept.append(bytearray(1 << 26))


def dies():
    """A piece that kills its process."""
    os.kill(os.getpid(), signal.SIGKILL)


def refuses():
    """A piece that is refused."""
    return {"refused": "no"}


def test_pieces(made):
    lines = []
    first, second = made.do(square, (3,), lines.append), made.do(square, (4,), lines.append)
    assert (first["square"], second["square"]) == (9, 16)
    assert first["process"] == second["process"] != os.getpid()      # one process does all
    assert [line for line in lines if line.startswith("squaring")] == ["squaring 3", "squaring 4"]


def test_limits(made, monkeypatch):
    """A piece that exceeds a limit is ended; the next has what it needs."""
    monkeypatch.setattr(work, "_SECONDS", 0.5)
    with pytest.raises(UserError, match=r"0\.5 seconds"):
        made.do(endless, ())
    monkeypatch.setattr(work, "_SECONDS", 60)
    with pytest.raises(UserError, match="4 GiB"):
        made.do(large, ())
    with pytest.raises(UserError, match="ended by SIGKILL"):
        made.do(dies, ())
    with pytest.raises(UserError, match="^no$"):
        made.do(refuses, ())
    assert made.do(square, (5,))["square"] == 25


def test_a_user_who_leaves(made):
    """A piece whose user is gone is given up, and holds nobody up."""
    def told(text):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        made.do(endless, (), told)
    assert made.do(square, (2,))["square"] == 4


def test_many_wait(made, monkeypatch):
    """Each piece that waits hears so, and has its turn; more than fit are refused at once."""
    monkeypatch.setattr(work, "_LINE", 0.001)       # also a quick machine takes longer
    found, lines = [], []
    threads = [threading.Thread(target=lambda number=number: found.append(
        made.do(square, (number,), lines.append)["square"])) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [number * number for number in range(20)]
    assert "waiting for other runs" in lines
    full = PageWork()
    full._ended.set()
    full.close()
    for _ in range(work._WAITING):
        full._queue.put(None)
    with pytest.raises(UserError, match="too many runs are waiting"):
        full.do(square, (1,))


def test_the_end(monkeypatch):
    """The end of the server ends its work."""
    monkeypatch.setattr(work, "_LOOK", 0.05)
    made, errors = PageWork(), []

    def wait():
        try:
            made.do(endless, ())
        except UserError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=wait) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    made.close()
    for thread in threads:
        thread.join(30)
    assert errors == ["the server ends"] * 2
