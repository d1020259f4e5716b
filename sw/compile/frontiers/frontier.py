"""The vertices that a superstep visits: the interface, and the names of its kinds.

A superstep reads an :class:`Input` and leaves a :class:`~.superstep.Superstep`. The input is a set
that an earlier superstep has left (:mod:`.sets`), or a pass before the superstep makes it of such a
set (:mod:`.made`).

The host never writes between launches. A superstep leaves its results to the next superstep in
words that the kernel finds ready and leaves ready. The host chooses by the argument of the launch
only.
"""

from typing import Any


__all__ = ["LISTS", "QUEUE", "REVERSE", "VALUES", "Input"]


#: Names of frontiers that are no maps (:mod:`.maps`).
QUEUE, VALUES, REVERSE, LISTS = "queue", "counter", "rqueue", "lists"


class Input:
    """The vertices that a superstep visits, as its kernels read them.

    Attributes
    ----------
    name : str
        Its name for users.
    listed : bool
        Whether only vertices of the frontier come up. If not, all vertices come up, and each is
        tested.
    noted : bool
        Whether an entry of a list counts only if its vertex's note says so.
    still : bool
        Whether kernels leave its memory as it is. If not, a kernel of each superstep prepares it.
    by_words : bool
        Whether :meth:`member` goes by words that the algorithm knows, and not by what is stored.
    by_unit : bool
        Whether it is lists that the units of the cores keep.
    fresh : bool
        Whether vertices may come up that another core adds during the launch. A vertex's other
        words may then be those from before, as the L1s of the cores do not follow each other.
    start, end : GeneralRegister
        In a kernel, of a list: the addresses of its first entry and behind its last. The code that
        goes through the list takes ``start`` over.
    """
    name: Any = None
    listed = False
    noted = still = by_words = by_unit = fresh = False
    start: Any
    end: Any

    # Memory

    def reserve(self, task):
        """Reserve buffers."""

    def fill(self, task):
        """Fill them."""

    def passes(self, task) -> list:
        """The kernels that make it of the frontier, which are launched before all other kernels of
        a superstep; a list of :class:`~sw.compile.kernels.passes.Pass`. Nothing has been emitted
        but the kernel's entry."""
        return []

    # Kernels

    def prepare(self, k):
        """In the prologue."""

    # Kernels: maps

    def member_data(self, k, vertex, into):
        """Load what :meth:`member` needs."""
        raise NotImplementedError

    def member(self, k, vertex, data, into):
        """``into`` = 1 if the vertex is in the frontier, else 0; ``into`` may be ``data``."""
        raise NotImplementedError

    # Kernels: lists

    def entry_count(self, session, argument) -> int:
        """The number of entries that a superstep goes through."""
        raise NotImplementedError

    def first_entry(self, session, argument) -> int:
        """The address of the first entry that a superstep goes through."""
        raise NotImplementedError

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
