"""The workers of a cluster that may work for a client.

A worker fits if its identity is the client's (:mod:`sw.study.cluster.identity`) and it reads the
same files. Each other worker is refused, in one line that says why.
"""

import contextlib
import os
import time
import warnings
from typing import Any

import distributed

from base.errors import UserError

from .connection import reach
from .identity import differences, identity
from .worker import KEY, check_files, digests


__all__ = ["Members"]


#: Seconds for the first answer of a scheduler, and for the first worker to join.
_ANSWER, _FIRST = 10, 5

#: Seconds between two looks at the workers.
_LOOK = 0.2


class Members:
    """A client of a scheduler, and the workers that fit.

    It has the Dask ``client``; the ``identity`` of this machine; the ``folder`` in which the names
    of the files are found, None if there are no files; and ``threads``, the pieces at a time of
    each worker that fits, by address. Raises UserError if there is no scheduler or no worker that
    fits.

    Parameters
    ----------
    place : ClusterPlace
        Where the scheduler is.
    read : iterable of str
        Files that the pieces read. They must be the same on each worker's machine.
    note : callable
        Called with a line for each worker that is refused.
    """

    def __init__(self, place, read, note):
        reach(place)
        self._address, self._note = place.text, note
        self.identity, self._files = identity(), digests(read)
        self.folder = os.getcwd() if self._files else None
        self.threads, self._refused, self._hosts = {}, {}, {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.client = distributed.Client(
                    place.address, timeout=_ANSWER, set_as_default=False, name="graphloom",
                    security=place.security)
        except (OSError, TimeoutError, ValueError):
            raise UserError(f"cluster {place.text}: its scheduler does not answer") from None
        try:
            self._first()
        except BaseException:
            self.close()
            raise

    def _first(self):
        """Wait for the first worker."""
        end = time.monotonic() + _FIRST
        while not self.look() and not self._refused and time.monotonic() < end:
            time.sleep(_LOOK)
        if not self.threads:
            why = (list(self._refused.values())
                   or [f"no worker has joined: start one with graphloom worker {self._address}"])
            more = f"; and {len(why) - 1} more are refused" if len(why) > 1 else ""
            raise UserError(f"cluster {self._address}: {why[0]}{more}")
        for text in self._refused.values():
            self._note(text)

    def close(self):
        """Leave the cluster."""
        with contextlib.suppress(Exception):
            self.client.close(timeout=2)

    def look(self) -> dict[str, int]:
        """Look which workers there are now. Returns :attr:`threads`. Raises UserError if the
        scheduler is gone."""
        try:
            if self.client.status != "running":
                raise OSError
            workers = self.client.scheduler_info()["workers"]
        except (OSError, TimeoutError, RuntimeError):
            raise UserError(f"cluster {self._address}: its scheduler is gone; the same command "
                            "goes on with the runs that are missing") from None
        known, had = self._refused.keys() | self.threads.keys(), bool(self.threads)
        for name in workers.keys() - known:
            about = dict(workers[name].get(KEY) or {})
            self._hosts[name] = about.pop("host", None)
            why = self._unfit(name, about)
            if why is not None:
                self.refuse(name, why, tell=had)
        self.threads = {name: about["nthreads"] for name, about in workers.items()
                        if name not in self._refused}
        return self.threads

    def _unfit(self, name, about):
        """Why a new worker, of this identity, does not fit; None if it does."""
        if not about:
            return "it is no worker of Graphloom: start it with graphloom worker"
        found = differences(about, self.identity)
        if found or self.folder is None:
            return found or None
        try:
            answers: Any = self.client.run(check_files, self.folder, self._files, workers=[name])
            return answers[name]
        except (OSError, KeyError, TimeoutError) as error:
            return f"it does not answer: {error}"

    def called(self, name) -> str:
        """A worker's address and the name of its machine."""
        host = self._hosts.get(name)
        return name if host is None else f"{name} on {host}"

    def refuse(self, name, why, tell=True):
        """Give a worker no more pieces, for a reason."""
        self.threads.pop(name, None)
        self._refused[name] = f"worker {self.called(name)} is refused: {why}"
        if tell:
            self._note(self._refused[name])
