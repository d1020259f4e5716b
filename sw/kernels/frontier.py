"""Frontiers in device memory: what the next superstep starts from.

The host never writes between launches. All that a superstep leaves to the next is in a control
block that the kernel finds ready and leaves ready; what the host chooses by is only the argument of
the launch.
"""

import numpy as np

from hw.isa import Csr


__all__ = ["Queue", "Flag"]


class _Frontier:
    """Both kinds.

    Parameters
    ----------
    stamped : bool
        Whether each vertex has a stamp: 1 more than the number of the superstep in whose frontier
        it is; of the last, if it has been in several; 0 if in none.

    Attributes
    ----------
    number : Register
        In a kernel, after :meth:`prepare`: the superstep's number.
    """

    def __init__(self, stamped=False):
        self._stamped = stamped

    def reserve(self, task):
        """Reserve buffers."""
        if self._stamped:
            task.buffers.reserve("stamp", task.vertex_words)

    def init(self, task, vertex):
        """Fill the buffers; ``vertex`` alone is the first frontier, or every vertex if None."""
        if self._stamped:
            stamps = np.full(task.graph.num_vertices, vertex is None, np.uint32)
            if vertex is not None:
                stamps[vertex] = 1
            task.buffers.fill("stamp", stamps)

    def argument(self, task, number) -> int:
        """For the host: the argument to launch superstep ``number`` with."""
        raise NotImplementedError

    def prepare(self, k):
        """Prologue."""
        self.number = k.lasting("number")
        if self._stamped:
            k.need(k.task.algorithm.base_array(k.task), "stamp")

    def add(self, k, vertex, predicate=None, otherwise=None):
        """The active lanes' vertices are in the next frontier. Several lanes may add the same
        vertex, now or later, if there are stamps. With them lanes may be narrowed by
        ``predicate``; if none is left, on to ``otherwise``."""
        raise NotImplementedError

    def filled(self, session, number) -> bool:
        """For the host: whether superstep ``number`` has left a frontier to the next."""
        raise NotImplementedError


class Queue(_Frontier):
    """The vertices of the frontier, in no order, as addresses in the algorithm's base array.

    There are two queues: superstep s reads queue s mod 2 and adds to the other. Its argument block
    is number s mod 4 of a ring of four, of these words:

    ======  =====================================================================================
    END     address behind the last entry; while the superstep before runs, it adds by this word
    NUMBER  the superstep's number, that the one before writes
    START   address of the first entry
    NEXT    address of the next block
    AFTER   address of the block after the next: its END is set to START, for the next superstep
            will add to the queue that this one has read
    ======  =====================================================================================

    Attributes
    ----------
    start, end : Register
        In a kernel: the addresses of this superstep's queue. Who goes through it takes
        ``start`` over.
    """
    _RING = 4
    _WORDS = _END, _NUMBER, _START, _NEXT, _AFTER = range(5)
    _BLOCK = 8      # words of a block

    def reserve(self, task):
        super().reserve(task)
        task.buffers.reserve("control", self._RING * self._BLOCK)
        for name in ("queue", "other_queue"):
            task.buffers.reserve(name, task.vertex_words)

    def init(self, task, vertex):
        super().init(task, vertex)
        buffers = task.buffers
        vertices = buffers.address(task.algorithm.base_array(task))
        padding = vertices + 4 * task.graph.num_vertices
        buffers.fill("queue", [vertices + 4 * vertex], padding)
        buffers.fill("other_queue", rest=padding)
        ring = np.zeros((self._RING, self._BLOCK), np.uint32)
        for place, block in enumerate(ring):
            block[self._START] = block[self._END] = self._start_of(task, place)
            block[self._NEXT] = self.argument(task, place + 1)
            block[self._AFTER] = self.argument(task, place + 2)
        ring[0, self._END] += 4
        buffers.fill("control", ring.reshape(-1))

    def argument(self, task, number):
        return task.buffers.address("control") + 4 * self._BLOCK * (number % self._RING)

    def starts(self, task):
        """The addresses of the two queues, the one of superstep 0 first."""
        return self._start_of(task, 0), self._start_of(task, 1)

    @staticmethod
    def _start_of(task, number):
        return task.buffers.address("other_queue" if number % 2 else "queue")

    def prepare(self, k):
        super().prepare(k)
        a = k.a
        self.start, self.end, self._tail = map(k.lasting, ("start", "queue_end", "tail"))
        with a.scope("block", "after", "following") as (block, after, following):
            a.csrr(block, Csr.MSCRATCH)
            for register, word in ((self.start, self._START), (self.end, self._END),
                                   (self.number, self._NUMBER), (self._tail, self._NEXT),
                                   (after, self._AFTER)):
                a.lw(register, block, 4 * word)
            self._entry_bytes = k.constant(4, "entry_bytes")
            a.addi(following, self.number, 1)
            a.sw(self.start, after, 4 * self._END)          # of all warps the same
            a.sw(following, self._tail, 4 * self._NUMBER)

    def add(self, k, vertex, predicate=None, otherwise=None):
        a = k.a
        if self._stamped:
            with a.scope("stamp") as (stamp,):
                pointer = k.pointer(vertex, "stamp", stamp)
                a.addi(predicate, self.number, 2)
                a.amomaxu_w(stamp, predicate, pointer)
                a.sltu(predicate, stamp, predicate)
            k.narrow(predicate, otherwise)
        with a.scope("entry") as (entry,):
            a.amoadd_w(entry, self._entry_bytes, self._tail)
            a.sw(vertex.reg, entry)

    def filled(self, session, number):
        ring = session.read("control").reshape(self._RING, self._BLOCK)
        following = number + 1
        return int(ring[following % self._RING, self._END]) > self._start_of(session.task,
                                                                             following)


class Flag(_Frontier):
    """Only whether there is a next frontier; the algorithm knows its vertices by their values.

    A superstep's argument is its number. The control block is one word: 1 more than the number of
    the latest superstep that left a frontier.

    Attributes
    ----------
    following : Register
        In a kernel: the next superstep's number.
    """

    def reserve(self, task):
        super().reserve(task)
        task.buffers.reserve("control", 1)

    def init(self, task, vertex):
        super().init(task, vertex)
        task.buffers.fill("control", [0])

    def argument(self, task, number):
        return number

    def prepare(self, k):
        super().prepare(k)
        self.following = k.lasting("following")
        k.a.csrr(self.number, Csr.MSCRATCH)
        k.a.addi(self.following, self.number, 1)
        self._control = k.constant(k.address("control"), "control")

    def member_data(self, k, vertex, into):
        """Load what :meth:`member` needs."""
        with k.a.scope("stamp") as (stamp,):
            k.a.lw(into, k.pointer(vertex, "stamp", stamp))

    def member(self, k, data, into):
        """``into`` = 1 if the vertex is in the frontier, and not in the next one by now, else 0.

        Of a vertex that another core puts in the next frontier a lane may see the stamp, but not
        yet, in its own L1, what was stored before.
        """
        k.a.sub(into, data, self.following)
        k.a.seqz(into, into)

    def add(self, k, vertex, predicate=None, otherwise=None):
        a = k.a
        if self._stamped:
            with a.scope("stamp", "next") as (stamp, following):
                a.addi(following, self.number, 2)
                a.sw(following, k.pointer(vertex, "stamp", stamp))
        a.sw(self.following, self._control)

    def filled(self, session, number):
        return int(session.read("control")[0]) == number + 1
