"""Many independent pieces of work, on several processes that each take one piece after another.

A piece that fails, or kills its process, loses no other.
"""

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import traceback

from sim.children import end_with_parent


__all__ = ["heed_signals", "work"]


_ENDING = (signal.SIGINT, signal.SIGTERM)


def _let_pass():
    for ending in _ENDING:
        # Not SIG_IGN: Python would report a signal that has come already as ignored.
        signal.signal(ending, lambda number, frame: None)


def _end(number, frame):
    _let_pass()
    raise KeyboardInterrupt


def heed_signals():
    """In a worker process: have the first SIGINT or SIGTERM raise KeyboardInterrupt, so that the
    programs that the process has started end with it. A signal that is ignored stays ignored."""
    for ending in _ENDING:
        if signal.getsignal(ending) is not signal.SIG_IGN:
            signal.signal(ending, _end)


def _serve(pipe, parent):
    """In the process: take pieces and answer each with its record. The parent may end the process
    at any time, also while the process ends by itself because there is no more work."""
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        try:
            heed_signals()
            end_with_parent(parent)
            while True:
                function, arguments = pipe.recv()
                pipe.send(_record(function, arguments))
        finally:
            _let_pass()


def _record(function, arguments):
    try:
        return function(*arguments)
    except Exception as error:
        # A defect of Graphloom: other pieces go on, and the traceback is kept.
        return {"error": " ".join(f"{type(error).__name__}: {error}".split()),
                "traceback": traceback.format_exc()}


def _death(code):
    """Why a process ended, from its exit code."""
    if code is not None and code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with exit code {code}"


class _Worker:
    def __init__(self, context):
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, os.getpid()),
                                        daemon=True)
        self._process.start()
        theirs.close()

    def answer(self):
        """The record of its current piece; None if the process has died."""
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionResetError):
            return None

    def end(self):
        """End the process. Returns its exit code."""
        self.pipe.close()
        self._process.terminate()
        self._process.join()
        return self._process.exitcode

    def died(self):
        self._process.join()
        return _death(self.end())


def work(pieces, jobs, ended, begun=lambda piece: None):
    """Do all pieces of work.

    Parameters
    ----------
    pieces : iterable of (piece, (function, arguments)) or None
        The pieces in the order of their beginning. Each is asked for when a process is free. The
        function must be importable. It runs in another process and returns a dict. None says that
        the next piece depends on one that has not ended.
    jobs : int
        Number of processes.
    ended : callable
        Called with (piece, record) at the end of each piece. If the function raised, or its process
        died, the record has only ``"error"``, a line, and the ``"traceback"`` if there is one.
    begun : callable
        Called with the piece at its beginning.
    """
    context = multiprocessing.get_context("spawn")
    left, more = iter(pieces), True
    idle, busy = [], {}
    try:
        while more or busy:
            while more and len(busy) < jobs:
                entry = next(left, ())
                if entry is None and not busy:
                    raise RuntimeError("the next piece of work waits for none that is being done")
                more = entry != ()
                if not entry:
                    break
                piece, order = entry
                worker = idle.pop() if idle else _Worker(context)
                worker.pipe.send(order)
                busy[worker.pipe] = worker, piece
                begun(piece)
            for pipe in multiprocessing.connection.wait(list(busy)) if busy else ():
                worker, piece = busy.pop(pipe)
                record = worker.answer()
                if record is None:
                    record = {"error": worker.died()}
                else:
                    idle.append(worker)
                ended(piece, record)
    finally:
        for worker in [*idle, *(worker for worker, _ in busy.values())]:
            worker.end()
