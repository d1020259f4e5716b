"""The server of the live page, over HTTP.

====================  ==================================================================
files                 test_files, test_no_other_file
requests              test_other_origin, test_another_name, test_request_is_wrong,
                      test_no_file_of_the_server, test_odd_requests, test_a_defect,
                      test_many_at_once
graphs                test_a_graph, test_an_upload_takes_no_name, test_broken_graph,
                      test_too_large, test_a_size_that_parameters_say, test_half_sent
runs                  test_a_run, test_a_program
ports                 test_port_in_use, test_no_such_host
limits of work        test_work.py
limits of uploads     test_uploads.py
====================  ==================================================================
"""

import concurrent.futures
import contextlib
import http.client
import json
import socket
import threading
import urllib.parse

import pytest

from base.errors import UserError
from base.installation import ROOT
from sim import wasm
from sw.show.live import recording, request
from sw.show.live.export import PAGE
from sw.show.live.server import LiveServer


#: The text of a program.
BFS = (ROOT / "sw/lang/programs/bfs.py").read_text()


class _Here:
    """Work that is done at once, in this process."""

    def do(self, function, arguments, report=None):
        found = function(*arguments)
        if "refused" in found:
            raise UserError(found["refused"])
        return found

    def close(self):
        pass


@contextlib.contextmanager
def _serving(**options):
    with LiveServer(port=0, **options) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()


@pytest.fixture
def server():
    with _serving(graph="karate", work=_Here()) as made:
        yield made


def ask(server, method, path, body=None, **headers):
    """The status and the body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=300)
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
    assert offered["mode"] == "live" and offered["first"]["graph"] == "karate"
    assert "weaver" in offered["choices"]["schedule"] and "bfs" in offered["choices"]["algorithm"]
    assert "paper" not in offered["choices"]["preset"]      # of six cores
    assert offered["choices"]["parameters"]["pagerank"] == ["iterations"]


def test_headers(server, tmp_path):
    """Each answer says its kind and length, is not guessed at and not kept for long."""
    (tmp_path / "a.wasm.gz").write_bytes(b"module")
    (tmp_path / "b.odd").write_bytes(b"?")
    server.modules |= {"simulators/a.wasm.gz": tmp_path / "a.wasm.gz", "b": tmp_path / "b.odd"}
    for method, path, body, status, kind in (
            ("GET", "/", None, 200, "text/html; charset=utf-8"),
            ("GET", "/index.html?x#y", None, 200, "text/html; charset=utf-8"),
            ("GET", "/app.js", None, 200, "text/javascript; charset=utf-8"),
            ("GET", "/cases.json", None, 200, "application/json"),
            ("GET", "/simulators/a.wasm.gz", None, 200, "application/gzip"),
            ("GET", "/b", None, 200, "application/octet-stream"),
            ("GET", "/nothing", None, 404, "text/plain"),
            ("POST", "/nothing", "", 404, "text/plain"),
            ("POST", "/graph?name=a.el", "0 1", 200, "application/json"),
            ("POST", "/graph?name=a.el", "0", 400, "application/json")):
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=300)
        connection.request(method, path, body)
        answer = connection.getresponse()
        text = answer.read()
        assert (answer.status, answer.headers["Content-Type"]) == (status, kind), path
        assert answer.headers["Content-Length"] == str(len(text))
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-cache"
        # Whoever goes wrong is heard no more; others may ask again.
        if method == "GET":
            connection.request("GET", "/nothing")
            assert connection.getresponse().status == 404
        connection.close()
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=300)
    connection.request("POST", "/record", "{")
    answer = connection.getresponse()
    assert {name: answer.headers[name] for name in ("Content-Type", "Cache-Control",
                                                    "Connection")} == {
        "Content-Type": "application/x-ndjson", "Cache-Control": "no-store",
        "Connection": "close"}


def test_the_url(server):
    assert server.url == f"http://127.0.0.1:{server.server_port}/"


def test_busy(server):
    """A connection too many has an answer at once, and those before it go on."""
    while server._connections.acquire(blocking=False):
        pass
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as sender:
        assert sender.makefile("rb").read() == (
            b"HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    for _ in range(2):                      # a connection that ends makes room
        server._connections.release()
        assert ask(server, "GET", "/nothing")[0] == 404


@pytest.mark.parametrize("path", ["/nothing.js", "/../server.py", "/%2e%2e/server.py",
                                  "/simulators/nothing.wasm.gz", "//etc/passwd", "/%00",
                                  "/a%00.js", "/" + "a" * 9000, "/" + "../" * 3000])
def test_no_other_file(server, path):
    assert ask(server, "GET", path)[0] == 404


@pytest.mark.parametrize("headers", [
    {"Host": "example.org"}, {"Host": "example.org:80"}, {"Origin": "http://example.org"},
    {"Origin": "null"}])
def test_other_origin(server, headers):
    """A page of another site, or another name of this machine, gets nothing."""
    for method, path in (("GET", "/cases.json"), ("POST", "/record"), ("POST", "/graph")):
        assert ask(server, method, path, **headers)[0] == 403


@pytest.mark.parametrize("host, allowed", [
    ("127.0.0.1:80", True), ("[::1]:80", True), ("localhost", True), ("192.0.2.2:80", True),
    ("example.org", False), ("127.0.0.1.example.org", False), ("", False), ("[", False)])
def test_another_name(host, allowed):
    """A server that others reach answers to its numbers, and not to a name that leads to them."""
    with _serving(host="0.0.0.0", work=_Here()) as made:
        assert ask(made, "GET", "/cases.json", Host=host)[0] == (200 if allowed else 403)


@pytest.mark.parametrize("lines", [
    b"POST /record HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + b"9" * 5000,
    b"POST /record HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1",
    b"POST /graph HTTP/1.1\r\nHost: localhost", b"POST /nothing HTTP/1.1\r\nHost: localhost",
    b"POST /graph?" + b"&a=b" * 100 + b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0",
    b"GET //[ HTTP/1.1\r\nHost: localhost", b"GET /cases.json HTTP/1.0", b"nonsense",
    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200, b"PUT / HTTP/1.1\r\nHost: localhost",
    b"GET /" + b"a" * 70_000 + b" HTTP/1.1", b"GET / HTTP/9.9",
    b"GET /\xff\xfe HTTP/1.1\r\nHost: a"])
def test_odd_requests(server, capfd, lines):
    """Every request has an answer, without a traceback."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as sender:
        sender.sendall(lines + b"\r\n\r\n")
        sender.shutdown(socket.SHUT_WR)
        answer = sender.makefile("rb").read()
    assert b"HTTP/1.1 4" in answer or b"HTTP/1.1 5" in answer or b"Error code: " in answer
    assert ask(server, "GET", "/")[0] == 200
    assert "Traceback" not in capfd.readouterr().err


def test_a_defect(server, capfd, monkeypatch):
    """An error that nobody foresaw is told to whoever serves. The client gets one answer: a refusal
    unless the answer has begun, which then ends."""
    def fail(*_):
        raise RuntimeError("no luck")
    monkeypatch.setattr("sw.show.live.server.choices", fail)
    monkeypatch.setattr(server.work, "do", fail)
    assert ask(server, "GET", "/cases.json") == (
        400, b'{"error": "the request cannot be understood"}')
    record = {"algorithm": "bfs", "graph": "karate"}
    assert ask(server, "POST", "/record", json.dumps(record)) == (200, b"")
    assert ask(server, "GET", "/")[0] == 200
    assert capfd.readouterr().err == 2 * "graphloom: a request failed: RuntimeError('no luck')\n"


def test_many_at_once(server):
    """200 requests in parallel are all answered, whatever they ask."""
    def one(number):
        if number % 4 == 3:
            return recorded(server, algorithm="nothing", graph="karate")[-1].keys() == {"error"}
        if number % 4 == 2:
            return ask(server, "POST", "/graph?name=a.el", "0 1\n")[0] == 200
        return ask(server, "GET", ["/", "/app.js"][number % 2])[0] == 200

    with concurrent.futures.ThreadPoolExecutor(200) as pool:
        assert all(pool.map(one, range(200)))


@pytest.mark.parametrize("body, words", [
    ("{", "is no JSON"), ("[]", "must be an object"), ('{"x": 1}', "no field 'x'"),
    ('{"algorithm": "bfs"}', "has no graph"), ('{"graph": "karate"}', "has no algorithm"),
    ('{"algorithm": "bfs", "graph": "karate", "iterations": "2"}', "must be a whole number"),
    ('{"algorithm": "bfs", "graph": "karate", "schedule": 3}', "must be a text"),
    ('{"algorithm": "nothing", "graph": "karate"}', "there is no algorithm 'nothing'"),
    *((json.dumps({"algorithm": name, "graph": "karate"}), "no program from a file") for name in (
        "x.py", "x.gt", "a:b/x.py", "a:b.gt/x.py:main", "x.py:main", "x.py ", "./x.py",
        "bfs schedule=vm", "gcn(features=/etc/passwd)", "bfs|cc")),
    ("[" * 100_000, "is no JSON"), ('{"a":' * 10_000, "is no JSON"),
    ('{"algorithm": "bfs", "graph": "karate", "iterations": ' + "9" * 5000 + "}", "is no JSON"),
    ('{"algorithm": "bfs", "graph": "karate", "iterations": NaN}', "must be a whole number"),
    ('{"algorithm": "bfs", "graph": "\\ud800"}', "there is no such graph here"),
    (b"\xff", "is no JSON"),
    ('{"algorithm": "bfs", "graph": "nothing"}', "nothing"),
    ('{"algorithm": "bfs", "graph": "karate", "schedule": "nothing"}', "nothing"),
    ('{"algorithm": "bfs", "graph": "karate", "preset": "nothing"}', "no preset 'nothing'"),
    ('{"algorithm": "bfs", "graph": "karate", "preset": "paper"}', "the live page shows one core"),
    ('{"algorithm": "bfs", "graph": "karate", "source": "99"}', "99"),
    ('{"graph": "karate", "program": 3}', "must be a text"),
    (json.dumps({"graph": "karate", "program": "x" * 20_001}), "may have 20,000"),
    ('{"graph": "karate", "program": "x = 1"}', "program.py: there is no program"),
    ('{"graph": "karate", "program": "\\ud800"}', "program.py:1:1: "),
    (json.dumps({"graph": "karate", "program": "(" * 19_000}), "program.py:1:201: "),
    (json.dumps({"graph": "karate", "program": "@program\ndef f(edges: edgeset):\n  return g"}),
     "program.py:3:10: "),
    (json.dumps({"graph": "karate", "program": "func main()\n x\nend"}), "program.gt:3:1: "),
    ('{"algorithm": "bfs", "graph": "karate", "parameters": "source"}', "must be NAME=VALUE")])
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
    kept = json.loads(body)["graph"]
    assert status == 200 and kept.startswith("upload:") and kept.endswith("/mine.el")
    assert server.uploads.find(kept).read_text() == "0 1\n1 2\n"
    folder = server.uploads.find(kept).parents[1]
    server.server_close()
    assert not folder.exists()


@pytest.mark.parametrize("name", ["karate", "rmat:scale=6,degree=6,seed=1", "upload:x/y", "", "..",
                                  "%00", "a" * 5000, "\n\x1b[31m"])
def test_an_upload_takes_no_name(server, name):
    """Whatever an upload is called, other texts name what they named before."""
    status, body = ask(server, "POST", f"/graph?name={urllib.parse.quote(name)}", "0 1\n1 2\n")
    kept = json.loads(body)["graph"]
    assert status == 200 and kept.isprintable() and len(kept) < 130
    made = server.request(json.dumps({"algorithm": "bfs", "graph": "karate"}))
    assert made.path is None and made.load().num_vertices == 34
    generated = server.request(json.dumps({"algorithm": "bfs",
                                           "graph": "rmat:scale=6,degree=6,seed=1"}))
    assert generated.load().num_vertices == 64
    mine = server.request(json.dumps({"algorithm": "bfs", "graph": kept}))
    assert mine.load().num_edges == 2 and "upload:" not in mine.command


def test_an_upload_that_is_gone(server):
    kept = json.loads(ask(server, "POST", "/graph?name=a.el", "0 1\n")[1])["graph"]
    server.uploads.drop(kept)
    for text in (kept, "upload:", "upload:../a.el"):
        assert "drop the file on the page again" in recorded(
            server, algorithm="bfs", graph=text)[-1]["error"]


def test_broken_graph(server):
    status, body = ask(server, "POST", "/graph?name=mine.el", "0 1\n1 x\n")
    error = json.loads(body)["error"]
    assert status == 400 and error.startswith("mine.el: line 2: ") and "\n" not in error
    assert ask(server, "POST", "/graph?name=a.npz", b"PK broken")[0] == 400
    for name in ("a.npz", "a.el.gz", "a.mtx", "a.graph", "a.gr", "a", "a.content", "a.cites"):
        for contents in (b"", b"\x1f\x8b\x08broken", b"PK\x03\x04", b"\0" * 100, b"9" * 5000,
                         b"%%MatrixMarket matrix coordinate real general\n1 1 " + b"9" * 5000):
            status, body = ask(server, "POST", f"/graph?name={name}", contents)
            assert status in (200, 400)
            if status == 400:
                [(key, error)] = json.loads(body).items()
                assert key == "error" and error and "\n" not in error and "Traceback" not in error
    assert len(list(server.uploads._folder.iterdir())) == len(server.uploads._kept) + 1


def test_too_many_bytes(server):
    """The answer comes although the graph was not taken."""
    for path, length in (("/graph?name=a.el", (16 << 20) + 1), ("/record", (1 << 20) + 1)):
        status, body = ask(server, "POST", path, b" " * length)
        assert status == 400 and "may have at most" in json.loads(body)["error"]


def test_half_sent(server):
    """A graph of which only half comes is not kept, and the server goes on."""
    with socket.create_connection(("127.0.0.1", server.server_port)) as sender:
        sender.sendall(b"POST /graph?name=a.el HTTP/1.1\r\nHost: localhost\r\n"
                       b"Content-Length: 100\r\n\r\n0 1\n1 2\n")
        sender.shutdown(socket.SHUT_WR)
        assert b"did not come whole" in sender.makefile("rb").read()
    assert not server.uploads._kept and ask(server, "GET", "/")[0] == 200


def test_a_size_that_parameters_say(server, monkeypatch):
    """A generator is not run for a graph that its parameters show to be too large."""
    monkeypatch.setattr(request, "load", lambda *_, **more: pytest.fail("it is made"))
    for text in ("road:side=4000,seed=1", "rmat:scale=20,degree=16,seed=1",
                 "uniform:vertices=4000000,edges=10,seed=1", " road : side=4000"):
        assert "too many for the page" in recorded(server, algorithm="bfs", graph=text)[-1]["error"]


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
    kept = json.loads(ask(server, "POST", "/graph?name=mine.el", "0 1\n1 2\n0 3\n")[1])["graph"]
    made = recorded(server, algorithm="bfs", graph=kept, schedule="vm")[-1]["recording"]
    assert made["result"]["cycles"] > 100 and made["graph"]["vertices"] == 4
    assert made["command"].endswith("run bfs mine.el --schedule vm --preset tiny")
    assert made["simulator"] == "simulators/key.wasm.gz"
    assert ask(server, "GET", "/simulators/key.wasm.gz") == (200, b"module")


@pytest.mark.parametrize("text, given, name", [
    ("open({0!r}, 'w')\n@print(open({0!r}, 'w'))\ndef other(): pass\n" + BFS, None, "py"),
    ((ROOT / "examples/lang/bfs.gt").read_text(), "start_vertex=3", "gt")],
    ids=["python", "GraphIt"])
def test_a_program(server, monkeypatch, tmp_path, text, given, name):
    """A text of the language is run; nothing else in it is executed."""
    monkeypatch.setattr(request.wasm, "module", lambda config, report: wasm.Module(tmp_path, []))
    mark = tmp_path / "mark"
    made = recorded(server, program=text.replace("{0!r}", repr(str(mark))), graph="karate",
                    schedule="vm", parameters=given)[-1]["recording"]
    assert made["algorithm"] == f"program.{name}" and not mark.exists()
    assert made["result"]["plan"].startswith(f"program.{name}")
    assert f" run program.{name} karate --schedule vm" in made["command"]


def test_port_in_use(server):
    with pytest.raises(UserError, match=f"--port {server.server_port}: .*127.0.0.1"):
        LiveServer(port=server.server_port)


def test_no_such_host():
    with pytest.raises(UserError, match=r"203\.0\.113\.1"):
        LiveServer(host="203.0.113.1", port=0)
