"""Addresses of clusters, and the workers that fit, with a scheduler that is told."""

import pytest

from base.errors import UserError
from sw.study.cluster import members
from sw.study.cluster.members import Members
from sw.study.cluster.place import ClusterPlace, Tls, tls
from sw.study.cluster.worker import KEY


@pytest.mark.parametrize("text, host, port, address", [
    ("node:1", "node", 1, "tcp://node:1"), ("tcp://node.a:65535", "node.a", 65535,
                                            "tcp://node.a:65535"),
    ("[::1]:8786", "::1", 8786, "tcp://[::1]:8786"),
    ("tcp://[fe80::1.2.3.4]:9", "fe80::1.2.3.4", 9, "tcp://[fe80::1.2.3.4]:9")])
def test_places(text, host, port, address):
    place = ClusterPlace(text)
    assert (place.host, place.port, place.address, place.security) == (host, port, address, None)


@pytest.mark.parametrize("text", [
    "", "node", "node:", ":1", "node:0", "node:65536", "node:x", "a b:1", "udp://node:1",
    "tcp://node:1/x", "::1:8786", "[::1]", "a@b:1", "[g]:1", "tcp:/node:1"])
def test_no_place(text):
    with pytest.raises(UserError, match="is no address of a cluster; must be HOST:PORT, as in "
                                        "tcp://127.0.0.1:8786"):
        ClusterPlace(text)


def test_places_with_tls():
    files = object.__new__(Tls)
    assert ClusterPlace("tls://node:1", files).address == "tls://node:1"
    assert ClusterPlace("node:1", files).address == "tls://node:1"
    with pytest.raises(UserError, match="tls://node:1: a cluster with TLS: give --tls-ca"):
        ClusterPlace("tls://node:1")
    with pytest.raises(UserError, match="tcp://node:1: a cluster without TLS: write tls://"):
        ClusterPlace("tcp://node:1", files)
    assert tls(None, None, None) is None
    for given, missing in (((None, "b", "c"), "--tls-ca"), (("a", None, None),
                                                            "--tls-cert and --tls-key")):
        with pytest.raises(UserError, match=f"^{missing}: must be given as well"):
            tls(*given)


OWN = {"sources": "abc", "python": "3.11"}


class Client:
    """A client whose scheduler has these workers."""
    status = "running"

    def __init__(self, address, **options):
        self.closed = False
        asked.append((address, options["timeout"], options["security"]))

    def scheduler_info(self):
        return {"workers": dict(workers)}

    def run(self, function, folder, files, workers):
        asked.append((folder, files, workers))
        answer = answers[workers[0]]
        if isinstance(answer, Exception):
            raise answer
        return {workers[0]: answer}

    def close(self, timeout):
        self.closed = True


asked, workers, answers = [], {}, {}


def _worker(threads, host=None, **about):
    return {"nthreads": threads, KEY: OWN | about | ({} if host is None else {"host": host})}


@pytest.fixture
def told(monkeypatch):
    """A function that joins the cluster, reading some files, and gives the members and notes."""
    for part in (asked, workers, answers):
        part.clear()
    clock = iter(range(1000))
    monkeypatch.setattr(members.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(members.time, "sleep", asked.append)
    monkeypatch.setattr(members, "reach", lambda place: None)
    monkeypatch.setattr(members, "identity", lambda: OWN)
    monkeypatch.setattr(members, "digests", lambda read: dict.fromkeys(read, "d"))
    monkeypatch.setattr(members.distributed, "Client", Client)

    def join(*read):
        notes = []
        return Members(ClusterPlace("node:1"), read, notes.append), notes
    return join


def test_workers_that_fit(told):
    workers.update(a=_worker(2), b=_worker(3, "host", python="3.12"), c={"nthreads": 1})
    found, notes = told()
    assert found.threads == {"a": 2} and found.folder is None
    assert asked == [("tcp://node:1", members._ANSWER, None)]
    assert sorted(notes) == [
        "worker b on host is refused: python 3.12 there, 3.11 here",
        "worker c is refused: it is no worker of Graphloom: start it with graphloom worker"]
    workers.update(d=_worker(4, "more"), e=_worker(1, sources="x" * 20))
    del workers["a"]
    assert found.look() == {"d": 4} and found.called("d") == "d on more" and len(notes) == 3
    assert notes[2].startswith("worker e is refused: sources xxxxxxxxxxxx there, abc here")
    found.refuse("d", "it is slow")
    assert found.threads == {} and notes[3] == "worker d on more is refused: it is slow"
    assert found.look() == {} and len(notes) == 4


def test_files(told):
    workers.update(a=_worker(2), b=_worker(1), c=_worker(1))
    answers.update(a=None, b="file x.el differs", c=OSError("no route"))
    found, notes = told("x.el")
    assert found.threads == {"a": 2} and found.folder is not None
    assert {each[0] for each in asked[1:]} == {found.folder}
    assert sorted(notes) == ["worker b is refused: file x.el differs",
                             "worker c is refused: it does not answer: no route"]


def test_nobody(told):
    """The first worker is waited for; if all are refused, the first reason is told."""
    with pytest.raises(UserError, match="^cluster node:1: no worker has joined: start one with "
                                        "graphloom worker node:1$"):
        told()
    assert asked.count(members._LOOK) == members._FIRST - 1
    workers.update(a=_worker(2, python="2"))
    asked.clear()
    with pytest.raises(UserError, match="^cluster node:1: worker a is refused: python 2 there, "
                                        "3.11 here$"):
        told()
    assert members._LOOK not in asked
    workers.update(b=_worker(2, python="2"), c=_worker(2, python="2"))
    with pytest.raises(UserError, match="3.11 here; and 2 more are refused$"):
        told()


def test_the_scheduler_is_gone(told, monkeypatch):
    workers.update(a=_worker(2))
    found, _ = told()
    found.client.status = "closed"
    with pytest.raises(UserError, match="^cluster node:1: its scheduler is gone; the same command"):
        found.look()
    found.close()
    assert found.client.closed

    def silent(*arguments, **options):
        raise TimeoutError
    monkeypatch.setattr(members.distributed, "Client", silent)
    with pytest.raises(UserError, match="^cluster node:1: its scheduler does not answer$"):
        told()
