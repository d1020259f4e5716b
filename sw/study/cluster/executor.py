"""The executor that has pieces of work done by the workers of a cluster.

The client itself chooses the worker of each piece: a worker gets as many pieces as it has threads.
When a worker is gone, its pieces begin again on others. A worker that joins later takes part.
"""

import collections
import contextlib
import queue
import time

from base.errors import UserError
from sw.study.benchmarks.executors import Executor, Slots
from sw.study.benchmarks.workers import defect, in_folder, packed

from .members import Members
from .worker import GivenUpError, UnfitError, perform


__all__ = ["Cluster"]


#: Seconds between two looks at the workers, for the record of a piece that has ended, and for
#: another worker to join when the last is gone.
_LOOK, _FETCH, _ANOTHER = 0.5, 30, 60

#: Workers that may be lost with one piece. Then the piece has an error.
_LOSSES = 4


class Cluster(Executor):
    """The workers of a cluster, with the parameters of :class:`~sw.study.cluster.members.Members`.
    ``note`` is also told of lost workers."""
    here, in_order = False, False

    def __init__(self, place, read=(), note=lambda text: None):
        self._members, self._note = Members(place, read, note), note

    def slots(self, fresh):
        """Places on all workers that fit."""
        return _ClusterSlots(self._members, self._note, fresh)

    @property
    def workers(self) -> dict[str, int]:
        """Pieces at a time of each worker that fits, by its address."""
        return dict(self._members.threads)

    def __exit__(self, *error):
        self._members.close()


class _Placed:
    """A piece, the worker that does it, Dask's future of it, and the workers lost with it."""

    def __init__(self, piece):
        self.piece, self.worker, self.future, self.losses = piece, None, None, 0


class _ClusterSlots(Slots):
    def __init__(self, members, note, fresh):
        self._members, self._note, self._fresh = members, note, fresh
        self._pieces = {}                        # by number
        self._left = collections.deque()         # numbers of pieces that no worker does
        self._news = queue.SimpleQueue()         # (number, future or text)
        self._topic = f"graphloom-{members.client.id}"
        self._looked = self._seen = time.monotonic()
        members.client.subscribe_topic(self._topic, lambda event: self._news.put(event[1]))

    def free(self):
        return len(self._pieces) < sum(self._members.threads.values())

    def begin(self, number, function, arguments):
        folder = self._members.folder
        self._pieces[number] = _Placed(
            packed(function, arguments) if folder is None
            else packed(in_folder, (folder, function, *arguments)))
        self._left.append(number)
        self._place()

    def _place(self):
        """Give pieces that no worker does to workers that have a free thread."""
        busy = collections.Counter(placed.worker for placed in self._pieces.values())
        free = {name: threads - busy[name] for name, threads in self._members.threads.items()}
        while self._left and (name := max(free, key=free.__getitem__, default=None)) \
                and free[name] > 0:
            number = self._left.popleft()
            free[name] -= 1
            placed = self._pieces[number]
            placed.worker = name
            placed.future = self._members.client.submit(
                perform, placed.piece, number=number, topic=self._topic, fresh=self._fresh,
                wanted=self._members.identity, workers=[name], allow_other_workers=False,
                pure=False)
            placed.future.add_done_callback(
                lambda future, number=number: self._news.put((number, future)))

    def heard(self):
        with contextlib.suppress(queue.Empty):
            number, news = self._news.get(timeout=_LOOK)
            if number in self._pieces:
                message = news if isinstance(news, str) else self._record(number, news)
                if isinstance(message, dict):
                    del self._pieces[number]
                if message is not None:
                    yield number, message
        if time.monotonic() - self._looked > _LOOK:
            yield from self._look()
        self._place()

    def _record(self, number, future):
        """The record of a piece whose future is done; None if the piece must begin again."""
        placed = self._pieces[number]
        if future is not placed.future:
            return None                          # an earlier one, of a worker that is gone
        try:
            return future.result(timeout=_FETCH)
        except UnfitError as error:
            self._members.refuse(placed.worker, str(error))
        except (GivenUpError, OSError, TimeoutError):
            pass                                 # the worker ends, or ended with the record
        except Exception as error:
            if type(error).__module__.partition(".")[0] != "distributed":
                return defect(error)
        self._again(number)
        return None

    def _again(self, number):
        self._pieces[number].future = self._pieces[number].worker = None
        self._left.append(number)

    def _look(self):
        """Look at the workers. Yields pieces that too many workers were lost with."""
        self._looked = time.monotonic()
        threads = self._members.look()
        lost = collections.defaultdict(list)
        for number, placed in self._pieces.items():
            if placed.worker is not None and placed.worker not in threads:
                lost[placed.worker].append(number)
        for name, numbers in lost.items():
            self._note(f"worker {self._members.called(name)} is gone; {len(numbers)} of its runs "
                       "begin again")
            for number in numbers:
                placed = self._pieces[number]
                placed.losses += 1
                placed.future.cancel()
                if placed.losses < _LOSSES:
                    self._again(number)
                else:
                    del self._pieces[number]
                    yield number, {"error": f"{_LOSSES} workers were lost while they did it"}
        if threads:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > _ANOTHER:
            raise UserError(f"no worker is left, and none has joined for {_ANOTHER} s; the same "
                            "command goes on with the runs that are missing")

    def __exit__(self, *error):
        client = self._members.client
        with contextlib.suppress(Exception):     # a scheduler that is gone has ended them
            client.cancel([placed.future for placed in self._pieces.values()
                           if placed.future is not None], force=True)
            client.unsubscribe_topic(self._topic)
