"""The server of the live page: the page's files, simulators, and runs recorded on demand.

It listens on this machine alone, unless the user names another host. A request that comes through
another site is refused: its ``Host`` or ``Origin`` is not the server's own.
"""

import contextlib
import http.server
import json
import os
import pathlib
import secrets
import shutil
import socket
import tempfile
import threading
import urllib.parse

from hw.config import ConfigError
from sim.errors import BuildError, SimulationError
from sim.toolchain import ToolError
from sw.errors import UserError
from sw.graph.load import load
from sw.printable import one_line

from .export import PAGE
from .recording import check_graph
from .request import RunRequest, choices


__all__ = ["HOST", "PORT", "LiveServer"]


#: Only this machine reads the page, unless the user names another host.
HOST, PORT = "127.0.0.1", 8360

#: Bytes of a graph that is sent to the server.
_MOST_BYTES = 16 << 20

_LOCAL = ("127.0.0.1", "localhost", "[::1]")

_TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
          ".css": "text/css; charset=utf-8", ".json": "application/json", ".gz": "application/gzip",
          ".svg": "image/svg+xml"}

#: Errors of a request. The user reads one line.
_ERRORS = (UserError, ConfigError, ToolError, BuildError, SimulationError)


class LiveServer(http.server.ThreadingHTTPServer):
    """Serves the page until it is closed.

    Parameters
    ----------
    host : str
    port : int
        0 for any free port; :attr:`url` has the one that was found.
    graph : str or None
        The text of the graph that the page begins with.

    Raises
    ------
    UserError
        The port cannot be served.
    """
    daemon_threads = True

    def __init__(self, host=HOST, port=PORT, graph=None):
        self.graph = graph
        self.files: dict[str, pathlib.Path] = {}        # graphs, by the text that names them
        self.modules: dict[str, pathlib.Path] = {}      # simulators, by the name in their address
        self.recording = threading.Lock()               # one run at a time
        if graph is not None and os.path.exists(graph):
            self.files[graph] = pathlib.Path(graph)
        self._room: str | None = None       # the folder of graphs that were sent, once there is one
        self._keeping = threading.Lock()
        try:
            super().__init__((host, port), _Handler)
        except (OSError, UnicodeError, TypeError) as error:
            text = error.strerror if isinstance(error, OSError) else "it is no address"
            raise UserError(f"--port {port}: cannot be served on {host}: {text}; name "
                            "another") from None

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

    def server_close(self):
        """End the server and forget the graphs that were sent to it."""
        super().server_close()
        if self._room is not None:
            shutil.rmtree(self._room, ignore_errors=True)

    def keep(self, name, contents) -> str:
        """Keep a graph that was sent, and return the text that names it. Raises UserError if it is
        no graph or too large."""
        name = pathlib.PurePosixPath(name.replace("\\", "/")).name or "graph.el"
        with self._keeping:
            if self._room is None:
                self._room = tempfile.mkdtemp(prefix="graphloom-live-")
        folder = pathlib.Path(self._room) / secrets.token_hex(8)
        folder.mkdir()
        path = folder / name
        try:
            path.write_bytes(contents)
            graph = load(str(path))
            check_graph(graph)
        except UserError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise UserError(str(error).replace(str(path), name)) from None
        except (OSError, ValueError) as error:
            raise UserError(f"{name}: cannot be kept: {error}") from None
        self.files[name] = path
        return name


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers one request."""
    server: LiveServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *arguments):
        """Print nothing."""

    def do_GET(self):
        if not self._own():
            return
        name = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path).lstrip("/")
        if name == "cases.json":
            self._send(200, json.dumps({"mode": "live", "choices": choices(),
                                        "graph": self.server.graph}).encode(),
                       "application/json")
            return
        path = self.server.modules.get(name) if name.startswith("simulators/") else _file(name)
        if path is None:
            self._send(404, b"there is no such file\n", "text/plain")
            return
        kind = _TYPES.get(path.suffix, "application/octet-stream")
        self._send(200, path.read_bytes(), kind)

    def do_POST(self):
        if not self._own():
            return
        parts = urllib.parse.urlsplit(self.path)
        try:
            length = int(self.headers.get("Content-Length", ""))
        except ValueError:
            length = -1
        if not 0 <= length <= _MOST_BYTES:
            self.close_connection = True
            self._refuse(f"a graph may have at most {_MOST_BYTES >> 20} MiB")
            return
        body = self.rfile.read(length)
        if parts.path == "/graph":
            name, = urllib.parse.parse_qs(parts.query).get("name", ["graph.el"])[:1]
            try:
                kept = self.server.keep(name, body)
            except UserError as error:
                self._refuse(str(error))
            else:
                self._send(200, json.dumps({"graph": kept}).encode(), "application/json")
        elif parts.path == "/record":
            self._record(body)
        else:
            self._send(404, b"there is no such address\n", "text/plain")

    def _record(self, body):
        """Answer with lines of JSON: what is being done, and last the recording or an error."""
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

        def tell(**line):
            self.wfile.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
            self.wfile.flush()

        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            try:
                request = self._request(body)
                with self.server.recording:
                    recording, module = request.record(
                        lambda text: tell(doing=text),
                        lambda cycles: tell(doing=f"recording: {cycles:,} cycles"))
            except BuildError:
                tell(error="the simulator could not be built; `graphloom doctor` shows which tools "
                           "are used")
            except _ERRORS as error:
                tell(error=one_line(str(error)))
            else:
                name = f"simulators/{module.path.parent.name}.wasm.gz"
                self.server.modules[name] = module.path
                tell(recording=recording | {"simulator": name})

    def _request(self, body):
        request = RunRequest.parse(body)
        path = self.server.files.get(request.graph)
        if path is not None:
            return RunRequest.parse(body, path=str(path))
        if os.path.exists(request.graph):
            raise UserError(f"graph {request.graph}: drop the file on the page; a page does not "
                            "name files of the server")
        return request

    # Answers

    def _own(self):
        """Whether the request comes from the page itself. If not, it is refused."""
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        origin = self.headers.get("Origin")
        loopback = self.server.server_name in ("127.0.0.1", "::1")
        if (loopback and host not in _LOCAL) or (
                origin is not None
                and urllib.parse.urlsplit(origin).netloc != self.headers.get("Host")):
            self.close_connection = True
            self._send(403, b"the page answers its own requests only\n", "text/plain")
            return False
        return True

    def _refuse(self, text):
        self._send(400, json.dumps({"error": one_line(text)}).encode(), "application/json")

    def _send(self, status, body, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(body)


def _file(name):
    """The page's file of a name, or None."""
    path = (PAGE / (name or "index.html")).resolve()
    return path if path.is_file() and path.is_relative_to(PAGE.resolve()) else None
