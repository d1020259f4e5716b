"""A worker: does pieces of work for the clients of a cluster.

The worker is a Dask worker with one thread for each piece that it does at a time. The thread has
the piece done by a process (:class:`~sw.study.benchmarks.workers.PieceProcess`), so a piece that
kills its process leaves the worker and all other pieces alone. If the client gives a piece up, or
is gone, the thread ends the process.
"""

import asyncio
import hashlib
import os
import platform
import tempfile
import threading
import time

import distributed
from distributed.core import Status

from base.errors import UserError
from sw.study.benchmarks.workers import PieceProcess

from .connection import bindable, bracketed, reach, until_signal
from .identity import differences, identity
from .place import LOOPBACK


__all__ = ["GivenUpError", "KEY", "UnfitError", "check_files", "digests", "perform", "serve"]


#: Name of the identity in what a scheduler knows of a worker.
KEY = "graphloom"

#: Seconds between two looks at whether a piece is still wanted.
_POLL = 0.2

#: Seconds after which a piece whose process died is still wanted, if the worker is not ending.
_ENDING = 1

#: Seconds for joining a cluster, and for leaving it.
_JOIN, _CLOSE = 15, 10

#: States, in Dask's worker, of a task that somebody wants.
_WANTED = ("executing", "long-running")

_own = threading.local()


class GivenUpError(Exception):
    """A worker ends, or a client has given the piece up: the piece has no record."""


class UnfitError(Exception):
    """A worker may do no more pieces for a client. The message says why."""


def digests(paths) -> dict[str, str]:
    """SHA-256 of files, by their absolute paths. Raises OSError."""
    found = {}
    for path in paths:
        with open(path, "rb") as file:
            found[os.path.abspath(path)] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


async def check_files(folder, wanted) -> str | None:
    """On a worker: why it cannot read the files of a client, whose digests by path are ``wanted``,
    or enter its folder; None if it can."""
    def check():
        if not os.path.isdir(folder):
            return f"there is no folder {folder} there"
        for path, digest in wanted.items():
            try:
                if digests([path]) != {path: digest}:
                    return f"{path} is another file there"
            except OSError as error:
                return f"{path} cannot be read there: {error.strerror}"
        return None
    return await asyncio.to_thread(check)


def perform(piece, *, number, topic, fresh, wanted) -> dict:
    """In a thread of a worker: have a piece (:func:`sw.study.benchmarks.workers.packed`) done.
    Returns its record.

    Lines of progress go to the ``topic`` of Dask's events, with the client's ``number`` of the
    piece. With ``fresh`` the piece has a process of its own. ``wanted`` is the identity of the
    client.

    Raises GivenUpError if the piece ended without a record, and UnfitError if the identity of this
    worker has changed since its beginning."""
    worker = distributed.get_worker()
    key = worker.get_current_task()
    found = differences(identity(), wanted)
    if found:
        raise UnfitError(found)
    process = getattr(_own, "process", None)
    if process is None or not process.alive or fresh:
        process = PieceProcess(apart=True)
    _own.process = None
    try:
        process.begin(piece)
        record = _heard(process, worker, key, lambda text: worker.log_event(topic, [number, text]))
        if process.alive and not fresh:
            _own.process = process
        return record
    finally:
        if _own.process is None:
            process.end()


def _heard(process, worker, key, told):
    """The record of the piece that the process does."""
    while True:
        if process.pipe.poll(_POLL):
            message = process.hear()
            if isinstance(message, str):
                told(message)
                continue
            if not process.alive:
                time.sleep(_ENDING)        # what ended the process may end this worker as well
                _check_wanted(worker, key)
            return message
        _check_wanted(worker, key)


def _check_wanted(worker, key):
    task = worker.state.tasks.get(key)
    if worker.status != Status.running or task is None or task.state not in _WANTED:
        raise GivenUpError


def serve(place, jobs, said, host=None) -> int:
    """Be a worker of a cluster until a signal asks for the end, or the cluster ends. Returns the
    number of the signal, or 0.

    Raises UserError if there is no cluster at the place, or the host is not this machine's.

    Parameters
    ----------
    place : ClusterPlace
        Where the scheduler is.
    jobs : int
        Pieces at a time.
    said : callable
        Called with the worker's own address when it has joined.
    host : str, optional
        The address of this machine at which the worker accepts connections; by default the one from
        which it reaches the scheduler, and no other.
    """
    given = None if host is None else bindable(host)
    reached_from = reach(place)
    own = bracketed(given or reached_from)
    return asyncio.run(_serve(place, own, jobs, said))


async def _serve(place, host, jobs, said):
    about = identity() | {"host": platform.node()}
    with tempfile.TemporaryDirectory(prefix="graphloom-worker-") as folder:
        try:
            worker = await distributed.Worker(
                place.address, nthreads=jobs, local_directory=folder, memory_limit=0, host=host,
                security=place.security, dashboard_address=f"{LOOPBACK}:0", death_timeout=_JOIN,
                startup_information={KEY: lambda worker: about})
        except (OSError, TimeoutError, ValueError):
            raise UserError(f"cluster {place.text}: its scheduler does not answer") from None
        try:
            said(worker.address)
            return await until_signal(worker)
        finally:
            await worker.close(timeout=_CLOSE)
