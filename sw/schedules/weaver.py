"""The Weaver's schedule: hardware hands out the edges (SparseWeaver, figure 4.9).

Each round, every lane registers one vertex of the frontier. Then all warps request work from the
Weaver until there is none. A work is as many edges as there are lanes, of any number of vertices,
in the order of the vertices. So the loads of the edges are coalesced, and no lane is idle.

A barrier follows registration, because the table has to be complete before the first request.
Another barrier precedes the next registration. Without it, a warp that has not yet read the end of
this round's work would get new work.

Masks
-----
WEAVER_DEC activates all lanes with work. Lanes without work are the highest lanes, so lane 0 is
active, and nothing within the distribution loop has to restore the mask. Only the last answer
before the answer "no work" has lanes without work. So if a warp takes several works in a turn, all
but the last work are full, whatever the mask is by then. The lanes of the last work are the lanes
whose VID is not -1.

Places
------
WEAVER_DEC also gives the addresses of the edges, where an edge takes a word. Where it takes fewer
bytes, WEAVER_DEC_ID and WEAVER_DEC_LOC give the edge's location in two steps, and a shift makes the
address.

Latency
-------
If the kernel goes through all vertices in order, the edges handed out are consecutive in memory.
Then each work prefetches a line into L1, by a load to x0, that is needed some works later. Every
lane subtracts its own place from its location, so the prefetch is one access and not two of
neighbouring lines. Prefetching does not help if the frontier is a queue. There a warp takes several
works a turn, whose loads are under way together.
"""

from hw.isa import Csr
from hw.operations import REGISTER
from sw.kernels.assembler import Condition
from sw.kernels.kernel import Vertex, log2
from sw.kernels.options import Integer
from sw.kernels.rows import Rows
from sw.schedules.schedule import LONG, Schedule


__all__ = ["WeaverSchedule"]


#: Works that each warp may take before the line that a work prefetches is needed.
_PREFETCH_TURNS = 2

#: Works per turn: with a queue where edges are in long rows, and else.
_WORKS_LONG, _WORKS = 3, 1


class WeaverSchedule(Schedule):
    """Rounds of registration and distribution."""
    name = "weaver"
    counts_edges = True
    OPTIONS = {"works": Integer(1, 4, None, "works of a warp in a turn; left out, 3 with a "
                                "queue where edges are in long rows, else 1")}
    AT_ONCE = "works"

    def check_config(self, config):
        if config.gather == "none":
            raise self.refuse(f"needs a Weaver, which configuration {config.name!r} does not have "
                             "(gather = 'none'); gather = 'fsm' or 'stream' has one")

    def overread(self, task):
        return _PREFETCH_TURNS * task.warps * task.config.threads

    def init_global(self, k):
        task, config = k.task, k.task.config
        queued = task.queued
        self._works = self.at_once(_WORKS_LONG if queued and task.row_length >= LONG else _WORKS)
        rows = min(task.warps, config.weaver_table_entries // config.threads)
        self._streams = config.gather == "stream"
        self._rows = Rows(k, rows, together=not self._streams)
        beyond = k.a.label("beyond_table") if self._streams and rows < task.warps else None
        if beyond:
            # These warps register nothing, and take no part of the work.
            warp = k.a.reg("warp")
            k.a.csrr(warp, Csr.WARP_ID)
            k.a.bgeu(warp, k.constant(rows), beyond)
        self._rows.start()
        if self._streams:
            k.a.weaver_reg(k.a.zero, k.a.zero, k.a.zero)      # opens the warp
        if beyond:
            k.a.place(beyond)
        self._behind = None
        if not queued and k.layout.prefetches:
            self._behind = k.a.reg("behind")
            distance = k.a.reg("distance")
            k.a.csrr(self._behind, Csr.THREAD_ID)
            k.shifted(self._behind, self._behind, log2(k.layout.edge_bytes))
            k.a.li(distance, k.layout.edge_bytes * self.overread(task))
            k.a.sub(self._behind, self._behind, distance)

    def go_on(self, k):
        k.barrier()

    def get_next_edge(self, k):
        if self._streams:
            self._stream(k)
        else:
            self._go_round(k)

    def _stream(self, k):
        """Register a row whenever the unit asks for one, and work on edges until the end."""
        a, rows = k.a, self._rows
        again, ask = a.label("register_row"), a.label("ask")
        k.barrier()
        a.j(ask)
        a.place(again)
        self._register(k, rows)
        self._advance(k, rows)
        a.branch(rows.more(), ask)
        a.weaver_skip(k.full)                     # closes the warp
        a.place(ask)
        self._distribute(k, again)

    def _go_round(self, k):
        a, rows = k.a, self._rows
        top, done = a.label("round"), a.label("gather_done")
        a.place(top)
        answer = rows.ask()
        self._register(k, rows)
        rows.offer(answer)
        if not rows.waits:
            self._advance(k, rows)
        k.barrier()
        if rows.waits:
            self._advance(k, rows)
        self._distribute(k)
        a.branch(~rows.more(), done)
        k.barrier()
        a.j(top)
        a.place(done)

    def _advance(self, k, rows):
        rows.advance()
        k.task.algorithm.expect(k, rows.vertex)

    def _register(self, k, rows):
        a = k.a
        k.phase(1)
        degree = a.reg("degree")
        token = k.task.algorithm.token(k, rows.vertex)
        rows.size(degree)
        a.weaver_reg(token.reg, rows.begin, degree)
        self._form = token.array

    def _distribute(self, k, again=None):
        """Work on edges until the answer has none. If the unit then asks for a row, go to
        ``again``."""
        a = k.a
        k.phase(3)
        top, after, out = (a.label(name) for name in ("edges", "edges_next", "edges_end"))
        place, predicate, works = a.regs("place", "predicate", "works")
        edges = [self._edge(k) for _ in range(self._works)]
        first = edges[0].base.reg
        drains = [a.label("edges_last") for _ in edges[1:]]
        k.edge_phase(2)
        self._decode(k, first, place)
        a.branch(~self._has_work(k, first), out)
        a.place(top)
        self._locate(k, edges[0], place)
        for edge, drain in zip(edges[1:], drains):
            k.edge_phase(2)
            self._decode(k, edge.base.reg, place)
            a.branch(~self._has_work(k, edge.base.reg), drain)
            self._locate(k, edge, place)
        self._turn(k, edges, predicate, works, after)
        a.place(after)
        k.edge_phase(2)
        self._decode(k, first, place)
        a.branch(self._has_work(k, first), top)
        for count, drain in enumerate(drains, 1):
            # Fewer works than a turn takes: the answer without work has activated all lanes.
            a.j(out)
            a.place(drain)
            a.sltu(works, edges[count - 1].base.reg, k.full)
            a.pred(works, k.full)
            drained = a.label("drained") if again else out
            self._turn(k, edges[:count], predicate, works, drained)
            if again:
                a.place(drained)
            k.widen()
            if again:
                a.mv(first, edges[count].base.reg)
        a.place(out)
        if again:
            a.bne(first, k.full, again)

    def _has_work(self, k, base):
        """Condition: an answer has work. All other answers are the same in all lanes."""
        if self._streams:
            return Condition("ltu", base, k.constant(REGISTER, "no_work"))
        return Condition("ne", base, k.full)

    def _edge(self, k):
        return k.edge(Vertex(k.a.reg("base"), self._form))

    @staticmethod
    def _tells_places(k):
        """Whether WEAVER_DEC gives the addresses of the edges' places: those of words."""
        return k.layout.edge_bytes == 4

    def _decode(self, k, base, place):
        """Ask for the warp's next work: its bases and, if the unit tells them, the places of its
        edges."""
        if self._tells_places(k):
            k.a.weaver_dec(base, place)
        else:
            k.a.weaver_dec_id(base)

    def _locate(self, k, edge, place):
        """Load the edge of the work that the warp was given last."""
        if not self._tells_places(k):
            k.a.weaver_dec_loc(place)
            k.layout.to_place(k, place)
        k.edge_phase(3)
        k.layout.get_edge(k, place, [edge])
        if self._behind is not None:
            k.a.sub(place, place, self._behind)
            k.layout.prefetch(k, place)

    def _turn(self, k, edges, predicate, works, after):
        """Gather and sum over the edges of several works. The mask is that of the last work. The
        code continues, or goes to ``after``, with any mask."""
        a, algorithm = k.a, k.task.algorithm
        *full, last = edges
        k.edge_phase(4)
        last_word, = algorithm.gather(k, [last])
        if full:
            k.widen()
            for edge, word in zip(full, algorithm.gather(k, full)):
                here = a.label("edge_next")
                self._sum(k, edge, word, predicate, here)
                if algorithm.selective(k.task):
                    k.widen()
                a.place(here)
            a.sltu(works, last.base.reg, k.full)
        self._sum(k, last, last_word, predicate, after, works if full else None)

    def _sum(self, k, edge, word, predicate, otherwise, works=None):
        """Sum an edge's data in the active lanes in which the edge counts; with ``works``, only in
        the lanes that ``works`` names. If it counts in no lane, go to ``otherwise`` with all lanes.
        """
        a, algorithm = k.a, k.task.algorithm
        if algorithm.selective(k.task):
            algorithm.accepts(k, word, predicate)
            if works is not None:
                a.and_(predicate, predicate, works)
            k.narrow(predicate, otherwise)
        elif works is not None:
            a.pred(works, k.full)
        if algorithm.first_only(k):
            a.weaver_skip(edge.base.reg)
        algorithm.sum(k, edge, word, predicate)
