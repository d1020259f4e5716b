"""Virtual warps: a few neighbouring lanes a vertex (Hong et al., PPoPP 2011; CR2, 3.2).

The lanes of a virtual warp take consecutive edges of their vertex. So loads of a row are coalesced,
and a vertex takes fewer turns, by the width of the virtual warp. If a vertex has fewer edges than
its virtual warp has lanes, some lanes have no work. A lane collects from its edges in registers. At
the end the lanes of a virtual warp combine their results by butterfly shuffles, and the first lane
finishes the vertex. Where the first edge that counts ends a search, a vote ends the search for the
whole virtual warp.
"""

from hw.isa import Csr
from sw.kernels.kernel import log2
from sw.kernels.options import Integer
from sw.schedules.vm import VertexMapping


__all__ = ["VirtualWarps"]


class VirtualWarps(VertexMapping):
    """Rounds of one vertex a virtual warp of ``width`` lanes."""
    name = "vwc"
    OPTIONS = VertexMapping.OPTIONS | {
        "width": Integer(2, 32, None, "lanes of a virtual warp, a power of two; left out, "
                         "8, or as many as a warp has if that is fewer")}
    shares_base = True

    def __init__(self, **options):
        super().__init__(**options)
        self._width = self.options["width"] or 8

    @property
    def lanes_apart(self):
        return self._width

    def check_config(self, config):
        width = self.options["width"] or min(8, config.threads)
        if config.threads == 1:
            raise self.refuse("needs warps of at least 2 lanes, configuration "
                              f"{config.name!r} has threads = 1")
        if width & width - 1 or width > config.threads:
            raise self.refuse(f"has virtual warps of {width} lanes; the width must be a power of "
                              f"two from 2 to the {config.threads} lanes of a warp")
        self._width = width

    def init_global(self, k):
        a, width = k.a, self._width
        self._lane, self._leads = a.regs("lane", "leads")
        a.csrr(self._lane, Csr.THREAD_ID)
        a.andi(self._lane, self._lane, width - 1)
        a.seqz(self._leads, self._lane)
        k.shifted(self._lane, self._lane, log2(k.layout.step))
        if k.task.algorithm.first_only(k):
            self._group = a.reg("group")
            first = a.reg("first")
            a.csrr(first, Csr.THREAD_ID)
            a.andi(first, first, -width)
            a.li(self._group, (1 << width) - 1)
            a.sll(self._group, self._group, first)
        super().init_global(k)

    def _take(self, k, rows, some=None):
        base = super()._take(k, rows, some)
        k.a.add(self._next, self._next, self._lane)
        return base

    def _edges_of_lane(self, task):
        return super()._edges_of_lane(task) / self._width

    def _finish(self, k, base):
        algorithm = k.task.algorithm
        if not algorithm.collects(k.task):
            return
        distance = self._width
        while distance > 1:
            distance //= 2
            algorithm.combine(k, distance)
        after = k.a.label("vertex_finished")
        k.narrow(self._leads, after)
        algorithm.finish(k, base)
        k.widen()
        k.a.place(after)

    def _stop(self, k, miss):
        """Make the whole virtual warp leave the loop if an edge counts in any of its lanes."""
        a = k.a
        found = a.reg("found")
        a.xori(found, miss, 1)
        a.vote_ballot(found, found)
        a.and_(found, found, self._group)
        a.seqz(found, found)
        a.and_(self._going, self._going, found)
