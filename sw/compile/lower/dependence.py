"""What operators of a program read and write, and whether they may share a kernel."""

from __future__ import annotations

import dataclasses

from sw.compile.lower.fuse import EDGES, TOTAL, VERTICES, WHERE
from sw.lang import facts
from sw.lang import graph_ir as ir
from sw.lang.facts import known, suffices
from sw.lang.passes.chain import certain_loads, chained, loaded_behind, without_stores
from sw.lang.passes.races import start_copies
from sw.lang.uses import written


__all__ = ["Dependence", "behind_beginning", "keeps_copy", "may_tell", "own_loads", "sum_name",
           "word_before"]


@ir.once
def _uniforms(function):
    """The values of the host that a function uses, each once."""
    return tuple(dict.fromkeys(node for node in ir.walk(*function.body)
                               if isinstance(node, ir.Uniform)))


def _stamps_of(program) -> dict:
    """{place of an edge operator: Stamps of the innermost loop around it, or None}."""
    found = {}

    def block(body, stamps):
        for node in body:
            match node:
                case ir.WhileLoop() | ir.ForLoop():
                    block(node.body, known(node, facts.Stamps))
                case ir.HostBranch():
                    block((*node.then, *node.otherwise), stamps)
                case ir.EdgeSetIterator():
                    found[node.position] = stamps

    block(program.body, None)
    return found


def _order_free(program) -> dict:
    """{place of an operator: vectors whose racing words it may read}."""
    found = {}

    def block(body, vectors):
        for node in body:
            match node:
                case ir.WhileLoop() | ir.ForLoop():
                    fact = known(node, facts.OrderFree)
                    block(node.body, vectors | ({fact.vector} if fact else set()))
                case ir.HostBranch():
                    block((*node.then, *node.otherwise), vectors)
                case ir.EdgeSetIterator() | ir.VertexSetIterator():
                    found[node.position] = vectors

    block(program.body, frozenset())
    return found


class Dependence:
    """The rules of a program.

    Parameters
    ----------
    program : GraphProgram
        After all passes.
    edges : dict of int to EdgeSetIterator
        The edge operators by their numbers.
    most_sets, most_made : int
        Most sets that a kernel may read and make, and that it may make.
    owned : dict of int to frozenset of str, optional
        By the numbers of the edge operators whose lanes have all edges of a vertex: the vectors
        whose reductions they collect in registers.
    compared : frozenset of int, optional
        The edge operators behind which a kernel finds what they have changed, though their
        reductions would tell.

    Attributes
    ----------
    defined, marks
        As of :class:`~sw.compile.lower.flow.WordFlow`.
    """

    def __init__(self, program, edges, most_sets, most_made, owned=None, compared=frozenset()):
        self._program, self._edges = program, edges
        self._most_sets, self._most_made = most_sets, most_made
        self._owned, self._compared = owned or {}, compared
        self.defined, self.marks = {}, frozenset()
        self._order_free = _order_free(program)
        self._stamps = _stamps_of(program)
        self._touched = {function.name: function.touched() for function in program.functions
                         if not function.of_edge}
        self._copied: dict[str, set] = {}
        for node in ir.instructions(program.body):
            if isinstance(node, ir.VertexSetIterator):
                self._copied.setdefault(node.apply_f, set()).update(
                    set(node.metadata["start_copies"]) - self._order_free[node.position])

    def functions(self, op) -> list:
        """The functions of an operator."""
        if op.kind != EDGES:
            return [self._program.function(op.what)]
        node = self._edges[op.what]
        return [self._program.function(name) for name in (node.apply_f, node.to_filter)
                if name is not None]

    def copied(self, op) -> list:
        """The vectors that are copied before an operator."""
        if op.kind == EDGES:
            node = self._edges[op.what]
            copies = self.copies(node)
            if self.is_compared(node) and not (word_before(self._program, node) is not None
                                               or keeps_copy(self._program, node)):
                copies.add(node.tracking)
            return sorted(copies)
        return sorted(self._copied[op.what]) if op.kind == VERTICES else []

    def uniforms(self, op) -> list:
        """The values of the host that a kernel uses for an operator, each once."""
        found = [node for function in self.functions(op) for node in _uniforms(function)]
        if op.kind == EDGES:
            found += [node for node in ir.walk(*self.members(op.what))
                      if isinstance(node, ir.Uniform)]
        return list(dict.fromkeys(found))

    def joins(self, group, member) -> bool:
        """Whether an operator may join a group, by what both read and write."""
        if member.op.kind == EDGES or (member.op.kind == VERTICES and self._copied[member.op.what]):
            return False
        if self.sets(*group, member) > self._most_sets \
                or sum(map(self.makes_set, (*group, member))) > self._most_made:
            return False
        if group[0].op.kind == EDGES:
            return self._joins_edges(group, member)
        return self._joins_vertices(group, member)

    def sets(self, *members) -> int:
        """How many sets a kernel reads and makes."""
        return (not members[0].op.every) + sum(map(self.makes_set, members))

    def makes_set(self, member) -> bool:
        """Whether a member of a kernel makes a set in it."""
        return member.op.kind == WHERE or (member.op.kind == EDGES
                                           and self.tells(self._edges[member.op.what]))

    # Words in memory

    def number(self, node) -> int:
        """The number of an edge operator."""
        return next(number for number, other in self._edges.items()
                    if other.position == node.position)

    def reads(self, node) -> frozenset:
        """The vectors whose words an edge operator reads in memory."""
        parts = [part for name in (node.apply_f, node.to_filter) if name is not None
                 for part in self._program.function(name).body]
        stamps = self._stamps.get(node.position)
        return frozenset(
            part.vector for part in ir.walk(*parts, *self.members(self.number(node)))
            if isinstance(part, ir.VectorLoad | ir.Reduce)) | {
                stamp.vector for stamp in (stamps.stamps if stamps else ())}

    def in_memory(self, number):
        """``(read, defined)``: the vectors whose words an edge operator needs in memory, and those
        that it defines, which may need none."""
        node = self._edges[number]
        defined = self.defined[node.position]
        marks = {node.tracking} if node.position in self.marks else set()
        return self.reads(node) - defined - marks, defined

    def collected(self, node) -> dict:
        """The vectors that an edge operator collects in registers of lanes that have all edges of
        their vertex, with the words that change nothing, of those that it does not read."""
        function = self._program.function(node.apply_f)
        owned = self._owned.get(self.number(node), frozenset()) - function.reads()
        return {part.vector: known(part, facts.Identity).word for part in ir.walk(*function.body)
                if isinstance(part, ir.Reduce) and part.vector in owned}

    def vectors(self, group) -> frozenset:
        """All vectors that the functions of a group touch."""
        return frozenset().union(*(function.reads() | function.writes() for member in group
                                   for function in self.functions(member.op)))

    def chain(self, group, live):
        """A group's functions of all its vertices as one function, without the stores of words that
        are not ``live`` behind the group; behind the edges if it has an operator of edges. The
        results of sums are local variables, see :func:`sum_name`. None if a member goes through
        another set, or makes one."""
        rest = list(enumerate(group))[group[0].op.kind == EDGES:]
        if not rest or any(member.on is not None or member.op.kind not in (VERTICES, TOTAL)
                           for _, member in rest):
            return None
        functions = [_with_sum(self.functions(member.op)[0], number) for number, member in rest]
        chain = chained(functions)
        needed = live | loaded_behind(chain.body)
        sums = frozenset(sum_name(group, number) for number, member in rest
                         if member.op.kind == TOTAL)
        return without_stores(chain, self._program_vectors() - needed, sums)

    def _program_vectors(self):
        return {vector.name for vector in self._program.vectors}

    # Functions of vertices

    def _joins_vertices(self, group, member):
        """Behind functions of vertices: what one writes is read by the same vertex only."""
        if member.on is not None and group[member.on].op.kind != WHERE:
            return False
        one = self._touched[member.op.what]
        for each in group:
            other = self._touched[each.op.what]
            if (one.writes & other.others or other.writes & one.others
                    or one.reduces & (other.own | other.writes)
                    or other.reduces & (one.own | one.writes)):
                return False
        return True

    # Behind edges

    def tells(self, node) -> bool:
        """Whether reductions themselves tell which vertices an edge operator changes."""
        return may_tell(self._program, node) and self.number(node) not in self._compared

    def is_compared(self, node) -> bool:
        """Whether a kernel behind an edge operator finds the vertices that it has changed."""
        return node.tracking is not None and not self.tells(node)

    def _joins_edges(self, group, member):
        """At the vertices that edges change, when they are added to the result: the words that are
        read there are final, and edges that come later read none of those that are written."""
        if member.on is None:
            return self._finishes(group, member)
        if member.op.kind == TOTAL or any(other.on is None for other in group[1:]):
            return False
        if member.on and group[member.on].op.kind != WHERE:
            return False
        node, one = self._edges[group[0].op.what], self._touched[member.op.what]
        if not self.tells(node) or one.reduces:
            return False
        function = self._program.function(node.apply_f)
        reduced = function.writes()
        stored = frozenset().union(*(self._touched[each.op.what].stores for each in group[1:]))
        final = suffices(node, "any")
        if one.stores & reduced or one.others & (reduced | stored | one.stores):
            return False
        if one.own & reduced and not final:
            return False
        return self.copies(node, stored | one.stores) <= self.copies(node)

    # Behind the edges of a vertex

    def _finishes(self, group, member):
        """Where lanes have all edges of their vertex, and behind these: words that edges reduce
        are final there if they are collected."""
        node = self._edges[group[0].op.what]
        owned = self._owned.get(group[0].op.what)
        if owned is None or not member.op.every or member.op.kind == WHERE:
            return False
        each = [self._touched[other.op.what] for other in (*group[1:], member)]
        stores = frozenset().union(*(one.stores for one in each))
        reduced = self._program.function(node.apply_f).writes()
        if any(one.reduces or one.others & (stores | reduced)
               or (one.own | one.stores) & (reduced - owned) for one in each):
            return False
        swapped = self.swapped((*group, member))
        chain = chained([self.functions(other.op)[0] for other in (*group[1:], member)])
        return not swapped & self._fixed() and not swapped & loaded_behind(chain.body)

    def swapped(self, group) -> frozenset:
        """The vectors that edges of other lanes still read, and that a group stores behind its
        edges. They have two arrays, which change roles when the group is launched."""
        if group[0].op.kind != EDGES or len(group) == 1 or group[1].on is not None:
            return frozenset()
        node = self._edges[group[0].op.what]
        function = self._program.function(node.apply_f)
        read = {part.vector for part in ir.walk(*function.body)
                if isinstance(part, ir.VectorLoad) and function.parameter(part.index) != 1}
        stores = frozenset().union(*(self._touched[member.op.what].stores for member in group[1:]))
        return frozenset(read - self.copies(node)) & stores

    def _fixed(self):
        """The vectors that have one array: others than functions use them."""
        found = {node.vector for node in ir.instructions(behind_beginning(self._program))
                 if isinstance(node, ir.ElementStore)}
        found |= {node.vector for node in ir.instructions(self._program.body)
                  if isinstance(node, ir.NewQueue)}
        for vectors in self._copied.values():
            found |= vectors
        for number, node in self._edges.items():
            found |= self.copies(node)
            found |= {part.vector for part in ir.walk(*self.members(number))
                      if isinstance(part, ir.VectorLoad)}
            if self.is_compared(node):
                found.add(node.tracking)
        return found

    # Words of the start

    def members(self, number) -> tuple:
        """Expressions that tell by a vertex's words whether it is in the set of an edge operator;
        () if words do not tell, or may be changed by the operator's kernel."""
        node = self._edges[number]
        fact = known(node, facts.Membership)
        if fact is None or node.input_vset == ir.ALL:
            return ()
        written = self._program.function(node.apply_f).writes()
        if self.tells(node):
            for name in self._copied:       # what may join
                written |= self._touched[name].writes
        for part in ir.walk(*fact.test):
            if isinstance(part, ir.VectorLoad) and (
                    not isinstance(part.index, ir.Local)
                    or (part.vector in written and not self.stamp(node, part.vector))):
                return ()
        return fact.test

    def copies(self, node, stored=frozenset()) -> set[str]:
        """The vectors that an edge operator reads from a copy of their words at the start, if the
        vertices that it changes also store the vectors ``stored``."""
        early, stamps = known(node, facts.Early), self._stamps.get(node.position)
        racing = {*(early.vectors if early else ()), *self._order_free[node.position],
                  *(stamp.vector for stamp in (stamps.stamps if stamps else ()))}
        return start_copies(node, racing, stored=stored)

    def all_members(self) -> list:
        """The expressions of :meth:`members` of all operators."""
        return [node for number in self._edges for node in self.members(number)]

    def stamp(self, node, vector):
        """The stamp that a vector is in the loop around an edge operator, or None."""
        stamps = self._stamps.get(node.position)
        return stamps and stamps.stamp(vector)


def may_tell(program, node) -> bool:
    """Whether the reductions of an edge operator can tell which vertices it changes: all those of
    the tracked vector are at the destination."""
    function = program.function(node.apply_f)
    return node.tracking is not None and all(
        function.parameter(part.index) == 1 for part in ir.walk(*function.body)
        if isinstance(part, ir.Reduce) and part.vector == node.tracking)


def word_before(program, node) -> int | None:
    """The tracked word of all vertices whenever an operator of edges begins, if that is known."""
    changes = known(node, facts.Changes)
    return next(known(part, facts.Identity).word
                for part in ir.walk(*program.function(node.apply_f).body)
                if isinstance(part, ir.Reduce) and part.vector == node.tracking) \
        if changes is not None and changes.fresh else None


def keeps_copy(program, node) -> bool:
    """Whether the kernel behind the edges only has to put what they have changed into the copy, so
    that no other kernel copies: nothing else writes the vector behind the beginning."""
    return word_before(program, node) is None and not any(
        other is not node and node.tracking in written(program, other)
        for other in ir.instructions(behind_beginning(program))
        if not isinstance(other, ir.WhileLoop | ir.ForLoop | ir.HostBranch))


def behind_beginning(program) -> tuple:
    """The instructions behind those that the host performs before the device begins."""
    first = next((number for number, node in enumerate(program.body) if not isinstance(
        node, ir.Assign | ir.ElementStore | ir.NewVertexSet | ir.NewQueue)), len(program.body))
    return program.body[first:]


def sum_name(group, number) -> str:
    """The name of the local variable of a chain with the result of a member, which is a sum."""
    return f"sum{number}_{number - (group[0].op.kind == EDGES)}"


def _with_sum(function, number):
    """A function whose result is the value of a local variable."""
    *before, last = function.body or (None,)
    if not isinstance(last, ir.Give):
        return function
    return dataclasses.replace(function, body=(*before, ir.Let(
        name=f"sum{number}", value=last.value, position=last.position)))


def own_loads(chain, without=()) -> list:
    """The loads of a chain that every call makes at its own vertex, and that may be made first."""
    behind = loaded_behind(chain.body)
    return [load for load in certain_loads(chain)
            if load.vector not in behind and load.vector not in without]
