"""The kernels that read an edge list: every element comes to the algorithm as an edge.

Elements behind the end of the list are loaded with the others of their block, but do not count.
Additions to the frontier may leave *bits*, one for each element of the list. Another step of the
superstep makes the frontier's lists of the elements whose bit is 1: the kernel :func:`take`, or the
Stream Compaction Unit.
"""

from hw.isa import Csr
from sw.compile.compaction.lists import EDGES, VALUES, own
from sw.compile.kernels.kernel import Edge, Vertex


__all__ = ["ADDRESSES", "Bits", "contract", "take"]


#: The neighbours as addresses, where elements are numbers of words. Only those are stored whose
#: bits a later step reads.
ADDRESSES = "edge_addresses"


def contract(k, blocks):
    """Emit the kernel, given the :class:`~sw.compile.compaction.lists.Blocks` of the list. With
    bits, additions to the frontier leave bits."""
    k.phase(4)
    bits = Bits(k, blocks) if blocks.bits else None
    if bits is not None:
        k.frontier.note(bits)
    blocks.each(_Block(k, blocks, bits).emit)
    if bits is not None:
        k.frontier.note(None)


class _Block:
    """The work on a block."""

    def __init__(self, k, blocks, bits):
        self._k, self._blocks, self._bits = k, blocks, bits
        self._shift = k.task.schedule.neighbor_shift(k.task)

    def emit(self, end):
        if self._bits is not None:
            self._bits.begin()
        for group in self._blocks.groups:
            self._group(group, end)

    def _edge(self, neighbor, word):
        algorithm, task = self._k.algorithm, self._k.task
        neighbor = Vertex(neighbor, algorithm.neighbor_array(task))
        if algorithm.sent.value:
            return Edge(None, neighbor, None, word)
        return Edge(Vertex(word, algorithm.base_array(task)), neighbor)

    def _group(self, group, end):
        k, a, blocks = self._k, self._k.a, self._blocks
        algorithm = k.algorithm
        neighbors, words = (blocks.registers(group, name) for name in ("neighbor", "word"))
        blocks.load(group, EDGES, neighbors)
        for neighbor in neighbors:
            k.shifted(neighbor, neighbor, self._shift)
        edges = list(map(self._edge, neighbors, words))
        selects = algorithm.selective(k.task)
        # Where few edges count, their bases are loaded only then.
        late = selects and algorithm.sent.late
        if not late:
            blocks.load(group, VALUES, words)
        data = algorithm.gather(k, edges)
        if not selects and end is None:
            for edge, word in zip(edges, data):
                algorithm.sum(k, edge, word, None)
            return
        counting = blocks.registers(group, "counts")
        left = None
        if end is not None:
            left = a.reg("left")
            a.sub(left, end, blocks.here)
        for word, counts, place in zip(data, counting, group):
            algorithm.counts(k, word, counts, left, place)
        none, done = a.label("none_counts"), a.label("group_end")
        if self._bits is not None:
            self._bits.choices()
        k.narrow(k.any_of(counting), none)
        if late:
            blocks.load(group, VALUES, words)
        if self._bits is not None and self._shift:
            beside = a.reg("beside")
            a.add(beside, blocks.here, k.distance(own(k.task, EDGES), own(k.task, ADDRESSES)))
            for neighbor, place in zip(neighbors, group):
                a.sw(neighbor, beside, place)
        for edge, word, predicate, place in zip(edges, data, counting, group):
            with k.only(predicate, "edge_next"):
                algorithm.sum(k, edge, word, predicate)
            if self._bits is not None:
                self._bits.window(place)
                self._bits.choices()
        if self._bits is None:
            a.place(none)
            return
        a.j(done)
        a.place(none)
        for place in group:
            self._bits.window(place, some=False)
        a.place(done)


class Bits:
    """The bits of the blocks of a list, in several buffers.

    A lane notes in a register that it keeps the element of the present window. A vote makes bits of
    these registers, and words of bits are stored as they are full.

    Parameters
    ----------
    k : Kernel
    blocks : Blocks
        Blocks with the same buffers.
    """

    def __init__(self, k, blocks):
        self._k, self._blocks = k, blocks
        self._lanes = k.config.threads
        self._bits = self._lanes * sum(map(len, blocks.groups))

    def begin(self):
        """A block begins; all lanes are active."""
        self._words = self._k.a.regs(*(f"bits{number}" for number, _ in enumerate(
            self._blocks.bits)))
        self._kept = []

    def choices(self):
        """All lanes: if there are several buffers, a register for each says that the lane does not
        keep its element of the next window. :meth:`keep` may change it."""
        if len(self._words) == 1:
            return
        self._kept = self._k.a.regs(*(f"kept{number}" for number, _ in enumerate(self._words)))
        for register in self._kept:
            self._k.a.mv(register, self._k.a.zero)

    def keep(self, number, chosen):
        """The active lanes keep their elements in a buffer if the last bit of ``chosen`` is 1."""
        self._k.a.andi(self._kept[number], chosen, 1)

    def keep_chosen(self, chosen):
        """For a single buffer: the lanes in which ``chosen`` is not 0 keep their elements, whether
        or not they are active."""
        self._kept = [chosen]

    def window(self, place, some=True):
        """All lanes: the window at an offset is done. Without ``some``, no lane has kept anything
        in it."""
        a, place = self._k.a, place // 4
        some = some and bool(self._kept)        # the algorithm may never add
        for number, (word, pointer) in enumerate(zip(self._words, self._blocks.bits)):
            if some and place % 32 == 0:
                a.vote_ballot(word, self._kept[number])
            elif some:
                ballot = a.reg("ballot")
                a.vote_ballot(ballot, self._kept[number])
                self._k.shifted(ballot, ballot, place % 32)
                a.or_(word, word, ballot)
            elif place % 32 == 0:
                a.mv(word, a.zero)
            if (place + self._lanes) % 32 == 0:
                a.sw(word, pointer, place // 32 * 4)
            elif place + self._lanes == self._bits:
                {1: a.sb, 2: a.sh}[self._bits // 8](word, pointer)

    def load(self, group, into):
        """Load, for each window of a group, whether the lane's element is kept; ``into`` are lists
        of registers, one for each buffer."""
        a = self._k.a
        size = min(4, self._bits // 8)
        lane, word = a.regs("lane", "word")
        a.csrr(lane, Csr.THREAD_ID)
        for registers, pointer in zip(into, self._blocks.bits):
            for register, place in zip(registers, group):
                first = place // 4
                self._k.load(word, pointer, size, first // 32 * 4)
                a.addi(register, lane, first % 32)
                a.srl(register, word, register)
                a.andi(register, register, 1)


def take(k, blocks):
    """Emit the kernel that adds to the frontier what a contraction has noted; ``blocks`` are the
    :class:`~sw.compile.compaction.lists.Blocks` of the list, with the bits."""
    a, frontier = k.a, k.frontier
    bits = Bits(k, blocks)
    array = k.algorithm.neighbor_array(k.task)

    def block(_):
        for group in blocks.groups:
            kept = [blocks.registers(group, f"kept{number}_")
                    for number in range(len(frontier.bits))]
            nothing = a.label("nothing")
            vertices = blocks.load(group, EDGES, blocks.registers(group, "vertex"))
            bits.load(group, kept)
            k.narrow(k.any_of([register for registers in kept for register in registers]), nothing)
            for number, registers in enumerate(kept):
                for vertex, chosen in zip(vertices, registers):
                    with k.only(chosen, "take_next"):
                        frontier.take(number, Vertex(vertex, array))
            a.place(nothing)

    k.phase(5)
    blocks.each(block)
