"""Kernels with a lane a vertex: functions of vertices, filters, sums, and the upkeep of sets.

A lane goes through the vertices of the graph, or through the entries of a set's list; where sets
have no lists, through all vertices, and takes those in the set. Without a vertex it is inactive
while the functions' code runs. Members of a group pass on the words that they
have loaded, as long as no member has stored them.
"""

import contextlib
import dataclasses

from hw.isa import Csr
from sw.compile.asm.assembler import Condition
from sw.compile.frontiers.pile import PILE_KERNELS
from sw.compile.frontiers.pool import Fields
from sw.compile.frontiers.sets import Made, read as read_set
from sw.compile.kernels import gathering
from sw.compile.kernels.distribution import Scan
from sw.compile.kernels.kernel import Vertex
from sw.compile.kernels.vertices import each_vertex
from sw.compile.lower.dependence import keeps_copy, own_loads, sum_name, word_before
from sw.compile.lower.fuse import TOTAL, VERTICES, WHERE
from sw.compile.lower.host_numbers import SLOTS, THRESHOLD, VERTEX, WORD, load_slot
from sw.lang import graph_ir as ir
from sw.lang.passes.chain import certain_loads


__all__ = ["VertexKernels", "add_total", "count", "joined"]


class VertexKernels:
    """Emits the kernels of a program that go through vertices.

    Parameters
    ----------
    parent : ProgramAlgorithm
    """

    def __init__(self, parent):
        self._parent = parent

    def emit(self, k, kind, what):
        """Emit a kernel: ``kind`` is the name of the method, ``what`` its argument; or of a pile
        the queue."""
        if kind == "group":
            self._group(k, *what)
        elif kind in PILE_KERNELS:
            self._parent.piles[what].emit(k, kind, self._parent.pool)
        else:
            getattr(self, f"_{kind}")(k, what)

    # Slots

    @staticmethod
    def _slot(k, number):
        """The launch's argument becomes the word of a slot."""
        a = k.a
        word, place = a.regs("word", "place")
        a.csrr(word, Csr.MSCRATCH)
        a.li(place, k.address(SLOTS))
        a.sw(word, place, 4 * number)

    def _store(self, k, array):
        """The element of ``array`` at the vertex in a slot becomes the word in a slot."""
        a = k.a
        vertex, word = load_slot(k, VERTEX, "vertex"), load_slot(k, WORD, "word")
        pointer = a.reg("pointer")
        a.sw(word, k.pointer(Vertex(vertex, None), array, pointer))

    # Loops

    @contextlib.contextmanager
    def _every(self, k):
        """The body for a vertex of each lane, of all vertices. Gives the vertex, and whether there
        is one."""
        a, anchor = k.a, self._parent.anchor
        end = k.constant(k.address(anchor) + 4 * k.task.graph.num_vertices, "end")
        with each_vertex(k, anchor) as pointers:
            active = a.reg("active")
            a.sltu(active, pointers[anchor], end)
            yield Vertex(pointers[anchor], anchor), active

    def _open(self, k, fields, index=0):
        """In the prologue: the input that a set is, for :meth:`_of`."""
        read = read_set(fields, index)
        read.prepare(k)
        return read

    @contextlib.contextmanager
    def _of(self, k, read):
        """The body for a vertex of each lane, of a set; as :meth:`_every`."""
        if read.listed:
            with self._listed(k, read) as found:
                yield found
            return
        with self._every(k) as (vertex, active):
            self._narrow(k, [read], vertex, active)
            yield vertex, active

    def _begin(self, k, sets):
        """At the end of the prologue: make ready the ``sets`` that the kernel makes."""
        if self._parent.pool.unit is not None and sets:
            with gathering.by_first_warp(k):
                for made in sets:
                    made.open()
            k.barrier()

    @staticmethod
    def _narrow(k, inputs, vertex, active):
        """``active`` = 0 where the vertex is in none of the inputs."""
        members = k.a.regs(*["member"] * len(inputs))
        for read, member in zip(inputs, members):
            read.member_data(k, vertex, member)
        for read, member in zip(inputs, members):
            read.member(k, vertex, member, member)
        k.a.and_(active, active, k.any_of(members))

    @contextlib.contextmanager
    def _listed(self, k, read):
        """The body for an entry of each lane, of a list; as :meth:`_every`."""
        a = k.a
        entry, vertex, active = a.regs("entry", "vertex", "active")
        step = read.walk(k, entry)
        k.phase(5)
        with a.while_uniform(Condition("ltu", entry, read.end), "entries"):
            a.lw(vertex, entry)
            found, note = Vertex(vertex, self._parent.anchor), None
            if read.noted:
                note = a.reg("note")
                read.note_data(k, found, note)
            read.present(k, entry, note, active)
            k.step(entry, step)
            yield found, active

    # Groups

    def _group(self, k, group, turned):
        a, parent = k.a, self._parent
        chain = parent.groups.chain(group)
        if chain is not None and group[0].op.every and not parent.dependence.copied(group[0].op) \
                and all(member.op.kind == VERTICES for member in group) and self._goes_over(chain):
            self._chain(k, group, turned, chain)
            return
        fields, words = parent.fields(group), parent.load_words(k, group)
        read = None if group[0].op.every else self._open(k, fields)
        index = int(read is not None)
        made, chosen, sums = {}, {}, {}
        scan = Scan(k) if any(member.op.kind == WHERE for member in group) else None
        for number, member in enumerate(group):
            if member.op.kind == WHERE:
                made[number] = Made(k, fields, index)
                made[number].prepare(scan)
                chosen[number] = a.reg("chosen")
                index += 1
            elif member.op.kind == TOTAL:
                sums[number] = a.regs("low", "high")
                for register in sums[number]:
                    a.mv(register, a.zero)
        self._begin(k, made.values())
        with self._every(k) if read is None else self._of(k, read) as (vertex, active):
            for register in chosen.values():
                a.mv(register, a.zero)
            with k.only(active, "vertex_next"):
                if chain is None:
                    self._members(k, group, words, vertex, chosen, sums, turned)
                else:
                    self._chained(k, group, words, vertex, sums, chain, turned)
            for number, each in made.items():
                each.add_chosen(vertex, chosen[number])
        for each in made.values():
            each.finish()
        for low, high in sums.values():
            add_total(k, low, high)

    def _chained(self, k, group, words, vertex, sums, chain, turned):
        """The work of the members on a vertex, if they are one function."""
        copies = self._parent.dependence.copied(group[0].op)
        known = {load: k.a.reg(load.vector) for load in own_loads(chain, copies)}
        emitter = self._parent.emitter(k, joined(words), copies, turned)
        emitter.load_own(known, vertex)
        emitter.run(chain, [vertex])
        for number, (low, high) in sums.items():
            count(k, low, high, emitter.local(sum_name(group, number)))

    def _goes_over(self, chain):
        """Whether a function may run over the vertices behind the last: it touches no words but
        those of its own vertex, and of vertices that it surely finds in words."""
        elsewhere = chain.touched().others
        return not any(isinstance(node, ir.Reduce) for node in ir.walk(*chain.body)) and (
            not elsewhere or self._parent.addresses.follows(elsewhere))

    def _chain(self, k, group, turned, chain):
        """The kernel of one function that may run over the vertices behind the last."""
        a, parent = k.a, self._parent
        words, array = joined(parent.load_words(k, group)), parent.arrays(turned)
        own = own_loads(chain)
        arrays = [array(name) for name in dict.fromkeys(
            [load.vector for load in own] + [
                node.vector for node in ir.walk(*chain.body)
                if isinstance(node, ir.VectorStore)])]
        early, late = _early_stores(chain)
        with each_vertex(k, *arrays) as pointers:
            places = {name: pointers[name] for name in arrays}
            known = {load: a.reg(load.vector) for load in own}
            for load, word in known.items():
                a.lw(word, places[array(load.vector)])
            # While the words come: stores that need none, and pointers that are not needed again.
            emitter = parent.emitter(k, words, (), turned, known, places)
            vertex = Vertex(places[arrays[0]], arrays[0])
            emitter.run(early, [vertex])
            if not _needs_vertex(late, known):
                stored = {array(vector) for vector in late.writes()}
                for name in arrays:
                    if name not in stored:
                        pointers.advance(name)
            emitter.run(late, [vertex])

    def _members(self, k, group, words, vertex, chosen, sums, turned):
        """The work of the members on a vertex."""
        a, known = k.a, {}
        for number, member in enumerate(group):
            function, = self._parent.dependence.functions(member.op)
            loads = {load: known[load.vector] for load in certain_loads(function)
                     if member.on is None and load.vector in known}
            copies = self._parent.dependence.copied(member.op)
            emitter = self._parent.emitter(k, words[number], copies, turned, loads)
            inside = contextlib.nullcontext() if member.on is None else a.if_(chosen[member.on])
            with inside:
                if member.on is None:
                    self._load(k, emitter, function, vertex, known, turned)
                result = emitter.run(function, [vertex])
                if member.op.kind == WHERE:
                    a.mv(chosen[number], result)
                elif member.op.kind == TOTAL:
                    low, high = sums[number]
                    count(k, low, high, result)
            for vector in function.writes():
                known.pop(vector, None)

    def _load(self, k, emitter, function, vertex, known, turned):
        """Load the words that every call reads at its own vertex and does not store."""
        for load in certain_loads(function):
            if load.vector not in known and load.vector not in function.writes():
                word = known[load.vector] = k.a.reg(load.vector)
                k.a.lw(word, k.pointer(vertex, self._parent.arrays(turned)(load.vector),
                                       k.a.reg("pointer")))
                emitter.know_now(load, word)

    # Copies and sets

    def _copy(self, k, vectors):
        a = k.a
        with self._every(k) as (vertex, active), k.only(active, "vertex_next"):
            for name in vectors:
                word, pointer = a.reg(name), a.reg("pointer")
                array = self._parent.array(name)
                a.lw(word, k.pointer(vertex, array, pointer))
                a.sw(word, k.pointer(vertex, self._parent.copy_array(name), pointer))

    def _changed(self, k, node):
        a, parent, vector = k.a, self._parent, node.tracking
        identity, keeps = word_before(parent.program, node), keeps_copy(parent.program, node)
        made, chosen = Made(k, Fields(self._parent.pool, 1), 0), a.reg("chosen")
        made.prepare(Scan(k))
        self._begin(k, [made])
        with self._every(k) as (vertex, active):
            a.mv(chosen, a.zero)
            with k.only(active, "vertex_next"):
                word, pointer = a.regs("word", "pointer")
                a.lw(word, k.pointer(vertex, parent.array(vector), pointer))
                before = k.constant(identity) if identity is not None else a.reg("before")
                if identity is None:
                    pointer = k.pointer(vertex, parent.copy_array(vector), pointer)
                    a.lw(before, pointer)
                a.xor(chosen, word, before)
                a.snez(chosen, chosen)
                if identity is None and keeps:
                    with a.if_(chosen):
                        a.sw(word, pointer)
            made.add_chosen(vertex, chosen)
        made.finish()

    def _include(self, k, _):
        """The vertex in a slot is in the set that is made."""
        a = k.a
        made = Made(k, Fields(self._parent.pool, 1), 0)
        vertex, only = load_slot(k, VERTEX, "vertex"), a.reg("only")
        k.scaled(vertex, vertex, self._parent.anchor)
        self._begin(k, [made])
        k.lane_index(only)
        a.seqz(only, only)
        with k.only(only):
            made.add(Vertex(vertex, self._parent.anchor))
        made.finish()

    def _join(self, k, _):
        """The vertices of either of two sets."""
        fields = Fields(self._parent.pool, 3)
        inputs = [self._open(k, fields, index) for index in range(2)]
        made = Made(k, fields, 2, several=inputs[0].listed)
        if not inputs[0].listed:
            with self._every(k) as (vertex, active):
                self._narrow(k, inputs, vertex, active)
                with k.only(active, "vertex_next"):
                    made.add(vertex)
            made.finish()
            return
        for read in inputs:
            with self._of(k, read) as (vertex, active), k.only(active, "entry_next") as after:
                made.claim(vertex, active)
                k.narrow(active, after)
                made.add(vertex, claimed=True)
        made.finish()

    def _split(self, k, vector):
        """The vertices of a set whose word is below the threshold (all of them if the threshold is
        0), and the others."""
        a, fields = k.a, Fields(self._parent.pool, 3)
        read = self._open(k, fields)
        made, scan = [Made(k, fields, index) for index in (1, 2)], Scan(k)
        for each in made:
            each.prepare(scan)
        threshold, every = load_slot(k, THRESHOLD, "threshold"), a.reg("every")
        a.seqz(every, threshold)
        below, above = a.regs("below", "above")
        with self._of(k, read) as (vertex, active):
            word, pointer = a.regs("word", "pointer")
            a.lw(word, k.pointer(vertex, self._parent.array(vector), pointer))
            a.sltu(below, word, threshold)
            a.or_(below, below, every)
            a.xori(above, below, 1)
            a.and_(below, below, active)
            a.and_(above, above, active)
            for each, chosen in zip(made, (below, above)):
                each.add_chosen(vertex, chosen)
        for each in made:
            each.finish()

    def _least(self, k, vector):
        a, least = k.a, k.a.reg("least")
        read = self._open(k, Fields(self._parent.pool, 1))
        a.mv(least, k.full)
        with self._of(k, read) as (vertex, active), k.only(active, "vertex_next"):
            word, pointer = a.regs("word", "pointer")
            a.lw(word, k.pointer(vertex, self._parent.array(vector), pointer))
            k.minimum(least, word, least)
        place = a.reg("place")
        a.li(place, k.address("least"))
        a.amominu_w(a.zero, least, place)

    def _renumber(self, k, _):
        """No vertex has been claimed yet. Members of chained sets, whose stamp is the argument, get
        the first."""
        a, stamps, first = k.a, self._parent.pool.STAMPS, k.a.zero
        if self._parent.pool.chained:
            first = a.reg("first")
            _ = k.given             # it is read once, before the loop
        with each_vertex(k, stamps) as pointers:
            if first is not a.zero:
                a.lw(first, pointers[stamps])
                a.sub(first, first, k.given)
                a.seqz(first, first)
            a.sw(first, pointers[stamps])

    @staticmethod
    def _infinite(k, _):
        """The least word so far becomes the largest word."""
        place = k.a.reg("place")
        k.a.li(place, k.address("least"))
        k.a.sw(k.full, place)


def joined(words) -> dict:
    """The registers with the values of the host of all members, by their nodes."""
    return {node: word for each in words for node, word in each.items()}


def count(k, low, high, word):
    """Add a word to a sum of 64 bits in registers."""
    a, carry = k.a, k.a.reg("carry")
    a.add(low, low, word)
    a.sltu(carry, low, word)
    a.add(high, high, carry)


def add_total(k, low, high):
    """The sum of all lanes, of 64 bits, is added to the two words of ``results``."""
    a = k.a
    place, before = a.regs("place", "before")
    a.li(place, k.address("results"))
    a.amoadd_w(before, low, place)
    a.add(before, before, low)
    a.sltu(before, before, low)
    a.add(high, high, before)
    a.addi(place, place, 4)
    a.amoadd_w(a.zero, high, place)


def _early_stores(chain):
    """The stores of a chain that need no word, and the rest of the chain: two functions. Such a
    store may come first if the vector is not stored before it, and if every call loads the vector's
    word before the chain begins."""
    early = [node for node in chain.body
             if isinstance(node, ir.VectorStore) and isinstance(node.value, ir.Literal)
             and sum(isinstance(part, ir.VectorStore) and part.vector == node.vector
                     for part in ir.walk(*chain.body)) == 1
             and {part for part in ir.walk(*chain.body) if isinstance(part, ir.VectorLoad)
                  and part.vector == node.vector} <= set(own_loads(chain))]
    late = [node for node in chain.body if not any(node is other for other in early)]
    return (dataclasses.replace(chain, body=tuple(early)),
            dataclasses.replace(chain, body=tuple(late)))


def _needs_vertex(function, known):
    """Whether a function of vertices needs its vertex for more than stores that every call makes
    and loads that are ``known``. Others are those that not every call makes."""
    plain = all(isinstance(node, ir.Let | ir.VectorStore) for node in function.body)
    return not plain or any(function.parameter(part) == 0 for node in function.body
                            for part in _outside_loads(node.value)) or any(
        isinstance(part, ir.VectorLoad) and function.parameter(part.index) == 0
        and part not in known for node in function.body for part in ir.walk(node.value))


def _outside_loads(node):
    """The nodes of an expression that are not in an index of a load."""
    yield node
    if not isinstance(node, ir.VectorLoad):
        for part in node.parts():
            yield from _outside_loads(part)
