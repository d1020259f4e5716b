"""A cluster: a scheduler and workers that are processes of their own, and a client.

====================  ============================================================================
results               test_cycles_are_those_of_local_runs, test_what_fails_loses_no_other,
                      test_progress, test_both_workers_take_part
lost workers          test_a_killed_worker, test_a_worker_that_joins_later,
                      test_a_piece_that_loses_workers, test_the_scheduler_ends
refused workers       test_another_version, test_other_sources, test_another_file,
                      test_a_plain_worker
builds                test_one_build_for_two_workers
commands              test_commands.py
====================  ============================================================================
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from base.errors import UserError
from hw.config import preset
from sim.dram import DramConfig
from sw.study.benchmarks import schedules
from sw.study.benchmarks.batch import Batch
from sw.study.benchmarks.executors import Processes
from sw.study.cluster import executor, members
from sw.study.cluster.executor import Cluster
from sw.study.cluster.identity import differences, identity

from . import machines
from .machines import LocalCluster


def _work(place, pieces, **more):
    """The records of pieces, and the notes."""
    records, notes = {}, []
    with Cluster(place, note=notes.append) as found:
        found.work(pieces.items(), records.__setitem__, **more)
    return records, notes


def _until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def _runs(process):
    try:
        status = pathlib.Path(f"/proc/{process}/stat").read_text()
        return status.rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_cycles_are_those_of_local_runs(cluster, tmp_path):
    cases = schedules.grid({"graph": [("karate", False)], "algorithm": ["pagerank", "bfs"],
                            "direction": ["push"], "schedule": ["vm", "weaver"]}, 1).cases
    path, records = tmp_path / "runs.jsonl", []
    with Cluster(cluster.place) as there:
        for number, way in enumerate((there, Processes(1))):
            batch = Batch(cases, preset("tiny"), DramConfig(), f"{path}{number}")
            batch.run(way, lambda *_: None)
            records.append(batch.records)
    assert records[0] == records[1] and len(records[0]) == 4
    assert all(record["verified"] for record in records[0].values())
    # The records are in the file, and are not made again.
    again = Batch(cases, preset("tiny"), DramConfig(), f"{path}0")
    assert again.records == records[1]
    again.run(Processes(1), lambda *_: pytest.fail("a case is run again"))


def test_what_fails_loses_no_other(cluster):
    records, _ = _work(cluster.place, {function.__name__: (function, (7,)) for function in (
        machines.fail, machines.kill, machines.square)})
    assert records["square"] == {"square": 49}
    assert records["fail"]["error"] == "ArithmeticError: 7 cannot be done"
    assert "in fail" in records["fail"]["traceback"]
    assert records["kill"] == {"error": "its process was ended by SIGKILL"}


def test_progress(cluster):
    lines = []
    records, _ = _work(cluster.place, {n: (machines.told, (n,)) for n in range(3)},
                       told=lambda piece, text: lines.append((piece, text)), fresh=True)
    assert records == {n: {"square": n * n} for n in range(3)}
    assert sorted(lines) == [(n, f"half of {n}") for n in range(3)]


def test_both_workers_take_part(cluster):
    records, _ = _work(cluster.place, dict.fromkeys(range(4), (machines.by, (".",))))
    assert {record["worker"] for record in records.values()} == {
        process.pid for process in cluster.workers}


def test_a_piece_that_depends_on_another(cluster):
    records = {}

    def pieces():
        yield 0, (machines.square, (0,))
        while not records:
            yield None
        yield 1, (machines.square, (1,))

    with Cluster(cluster.place) as there:
        there.work(pieces(), records.__setitem__)
    assert list(records) == [0, 1]


def test_one_build_for_two_workers(cluster, tmp_path):
    """Workers of one machine wait for the worker that builds."""
    records, _ = _work(cluster.place, {n: (machines.built, (str(tmp_path),)) for n in range(4)})
    assert [record["made"] for record in records.values()] == 4 * ["made"]
    assert (tmp_path / "log").read_text() == "built\n"


def _left(folder):
    """The file that a piece left when it began (:func:`first_waits`)."""
    _until(lambda: [file for file in folder.iterdir() if not file.suffix])
    [file] = folder.iterdir()
    return file


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_worker(cluster, tmp_path, number):
    """Its run begins again on the other worker, and no process of it is left."""
    pieces = {"waits": (machines.first_waits, (str(tmp_path),))}
    pieces |= {n: (machines.square, (n,)) for n in range(5)}
    records, notes, killed = {}, [], []

    def ended(piece, record):
        records[piece] = record
        if not killed:
            killed.append(_left(tmp_path))
            cluster.end_worker_of(killed[0], number)

    with Cluster(cluster.place, note=notes.append) as there:
        there.work(pieces.items(), ended)
    assert records == {"waits": {"again": True}} | {n: {"square": n * n} for n in range(5)}
    files = list(tmp_path.iterdir())
    assert len(files) == 2 and len({file.read_text() for file in files}) == 2
    [note] = notes
    assert re.fullmatch(r"worker tcp://\S+ on \S+ is gone; 1 of its runs begin again", note)
    _until(lambda: not _runs(int(killed[0].name)))


def test_a_worker_that_joins_later(cluster, tmp_path):
    """All workers are killed. The run waits for the next worker."""
    records = {}

    def begun(piece):
        _left(tmp_path)
        for process in cluster.workers:
            process.kill()
            process.wait()
        cluster.complete()

    with Cluster(cluster.place) as there:
        there.work([(0, (machines.first_waits, (str(tmp_path),)))], records.__setitem__, begun)
    assert records == {0: {"again": True}}


def test_a_piece_that_loses_workers(cluster, tmp_path, monkeypatch):
    """A piece that was lost with too many workers has an error, and is not tried for ever."""
    monkeypatch.setattr(executor, "_LOSSES", 1)
    records = {}

    def begun(piece):
        if piece == 0:
            cluster.end_worker_of(_left(tmp_path))

    with Cluster(cluster.place) as there:
        there.work([(0, (machines.first_waits, (str(tmp_path),))), (1, (machines.square, (1,)))],
                   records.__setitem__, begun)
    assert records == {0: {"error": "1 workers were lost while they did it"}, 1: {"square": 1}}


def test_the_scheduler_ends(tmp_path):
    """One line for the user. The worker and its piece end with the scheduler."""
    with LocalCluster(1) as few, Cluster(few.place) as there:
        began = []

        def begun(piece):
            _left(tmp_path)
            began.append(time.monotonic())
            few.scheduler.kill()

        with pytest.raises(UserError, match="its scheduler is gone; the same command goes on"):
            there.work([(0, (machines.first_waits, (str(tmp_path),)))], None, begun)
        assert time.monotonic() - began[0] < 30
        out, _ = few.workers[0].communicate(timeout=300)
        assert few.workers[0].returncode == 0 and out == f"the cluster {few.address} has ended\n"
        _until(lambda: not _runs(int(_left(tmp_path).name)))


#: A worker whose software claims to be another.
_OTHER = """
from sw.study.cluster import worker
from sw.study.cluster.identity import identity
worker.identity = lambda: identity() | {change}
from sw.cli.__main__ import start
start()
"""


def test_another_version(cluster):
    """A worker with another version is refused in one line. The other workers do the work."""
    process, address = cluster.add(code=_OTHER.format(change={"numpy": "1.0", "python": "3.9.1"}))
    here = identity()
    records, notes = _work(cluster.place, dict.fromkeys(range(4), (machines.by, (".",))))
    process.kill()
    assert process.pid not in {record["worker"] for record in records.values()}
    assert len(records) == 4 and len(notes) == 1
    assert re.fullmatch(
        rf"worker {address} on \S+ is refused: python 3.9.1 there, {re.escape(here['python'])} "
        rf"here; numpy 1.0 there, {re.escape(here['numpy'])} here", notes[0])


def test_other_sources(cluster, monkeypatch):
    """The sources of the worker change while it works: the next piece is refused."""
    ours = identity()
    monkeypatch.setattr(members, "identity", lambda: ours | {"sources": "0123456789abcdef"})
    with pytest.raises(UserError, match=rf"is refused: sources {ours['sources'][:12]} there, "
                                        "0123456789ab here; and 1 more are refused$"):
        Cluster(cluster.place)
    monkeypatch.setattr(members, "differences", lambda there, here: "")
    monkeypatch.setattr(executor, "_ANOTHER", 1)
    notes = []
    with Cluster(cluster.place, note=notes.append) as there:
        with pytest.raises(UserError, match="no worker is left"):
            there.work([(0, (machines.square, (1,)))], None)
    assert len(notes) == 2
    assert all("is refused: sources" in note and "0123456789ab here" in note for note in notes)


def test_differences():
    here = {"sources": "a" * 64, "python": "3.11.7", "numpy": "2.4.0", "z": None}
    assert differences(here, here) == ""
    assert differences(here | {"numpy": None}, here) == "numpy not installed there, 2.4.0 here"
    assert differences({}, here) == (
        "sources not installed there, aaaaaaaaaaaa here; python not installed there, 3.11.7 here; "
        "numpy not installed there, 2.4.0 here")
    assert differences({"a": "1", "b": "1", "c": "1", "d": "1"}, {}).endswith("; and 1 more")


def test_another_file(cluster, tmp_path, monkeypatch):
    file = tmp_path / "graph.el"
    file.write_text("0 1\n")
    monkeypatch.chdir(tmp_path)
    with Cluster(cluster.place, read=["graph.el"]) as there:
        records = {}
        there.work([(0, (_text, ("graph.el",)))], records.__setitem__)
        assert records == {0: {"text": "0 1\n"}}
    digests = members.digests
    monkeypatch.setattr(members, "digests", lambda read: dict.fromkeys(digests(read), "0"))
    with pytest.raises(UserError, match=f"is refused: {file} is another file there; and 1 more"):
        Cluster(cluster.place, read=["graph.el"])
    monkeypatch.setattr(members, "digests", lambda read: {"/none/graph.el": "0"})
    with pytest.raises(UserError, match="is refused: /none/graph.el cannot be read there: No such"):
        Cluster(cluster.place, read=["graph.el"])


def _text(name):
    """A piece that reads a file by its name."""
    return {"text": pathlib.Path(name).read_text()}


def test_a_plain_worker(cluster, tmp_path):
    """A worker that was started by Dask alone is refused, while the others work."""
    plain = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", cluster.address, "--no-dashboard",
         "--no-nanny"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
        env={**os.environ, "DASK_TEMPORARY_DIRECTORY": str(tmp_path)})
    cluster.workers.append(plain)
    found = []

    def refused():
        found.extend(_work(cluster.place, {})[1])
        return found

    _until(refused)
    plain.kill()
    plain.wait()
    assert "is refused: it is no worker of Graphloom: start it with graphloom worker" in found[0]
