"""Executors: what does many independent pieces of work, here or on other machines.

Every command that runs many runs gives its pieces to an :class:`Executor`. :class:`Processes` does
them in processes of this machine, and :class:`sw.study.cluster.Cluster` on the machines of a
cluster. A piece that fails, or kills its process, loses no other.
"""

import abc
import contextlib
import multiprocessing.connection
from collections.abc import Iterator

from .workers import PieceProcess, packed


__all__ = ["Executor", "Processes", "Slots"]


class Slots(contextlib.AbstractContextManager, abc.ABC):
    """The places of an executor at which pieces are done, for one call of :meth:`Executor.work`.
    The end of the context ends the pieces that are still being done."""

    @abc.abstractmethod
    def free(self) -> bool:
        """Whether another piece may begin now."""

    @abc.abstractmethod
    def begin(self, number, function, arguments):
        """Begin a piece, which has a number."""

    @abc.abstractmethod
    def heard(self) -> Iterator:
        """Wait until there is news, or for a second or so. Yields pairs: the number of a piece,
        and a line about its progress or its record."""


class Executor(contextlib.AbstractContextManager, abc.ABC):
    """Does pieces of work. The end of the context gives back what the executor holds.

    ``here`` says whether the pieces run on this machine: elsewhere a wall time that a piece
    measures means nothing, and nothing need be built here. ``in_order`` says whether pieces end in
    the order in which they begin."""
    here, in_order = True, False

    @abc.abstractmethod
    def slots(self, fresh) -> Slots:
        """Places for pieces; with ``fresh``, each piece has a process of its own."""

    def __exit__(self, *error):
        return None

    def work(self, pieces, ended, begun=lambda piece: None, told=lambda piece, text: None, *,
             fresh=False):
        """Do all pieces of work.

        Raises RuntimeError if the next piece depends on another and none is being done, and
        UserError if the executor can do no more pieces; those that have ended have been reported.

        Parameters
        ----------
        pieces : iterable of (piece, (function, arguments)) or None
            Each is asked for when it can begin. The function must be importable. It runs in another
            process and returns a dict. None says that the next piece depends on one that has not
            ended.
        ended : callable
            Called with (piece, record) at the end of each piece. If the function raised, or its
            process died, the record has only ``"error"``, a line, and the ``"traceback"`` if there
            is one.
        begun, told : callable
            Called with a piece at its beginning; and with a piece and a text when the piece
            reports its progress (:func:`sw.study.benchmarks.workers.tell`).
        fresh : bool
            Whether each piece has a process of its own, in which no other piece ran before.
        """
        left, more, busy, count = iter(pieces), True, {}, 0
        with self.slots(fresh) as slots:
            while more or busy:
                while more and slots.free():
                    entry = next(left, ())
                    if entry is None and not busy:
                        raise RuntimeError("the next piece of work waits for none that is being "
                                           "done")
                    more = entry != ()
                    if not entry:
                        break
                    piece, order = entry
                    slots.begin(count, *order)
                    busy[count] = piece
                    count += 1
                    begun(piece)
                for number, message in slots.heard() if more or busy else ():
                    if isinstance(message, str):
                        told(busy[number], message)
                    else:
                        ended(busy.pop(number), message)


class _ProcessSlots(Slots):
    def __init__(self, jobs, fresh):
        self._jobs, self._fresh = jobs, fresh
        self._idle, self._busy = [], {}

    def free(self):
        return len(self._busy) < self._jobs

    def begin(self, number, function, arguments):
        process = self._idle.pop() if self._idle else PieceProcess()
        self._busy[process.pipe] = process, number
        process.begin(packed(function, arguments))

    def heard(self):
        for pipe in multiprocessing.connection.wait(list(self._busy)):
            process, number = self._busy[pipe]
            message = process.hear()
            if not isinstance(message, str):
                del self._busy[pipe]
                if self._fresh:
                    process.end()
                elif process.alive:
                    self._idle.append(process)
            yield number, message

    def __exit__(self, *error):
        for process in [*self._idle, *(process for process, _ in self._busy.values())]:
            process.end()


class Processes(Executor):
    """A number of processes on this machine."""
    def __init__(self, jobs):
        self._jobs, self.in_order = jobs, jobs == 1

    def slots(self, fresh):
        """Processes that each do one piece after another."""
        return _ProcessSlots(self._jobs, fresh)
