"""Turns of works: what kernels have in common that take edges from a unit.

A work is as many edges as there are lanes, which the unit hands to a warp by one answer. The answer
sets the thread mask: lanes without an edge are the highest lanes. Only the last work before the
answer "no work" has such lanes. So a loop of one work a turn has no need to restore the mask. A
turn of several works asks for one work more. If that answer has work, all lanes of the turn's works
have work, and one branch and one mask serve the turn.
"""

import dataclasses

from sw.compile.asm.assembler import Condition, GeneralRegister
from sw.compile.kernels.kernel import Edge


__all__ = ["Turns", "UnitWork"]


@dataclasses.dataclass(frozen=True)
class UnitWork:
    """A lane's part of a work."""
    #: The unit's first answer: the vertex as it was registered, or that there is no work.
    token: GeneralRegister
    #: The address of the edge's place; None if the unit gives the edge.
    place: GeneralRegister | None
    edge: Edge
    answers: tuple[GeneralRegister, ...]  #: The registers that hold all that the unit gave.


class Turns:
    """The loops of a kernel over what a unit hands out.

    Parameters
    ----------
    k : Kernel
    works : int
        Works of a turn.
    """

    def __init__(self, k, works):
        self._k, self._works = k, works

    # Said by the kernel

    def make_work(self, index) -> UnitWork:
        """Registers for a work and its edges."""
        raise NotImplementedError

    def decode(self, work):
        """Ask for the warp's next work."""
        raise NotImplementedError

    def no_work(self) -> GeneralRegister:
        """A register with the least token that is no work's."""
        return self._k.full

    def has_work(self, work) -> Condition:
        """Condition: an answer has work. All other answers are the same in all lanes."""
        return Condition("ne", work.token, self.no_work())

    def fetch(self, works):
        """Load the edges of works, in lanes that have one."""

    def combine(self, work, word, predicate):
        """Combine the data of edges that count, as
        :meth:`~sw.compile.algorithm.Operator.sum` does."""
        self._k.algorithm.sum(self._k, work.edge, word, predicate)

    # Turns

    def distribute(self):
        """Work on edges until the answer has none. Gives the register of that answer."""
        return self.one_by_one() if self._works == 1 else self._several()

    def one_by_one(self):
        """A work a turn, in its own lanes. Gives the register of the answer without work."""
        a = self._k.a
        top, after, out = (a.label(name) for name in ("edges", "edges_next", "edges_end"))
        work, predicate = self.make_work(0), a.reg("predicate")
        self.decode(work)
        a.branch(~self.has_work(work), out)
        a.place(top)
        self._turn([work], predicate, after)
        a.place(after)
        self.decode(work)
        a.branch(self.has_work(work), top)
        a.place(out)
        return work.token

    def _several(self):
        """Several works a turn. Gives the register of the answer without work.

        A turn asks for the first work of the next turn. If the answer has work, all works before it
        are full, so one branch and one mask serve the turn. The first works of consecutive turns
        are in two sets of registers, which change roles.
        """
        k, a = self._k, self._k.a
        top, swap, drain, out = (a.label(name) for name in (
            "edges", "edges_swap", "edges_last", "edges_end"))
        one, two, *others = [self.make_work(index) for index in range(self._works + 1)]
        predicate = a.reg("predicate")
        self.decode(one)
        a.branch(~self.has_work(one), out)
        a.place(top)
        for first, ahead, end in ((one, two, swap), (two, one, drain)):
            for work in (*others, ahead):
                self.decode(work)
            a.branch(~self.has_work(ahead), end)
            k.widen()
            after = a.label("edges_next")
            self._turn([first, *others], predicate, after)
            a.place(after)
        a.j(top)
        a.place(swap)
        a.mv(predicate, two.token)
        for into, source in zip(two.answers, one.answers):
            a.mv(into, source)
        a.mv(one.token, predicate)
        a.place(drain)
        self._drain([two, *others], predicate, out)
        a.place(out)
        return one.token

    def _drain(self, works, predicate, out):
        """The works of a turn behind which there is no work. Some of them may be missing, and the
        last one may not be full. All lanes are active, here and at ``out``."""
        k, a = self._k, self._k.a
        last = a.label("edges_last")
        ends = [a.label(f"edges_last_{count}") for count in range(2, len(works) + 1)]
        for work, end in reversed(list(zip(works[1:], ends))):
            a.branch(self.has_work(work), end)
        a.branch(~self.has_work(works[0]), out)
        a.j(last)
        for count, end in enumerate(ends, 1):
            a.place(end)
            after = a.label("edges_next")
            self._turn(works[:count], predicate, after)
            a.place(after)
            k.widen()
            for into, source in zip(works[0].answers, works[count].answers):
                a.mv(into, source)
            if end is not ends[-1]:
                a.j(last)
        a.place(last)
        a.sltu(predicate, works[0].token, self.no_work())
        with k.only(predicate, "edges_none") as after:
            self._turn(works[:1], predicate, after)

    def _turn(self, works, predicate, after):
        """Gather and sum over the edges of works, all in the present lanes. The code continues, or
        goes to ``after``, with any mask."""
        k, algorithm = self._k, self._k.algorithm
        k.edge_phase(3)
        self.fetch(works)
        k.edge_phase(4)
        *leading, last = zip(works, algorithm.gather(k, [work.edge for work in works]))
        for work, word in leading:
            here = k.a.label("edge_next")
            self._sum(work, word, predicate, here)
            if algorithm.selective(k.task):
                k.widen()
            k.a.place(here)
        self._sum(*last, predicate, after)

    def _sum(self, work, word, predicate, otherwise):
        """Sum an edge's data in the active lanes in which the edge counts. If it counts in no lane,
        go to ``otherwise`` with all lanes."""
        k, algorithm = self._k, self._k.algorithm
        selective = algorithm.selective(k.task)
        if selective:
            algorithm.accepts(k, word, predicate)
            k.narrow(predicate, otherwise)
        self.combine(work, word, predicate if selective else None)
