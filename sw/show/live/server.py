"""The server of the live page: the page's files, simulators, and runs recorded on demand.

It listens on this machine alone, unless the user names another host. A request that comes through
another site is refused: its ``Host`` is a name that is not the server's, or its ``Origin`` another
site. Every request has an answer; work for requests is done in a process with limits
(:mod:`.work`).
"""

import contextlib
import dataclasses

import http.server
import ipaddress
import json
import pathlib
import socket
import sys
import threading
import time
import urllib.parse
from typing import Any

from base import scratch
from base.errors import UserError
from base.printable import one_line
from base import numbers
from sw.graph.catalogue import catalogue
from sw.graph.generators import GENERATORS

from .export import PAGE
from .request import RACE, RunRequest, check_upload, choices, offer, recorded
from .uploads import MOST_BYTES, PREFIX, Uploads
from .work import PageWork


__all__ = ["HOST", "PORT", "LiveServer"]


#: Only this machine reads the page, unless the user names another host.
HOST, PORT = "127.0.0.1", 8360

#: Bytes of a request for a run.
_REQUEST = 1 << 20

#: Bytes of a request that is too long which are still read.
_DROPPED = 64 << 20

#: Seconds within which the rest of a request must come, and in which a connection may be silent.
_BODY, _SILENCE = 60, 20

#: Connections at a time, and graphs that are received at a time.
_CONNECTIONS, _RECEIVED = 1024, 8

_TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
          ".css": "text/css; charset=utf-8", ".json": "application/json", ".gz": "application/gzip",
          ".svg": "image/svg+xml"}


class LiveServer(http.server.ThreadingHTTPServer):
    """Serves the page until it is closed.

    Parameters
    ----------
    host : str
    port : int
        0 for any free port; :attr:`url` has the one that was found.
    graph : str or None
        The text of the graph that the page begins with.
    work : PageWork, optional
        Does the work of requests; by default a process of its own.

    Raises
    ------
    UserError
        The port cannot be served.
    """
    daemon_threads = True
    block_on_close = False
    request_queue_size = _CONNECTIONS       # the system lets that many wait for a thread

    def __init__(self, host=HOST, port=PORT, graph=None, work=None):
        self.graph, self.host = graph, host
        self.modules: dict[str, pathlib.Path] = {}      # simulators, by the name in their address
        self.pages = {path.name: path for path in PAGE.iterdir()}
        self.receiving = threading.BoundedSemaphore(_RECEIVED)
        self._connections = threading.BoundedSemaphore(_CONNECTIONS)
        try:
            super().__init__((host, port), _Handler)
        except (OSError, UnicodeError, TypeError) as error:
            text = error.strerror if isinstance(error, OSError) else "it is no address"
            raise UserError(f"--port {port}: cannot be served on {host}: {text}; name "
                            "another") from None
        self._ends = contextlib.ExitStack()
        self.uploads = Uploads(self._ends.enter_context(scratch.folder("live")))
        self.work = work or PageWork()
        self._ends.callback(self.work.close)

    def server_bind(self):
        """Bind without asking for the name of the host."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        host, port = self.socket.getsockname()[:2]
        self.server_name, self.server_port = str(host), port

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{self.server_name}:{self.server_port}/"

    def process_request(self, request: Any, client_address):
        """Answer in a thread, or close the connection if there are too many."""
        if self._connections.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            with contextlib.suppress(OSError):
                request.sendall(b"HTTP/1.1 503 Busy\r\nConnection: close\r\n"
                                b"Content-Length: 0\r\n\r\n")
            self.shutdown_request(request)

    def process_request_thread(self, request, client_address):
        """In a thread: answer."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request, client_address):
        """A connection that broke needs no word; a defect has one line for whoever serves."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            print(f"graphloom: a request failed: {one_line(repr(error))}", file=sys.stderr)

    def server_close(self):
        """End the server and its work, and forget the graphs that were sent to it."""
        super().server_close()
        if hasattr(self, "_ends"):
            self._ends.close()

    def is_own(self, text) -> bool:
        """Whether the ``Host`` of a request is the server. Another site's name may lead to the
        server's address, so a name counts only if the user gave it; numbers lead to themselves."""
        try:
            host = urllib.parse.urlsplit(f"//{text}").hostname or ""
        except ValueError:
            return False
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return host in ("localhost", self.host.lower(), socket.gethostname().lower())
        return address.is_loopback or not ipaddress.ip_address(self.server_name).is_loopback

    def keep(self, name, contents) -> str:
        """Keep a graph that was sent, and return the text that names it. Raises UserError if it is
        no graph or too large."""
        text, path = self.uploads.keep(name, contents)
        try:
            self.work.do(check_upload, (str(path),))
        except BaseException:
            self.uploads.drop(text)
            raise
        return text

    def request(self, body) -> RunRequest:
        """The run that a page asks for, of a graph that it may have. Raises UserError."""
        request = RunRequest.parse(body)
        text = request.graph
        if text.startswith(PREFIX):
            path = self.uploads.find(text)
            if path is None:
                raise UserError(f"graph {text}: the server has it no longer: drop the file on the "
                                "page again")
            return dataclasses.replace(request, path=str(path))
        if text != self.graph and text not in catalogue() \
                and text.partition(":")[0].strip(" ") not in GENERATORS:
            raise UserError(f"graph {text}: there is no such graph here; must be "
                            f"{', '.join(catalogue())} or a generator's text; drop the file on the "
                            "page: a page does not name files of the server")
        return request


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers one request."""
    server: LiveServer
    protocol_version = "HTTP/1.1"
    timeout = _SILENCE

    def log_message(self, format, *arguments):
        """Print nothing."""

    def do_GET(self):
        """Answer with a file."""
        self._answer(self._file)

    def do_POST(self):
        """Take a graph, or record a run."""
        self._answer(self._work)

    def _answer(self, answer):
        """Answer a request of the page itself; also if the answer fails."""
        self._begun = False
        try:
            if not self.server.is_own(self.headers.get("Host", "")) or not self._same_site():
                self._fail(403, "the page answers its own requests only")
            else:
                answer(urllib.parse.urlsplit(self.path))
        except UserError as error:
            self._fail(400, str(error))
        except OSError:
            raise                                   # the connection broke or was silent
        except Exception:
            self._fail(400 if not self._begun else 0, "the request cannot be understood")
            raise

    def _same_site(self):
        origin = self.headers.get("Origin")
        return origin is None or origin.partition("://")[2] == self.headers.get("Host")

    def _file(self, parts):
        name = urllib.parse.unquote(parts.path).lstrip("/")
        if name == "cases.json":
            first = RACE if self.server.graph is None else RACE | {"graph": self.server.graph}
            self._json(200, offer("live", first, choices=choices()))
            return
        path = self.server.modules.get(name) or self.server.pages.get(name or "index.html")
        if path is None:
            self._send(404, b"there is no such file\n", "text/plain")
            return
        self._send(200, path.read_bytes(), _TYPES.get(path.suffix, "application/octet-stream"))

    def _work(self, parts):
        if parts.path == "/graph":
            query = urllib.parse.parse_qs(parts.query, max_num_fields=8)
            if not self.server.receiving.acquire(timeout=_BODY):
                raise UserError("too many graphs are being sent; try again later")
            try:
                kept = self.server.keep(query.get("name", ["graph.el"])[0],
                                        self._body(MOST_BYTES, "a graph"))
            finally:
                self.server.receiving.release()
            self._json(200, {"graph": kept})
        elif parts.path == "/record":
            self._record(self._body(_REQUEST, "a request"))
        else:
            self.close_connection = True
            self._send(404, b"there is no such address\n", "text/plain")

    def _body(self, most, what) -> bytes:
        """The whole body of the request. Raises UserError if it is too long, and OSError if it does
        not come whole."""
        length = numbers.integer(self.headers.get("Content-Length", ""))
        legal = length is not None and 0 <= length <= most
        # A body that is too long is read and dropped: a client that sends hears no answer.
        left = length if legal else min(max(length or 0, 0), _DROPPED)
        end, body = time.monotonic() + _BODY, bytearray()
        while left:
            part = self.rfile.read1(min(left, 1 << 16))
            if not part or time.monotonic() > end:
                raise UserError(f"{what} did not come whole")
            left -= len(part)
            if legal:
                body += part
        if not legal:
            raise UserError(f"{what} may have at most {most >> 10:,} KiB, and says how many")
        return bytes(body)

    def _record(self, body):
        """Answer with lines of JSON: what is being done, and last the recording or an error."""
        self._begun = self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()

        def tell(**line):
            self.wfile.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
            self.wfile.flush()

        try:
            found = self.server.work.do(recorded, (self.server.request(body),),
                                        lambda text: tell(doing=text))
        except UserError as error:
            tell(error=one_line(str(error)))
            return
        path = found["module"]
        name = f"simulators/{path.parent.name}.wasm.gz"
        self.server.modules[name] = path
        tell(recording=found["recording"] | {"simulator": name})

    def _fail(self, status, text):
        """Answer with an error and close the connection, unless an answer has begun."""
        self.close_connection = True
        if status:
            self._json(status, {"error": one_line(text)})

    def _json(self, status, contents):
        self._send(status, json.dumps(contents).encode(), "application/json")

    def _send(self, status, body, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)
