"""Expansion of a frontier by the cores: all edges of its vertices, without gaps.

A warp takes as many rows as it has lanes. A prefix sum over their lengths gives the place of each
row's edges, and one atomic addition reserves the room for all of them (Merrill, Garland, Grimshaw,
ACM TOPC 2015, 5). All lanes copy the edges side by side, one edge per lane. A lane finds the row of
its edge by the prefix sums, starting from the row of its last edge. So within a long row there is
no search. If nearly all rows are short, each lane first copies the first edges of its own row,
whose loads are under way together. All lanes then copy the rest of longer rows side by side.

The rows may be *prepared*: a kernel of its own, :func:`prepare`, has looked them up. The Stream
Compaction Unit expands prepared rows, too.
"""

import numpy as np

from hw.isa import Csr
from sw.compile.compaction.lists import EDGES, VALUES, end_word
from sw.compile.formats.compressed import AddressedEdges
from sw.compile.kernels.distribution import Scan
from sw.compile.kernels.kernel import ANY_LANE, Vertex, log2
from sw.compile.kernels.rows import Rows


__all__ = ["COUNTS", "GIVEN", "INDEXES", "OVERREAD", "Expansion", "Prepared", "prepare",
           "leads_late", "reserve_prepared"]


#: Prepared rows: the location of each row's first edge, the distance from there to the location
#: behind the last edge, and the word beside each of its edges.
INDEXES, COUNTS, GIVEN = "row_indexes", "row_counts", "row_words"

#: Largest number of first edges of a row that the row's own lane copies.
_OWN = 6

#: Part of the vertices with edges whose whole rows a lane should copy alone. If such rows may be
#: longer than :data:`_OWN`, all lanes copy all rows together.
_MOST = 0.99

#: Edges behind the last one that may be read.
OVERREAD = _OWN


def leads_late(task):
    """Whether the kernel that goes through the frontier prepares the next one behind its prologue.
    Warps without a row leave before that, and some warp has a row."""
    return task.queued and task.input is task.frontier


def _own_edges(layout):
    """The number of edges that each lane copies of its own row."""
    degrees = layout.task.graph.out_degrees
    degrees = degrees[degrees > 0]
    most = int(np.quantile(degrees, _MOST)) if len(degrees) else 0
    return most if most <= _OWN and isinstance(layout, AddressedEdges) else 0


def _word(k, rows, into):
    """``into`` = the word beside the edges of a row."""
    if k.algorithm.sends:
        k.a.lw(into, rows.vertex.reg)
    else:
        k.a.mv(into, rows.vertex.reg)


def reserve_prepared(task, names=(INDEXES, COUNTS, GIVEN)):
    """Reserve the buffers for prepared rows."""
    words = max(layout.rows for layout in task.layouts) + task.rows_over
    if task.queued:
        words = max(words, task.input.most_entries(task))
    for name in names:
        task.buffers.reserve(name, words)


def prepare(k, names=(INDEXES, COUNTS, GIVEN)):
    """Emit the kernel that looks up the rows of the frontier, for others to expand."""
    a, done, rows = k.a, k.a.label("rows_end"), Rows(k)
    offset, place, count, word = a.regs("offset", "place", "count", "word")
    a.li(offset, k.address(names[0]))
    first = a.reg("first")
    if rows.queued:
        a.sub(offset, offset, k.input.start)
    elif k.layout.first_row(k):
        a.li(first, k.layout.first_row(k))
        a.sub(offset, offset, first)
    rows.start(done)
    if leads_late(k.task):
        k.frontier.lead(k)
    k.phase(2)
    top = a.place("rows")
    a.add(place, rows.place, offset)
    rows.size(count)
    a.sw(rows.begin, place)
    if GIVEN in names:
        _word(k, rows, word)
    for name, register in zip(names[1:], (count, word)):
        a.add(place, place, k.distance(names[names.index(name) - 1], name))
        a.sw(register, place)
    rows.advance()
    a.branch(rows.more(), top)
    a.place(done)


class Prepared:
    """A layout whose rows have been prepared, in the kernel that expands them."""
    virtual = active = True

    def __init__(self, layout, queue):
        self._layout, self._queue = layout, queue

    def __getattr__(self, name):
        return getattr(self._layout, name)

    def first_row(self, k):
        """The place of the first row's location."""
        return k.address(INDEXES)

    def rows_end(self, k):
        """See :class:`~sw.compile.formats.storage_format.Layout`."""
        if self._queue is None:
            return self._layout.rows_end(k)
        end = k.a.reg("rows_end")
        k.a.sub(end, self._queue.end, self._queue.start)
        return end

    def get_neighbor(self, k, row, begin, end):
        """See :class:`~sw.compile.formats.storage_format.Layout`."""
        place = k.a.reg("place")
        k.a.lw(begin, row)
        k.a.add(place, row, k.distance(INDEXES, COUNTS))
        k.a.lw(end, place)
        k.a.add(end, end, begin)

    def get_base(self, k, row, into):
        """Load the word beside the row's edges."""
        place = k.a.reg("place")
        k.a.add(place, row, k.distance(INDEXES, GIVEN))
        k.a.lw(into, place)


class Expansion:
    """The kernel.

    Parameters
    ----------
    k : Kernel
    prepared : bool
        Whether the rows have been prepared.
    """

    def __init__(self, k, prepared):
        self._k, self._layout, self._prepared = k, k.layout, prepared
        self._algorithm = k.algorithm
        self._lanes = k.config.threads
        self._own = _own_edges(k.layout)
        # Bits by which distances in the list are shifted to the left of distances of locations.
        self._shift = 2 - log2(k.layout.step)

    def emit(self):
        """Emit the kernel."""
        k, a = self._k, self._k.a
        empty, done = a.label("rows_next"), a.label("rows_end")
        self._tail, self._lane = a.regs("tail", "lane")
        rows = Rows(k)
        if self._prepared:
            k.layout = Prepared(self._layout, k.input if rows.queued else None)
            rows = Rows(k)
        rows.start(done)
        if leads_late(k.task) and not self._prepared:
            k.frontier.lead(k)
        end_word(k, self._tail)
        a.csrr(self._lane, Csr.THREAD_ID)
        a.slli(self._lane, self._lane, 2)
        self._scan = Scan(k)
        k.phase(3)
        top = a.place("rows")
        begin, count, word, base = a.regs("begin", "count", "word", "base")
        rows.size(count)
        k.shifted(count, count, self._shift)
        a.mv(begin, rows.begin)
        if self._prepared:
            a.mv(word, rows.vertex.reg)
        else:
            _word(k, rows, word)
        if self._layout.based and self._algorithm.sends:
            a.mv(base, rows.vertex.reg)
        else:
            base = word
        rows.advance()
        self._copy(begin, count, word, base, empty)
        a.place(empty)
        a.branch(rows.more(), top)
        a.place(done)
        k.layout = self._layout

    def _copy(self, begin, count, word, base, empty):
        """Copy the edges of the lanes' rows; to ``empty`` if there are none."""
        a = self._k.a
        sums, last, where = a.regs("sums", "last", "where")
        self._scan.sums(sums, count)
        self._scan.last(last, sums)
        a.beqz(last, empty)
        room = a.reg("room")
        self._reserve(room, last)
        a.add(sums, sums, room)
        if not self._own:
            # From here on an edge is known by its place in the list.
            a.add(last, last, room)
            a.add(where, room, self._lane)
            self._copy_together(begin, count, word, base, sums, where, last)
            return
        a.sub(sums, sums, count)
        self._copy_own(begin, count, word, sums)
        self._skip_own(begin, count, sums, empty)
        a.mv(where, self._lane)
        left = a.reg("left")
        self._scan.sums(left, count)
        self._scan.last(last, left)
        self._copy_together(begin, count, word, base, left, where, last, place=sums)

    def _reserve(self, room, size):
        """Reserve ``size`` bytes at the end of the list; ``room`` = their address."""
        a = self._k.a
        self._k.claim(room, size, self._tail)
        a.add(room, room, self._k.constant(self._k.address(EDGES)))

    def _edge(self, base, index=0):
        return self._k.edge(Vertex(base, self._algorithm.base_array(self._k.task)), index)

    def _arriving(self, edge, word):
        """The register with the word beside an edge, given the word of its row."""
        if edge.weight is None:
            return word
        self._algorithm.along(self._k, word, edge.weight, self._algorithm.sums_fit)
        return edge.weight

    def _copy_own(self, begin, count, word, place):
        """Each lane copies the first edges of its row."""
        k, a = self._k, self._k.a
        after = a.label("own_end")
        beside, left, location = a.regs("beside", "left", "location")
        edges = [self._edge(word, number) for number in range(self._own)]
        a.mv(location, begin)
        self._layout.to_place(k, location)
        self._layout.get_edge(k, location, edges)
        words = [self._arriving(edge, word) for edge in edges]
        a.add(beside, place, k.distance(EDGES, VALUES))
        for number, (edge, arriving) in enumerate(zip(edges, words)):
            a.slti(left, count, 4 * number + 1)
            a.xori(left, left, 1)
            k.narrow(left, after)
            a.sw(edge.neighbor.reg, place, 4 * number)
            a.sw(arriving, beside, 4 * number)
        k.widen()
        a.place(after)

    def _skip_own(self, begin, count, place, empty):
        """Skip to the rest of longer rows; go to ``empty`` if there are none."""
        a, size = self._k.a, 4 * self._own
        longer, some = a.regs("longer", "some")
        a.slti(longer, count, size + 1)
        a.xori(longer, longer, 1)
        a.vote_any(some, longer)
        a.beqz(some, empty)
        a.neg(longer, longer)
        a.addi(count, count, -size)
        a.and_(count, count, longer)
        a.addi(begin, begin, size)
        a.addi(place, place, size)

    def _copy_together(self, begin, count, word, base, sums, where, end, place=None):
        """All lanes copy side by side. An edge ``where`` is in the first row whose sum is larger.

        ``where`` is the lane's first edge, and ``end`` is behind the last edge. An edge's ``where``
        is also its place in the list, unless ``place`` gives the place of each row's first edge.
        ``begin``, ``count`` and ``place`` are changed.
        """
        k, a = self._k, self._k.a
        top, find, found, done = (a.label(name) for name in
                                  ("together", "find", "found", "together_end"))
        # The distances of a row's edges from ``where``, in the graph and in the list.
        a.sub(count, sums, count)
        if place is not None:
            a.sub(place, place, count)
        bound = count
        row, inside, within = a.regs("row", "inside", "within")
        if self._shift:
            first = a.reg("first")
            k.shifted(first, count, -self._shift)
            a.sub(begin, begin, first)
        else:
            a.sub(begin, begin, count)
        taken = {}                              # the row's values, by the registers of all rows
        for register in (begin, word, base, place):
            if register is not None and register not in taken:
                taken[register] = a.reg(f"row_{register.name}")

        def take_row():
            for register, into in taken.items():
                a.shfl_idx(into, register, row)

        a.li(row, ANY_LANE)
        a.shfl_idx(bound, sums, row)
        take_row()
        a.sltu(inside, where, end)
        k.narrow(inside, done)
        a.place(top)
        everywhere = a.reg("all")
        a.sltu(within, where, bound)
        a.vote_all(everywhere, within)
        a.bnez(everywhere, found)
        a.place(find)
        a.xori(within, within, 1)
        a.add(row, row, within)
        a.shfl_idx(bound, sums, row)
        a.sltu(within, where, bound)
        a.vote_all(everywhere, within)
        a.beqz(everywhere, find)
        take_row()
        a.place(found)
        self._copy_edge(where, taken[begin], taken.get(place), taken[word], taken[base])
        a.addi(where, where, 4 * self._lanes)
        a.sltu(inside, where, end)
        a.pred(inside, k.full)
        a.bnez(inside, top)
        a.place(done)

    def _copy_edge(self, where, source, target, word, base):
        k, a = self._k, self._k.a
        location, beside = a.regs("location", "beside")
        k.shifted(location, where, -self._shift)
        a.add(location, location, source)
        edge = self._edge(base)
        self._layout.to_place(k, location)
        self._layout.get_edge(k, location, [edge])
        to = where
        if target is not None:
            to = a.reg("to")
            a.add(to, target, where)
        word = self._arriving(edge, word)
        a.sw(edge.neighbor.reg, to)
        a.add(beside, to, k.distance(EDGES, VALUES))
        a.sw(word, beside)
