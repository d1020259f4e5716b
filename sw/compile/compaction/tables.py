"""The tables in memory by which the Stream Compaction Unit filters and groups edges.

A filter's table is never emptied between supersteps (:attr:`~sw.compile.algorithm.SentWord.drops`
allows this). Its default size is the paper's part of the L2 (table 2), rounded down to a power of
two, but no more entries than there are vertices. Without an L2 the part is of :data:`_NO_L2` bytes.
Streaming, the table is no larger than the lines that the unit's banks hold, if there are few edges
a vertex, or several cores and no near and far vertices: then it costs less to look at edges that a
larger table would drop than to fetch its lines. The table for grouping is at most as large. It is
also no larger than a call's elements may need, because emptying the table and searching it for the
rest take a cycle a line.
"""

from base.errors import UserError
from hw.scu.registers import ScuOutput, entry_bytes
from sw.compile.compaction import lists
from sw.compile.compaction.operations import Best, Group


__all__ = ["Tables"]


#: Bytes of a table that is not cached.
_NO_L2 = 1 << 15

#: Fewer edges a vertex than this are few.
_FEW = 8


def _power_below(value):
    """The largest power of two that is not larger; at least 1."""
    return 1 << max(int(value), 1).bit_length() - 1


def _power_above(value):
    """The smallest power of two that is not smaller."""
    return 1 << (max(int(value), 1) - 1).bit_length()


class Tables:
    """The tables of a task.

    Parameters
    ----------
    task : sw.compile.task.Task
    options : dict
        The schedule's options.
    streams : bool
        Whether the unit filters while it streams.
    """

    def __init__(self, task, options, streams):
        self._task, self._options, self._streams = task, options, streams

    def _entries(self, output):
        """Bytes of an entry, and entries of a set."""
        line = self._task.config.line_bytes
        entry = entry_bytes(output, line)
        return entry, min(line // entry, self._options.get("ways") or line // entry)

    def check(self):
        """Raise UserError if a line has no room for the ways."""
        ways, line = self._options.get("ways"), self._task.config.line_bytes
        entry = entry_bytes(ScuOutput.FILTER_BEST, line)
        if ways is not None and ways > line // entry:
            raise UserError(f"schedule {self._task.schedule.name!r}: ways is {ways}; a line of "
                            f"{line} bytes has room for {line // entry} of the filter's entries "
                            f"of {entry} bytes")

    @property
    def _sets(self) -> int:
        """Sets of the filter's table."""
        if self._options.get("sets"):
            return self._options["sets"]
        task, config, graph = self._task, self._task.config, self._task.graph
        part = 0.75 if task.algorithm.weighted else 0.5
        room = config.l2_bytes * part if config.l2_bytes else _NO_L2
        few = graph.num_edges < _FEW * graph.num_vertices
        near_and_far = len(lists.noted_bits(task)) > 1
        if self._streams and (few or (config.cores > 1 and not near_and_far)):
            room = min(room, _power_below(config.scu_hash_bytes / 2))
        entry, ways = self._entries(ScuOutput.FILTER_BEST)
        return min(_power_below(room / (entry * ways)), _power_above(graph.num_vertices / ways))

    @property
    def bytes(self) -> int:
        """Bytes of the filter's table, and most of the one for grouping."""
        entry, ways = self._entries(ScuOutput.FILTER_BEST)
        return max(self._sets * ways * entry, self._task.config.line_bytes)

    def best(self, fresh):
        """The filter, which is emptied first if it is ``fresh``."""
        _, ways = self._entries(ScuOutput.FILTER_BEST)
        return Best(self._address("filter_table"), self._sets, ways, clear=fresh)

    def group(self, count):
        """The table for grouping ``count`` elements."""
        entry, ways = self._entries(ScuOutput.GROUP)
        sets = min(_power_below(self.bytes / (entry * ways)), _power_above(count / ways))
        return Group(self._address("group_table"), sets, ways)

    def _address(self, name):
        return self._task.buffers.address(lists.own(self._task, name))
