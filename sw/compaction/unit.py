"""Compaction by the Stream Compaction Unit (Segura et al., 3.3 to 3.5 and 4.4 to 4.6).

The cores look up the vertices of the frontier, contract the edge frontier and leave bits. The unit
makes the lists. The mark of a list is its length, which the unit writes.

*Enhanced*, the unit filters the edge frontier while making it. A first pass over the edges leaves a
bit for each edge, which says whether to keep it. The pass filters by best cost; the cost is the
value beside the edge, so the values of all edges are made first. For shortest paths a second pass
leaves an order, in which ends in one cache line stand together. Elements are then the numbers of
words, by which the unit groups.

A filter's table is never emptied between supersteps; the algorithms say why. Its default size is
the paper's part of the L2 (table 2), rounded down to a power of two, but no more entries than there
are vertices. Without an L2 the part is of :data:`_NO_L2` bytes. The table for grouping is at most
as large. It is also no larger than a call's elements may need, because emptying the table and
searching it for the rest take a cycle a line.
"""

import numpy as np

from hw.scu.registers import ScuOutput, entry_bytes
from sw.compaction.base import COUNTS, EDGES, GIVEN, INDEXES, VALUES, Control
from sw.compaction.engine import Engine
from sw.errors import UserError
from sw.runtime.scu import Best, Filter, Group, Scu


__all__ = ["Unit"]


#: Bytes of a table that is not cached.
_NO_L2 = 1 << 15

#: The values of all edges, before the edges are filtered.
_ALL_VALUES = "all_values"


def _power_below(value):
    """The largest power of two that is not larger; at least 1."""
    return 1 << max(int(value), 1).bit_length() - 1


def _power_above(value):
    """The smallest power of two that is not smaller."""
    return 1 << (max(int(value), 1) - 1).bit_length()


class Unit(Engine):
    """The engine of schedules ``scu`` and ``scu-enhanced``.

    Parameters
    ----------
    task, options
        See :class:`~sw.compaction.engine.Engine`.
    enhanced : bool
        Whether the unit filters, for algorithms that can use it.
    """
    counts_edges = in_place = True

    def __init__(self, task, options, enhanced=False):
        super().__init__(task, options)
        self.filters = enhanced and self.algorithm.table_share is not None
        self.groups = (self.filters and self.algorithm.groups
                       and options["grouping"] != "no")
        self.shift = 2 if self.filters else 0
        line = task.config.line_bytes
        self._ways = {output: self._ways_of(entry_bytes(output, line), line)
                      for output in (ScuOutput.FILTER_BEST, ScuOutput.GROUP)}

    def _ways_of(self, entry, line):
        most = line // entry
        ways = self.options.get("ways")
        if ways is not None and ways > most and entry == entry_bytes(ScuOutput.FILTER_BEST, line):
            raise UserError(f"schedule {self.task.schedule.name!r}: ways is {ways}; a line of "
                            f"{line} bytes has room for {most} of the filter's entries of {entry} "
                            "bytes")
        return min(most, ways or most)

    # Memory

    def _sets(self):
        """Sets of the filter's table."""
        if self.options.get("sets"):
            return self.options["sets"]
        l2 = self.task.config.l2_bytes
        room = l2 * self.algorithm.table_share if l2 else _NO_L2
        ways = self._ways[ScuOutput.FILTER_BEST]
        entry = entry_bytes(ScuOutput.FILTER_BEST, self.task.config.line_bytes)
        return min(_power_below(room / (entry * ways)),
                   _power_above(self.task.graph.num_vertices / ways))

    def reserve(self):
        self.reserve_prepared()
        if not self.filters:
            return
        buffers, edges = self.task.buffers, self.task.graph.num_edges
        line = self.task.config.line_bytes
        size = self._sets() * self._ways[ScuOutput.FILTER_BEST] * entry_bytes(
            ScuOutput.FILTER_BEST, line)
        buffers.reserve("filter", edges // 32 + 1)
        buffers.reserve("filter_table", max(size, line) // 4)
        if self.algorithm.weighted:
            buffers.reserve(_ALL_VALUES, edges + 1)
        if self.groups:
            buffers.reserve("order", edges + 1)
            self._group_bytes = max(size, line)
            buffers.reserve("group_table", self._group_bytes // 4)

    def fill(self):
        self._fresh = True

    def offsets(self, numbers):
        return numbers.astype(np.uint32)

    def mark(self, start, count):
        return count

    # Kernels

    def end(self, k, name, word, offset, into):
        start = k.a.reg("start")
        k.a.lw(into, word, offset)
        k.a.slli(into, into, 2)
        k.a.li(start, k.address(name))
        k.a.add(into, into, start)

    def kernels(self):
        return {"prepare": self.prepare, "contract": self.contraction}

    # Host

    def expand(self, session, superstep, count, flags=0):
        self.launch(session, "prepare", superstep, flags)
        self._begin(session, count)
        make = self._expand_filtered if self.filters else self._expand_all
        self._edges = make(self.mark_of(superstep, Control.EDGES))
        return self._edges

    def _begin(self, session, count):
        self._scu, self._count = Scu(session.compact), count

    def _ends(self, destination, name, **options):
        """Make a list of the end of each edge."""
        return self._scu.access_expansion_compaction(
            self.address("neighbors"), self.address(INDEXES), self.address(COUNTS), self._count,
            self.address(destination), name=name, **options)

    def _given(self, destination, **options):
        """Make a list of the value that each edge's vertex sends. Returns its length."""
        if self.algorithm.weighted:
            made = self._scu.access_expansion_compaction(
                self.address("weights"), self.address(INDEXES), self.address(COUNTS), self._count,
                self.address(destination), name="expand weights")
            options |= {"operand": self.address(destination), "operands": made.result}
        return self._scu.replication_compaction(
            self.address(self.algorithm.replicates or GIVEN), self.address(COUNTS), self._count,
            self.address(destination), name="replicate values", **options).result

    def _expand_all(self, mark):
        made = self._ends(EDGES, "expand edges", count=(mark, 0))
        self._given(VALUES)
        return made.result

    def _expand_filtered(self, mark):
        weighted = self.algorithm.weighted
        # Kernels may read behind the ends of EDGES and VALUES. With weights, an end and a value
        # there must be of one element, so VALUES gets filtered values only.
        values = _ALL_VALUES if weighted else VALUES
        edges = self._given(values)
        table = Best(self.address("filter_table"), self._sets(),
                     self._ways[ScuOutput.FILTER_BEST], clear=self._fresh)
        self._fresh = False
        kept = self._ends("filter", "filter edges", output=table, operand=self.address(values),
                          operands=edges).selected
        if not kept:
            return 0
        left = {"filter": Filter(self.address("filter"), edges)}
        order = self._order(kept, lambda **options: self._ends("order", "group edges", **left,
                                                               **options))
        self._ends(EDGES, "expand edges", count=(mark, 0), **left, **order)
        if weighted:
            self._scu.data_compaction(self.address(values), edges, self.address(VALUES),
                                      bitmask=self.address("filter"), name="compact values",
                                      **order)
        else:
            self._given(VALUES, **left)
        return kept

    def _order(self, count, make):
        """The options that bring ``count`` elements into the order that ``make`` makes, in which
        elements of a line stand together. Empty if the lanes work on all elements at once anyway.
        """
        if not self.groups or count <= self.task.config.threads:
            return {}
        ways = self._ways[ScuOutput.GROUP]
        line = self.task.config.line_bytes
        entry = entry_bytes(ScuOutput.GROUP, line)
        sets = min(_power_below(self._group_bytes / (entry * ways)), _power_above(count / ways))
        make(output=Group(self.address("group_table"), sets, ways))
        return {"order": self.address("order"), "operands": count}

    def select(self, session, kernel, superstep, flags, columns, length, targets):
        kept = [0] * len(targets)
        if not length:
            return kept
        self.launch(session, kernel, superstep, flags)
        self._begin(session, 0)
        for number, (output, target) in enumerate(zip(self.algorithm.kept, targets)):
            mark = self.address("control") + target.mark, target.taken
            for source, name in zip(columns, output.lists):
                kept[number] = self._scu.data_compaction(
                    self.address(source), length, self.address(name, target.taken),
                    bitmask=self.address(output.bits), name=f"{kernel}: compact {name}",
                    count=mark if name is output.lists[0] else None).result
        return kept

    @property
    def edges(self):
        return self._edges
