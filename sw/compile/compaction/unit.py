"""What the Stream Compaction Unit does for a task (Segura et al., 3.3 to 3.5 and 4.4 to 4.6).

The cores look up the rows of the frontier, contract the edge frontier and leave bits. The unit
makes the lists. The word that tells where a list ends is its length, which the unit writes.

*Enhanced*, the unit filters the edge frontier while making it. A first pass over the edges leaves a
bit for each edge, which says whether to keep it. The pass filters by best cost; the cost is the
word beside the edge, so the words of all edges are made first. For algorithms with weights a second
pass leaves an order, in which neighbours in one cache line stand together. Elements are then the
numbers of words, by which the unit groups. The paper filters breadth-first search by element alone;
such a filter would lose the smallest parent.

*Streaming*, the unit makes both lists of the edge frontier with one operation, which is not the
paper's. If the algorithm allows it, the operation filters as above. Nothing is written but the
lists of the edges that are left. The unit makes a long list in pieces, one operation each. While
the unit makes a piece, the cores contract the piece before it. The pieces follow one another in the
lists, and each begins with a block of the contraction. Three words tell where they end: the pieces
use them in turn.

A filter's table is never emptied between supersteps
(:attr:`~sw.compile.algorithm.Algorithm.least_wins` allows this). Its default size is the paper's
part of the L2 (table 2), rounded down to a power of two, but no more entries than there are
vertices. Without an L2 the part is of :data:`_NO_L2` bytes. Streaming, the table is no larger than
the lines that the unit's banks hold, if there are few edges a vertex, or several cores and no near
and far vertices: then it costs less to look at edges that a larger table would drop than to fetch
its lines. The table for grouping is at most as large. It is also no larger than a call's elements
may need, because emptying the table and searching it for the rest take a cycle a line.
"""

from base.errors import UserError
from hw.scu.registers import ScuOutput, entry_bytes
from sw.compile.compaction.contraction import ADDRESSES
from sw.compile.compaction.expansion import COUNTS, GIVEN, INDEXES
from sw.compile.compaction.lists import EDGES
from sw.compile.formats.compressed import CompressedRows


__all__ = ["ALL_VALUES", "MOST_PIECES", "ScuCompaction", "power_above", "power_below"]


#: Most pieces of an edge frontier.
MOST_PIECES = 8

#: Edges that a piece should have, if the user does not say.
_PIECE = 2048

#: Most pieces then, with a filter: it costs time at both ends of an operation, as its lines come
#: and go.
_MOST_FILTERED = 4


#: Bytes of a table that is not cached.
_NO_L2 = 1 << 15

#: Fewer edges a vertex than this are few.
_FEW = 8

#: The words of all edges, before the edges are filtered.
ALL_VALUES = "all_values"


def _whole_rows(layout):
    """Whether each vertex has one row, between two words of a list of offsets."""
    return type(layout) is CompressedRows and not layout.virtual


def power_below(value):
    """The largest power of two that is not larger; at least 1."""
    return 1 << max(int(value), 1).bit_length() - 1


def power_above(value):
    """The smallest power of two that is not smaller."""
    return 1 << (max(int(value), 1) - 1).bit_length()


class ScuCompaction:
    """The unit's part of a task: what it makes, and with which tables. It does not change.

    Parameters
    ----------
    task : sw.compile.task.Task
    options : dict
        The schedule's options.
    enhanced : bool
        Whether the unit filters, for algorithms that allow it.
    streams : bool
        Whether the unit makes both lists with one operation.

    Attributes
    ----------
    weighted : bool
        Whether edges have weights.
    filters, groups : bool
        Whether the unit filters edges, and groups those that are left.
    ways : dict of ScuOutput to int
        Entries of a set of the tables for filtering and grouping.
    """

    def __init__(self, task, options, enhanced=False, streams=False):
        self.task, self._options = task, options
        self.weighted = task.algorithm.weighted
        # The address of a reordered source does not tell which source has the smaller number.
        self.filters = enhanced and task.algorithm.least_wins and (
            task.algorithm.sends or task.new_ids is None)
        self.streams = streams
        self.groups = (self.filters and self.weighted
                        and options.get("grouping", "no") != "no")
        line = task.config.line_bytes
        self.ways = {output: self._ways_of(entry_bytes(output, line), line)
                      for output in (ScuOutput.FILTER_BEST, ScuOutput.GROUP)}

    def _ways_of(self, entry, line):
        most = line // entry
        ways = self._options.get("ways")
        if ways is not None and ways > most and entry == entry_bytes(ScuOutput.FILTER_BEST, line):
            raise UserError(f"schedule {self.task.schedule.name!r}: ways is {ways}; a line of "
                            f"{line} bytes has room for {most} of the filter's entries of {entry} "
                            "bytes")
        return min(most, ways or most)

    # Memory

    @property
    def sets(self) -> int:
        """Sets of the filter's table."""
        if self._options.get("sets"):
            return self._options["sets"]
        config, graph = self.task.config, self.task.graph
        room = config.l2_bytes * (0.75 if self.weighted else 0.5) if config.l2_bytes else _NO_L2
        few = graph.num_edges < _FEW * graph.num_vertices
        divided = self.task.algorithm.first_threshold(self.task) is not None
        if self.streams and (few or (config.cores > 1 and not divided)):
            room = min(room, power_below(config.scu_hash_bytes / 2))
        ways = self.ways[ScuOutput.FILTER_BEST]
        entry = entry_bytes(ScuOutput.FILTER_BEST, config.line_bytes)
        return min(power_below(room / (entry * ways)), power_above(graph.num_vertices / ways))

    @property
    def table_bytes(self) -> int:
        """Bytes of the filter's table, and most of the one for grouping."""
        line = self.task.config.line_bytes
        entry = entry_bytes(ScuOutput.FILTER_BEST, line)
        return max(self.sets * self.ways[ScuOutput.FILTER_BEST] * entry, line)

    def reserve(self):
        """Reserve the unit's buffers."""
        if not self.filters:
            return
        buffers, edges = self.task.buffers, max(each.edges for each in self.task.layouts)
        buffers.reserve("filter_table", self.table_bytes // 4)
        if self.task.frontier is not None and self.task.frontier.BITS:
            buffers.reserve(ADDRESSES, buffers.words(EDGES))
        if self.streams:
            return
        buffers.reserve("filter", edges // 32 + 1)
        if self.weighted:
            buffers.reserve(ALL_VALUES, edges + 1)
        if self.groups:
            buffers.reserve("order", edges + 1)
            buffers.reserve("group_table", self.table_bytes // 4)

    # The work

    @property
    def gives(self) -> bool:
        """Whether the cores prepare the word of each row; else the queue's entries are the words.
        """
        return not self.task.queued or self.task.algorithm.sends

    @property
    def prepared(self) -> tuple:
        """The arrays of the rows that the cores prepare."""
        given = (GIVEN,) * (self.gives and not self.prepares_once)
        return INDEXES, COUNTS, *given

    @property
    def looks_up(self) -> bool:
        """Whether the unit looks up the rows: if the frontier is a list, and a vertex's row is two
        words at a distance from the vertex's own word."""
        task, asked = self.task, self._options.get("rows")
        able = (task.queued and task.input is task.frontier and not task.frontier.noted
                and not task.switches and len(task.layouts) == 1 and _whole_rows(task.layouts[0]))
        if asked == "unit" and not able:
            raise UserError(
                f"schedule {task.schedule.name!r}: rows is 'unit', which needs a deduplicated "
                "queue as frontier, one plan, and a format that stores all edges as csr does")
        return self.streams and able and asked != "cores"

    @property
    def prepares_once(self) -> bool:
        """Whether the rows, and the places of their words, are the same in all supersteps."""
        task = self.task
        return (self.streams and task.frontier is None and task.algorithm.sends
                and all(map(_whole_rows, task.layouts)))

    def pieces(self, rows) -> int:
        """The number of pieces of the edge frontier."""
        if self._options.get("pieces"):
            pieces = self._options["pieces"]
        else:
            graph = self.task.graph
            edges = rows * graph.num_edges // max(1, graph.num_vertices)
            pieces = min(edges // _PIECE, _MOST_FILTERED if self.filters else MOST_PIECES)
        return max(1, min(pieces, rows))
