"""The host's steps of the Stream Compaction Unit: the operations of a superstep.

:mod:`.unit` says what the unit makes.
"""

import functools

from hw.scu.registers import ScuOutput, entry_bytes
from sw.compile.compaction.contraction import ADDRESSES
from sw.compile.compaction.expansion import COUNTS, GIVEN, INDEXES
from sw.compile.compaction.lists import EDGES, VALUES, ends
from sw.compile.compaction.operations import Best, Filter, Group, Keys, PreparedRows, ScuOperations
from sw.compile.compaction.unit import ALL_VALUES, power_above, power_below


__all__ = ["ScuSteps"]


class ScuSteps:
    """The steps, one after the other. Plainly mutable: a step finds what the step before has made.

    Parameters
    ----------
    unit : sw.compile.compaction.unit.ScuCompaction
    """

    def __init__(self, unit):
        self._unit, self._length = unit, 0
        self._filtered = None           # the session whose edges the filter's table has seen
        self._base_array = unit.task.algorithm.base_array(unit.task)

    def _address(self, name):
        return self._unit.task.buffers.address(name)

    def expand(self, session, argument, layout, _=None):
        """Make the edge frontier from the prepared rows."""
        self._session, self._layout = session, layout
        self._scu = ScuOperations(session.compact)
        frontier = self._unit.task.frontier
        self._rows = self._count(session, argument)
        self._given = self._words_beside(session, argument)
        number = argument if frontier is None else frontier.number_of(session, argument)
        mark = self._address(ends(layout)) + 4 * (number % 2)
        self._length = (self._expand_filtered if self._unit.filters else self._expand_all)(mark)

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
        self._session, self._layout = session, layout
        count = self._count(session, argument)
        rows = (self._keys if self._unit.looks_up else self._prepared)(session, argument)
        begin = place = 0
        pieces, kernel = self._unit.pieces(count), None
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
        task = self._unit.task
        return task.input.entry_count(session, argument) if task.queued else self._layout.rows

    def _words_beside(self, session, argument):
        """The address of the word beside each prepared row."""
        if not self._unit.gives:
            return self._unit.task.input.first_entry(session, argument)
        return self._address(self._base_array if self._unit.prepares_once else GIVEN)

    def _prepared(self, session, argument):
        """The rows that the cores have prepared."""
        return PreparedRows(self._address(INDEXES), self._address(COUNTS),
                            self._words_beside(session, argument))

    def _keys(self, session, argument):
        """The frontier's vertices, as keys by which the unit looks up rows."""
        first = self._unit.task.input.first_entry(session, argument)
        rows = self._address(self._layout.row_array) - self._address(self._base_array)
        # A vertex is the address of its own word.
        looks = self._unit.task.algorithm.sends
        return Keys(first, rows, 0 if looks else first, looks)

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
        if self._unit.weighted:
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
        fresh, self._filtered = self._filtered is not self._session, self._session
        return Best(self._address("filter_table"), self._unit.sets,
                    self._unit.ways[ScuOutput.FILTER_BEST], clear=fresh)

    def _stream(self, scu, rows, count, place, mark):
        """Make the elements of ``count`` rows at a place of the lists. Returns their number."""
        return scu.stream_expansion(
            self._source("neighbors"), rows, count,
            self._address(EDGES) + 4 * place, self._address(VALUES) + 4 * place,
            weights=self._source("weights") if self._unit.weighted else 0, count=(mark, place),
            output=self._table() if self._unit.filters else None, name="stream edges").result

    def _expand_filtered(self, mark):
        values = ALL_VALUES if self._unit.weighted else VALUES
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
        if self._unit.weighted:
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
        if not self._unit.groups or count <= self._unit.task.config.threads:
            return {}
        ways = self._unit.ways[ScuOutput.GROUP]
        line = self._unit.task.config.line_bytes
        entry = entry_bytes(ScuOutput.GROUP, line)
        sets = min(power_below(self._unit.table_bytes / (entry * ways)), power_above(count / ways))
        make(output=Group(self._address("group_table"), sets, ways))
        return {"order": self._address("order"), "operands": count}

    def compact(self, session, argument, layout, _=None):
        """Add to the frontier's lists what the contraction has noted."""
        if not self._length:
            return
        frontier, scu = self._unit.task.frontier, ScuOperations(session.compact)
        for bits, (end, mark, count) in zip(frontier.BITS, frontier.targets(session, argument)):
            scu.data_compaction(
                self._address(ADDRESSES if self._unit.filters else EDGES), self._length, end,
                bitmask=self._address(bits), count=(mark, count),
                name=f"compact {bits.removesuffix('_bits')}")
