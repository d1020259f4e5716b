"""Loops that find the vertices of a graph level by level (breadth-first search).

The form: a loop that begins at one vertex; a round counts the level, goes through the edges from
the frontier to the vertices whose level is not known, reduces a vector of vertices at the
destination to its smallest source, and gives the vertices that this changed their level.

Why every order of the lanes gives the same result
--------------------------------------------------
Levels of L and less were written before the launch, and no word of the level changes in superstep L
but from infinity to L + 1. So a lane that reads a level greater than L has a vertex that was not
found before this superstep, and reads as good as at the superstep's start. Another lane may have
found the vertex by now. Only such vertices get a parent. So no copies are needed, and the function
that stores the level is fused into the kernel of the edges.

*Push.* For every edge from the frontier to such a vertex, an atomic minimum puts the edge's source
into the parent, from an initial 2**32 - 1. So the minimum over all these sources stays. The one
lane that reads the initial level back is the first, and it alone adds the vertex to the next
frontier.

*Pull.* Kernels go only through rows of vertices that were not found before. If a source's level is
at most L, then the level is L: had it been less, the vertex would have been found before. Rows
ascend, so the first source that counts is the smallest. A lane that has the row for itself stops
there. The Weaver hands out a row's edges in their order. When a lane tells the Weaver to skip the
rest of the row, all edges up to that lane's edge have been handed out. Each edge that counts puts
its source into the parent by atomic minimum. So skipping prevents only larger sources, whenever it
takes effect.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np

from sw.compile.kernels.fusion import Loop
from sw.compile.kernels.kernel import Vertex
from sw.compile.lowered import LoweredKernel, LoweringDecision
from sw.lang import graph_ir as ir
from sw.lang.types import WORD, Type
from sw.compile.lower.loops.one_loop import LoopRun, only_loop, start_of
from sw.compile.lower.places import place_of


__all__ = ["LevelSearch"]


@dataclasses.dataclass(frozen=True)
class _Form:
    """The vectors and the set of a program."""
    level: str  #: Vectors.
    parent: str  #: Vectors.
    frontier: str  #: The set.


class LevelSearch(LoopRun):
    """One run. Levels and parents of vertices that are not found are -1, as int32."""
    switches = least_wins = True
    way = "as a search by levels"

    @classmethod
    def form_of(cls, program):
        loop = only_loop(program)
        match loop and loop.body:
            case (ir.Assign() as count, ir.EdgeSetIterator(transposed=False) as edges,
                  ir.VertexSetIterator() as settles):
                pass
            case _:
                return None
        start = start_of(program, edges.output_vset)
        stores = program.function(settles.apply_f).writes()
        if len(stores) != 1 or start is None or edges.to_filter is None \
                or edges.tracking is None or edges.output_vset is None:
            return None
        form = _Form(stores.pop(), edges.tracking, edges.output_vset)
        return form if _is_search(program, loop, form, count.name, start) else None

    def __init__(self, graph, **given):
        super().__init__(graph, **given)
        self._directions = None
        self._level_array, self._parent = map(self.array, (self.form.level, self.form.parent))
        self._start, = self.beginning.values[self.form.frontier]

    def base_array(self, task):
        return self._level_array

    neighbor_array = base_array

    def frontiers(self, task):
        return ("queue", "counter", "bitmap", "bytemap") \
            if task.switches or (task.direction == "push" and not task.gathers) else ("counter",)

    def frontier_reason(self, task):
        if task.gathers:
            return "the levels gathered for all edges tell which sources are in the frontier"
        return ("a superstep visits all vertices that are not found yet, and levels tell which of "
                "their neighbours are in the frontier")

    def reverses(self, task):
        return task.direction == "pull"

    def pending_data(self, k, base, into):
        k.a.lw(into, base.reg)

    def pending(self, k, data, into):
        k.a.addi(into, data, 1)
        k.a.seqz(into, into)

    def adds_once(self, task, asked):
        return asked or self._settles(task)

    @staticmethod
    def _settles(task):
        """Whether a lane has all edges of the vertex it pulls for, and stops at the first that
        counts."""
        return task.direction == "pull" and task.alone and task.layouts[0].ascending

    def first_only(self, k):
        # The first source of an ascending row is the row's smallest. If the vertex has other rows,
        # the parent is the smallest of their sources. But a Weaver would skip all of the vertex's
        # rows.
        return (k.task.direction == "pull" and k.layout.ascending
                and (k.task.schedule.owns_base or not k.layout.virtual))

    def selective(self, task):
        return True

    def filters(self, task):
        return True

    # Memory

    @property
    def may_fail(self):
        return False                    # a level is at most the number of vertices

    def init_vertex_value(self, task):
        # A padding vertex must never be in a frontier, and must never count as not yet found.
        self.fill(task, {self.form.level: -1 if task.direction == "push" else 0,
                         self.form.parent: -1})
        task.frontier.init(task, task.vertices.number(self._start))

    # Kernels

    def kernels(self, task):
        return dict.fromkeys(task.sides or ["gather"], ("gather", None))

    def lowered(self, task):
        loop: Any = only_loop(self.program)
        found, (_, edges, settle) = [], loop.body
        for name in self.kernels(task):
            side = task.sides.get(name, task)
            test = "begin" if side.direction == "pull" else "edge"
            found.append(LoweredKernel(
                name, ((test, edges.to_filter), ("edge", edges.apply_f), ("added", settle.apply_f)),
                side.input.name, side.frontier.name))
        return found

    def decisions(self, task):
        loop: Any = only_loop(self.program)
        where = place_of(self.program, loop.body[1])
        found = [LoweringDecision("start words without a copy", True,
                          "stamps: each round stores a larger word", where)]
        for side in task.sides.values() or [task]:
            if side.direction == "pull":
                lacks = _lacks_early_exit(side)
                found.append(LoweringDecision("early exit", lacks is None, lacks or
                                              "suffices: the first of an ascending row", where))
        return found

    def prepare(self, k):
        k.open_frontier()
        self._number, self._following = k.frontier.number, None
        if not k.frontier.listed:
            self._following = k.frontier.following
        elif k.task.direction == "pull" or not k.task.queued:
            self._following = k.a.reg("following")
            k.a.addi(self._following, self._number, 1)

    @staticmethod
    def _asks(k):
        """Whether the frontier, and not the level, tells if a vertex is in the frontier."""
        return k.task.direction == "push" and k.input.keeps and not k.input.listed

    def filter_data(self, k, base, into):
        if self._asks(k):
            k.input.member_data(k, base, into)
        else:
            k.a.lw(into, base.reg)

    def filter(self, k, base, data, into):
        if self._asks(k):
            k.input.member(k, base, data, into)
        elif k.task.direction == "pull":
            k.a.sltu(into, self._number, data)
        else:
            k.a.sub(into, data, self._number)
            k.a.seqz(into, into)

    def token(self, k, base):
        """A push needs the base vertex only as a parent, by its number."""
        if not k.task.queued or k.task.direction == "pull" or k.task.new_ids is not None:
            return base
        return Vertex(k.number(base, k.a.reg("source")), None)

    def gather(self, k, edges):
        """The levels of the neighbours."""
        if k.task.direction == "pull":
            return [self.source_word(k, edge, self._level_array, lambda i=i: k.a.reg(f"level{i}"))
                    for i, edge in enumerate(edges)]
        levels = k.a.regs(*(f"level{i}" for i in range(len(edges))))
        for edge, level in zip(edges, levels):
            k.a.lw(level, edge.neighbor.reg)
        return levels

    def accepts(self, k, data, into, counts=True):
        # In a pull the neighbour is the source, and its level is L or less if it was found before.
        # In a push it is the destination, which was found before if its level is L or less.
        if counts == (k.task.direction == "pull"):
            k.a.sltu(into, data, self._following)
        else:
            k.a.sltu(into, self._number, data)

    def sum(self, k, edge, data, predicate):
        a, task = k.a, k.task
        pull = task.direction == "pull"
        source, target = (edge.neighbor, edge.base) if pull else (edge.base, edge.neighbor)
        known = a.label("known")
        pointer = a.reg("pointer")
        number = k.original(source)
        pointer = k.pointer(target, self._parent, pointer)
        if self._settles(task):
            a.sw(number, pointer)
        else:
            a.amominu_w(a.zero, number, pointer)
        self._find(k, target, data, predicate, known)
        k.frontier.add(k, target, predicate, known)
        a.place(known)

    def _find(self, k, target, data, predicate, known):
        """Give a vertex its level, and continue with the lanes that add it to the frontier."""
        a, task = k.a, k.task
        # A lane with all edges of its vertex is the only one to find the vertex.
        first = task.frontier.deduplicate and not self.adds_once(task, False)
        if task.direction == "push" and (first or task.frontier.keeps):
            # A lane that sees the vertex found by another lane does not add it.
            a.addi(predicate, data, 1)
            a.seqz(predicate, predicate)
            k.narrow(predicate, known)
        level = predicate
        if self._following is None:
            a.addi(level, self._number, 1)
        else:
            level = self._following
        if not first:
            a.sw(level, target.reg)
            return
        a.amominu_w(predicate, level, target.reg)
        a.addi(predicate, predicate, 1)
        a.seqz(predicate, predicate)
        k.frontier.narrow(k, predicate, known)

    # Host

    def loop(self, task):
        return Loop((("gather",),))

    def drive(self, session):
        task, frontier = session.task, session.task.frontier
        if not task.sides:
            return super().drive(session)
        name = next(iter(task.sides))
        self._directions = names = []
        for level in itertools.count():
            names.append(name)
            session.launch(name, frontier.argument(task, level))
            added = frontier.added(session, level)
            if not added:
                return level + 1
            name = task.next_side(added)

    def outputs(self, session):
        return {name: session.read_vertices(self.array(name), np.int32)
                for name in self.program.outputs}

    def golden(self):
        return {name: words.view(np.int32) for name, words in super().golden().items()}

    def parameters(self):
        found: dict[str, object] = dict(super().parameters())
        if self._directions is not None:
            found["directions"] = self._directions
        return found


def _lacks_early_exit(task):
    """The fact that is missing to end a row at its first edge that counts, or None."""
    if not task.schedule.ends_rows:
        return f"rows: schedule {task.schedule.name!r} hands out all edges of a row"
    if not all(layout.ascending for layout in task.layouts):
        return f"ascending rows: format {task.plan.format!r} orders the vertices anew"
    if not task.schedule.owns_base and any(layout.virtual for layout in task.layouts):
        return "one row a vertex: a unit or a warp would skip all rows of the vertex"
    return None


def _is_search(program, loop, form, counted, start):
    """Whether a program of the right instructions has the form of this module.

    Parameters
    ----------
    program : GraphProgram
    loop : WhileLoop
    form : _Form
    counted : str
        The variable of the host that counts levels.
    start : expression
        The first vertex.
    """
    here = {"position": loop.position}

    def number(value, kind):
        return ir.Literal(value=value, type=kind, **here)

    def parameter(function, place):
        return ir.Local(name=function.parameters[place], type=Type.VERTEX, **here)

    _, edges, settles = loop.body
    wants, visit, settle = map(program.function, (edges.to_filter, edges.apply_f, settles.apply_f))
    last, level = number(WORD - 1, Type.UINT), ir.HostName(name=counted, type=Type.WHOLE, **here)
    word = ir.VectorLoad(vector=form.level, index=parameter(wants, 0), type=Type.UINT, **here)
    before = [node for node in program.body if isinstance(node, ir.ElementStore | ir.Assign)
              and (isinstance(node, ir.ElementStore) or node.name == counted)]
    zero = ir.ElementStore(vector=form.level, index=start, value=number(0, Type.UINT), **here)
    return (
        loop.condition == ir.SetSize(name=form.frontier, **here)
        and edges.input_vset == settles.input_vset == form.frontier
        and loop.body[0] == ir.Assign(name=counted, value=ir.Binary(
            operation="+", left=level, right=number(1, Type.WHOLE), type=Type.WHOLE, **here),
            **here)
        and wants.body == (ir.Give(value=ir.Binary(
            operation="==", left=word, right=last, type=Type.BOOL, **here), **here),)
        and visit.body == (ir.Reduce(
            operation="min", vector=form.parent, index=parameter(visit, 1),
            value=parameter(visit, 0), **here),)
        and settle.body == (ir.VectorStore(
            vector=form.level, index=parameter(settle, 0),
            value=ir.Uniform(value=level, type=Type.UINT, **here), **here),)
        and program.vector(form.level).initial == last
        and program.vector(form.parent).initial == number(WORD - 1, Type.VERTEX)
        and [node for node in before if isinstance(node, ir.Assign)]
        == [ir.Assign(name=counted, value=number(0, Type.WHOLE), **here)]
        and [node for node in before if getattr(node, "vector", None) == form.level] == [zero]
        and all(node.index == start for node in before if isinstance(node, ir.ElementStore)))
