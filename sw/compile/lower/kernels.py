"""Kernels with a lane a vertex: functions of vertices, filters, sums, and the upkeep of sets.

A lane that works on a vertex behind the last, or on a vertex that is not in the input set, is
inactive while the function's code runs. Counters grow by atomics at the end of a kernel.
"""

from hw.isa import Csr
from sw.compile.kernels.kernel import Vertex
from sw.compile.kernels.vertices import each_vertex
from sw.compile.lower.emitter import Emitter


__all__ = ["INPUT", "OTHER", "OUTPUT", "THRESHOLD", "VERTEX", "WORD", "SLOTS", "VertexKernels"]


#: Slots: where the sets of a kernel are, the words of a queue, and an element to be stored. Behind
#: them are the slots of values of the host.
INPUT, OUTPUT, OTHER, THRESHOLD, VERTEX, WORD = range(6)

#: The number of these slots.
SLOTS = 6


class VertexKernels:
    """Emits the kernels of a program that go through vertices.

    Parameters
    ----------
    parent : ProgramAlgorithm
    """

    def __init__(self, parent):
        self._parent = parent

    def emit(self, k, kind, what):
        """Emit a kernel: ``kind`` is the name of the method, ``what`` its argument."""
        getattr(self, f"_{kind}")(k, what)

    # Slots

    @staticmethod
    def load_slot(k, number, name):
        """A register with the word of a slot."""
        into = k.a.reg(name)
        k.a.li(into, k.address("slots"))
        k.a.lw(into, into, 4 * number)
        return into

    @staticmethod
    def _slot(k, number):
        """The launch's argument becomes the word of a slot."""
        a = k.a
        word, place = a.regs("word", "place")
        a.csrr(word, Csr.MSCRATCH)
        a.li(place, k.address("slots"))
        a.sw(word, place, 4 * number)

    def _output(self, k, number):
        """As :meth:`_slot`, for the place of a set that will be made, whose count becomes 0."""
        a = k.a
        self._slot(k, number)
        word = a.reg("count_place")
        a.csrr(word, Csr.MSCRATCH)
        a.add(word, word, k.constant(k.address(self._parent.anchor), "anchor"))
        a.sw(a.zero, word, -4)

    def _store(self, k, array):
        """The element of ``array`` at the vertex in a slot becomes the word in a slot."""
        a = k.a
        vertex, word = self.load_slot(k, VERTEX, "vertex"), self.load_slot(k, WORD, "word")
        pointer = a.reg("pointer")
        a.sw(word, k.pointer(Vertex(vertex, None), array, pointer))

    def _include(self, k, _):
        """The vertex in a slot is in the set that is made."""
        a = k.a
        vertex, output = self.load_slot(k, VERTEX, "vertex"), self.load_slot(k, OUTPUT, "output")
        place, word = a.regs("place", "word")
        a.li(word, 1)
        k.scaled(place, vertex, self._parent.anchor)
        a.add(place, place, output)
        a.sw(word, place)

    # Loops

    def _loop(self, k, body, member=None):
        """Perform ``body(vertex, pointers)`` for the vertices of the graph, or of the set whose
        distance from the anchor is in the register ``member``."""
        a, anchor = k.a, self._parent.anchor
        end = k.constant(k.address(anchor) + 4 * k.task.graph.num_vertices, "end")
        with each_vertex(k, anchor) as pointers:
            vertex = Vertex(pointers[anchor], anchor)
            active = a.reg("active")
            a.sltu(active, vertex.reg, end)
            if member is not None:
                word = a.reg("member")
                a.add(word, vertex.reg, member)
                a.lw(word, word)
                a.and_(active, active, word)
            with a.if_(active):
                body(vertex)

    def _mark(self, k, vertex, distance, word, count):
        """Store whether a vertex is in the set that is made, and count it."""
        place = k.a.reg("set_place")
        k.a.add(place, vertex.reg, distance)
        k.a.sw(word, place)
        k.a.add(count, count, word)

    def _count(self, k):
        """A register for a count."""
        count = k.a.reg("count")
        k.a.mv(count, k.a.zero)
        return count

    def _add_count(self, k, distance, count):
        """Add the lanes' counts to the count of the set that is made."""
        place = k.a.reg("count_place")
        k.a.add(place, distance, k.constant(k.address(self._parent.anchor), "anchor"))
        k.a.addi(place, place, -4)
        k.a.amoadd_w(k.a.zero, count, place)

    # Copies and sets

    def _copy(self, k, vectors):
        a = k.a

        def body(vertex):
            for name in vectors:
                word, pointer = a.reg(name), a.reg("pointer")
                array = self._parent.array(name)
                a.lw(word, k.pointer(vertex, array, pointer))
                a.sw(word, k.pointer(vertex, self._parent.copy_array(name), pointer))

        self._loop(k, body)

    def _changed(self, k, vector):
        a = k.a
        output, count = self.load_slot(k, OUTPUT, "output"), self._count(k)

        def body(vertex):
            word, before, pointer = a.regs("word", "before", "pointer")
            a.lw(word, k.pointer(vertex, self._parent.array(vector), pointer))
            a.lw(before, k.pointer(vertex, self._parent.copy_array(vector), pointer))
            a.xor(word, word, before)
            a.snez(word, word)
            self._mark(k, vertex, output, word, count)

        self._loop(k, body)
        self._add_count(k, output, count)

    def _fill(self, k, _):
        """A set of all vertices, or of none: the word in a slot."""
        output, count = self.load_slot(k, OUTPUT, "output"), self._count(k)
        word = self.load_slot(k, WORD, "word")
        self._loop(k, lambda vertex: self._mark(k, vertex, output, word, count))
        self._add_count(k, output, count)

    def _join(self, k, _):
        a = k.a
        output, count = self.load_slot(k, OUTPUT, "output"), self._count(k)
        sets = [self.load_slot(k, INPUT, "input"), self.load_slot(k, OTHER, "other")]

        def body(vertex):
            word, place, second = a.regs("word", "place", "second")
            for into, distance in zip((word, second), sets):
                a.add(place, vertex.reg, distance)
                a.lw(into, place)
            a.or_(word, word, second)
            self._mark(k, vertex, output, word, count)

        self._loop(k, body)
        self._add_count(k, output, count)

    def _split(self, k, vector):
        """The vertices of a set whose word is below the threshold (all of them if the threshold is
        0), and the others."""
        a = k.a
        outputs = [self.load_slot(k, OUTPUT, "output"), self.load_slot(k, OTHER, "other")]
        counts = [self._count(k), self._count(k)]
        source = self.load_slot(k, INPUT, "input")
        threshold = self.load_slot(k, THRESHOLD, "threshold")
        every = a.reg("every")
        a.seqz(every, threshold)

        def body(vertex):
            member, word, pointer, below = a.regs("member", "word", "pointer", "below")
            a.add(pointer, vertex.reg, source)
            a.lw(member, pointer)
            a.lw(word, k.pointer(vertex, self._parent.array(vector), pointer))
            a.sltu(below, word, threshold)
            a.or_(below, below, every)
            a.and_(below, below, member)
            self._mark(k, vertex, outputs[0], below, counts[0])
            a.xor(below, below, member)
            self._mark(k, vertex, outputs[1], below, counts[1])

        self._loop(k, body)
        for output, count in zip(outputs, counts):
            self._add_count(k, output, count)

    def _least(self, k, vector):
        a = k.a
        least = a.reg("least")
        a.mv(least, k.full)

        def body(vertex):
            word, pointer = a.regs("word", "pointer")
            a.lw(word, k.pointer(vertex, self._parent.array(vector), pointer))
            k.minimum(least, word, least)

        self._loop(k, body, self.load_slot(k, INPUT, "input"))
        place = a.reg("place")
        a.li(place, k.address("least"))
        a.amominu_w(a.zero, least, place)

    @staticmethod
    def _infinite(k, _):
        """The least word so far becomes the largest word."""
        place = k.a.reg("place")
        k.a.li(place, k.address("least"))
        k.a.sw(k.full, place)

    # Functions

    def _emitter(self, k, words, copies=()):
        return Emitter(k, self._parent.bits, words.__getitem__, self._parent.array,
                       {name: self._parent.copy_array(name) for name in copies})

    def _vertices(self, k, node):
        function = self._parent.program.function(node.apply_f)
        words = self._parent.load_words(k, node.apply_f)
        member = None if node.input_vset == self._parent.ALL else \
            self.load_slot(k, INPUT, "input")
        emitter = self._emitter(k, words, node.metadata["start_copies"])
        self._loop(k, lambda vertex: emitter.run(function, [vertex], self._parent.degrees), member)

    def _where(self, k, name):
        a, function = k.a, self._parent.program.function(name)
        output, count = self.load_slot(k, OUTPUT, "output"), self._count(k)
        source, words = self.load_slot(k, INPUT, "input"), self._parent.load_words(k, name)

        def body(vertex):
            member, place = a.regs("member", "place")
            a.add(place, vertex.reg, source)
            a.lw(member, place)
            wanted = a.reg("wanted")
            a.mv(wanted, a.zero)
            with a.if_(member):
                a.mv(wanted, self._emitter(k, words).run(function, [vertex], self._parent.degrees))
            self._mark(k, vertex, output, wanted, count)

        self._loop(k, body)
        self._add_count(k, output, count)

    def _total(self, k, name):
        """The sum of all results, of 64 bits, is added to the two words of ``results``."""
        a, function = k.a, self._parent.program.function(name)
        words, low, high = self._parent.load_words(k, name), self._count(k), a.reg("high")
        a.mv(high, a.zero)

        def body(vertex):
            carry = a.reg("carry")
            word = self._emitter(k, words).run(function, [vertex], self._parent.degrees)
            a.add(low, low, word)
            a.sltu(carry, low, word)
            a.add(high, high, carry)

        self._loop(k, body, self.load_slot(k, INPUT, "input"))
        place, before = a.regs("place", "before")
        a.li(place, k.address("results"))
        a.amoadd_w(before, low, place)
        a.add(before, before, low)
        a.sltu(before, before, low)
        a.add(high, high, before)
        a.addi(place, place, 4)
        a.amoadd_w(a.zero, high, place)
