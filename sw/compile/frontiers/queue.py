"""A frontier as a list of its vertices."""

from typing import Any

import numpy as np

from sw.compile.frontiers.frontier import PULLING, Frontier, Ring, members
from sw.compile.kernels.kernel import log2


__all__ = ["ListRing", "Queue"]


class ListRing(Ring):
    """Argument blocks that tell of a list: its first entry, the end of the entries that kernels
    have added, and the number of those that the Stream Compaction Unit has added behind.

    Parameters
    ----------
    array : str
    end, start, count : int
        The words.
    """

    def __init__(self, array, end, start, count):
        super().__init__(4, array)
        self._end, self._start, self._count = end, start, count

    def entries(self, session, number) -> int:
        """How many entries the list of a superstep, or epoch, has."""
        block = self.read(session, number)
        end, start, count = (int(block[word]) for word in (self._end, self._start, self._count))
        return (end - start) % (1 << 32) // 4 + count

    def target(self, session, number) -> tuple:
        """The address behind the list's last entry, the address of the word for the unit's count,
        and this count."""
        block = self.read(session, number)
        count = int(block[self._count])
        return (int(block[self._end]) + 4 * count,
                self.address(session.task, number) + 4 * self._count, count)


class QueueMemory(Frontier):
    """What a queue keeps in memory, and what the host reads of it: the vertices of the frontier, in
    no order, as addresses in the algorithm's base array.

    There are two queues: superstep s reads queue s mod 2 and adds to the other queue. Its argument
    block is number s mod 4 of a ring of four, of these words:

    ======  =====================================================================================
    END     address behind the last entry; the last superstep adds entries by this word
    NUMBER  the superstep's number; the last superstep writes it
    START   address of the first entry
    NEXT    address of the next block
    AFTER   address of the block after the next: its END is set to START, because the next superstep
            will add to the queue that this superstep has read
    COUNT   number of entries behind END; the last superstep's steps of the Stream Compaction Unit
            write it, where the schedule has such steps
    ======  =====================================================================================

    Without deduplication a queue may hold a vertex several times. If every entry were worked on,
    entries would multiply from one superstep to the next. So the lane that adds an entry also notes
    the entry's address at the vertex. An entry is worked on only if it is the last that was noted
    (the lookup table of Davidson et al., IPDPS 2014). Each edge of a vertex that is worked on adds
    one entry at most. So a queue never holds more entries than the graph has edges, or vertices if
    all of them are the first frontier, and has room for so many. If the vertex has been added again
    meanwhile, the note names an entry of the next queue. The vertex is then worked on in the next
    superstep, with its new values.

    Attributes
    ----------
    noted : bool
        As of :class:`~sw.compile.frontiers.frontier.Input`: if the queue is not deduplicated.
    """
    _WORDS = _END, _NUMBER, _START, _NEXT, _AFTER, _COUNT = range(6)
    _QUEUES = "queue", "other_queue"

    def __init__(self, deduplicate, once, tested):
        super().__init__(deduplicate, once, tested)
        self._ring = ListRing("control", self._END, self._START, self._COUNT)

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
        graph = task.graph
        if self.noted:
            return max(graph.num_edges + 1, graph.num_vertices) + task.rows_over
        return task.vertex_words

    def init(self, task, vertices, keys=None):
        super().init(task, vertices, keys)
        self._fill(task, members(task, vertices), keys)

    def _fill(self, task, listed, keys):
        """Fill the queues, the first with the vertices ``listed``."""
        buffers = task.buffers
        base = buffers.address(task.algorithm.base_array(task))
        padding = base + 4 * task.graph.num_vertices
        first, other = self._QUEUES
        buffers.fill(first, (base + 4 * listed).astype(np.uint32), padding)
        buffers.fill(other, rest=padding)
        if self.noted:
            notes = np.zeros(task.graph.num_vertices, np.uint32)
            notes[listed] = buffers.address(first) + 4 * np.arange(len(listed))
            buffers.fill("note", notes)
        self._ring.fill(task, lambda place: {
            self._START: self._start_of(task, place),
            self._END: self._start_of(task, place) + (0 if place else 4 * len(listed)),
            self._NEXT: self._ring.address(task, place + 1),
            self._AFTER: self._ring.address(task, place + 2)})

    # Host

    def argument(self, task, number):
        return self._ring.address(task, number)

    def first_entry(self, session, argument) -> int:
        """The address of the first entry that a superstep goes through."""
        return self._start_of(session.task, self.number_of(session, argument))

    def _start_of(self, task, number):
        return task.buffers.address(self._QUEUES[number % 2])

    def added(self, session, number):
        return self._ring.entries(session, number + 1)

    def number_of(self, session, argument):
        return self._ring.place(session.task, argument)

    def entry_count(self, session, argument) -> int:
        """The number of entries that a superstep goes through."""
        return self._ring.entries(session, self.number_of(session, argument))

    def targets(self, session, argument) -> list:
        """For each buffer of :attr:`BITS`: the address behind the last entry of its list, the
        address of the list's COUNT, and this count."""
        return [self._ring.target(session, self.number_of(session, argument) + 1)]


class Queue(QueueMemory):
    """A frontier as a list of its vertices.

    A kernel may note additions (:meth:`note`): it leaves a bit for each element of a list that it
    goes through, and another step of the superstep makes entries of the elements whose bit is 1.
    """
    name = "queue"
    default_deduplicate = True
    listed = True
    BITS = ("frontier_bits",)

    #: A :class:`~sw.compile.compaction.contraction.Bits` while additions only leave bits.
    _bits: Any = None

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

    def number_at(self, k, argument, into):
        k.a.lw(into, argument, 4 * self._NUMBER)

    def proceed(self, k, argument, added):
        """As of :class:`~sw.compile.frontiers.frontier.Frontier`. No kernel of the next superstep
        writes the words that are read here: it adds to the block behind."""
        a, start = k.a, k.a.reg("start")
        a.lw(argument, argument, 4 * self._NEXT)
        a.lw(added, argument, 4 * self._END)
        a.lw(start, argument, 4 * self._START)
        a.sub(added, added, start)

    def prepare(self, k):
        super().prepare(k)
        a = k.a
        self.start, self.end, self._tail = map(k.a.reg, ("start", "queue_end", "tail"))
        block, after, following = a.regs("block", "after", "following")
        self._argument_block(k, block)
        words = []
        if k.leads or not k.gathers:
            words += [(self.start, self._START), (self.end, self._END)]
        if k.leads or k.gathers or not k.task.queued:       # vertices may be filtered by stamps
            words.append((self.number, self._NUMBER))
        if k.leads or k.gathers:
            words.append((self._tail, self._NEXT))
        if k.leads:
            words.append((after, self._AFTER))
        for register, word in words:
            a.lw(register, block, 4 * word)
        if (self.end, self._END) in words:
            self._counted(k, block, self.end, self._COUNT)
        if k.leads:
            self._lead(k, self.number, self._tail, self.start, after, following)

    def lead(self, k):
        """Prepare the frontier of the next superstep, in a kernel whose prologue does not."""
        a = k.a
        block, number, tail, start, after, following = a.regs(
            "block", "superstep", "next_tail", "first", "after", "following")
        self._argument_block(k, block)
        for register, word in ((number, self._NUMBER), (tail, self._NEXT), (after, self._AFTER),
                               (start, self._START)):
            a.lw(register, block, 4 * word)
        self._lead(k, number, tail, start, after, following)

    def _lead(self, k, number, tail, start, after, following):
        a = k.a
        a.addi(following, number, 1)
        a.sw(start, after, 4 * self._END)               # of all warps the same
        if self.counts_entries:
            a.sw(a.zero, after, 4 * self._COUNT)
        a.sw(following, tail, 4 * self._NUMBER)

    def parity(self, k, into, place=0):
        bit = log2(4 * Ring.WORDS)
        k.argument(into)
        k.a.srli(into, into, bit - place)
        k.a.andi(into, into, 1 << place)
        if self._ring.address(k.task, 0) >> bit & 1:
            k.a.xori(into, into, 1 << place)

    def _counted(self, k, block, end, word):
        """Move ``end``, an address, behind the entries that the unit has counted."""
        if self.counts_entries:
            count = k.a.reg("count")
            k.a.lw(count, block, 4 * word)
            k.a.slli(count, count, 2)
            k.a.add(end, end, count)

    def note(self, bits):
        """From here on additions only leave bits, a
        :class:`~sw.compile.compaction.contraction.Bits` for the buffers :attr:`BITS`. None: they
        are stored again."""
        self._bits = bits

    def take(self, k, number, vertex):
        """Add the active lanes' vertices, whose bit ``number`` was noted."""
        self._append(k, vertex, self._tail)

    def _argument_block(self, k, into):
        """In the prologue: ``into`` = address of the superstep's argument block."""
        k.argument(into)

    def entries(self, k, start, end):
        """In a pass before a superstep: the addresses of the superstep's queue."""
        block = k.a.reg("block")
        self._argument_block(k, block)
        k.a.lw(start, block, 4 * self._START)
        k.a.lw(end, block, 4 * self._END)
        self._counted(k, block, end, self._COUNT)

    def note_data(self, k, vertex, into):
        pointer = k.a.reg("pointer")
        k.a.lw(into, k.pointer(vertex, "note", pointer))

    def narrow(self, k, predicate, otherwise):
        if self._bits is None or self._stamped:
            super().narrow(k, predicate, otherwise)

    def add(self, k, vertex, predicate, otherwise, key=None):
        self._stamp(k, vertex, predicate, otherwise)
        if self._bits is not None:
            self._bits.keep_chosen(predicate)       # 0 in the lanes that do not add
        else:
            self._append(k, vertex, self._tail)

    def _append(self, k, vertex, tail):
        a = k.a
        entry = a.reg("entry")
        a.amoadd_w(entry, k.constant(4, "entry_bytes"), tail)
        a.sw(vertex.reg, entry)
        if self.noted:
            pointer = a.reg("pointer")
            a.sw(entry, k.pointer(vertex, "note", pointer))
