"""Commands with --cluster, and the commands that make a cluster.

====================  ============================================================================
the same results      test_list, test_tune, test_reproduce, test_mutants, test_campaign
an interruption       test_an_interruption_keeps_what_is_done, test_the_end_of_servers
bad input             test_no_cluster, test_addresses, test_a_program_that_is_no_cluster,
                      test_no_worker, test_options, test_a_port_in_use
====================  ============================================================================
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest

from base.errors import UserError
from base.installation import ROOT
from checks.campaign.covering import Point
from checks.campaign.mutants.run import MutantWork
from checks.campaign.mutants.places import places
from checks.campaign.work import Work
from hw.config import HardwareConfig
from sim.children import tied
from sw.cli.main import main
from sw.study.cluster import connection, members
from sw.study.cluster.executor import Cluster
from sw.study.cluster.place import ClusterPlace
from sw.study.reproduce import setting
from sw.study.reproduce.setting import GraphChoice
from tb.executors import InThisProcess

from .machines import LocalCluster


LIST = ["list", "combinations", "--run", "--functional", "--preset", "tiny", "--only",
        "format=csr", "--only", "schedule=vm", "--only", "algorithm=bfs", "--only",
        "direction=push", "--only", "block=none"]


def _error(capsys, *arguments):
    assert main(list(arguments)) == 2
    text = capsys.readouterr().err
    assert text.startswith("graphloom: error: ") and text.count("\n") == 1, text
    return text


def test_list(cluster, capsys, tmp_path):
    """The runs on the cluster have the results of local runs, and are not made again."""
    there, here = tmp_path / "there.json", tmp_path / "here.json"
    kept = ["--results", str(tmp_path / "runs.jsonl")]
    assert main([*LIST, *kept, "--cluster", cluster.address, "--json", str(there)]) == 0
    assert main([*LIST, "--jobs", "1", "--json", str(here)]) == 0
    assert json.loads(there.read_text()) == json.loads(here.read_text())
    capsys.readouterr()
    assert main([*LIST, *kept, "--jobs", "1"]) == 0
    count = len(json.loads(here.read_text())["runs"])
    assert f"({count} runs were there)" in capsys.readouterr().out


def test_tune(cluster, capsys, tmp_path, monkeypatch):
    """A graph in a file, by a relative name, and trials with exact cycles."""
    monkeypatch.chdir(tmp_path)
    pathlib.Path("ring.el").write_text("".join(f"{n} {(n + 1) % 9}\n" for n in range(9)))
    trials = []
    for more in (["--cluster", cluster.address], ["--jobs", "1"]):
        assert main(["tune", "bfs", "ring.el", "--preset", "tiny", "--strategy", "exhaustive",
                     "--no-stop", "--only", "format=csr", "--only", "schedule=vm", "--only",
                     "direction=push", "--only", "split=static", "--only", "frontier=counter",
                     "--options", "none", "--results", f"{len(trials)}.jsonl", "--json",
                     "found.json", *more]) == 0
        trials.append({trial["plan"]: trial for trial in
                       json.loads(pathlib.Path("found.json").read_text())["trials"]})
    assert trials[0] == trials[1] and len(trials[0]) > 1
    assert {trial["status"] for trial in trials[0].values()} == {"done"}


def test_reproduce(cluster, capsys, tmp_path, monkeypatch):
    """Cycles are counted on the cluster. Wall times are measured here: no worker gets such a run.
    """
    karate = (GraphChoice("karate", "karate", False),)
    for name in ("simulated", "wide", "brief", "stored"):
        monkeypatch.setitem(setting._GENERATED, name, (karate, karate))
    sent = []
    begin = "sw.study.cluster.executor._ClusterSlots.begin"
    from sw.study.cluster.executor import _ClusterSlots
    original = _ClusterSlots.begin

    def seen(self, number, function, arguments):
        sent.append(arguments[0])
        original(self, number, function, arguments)

    monkeypatch.setattr(begin, seen)
    assert main(["reproduce", "cr2", "fig3.8", "fig3.11", "--repeat", "1", "--cluster",
                 cluster.address, "--output", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "fig3.11.json").read_text())
    assert any("seconds" in record for record in found["records"])
    assert sent and not any(case.timed for case in sent)
    assert (tmp_path / "fig3.8.json").exists()


def test_mutants(cluster, capsys, tmp_path):
    """A fault is noticed on the cluster. The records have no wall time."""
    file = tmp_path / "all.json"
    assert main(["mutants", _a_mutant().id, "--cluster", cluster.address, "--json",
                 str(file)]) == 0
    assert "noticed by: 1 failed" in capsys.readouterr().out
    [record] = json.loads(file.read_text())["mutants"]
    assert record["outcome"] == "failed" and record["seconds"] is None


def _a_mutant():
    """A golden model that leaves a step out."""
    return next(place for place in places("sw/golden/hashing.py")
                if place.operator == "drop").mutant()


def test_a_mutant_whose_process_dies(monkeypatch, tmp_path):
    """Its outcome is an error that no file keeps, so that the next command tries again."""
    monkeypatch.setattr("checks.campaign.mutants.run._one",
                        lambda *_: {"error": "its process ended"})
    monkeypatch.setattr("checks.campaign.mutants.run.copy_sources", lambda folder: None)
    path = tmp_path / "mutants.jsonl"
    work = MutantWork([_a_mutant()], path=path)
    work.run(InThisProcess(), lambda mutant, record: None)
    assert [record["outcome"] for record in work.records.values()] == ["error"]
    assert not path.exists()
    monkeypatch.setattr("checks.campaign.mutants.run._one", lambda *_: {"unable": "no room"})
    with pytest.raises(UserError, match="^no room$"):
        MutantWork([_a_mutant()]).run(InThisProcess(), None)


class Deadly(Point):
    """A point that ends the process that receives it."""

    def __reduce__(self):
        return os._exit, (3,)


def test_campaign(cluster, monkeypatch):
    """A point that ends its process fails alone. Points have no wall time."""
    deadly = Deadly(1, HardwareConfig(name="deadly"), ())
    campaign = Work([deadly], instructions=1, seed=1)
    with Cluster(cluster.place) as there:
        campaign.run(there, lambda *_: None, lambda point, text: None)
    assert [failure["message"] for failure in campaign.records[1]["failures"]] == [
        "its process ended with exit code 3"]
    monkeypatch.setattr("checks.campaign.work._check", lambda *_: {
        "failures": [], "seconds": 4.0, "build_seconds": 3.0})
    for here, seconds in ((True, 4.0), (False, None)):
        campaign = Work([deadly], instructions=1, seed=1)
        campaign.run(InThisProcess(here), lambda *_: None, lambda point, text: None)
        assert campaign.records[1]["seconds"] == seconds


def _started(*words):
    return subprocess.Popen(
        [sys.executable, "-m", "sw.cli", *words], cwd=ROOT, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=tied(),
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"})


def _lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_an_interruption_keeps_what_is_done(cluster, capsys, tmp_path):
    """After Ctrl-C: exit code 130, one line, and the workers are free for the next command."""
    records = tmp_path / "runs.jsonl"
    command = ["list", "combinations", "--run", "--functional", "--preset", "tiny",
               "--only", "algorithm=bfs", "--only", "format=csr", "--sample", "40",
               "--results", str(records), "--cluster", cluster.address]
    process = _started(*command)
    end = time.monotonic() + 300
    while _lines(records) < 2:               # a line that is being written may go
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=300)
    assert process.returncode == 130
    assert error.endswith("graphloom: interrupted\n") and "Traceback" not in error
    kept = _lines(records)
    assert all(json.loads(line)["verified"] for line in records.read_text().splitlines())
    assert 0 < kept < 120
    # The workers do not finish the runs of the client that is gone.
    assert main([*LIST, "--cluster", cluster.address]) == 0


def test_the_end_of_servers():
    """Ctrl-C ends a worker and a scheduler: exit code 130 and one line."""
    with LocalCluster(1) as few:
        for process in (few.workers[0], few.scheduler):
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=300)
            assert (process.returncode, out, error) == (130, "", "graphloom: interrupted\n")
        few.workers.clear()


COMMANDS = (["tune", "bfs", "karate"], LIST, ["reproduce", "cr2", "fig2.9"], ["campaign"],
            ["mutants", "--curated"])


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_cluster(capsys, tmp_path, monkeypatch, command):
    """One connection is tried, at a port that is taken and where nobody listens."""
    monkeypatch.chdir(tmp_path)
    tried, connect = [], socket.create_connection
    monkeypatch.setattr(connection.socket, "create_connection",
                        lambda *words, **more: tried.append(words) or connect(*words, **more))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert (f"there is no cluster at {address}: Connection refused; `graphloom cluster` starts "
                "one" in _error(capsys, *command, "--cluster", address))
    assert len(tried) == 1
    assert not list(tmp_path.rglob("*.jsonl"))


@pytest.mark.parametrize("address", ["here", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536",
                                     "http://127.0.0.1:80", "a b:80", ":80", "127.0.0.1:8786/"])
def test_addresses(capsys, address):
    for command in (["mutants", "--curated", "--cluster", address], ["worker", address]):
        assert (f"{address}: is no address of a cluster; must be HOST:PORT, as in "
                "tcp://127.0.0.1:8786") in _error(capsys, *command)


def test_addresses_that_are_right():
    found = ClusterPlace("tcp://node-1.lab:8786")
    assert (found.host, found.port, found.address) == ("node-1.lab", 8786, found.text)
    found = ClusterPlace("[::1]:1")
    assert (found.host, found.port, found.address) == ("::1", 1, "tcp://[::1]:1")


def test_a_program_that_is_no_cluster(cluster, capsys, monkeypatch):
    """A program that says nothing, and a worker whose address is taken for the cluster's."""
    monkeypatch.setattr(connection, "_REACH", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        for command in (["campaign", "--cluster"], ["worker"]):
            assert f"the program at {address} is no cluster" in _error(capsys, *command, address)
    with Cluster(cluster.place) as there:
        [address, _] = there.workers
    assert f"the program at {address} is no cluster" in _error(capsys, "worker", address)


def test_no_worker(capsys, monkeypatch):
    monkeypatch.setattr(members, "_FIRST", 1)
    with LocalCluster(0) as few:
        assert f"no worker has joined: start one with graphloom worker {few.address}" in _error(
            capsys, "campaign", "--cluster", few.address)


@pytest.mark.parametrize("arguments, message", [
    (["mutants", "--curated", "--jobs", "2"],
     "--jobs: the workers of a cluster say how many runs they take: give --jobs to graphloom "
     "worker"),
    (["tune", "bfs", "karate", "--vm", "cpu"], "--vm cpu measures wall times"),
    (["campaign", "--fuzz"], "--fuzz runs no configurations: leave out --only, --list, --results "
     "and --cluster"),
    (["list", "combinations"], "--cluster applies to runs only: give --run as well"),
])
def test_options(capsys, arguments, message):
    assert message in _error(capsys, *arguments, "--cluster", "127.0.0.1:1")


def test_a_port_in_use(capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert (f"a cluster cannot be at 127.0.0.1:{port}: another program uses this port: give "
                "another with --port") in _error(capsys, "cluster", "--port", str(port))
