"""Prepared rows: a kernel of its own looks up the rows of the frontier, for others to expand.

The cores expand prepared rows where expansion is to be seen alone, and the Stream Compaction Unit
wherever it does not look up rows itself.
"""

from sw.compile.compaction.lists import own
from sw.compile.kernels.passes import Pass
from sw.compile.kernels.rows import Rows


__all__ = ["COUNTS", "GIVEN", "INDEXES", "Prepared", "leads_late", "load_word", "prepare",
           "reserve"]


#: Prepared rows: the location of each row's first edge, the distance from there to the location
#: behind the last edge, and the word beside each of its edges.
INDEXES, COUNTS, GIVEN = _ALL = "row_indexes", "row_counts", "row_words"


def leads_late(task):
    """Whether the kernel that goes through the frontier prepares the next one behind its prologue.
    Warps without a row leave before that, and some warp has a row."""
    return task.queued and task.frontier.leads_late


def load_word(k, vertex, into):
    """``into`` = the word beside the edges of a vertex's row."""
    if k.algorithm.sent.value:
        k.a.lw(into, k.pointer(vertex, k.algorithm.sent.array_of(k.task), into))
    else:
        k.a.mv(into, vertex.reg)


def reserve(task, names=_ALL):
    """Reserve the buffers."""
    words = max(layout.rows for layout in task.layouts) + task.rows_over
    if task.queued:
        words = max(words, task.input.most_entries(task))
    for name in names:
        task.buffers.reserve(own(task, name), words)


def prepare(task, names=_ALL, once=False):
    """The pass that looks up the rows of the frontier."""
    return Pass("prepare", lambda k: _prepare(k, names), once, gathers=False,
                leads=not leads_late(task))


def _prepare(k, names):
    a, done, rows = k.a, k.a.label("rows_end"), Rows(k)
    offset, place, count, word = a.regs("offset", "place", "count", "word")
    a.li(offset, k.address(own(k.task, names[0])))
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
        load_word(k, rows.vertex, word)
    for before, name, register in zip(names, names[1:], (count, word)):
        a.add(place, place, k.distance(own(k.task, before), own(k.task, name)))
        a.sw(register, place)
    rows.advance()
    a.branch(rows.more(), top)
    a.place(done)


class Prepared:
    """A layout whose rows have been prepared, in the kernel that expands them. The base of a row is
    the word beside its edges."""
    virtual = active = True

    def __init__(self, k):
        self._layout = k.layout
        self._queue = k.input if k.task.queued and not k.layout.active else None

    def __getattr__(self, name):
        return getattr(self._layout, name)

    def first_row(self, k):
        return k.address(own(k.task, INDEXES))

    def rows_end(self, k):
        if self._queue is None:
            return self._layout.rows_end(k)
        end = k.a.reg("rows_end")
        k.a.sub(end, self._queue.end, self._queue.start)
        return end

    def get_neighbor(self, k, row, begin, end):
        place = self._beside(k, row, COUNTS)
        k.a.lw(begin, row)
        k.a.lw(end, place)
        k.a.add(end, end, begin)

    def get_base(self, k, row, into):
        k.a.lw(into, self._beside(k, row, GIVEN))

    @staticmethod
    def _beside(k, row, array):
        """A register with the address of a prepared row's word in another array."""
        place = k.a.reg("place")
        k.a.add(place, row, k.distance(own(k.task, INDEXES), own(k.task, array)))
        return place
