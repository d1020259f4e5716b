"""Compaction by the cores.

Fused, a superstep is two kernels: ``expand`` and ``contract``, whose lanes store the kept elements.
Not fused, compaction and the algorithm's work have separate kernels: ``prepare`` and ``expand``,
``contract``, which leaves bits, and ``compact``, which makes lists from the bits.

The mark of a list is the address behind its last element. Warps reserve room by adding to the mark.
So a kernel that reads a list resets the mark of the list that is filled next.
"""

from hw.isa import Csr
from sw.compaction.base import EDGES, FRONTIER, VALUES, Control, State
from sw.compaction.blocks import Append, Blocks, any_of, load_bits, marked
from sw.compaction.engine import Engine
from sw.compaction.expansion import Expansion
from sw.formats.compressed import addresses
from sw.kernels.split import Split


__all__ = ["Cores"]


#: The kernels that make lists, by the kernels that leave the bits of the kept elements.
_LISTS = {"contract": "compact", "sift": "compact_far"}


class Cores(Engine):
    """The engine of schedule ``compact``; its option ``fused`` says how."""
    saturates = True

    @property
    def fused(self) -> bool:
        """Whether lanes store kept elements at once."""
        return self.options["fused"]

    @property
    def apart(self):
        return not self.fused and bool(self.algorithm.kept)

    # Memory

    def reserve(self):
        if not self.fused:
            self.reserve_prepared()

    def offsets(self, numbers):
        return addresses(self.task.buffers.address("neighbors"), numbers)

    def mark(self, start, count):
        return start + 4 * count

    # Kernels

    def end(self, k, name, word, offset, into):
        k.a.lw(into, word, offset)

    def kernels(self):
        kernels = {"expand": lambda k: Expansion(k, self, prepared=not self.fused).emit()}
        kernels["contract"] = self.contraction
        if not self.fused:
            kernels["prepare"] = self.prepare
        if self.apart:
            kernels["compact"] = self._compact
        return kernels

    def sink(self):
        return Append(self.algorithm.kept) if self.fused else super().sink()

    def parts(self, k, part):
        return Split(k, part, k.task.warps, together=False)

    def leave_frontier(self, k, state):
        if not self.algorithm.everywhere:
            self._clear(k, state, FRONTIER, Control.FRONTIER)

    def leave_edges(self, k, state):
        self._clear(k, state, EDGES, Control.EDGES)

    @staticmethod
    def _clear(k, state, name, word):
        """Reset the mark of a list, which the next superstep fills from its beginning."""
        start = k.a.reg("start")
        k.a.li(start, k.address(name))
        k.a.sw(start, state.there, word)

    def _compact(self, k):
        """Emit the kernel that makes lists of the elements that the contraction has kept."""
        end = k.a.reg("edges_end")
        state = State(k)
        self.end(k, EDGES, state.here, Control.EDGES, end)
        self.leave_edges(k, state)
        blocks = Blocks(k, k.address(EDGES), end, self.bits)
        self.compaction(k, blocks, (EDGES, VALUES), self.algorithm.tails(k, state))

    @property
    def bits(self) -> list:
        """Buffers of the bits of all outputs."""
        return [output.bits for output in self.algorithm.kept]

    def compaction(self, k, blocks, columns, tails):
        """Emit the rest of a kernel that makes lists of the elements kept of one list.

        Parameters
        ----------
        k : Kernel
        blocks : sw.compaction.blocks.Blocks
            Blocks of the list.
        columns : tuple of str
            Names of an array of its elements and of the array of values beside it. If the list lies
            in another array than the first, the distance from the first to the list is also the
            distance from the second to the list's values.
        tails : list of Register
            See :class:`~sw.compaction.blocks.Append`.
        """
        a, outputs = k.a, self.algorithm.kept
        sink = Append(outputs)
        sink.prepare(k, tails)
        lane = k.a.reg("lane")
        a.csrr(lane, Csr.THREAD_ID)
        k.phase(5)
        with blocks.each() as block:
            for group in range(len(block.groups)):
                self._compact_group(k, sink, block, group, columns, lane)

    def _compact_group(self, k, sink, block, group, columns, lane):
        """Store the kept elements of a group of windows for each output."""
        a, outputs, places = k.a, self.algorithm.kept, block.groups[group]
        width = max(len(output.lists) for output in outputs)
        nothing = a.label("nothing")
        bits = [load_bits(k, block, group, pointer) for pointer in block.bits]
        a.beqz(any_of(k, [word for words in bits for word in words]), nothing)
        elements = [a.regs(*(f"word{number}" for number in range(width))) for _ in places]
        for (word, *_), place in zip(elements, places):
            a.lw(word, block.here, place)
        if width > 1:
            beside = a.reg("beside")
            a.add(beside, block.here, k.distance(*columns))
            for (_, word), place in zip(elements, places):
                a.lw(word, beside, place)
        for words, place in zip(elements, places):
            for number, output in enumerate(outputs):
                after = a.label("append_end")
                chosen = a.reg("chosen")
                marked(k, self._bit(place, places), bits[number], lane, chosen)
                sink.keep(k, number, chosen, after, words[:len(output.lists)])
                k.widen()
                a.place(after)
        a.place(nothing)

    @staticmethod
    def _bit(place, places):
        """The number of a window's first bit, in the words of its group."""
        first = places[0] // 4
        return place // 4 - first // 32 * 32

    # Host

    def expand(self, session, superstep, count, flags=0):
        if not self.fused:
            self.launch(session, "prepare", superstep, flags)
        self.launch(session, "expand", superstep, flags)

    def select(self, session, kernel, superstep, flags, columns, length, targets):
        self.launch(session, kernel, superstep, flags)
        if self.apart:
            self.launch(session, _LISTS[kernel], superstep, flags)
        if not targets:
            return []
        control = session.read("control")
        return [(int(control[target.mark // 4]) - self.address(target.name)) // 4 - target.taken
                for target in targets]
