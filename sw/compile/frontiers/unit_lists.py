"""Sets of a program as lists of their vertices, one for each core, which the cores' units keep.

Each core adds to a list of its own, by instructions of its unit, which stores the list and, when it
is closed, the number of its vertices. So no core waits for another, nothing adds to a word of
memory, and a kernel finds nothing to reset. A unit has one list at a time, so a kernel makes one
set at most. A list has room for all vertices, so each vertex is added once.

The lists of a storage lie one behind the other. The number of the storage tells where; nothing is
read of a set's block.
"""

import numpy as np

from hw.isa import Csr
from sw.compile.frontiers.frontier import LISTS, Input
from sw.compile.kernels import gathering
from sw.compile.kernels.kernel import round_up


__all__ = ["OwnList", "SetLists", "UnitLists"]


class UnitLists:
    """The memory of the lists of a pool.

    Parameters
    ----------
    storages : int
        The pool's storages.
    """
    _LISTS, _LENGTHS = "set_lists", "set_lengths"

    #: Bytes between the lengths of two cores' lists.
    LENGTHS_APART = 4

    def __init__(self, storages):
        self._storages = storages

    @staticmethod
    def apart(task) -> int:
        """Bytes between two lists."""
        return 4 * round_up(task.vertex_words, task.config.threads)

    def reserve(self, task):
        """Reserve the buffers."""
        lists = self._storages * task.config.cores
        task.buffers.reserve(self._LISTS, lists * self.apart(task) // 4)
        task.buffers.reserve(self._LENGTHS, lists)

    def fill(self, task, members, array):
        """Fill the buffers; ``members`` has the device's numbers of the vertices by storages, which
        are known by their addresses in ``array``."""
        cores, first = task.config.cores, task.buffers.address(array)
        lists = np.full((self._storages, cores, self.apart(task) // 4),
                        first + 4 * task.graph.num_vertices & 0xFFFF_FFFF, np.uint32)
        lengths = np.zeros((self._storages, cores), np.uint32)
        for storage, vertices in members.items():
            for core, own in enumerate(np.array_split(vertices, cores)):
                lists[storage, core, :len(own)] = first + 4 * own
                lengths[storage, core] = len(own)
        task.buffers.fill(self._LISTS, lists.reshape(-1))
        task.buffers.fill(self._LENGTHS, lengths.reshape(-1))

    def size(self, session, storage) -> int:
        """The number of vertices of the set in a storage."""
        cores = session.task.config.cores
        words = session.read(self._LENGTHS, (storage + 1) * cores)
        return int(words[-cores:].sum(dtype=np.uint64))

    @classmethod
    def place(cls, k, fields, index, first, length, own=True):
        """``first`` and ``length``, two registers, = the addresses of the core's list of a set, and
        of its length; core 0's if ``own`` is false. The set is as of :class:`SetLists`."""
        a, cores = k.a, k.config.cores
        fields.storage(k, length, index)
        k.times(length, length, cores)
        with a.scope("word") as (word,):
            if own and cores > 1:
                a.csrr(word, Csr.CORE_ID)
                a.add(length, length, word)
            k.times(first, length, cls.apart(k.task))
            a.li(word, k.address(cls._LISTS))
            a.add(first, first, word)
            k.times(length, length, cls.LENGTHS_APART)
            a.li(word, k.address(cls._LENGTHS))
            a.add(length, length, word)

    def open(self, k, fields, index):
        """In the first warp of each core: the unit puts vertices into the core's list of a set."""
        with k.a.scope("list", "length") as (first, length):
            self.place(k, fields, index, first, length)
            gathering.open_list(k, first, k.task.graph.num_vertices, length)


class SetLists(Input):
    """A set as lists, as the schedule of the units reads it.

    Parameters
    ----------
    fields : Fields
    index : int, optional
        The set's block in the fields.
    """
    name = LISTS
    listed = still = by_unit = True
    apart = staticmethod(UnitLists.apart)
    LENGTHS_APART = UnitLists.LENGTHS_APART

    def __init__(self, fields, index=0):
        self._fields, self._index = fields, index

    def of_core_0(self, k, first, length):
        """``first`` and ``length`` = the addresses of core 0's list and of its length. Both are
        registers."""
        UnitLists.place(k, self._fields, self._index, first, length, own=False)

    def own(self, k, first, count):
        """``first`` and ``count`` = the address of the core's list, and the number of its vertices.
        Both are registers."""
        UnitLists.place(k, self._fields, self._index, first, count)
        k.a.lw(count, count)


class OwnList(SetLists):
    """A set as the core's own list, as kernels of vertices read it."""

    def prepare(self, k):
        self.start, self.end = k.a.regs("start", "list_end")
        self.own(k, self.start, self.end)
        k.a.slli(self.end, self.end, 2)
        k.a.add(self.end, self.end, self.start)

    def walk(self, k, entry) -> int:
        """``entry`` = the address of the lane's first entry; gives the bytes to its next."""
        warps, lane = k.task.warps, k.a.reg("lane")
        k.a.csrr(entry, Csr.WARP_ID)
        k.times(entry, entry, 4 * k.config.threads)
        k.a.csrr(lane, Csr.THREAD_ID)
        k.a.slli(lane, lane, 2)
        k.a.add(entry, entry, lane)
        k.a.add(entry, entry, self.start)
        return 4 * warps * k.config.threads
