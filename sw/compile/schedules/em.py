"""Edge mapping: a lane an edge, whatever its vertices.

The warps go through all edges in the order of their base vertices, a block of consecutive edges a
warp at a time. The work is even, and every load of the graph is coalesced. But each edge's base
vertex has to be loaded as well, and edges whose base vertex is not in the frontier cost time too.
"""

from sw.compile.asm.assembler import Condition
from sw.compile.kernels.kernel import Vertex
from sw.compile.options import Integer
from sw.compile.kernels.split import split
from sw.compile.schedules.schedule import Schedule


__all__ = ["EdgeMapping"]


#: Edges of a lane in a block, if the user does not say.
_UNROLL = 4


class EdgeMapping(Schedule):
    """Blocks of a few edges a lane, ``threads`` apart, whose loads are under way together."""
    name = "em"
    compared = True
    needs = "edges"
    ends_rows = False
    OPTIONS = {"unroll": Integer(1, 8, None, "edges of a lane in a block; left out, 4",
                                 power=True)}

    def edge_block(self, task):
        return self.at_once(task, _UNROLL) * task.config.threads

    def emit(self, k):
        _Blocks(k, self.edge_block(k.task)).emit()


class _Blocks:
    """The kernel: blocks of ``block`` edges."""

    def __init__(self, k, block):
        layout = k.layout
        self._k, self._count = k, block // k.config.threads
        self._location = k.a.reg("location")
        index = k.a.reg("index")
        k.lane_index(index, per_warp=block)
        k.scaled(self._location, index, layout.first_edge(k), layout.edge_bytes)
        self._end = layout.edges_end(k)
        self._split = split(k, layout.edge_bytes * block)
        self._split.start()

    def emit(self):
        """Emit the loop."""
        k = self._k
        k.phase(3)
        condition = Condition("ltu", self._location, self._end)
        with k.a.while_uniform(condition, "edges"):
            if k.algorithm.filters(k.task) and not k.layout.active:
                self._filtered()
            else:
                self._all()

    def _all(self):
        k, a, algorithm, here = self._k, self._k.a, self._k.algorithm, self._location
        bases = self._bases()
        edges = [k.edge(base, index) for index, base in enumerate(bases)]

        def search():
            k.edge_phase(2)
            k.layout.search_vid(k, here, [base.reg for base in bases])

        if k.layout.based:
            search()
        k.edge_phase(3)
        k.layout.get_edge(k, here, edges)
        if not k.layout.based:
            search()
        left = None
        if k.layout.active:
            left = a.reg("left")
            a.sub(left, self._end, here)
        self._split.take(here)
        k.edge_phase(4)
        some = None
        if algorithm.selective(k.task) or left is not None:
            some = a.reg("counts")
        for index, (edge, data) in enumerate(zip(edges, algorithm.gather(k, edges))):
            if some is None:
                algorithm.sum(k, edge, data, None)
                continue
            algorithm.counts(k, data, some, left, k.layout.spacing(k) * index)
            with k.only(some, "edge_next"):
                algorithm.sum(k, edge, data, some)

    def _bases(self):
        k = self._k
        array = k.algorithm.base_array(k.task)
        return [Vertex(k.a.reg(f"base{index}"), array) for index in range(self._count)]

    def _filtered(self):
        """The neighbour is loaded only where the base vertex is in the frontier."""
        k, a, none = self._k, self._k.a, self._k.a.label("edges_none")
        bases = self._bases()
        words = a.regs(*(f"word{index}" for index in range(self._count)))
        k.edge_phase(2)
        k.layout.search_vid(k, self._location, [base.reg for base in bases])
        here = a.reg("here")
        a.mv(here, self._location)
        self._split.take(self._location)
        self._test(bases, words)
        if self._count > 1:
            k.narrow(k.any_of(words), none)
        for index, (base, word) in enumerate(zip(bases, words)):
            with k.only(word, "edge_next") as after:
                self._one(base, here, index, word, after)
        a.place(none)

    def _test(self, vertices, words):
        """``words`` = 1 where the base vertex is in the frontier, else 0."""
        k, algorithm = self._k, self._k.algorithm
        for vertex, word in zip(vertices, words):
            algorithm.filter_data(k, vertex, word)
        for vertex, word in zip(vertices, words):
            algorithm.filter(k, vertex, word, word)

    def _one(self, base, here, index, predicate, after):
        k, where, edge = self._k, self._k.a.reg("where"), self._k.edge(base)
        k.a.addi(where, here, k.layout.spacing(k) * index)
        k.edge_phase(3)
        k.layout.get_edge(k, where, [edge])
        k.edge_phase(4)
        k.algorithm.take(k, edge, predicate, after)
