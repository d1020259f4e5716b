"""A frontier as lists of its vertices, one for each core, which a unit of the hardware keeps."""


import numpy as np

from hw.isa import Csr
from hw.operations import GatherSetting
from sw.compile.kernels import gathering
from sw.compile.frontiers.frontier import PULLING, Frontier, members
from sw.compile.kernels.kernel import round_up


__all__ = ["Lists"]


class Lists(Frontier):
    """The vertices of the frontier as the units of the cores list them.

    Each core adds to a list of its own, by instructions of its unit, which stores the list and the
    number of its vertices. So no core waits for another, and nothing adds to a word of memory.
    There are two sets of lists: superstep s reads set s mod 2 and adds to the other set. A list has
    room for all vertices, so each vertex is added once. A superstep's argument is its number.
    """
    name = "lists"
    default_deduplicate = True
    listed = by_unit = True

    _LISTS, _COUNTS = "lists", "list_lengths"

    @classmethod
    def lacks(cls, task):
        if not task.schedule.reads_lists:
            return ("only GraphPEG keeps lists, by schedule 'graphpeg', and not schedule "
                    f"{task.schedule.name!r}")
        return PULLING if task.direction == "pull" else None

    @staticmethod
    def _room(task) -> int:
        """Words of a list."""
        return round_up(task.graph.num_vertices, task.config.threads)

    def reserve(self, task):
        super().reserve(task)
        sets = 2 * task.config.cores
        task.buffers.reserve(self._LISTS, sets * self._room(task))
        task.buffers.reserve(self._COUNTS, sets)

    def init(self, task, vertices, keys=None):
        super().init(task, vertices, keys)
        first, cores = task.buffers.address(task.algorithm.base_array(task)), task.config.cores
        lists = np.zeros((cores, 2, self._room(task)), np.uint32)
        lengths = np.zeros((cores, 2), np.uint32)
        for core, own in enumerate(np.array_split(members(task, vertices), cores)):
            lists[core, 0, :len(own)] = first + 4 * own
            lengths[core, 0] = len(own)
        task.buffers.fill(self._LISTS, lists.reshape(-1))
        task.buffers.fill(self._COUNTS, lengths.reshape(-1))

    # Kernels. The two lists of a core lie side by side, and so do their lengths.

    def parity(self, k, into, place=0):
        k.argument(into)
        k.a.andi(into, into, 1)
        k.shifted(into, into, place)

    def number_at(self, k, argument, into):
        k.a.mv(into, argument)

    def prepare(self, k):
        super().prepare(k)
        k.argument(self.number)

    def apart(self, task) -> int:
        """Bytes between the lists of two cores."""
        return 8 * self._room(task)

    #: Bytes between the lengths of two cores' lists.
    LENGTHS_APART = 8

    def of_core_0(self, k, first, length):
        """``first`` and ``length`` = the addresses of core 0's list and of its length in this
        superstep. Both are registers."""
        a = k.a
        with a.scope("odd", "distance") as (odd, distance):
            a.andi(odd, self.number, 1)
            a.slli(distance, odd, 2)
            a.li(length, k.address(self._COUNTS))
            a.add(length, length, distance)
            a.neg(odd, odd)
            a.li(distance, 4 * self._room(k.task))
            a.and_(distance, distance, odd)
            a.li(first, k.address(self._LISTS))
            a.add(first, first, distance)

    def _of_core(self, k, first, length):
        a = k.a
        self.of_core_0(k, first, length)
        if k.config.cores > 1:
            with a.scope("core", "distance") as (core, distance):
                a.csrr(core, Csr.CORE_ID)
                k.times(distance, core, self.LENGTHS_APART)
                a.add(length, length, distance)
                k.times(distance, core, self.apart(k.task))
                a.add(first, first, distance)

    def program(self, k):
        """The first warp of a core stores where its unit puts vertices."""
        a = k.a
        first, length, other, room = a.regs("list", "length", "other_list", "room")
        self._of_core(k, first, length)
        # The other list begins one list behind an even superstep's, one before an odd one's.
        a.andi(other, self.number, 1)
        a.neg(other, other)
        a.li(room, 4 * self._room(k.task))
        a.xor(room, room, other)
        a.sub(room, room, other)
        a.add(other, first, room)
        a.xori(length, length, 4)
        gathering.program(k, {GatherSetting.OUTPUT: other, GatherSetting.COUNT: length,
                              GatherSetting.LIMIT: k.task.graph.num_vertices})

    def open_lists(self, k):
        """As of :class:`~sw.compile.frontiers.superstep.Superstep`."""
        self.program(k)

    def own(self, k, first, count):
        """As of :class:`~sw.compile.frontiers.unit_lists.SetLists`."""
        self._of_core(k, first, count)
        k.a.lw(count, count)

    def open(self, k):
        with gathering.by_first_warp(k):
            self.program(k)
        k.barrier()

    def add(self, k, vertex, predicate, otherwise, key=None):
        self._stamp(k, vertex, predicate, otherwise)
        with k.a.scope("pushed") as (pushed,):
            k.a.push_vert(k.pointer(vertex, k.algorithm.base_array(k.task), pushed))

    def finish(self, k):
        gathering.close_list(k)

    # Host

    def argument(self, task, number):
        return number

    def number_of(self, session, argument):
        return argument

    def added(self, session, number):
        lengths = session.read(self._COUNTS).reshape(session.task.config.cores, 2)
        return int(lengths[:, (number + 1) % 2].sum(dtype=np.uint64))
