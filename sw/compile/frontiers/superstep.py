"""The frontiers of a program's operators of edges, whose sets are in a pool (:mod:`.pool`).

All operators of a program have the frontier of its plan: each set is what the operators add to, and
they read it as it is, or a pass makes their input of it (:mod:`.made`). So do those that pull and
have a filter, if the input is a reverse queue: it lists the vertices that the filter lets through.
A set that is a ``counter`` has stamps, unless its vertices' words tell that they are in it.
"""

from typing import Any

from base.errors import UserError
from sw.compile.frontiers import FRONTIERS, Pair
from sw.compile.frontiers.frontier import LISTS, QUEUE, REVERSE, VALUES, Input
from sw.compile.frontiers.made import List, Map, ReverseQueue
from sw.compile.frontiers.maps import FORMS
from sw.compile.frontiers.needs import LISTED, Asker, lacks_rows, lacks_unit, missing
from sw.compile.frontiers.pile import NearSet
from sw.compile.frontiers.sets import Made, SetList, SetMap, StampTest
from sw.compile.frontiers.unit_lists import SetLists


__all__ = ["Superstep", "check_none", "choose", "passed_over"]


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


class Superstep:
    """What an edge operator leaves: the set of the vertices that it adds, if it has one, and the
    number of the superstep.

    Parameters
    ----------
    operator : sw.compile.lower.operators.EdgeOperator
    name : str
        The kind of the set.
    claimed : bool
        Whether lanes claim the vertices that they add.

    Attributes
    ----------
    deduplicate : bool
        Whether a vertex that is added several times in a superstep is stored, and counted, once.
    made : dict of int to Made
        In a kernel: the sets that it makes, by the members of its group; 0 is the operator.
    """


    #: A :class:`~sw.compile.compaction.contraction.Bits` while additions only leave bits.
    _bits: Any = None

    def __init__(self, operator, name, claimed):
        self.deduplicate = operator.counts_once
        self._operator, self.name, self._claimed = operator, name, claimed

    @property
    def bits(self) -> tuple[str, ...]:
        """Buffers of bits, one for each list that additions may go to (:meth:`note`); empty if
        there are no lists."""
        operator = self._operator
        if operator.pile is not None:
            return "frontier_bits", "far_bits"
        return ("frontier_bits",) if operator.makes_set and operator.fields.pool.lists else ()

    def note(self, bits):
        """From here on additions only leave bits, a
        :class:`~sw.compile.compaction.contraction.Bits` for the buffers :attr:`bits`. None: they
        are stored again."""
        self._bits = bits

    def take(self, number, vertex):
        """Add the active lanes' vertices, whose bit ``number`` was noted."""
        self.made[0].append(vertex, number)

    def targets(self, session, argument) -> list:
        """For each buffer of :attr:`bits`: the address behind the last entry of its list, the
        address of the word with the number of entries that the Stream Compaction Unit has added,
        and this number."""
        fields, pile = self._operator.fields, self._operator.pile
        block = fields.block_of(argument, self._operator.reads_set)
        return [fields.pool.target(session, block), *([pile.target(session)] if pile else ())]

    def prepare(self, k):
        """In the prologue, before the input is prepared."""
        self._k = k

    @property
    def number(self):
        """In the prologue: a register whose last bit is that of the superstep's number."""
        return self._k.given

    def make(self, k):
        """In the prologue, behind what the input prepares: make ready what the superstep adds to.
        """
        fields, made = self._operator.makers(k)
        self.made = {}
        if k.gathers or fields.pool.form is not None:       # others only clear maps
            self.made = {number: self._make(k, fields, index, number)
                         for number, index in made.items()}
        elif k.leads and made and fields.pool.kernels_lead(k):
            with k.last_warp():
                self.lead(k)

    @property
    def leads_late(self):
        """Whether the kernel that goes through a list may prepare the next sets behind its
        prologue, which warps without an entry leave before."""
        # Without a list of edges no set is made, and the host takes the same block again.
        return self._operator.fields.pool.counts

    def lead(self, k):
        """Prepare the sets of the next superstep, in one warp at least of a kernel whose prologue
        does not."""
        fields, made = self._operator.makers(k)
        for index in made.values():
            fields.lead(k, index)

    @property
    def by_unit(self) -> bool:
        """Whether the units of the cores keep its set as lists."""
        return self._operator.makes_set and self._operator.fields.pool.unit is not None

    def open_lists(self, k):
        """In the first warp of each core, if units keep lists: vertices may be added behind this.
        """
        for made in self.made.values():
            made.open()

    def _make(self, k, fields, index, number):
        """The set that a member of the kernel's group makes."""
        if not number and self._operator.pile is not None:
            return NearSet(k, fields, index, self._operator.pile)
        return Made(k, fields, index, self._claimed and not number)

    def finish(self):
        """The kernel's end; all lanes are active."""
        for made in self.made.values():
            made.finish()

    @staticmethod
    def parity(k, into, place=0):
        """In the prologue: ``into`` = the last bit of the superstep's number, shifted to the left
        by ``place``."""
        k.a.andi(into, k.given, 1)
        k.shifted(into, into, place)

    def claim(self, vertex, into, key):
        """``into`` = 1 in the lane that is the first to claim its vertex; ``key`` is a register
        with the vertex's tracked word, or None."""
        self.made[0].claim(vertex, into, key)

    def only_notes(self, claimed) -> bool:
        """Whether all that :meth:`add_new` does is to note which lanes add their vertices."""
        return self._bits is not None and not self.made[0].marks(claimed)

    def add_new(self, vertex, claimed, chosen):
        """Add the active lanes' vertices, which no other lane adds; ``claimed`` tells whether they
        were claimed. ``chosen`` is a register: 0 in the lanes that do not add, unless all edges
        count."""
        if self._bits is None:
            self.made[0].add(vertex, claimed)
            return
        self.made[0].mark(vertex, claimed)
        self.made[0].keep(self._bits, chosen)


def choose(sides) -> list:
    """The frontier and the input, each or None, of each side of a task, whose algorithms are the
    operators of edges of one program. Raises UserError if the plan asks for a frontier that they
    cannot have."""
    algorithm = sides[0].algorithm
    asked = [side.plan.frontier and Pair.parse(side.plan.frontier) for side in sides]
    if not any(side.algorithm.has_sets or (pair is not None and pair.input == REVERSE
                                           and side.algorithm.reverses(side))
               for side, pair in zip(sides, asked)):
        check_none(sides[0])
    output = _output(sides, asked)
    pairs = [Pair(_input(side, pair, output), output) for side, pair in zip(sides, asked)]
    for side, pair in zip(sides, pairs):
        reason = missing(Asker(side, pair, sides, pairs))
        if reason is not None:
            raise UserError(f"{algorithm.name} {side.direction} cannot have frontier "
                            f"{side.plan.frontier or pair.text!r}: {reason}; it can have "
                            f"{' or '.join(_possible(sides))}")
    maps = {pair.input for pair in pairs if pair.input in FORMS and pair.input != output}
    if len(maps) > 1:
        raise UserError(f"{algorithm.name} cannot have inputs {' and '.join(sorted(maps))} of a "
                        f"{output}: there is room for maps of one form")
    marks = any(_tested(pair) == VALUES and side.algorithm.reads(side)
                and not side.algorithm.known_by_words for side, pair in zip(sides, pairs))
    algorithm.settle(output, marks, sides)
    pool = algorithm.fields.pool
    pool.counts = pool.lists and any(side.schedule.counts_entries and side.algorithm.makes_set
                                     for side in sides)
    for side in sides:
        reason = side.algorithm.settle_count(side.plan.deduplicate)
        if reason is not None:
            raise UserError(f"{algorithm.name} with frontier {output!r} is deduplicated in "
                            f"any case: {reason}")
    algorithm.settle_stamps(sides)
    made = {pair: _made(pair, algorithm.fields) for pair in pairs}
    return [_chosen(side, pair, made[pair]) for side, pair in zip(sides, pairs)]


def _output(sides, asked):
    """The kind of all sets. Raises UserError if plans ask for several. In a hybrid ``counter`` and
    a reverse queue leave it to the other plan."""
    hybrid = sides[0].switches
    outputs = [pair.output or VALUES for pair in asked if pair is not None
               and (pair.output is not None or not hybrid)]
    outputs = list(dict.fromkeys(outputs))
    if len(outputs) > 1:
        raise UserError(f"all sets of {sides[0].algorithm.name} have one kind, and the plan asks "
                        f"for {' and '.join(map(repr, outputs))}")
    if outputs:
        return outputs[0]
    pushing = [side for side, pair in zip(sides, asked) if side.direction == "push"
               and (pair is None or pair.input == REVERSE)]
    queues = [Pair(QUEUE, QUEUE)] * len(pushing)
    if not any(side.algorithm.reads(side) for side in sides):
        return VALUES                           # without readers a set is only counted
    if pushing and all(lacks_unit(side) is None and (
            side.config.cores == 1 or side.config.exchanges) for side in sides):
        # On other cores a queue shares the work better (docs/schedules.md).
        return LISTS
    listed = [missing(Asker(side, pair, pushing, queues)) is None
              for side, pair in zip(pushing, queues)]
    if listed and (any if hybrid else all)(listed):
        return QUEUE
    return VALUES


def _input(side, pair, output):
    """The kind as which a side reads sets. A side of a hybrid that pulls and does not ask for a
    reverse queue tests vertices."""
    pulls = side.direction == "pull"
    if side.switches and pulls and (pair is None or pair.input != REVERSE):
        pair = None
    elif pair is not None and not (side.switches and not pulls and pair.input == REVERSE):
        return pair.input
    lists = output in LISTED
    tests = pulls and (lists or side.algorithm.known_by_words)
    if tests or (output == QUEUE and lacks_rows(side) is not None):
        return VALUES
    return output


def check_none(side):
    """Raise UserError if a task without a frontier is asked for one."""
    plan = side.plan
    for what, value in (("frontier", plan.frontier), ("deduplication", plan.deduplicate)):
        if value is not None:
            raise UserError(f"{side.algorithm.name} has no choice of {what}: "
                            f"{side.algorithm.no_frontier}")


def passed_over(side) -> list[tuple[str, str]]:
    """The frontiers that a side of a task has not, though it would sooner have them than its own:
    the name of each, and the reason."""
    if side.input is None or side.input.listed or side.direction == "pull":
        return []
    reason = lacks_rows(side)
    return [] if reason is None else [(QUEUE, reason)]


def _possible(sides):
    """The names of the frontiers that all sides can have."""
    for name in FRONTIERS:
        one = Pair.parse(name)
        assert one is not None
        pairs = [Pair(one.input, one.output or VALUES)] * len(sides)
        if all(missing(Asker(side, one, sides, pairs)) is None for side, one in zip(sides, pairs)):
            yield name


def _made(pair, fields):
    """The input that a pass makes of each set, which all operators share; None if they read the
    set as it is."""
    if pair.input in (pair.output, REVERSE, VALUES):
        return None
    stored = SetList(fields) if pair.output == QUEUE else SetMap(fields)
    return List(stored) if pair.input == QUEUE else Map(pair.input, stored)


def _tested(pair):
    """The kind by which a side that reads sets goes, or tests vertices."""
    if pair.input != REVERSE:
        return pair.input
    return VALUES if pair.output in LISTED else pair.output


def _chosen(side, pair, made):
    operator, read, kind = side.algorithm, None, _tested(pair)
    fields = operator.fields
    if operator.reads(side):
        if made is not None:
            read = made
        elif kind in LISTED:
            read = (SetList if kind == QUEUE else SetLists)(fields)
        elif kind in FORMS:
            read = SetMap(fields)
        else:
            read = _WordTest(operator) if operator.known_by_words else StampTest(
                fields, later=side.schedule.needs == "edges", cores=side.config.cores)
    if pair.input == REVERSE and operator.reverses(side):
        read = ReverseQueue(read, operator.base_array(side))
    if read is None and not operator.makes_set:
        return None, None
    return Superstep(operator, pair.output, operator.claims(side)), read
