"""Expansion of a frontier by the cores: all edges of its vertices, without gaps.

A warp takes as many rows as it has lanes. A prefix sum over their lengths gives the place of each
row's edges, and one atomic addition reserves the room for all of them (Merrill, Garland, Grimshaw,
ACM TOPC 2015, 5). All lanes copy the edges side by side, as the lanes of warp mapping share edges
(:class:`~sw.compile.kernels.distribution.Share`). If nearly all rows of the graph are short, lanes
copy rows of their own as long as all rows of the warp are short: the loads of a row are under way
together.

Warps reserve room in the list by adding to the number of its bytes, of which a layout has two:
superstep s uses number s mod 2. The kernel that reads the list resets the other number.
"""

import numpy as np

from sw.compile.compaction import lists, prepared
from sw.compile.compaction.contraction import take
from sw.compile.compaction.lists import EDGES, VALUES, ends, own
from sw.compile.formats.compressed import AddressedEdges
from sw.compile.kernels.distribution import Scan, Share
from sw.compile.kernels.kernel import Vertex, log2
from sw.compile.kernels.passes import Pass
from sw.compile.kernels.rows import Rows


__all__ = ["ByCores"]


#: Most edges of a row that the row's own lane copies.
_OWN = 6

#: Part of the vertices with edges whose rows a lane should copy alone. If such rows may be longer
#: than :data:`_OWN`, all lanes copy all rows together.
_MOST = 0.99


class ByCores:
    """The cores make a task's list.

    Parameters
    ----------
    task : sw.compile.task.Task
    separate : bool
        Whether rows are prepared, and additions to the frontier leave bits, so that compaction is
        in kernels of its own.

    Attributes
    ----------
    shift : int
        Bits by which stored neighbours are shifted to the right.
    overread : int
        Edges behind the last one of a layout that may be read.
    in_turn : bool
        Whether the host launches the contraction in its turn
        (:class:`~sw.compile.kernels.passes.Pass`).
    ends : dict of str to callable
        The kernels that contract the list: for each name, what gives the beginning and the end of
        its part in the prologue, as :class:`~sw.compile.compaction.lists.Blocks` takes them.
    """
    shift, overread, in_turn = 0, _OWN, True

    def __init__(self, task, separate):
        self.task, self._separate = task, separate
        self.ends = {"contract": lambda k: (None, _end(k, resets=True))}

    def check(self):
        """Raise UserError if no list can be made for the task."""
        task = self.task
        if self._separate and task.algorithm.sent.value and any(
                layout.based for layout in task.format.layouts(task)):
            raise task.schedule.refuse(
                "with fused=no copies edges without their sources, by which format "
                f"{task.format.name!r} finds neighbours")

    def reserve(self):
        """Reserve buffers."""
        lists.reserve(self.task)
        if self._separate:
            prepared.reserve(self.task)
            lists.reserve_bits(self.task)

    def passed(self, k):
        """As of :meth:`~sw.compile.schedules.schedule.Schedule.passed`."""
        word = k.a.reg("word")
        for layout in self.task.layouts:
            _end_word(k, word, layout)
            _reset(k, word)

    def expand(self) -> list:
        """The passes that make the list."""
        late = prepared.leads_late(self.task)
        expand = Pass("expand", lambda k: _Expansion(k, self._separate).emit(), gathers=False,
                      leads=not (self._separate or late))
        return [prepared.prepare(self.task), expand] if self._separate else [expand]

    def take(self, schedule) -> Pass:
        """The pass that adds to the frontier what the contraction has noted."""
        return schedule.reader("compact", take, lambda k: (None, _end(k)))


def _end_word(k, into, layout=None):
    """In the prologue: ``into`` = address of the number of bytes of this superstep's list, for the
    kernel's layout or another."""
    a, first = k.a, k.a.reg("first")
    if k.task.frontier is not None:
        k.task.frontier.parity(k, into, 2)
    else:
        k.argument(into)
        a.andi(into, into, 1)
        a.slli(into, into, 2)
    a.li(first, k.address(ends(layout or k.layout)))
    a.add(into, into, first)


def _reset(k, word):
    """Reset the number of the next superstep, given the address of this one's."""
    k.a.xori(word, word, 4)
    k.a.sw(k.a.zero, word)


def _end(k, resets=False):
    """In the prologue: a new register with the number of bytes of the list, which may be reset."""
    end, word = k.a.regs("edges_end", "word")
    _end_word(k, word)
    k.a.lw(end, word)
    if resets:
        _reset(k, word)
    return end


def _own_edges(layout):
    """Most edges of a row that the row's own lane copies."""
    degrees = layout.task.graph.out_degrees
    degrees = degrees[degrees > 0]
    most = int(np.quantile(degrees, _MOST)) if len(degrees) else 0
    return most if most <= _OWN and isinstance(layout, AddressedEdges) else 0


class _Expansion:
    """The kernel."""

    def __init__(self, k, separate):
        self._k, self._layout, self._separate = k, k.layout, separate
        self._sent = k.algorithm.sent
        self._own = _own_edges(k.layout)
        # Bits by which distances in the list are shifted to the left of distances of locations.
        self._shift = 2 - log2(k.layout.step)

    def emit(self):
        k, a = self._k, self._k.a
        empty, done = a.label("rows_next"), a.label("rows_end")
        self._tail = a.reg("tail")
        if self._separate:
            k.layout = prepared.Prepared(k)
        rows = Rows(k)
        rows.start(done)
        if prepared.leads_late(k.task) and not self._separate:
            k.frontier.lead(k)
        _end_word(k, self._tail)
        self._scan, self._share = Scan(k), Share(k, "binary", 1, self)
        k.phase(3)
        top = a.place("rows")
        begin, count, word = a.regs("begin", "count", "word")
        rows.size(count)
        a.mv(begin, rows.begin)
        if self._separate or self._layout.based:
            a.mv(word, rows.vertex.reg)
        else:
            prepared.load_word(k, rows.vertex, word)
        rows.advance()
        self._copy(begin, count, word, empty)
        a.place(empty)
        a.branch(rows.more(), top)
        a.place(done)
        k.layout = self._layout

    def _copy(self, begin, count, word, empty):
        """Copy the edges of the lanes' rows; to ``empty`` behind that, or if there are none."""
        k, a = self._k, self._k.a
        lasts, starts, high, size = a.regs("lasts", "starts", "high", "size")
        low = self._list = a.reg("low")
        self._scan.sums(lasts, count)
        self._scan.last(high, lasts)
        a.beqz(high, empty)
        k.shifted(size, high, self._shift)
        k.claim(low, size, self._tail)
        a.add(low, low, k.constant(k.address(own(k.task, EDGES))))
        if not self._shift:
            # From here on an edge is known by its place in the list.
            a.add(lasts, lasts, low)
            a.add(high, high, low)
        a.sub(starts, lasts, count)
        if self._own:
            self._copy_own(begin, count, word, starts, empty)
        a.sub(starts, begin, starts)
        a.addi(lasts, lasts, -1)
        self._share.slice(lasts, starts, self._vertex(word), a.zero if self._shift else low, high)

    def _copy_own(self, begin, count, word, place, empty):
        """Each lane copies its own row, unless a row is longer."""
        k, a = self._k, self._k.a
        done, together = a.label("own_end"), a.label("together")
        left, beside = a.regs("left", "beside")
        a.slti(left, count, 4 * self._own + 1)
        a.vote_all(left, left)
        a.beqz(left, together)
        edges = [k.edge(self._vertex(word), number) for number in range(self._own)]
        self._layout.get_edge(k, begin, edges)
        words = [self._beside(edge, word) for edge in edges]
        a.add(beside, place, self._to_values)
        for number, (edge, sent) in enumerate(zip(edges, words)):
            a.slti(left, count, 4 * number + 1)
            a.xori(left, left, 1)
            k.narrow(left, done)
            a.sw(edge.neighbor.reg, place, 4 * number)
            a.sw(sent, beside, 4 * number)
        k.widen()
        a.place(done)
        a.j(empty)
        a.place(together)

    @property
    def _to_values(self):
        """A register with the distance from the list of edges to the words beside them."""
        return self._k.distance(own(self._k.task, EDGES), own(self._k.task, VALUES))

    def _vertex(self, word):
        return Vertex(word, self._k.algorithm.base_array(self._k.task))

    def _beside(self, edge, word):
        """The register with the word beside an edge, given the word of its row."""
        if edge.weight is None:
            return word
        self._k.add_word(edge.weight, word, self._sent.fits)
        return edge.weight

    def turn(self, location, base, count, found):
        """The work on edges whose lanes share rows: copy them."""
        k, a = self._k, self._k.a
        edges = [k.edge(base, index) for index in range(count)]
        self._layout.get_edge(k, location, edges)
        word, place = base.reg, self._share.where
        if self._layout.based and self._sent.value:
            word = a.reg("word")
            prepared.load_word(k, base, word)
        if self._shift:
            place = a.reg("place")
            k.shifted(place, self._share.where, self._shift)
            a.add(place, place, self._list)
        words = [self._beside(edge, word) for edge in edges]
        beside = a.reg("beside")
        a.add(beside, place, self._to_values)
        for index, (edge, sent) in enumerate(zip(edges, words)):
            offset = 4 * k.config.threads * (index - count)         # places have passed the windows
            a.sw(edge.neighbor.reg, place, offset)
            a.sw(sent, beside, offset)
