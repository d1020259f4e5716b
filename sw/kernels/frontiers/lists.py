"""A frontier as lists of its vertices, one for each core, which a unit of the hardware keeps."""

import numpy as np

from sw.kernels import gathering
from sw.kernels.frontiers.frontier import PULLING, Frontier


__all__ = ["Lists"]


class Lists(Frontier):
    """The vertices of the frontier as the units of the cores list them (GraphPEG).

    Each core adds to a list of its own, by instructions of its unit, which stores the list and the
    number of its vertices. So no core waits for another, and nothing adds to a word of memory.
    There are two sets of lists: superstep s reads set s mod 2 and adds to the other set. A list has
    room for all vertices, so each vertex is added once. A superstep's argument is its number.
    """
    name = "lists"
    default_deduplicate = True
    listed = True

    _LISTS, _COUNTS = "lists", "list_lengths"

    @classmethod
    def lacks(cls, task):
        if not task.schedule.reads_lists:
            return ("only schedule 'graphpeg' goes through the lists of a unit, and not schedule "
                    f"{task.schedule.name!r}")
        return PULLING if task.direction == "pull" else None

    @staticmethod
    def _room(task) -> int:
        """Words of a list."""
        return task.round_up(task.graph.num_vertices, task.config.threads)

    def reserve(self, task):
        super().reserve(task)
        sets = 2 * task.config.cores
        task.buffers.reserve(self._LISTS, sets * self._room(task))
        task.buffers.reserve(self._COUNTS, sets)

    def init(self, task, vertex):
        super().init(task, vertex)
        first = task.buffers.address(task.algorithm.base_array(task))
        task.buffers.fill(self._LISTS, [first + 4 * vertex])
        task.buffers.fill(self._COUNTS, [1])

    # Kernels

    def parity(self, k, into, place=0):
        k.argument(into)
        k.a.andi(into, into, 1)
        k.shifted(into, into, place)

    def number_at(self, k, argument, into):
        k.a.mv(into, argument)

    def prepare(self, k):
        super().prepare(k)
        k.argument(self.number)
        if k.gathers:
            with gathering.by_first_warp(k), k.a.scope("list", "length", "other") as (
                    first, length, other):
                k.a.xori(other, self.number, 1)
                self._place(k, first, length, other)
                gathering.open_list(k, first, k.task.graph.num_vertices, length)

    def _place(self, k, first, length, number):
        """The addresses of the core's list and of its length, in the set of a superstep of this
        number, a register."""
        self.places(k, first, length, number)
        for into, size in ((first, 4 * self._room(k.task)), (length, 4)):
            with k.a.scope("place") as (place,):
                gathering.core_place(k, place, 0, size)
                k.a.add(into, into, place)

    def places(self, k, first, length, number):
        """The addresses of core 0's list and of its length, as :meth:`_place`. The lists of the
        next core follow at :meth:`apart` bytes, and their lengths at 4."""
        a, cores = k.a, k.task.config.cores
        with a.scope("set", "size") as (which, size):
            a.andi(which, number, 1)
            for into, name, length_of_set in (
                    (first, self._LISTS, cores * self.apart(k.task)),
                    (length, self._COUNTS, 4 * cores)):
                a.li(into, k.address(name))
                a.li(size, length_of_set)
                a.mul(size, size, which)
                a.add(into, into, size)

    def apart(self, task) -> int:
        """Bytes between two lists."""
        return 4 * self._room(task)

    def own(self, k, first, count):
        """The address of the core's list of the superstep, and the number of its vertices."""
        with k.a.scope("length") as (length,):
            self._place(k, first, length, self.number)
            k.a.lw(count, length)

    def add(self, k, vertex, predicate, otherwise, key=None):
        self._stamp(k, vertex, predicate, otherwise)
        with k.a.scope("pushed") as (pushed,):
            k.a.push_vert(k.pointer(vertex, k.task.algorithm.base_array(k.task), pushed))

    def finish(self, k):
        gathering.close_list(k)

    # Host

    def argument(self, task, number):
        return number

    def number_of(self, session, argument):
        return argument

    def added(self, session, number):
        lengths = session.read(self._COUNTS).reshape(2, session.task.config.cores)
        return int(lengths[(number + 1) % 2].sum(dtype=np.uint64))
