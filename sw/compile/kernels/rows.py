"""The rows on which a lane works, round after round, each loaded a round ahead.

In every round a lane takes one vertex of the frontier. Neighbouring lanes take neighbouring
vertices, so the loads are coalesced. :meth:`Rows.advance` loads the data of the next round before
the lane works on the edges of this round. This hides the latency of the loads and of cache misses.

No address is ever checked. Behind the last vertex there are as many vertices with empty rows as a
round or two may run over. Every word of the queue holds a vertex, also words that are not entries.
"""

from typing import Any

from sw.compile.asm.assembler import Condition
from sw.compile.kernels.kernel import Vertex, log2
from sw.compile.kernels.split import split


__all__ = ["Rows"]


class Rows:
    """The frontier as one vertex a lane and round.

    The registers below hold the present round's vertex from :meth:`start` or :meth:`advance` to
    the next :meth:`advance`.

    Parameters
    ----------
    k : Kernel
    warps : int, optional
        Number of warps of a core that take part, from warp 0 on. The places of the other warps are
        beyond the round.
    together : bool
        Whether the warps of the task's scope go through the rounds together. Then they agree on
        :meth:`more`, and there is a barrier between :meth:`advance` and the next round.

    sharing : int
        How many neighbouring lanes share a vertex.
    many : int
        How many vertices a lane has in a round. Neighbouring lanes have neighbouring vertices;
        a lane's vertices are as many vertices apart as a warp has lanes. More than one only if all
        vertices come up, one a row, and no lanes share a vertex.
    ranged : bool
        Whether to load the ranges of the vertices.

    Attributes
    ----------
    vertices : list of Vertex
        The lane's vertices, in the algorithm's base array.
    vertex : Vertex
        The first of them.
    ranges : list of [begin, end]
        For each vertex of the lane, the locations of its first edge and behind its last.
    begin, end : GeneralRegister
        The locations of the first vertex.
    queued : bool
        Whether the vertices come from a queue.
    filtered : bool
        Whether all vertices come up, and vertices outside the frontier are filtered out.
    conditional : bool
        Whether a lane's vertex may be outside the frontier: see :meth:`test`.
    """

    def __init__(self, k, warps=None, together=False, sharing=1, many=1, ranged=True):
        self._k, self._warps, self._sharing, self._many = k, warps, sharing, many
        task = k.task
        rows = task.config.threads // sharing * many
        if together:
            rows *= warps or task.scope.warps
        self._together, self._ranged = together, ranged
        self._split = split(k, 4 * rows, warps=warps, together=together)
        self.queued = queued = task.queued and not k.layout.active
        self._queue: Any = k.input if queued else None
        self.filtered = not queued and not k.layout.active and task.algorithm.filters(task)
        self.conditional = self._queue is not None or self.filtered
        array = task.algorithm.base_array(task)
        self.vertices = [Vertex(k.a.reg("vertex"), array) for _ in range(many)]
        self.vertex = self.vertices[0]
        self.ranges = [k.a.regs("begin", "end") for _ in range(many)]
        self.begin, self.end = self.ranges[0]

    def start(self, done=None):
        """In the prologue: start the loads of the first round. Warps without a round go to the
        label ``done``, if there is one."""
        k, a = self._k, self._k.a
        index = a.reg("index")
        places = k.config.threads * self._many
        if self._together and k.task.scope.groups > 1:
            k.task.scope.lane_index(k, index, places)
        else:
            k.lane_index(index, places, self._warps)
        k.shifted(index, index, -log2(self._sharing))
        if self._queue is None:
            self._start_all(index, done)
        else:
            self._start_queue(index, done)

    @property
    def place(self):
        """The register with the address of the round's entry of the queue, or the row."""
        return self._row if self._queue is None else self._pointer

    def test(self, into, index=0):
        """``into`` = 1 if the lane's vertex of that number is in the frontier, else 0."""
        if self._queue is not None:
            self._queue.present(self._k, self._pointer, self._note, into)
        else:
            self._k.algorithm.filter(self._k, self.vertices[index], self._data[index], into)

    def size(self, into, index=0):
        """``into`` = the distance from the first edge of the lane's row to behind its last edge; 0
        if the lane's vertex is not in the frontier. ``index`` is the number of the vertex among the
        lane's."""
        a = self._k.a
        begin, end = self.ranges[index]
        a.sub(into, end, begin)
        if self.conditional:
            present = a.reg("present")
            self.test(present, index)
            self._k.masked(into, present)

    @property
    def waits(self) -> bool:
        """Whether there must be a barrier between :meth:`offer` and :meth:`advance`."""
        return self._split.waits

    def ask(self):
        """At the beginning of a round, if the warps of a scope go through rounds together. Gives
        the argument of :meth:`offer`."""
        return self._split.ask()

    def offer(self, answer):
        """Pass the answer of :meth:`ask` on to all warps, for :meth:`advance`."""
        self._split.offer(answer)

    def advance(self):
        """Go on to the next round. All lanes must be active."""
        if self._queue is None:
            self._advance_all()
        else:
            self._advance_queue()

    def more(self) -> Condition:
        """After :meth:`advance`: whether there is a next round."""
        if self._queue is not None and not self._together:
            return Condition("ltu", self._pointer, self._queue.end)      # as lane 0 says
        return self._split.more()

    # All vertices

    @property
    def _apart(self):
        """Bytes between two of a lane's vertices."""
        return 4 * self._k.config.threads

    def _start_all(self, index, done):
        k, layout = self._k, self._k.layout
        self._row = k.a.reg("row")
        if self.filtered:
            self._data = [k.a.reg("filter") for _ in self.vertices]
        k.scaled(self._row, index, layout.first_row(k))
        if not layout.virtual:
            k.scaled(self.vertex.reg, index, self.vertex.array)
            for number, vertex in enumerate(self.vertices[1:], 1):
                k.a.addi(vertex.reg, self.vertex.reg, number * self._apart)
        self._split.start(layout.rows_end(k))
        if done is not None:
            k.a.branch(~self._split.more(), done)
        self._load_all()

    def _load_all(self):
        layout = self._k.layout
        if layout.virtual:
            layout.get_base(self._k, self._row, self.vertex.reg)
        if self._ranged:
            layout.get_neighbor(self._k, self._row, self.begin, self.end)
            for number, (begin, end) in enumerate(self.ranges[1:], 1):
                layout.get_neighbor_behind(self._k, self._row, number * self._apart, begin, end)
        if self.filtered:
            for vertex, data in zip(self.vertices, self._data):
                self._k.algorithm.filter_data(self._k, vertex, data)

    def _advance_all(self):
        self._split.go_on()
        self._split.take(self._row, *([] if self._k.layout.virtual else
                                      [vertex.reg for vertex in self.vertices]))
        self._load_all()

    # The queue: its entries are loaded two rounds ahead, because a row's address depends on one.

    def _start_queue(self, index, done):
        k, a = self._k, self._k.a
        self._pointer, self._ahead = k.a.reg("queue_entry"), k.a.reg("next_entry")
        self._next = k.a.reg("next_vertex")
        self._note = k.a.reg("note") if self._queue.noted else None
        a.slli(self._pointer, index, 2)
        a.add(self._pointer, self._pointer, self._queue.start)
        if done is not None:
            a.bgeu(self._pointer, self._queue.end, done)
        a.lw(self.vertex.reg, self._pointer)
        end = self._queue.end if self._together else None
        self._split.start(end, self._queue.start, own=2)
        self._split.second(self._ahead, self._pointer)
        a.lw(self._next, self._ahead)
        self._load_queued()

    def _load_queued(self):
        k, layout = self._k, self._k.layout
        if self._ranged:
            into = k.a.reg("row")
            row = layout.row_of(k, self.vertex, into)
            layout.get_neighbor(k, row, self.begin, self.end)
        if self._note is not None:
            self._queue.note_data(k, self.vertex, self._note)

    def _advance_queue(self):
        a = self._k.a
        a.mv(self._pointer, self._ahead)
        self._split.go_on()
        with a.if_uniform(self.more(), "prefetch"):
            a.mv(self.vertex.reg, self._next)
            self._load_queued()
            self._split.take(self._ahead)
            a.lw(self._next, self._ahead)
