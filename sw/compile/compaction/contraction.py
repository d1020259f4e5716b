"""Contraction: every element of the edge frontier comes to the algorithm as an edge.

Elements behind the end of the list are loaded with the others of their block, but do not count.
"""

from sw.compile.compaction.lists import EDGES, VALUES, Bits, Blocks
from sw.compile.kernels.kernel import Edge, Vertex


__all__ = ["ADDRESSES", "Contraction", "compact"]


#: The neighbours as addresses, where elements are numbers of words.
ADDRESSES = "edge_addresses"


class Contraction:
    """The kernel. Make it before the prologue of the algorithm.

    Parameters
    ----------
    k : Kernel
    end, done, windows, start
        See :class:`~sw.compile.compaction.lists.Blocks`.
    notes : bool
        Whether additions to the frontier leave bits.
    shift : int
        Bits by which elements are shifted to the right. If there are such bits, the addresses of
        kept elements are stored in :data:`ADDRESSES`.
    """

    def __init__(self, k, end, done, windows, notes=False, shift=0, start=None):
        self._k, self._shift = k, shift
        self._bits = None
        frontier = k.task.frontier
        names = frontier.BITS if notes and frontier is not None else ()
        self._blocks = Blocks(k, end, done, windows, names, start)
        if names:
            self._bits = Bits(k, self._blocks)

    def emit(self):
        """Emit the kernel."""
        k = self._k
        k.phase(4)
        if self._bits is not None:
            k.frontier.note(self._bits)
        self._blocks.each(self._block)
        if self._bits is not None:
            k.frontier.note(None)

    def _block(self, end):
        if self._bits is not None:
            self._bits.begin()
        for group in self._blocks.groups:
            self._group(group, end)

    def _group(self, group, end):
        k, a, blocks = self._k, self._k.a, self._blocks
        algorithm, task = k.algorithm, k.task
        neighbors, words = (blocks.registers(group, name) for name in ("neighbor", "word"))
        blocks.load(group, EDGES, neighbors)
        for neighbor in neighbors:
            k.shifted(neighbor, neighbor, self._shift)
        array = algorithm.neighbor_array(task)
        selects = algorithm.selective(task)
        if algorithm.sends:
            edges = [Edge(None, Vertex(neighbor, array), None, word)
                     for neighbor, word in zip(neighbors, words)]
        else:
            edges = [Edge(Vertex(word, algorithm.base_array(task)), Vertex(neighbor, array))
                     for neighbor, word in zip(neighbors, words)]
        # Where few edges count, their bases are loaded only then.
        late = selects and not algorithm.sends
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
        for window, place in enumerate(group):
            algorithm.counts(k, data[window], counting[window], left, place)
        none, done = a.label("none_counts"), a.label("group_end")
        if self._bits is not None:
            self._bits.choices()
        k.narrow(k.any_of(counting), none)
        if late:
            blocks.load(group, VALUES, words)
        if self._bits is not None and self._shift:
            beside = a.reg("beside")
            a.add(beside, blocks.here, k.distance(EDGES, ADDRESSES))
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


def compact(k, blocks):
    """Emit the kernel that adds to the frontier what a contraction has noted; ``blocks`` are the
    :class:`~sw.compile.compaction.lists.Blocks` of the list, with the bits."""
    a, frontier = k.a, k.frontier
    bits = Bits(k, blocks)
    array = k.algorithm.neighbor_array(k.task)

    def block(_):
        for group in blocks.groups:
            kept = [blocks.registers(group, f"kept{number}_")
                    for number in range(len(frontier.BITS))]
            nothing = a.label("nothing")
            vertices = blocks.load(group, EDGES, blocks.registers(group, "vertex"))
            bits.load(group, kept)
            k.narrow(k.any_of([register for registers in kept for register in registers]), nothing)
            for number, registers in enumerate(kept):
                for vertex, chosen in zip(vertices, registers):
                    with k.only(chosen, "take_next"):
                        frontier.take(k, number, Vertex(vertex, array))
            a.place(nothing)

    k.phase(5)
    blocks.each(block)
