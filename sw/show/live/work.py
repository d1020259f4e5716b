"""The work of the live page's server: one process does it, piece by piece, within limits.

Whatever a request asks for, it cannot take the server with it: a piece has a limit of time and of
memory, and a process that exceeds it is ended. The next piece gets a new process.
"""

import contextlib
import dataclasses
import queue
import resource
import threading
import time

from base.errors import UserError
from sw.study.benchmarks.workers import PieceProcess, packed


__all__ = ["BUILDING", "BUILT", "PageWork", "bounded"]


#: Lines of progress that are not passed on: what follows builds simulators, which others use as
#: well; what follows is the piece's own.
BUILDING, BUILT = "building", "built"

#: Seconds for what a piece builds at a time, and for the rest.
_BUILD, _SECONDS = 900, 100

#: Bytes of memory that a piece may take.
_MEMORY = 4 << 30

#: Pieces that wait, and the seconds between two lines to whoever waits.
_WAITING, _LINE = 256, 2

#: Seconds between two looks at the clock.
_LOOK = 0.5


def bounded(function, *arguments) -> dict:
    """In the process: a piece that cannot take more memory than a piece may."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    try:
        return function(*arguments)
    except MemoryError:
        return {"refused": f"it needs more than {_MEMORY >> 30} GiB of memory"}


@dataclasses.dataclass(eq=False)
class _Piece:
    """A piece that waits or is done, and what is heard of it."""
    contents: bytes
    news: queue.SimpleQueue = dataclasses.field(default_factory=queue.SimpleQueue)
    begun: bool = False
    given_up: bool = False


class PageWork:
    """The process and its queue. A thread has the process do the pieces in their order."""

    def __init__(self):
        self._queue: queue.Queue[_Piece | None] = queue.Queue(_WAITING)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def do(self, function, arguments, report=lambda text: None) -> dict:
        """Have a piece done, and wait for its record.

        Parameters
        ----------
        function : callable
            Importable. Returns a dict; ``"refused"`` in it is the reason for which it is refused.
        arguments : tuple
        report : callable
            Called with lines of progress. If it raises, the piece is given up.

        Raises
        ------
        UserError
            Too many pieces wait, the piece is refused, or it exceeded a limit.
        """
        piece = _Piece(packed(bounded, (function, *arguments)))
        try:
            self._queue.put_nowait(piece)
        except queue.Full:
            raise UserError("too many runs are waiting; try again later") from None
        try:
            return self._heard(piece, report)
        finally:
            piece.given_up = True

    def _heard(self, piece, report):
        while True:
            try:
                news = piece.news.get(timeout=_LINE)
            except queue.Empty:
                report("working" if piece.begun else "waiting for other runs")
                continue
            if isinstance(news, str):
                report(news)
                continue
            if "refused" in news:
                raise UserError(news["refused"])
            if "traceback" in news or "error" in news:
                raise UserError(f"the run failed: {news['error']}")
            return news

    def close(self):
        """End the process. Pieces that wait are refused."""
        self._ended.set()
        with contextlib.suppress(queue.Full):
            self._queue.put_nowait(None)
        self._thread.join()

    def _serve(self):
        process = None
        try:
            while not self._ended.is_set():
                piece = self._queue.get()
                if piece is None or piece.given_up:
                    continue
                if process is None or not process.alive:
                    process = PieceProcess(apart=True)
                piece.begun = True
                piece.news.put(self._done(process, piece))
        finally:
            if process is not None:
                process.end()
            with contextlib.suppress(queue.Empty):
                while True:
                    left = self._queue.get_nowait()
                    if left is not None:
                        left.news.put({"refused": "the server ends"})

    def _done(self, process, piece):
        """The record of a piece that the process does."""
        process.begin(piece.contents)
        limit, seconds = time.monotonic() + _SECONDS, _SECONDS
        while not self._ended.is_set() and not piece.given_up and time.monotonic() < limit:
            if not process.pipe.poll(_LOOK):
                continue
            news = process.hear()
            if isinstance(news, dict):
                return news
            if news in (BUILDING, BUILT):
                seconds = _BUILD if news == BUILDING else _SECONDS
                limit = time.monotonic() + seconds
            else:
                piece.news.put(news)
        process.end()
        return {"refused": "the server ends" if self._ended.is_set() else
                f"it takes more than {seconds} seconds of the server: choose a smaller graph"}
