"""Children that end with their parent.

A process that is killed cannot end what it has started: a simulation, a proof or a worker would run
on for hours. On Linux the kernel sends a child a signal when its parent ends, if the child has
asked for that (``prctl``, ``PR_SET_PDEATHSIG``). Elsewhere nothing is done.

The parent is the thread that started the child. So a child must be started by a thread that waits
for its end, or by the main thread.
"""

import ctypes
import functools
import os
import signal
import sys
from collections.abc import Callable


__all__ = ["end_with_parent", "tied"]


_PR_SET_PDEATHSIG = 1

#: Loaded before any fork: little may be done between a fork and the program that follows.
_prctl: Callable[..., int] | None = \
    ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def end_with_parent(parent: int | None = None, number: int = signal.SIGKILL) -> None:
    """In a child: end when the parent ends.

    Parameters
    ----------
    parent : int or None
        Process id of the parent, if the child knows it. If that parent has ended before this call,
        the child ends at once.
    number : int
        The signal that ends the child. A program that has children of its own and ends them needs
        SIGTERM.
    """
    if _prctl is None:
        return
    _prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), number)


def tied(number: int = signal.SIGKILL) -> Callable[[], None]:
    """The ``preexec_fn`` of a :class:`subprocess.Popen` whose program ends with this process.

    Parameters
    ----------
    number : int
        See :func:`end_with_parent`.
    """
    return functools.partial(end_with_parent, os.getpid(), number)
