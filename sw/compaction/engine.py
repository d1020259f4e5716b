"""The common part of the engines of compaction.

An engine defines the form of lists and of their ends. The engine has the kernels and calls that
make one list from another. All engines share the kernels of the algorithm itself; these kernels
differ only by the sink that takes the kept elements (:mod:`sw.compaction.blocks`).
"""

from sw.compaction.base import (COUNTS, EDGES, FRONTIER, GIVEN, INDEXES, OVER, VALUES,
                                Control, State)
from sw.compaction.blocks import Bits, Blocks
from sw.compaction.expansion import rows
from sw.kernels.assembler import Condition
from sw.kernels.split import Split, split


__all__ = ["Engine"]


#: Windows of the frontier that ``prepare`` works on at once.
_WINDOWS = 2


class Engine:
    """Base of the engines.

    Parameters
    ----------
    task : Task
    options : dict
        The schedule's options.

    Attributes
    ----------
    shift : int
        Number of bits by which elements of lists, addresses of words, are shifted to the right.
    saturates : bool
        Whether the cores add the values along the edges, and so can detect an overflow.
    counts_edges : bool
        Whether the host knows how many edges have been expanded.
    in_place : bool
        Whether a list can be compacted in place.
    apart : bool
        Whether separate kernels make lists of the kept elements.
    filters : bool
        Whether the edge frontier is filtered by best cost.
    """
    shift = 0
    saturates = False
    counts_edges = False
    in_place = False
    apart = False
    filters = False

    def __init__(self, task, options):
        self.task, self.options = task, options
        self.algorithm = task.algorithm

    # Memory

    def reserve(self):
        """Reserve the engine's own buffers."""
        raise NotImplementedError

    def reserve_prepared(self):
        """Reserve the buffers for the outputs of ``prepare``, and for the bits of kept elements."""
        buffers, algorithm = self.task.buffers, self.algorithm
        words = algorithm.frontier_words(self.task)
        for name in (INDEXES, COUNTS) if algorithm.replicates else (INDEXES, COUNTS, GIVEN):
            buffers.reserve(name, words)
        for output in algorithm.kept:
            buffers.reserve(output.bits, (algorithm.longest_list() + OVER) // 32 + 1)

    def fill(self):
        """Fill these buffers."""

    def offsets(self, numbers):
        """The words that represent the numbers of edges in memory."""
        raise NotImplementedError

    def mark(self, start, count) -> int:
        """The mark of a list at ``start`` with ``count`` elements."""
        raise NotImplementedError

    # Kernels

    @property
    def frontier(self) -> str:
        """The array that a kernel goes through for the vertices of the frontier."""
        return self.algorithm.array if self.algorithm.everywhere else FRONTIER

    def end(self, k, name, word, offset, into):
        """``into`` = the address behind a list's last element; its mark is ``offset`` bytes from
        the address in ``word``."""
        raise NotImplementedError

    def frontier_end(self, k, state, into):
        """In the prologue: ``into`` = the address behind the frontier's last element."""
        if self.algorithm.everywhere:
            k.a.li(into, k.address(self.frontier) + 4 * self.task.graph.num_vertices)
        else:
            self.end(k, FRONTIER, state.here, Control.FRONTIER, into)

    def vertex(self, k, element):
        """Make an element the address of its vertex's word."""
        k.shifted(element, element, self.shift)

    def kernels(self) -> dict:
        """The engine's kernels: by name, the functions that emit them."""
        raise NotImplementedError

    def parts(self, k, part) -> Split:
        """The split of ``prepare``. One kernel in a superstep takes from the counters of a split:
        this kernel, if no other kernel goes through the frontier."""
        return split(k, part)

    def prepare(self, k):
        """Emit the kernel that looks up the vertices of the frontier, for others to expand."""
        a, algorithm = k.a, self.algorithm
        size = k.task.config.threads
        places = range(0, 4 * size * _WINDOWS, 4 * size)
        entry, end = k.a.reg("entry"), k.a.reg("entry_end")
        self.frontier_end(k, State(k), end)
        index = a.reg("index")
        k.lane_index(index, per_warp=_WINDOWS * size)
        k.scaled(entry, index, self.frontier)
        top, done, more = a.label("entries"), a.label("entries_end"), Condition("ltu", entry, end)
        a.branch(~more, done)
        lists = [INDEXES, COUNTS] + ([] if algorithm.replicates else [GIVEN])
        parts = self.parts(k, 4 * size * _WINDOWS)
        parts.start()
        k.phase(2)
        a.place(top)
        place = a.reg("place")
        begins, ends, vertices = (
            a.regs(*(f"{name}{number}" for number in range(_WINDOWS)))
            for name in ("begin", "end", "vertex"))
        for vertex, offset in zip(vertices, places):
            if algorithm.everywhere:
                a.addi(vertex, entry, offset)
            else:
                a.lw(vertex, entry, offset)
        for vertex, begin, limit in zip(vertices, begins, ends):
            if not algorithm.everywhere:
                self.vertex(k, vertex)
            rows(k, vertex, begin, limit, None if algorithm.replicates else vertex)
        for begin, limit in zip(begins, ends):
            a.sub(limit, limit, begin)
        for name, words in zip(lists, (begins, ends, vertices)):
            a.add(place, entry, k.distance(self.frontier, name))
            for word, offset in zip(words, places):
                a.sw(word, place, offset)
        parts.take(entry)
        a.branch(more, top)             # as lane 0 says
        a.place(done)

    def sink(self):
        """The sink that takes the elements that a kernel keeps."""
        return Bits(self.algorithm.kept)

    def contraction(self, k):
        """Emit the kernel in which the algorithm contracts the edge frontier."""
        algorithm, sink = self.algorithm, self.sink()
        end = k.a.reg("edges_end")
        state = State(k)
        self.end(k, EDGES, state.here, Control.EDGES, end)
        if not self.apart:
            self.leave_edges(k, state)
        blocks = Blocks(k, k.address(EDGES), end, sink.bits)
        tails = algorithm.need_contract(k, state)
        sink.prepare(k, tails)
        k.phase(4)
        with blocks.each() as block:
            sink.begin(k, block)
            for group in range(len(block.groups)):
                algorithm.contract(k, sink, block, group)
            sink.finish(k, block)

    def leave_frontier(self, k, state):
        """In the prologue of a kernel that reads the frontier and fills the edge frontier."""

    def leave_edges(self, k, state):
        """In the prologue of a kernel that reads the edge frontier and fills the frontier."""

    # Host

    def address(self, name, words=0) -> int:
        """Address of a word of a buffer."""
        return self.task.buffers.address(name) + 4 * words

    def mark_of(self, superstep, word) -> int:
        """Address of a list's mark in a superstep; ``word`` is of :class:`Control`."""
        return self.address("control") + word + 4 * (superstep % 2)

    def launch(self, session, name, superstep, flags=0):
        """Launch a kernel of a superstep."""
        session.launch(name, superstep | flags)

    @property
    def edges(self) -> int:
        """Number of elements of the edge frontier; the number of edges if it is not known."""
        return self.task.graph.num_edges

    def expand(self, session, superstep, count, flags=0):
        """Make the edge frontier of a superstep, whose frontier has ``count`` vertices."""
        raise NotImplementedError

    def contract(self, session, superstep, flags=0) -> list:
        """Contract the edge frontier. Returns how many elements each of the algorithm's outputs
        got."""
        return self.select(session, "contract", superstep, flags, (EDGES, VALUES), self.edges,
                           self.algorithm.targets(superstep))

    def select(self, session, kernel, superstep, flags, columns, length, targets) -> list:
        """Launch a kernel that keeps elements of a list, and make the lists of what it keeps.

        Parameters
        ----------
        session : session of sw.runtime.device
        kernel : str
        superstep, flags : int
            Parts of the kernel's argument.
        columns : tuple of str
            Name of the list that the kernel goes through, and of the list of values beside it.
        length : int
            Number of elements, or an upper bound of it.
        targets : list of Target
            Target of each of the algorithm's outputs.

        Returns
        -------
        list of int
            Elements that each output's lists got.
        """
        raise NotImplementedError
