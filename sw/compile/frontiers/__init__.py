"""Frontiers in device memory, behind one interface (GRAssembler's FrontierType, chapter 2).

========  =======================================================================================
queue     a list of the vertices; kernels go through the list only
bitmap    a bit per vertex; kernels go through all vertices and test the bits
bytemap   a byte per vertex, likewise
counter   only the number of added vertices; the vertices' values, or stamps, tell which vertices
          were added
rqueue    for pulling, a list of the vertices that are still to be visited (reverse queue)
lists     a list a core, which the core's unit reads and adds to
========  =======================================================================================

A superstep reads one kind and adds to one kind. A *pair* ``INPUT/OUTPUT`` names both (GRAssembler,
table 2.6: queue/bitmap is "QnB", rqueue/bitmap is "RQnB"). One name stands for both kinds. A pass
before the superstep makes the input if the kinds differ. Nothing is ever added to an rqueue. In a
hybrid, the name ``counter`` or ``rqueue`` alone leaves the output open, because both plans add to
the same output.
"""

import dataclasses
import itertools
from collections.abc import Callable
from typing import NamedTuple

from base.errors import UserError
from sw.compile.frontiers.frontier import Frontier, Input
from sw.compile.frontiers.counter import Counter
from sw.compile.frontiers.lists import Lists
from sw.compile.frontiers.made import REVERSE, VALUES, List, Map, ReverseQueue, Values
from sw.compile.frontiers.maps import Bitmap, Bytemap
from sw.compile.frontiers.nearfar import NearFar
from sw.compile.frontiers.queue import Queue


__all__ = ["FRONTIERS", "Pair", "OPTION", "choose", "find", "names", "pairs",
           "passed_over"]


_KINDS = {kind.name: kind for kind in (Queue, Bitmap, Bytemap, Counter, Lists)}

#: Kinds that store which vertices they have, in a form of which another kind can be made.
_STORED = tuple(name for name in _KINDS if name not in (VALUES, Lists.name))

#: Names of the frontiers.
FRONTIERS = (*(name for name in _KINDS if name != Lists.name), REVERSE, Lists.name)


class _Rule(NamedTuple):
    """A rule refuses the cases that it is about, unless a condition holds. Both are functions of a
    case; so is the reason, where it is no text."""
    about: Callable[..., bool]
    unless: Callable[..., bool]
    reason: str | Callable[..., str | None]


def _refusal(rules, *case):
    """The reason of the first rule that refuses a case, or None."""
    for rule in rules:
        if rule.about(*case) and not rule.unless(*case):
            return rule.reason if isinstance(rule.reason, str) else rule.reason(*case)
    return None


def _never(*case):
    return False


#: Kinds that cannot be a pair, by their names.
_NO_PAIRS = (
    _Rule(lambda one, other: one == Lists.name or (other == Lists.name and one in _STORED),
          lambda one, other: one == other,
          f"the {Lists.name} are for the unit that keeps them, and no other kind can be made of "
          "them or become one"),
    _Rule(lambda one, other: other == REVERSE, _never,
          f"nothing is added to an {REVERSE}, which is made of the vertices that are not in any "
          "frontier yet"),
    _Rule(lambda one, other: other == VALUES, lambda one, other: one not in _STORED,
          lambda one, other: f"a {VALUES} does not tell which vertices it has counted, so no {one} "
                             "can be made of it"),
)


@dataclasses.dataclass(frozen=True)
class Pair:
    """The kind that a superstep reads, and the kind that it adds to."""
    input: str
    output: str | None  #: None leaves the output open.

    @property
    def text(self) -> str:
        """The one spelling."""
        return self.input if self.output in (self.input, None) else f"{self.input}/{self.output}"

    @staticmethod
    def parse(text):
        """The pair that a text spells, or None if it names no kinds. Raises UserError for kinds
        that cannot be a pair."""
        one, *rest = text.split("/")
        other = rest[0] if rest else None
        if len(rest) > 1 or one not in FRONTIERS or (rest and other not in FRONTIERS):
            return None
        if not rest:
            return Pair(one, None if one in (VALUES, REVERSE) else one)
        reason = _refusal(_NO_PAIRS, one, other)
        if reason is not None:
            raise UserError(f"frontier is {text!r}: {reason}")
        return Pair(one, None if one == other == VALUES else other)


class _Option:
    """The field of a plan (:mod:`sw.compile.options`)."""
    default = None
    doc = "form of the frontier that a superstep reads, and that it adds to"
    legal = f"{' or '.join(FRONTIERS)}, or INPUT/OUTPUT of two of them"

    @staticmethod
    def accept(value):
        """The one spelling of a pair; None if it is not legal. Raises UserError with the reason if
        the two kinds cannot be a pair."""
        pair = Pair.parse(value) if isinstance(value, str) else None
        return pair and pair.text


#: The field of a plan.
OPTION = _Option()


def names() -> list[str]:
    """Names of all frontiers."""
    return list(FRONTIERS)


def pairs() -> list[str]:
    """The frontiers, and the pairs of two kinds that store vertices."""
    return [*FRONTIERS, *("/".join(pair) for pair in itertools.permutations(_STORED, 2))]


def find(name):
    """The class of a frontier, one of :func:`names`."""
    return (_KINDS | {REVERSE: ReverseQueue})[name]


def choose(sides) -> list[tuple[Frontier | None, Input | None]]:
    """The frontier and the input of each side of a task, which share the frontier.

    Parameters
    ----------
    sides : list of Task
        One task, or the sides of a hybrid.

    Returns
    -------
    list of (Frontier or None, Input or None)
        For each side. Both are None if the algorithm has no frontier; the input is the frontier
        itself if the side reads it as it is.

    Raises
    ------
    UserError
        A task cannot have such a pair, or cannot have it with or without deduplication.
    """
    if not sides[0].algorithm.frontiers(sides[0]):
        _check_nothing(sides[0])
        return [(None, None) for _ in sides]
    found = _pairs_of_sides(sides) if len(sides) > 1 else [_pair(sides[0])]
    pushing = [side for side in sides if side.direction == "push"]
    frontier = _make((pushing or sides)[0], found[0].output,
                     any(side.schedule.notes for side in sides))
    frontier.counts_entries = any(side.schedule.counts_entries for side in sides)
    made = {pair.input: _input(pair, frontier) for pair in found}
    return [(frontier, made[pair.input]) for pair in found]


def _check_nothing(task):
    for what, value in (("frontier", task.plan.frontier), ("deduplication", task.plan.deduplicate)):
        if value is not None:
            raise UserError(f"{task.algorithm.name} has no choice of {what}: "
                            f"{task.algorithm.frontier_reason(task)}")


def _pair(task):
    """The pair of a task that is no side."""
    asked = task.plan.frontier
    if asked is not None:
        pair = Pair.parse(asked)
        assert pair is not None         # the plan has checked it
        pair = Pair(pair.input, pair.output or VALUES)
        _check(task, pair, asked)
        return pair
    own = _own_pairs(task)
    for pair in own:
        if _refusal(_RULES, task, pair) is None:
            return pair
    _check(task, own[0], own[0].text)
    raise AssertionError("the first pair has a reason against it")


def passed_over(task) -> list[tuple[str, str]]:
    """The frontiers that a task has not, though its algorithm or schedule would sooner have them
    than its own: the name of each, and the reason. A side of a hybrid that pulls has no such
    choice."""
    found = []
    if task.input is not None and not (task.switches and task.direction == "pull"):
        for pair in _own_pairs(task):
            reason = _refusal(_RULES, task, pair)
            if reason is None or pair.text == f"{task.input.name}/{task.frontier.name}":
                break
            found.append((pair.text, reason))
    return found


def _own_pairs(task):
    """The pairs that a task may have if its plan names none, the best first."""
    offered = _offered(task)
    own = [Pair(kind, kind) for kind in offered]
    if task.algorithm.first_threshold(task) is not None:
        own += [Pair(kind, offered[0]) for kind in _STORED if kind != offered[0]]
    return own


def _offered(task):
    """The kinds of frontier that a task may add to, its own choice first. Where the algorithm has a
    queue, and the schedule goes by a unit's lists, there are lists, too. They come first on one
    core, and where the cores exchange edges. On other cores a queue shares the work better
    (docs/schedules.md)."""
    kinds = task.algorithm.frontiers(task)
    listed = (Queue.name in kinds and task.schedule.reads_lists
              and task.algorithm.first_threshold(task) is None)
    if not listed:
        return kinds
    first = task.config.cores == 1 or task.config.exchanges
    return (Lists.name, *kinds) if first else (*kinds, Lists.name)


def _pairs_of_sides(sides):
    """The pairs of a hybrid, with one output. A side that pulls and does not ask for a reverse
    queue knows the frontier by the vertices' values, and so does a side that pushes and cannot go
    through the output by itself."""
    asked = [side.plan.frontier and Pair.parse(side.plan.frontier) for side in sides]
    outputs = {pair.output for pair in asked if pair and pair.output}
    if len(outputs) > 1:
        raise UserError("the plans of a hybrid add to the same frontier, which cannot be "
                        f"{' and '.join(sorted(outputs))}")
    lists = any(side.direction == "push" and Queue.lacks(side) is None
                and (pair is None or pair.input == REVERSE) for side, pair in zip(sides, asked))
    listed = Lists.name if all(_offered(side)[0] == Lists.name for side in sides) else Queue.name
    output = outputs.pop() if outputs else listed if lists else VALUES
    found = []
    for side, pair in zip(sides, asked):
        if side.direction == "pull":
            read = REVERSE if pair and pair.input == REVERSE else VALUES
        elif pair is None or pair.input == REVERSE:
            read = output if _KINDS[output].lacks(side) is None else VALUES
        else:
            read = pair.input
        found.append(Pair(read, output))
        _check(side, found[-1], found[-1].text)
    return found


def _check(task, pair, asked):
    reason = _refusal(_RULES, task, pair)
    if reason is None:
        return
    algorithm = task.algorithm
    needed = ""
    if algorithm.first_threshold(task) is not None and pair.output in algorithm.frontiers(task):
        needed = ", which delta needs"
    kinds = filter(None, map(Pair.parse, FRONTIERS))
    able = [kind.text for kind in kinds if _refusal(
        _RULES, task, Pair(kind.input, kind.output or VALUES)) is None]
    instead = f"; it can have {' or '.join(able)}" if able else ""
    raise UserError(f"{algorithm.name} {task.direction} cannot have frontier {asked!r}{needed}: "
                    f"{reason}{instead}")


def _asks_lists(task, pair):
    return Lists.name in (pair.input, pair.output) and Lists.name not in _offered(task)


def _reverse(task, pair):
    return pair.input == REVERSE


def _stored(task, pair):
    return pair.input != REVERSE


def _adds(task, pair):
    return pair.output in _offered(task)


def _own_reason(task, pair):
    return task.algorithm.frontier_reason(task)


#: Pairs that a task cannot have. The rules are asked in this order.
_RULES = (
    _Rule(_asks_lists, lambda task, pair: task.schedule.reads_lists,
          lambda task, pair: Lists.lacks(task)),
    _Rule(_asks_lists, lambda task, pair: task.algorithm.first_threshold(task) is None,
          "near and far vertices are in a queue and a pile (delta)"),
    _Rule(_asks_lists, _never, _own_reason),
    _Rule(_reverse, lambda task, pair: task.direction == "pull",
          "pushing visits the vertices of the frontier, which the reverse queue has not"),
    _Rule(_reverse, lambda task, pair: task.algorithm.reverses(task), _own_reason),
    _Rule(_stored, _adds, _own_reason),
    _Rule(lambda task, pair: pair.input in (REVERSE, VALUES) and pair.output != VALUES,
          lambda task, pair: task.switches,
          lambda task, pair: f"nothing would read the {pair.output}, as the plan never changes to "
                             "one that reads it"),
    _Rule(lambda task, pair: pair.output != VALUES, _adds, _own_reason),
    _Rule(_reverse, _never, lambda task, pair: Queue.lacks_list(task)),
    _Rule(_stored, lambda task, pair: task.switches and pair.input == VALUES,
          lambda task, pair: _KINDS[pair.input].lacks(task)),
)

#: Frontiers that have each vertex once in any case, of a task, a kind and whether kernels may note
#: additions.
_ONCE = (
    _Rule(lambda task, kind, notes: task.algorithm.first_threshold(task) is not None, _never,
          "the far pile has room for each vertex once"),
    _Rule(lambda task, kind, notes: kind is Lists, _never,
          "a list has room for each vertex once"),
    _Rule(lambda task, kind, notes: kind.listed and notes, _never,
          "the list is made of bits, and no vertex knows its entry"),
    _Rule(lambda task, kind, notes: task.algorithm.adds_once(task, False), _never,
          "a lane has each vertex for itself, so none is added twice"),
)


def _make(task, name, notes):
    """The frontier of that name for a task, deduplicated as its plan says; ``notes`` tells whether
    a kernel may note additions."""
    algorithm, kind, deduplicate = task.algorithm, _KINDS[name], task.plan.deduplicate
    reason = _refusal(_ONCE, task, kind, notes)
    if reason is not None:
        if deduplicate is False:
            raise UserError(f"{algorithm.name} {task.direction} with schedule "
                            f"{task.schedule.name!r} is deduplicated in any case: {reason}")
        deduplicate = True
    threshold = algorithm.first_threshold(task)
    if threshold is not None:
        return NearFar(threshold)
    if deduplicate is None:
        deduplicate = kind.default_deduplicate
    return kind(deduplicate, algorithm.adds_once(task, deduplicate), algorithm.tested(task))


def _input(pair, frontier):
    """The input of a pair, whose output is ``frontier``."""
    if pair.input == pair.output:
        return frontier
    if pair.input in (REVERSE, VALUES):
        return ReverseQueue() if pair.input == REVERSE else Values()
    return List(frontier) if pair.input == Queue.name else Map(pair.input, frontier)
