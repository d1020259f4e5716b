"""A frontier as the number of its vertices."""

from sw.compile.frontiers.frontier import CountedFrontier


__all__ = ["Counter"]


class Counter(CountedFrontier):
    """Only the number of added vertices (GRAssembler, 2.4).

    The vertices' values tell the algorithm which vertices were added. If the values cannot tell,
    stamps do. A superstep's argument is its number.
    """
    name = "counter"

    def __init__(self, deduplicate, once, tested):
        super().__init__(deduplicate, once, tested)
        self._unique = self._stamped
        self._stamped = self._stamped or tested
        self.keeps = tested

    def argument(self, task, number):
        return number

    def parity(self, k, into, place=0):
        k.argument(into)
        k.a.andi(into, into, 1)
        k.shifted(into, into, place)

    def number_of(self, session, argument):
        return argument

    def number_at(self, k, argument, into):
        k.a.mv(into, argument)

    def _advance(self, k, argument):
        k.a.addi(argument, argument, 1)

    def _read_argument(self, k):
        k.argument(self.number)

    def member_data(self, k, vertex, into):
        stamp = k.a.reg("stamp")
        k.a.lw(into, k.pointer(vertex, "stamp", stamp))

    def member(self, k, vertex, data, into):
        """A vertex that is by now also in the next frontier does not count as a member. If another
        core has put it there, a lane may see the new stamp but, in its own L1, not yet the values
        that were stored before."""
        k.a.sub(into, data, self.following)
        k.a.seqz(into, into)

    def add(self, k, vertex, predicate, otherwise, key=None):
        a = k.a
        if self._unique:
            self._stamp(k, vertex, predicate, otherwise)
        elif self._stamped:
            stamp, following = a.regs("stamp", "next")
            a.addi(following, self.number, 2)
            a.sw(following, k.pointer(vertex, "stamp", stamp))
        a.addi(self._count, self._count, 1)
