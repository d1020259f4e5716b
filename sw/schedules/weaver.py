"""The Weaver's schedule: hardware hands out the edges (SparseWeaver, figure 4.9).

Each round, every lane registers one vertex of the frontier. Then all warps ask the Weaver for work
until there is none: as many edges as there are lanes, of however many vertices, in the order of
the vertices, so that the loads of the edges are coalesced and no lane is idle.

There is a barrier after registration, as the table has to be complete before the first request, and
one before the next round's, as a registration would give new work to a warp that has not read yet
that this round's is done.

WEAVER_DEC_ID sets the mask: all lanes, less those without work, which are the highest. So lane 0 is
active at the top of the loop, and nothing ever has to restore the mask within.
"""

from sw.kernels.kernel import Edge, Vertex
from sw.kernels.rows import Rows
from sw.schedules.base import Schedule


__all__ = ["Weaver"]


_BARRIER = 0


class Weaver(Schedule):
    """Rounds of registration and distribution."""
    name = "weaver"
    location_step = 1

    @classmethod
    def check_config(cls, config):
        if config.weaver == "none":
            raise cls.refuse(f"needs a Weaver, which configuration {config.name!r} does not have "
                             "(weaver = 'none'); weaver = 'fsm' has one")

    def init_global(self, k):
        config = k.task.config
        self._rows = Rows(k, config.weaver_table_entries // config.threads)
        self._rows.start()
        self._warps = k.constant(config.warps, "warps")
        self._barrier = k.constant(_BARRIER)

    def get_next_edge(self, k):
        a, rows = k.a, self._rows
        top, done = a.label("round"), a.label("gather_done")
        a.place(top)
        self._register(k, rows)
        rows.advance()
        a.bar(self._barrier, self._warps)
        self._distribute(k, rows)
        a.branch(~rows.more(), done)
        a.bar(self._barrier, self._warps)
        a.j(top)
        a.place(done)

    def _register(self, k, rows):
        a = k.a
        a.phase(1)
        with a.scope("degree") as (degree,):
            token = k.task.algorithm.token(k, rows.vertex)
            a.sub(degree, rows.end, rows.begin)
            if rows.conditional:
                with a.scope("present") as (present,):
                    rows.test(present)
                    a.neg(present, present)
                    a.and_(degree, degree, present)
            a.weaver_reg(token.reg, rows.begin, degree)
        self._form = token.array

    def _distribute(self, k, rows):
        a, algorithm = k.a, k.task.algorithm
        a.phase(3)
        top, after, out = (a.label(name) for name in ("edges", "edges_next", "edges_end"))
        with a.scope("base", "location", "neighbor", "predicate") as registers:
            base, location, neighbor, predicate = registers
            edge = Edge(Vertex(base, self._form),
                        Vertex(neighbor, algorithm.neighbor_array(k.task)))
            a.weaver_dec_id(base)
            a.beq(base, k.full, out)
            a.place(top)
            a.weaver_dec_loc(location)
            k.task.format.get_edge(k, location, [neighbor])
            data, = algorithm.gather(k, [edge])
            if algorithm.selective(k.task):
                algorithm.accepts(k, data, predicate)
                k.narrow(predicate, after)
            if algorithm.first_only(k.task):
                a.weaver_skip(base)
            algorithm.sum(k, edge, data, predicate)
            a.place(after)
            a.weaver_dec_id(base)
            a.bne(base, k.full, top)
            a.place(out)
