"""The interface of an algorithm by compaction, and the places of its lists."""

import enum
import typing

import numpy as np

from hw.isa import Csr
from sw.errors import UserError
from sw.formats.compressed import CompressedRows


__all__ = ["COUNTS", "EDGES", "FRONTIER", "GIVEN", "INDEXES", "OVER", "VALUES", "ByCompaction",
           "Control", "Rows", "State", "Target"]


#: The lists: the vertices of the frontier, the ends of their edges, and the value of each end.
FRONTIER, EDGES, VALUES = "frontier", "edge_frontier", "value_frontier"

#: Outputs of the kernel ``prepare`` for each vertex of the frontier: the place of its first edge,
#: the number of its edges, and the value that it sends along them.
INDEXES, COUNTS, GIVEN = "indexes", "counts", "given"

#: Elements that kernels may run over behind the end of a list: more than the largest block of a
#: warp.
OVER = 256


class Control(enum.IntEnum):
    """Places of the lists' marks in the buffer ``control``, in bytes: a word for even supersteps,
    and a word for odd supersteps. A mark tells where a list ends, and
    :meth:`~sw.compaction.engine.Engine.end` reads it. Words from OWN on are the algorithm's."""
    FRONTIER = 0
    EDGES = 8
    OWN = 16


class Target(typing.NamedTuple):
    """The list that an output is added to.

    Parameters
    ----------
    name : str
        The list's buffer.
    mark : int
        Place of the list's mark, in bytes from the beginning of the buffer ``control``.
    taken : int
        Number of elements that the list already has.
    """
    name: str
    mark: int
    taken: int = 0


class Rows(CompressedRows):
    """Compressed rows whose neighbours are elements, and whose offsets have the engine's form.

    Parameters
    ----------
    task : sw.runtime.task.Task
    """

    def __init__(self, task):
        image = task.format.image
        bases, neighbors, weights = image.rows()
        super().__init__(task, bases, neighbors, weights, image.arrays["offsets"])

    def build(self):
        buffers, engine = self.task.buffers, self.task.algorithm.engine
        words, padding = self.neighbor_words()
        buffers.fill(self.array("neighbors"), words >> engine.shift, padding >> engine.shift)
        if self.task.algorithm.weighted:
            buffers.fill(self.array("weights"), self._weights)
        offsets = engine.offsets(self._offsets)
        buffers.fill(self.array("offsets"), offsets, int(offsets[-1]))


class State:
    """The control words of a kernel's superstep, which tell where its lists end.

    Made in the prologue; the argument of every launch has the superstep's number in its last bits.

    Parameters
    ----------
    k : Kernel

    Attributes
    ----------
    here, there : Register
        Address of the control words of this superstep, and of the next.
    """

    def __init__(self, k):
        self.here, self.there = k.a.regs("control", "next_control")
        start = k.a.reg("start")
        k.a.csrr(self.here, Csr.MSCRATCH)
        k.a.andi(self.here, self.here, 1)
        k.a.slli(self.here, self.here, 2)
        k.a.li(start, k.address("control"))
        k.a.add(self.here, self.here, start)
        k.a.xori(self.there, self.here, 4)


class ByCompaction:
    """The common part of the algorithms by compaction.

    An algorithm by compaction names this class before the class of the algorithm among its bases.

    Elements behind the end of a list
    ---------------------------------
    A contraction goes through the edge frontier in whole blocks, beyond its end. Behind the end
    there are elements of earlier, larger frontiers, each with its old value, or the padding vertex
    that the list was filled with. All these elements have been contracted before. So a repeated
    contraction of an element must change nothing. If the edge frontier always has the same length,
    there is only padding behind it, with values 0.

    Attributes
    ----------
    array : str
        The vertex array in whose addresses the elements of lists are.
    replicates : str or None
        The list whose words are sent along the edges; None for the values of :meth:`given`.
    everywhere : bool
        Whether all vertices are in every frontier. Then there is no list of them.
    kept : tuple of sw.compaction.blocks.Output
        The outputs of a contraction.
    own_words : int
        Words of ``control`` that are the algorithm's own.
    table_share : float or None
        Largest part of the L2 that the table of a filtering unit takes; None if nothing is
        filtered.
    groups : bool
        Whether the unit groups the edge frontier.
    """
    directions = ("push",)
    switches = False
    array = None
    replicates = None
    everywhere = False
    kept = ()
    own_words = 0
    table_share = None
    groups = False

    # Attributes of the other base class.
    name: str
    graph: typing.Any

    @classmethod
    def check_has(cls, direction):
        if direction != "push":
            raise UserError(f"algorithm {cls.name!r} by compaction has no direction {direction!r}: "
                            "it compacts the ends of edges that leave the frontier, so it has only "
                            "push")

    def frontiers(self, task):
        return ()

    def frontier_reason(self, task):
        return (f"schedule {task.schedule.name!r} compacts the vertices of the frontier, so "
                "the frontier is a list that has each vertex once")

    # Memory

    def reserve(self, task):
        self.engine = task.schedule.engine(task)
        self.reserve_vertices(task)
        buffers, edges = task.buffers, self.graph.num_edges + OVER
        buffers.reserve("control", Control.OWN // 4 + self.own_words)
        if not self.everywhere:
            buffers.reserve(FRONTIER, self.frontier_words(task))
        for name in (EDGES, VALUES):
            buffers.reserve(name, edges)
        self.engine.reserve()

    def frontier_words(self, task) -> int:
        """Words of a list of vertices."""
        return self.graph.num_vertices + OVER

    def longest_list(self) -> int:
        """Upper bound of the elements of the longest list from which elements are selected."""
        return self.graph.num_edges

    def reserve_vertices(self, task):
        """Reserve the vertex arrays."""
        raise NotImplementedError

    def fill(self, task, source=None):
        """Fill the lists; the first frontier is ``source``."""
        buffers, engine = task.buffers, self.engine
        first, padding = task.vertex_addresses(self.array, np.array([source or 0], np.uint32))
        buffers.fill(EDGES, rest=padding >> engine.shift)
        marks = [0, 0]
        if not self.everywhere:
            buffers.fill(FRONTIER, first >> engine.shift, padding >> engine.shift)
            marks = [engine.mark(buffers.address(FRONTIER), count) for count in (1, 0)]
        marks += 2 * [engine.mark(buffers.address(EDGES), 0)]
        buffers.fill("control", [*marks, *self.own_control(task)])
        engine.fill()

    def own_control(self, task) -> list:
        """First contents of the algorithm's own words of ``control``."""
        return []

    def neighbor_array(self, task):
        return self.array

    def base_array(self, task):
        return self.array

    # Kernels

    def kernels(self, task):
        return {name: ("apply", emit) for name, emit in
                (self.engine.kernels() | self.own_kernels(task)).items()}

    def own_kernels(self, task) -> dict:
        """The algorithm's own kernels: by name, the functions that emit them."""
        return {}

    def apply(self, k):
        k.layout = k.task.layouts[0]
        k.variant(k)

    def given(self, k, vertex, into):
        """``into`` = the value that a vertex of the frontier sends along its edges; ``vertex`` is
        the address of its word."""
        raise NotImplementedError

    def along(self, k, value, weight, into):
        """``into`` = the value beside the end of an edge, from the vertex's value and the edge's
        weight; ``into`` may be ``weight``. For algorithms with weights."""
        raise NotImplementedError

    def need_contract(self, k, state) -> list:
        """Prologue of a kernel that calls :meth:`contract`; gives :meth:`tails`."""
        raise NotImplementedError

    def tails(self, k, state) -> list:
        """In the prologue, a register for each output with the address of its list's mark."""
        return []

    def contract(self, k, sink, block, group):
        """Emit the work on a group of windows of the edge frontier; ``sink`` takes the kept
        elements (:mod:`sw.compaction.blocks`). All lanes are active before and after it."""
        raise NotImplementedError

    # Host

    def targets(self, superstep) -> list:
        """The lists to which a superstep's contraction adds, a :class:`Target` for each output."""
        return [Target(FRONTIER, Control.FRONTIER + 4 * ((superstep + 1) % 2))]
