"""A frontier as a list of its vertices."""

import numpy as np

from hw.isa import Csr
from sw.kernels.frontiers.base import PULLING, Frontier, Ring
from sw.kernels.kernel import log2


__all__ = ["Queue"]


class Queue(Frontier):
    """The vertices of the frontier, in no order, as addresses in the algorithm's base array.

    There are two queues: superstep s reads queue s mod 2 and adds to the other queue. Its argument
    block is number s mod 4 of a ring of four, of these words:

    ======  =====================================================================================
    END     address behind the last entry; the last superstep adds entries by this word
    NUMBER  the superstep's number; the last superstep writes it
    START   address of the first entry
    NEXT    address of the next block
    AFTER   address of the block after the next: its END is set to START, because the next superstep
            will add to the queue that this superstep has read
    ======  =====================================================================================

    Without deduplication a queue may hold a vertex several times. If every entry were worked on,
    entries would multiply from one superstep to the next. So the lane that adds an entry also notes
    the entry's address at the vertex. An entry is worked on only if it is the last that was noted
    (the lookup table of Davidson et al., IPDPS 2014). Each edge of a vertex that is worked on adds
    one entry at most. So a queue never holds more entries than the graph has edges, and has room
    for so many. If the vertex has been added again meanwhile, the note names an entry of the next
    queue. The vertex is then worked on in the next superstep, with its new values.

    Attributes
    ----------
    noted : bool
        As of :class:`~sw.kernels.frontiers.base.Input`: if the queue is not deduplicated.
    """
    name = "queue"
    default_deduplicate = True
    listed = True

    _WORDS = _END, _NUMBER, _START, _NEXT, _AFTER = range(5)
    _QUEUES = "queue", "other_queue"

    def __init__(self, deduplicate, once, tested):
        super().__init__(deduplicate, once, tested)
        self._ring = Ring(4, "control")

    @classmethod
    def lacks(cls, task):
        return PULLING if task.direction == "pull" else cls.lacks_list(task)

    @staticmethod
    def lacks_list(task) -> str | None:
        """Why kernels of this task cannot go through a list of vertices, or None."""
        if task.format.finds_rows(task):
            return None
        if task.schedule.needs != "rows":
            return (f"schedule {task.schedule.name!r} distributes edges, and does not use a list "
                    "of vertices")
        return f"format {task.plan.format!r} has no list that leads from a vertex to its rows"

    @property
    def noted(self):
        return not self.deduplicate

    def reserve(self, task):
        super().reserve(task)
        self._ring.reserve(task)
        if self.noted:
            task.buffers.reserve("note", task.vertex_words)
        for name in self._QUEUES:
            task.buffers.reserve(name, self.most_entries(task))

    def most_entries(self, task):
        return task.graph.num_edges + 1 + task.rows_over if self.noted else task.vertex_words

    def init(self, task, vertex):
        super().init(task, vertex)
        buffers = task.buffers
        vertices = buffers.address(task.algorithm.base_array(task))
        padding = vertices + 4 * task.graph.num_vertices
        first, other = self._QUEUES
        buffers.fill(first, [vertices + 4 * vertex], padding)
        buffers.fill(other, rest=padding)
        if self.noted:
            notes = np.zeros(task.graph.num_vertices, np.uint32)
            notes[vertex] = buffers.address(first)
            buffers.fill("note", notes)
        self._ring.fill(task, lambda place: {
            self._START: self._start_of(task, place),
            self._END: self._start_of(task, place) + (0 if place else 4),
            self._NEXT: self._ring.address(task, place + 1),
            self._AFTER: self._ring.address(task, place + 2)})

    def argument(self, task, number):
        return self._ring.address(task, number)

    def starts(self, task):
        return self._start_of(task, 0), self._start_of(task, 1)

    def _start_of(self, task, number):
        return task.buffers.address(self._QUEUES[number % 2])

    # Kernels

    def prepare(self, k):
        super().prepare(k)
        a = k.a
        self.start, self.end, self._tail = map(k.a.reg, ("start", "queue_end", "tail"))
        block, after, following = a.regs("block", "after", "following")
        self._argument_block(k, block)
        for register, word in ((self.start, self._START), (self.end, self._END),
                               (self.number, self._NUMBER), (self._tail, self._NEXT),
                               (after, self._AFTER)):
            a.lw(register, block, 4 * word)
        a.addi(following, self.number, 1)
        a.sw(self.start, after, 4 * self._END)          # of all warps the same
        a.sw(following, self._tail, 4 * self._NUMBER)

    def parity(self, k, into):
        self._argument_block(k, into)
        first = k.a.reg("first")
        k.a.li(first, self._ring.address(k.task, 0))
        k.a.sub(into, into, first)
        k.a.srli(into, into, log2(4 * Ring.WORDS))
        k.a.andi(into, into, 1)

    def _argument_block(self, k, into):
        """In the prologue: ``into`` = address of the superstep's argument block."""
        k.a.csrr(into, Csr.MSCRATCH)

    def entries(self, k, start, end):
        """In a pass before a superstep: the addresses of the superstep's queue."""
        self._argument_block(k, end)
        k.a.lw(start, end, 4 * self._START)
        k.a.lw(end, end, 4 * self._END)

    def note_data(self, k, vertex, into):
        pointer = k.a.reg("pointer")
        k.a.lw(into, k.pointer(vertex, "note", pointer))

    def present(self, k, entry, note, into):
        a = k.a
        super().present(k, entry, note, into)
        if self.noted:
            noted = a.reg("noted")
            a.sub(noted, note, entry)
            a.seqz(noted, noted)
            a.and_(into, into, noted)

    def add(self, k, vertex, predicate, otherwise, key=None):
        self._stamp(k, vertex, predicate, otherwise)
        self._append(k, vertex, self._tail)

    def _append(self, k, vertex, tail):
        a = k.a
        entry = a.reg("entry")
        a.amoadd_w(entry, k.constant(4, "entry_bytes"), tail)
        a.sw(vertex.reg, entry)
        if self.noted:
            pointer = a.reg("pointer")
            a.sw(entry, k.pointer(vertex, "note", pointer))

    # Host

    def added(self, session, number):
        end = int(self._ring.read(session, number + 1)[self._END])
        return (end - self._start_of(session.task, number + 1)) // 4
