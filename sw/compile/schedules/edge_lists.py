"""Schedules by edge lists: supersteps expand the frontier into a list of edges, and contract it.

A *maker* makes the list of the edges that leave the frontier: the cores, or the Stream Compaction
Unit. Then every lane takes an element of the list, and the algorithm works on its edge
(:mod:`sw.compile.compaction`). Lanes share every list evenly, whatever the degrees.
"""

from sw.compile.compaction import lists
from sw.compile.compaction.contraction import contract
from sw.compile.options import Integer
from sw.compile.kernels.passes import Pass
from sw.compile.schedules.schedule import Schedule


__all__ = ["WINDOWS", "EdgeLists"]


#: Windows whose loads are under way together, if the user does not say.
_PREFERRED_WINDOWS = 4

#: How much of a list a warp works on at once.
WINDOWS = Integer(1, 8, None, "elements of a list that a lane works on at once; left out, 4",
                  power=True)


class EdgeLists(Schedule):
    """The schedules that read edge lists. They differ in the maker."""
    AT_ONCE = "windows"
    has_lists = True
    ends_rows = False

    def maker(self, task):
        """The maker of a task's list: a :class:`~sw.compile.compaction.expansion.ByCores`, or an
        object with the same methods."""
        raise NotImplementedError

    def directions(self, kind):
        return ("push",)

    def check_direction(self, kind, direction):
        kind.check_has(direction)
        if direction != "push":
            raise self.refuse(f"cannot have direction {direction}: it lists the edges that leave "
                              "vertices of the frontier, and pulling visits the vertices that "
                              "gather, by the edges that enter them; direction=push can, and "
                              "schedules without lists of edges, as vm")

    def check(self, task):
        super().check(task)
        if task.algorithm.weighted and not task.algorithm.sent.value:
            raise self.refuse(f"cannot run {task.algorithm.name!r}: the list of edges has no room "
                              f"for weights, and {task.algorithm.sent.work} needs more of the "
                              "source and the weight than a vector's word plus the weight (fact "
                              "sent); schedules without lists of edges, as vm, can")
        self.maker(task).check()

    def neighbor_shift(self, task):
        return self.maker(task).shift

    def overread(self, task):
        return self.maker(task).overread

    def windows(self, task) -> int:
        """Windows of a list whose loads are under way together."""
        return self.at_once(task, _PREFERRED_WINDOWS)

    def reserve(self, task):
        self.maker(task).reserve()

    def build(self, task):
        lists.fill(task)

    def passed(self, k, task):
        self.maker(task).passed(k)

    def passes(self, task):
        maker = self.maker(task)
        kernels = [self.reader(name, contract, ends, in_turn=maker.in_turn)
                   for name, ends in maker.ends.items()]
        return [*maker.expand(), *kernels, *[maker.take(self)] * bool(lists.noted_bits(task))]

    def reader(self, name, emit, ends, in_turn=True) -> Pass:
        """A kernel that reads the list, whose beginning and end ``ends(k)`` gives as
        :class:`~sw.compile.compaction.lists.Blocks` takes them."""
        def enter(k, done):
            start, end = ends(k)
            return lists.Blocks(k, end, done, self.windows(k.task), lists.noted_bits(k.task), start)
        return Pass(name, emit, enter=enter, leads=False, in_turn=in_turn)
