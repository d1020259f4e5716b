"""The Stream Compaction Unit as the maker of edge lists (Segura et al., 3.3 to 3.5, 4.4 to 4.6).

The cores look up the rows of the frontier, contract the list and leave bits. The unit makes the
list, and the queues. The word that tells where a list ends is its length, which the unit writes.

*Filtering*, a first pass over the edges leaves a bit for each edge, which says whether to keep it.
The pass filters by best cost; the cost is the word beside the edge, so the words of all edges are
made first. With weights a second pass leaves an order, in which neighbours in one cache line stand
together. Elements are then the numbers of words, by which the unit groups. The paper filters
breadth-first search by element alone; such a filter would lose the smallest parent.

*Streaming*, the unit makes the list with one operation, which is not the paper's. The operation
filters as above, if the algorithm allows it. Nothing is written but the edges that are left. The
unit makes a long list in pieces, one operation each. While the unit makes a piece, the cores
contract the piece before it. The pieces follow one another in the list, and each begins with a
block of the contraction. Three words tell where they end: the pieces use them in turn.
"""

import functools

from base.errors import UserError
from sw.compile.compaction import lists, prepared
from sw.compile.compaction.contraction import ADDRESSES
from sw.compile.compaction.lists import EDGES, VALUES
from sw.compile.compaction.operations import Filter, ScuOperations, StreamRows
from sw.compile.compaction.prepared import COUNTS, GIVEN, INDEXES
from sw.compile.compaction.tables import Tables
from sw.compile.formats.compressed import AddressedEdges, CompressedRows
from sw.compile.kernels.passes import Pass


__all__ = ["MOST_PIECES", "ByUnit"]


#: Most pieces of a list.
MOST_PIECES = 8

#: Most pieces of a filtered list, if the user does not say: a filter costs time at both ends of an
#: operation, as its lines come and go.
_MOST_FILTERED = 4

#: Edges that a piece should have, if the user does not say.
_PIECE = 2048

#: The words of all edges, before the edges are filtered.
_ALL_VALUES = "all_values"

#: The kernels that contract the first piece of a list, and in turn the later ones. Each is named
#: with the words, among the list's three, that tell where the piece before ends, and where the
#: piece ends. Meanwhile the unit writes the third word.
_PIECES = {"contract": (None, 0), "contract_b": (0, 1), "contract_c": (1, 2),
           "contract_d": (2, 0)}


def _whole_rows(layout):
    """Whether each vertex has one row, between two words of a list of offsets."""
    return type(layout) is CompressedRows and not layout.virtual


class ByUnit:
    """The unit makes a task's list. It is plainly mutable: the host's work finds what the work
    before has left.

    Parameters
    ----------
    task : sw.compile.task.Task
    filters : bool
        Whether the unit filters edges, if the algorithm allows it.
    streams : bool
        Whether the unit makes the list with one operation.

    Attributes
    ----------
    filters, groups : bool
        Whether the unit filters edges, and groups those that are left.
    tables : Tables
    """
    overread = 0

    def __init__(self, task, filters, streams):
        self.task, self._options, self._streams = task, task.schedule.options, streams
        self._weighted, self._sent = task.algorithm.weighted, task.algorithm.sent
        # The address of a reordered source does not tell which source has the smaller number.
        self.filters = filters and self._sent.drops and (self._sent.value or task.new_ids is None)
        self.groups = (self.filters and self._weighted
                       and self._options.get("grouping", "no") != "no")
        self.shift, self.in_turn = 2 if self.filters else 0, not streams
        self.tables = Tables(task, self._options, streams)
        self._length = 0
        self._filtered = None           # the session whose edges the filter's table has seen

    def check(self):
        task, schedule = self.task, self.task.schedule
        if not all(isinstance(layout, AddressedEdges) for layout in task.format.layouts(task)):
            raise schedule.refuse("copies stored neighbours, which must be a word each; format "
                                  f"{task.format.name!r} stores some of them in another way")
        if self._weighted and not self._sent.fits:
            raise schedule.refuse(
                "cannot add weights on the unit, which does not notice if a sum passes 32 bits; "
                f"with weights up to {int(task.graph.weights.max())} the sum of a path in "
                f"{task.graph.name} may; that none does is known for small weights in a loop that "
                f"changes the words by {self._sent.work} only, whenever they are read (fact early)")
        self.tables.check()

    # Memory

    def reserve(self):
        task, buffers = self.task, self.task.buffers
        own = functools.partial(lists.own, task)
        edges = max(each.edges for each in task.layouts)
        lists.reserve(task, self._most_pieces)
        if not self.looks_up:
            prepared.reserve(task, self._rows)
        lists.reserve_bits(task)
        if not self.filters:
            return
        buffers.reserve(own("filter_table"), self.tables.bytes // 4)
        if lists.noted_bits(task):
            buffers.reserve(own(ADDRESSES), buffers.words(own(EDGES)))
        if self._streams:
            return
        buffers.reserve(own("filter"), edges // 32 + 1)
        if self._weighted:
            buffers.reserve(own(_ALL_VALUES), edges + 1)
        if self.groups:
            buffers.reserve(own("order"), edges + 1)
            buffers.reserve(own("group_table"), self.tables.bytes // 4)

    # Rows and pieces

    @property
    def gives(self) -> bool:
        """Whether the cores prepare the word of each row; else the queue's entries are the words.
        """
        return not self.task.queued or self._sent.value

    @property
    def _rows(self) -> tuple:
        """The arrays of the rows that the cores prepare."""
        return INDEXES, COUNTS, *[GIVEN] * (self.gives and not self.prepares_once)

    @property
    def looks_up(self) -> bool:
        """Whether the unit looks up the rows: if the frontier is a list, and a vertex's row is two
        words at a distance from the vertex's own word."""
        task, asked = self.task, self._options.get("rows")
        able = (task.queued and task.input.still and not task.input.noted and not task.switches
                and len(task.layouts) == 1 and _whole_rows(task.layouts[0]))
        if asked == "unit" and not able:
            raise UserError(
                f"schedule {task.schedule.name!r}: rows is 'unit', which needs a deduplicated "
                "queue as frontier, one plan, and a format that stores all edges as csr does")
        return self._streams and able and asked != "cores"

    @property
    def prepares_once(self) -> bool:
        """Whether the rows, and the places of their words, are the same in all supersteps."""
        return (self._streams and self.task.frontier is None and self._sent.value
                and all(map(_whole_rows, self.task.layouts)))

    @property
    def _most_pieces(self) -> int:
        return (self._options["pieces"] or MOST_PIECES) if self._streams else 1

    def _pieces(self, rows) -> int:
        """The number of pieces of a list."""
        pieces, graph = self._options["pieces"], self.task.graph
        if not pieces:
            edges = rows * graph.num_edges // max(1, graph.num_vertices)
            pieces = min(edges // _PIECE, _MOST_FILTERED if self.filters else MOST_PIECES)
        return max(1, min(pieces, rows))

    # Passes

    def passed(self, k):
        """The unit writes where a list ends."""

    @property
    def ends(self) -> dict:
        """As of :class:`~sw.compile.compaction.expansion.ByCores`."""
        return {name: functools.partial(self._ends, *words) for name, words in _PIECES.items()
                if self._most_pieces > 1 or words == (None, 0)}

    def _ends(self, before, this, k):
        a, start = k.a, None
        if before is None and self.looks_up:
            with k.last_warp():
                self.task.frontier.lead(k)
        end, place = a.regs("edges_end", "place")
        a.li(place, k.address(lists.ends(k.layout)))
        a.lw(end, place, 4 * this)
        if before is not None:
            start = a.reg("edges_start")
            a.lw(start, place, 4 * before)
        a.slli(end, end, 2)
        return start, end

    def expand(self) -> list:
        made = Pass("expand", operate=self._stream if self._streams else self._expand)
        if self.looks_up:
            return [made]
        return [prepared.prepare(self.task, self._rows, self.prepares_once), made]

    def take(self, schedule) -> Pass:
        return Pass("compact", operate=self._take)

    # Work of the host

    def _expand(self, session, argument, layout, _):
        """Make the list from the prepared rows."""
        step = _Superstep(self, session, argument, layout)
        self._length = step.make_filtered() if self.filters else step.make()

    def _stream(self, session, argument, layout, entries):
        """Make the list in pieces, and contract each while the next is made."""
        step, first, *others = (_Superstep(self, session, argument, layout),
                                *(entries[name] for name in self.ends))
        block = lists.block_size(self.task, self.task.schedule.windows(self.task),
                                 lists.noted_bits(self.task))
        begin = place = 0
        pieces, kernel = self._pieces(step.count), None
        for number in range(pieces):
            end = step.count * (number + 1) // pieces
            perform = session.compact if kernel is None else functools.partial(
                session.launch_beside, kernel, argument)
            made = step.stream(ScuOperations(perform), begin, end, place, number % 3)
            self._length = place + made
            begin, place = end, -(-self._length // block) * block
            # A later piece without elements needs no contraction.
            kernel = first if number == 0 else others[(number - 1) % 3] if made else None
        if kernel is not None:
            session.launch_kernel(kernel, argument)

    def is_fresh(self, session) -> bool:
        """Whether no operation of the session has filtered yet. One does now."""
        fresh, self._filtered = self._filtered is not session, session
        return fresh

    def _take(self, session, argument, layout, _):
        """Add to the frontier's lists what the contraction has noted."""
        if not self._length:
            return
        buffers, frontier = self.task.buffers, self.task.frontier
        scu = ScuOperations(session.compact)
        source = lists.own(self.task, ADDRESSES if self.filters else EDGES)
        for bits, (end, mark, count) in zip(frontier.bits, frontier.targets(session, argument)):
            scu.data_compaction(
                buffers.address(source), self._length, end,
                bitmask=buffers.address(lists.own(self.task, bits)),
                count=(mark, count), name=f"compact {bits.removesuffix('_bits')}")


class _Superstep:
    """The operations that make the list of a superstep and a layout.

    Attributes
    ----------
    count : int
        The number of rows.
    """

    def __init__(self, unit, session, argument, layout):
        self._unit, self._session, self._argument, self._layout = unit, session, argument, layout
        self._task = task = unit.task
        self._scu = ScuOperations(session.compact)
        self.count = (task.input.entry_count(session, argument) if task.queued
                      else layout.rows)
        self._end = task.buffers.address(lists.ends(layout))
        self._filtered = False          # whether an operation of this superstep has filtered

    def _address(self, name):
        """The address of one of the task's buffers for lists."""
        return self._task.buffers.address(lists.own(self._task, name))

    def make(self):
        """Make the list. Returns its length."""
        made = self._neighbors(EDGES, "expand edges", count=(self._end, 0))
        self._words(VALUES)
        return made.result

    def make_filtered(self):
        """Make the list of the edges that the filter leaves. Returns its length."""
        weighted = self._task.algorithm.weighted
        values = _ALL_VALUES if weighted else VALUES
        edges = self._words(values)
        kept = self._neighbors(
            "filter", "filter edges", output=self._best(),
            operand=self._address(values), operands=edges).selected
        left = {"filter": Filter(self._address("filter"), edges)} if edges else {}
        order = self._order(kept, **left)
        self._neighbors(EDGES, "expand edges", count=(self._end, 0), **left, **order)
        if kept and weighted:
            self._scu.data_compaction(self._address(values), edges, self._address(VALUES),
                                      bitmask=self._address("filter"), name="compact values",
                                      **order)
        elif kept:
            self._words(VALUES, **left)
        return kept

    def stream(self, scu, begin, end, place, word):
        """Make the elements of the rows from ``begin`` to ``end`` at a place of the list, whose end
        goes to that word of three. Returns the number of elements."""
        unit = self._unit
        return scu.stream_expansion(
            self._source("neighbors"), self._rows.behind(begin), end - begin,
            self._address(EDGES) + 4 * place, self._address(VALUES) + 4 * place,
            weights=self._source("weights") if self._task.algorithm.weighted else 0,
            count=(self._end + 4 * word, place),
            output=self._best() if unit.filters else None, name="stream edges").result

    def _best(self):
        """The filter's table, for the next operation that filters."""
        fresh = self._unit.is_fresh(self._session) or (self._task.algorithm.sent.forgets
                                                       and not self._filtered)
        self._filtered = True
        return self._unit.tables.best(fresh)

    def _source(self, name):
        """The address of a layout's array, from which the locations of edges, divided by 4, count.
        """
        layout = self._layout
        address = self._task.buffers.address
        return address(layout.array(name)) - address(layout.array("neighbors")) & 0xFFFF_FFFF

    def _edges(self, array, destination, name, **options):
        """Make a list of each edge's word in an array of the layout."""
        return self._scu.access_expansion_compaction(
            self._source(array), self._address(INDEXES), self._address(COUNTS), self.count,
            self._address(destination), name=name, **options)

    def _neighbors(self, destination, name, **options):
        return self._edges("neighbors", destination, name, **options)

    @property
    def _given(self):
        """The address of the word beside each row that the cores have prepared."""
        if not self._unit.gives:
            return self._task.input.first_entry(self._session, self._argument)
        if self._unit.prepares_once:
            return self._task.buffers.address(self._task.algorithm.sent.array_of(self._task))
        return self._address(GIVEN)

    def _words(self, destination, **options):
        """Make a list of the word beside each edge. Returns its length."""
        if self._task.algorithm.weighted:
            made = self._edges("weights", destination, "expand weights")
            options |= {"operand": self._address(destination), "operands": made.result}
        return self._scu.replication_compaction(
            self._given, self._address(COUNTS), self.count, self._address(destination),
            name="replicate values", **options).result

    def _order(self, count, **left):
        """The options that bring ``count`` elements that are left into an order in which elements
        of a line stand together. Empty if the lanes work on all elements at once anyway."""
        if not self._unit.groups or count <= self._task.config.threads:
            return {}
        self._neighbors("order", "group edges", **left, output=self._unit.tables.group(count))
        return {"order": self._address("order"), "operands": count}

    @property
    def _rows(self):
        """The rows as the cores have prepared them, or the frontier's vertices as keys."""
        if not self._unit.looks_up:
            return StreamRows(self._address(INDEXES), self._given, self._address(COUNTS))
        first = self._task.input.first_entry(self._session, self._argument)
        task, address = self._task, self._task.buffers.address
        base, sent = address(task.algorithm.base_array(task)), task.algorithm.sent
        # A vertex is the address of its word in the base array.
        given = address(sent.array_of(task)) - base if sent.value else first
        return StreamRows(first, given, looks=sent.value,
                          rows=address(self._layout.row_array) - base)
