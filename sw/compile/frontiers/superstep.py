"""The frontiers of a program's operators of edges, whose sets are in a pool (:mod:`.sets`).

All sets of a program are of one kind, the output of the plan's frontier. Each operator reads them
as they are, or a pass makes its input of them (:mod:`.made`). A reverse queue, for those that pull
and have a filter, lists the vertices that the filter lets through. An operator whose input is a
``counter`` knows the vertices by their words, if these tell that they are in the set, or by stamps.
"""

from base.errors import UserError
from sw.compile.frontiers import Pair
from sw.compile.frontiers.frontier import PULLING, Frontier, Input
from sw.compile.frontiers.made import REVERSE, VALUES, List, Map, ReverseQueue
from sw.compile.frontiers.maps import FORMS
from sw.compile.frontiers.queue import Queue
from sw.compile.frontiers.sets import Made, SetList, SetMap, StampTest


__all__ = ["Superstep", "choose"]


class _WordTest(Input):
    """The operator's input set, whose vertices are known by their words.

    Parameters
    ----------
    operator : sw.compile.lower.operators.EdgeOperator
        Has :meth:`member_data` and :meth:`member`, too.
    """
    name = VALUES
    by_words = True

    def __init__(self, operator):
        self.member_data, self.member = operator.member_data, operator.member

    def fill(self, task):
        """The pool is filled by the program."""

    def prepare(self, k):
        """The operator has prepared what it needs."""


class _Reversed(ReverseQueue):
    """A reverse queue, and the operator's input set, by which its edges are tested.

    Parameters
    ----------
    tests : Input or None
        The set.
    base : str
        The array in whose addresses vertices are listed.
    """

    def __init__(self, tests, base):
        self._tests, self._array = tests, f"{base}_unfound"
        self.by_words = tests is not None and tests.by_words

    def reserve(self, task):
        if self._array not in task.buffers:         # operators share lists
            super().reserve(task)

    def prepare(self, k):
        super().prepare(k)
        if self._tests is not None:
            self._tests.prepare(k)

    def member_data(self, k, vertex, into):
        self._tests.member_data(k, vertex, into)

    def member(self, k, vertex, data, into):
        self._tests.member(k, vertex, data, into)


class Superstep(Frontier):
    """What an edge operator leaves: the set of the vertices that it adds, if it has one.

    Parameters
    ----------
    operator : sw.compile.lower.operators.EdgeOperator
    name : str
        The kind of the set.
    claimed : bool
        Whether lanes claim the vertices that they add.

    Attributes
    ----------
    number : GeneralRegister
        A word whose last bit is that of the superstep's number.
    made : dict of int to Made
        In a kernel: the sets that it makes, by the members of its group; 0 is the operator.
    """

    def __init__(self, operator, name, claimed):
        super().__init__(operator.counts_once, True, True)
        self._operator, self.name, self._claimed = operator, name, claimed

    def prepare(self, k):
        self.number = k.given

    def make(self, k):
        fields, makers = self._operator.makers(k)
        self.made = {number: Made(k, fields, index, self._claimed and not number)
                     for index, number in enumerate(makers, int(self._operator.reads_set))}

    def finish(self, k):
        for made in self.made.values():
            made.finish()

    def parity(self, k, into, place=0):
        k.a.andi(into, k.given, 1)
        k.shifted(into, into, place)

    def number_of(self, session, argument):
        return argument & 1

    def claim(self, vertex, into):
        """``into`` = 1 in the lane that is the first to claim its vertex."""
        self.made[0].claim(vertex, into)

    def add_new(self, vertex, claimed):
        """Add the active lanes' vertices, which no other lane adds; ``claimed`` tells whether they
        were claimed."""
        self.made[0].add(vertex, claimed)


def choose(sides) -> list:
    """The frontier and the input, each or None, of each side of a task, whose algorithms are the
    operators of edges of one program. Raises UserError if a plan asks for a frontier that they
    cannot have."""
    algorithm = sides[0].algorithm
    asked = [side.plan.frontier and Pair.parse(side.plan.frontier) for side in sides]
    if not any(side.algorithm.has_sets or (pair and pair.input == REVERSE
                                           and side.algorithm.reverses(side))
               for side, pair in zip(sides, asked)):
        _check_nothing(sides)
    output = _output(sides, asked)
    kinds = [_kind(side, sides, pair, output) for side, pair in zip(sides, asked)]
    _check_readers(sides, kinds, output)
    marks = any(_tests_values(side, kind, output) and not side.algorithm.known_by_words
                for side, kind in zip(sides, kinds))
    algorithm.settle(output, marks, sides)
    for side in sides:
        reason = side.algorithm.settle_count(side.plan.deduplicate)
        if reason is not None:
            raise UserError(f"{algorithm.name} {side.direction} is deduplicated in any case: "
                            f"{reason}")
    algorithm.settle_stamps(sides)
    made = {kind: _made(kind, output, algorithm.fields) for kind in dict.fromkeys(kinds)}
    return [_chosen(side, kind, output, made) for side, kind in zip(sides, kinds)]


def _check_nothing(sides):
    for side in sides:
        for what, value in (("frontier", side.plan.frontier),
                            ("deduplication", side.plan.deduplicate)):
            if value is not None:
                raise UserError(f"{side.algorithm.name} has no choice of {what}: its operators of "
                                "edges go through all vertices, and none has a result")


def _output(sides, asked):
    """The kind of all sets."""
    outputs = {pair.output for pair in asked if pair and pair.output}
    if len(outputs) > 1:
        raise UserError(f"{sides[0].algorithm.name} has sets of one kind, which cannot be "
                        f"{' and '.join(sorted(outputs))}")
    lists = any(pair is None and side.algorithm.reads_set
                and _reason(side, sides, Queue.name, Queue.name) is None
                for side, pair in zip(sides, asked))
    return outputs.pop() if outputs else Queue.name if lists else VALUES


def _kind(side, sides, pair, output):
    """The kind of a side's input. Raises UserError if it cannot have the pair that is asked."""
    if pair is None:
        lists = output == Queue.name and _reason(side, sides, output, output) is None
        return output if lists or output in FORMS else VALUES
    reason = _reason(side, sides, pair.input, output)
    if reason is not None:
        raise UserError(f"{side.algorithm.name} {side.direction} cannot have frontier "
                        f"{side.plan.frontier!r}: {reason}")
    return pair.input


def _reason(side, sides, kind, output):
    """Why an operator cannot have such an input of such a set, or None."""
    if output not in (Queue.name, VALUES, *FORMS):
        return f"sets of a program are no {output}"
    if kind not in (REVERSE, Queue.name):
        return None
    listing = [each for each in sides if (each.algorithm.reverses(each) if kind == REVERSE
                                          else each.algorithm.reads_set)]
    if kind == REVERSE:
        if side.direction == "push":
            return "pushing visits the vertices of the frontier, which the reverse queue has not"
        if not listing:
            return "no operator of edges has a filter of its destinations"
    elif side.direction == "pull":
        return PULLING
    if kind == output and side.split != "static":
        return (f"split {side.split!r} knows the address of a list before it is made, and sets of "
                "a program are in turn in several lists")
    # A format that makes lists of the frontier's rows has room for those of one operator.
    if len(listing) > 1 and side.format.image.virtual:
        return f"format {side.plan.format!r} lists the rows of one operator of edges"
    return Queue.lacks_list(side)


def _check_readers(sides, kinds, output):
    """Refuse kinds of which nobody takes notice, or for which there is no room."""
    name = f"{sides[0].algorithm.name} {sides[0].direction} cannot have frontier"
    if output != VALUES and all(
            kind == VALUES or (kind == REVERSE and output == Queue.name)
            for side, kind in zip(sides, kinds) if side.algorithm.reads_set):
        raise UserError(f"{name} {sides[0].plan.frontier!r}: nothing would read the {output}")
    maps = {kind for kind in kinds if kind in FORMS and kind != output}
    if len(maps) > 1:
        raise UserError(f"{name} {' and '.join(sorted(maps))}: there is room for maps of one form")


def _made(kind, output, fields):
    """The input that a pass makes of each set, which operators share; None if they read the set as
    it is."""
    if kind in (output, REVERSE, VALUES):
        return None
    stored = SetList(fields) if output == Queue.name else SetMap(fields)
    return List(stored) if kind == Queue.name else Map(kind, stored)


def _tests_values(side, kind, output):
    """Whether an operator knows the vertices of its set by their words or stamps."""
    return side.algorithm.reads_set and (kind == VALUES
                                         or (kind == REVERSE and output not in FORMS))


def _chosen(side, kind, output, made):
    operator, read = side.algorithm, None
    fields = operator.fields
    if _tests_values(side, kind, output):
        read = _WordTest(operator) if operator.known_by_words else StampTest(fields)
    elif operator.reads_set and kind in (Queue.name, *FORMS) and kind != output:
        read = made[kind]
    elif operator.reads_set:
        read = SetList(fields) if output == Queue.name else SetMap(fields)
    if kind == REVERSE and operator.reverses(side):
        read = _Reversed(read, operator.base_array(side))
    if read is None and not operator.makes_set:
        return None, None
    return Superstep(operator, output, operator.claims(side)), read
