"""The server of the live page, over HTTP.

====================  ==================================================================
files                 test_files, test_no_other_file
requests              test_other_origin, test_request_is_wrong, test_no_file_of_the_server
graphs                test_a_graph, test_broken_graph, test_too_large
runs                  test_a_run
ports                 test_port_in_use, test_no_such_host
====================  ==================================================================
"""

import http.client
import json
import pathlib
import threading

import pytest

from sim import wasm
from sw.errors import UserError
from sw.live import recording, request
from sw.live.export import PAGE
from sw.live.server import LiveServer


@pytest.fixture
def server():
    with LiveServer(port=0, graph="karate") as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.02,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server, method, path, body=None, **headers):
    """The status and the body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def recorded(server, **fields):
    """The lines of the server."""
    status, body = ask(server, "POST", "/record", json.dumps(fields))
    assert status == 200
    return [json.loads(line) for line in body.splitlines()]


def test_files(server):
    for path in PAGE.iterdir():
        assert ask(server, "GET", f"/{path.name}") == (200, path.read_bytes())
    assert ask(server, "GET", "/")[1] == (PAGE / "index.html").read_bytes()
    offered = json.loads(ask(server, "GET", "/cases.json")[1])
    assert offered["mode"] == "live" and offered["graph"] == "karate"
    assert "weaver" in offered["choices"]["schedule"] and "bfs" in offered["choices"]["algorithm"]
    assert "paper" not in offered["choices"]["preset"]      # of six cores
    assert offered["choices"]["parameters"]["pagerank"] == ["iterations"]


@pytest.mark.parametrize("path", ["/nothing.js", "/../server.py", "/%2e%2e/server.py",
                                  "/simulators/nothing.wasm.gz", "//etc/passwd"])
def test_no_other_file(server, path):
    assert ask(server, "GET", path)[0] == 404


@pytest.mark.parametrize("headers", [
    {"Host": "example.org"}, {"Host": "example.org:80"}, {"Origin": "http://example.org"},
    {"Origin": "null"}])
def test_other_origin(server, headers):
    """A page of another site, or another name of this machine, gets nothing."""
    for method, path in (("GET", "/cases.json"), ("POST", "/record"), ("POST", "/graph")):
        assert ask(server, method, path, **headers)[0] == 403


@pytest.mark.parametrize("body, words", [
    ("{", "is no JSON"), ("[]", "must be an object"), ('{"x": 1}', "no field 'x'"),
    ('{"algorithm": "bfs"}', "has no graph"), ('{"graph": "karate"}', "has no algorithm"),
    ('{"algorithm": "bfs", "graph": "karate", "iterations": "2"}', "must be a whole number"),
    ('{"algorithm": "bfs", "graph": "karate", "schedule": 3}', "must be a text"),
    ('{"algorithm": "nothing", "graph": "karate"}', "there is no algorithm 'nothing'"),
    ('{"algorithm": "x.py", "graph": "karate"}', "runs no program from a file"),
    ('{"algorithm": "bfs", "graph": "nothing"}', "nothing"),
    ('{"algorithm": "bfs", "graph": "karate", "schedule": "nothing"}', "nothing"),
    ('{"algorithm": "bfs", "graph": "karate", "preset": "nothing"}', "no preset 'nothing'"),
    ('{"algorithm": "bfs", "graph": "karate", "preset": "paper"}', "the live page shows one core"),
    ('{"algorithm": "bfs", "graph": "karate", "source": "99"}', "99")])
def test_request_is_wrong(server, body, words):
    status, answer = ask(server, "POST", "/record", body)
    line, = answer.splitlines()
    assert status == 200 and words in json.loads(line)["error"]


def test_no_file_of_the_server(server, tmp_path):
    path = tmp_path / "graph.el"
    path.write_text("0 1\n")
    assert "drop the file on the page" in recorded(
        server, algorithm="bfs", graph=str(path))[-1]["error"]


def test_a_graph(server):
    status, body = ask(server, "POST", "/graph?name=..%2F..%2Fmine.el", "0 1\n1 2\n")
    assert status == 200 and json.loads(body) == {"graph": "mine.el"}
    assert server.files["mine.el"].read_text() == "0 1\n1 2\n"
    assert server.files["mine.el"].is_relative_to(pathlib.Path(server._room))


def test_broken_graph(server):
    status, body = ask(server, "POST", "/graph?name=mine.el", "0 1\n1 x\n")
    error = json.loads(body)["error"]
    assert status == 400 and error.startswith("mine.el: line 2: ") and "\n" not in error
    assert "mine.el" not in server.files
    assert ask(server, "POST", "/graph?name=a.npz", b"PK broken")[0] == 400


def test_too_large(server, monkeypatch):
    monkeypatch.setattr(recording, "MOST_EDGES", 2)
    status, body = ask(server, "POST", "/graph?name=mine.el", "0 1\n1 2\n2 0\n")
    assert status == 400
    assert json.loads(body)["error"] == \
        "mine: 3 arcs are too many for the page; it takes at most 2"
    assert "arcs are too many for the page" in recorded(
        server, algorithm="bfs", graph="karate")[-1]["error"]


def test_a_run(server, monkeypatch, tmp_path):
    """The lines of a run end with the recording, whose simulator is then served."""
    built = tmp_path / "key" / "gpu.wasm.gz"
    built.parent.mkdir()
    built.write_bytes(b"module")
    monkeypatch.setattr(request.wasm, "module", lambda config, report: wasm.Module(built, []))
    ask(server, "POST", "/graph?name=mine.el", "0 1\n1 2\n0 3\n")
    made = recorded(server, algorithm="bfs", graph="mine.el", schedule="vm")[-1]["recording"]
    assert made["result"]["cycles"] > 100 and made["graph"]["vertices"] == 4
    assert made["command"].endswith("run bfs mine.el --schedule vm --preset tiny")
    assert made["simulator"] == "simulators/key.wasm.gz"
    assert ask(server, "GET", "/simulators/key.wasm.gz") == (200, b"module")


def test_port_in_use(server):
    with pytest.raises(UserError, match=f"--port {server.server_port}: cannot be served on "
                                        "127.0.0.1: Address already in use; name another"):
        LiveServer(port=server.server_port)


def test_no_such_host():
    with pytest.raises(UserError, match="cannot be served on 203.0.113.1"):
        LiveServer(host="203.0.113.1", port=0)
