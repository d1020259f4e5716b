"""The interface of a frontier: the vertices of the next superstep, in device memory.

A superstep reads an :class:`Input` and adds to a :class:`Frontier`. A frontier is an input too. So
a superstep may read the frontier that the last superstep left. Or a pass before the superstep makes
another input of that frontier (:mod:`.made`).

The host never writes between launches. A superstep leaves its results to the next superstep in
words that the kernel finds ready and leaves ready. The host chooses by the argument of the launch
only.
"""

from typing import Any

import numpy as np


__all__ = ["PULLING", "CountedFrontier", "Frontier", "Input", "Ring", "members"]


#: Words in which a fused loop counts the added vertices: a power of two.
_COUNTS = 4

#: Why there is no list or map to go by where vertices collect.
PULLING = ("when pulling, a schedule visits the vertices that gather, not the vertices of the "
           "frontier")


def members(task, vertices):
    """The numbers of a first frontier's vertices (:meth:`Frontier.init`), as an array."""
    return np.arange(task.graph.num_vertices) if vertices is None else np.asarray(vertices)


class Input:
    """The vertices that a superstep visits, as its kernels read them.

    Attributes
    ----------
    name : str
        Its name for users.
    listed : bool
        Whether only vertices of the frontier come up. If not, all vertices come up, and each is
        tested.
    keeps : bool
        Whether it stores which vertices it has. Then :meth:`member` can be asked, if the input is
        not listed.
    noted : bool
        Whether an entry of a list counts only if its vertex's note says so.
    still : bool
        Whether kernels leave its memory as it is. If not, a kernel of each superstep prepares it.
    by_words : bool
        Whether :meth:`member` goes by words that the algorithm knows, and not by what is stored.
    by_unit : bool
        Whether it is lists that the units of the cores keep.
    start, end : GeneralRegister
        In a kernel, of a list: the addresses of its first entry and behind its last. The code that
        goes through the list takes ``start`` over.
    """
    name: Any = None
    listed = False
    keeps = True
    noted = still = by_words = by_unit = False
    start: Any
    end: Any

    # Memory

    def reserve(self, task):
        """Reserve buffers."""

    def passes(self, task) -> list:
        """The kernels that make it of the frontier, which are launched before all other kernels of
        a superstep; a list of :class:`~sw.compile.kernels.passes.Pass`. Nothing has been emitted
        but the kernel's entry."""
        return []

    # Kernels: maps

    def member_data(self, k, vertex, into):
        """Load what :meth:`member` needs."""
        raise NotImplementedError

    def member(self, k, vertex, data, into):
        """``into`` = 1 if the vertex is in the frontier, else 0; ``into`` may be ``data``."""
        raise NotImplementedError

    # Kernels: lists

    def most_entries(self, task) -> int:
        """Words of a list: the largest number of entries, and those over which kernels may run."""
        return task.vertex_words

    def note_data(self, k, vertex, into):
        """Load the vertex's note, which :meth:`present` needs if the list is noted."""
        raise NotImplementedError

    def present(self, k, entry, note, into):
        """``into`` = 1 if ``entry`` is the address of an entry that counts, else 0."""
        a = k.a
        a.sltu(into, entry, self.end)
        if self.noted:
            noted = a.reg("noted")
            a.sub(noted, note, entry)
            a.seqz(noted, noted)
            a.and_(into, into, noted)


class Frontier(Input):
    """Base of the frontiers.

    Parameters
    ----------
    deduplicate : bool
        Whether a vertex that is added several times in a superstep is stored, and counted, once.
    once : bool
        Whether the algorithm itself adds no vertex twice in a superstep.
    tested : bool
        Whether a vertex's values do not tell the algorithm if the vertex is in the frontier.

    Attributes
    ----------
    default_deduplicate : bool
        The value of ``deduplicate`` if the user gives none.
    number : GeneralRegister
        In a kernel, after :meth:`prepare`: the superstep's number.
    """
    default_deduplicate = False

    #: Whether the Stream Compaction Unit adds to lists of this frontier.
    counts_entries = False

    #: Whether the kernel that goes through a list may prepare the next frontier behind its
    #: prologue, which warps without an entry leave before.
    leads_late = False

    #: Buffers of bits, one for each list that additions may go to (:meth:`note`); empty if the
    #: frontier has no lists.
    BITS = ()

    def __init__(self, deduplicate, once, tested):
        self.deduplicate = deduplicate
        self._stamped = deduplicate and not once

    @classmethod
    def lacks(cls, task) -> str | None:
        """Why a superstep of this task cannot read such a frontier, or None."""
        return None

    # Memory

    def reserve(self, task):
        """Reserve buffers. If there are stamps, each vertex has one. The stamp is 1 more than the
        number of the last superstep in whose frontier the vertex was, or 0 if there was none."""
        if self._stamped:
            task.buffers.reserve("stamp", task.vertex_words)

    def init(self, task, vertices, keys=None):
        """Fill the buffers.

        Parameters
        ----------
        task : Task
        vertices : int array or None
            The first frontier, each vertex once, by the device's numbers; None for every vertex.
        keys : uint32 array, optional
            The values of these vertices by which a frontier may order them (:meth:`add`).
        """
        if self._stamped:
            stamps = np.zeros(task.graph.num_vertices, np.uint32)
            stamps[members(task, vertices)] = 1
            task.buffers.fill("stamp", stamps)

    # Kernels

    def prepare(self, k):
        """Prologue."""
        self.number = k.a.reg("number")

    def make(self, k):
        """In the prologue, behind what the input prepares: make ready what the superstep adds to.
        """

    def parity(self, k, into, place=0):
        """Before :meth:`prepare`: ``into`` = the last bit of the superstep's number, shifted to the
        left by ``place``."""
        raise NotImplementedError

    def open(self, k):
        """In the prologue of a kernel that goes through vertices, behind :meth:`prepare`: make
        ready what :meth:`add` needs. In kernels of edges the schedule does so. Such a kernel is a
        superstep of its own, and ends with :meth:`finish`."""

    def narrow(self, k, predicate, otherwise):
        """Go on with the lanes that :meth:`add` their vertices, if no vertex is added twice."""
        k.narrow(predicate, otherwise)

    def add(self, k, vertex, predicate, otherwise, key=None):
        """Add the active lanes' vertices to the next frontier. Several lanes may add the same
        vertex, now or later. The code may narrow the lanes by ``predicate``, and goes to
        ``otherwise`` if none is left. ``key`` is a register with the value by which a frontier may
        order its vertices."""
        raise NotImplementedError

    def finish(self, k):
        """The kernel's end; all lanes are active."""

    def _stamp(self, k, vertex, predicate, otherwise, value=None):
        """Go on with the lanes that stamp their vertex first, if there are stamps. ``value`` is a
        register with a stamp other than that of the next frontier."""
        if not self._stamped:
            return
        a = k.a
        stamp = a.reg("stamp")
        pointer = k.pointer(vertex, "stamp", stamp)
        if value is None:
            value = predicate
            a.addi(value, self.number, 2)
        a.amomaxu_w(stamp, value, pointer)
        a.sltu(predicate, stamp, value)
        k.narrow(predicate, otherwise)

    # Kernels: fused loops (:mod:`sw.compile.kernels.fusion`)

    def number_at(self, k, argument, into):
        """``into`` = the number of the superstep with this argument, a register."""
        raise NotImplementedError

    def proceed(self, k, argument, added):
        """Behind the barrier that ends a superstep: ``argument``, the register with its argument,
        becomes that of the next superstep. ``added`` = 0 if the superstep has added no vertex, else
        another number. Warps that are ahead may already run the next superstep. All lanes are
        active."""
        raise NotImplementedError

    # Host

    def argument(self, task, number) -> int:
        """The argument to launch superstep ``number`` with."""
        raise NotImplementedError

    def number_of(self, session, argument) -> int:
        """The number of the superstep that is launched with ``argument``, modulo two at least."""
        raise NotImplementedError

    def added(self, session, number) -> int:
        """The number of vertices that superstep ``number`` has added to the next frontier. Without
        deduplication, a vertex counts each time it was added. Call this once after each
        superstep."""
        raise NotImplementedError


class CountedFrontier(Frontier):
    """The common part of the frontiers without a list: a count of the added vertices.

    Each lane counts in a register. At the kernel's end, the lane adds this register to the single
    word of ``control``. The word is never reset: the host takes the difference.

    A fused loop has four words, and superstep s adds to word s mod 4. Behind the barrier that ends
    superstep s, warps read its word and clear word s + 2 mod 4. A barrier is between these accesses
    and all others to the same word.

    Attributes
    ----------
    following : GeneralRegister
        In a kernel: the next superstep's number.
    """

    def reserve(self, task):
        super().reserve(task)
        task.buffers.reserve("control", _COUNTS if task.fused else 1)

    def init(self, task, vertices, keys=None):
        super().init(task, vertices, keys)
        task.buffers.fill("control")
        self._total = 0

    def prepare(self, k):
        super().prepare(k)
        self.following, self._count = k.a.reg("following"), k.a.reg("added")
        self._read_argument(k)
        k.a.addi(self.following, self.number, 1)
        k.a.mv(self._count, k.a.zero)

    def _read_argument(self, k):
        """Load the superstep's number, and further words of the argument."""
        raise NotImplementedError

    def finish(self, k):
        control = k.a.reg("control")
        if k.task.fused:
            self._word(k, self.number, control)
        else:
            k.a.li(control, k.address("control"))
        k.a.amoadd_w(k.a.zero, self._count, control)

    @staticmethod
    def _word(k, number, into):
        """In a fused loop: ``into`` = address of the word of the superstep of that number."""
        k.a.andi(into, number, _COUNTS - 1)
        k.scaled(into, into, "control")

    def _advance(self, k, argument):
        """The register with a superstep's argument becomes that of the next superstep."""
        raise NotImplementedError

    def proceed(self, k, argument, added):
        a = k.a
        number, word = a.regs("number", "control")
        self.number_at(k, argument, number)
        self._advance(k, argument)
        self._word(k, number, word)
        a.lw(added, word)
        a.addi(number, number, _COUNTS // 2)
        self._word(k, number, word)
        a.sw(a.zero, word)                      # of all warps the same

    def added(self, session, number):
        before, self._total = self._total, int(session.read("control")[0])
        return self._total - before & 0xFFFF_FFFF


class Ring:
    """Argument blocks in device memory. Superstep s has block s modulo the number of blocks.

    Parameters
    ----------
    blocks : int
        Number of blocks.
    array : str
        The buffer of the blocks.
    """
    WORDS = 8           # of a block

    def __init__(self, blocks, array):
        self._blocks, self._array = blocks, array

    def reserve(self, task):
        """Reserve the buffer."""
        task.buffers.reserve(self._array, self._blocks * self.WORDS)

    def fill(self, task, block):
        """Fill the buffer; ``block(place)`` gives a dict of values by word."""
        ring = np.zeros((self._blocks, self.WORDS), np.uint32)
        for place, row in enumerate(ring):
            for word, value in block(place).items():
                row[word] = value
        task.buffers.fill(self._array, ring.reshape(-1))

    def address(self, task, number) -> int:
        """Address of the block of superstep ``number``."""
        return task.buffers.address(self._array) + 4 * self.WORDS * (number % self._blocks)

    def place(self, task, address) -> int:
        """The number, modulo the number of blocks, whose block has an address within it."""
        return (address - task.buffers.address(self._array)) // (4 * self.WORDS)

    def read(self, session, number):
        """The words of that block as the device has left them."""
        return session.read(self._array).reshape(self._blocks, self.WORDS)[number % self._blocks]
