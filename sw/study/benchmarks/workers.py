"""A process that does one piece of work after another.

A piece is a function with its arguments. The function returns the piece's record, a dict. A piece
that fails, or kills its process, has a record as well, which says so.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import traceback
import types
from multiprocessing.reduction import ForkingPickler

from sim.children import end_with_parent


__all__ = ["PieceProcess", "defect", "heed_signals", "in_folder", "packed", "tell"]


_ENDING = (signal.SIGINT, signal.SIGTERM)

#: In a process of pieces: the pipe to whoever started the process.
_pipe = None


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


def tell(text):
    """In a piece of work: report its progress with a line of text. In other code this does nothing.
    """
    if _pipe is not None:
        _pipe.send(text)


def packed(function, arguments) -> bytes:
    """A piece of work as :meth:`PieceProcess.begin` takes it. The function must be importable."""
    return bytes(ForkingPickler.dumps((function, arguments)))


def in_folder(folder, function, *arguments):
    """A piece of work that is done in a folder, whose files it reads."""
    os.chdir(folder)
    return function(*arguments)


def _serve(pipe, parent, apart):
    """In the process: take pieces and answer each with its record. The parent may end the process
    at any time, also while the process ends by itself because there is no more work."""
    global _pipe
    _pipe = pipe
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        try:
            heed_signals()
            if apart:
                os.setpgrp()
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
        return defect(error)


def defect(error) -> dict:
    """The record of a piece that has raised an exception, which is being handled: a defect of
    Graphloom. Other pieces go on, and the traceback is kept."""
    return {"error": " ".join(f"{type(error).__name__}: {error}".split()),
            "traceback": traceback.format_exc()}


def _death(code):
    """Why a process ended, from its exit code."""
    if code is not None and code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with exit code {code}"


@contextlib.contextmanager
def _without_main():
    """Let a process begin that does not import the program again: a script would run once more in
    each process, unless it guards itself, and no piece needs it."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


class PieceProcess:
    """The process. It ends with the thread that started it. With ``apart``, Ctrl-C on the terminal
    is kept from it, so that only :meth:`end` ends it. Its ``pipe`` has something to read when
    :meth:`hear` returns at once; ``alive`` says whether it can do another piece."""
    def __init__(self, apart=False):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, os.getpid(), apart),
                                        daemon=True)
        with _without_main():
            self._process.start()
        theirs.close()
        self.alive = True

    def begin(self, piece):
        """Begin a piece (:func:`packed`)."""
        with contextlib.suppress(BrokenPipeError):      # it has died, which `hear` tells
            self.pipe.send_bytes(piece)

    def hear(self):
        """Wait for a message: a str is a line of progress, and a dict the record of the piece. If
        the process died, the record has only ``"error"``."""
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            return {"error": _death(self.end())}

    def end(self):
        """End the process. Returns its exit code."""
        self.alive = False
        self.pipe.close()
        self._process.terminate()
        self._process.join()
        return self._process.exitcode
