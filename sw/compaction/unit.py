"""The steps of the Stream Compaction Unit (Segura et al., 3.3 to 3.5 and 4.4 to 4.6).

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
(:attr:`~sw.kernels.algorithm.Algorithm.least_wins` allows this). Its default size is the paper's
part of the L2 (table 2), rounded down to a power of two, but no more entries than there are
vertices. Without an L2 the part is of :data:`_NO_L2` bytes. Streaming, the table is no larger than
the lines that the unit's banks hold, if there are few edges a vertex, or several cores and no near
and far vertices: then it costs less to look at edges that a larger table would drop than to fetch
its lines. The table for grouping is at most as large. It is also no larger than a call's elements
may need, because emptying the table and searching it for the rest take a cycle a line.
"""

import functools

from hw.scu.registers import ScuOutput, entry_bytes
from sw.compaction.contraction import ADDRESSES
from sw.compaction.expansion import COUNTS, GIVEN, INDEXES
from sw.compaction.lists import EDGES, VALUES, ends
from sw.errors import UserError
from sw.formats.compressed import CompressedRows
from sw.runtime.scu import Best, Filter, Group, Keys, PreparedRows, ScuOperations


__all__ = ["MOST_PIECES", "ScuCompaction"]


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
_ALL_VALUES = "all_values"


def _whole_rows(layout):
    """Whether each vertex has one row, between two words of a list of offsets."""
    return type(layout) is CompressedRows and not layout.virtual


def _power_below(value):
    """The largest power of two that is not larger; at least 1."""
    return 1 << max(int(value), 1).bit_length() - 1


def _power_above(value):
    """The smallest power of two that is not smaller."""
    return 1 << (max(int(value), 1) - 1).bit_length()


class ScuCompaction:
    """The unit's part of a task.

    Parameters
    ----------
    task : sw.runtime.task.Task
    options : dict
        The schedule's options.
    enhanced : bool
        Whether the unit filters, for algorithms that allow it.
    streams : bool
        Whether the unit makes both lists with one operation.
    """

    def __init__(self, task, options, enhanced=False, streams=False):
        self._task, self._options = task, options
        self._weighted = task.algorithm.weighted
        # The address of a reordered source does not tell which source has the smaller number.
        self.filters = enhanced and task.algorithm.least_wins and (
            task.algorithm.sends or task.new_ids is None)
        self._streams = streams
        self.groups = (self.filters and self._weighted
                        and options.get("grouping", "no") != "no")
        line = task.config.line_bytes
        self._ways = {output: self._ways_of(entry_bytes(output, line), line)
                      for output in (ScuOutput.FILTER_BEST, ScuOutput.GROUP)}

    def _ways_of(self, entry, line):
        most = line // entry
        ways = self._options.get("ways")
        if ways is not None and ways > most and entry == entry_bytes(ScuOutput.FILTER_BEST, line):
            raise UserError(f"schedule {self._task.schedule.name!r}: ways is {ways}; a line of "
                            f"{line} bytes has room for {most} of the filter's entries of {entry} "
                            "bytes")
        return min(most, ways or most)

    # Memory

    def _address(self, name):
        return self._task.buffers.address(name)

    def _sets(self):
        """Sets of the filter's table."""
        if self._options.get("sets"):
            return self._options["sets"]
        config, graph = self._task.config, self._task.graph
        room = config.l2_bytes * (0.75 if self._weighted else 0.5) if config.l2_bytes else _NO_L2
        few = graph.num_edges < _FEW * graph.num_vertices
        divided = self._task.algorithm.first_threshold(self._task) is not None
        if self._streams and (few or (config.cores > 1 and not divided)):
            room = min(room, _power_below(config.scu_hash_bytes / 2))
        ways = self._ways[ScuOutput.FILTER_BEST]
        entry = entry_bytes(ScuOutput.FILTER_BEST, config.line_bytes)
        return min(_power_below(room / (entry * ways)), _power_above(graph.num_vertices / ways))

    def reserve(self):
        """Reserve the unit's buffers."""
        if not self.filters:
            return
        buffers, edges = self._task.buffers, max(each.edges for each in self._task.layouts)
        line = self._task.config.line_bytes
        size = self._sets() * self._ways[ScuOutput.FILTER_BEST] * entry_bytes(
            ScuOutput.FILTER_BEST, line)
        self._group_bytes = max(size, line)
        buffers.reserve("filter_table", self._group_bytes // 4)
        if self._task.frontier.BITS:
            buffers.reserve(ADDRESSES, buffers.words(EDGES))
        if self._streams:
            return
        buffers.reserve("filter", edges // 32 + 1)
        if self._weighted:
            buffers.reserve(_ALL_VALUES, edges + 1)
        if self.groups:
            buffers.reserve("order", edges + 1)
            buffers.reserve("group_table", self._group_bytes // 4)

    def fresh(self):
        """A run begins: the filter's table is empty."""
        self._fresh = True

    # The host

    def expand(self, session, argument, layout):
        """Make the edge frontier from the prepared rows."""
        self._scu, self._layout = ScuOperations(session.compact), layout
        frontier = self._task.frontier
        self._rows = self._count(session, argument)
        self._given = self._words_beside(session, argument)
        number = argument if frontier is None else frontier.number_of(session, argument)
        mark = self._address(ends(layout)) + 4 * (number % 2)
        self._length = (self._expand_filtered if self.filters else self._expand_all)(mark)

    def stream(self, session, argument, layout, contract, block):
        """Make the edge frontier in pieces, and contract each while the next is made.

        Parameters
        ----------
        contract : sequence of str
            The kernels that contract the first piece, and in turn the later ones.
        block : int
            Elements of a block of theirs.
        """
        first, *others = contract
        self._layout = layout
        count = self._count(session, argument)
        rows = (self._keys if self.looks_up else self._prepared)(session, argument)
        begin = place = 0
        pieces, kernel = self._pieces(count), None
        for number in range(pieces):
            end = count * (number + 1) // pieces
            perform = session.compact if kernel is None else functools.partial(
                session.launch_beside, kernel, argument)
            made = self._stream(ScuOperations(perform), rows.behind(begin), end - begin, place,
                                self._address(ends(layout)) + 4 * (number % 3))
            self._length = place + made
            begin, place = end, -(-self._length // block) * block
            # A later piece without elements needs no contraction.
            kernel = first if number == 0 else others[(number - 1) % 3] if made else None
        if kernel is not None:
            session.launch_kernel(kernel, argument)

    def _count(self, session, argument):
        """The number of rows."""
        task = self._task
        return task.input.entry_count(session, argument) if task.queued else self._layout.rows

    def _words_beside(self, session, argument):
        """The address of the word beside each prepared row."""
        if not self.gives:
            return self._task.input.first_entry(session, argument)
        return self._address(self._base_array if self.prepares_once else GIVEN)

    def _prepared(self, session, argument):
        """The rows that the cores have prepared."""
        return PreparedRows(self._address(INDEXES), self._address(COUNTS),
                            self._words_beside(session, argument))

    def _keys(self, session, argument):
        """The frontier's vertices, as keys by which the unit looks up rows."""
        first = self._task.input.first_entry(session, argument)
        rows = self._address(self._layout.row_array) - self._address(self._base_array)
        # A vertex is the address of its own word.
        looks = self._task.algorithm.sends
        return Keys(first, rows, 0 if looks else first, looks)

    @property
    def _base_array(self):
        return self._task.algorithm.base_array(self._task)

    def _pieces(self, rows):
        """The number of pieces of the edge frontier."""
        if self._options.get("pieces"):
            pieces = self._options["pieces"]
        else:
            graph = self._task.graph
            edges = rows * graph.num_edges // max(1, graph.num_vertices)
            pieces = min(edges // _PIECE, _MOST_FILTERED if self.filters else MOST_PIECES)
        return max(1, min(pieces, rows))

    @property
    def gives(self) -> bool:
        """Whether the cores prepare the word of each row; else the queue's entries are the words.
        """
        return not self._task.queued or self._task.algorithm.sends

    @property
    def looks_up(self) -> bool:
        """Whether the unit looks up the rows: if the frontier is a list, and a vertex's row is two
        words at a distance from the vertex's own word."""
        task, asked = self._task, self._options.get("rows")
        able = (task.queued and task.input is task.frontier and not task.frontier.noted
                and not task.switches and len(task.layouts) == 1 and _whole_rows(task.layouts[0]))
        if asked == "unit" and not able:
            raise UserError(
                f"schedule {task.schedule.name!r}: rows is 'unit', which needs a deduplicated "
                "queue as frontier, one plan, and a format that stores all edges as csr does")
        return self._streams and able and asked != "cores"

    @property
    def prepares_once(self) -> bool:
        """Whether the rows, and the places of their words, are the same in all supersteps."""
        task = self._task
        return (self._streams and task.frontier is None and task.algorithm.sends
                and all(map(_whole_rows, task.layouts)))

    def _source(self, name):
        """The address of a layout's array, from which the locations of edges, divided by 4, count.
        """
        layout = self._layout
        return (self._address(layout.array(name)) - self._address(layout.array("neighbors"))
                & 0xFFFF_FFFF)

    def _neighbors(self, destination, name, **options):
        """Make a list of the neighbour of each edge."""
        return self._scu.access_expansion_compaction(
            self._source("neighbors"), self._address(INDEXES), self._address(COUNTS), self._rows,
            self._address(destination), name=name, **options)

    def _words(self, destination, **options):
        """Make a list of the word that arrives over each edge. Returns its length."""
        if self._weighted:
            made = self._scu.access_expansion_compaction(
                self._source("weights"), self._address(INDEXES), self._address(COUNTS), self._rows,
                self._address(destination), name="expand weights")
            options |= {"operand": self._address(destination), "operands": made.result}
        return self._scu.replication_compaction(
            self._given, self._address(COUNTS), self._rows, self._address(destination),
            name="replicate values", **options).result

    def _expand_all(self, mark):
        made = self._neighbors(EDGES, "expand edges", count=(mark, 0))
        self._words(VALUES)
        return made.result

    def _table(self):
        """The filter's table, for the next operation that filters."""
        table = Best(self._address("filter_table"), self._sets(),
                     self._ways[ScuOutput.FILTER_BEST], clear=self._fresh)
        self._fresh = False
        return table

    def _stream(self, scu, rows, count, place, mark):
        """Make the elements of ``count`` rows at a place of the lists. Returns their number."""
        return scu.stream_expansion(
            self._source("neighbors"), rows, count,
            self._address(EDGES) + 4 * place, self._address(VALUES) + 4 * place,
            weights=self._source("weights") if self._weighted else 0, count=(mark, place),
            output=self._table() if self.filters else None, name="stream edges").result

    def _expand_filtered(self, mark):
        values = _ALL_VALUES if self._weighted else VALUES
        edges = self._words(values)
        table = self._table()
        kept = self._neighbors("filter", "filter edges", output=table,
                               operand=self._address(values), operands=edges).selected
        left = {"filter": Filter(self._address("filter"), edges)} if edges else {}
        order = self._order(kept, lambda **options: self._neighbors(
            "order", "group edges", **left, **options))
        self._neighbors(EDGES, "expand edges", count=(mark, 0), **left, **order)
        if not kept:
            return 0
        if self._weighted:
            self._scu.data_compaction(self._address(values), edges, self._address(VALUES),
                                      bitmask=self._address("filter"), name="compact values",
                                      **order)
        else:
            self._words(VALUES, **left)
        return kept

    def _order(self, count, make):
        """The options that bring ``count`` elements into the order that ``make`` makes, in which
        elements of a line stand together. Empty if the lanes work on all elements at once anyway.
        """
        if not self.groups or count <= self._task.config.threads:
            return {}
        ways = self._ways[ScuOutput.GROUP]
        line = self._task.config.line_bytes
        entry = entry_bytes(ScuOutput.GROUP, line)
        sets = min(_power_below(self._group_bytes / (entry * ways)), _power_above(count / ways))
        make(output=Group(self._address("group_table"), sets, ways))
        return {"order": self._address("order"), "operands": count}

    def compact(self, session, argument, layout):
        """Add to the frontier's lists what the contraction has noted."""
        if not self._length:
            return
        frontier, scu = self._task.frontier, ScuOperations(session.compact)
        for bits, (end, mark, count) in zip(frontier.BITS, frontier.targets(session, argument)):
            scu.data_compaction(
                self._address(ADDRESSES if self.filters else EDGES), self._length, end,
                bitmask=self._address(bits), count=(mark, count),
                name=f"compact {bits.removesuffix('_bits')}")
