"""The process of the command line: the signals that end it, and its standard streams.

A signal that asks for the end (SIGINT, SIGTERM, SIGHUP) raises KeyboardInterrupt, so that the
running code cleans up. :data:`received` names the signal. While modules are being imported, there
is nothing to clean up, and the signal ends the process at once.

Closed standard streams are opened on ``/dev/null``. Otherwise a file that is opened later would get
their numbers, and the printed text. A failed write to the standard output is a
:class:`base.errors.UserError`. Text that cannot be written to the standard error is lost.
"""

import errno
import io
import os
import signal
import sys

from base.errors import UserError


__all__ = ["begin", "end", "interrupted", "started"]


_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}

#: The signal that asked for the end, or None.
received = None

_starting = False


class _Stream(io.FileIO):
    """A standard stream below the text layer, without a buffer. So a signal in the middle of a
    write never makes text appear twice."""

    def __init__(self, number):
        super().__init__(number, "w", closefd=False)
        self._failed = False

    def write(self, data):
        left = memoryview(data)
        try:
            while left and not self._failed:
                left = left[super().write(left) or 0:]
        except OSError as error:
            self._failed = True                  # later text is lost
            self._tell(error)
        return len(data)

    def _tell(self, error):
        """Do nothing: no stream is left to report a failed write to the standard error."""


class _Output(_Stream):
    def _tell(self, error):
        if isinstance(error, BrokenPipeError):   # the reader of the output has stopped
            raise error
        why = "it is closed" if error.errno == errno.EBADF else error.strerror
        raise UserError(f"standard output: cannot be written: {why}") from None


def _text(stream, old, **options):
    """Text over a stream, as Python has made it."""
    errors = getattr(old, "errors", "strict")
    return io.TextIOWrapper(stream, encoding=getattr(old, "encoding", None),
                            errors="backslashreplace" if errors == "strict" else errors, **options)


def _open_streams():
    # Descriptor 1 is opened for reading only, so that a write to the missing output is an error.
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, mode), True)
    sys.stdout = _text(_Output(1), sys.stdout, line_buffering=os.isatty(1),
                       write_through=getattr(sys.stdout, "write_through", False))
    sys.stderr = _text(_Stream(2), sys.stderr, line_buffering=True)


def _heard(number, frame):
    global received
    received = number
    if _starting:
        os._exit(interrupted())
    for other in (signal.SIGTERM, signal.SIGHUP):
        # Signals often come together. Not SIG_IGN: Python would report a signal that has come
        # already as ignored.
        signal.signal(other, lambda number, frame: None)
    raise KeyboardInterrupt


def begin() -> None:
    """Take over signals and streams, before anything that takes time is imported.

    Signals that are ignored stay ignored, as ``nohup`` wants it. Those that the launcher holds back
    are let through.
    """
    global _starting
    _starting = True
    _open_streams()
    for number in _WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _heard)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _WORDS)


def started() -> None:
    """From now on there may be work to clean up."""
    global _starting
    _starting = False


def interrupted() -> int:
    """Print which signal ended the program. Returns the exit code: 128 plus the signal's number."""
    number = received or signal.SIGINT
    print(f"graphloom: {_WORDS[number]}", file=sys.stderr, flush=True)
    return 128 + number


def end(code) -> None:
    """Write the rest of the standard output, and exit."""
    for number in _WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)        # no work is left to clean up
    try:
        sys.stdout.flush()
    except UserError as error:
        print(f"graphloom: error: {error}", file=sys.stderr)
        code = code or 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = code or 1
    sys.exit(code)
