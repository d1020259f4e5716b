"""The schedule of GraphPEG: a unit in each core gathers the edges, and keeps lists of vertices.

A warp pops as many edges as it has lanes (:mod:`sw.compile.schedules.works`), with their neighbours
and weights. No kernel reads offsets or edges. Base vertices come to the unit in one of these ways:

*lists*
    The frontier is the unit's lists (:mod:`sw.compile.frontiers.unit_lists`): each core has the
    vertices that it has pushed (``lists=own``), or a share of all lists together (``lists=dealt``).
*another list*
    Each core takes a slice of it.
*a range*
    All vertices take part, and each core takes a slice of them
    (:mod:`sw.compile.kernels.gathering`).
*a range that is filtered*
    A pass before goes through the core's slice in the unit's vertex-list mode: the warps pop
    vertices, and push those that take part. The unit then gathers the edges of this list.
"""

from hw.isa import Csr
from hw.operations import GatherSetting, InputMode
from sw.compile.kernels.gathering import (CoreSlices, by_first_warp, close_list, core_place,
                                          open_list, program, start)
from sw.compile.kernels.kernel import Vertex
from sw.compile.options import Choice, Integer
from sw.compile.kernels.passes import Pass
from sw.compile.schedules.schedule import Schedule
from sw.compile.schedules.works import Turns, UnitWork


__all__ = ["GraphpegSchedule"]


#: Works of a turn, if the user does not say: where every edge counts, and where edges are tested.
_WORKS, _WORKS_SELECTED = 2, 1


class GraphpegSchedule(Schedule):
    """Pops of edges, from the unit of the core."""
    name = "graphpeg"
    compared = True
    needs_unit = "graphpeg"
    counts_edges = reads_lists = drops_edges = True
    ends_rows = False
    AT_ONCE = "works"
    OPTIONS = {"works": Integer(1, 4, None, "works of a warp in a turn; left out, 2, or 1 "
                                "where edges are tested"),
               "lists": Choice(("own", "dealt"), None, "with frontier=lists, whether a core takes "
                               "the vertices that it has pushed itself, or a share of all cores' "
                               "vertices; left out, own where the cores exchange edges, else "
                               "dealt")}

    def check_config(self, config):
        if config.gather != self.needs_unit:
            raise self.refuse(f"needs GraphPEG, which configuration {config.name!r} does not have "
                              f"(gather = {config.gather!r}); gather = {self.needs_unit!r} has it")

    def check(self, task):
        super().check(task)
        self.check_plain(task)
        if task.split != "static":
            raise self.refuse("gives each core's unit its vertices when a superstep begins, so the "
                              f"work cannot have split={task.split}; split=static can")

    def idle(self, task):
        if self._own_lists(task):
            return {}
        return {"lists": "no superstep reads the lists of the cores' units; with a frontier that "
                         "pushes, frontier=lists does"}

    def _own_lists(self, task):
        """Whether the vertices come from the unit's lists."""
        return task.input is not None and task.input.by_unit

    def _filters(self, task):
        """Whether a pass filters the vertices."""
        return not task.queued and task.algorithm.filters(task)

    def reserve(self, task):
        layout = task.layouts[0]
        if task.queued and task.input.noted:
            raise self.refuse("pops each vertex of a list, so it needs a list that has each vertex "
                              "once; deduplicate=yes gives one")
        by_unit = task.frontier is not None and task.frontier.by_unit
        if task.fused and (by_unit or self._filters(task)):
            raise self.refuse("leaves lists of vertices that are complete when a launch ends, so "
                              "fusion=yes cannot have them")
        if not task.queued:
            CoreSlices(task, layout).reserve()
        if self._filters(task):
            task.buffers.reserve(layout.array("filtered"), task.graph.num_vertices
                                 + task.config.threads)
            task.buffers.reserve(layout.array("filtered_lengths"), task.config.cores)

    def build(self, task):
        if not task.queued:
            CoreSlices(task, task.layouts[0]).fill()

    def passes(self, task):
        gather = Pass("", self.emit)
        if not self._filters(task):
            return [gather]
        return [Pass("filter", self._filter, gathers=False, leads=False), gather]

    # The pass that filters vertices

    def _filter(self, k):
        a, algorithm = k.a, k.algorithm
        array = algorithm.base_array(k.task)
        with by_first_warp(k), a.scope("distance", "count", "place", "length") as (
                distance, count, place, length):
            self._filtered(k, distance, count, place, length)
            open_list(k, place, count, length)
            a.li(place, k.address(array))
            a.add(place, place, distance)
            start(k, place, count, InputMode.LIST | InputMode.RANGE)
        vertex = Vertex(a.reg("vertex"), array)
        data, member = a.regs("filter", "member")
        top, none, out = (a.label(name) for name in ("vertices", "vertices_none", "vertices_end"))
        k.phase(1)
        a.place(top)
        a.pop_vert(vertex.reg)
        a.beq(vertex.reg, k.full, out)
        algorithm.filter_data(k, vertex, data)
        algorithm.filter(k, vertex, data, member)
        k.narrow(member, none)
        a.push_vert(vertex.reg)
        a.place(none)
        a.j(top)
        a.place(out)
        close_list(k)

    def _filtered(self, k, distance, count, place, length):
        """The core's slice, its place in the array of filtered vertices, and the address of the
        number of these."""
        layout, a = k.layout, k.a
        CoreSlices(k.task, layout).load(k, distance, count)
        core_place(k, length, k.address(layout.array("filtered_lengths")), 4)
        a.li(place, k.address(layout.array("filtered")))
        a.add(place, place, distance)

    # The kernel that works on edges

    def emit(self, k):
        task, layout = k.task, k.layout
        works = self.at_once(task, _WORKS_SELECTED if task.algorithm.selective(task) else _WORKS)
        base, weighted = task.algorithm.base_array(task), task.algorithm.weighted
        lists = self.options["lists"] or ("own" if task.config.exchanges else "dealt")
        dealt = self._own_lists(task) and task.config.cores > 1 and lists == "dealt"
        with by_first_warp(k):
            first, count = k.a.regs("first", "count")
            own = self._own_lists(task) and not dealt
            if own:
                k.input.own(k, first, count)
            if task.frontier is not None and task.frontier.by_unit:
                task.frontier.open_lists(k)
            program(k, {GatherSetting.OFFSETS: k.address(layout.row_array) - k.address(base)})
            if weighted:
                program(k, {GatherSetting.WEIGHTS: k.address(layout.array("weights"))
                            - k.address(layout.array("neighbors"))})
            if k.config.graphpeg_filter:
                program(k, k.algorithm.neighbor_settings(k))
            if own:
                start(k, first, count)
            elif not dealt:
                self._start(k, first, count)
        if task.fused:
            k.barrier()         # a pop that finds the end of the superstep before is answered
        k.phase(3)
        pops = _Pops(k, works)
        if dealt:
            _deal(k, pops)
        else:
            pops.distribute()

    def _start(self, k, first, count):
        """Start the unit on the core's vertices, which are in no list of the unit; ``first`` and
        ``count`` are registers to use."""
        task, a = k.task, k.a
        if task.queued:
            self._slice_of_list(k, first, count)
            start(k, first, count)
        elif self._filters(task):
            distance, length = a.regs("distance", "length")
            self._filtered(k, distance, count, first, length)
            a.lw(count, length)
            start(k, first, count)
        else:
            CoreSlices(task, k.layout).load(k, first, count)
            a.add(first, first, k.constant(k.address(task.algorithm.base_array(task))))
            start(k, first, count, InputMode.RANGE)

    @staticmethod
    def _slice_of_list(k, first, count):
        """The core's slice of the list of the superstep: as many entries as there are cores, and
        less for the last ones."""
        a, cores = k.a, k.config.cores
        a.mv(first, k.input.start)
        a.sub(count, k.input.end, first)
        a.srli(count, count, 2)
        if cores > 1:
            core = a.reg("core")
            a.csrr(core, Csr.CORE_ID)
            _share(k, core, first, count)


class _Pops(Turns):
    """The loops that pop edges."""

    def make_work(self, index):
        k = self._k
        token = k.a.reg(f"token{index}")
        edge = k.edge(Vertex(token, k.algorithm.base_array(k.task)), index)
        parts = [edge.neighbor.reg] + [edge.weight] * (edge.weight is not None)
        return UnitWork(token, None, edge, (token, *parts))

    def decode(self, work):
        k = self._k
        k.edge_phase(2)
        k.a.weaver_dec(work.token, work.edge.neighbor.reg)
        k.edge_phase(3)
        if work.edge.weight is not None:
            k.a.edge_weight(work.edge.weight)


def _deal(k, pops):
    """The core's share of all lists together, as if they lay one behind the other: parts of one
    list or more, one after the other."""
    a, cores = k.a, k.config.cores
    place, length, left, low, high = a.regs("list", "length", "lists_left", "low", "high")
    first, count = a.regs("first", "count")
    top, none = a.label("lists"), a.label("lists_none")
    k.input.of_core_0(k, place, length)
    with a.scope("sum", "word") as (total, word):
        a.lw(total, length)
        for core in range(1, cores):
            a.lw(word, length, core * k.input.LENGTHS_APART)
            a.add(total, total, word)
        a.mv(low, k.a.zero)
        a.csrr(word, Csr.CORE_ID)
        _share(k, word, low, total)
        a.srli(low, low, 2)
        a.add(high, low, total)
    # From here on the ends of the share are counted from the beginning of the present list.
    a.li(left, cores)
    a.place(top)
    with a.scope("entries", "begin") as (entries, begin):
        a.lw(entries, length)
        k.maximum(begin, low, a.zero, signed=True)
        k.minimum(count, high, entries, signed=True)
        a.sub(count, count, begin)
        a.slli(first, begin, 2)
        a.add(first, first, place)
        a.sub(low, low, entries)
        a.sub(high, high, entries)
    a.bge(a.zero, count, none)
    with by_first_warp(k):
        start(k, first, count)
    k.barrier()
    pops.distribute()
    k.barrier()
    a.place(none)
    k.step(place, k.input.apart(k.task))
    a.addi(length, length, k.input.LENGTHS_APART)
    a.addi(left, left, -1)
    a.bnez(left, top)


def _share(k, core, first, count):
    """``first`` and ``count`` of a list, a register each, become those of the share of a core,
    whose number is a register: the entries divided by the cores, and one more for the first cores.
    """
    a, cores = k.a, k.config.cores
    with a.scope("share", "more", "product") as (share, more, product):
        k.divided(share, count, cores)
        k.times(product, share, cores)
        a.sub(more, count, product)                     # entries beyond equal shares
        a.sltu(count, core, more)
        a.mul(product, share, core)
        a.add(count, count, share)
        k.minimum(more, core, more)                     # of these, before the core's share
        a.add(product, product, more)
        a.slli(product, product, 2)
        a.add(first, first, product)
