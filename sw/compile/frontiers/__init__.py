"""Frontiers in device memory (GRAssembler's FrontierType, chapter 2).

========  =======================================================================================
queue     a list of the vertices; kernels go through the list only
bitmap    a bit per vertex; kernels go through all vertices and test the bits
bytemap   a byte per vertex, likewise
counter   only the number of added vertices; the vertices' words, or stamps, tell which vertices
          were added
rqueue    for pulling, a list of the vertices that are still to be visited (reverse queue)
lists     a list a core, which the core's unit reads and adds to
========  =======================================================================================

A superstep reads one kind and adds to one kind. A *pair* ``INPUT/OUTPUT`` names both (GRAssembler,
table 2.6: queue/bitmap is "QnB", rqueue/bitmap is "RQnB"). One name stands for both kinds. A pass
before the superstep makes the input if the kinds differ (:mod:`.made`). Nothing is ever added to an
rqueue. In a hybrid, the name ``counter`` or ``rqueue`` alone leaves the output open, because both
plans add to the same output. :mod:`.superstep` chooses what a plan leaves open.
"""

import dataclasses
import itertools

from base.errors import UserError
from sw.compile.frontiers.frontier import LISTS, QUEUE, REVERSE, VALUES


__all__ = ["FRONTIERS", "OPTION", "Pair", "names", "pairs", "summary"]


#: What each frontier is, by its name.
_SUMMARIES = {
    QUEUE: "A list of the frontier's vertices.",
    "bitmap": "A bit for each vertex, set by an atomic OR.",
    "bytemap": "A byte for each vertex, 1 if the vertex is in the frontier.",
    VALUES: "Only the number of added vertices (GRAssembler, 2.4).",
    REVERSE: "The vertices that a pull still has to visit.",
    LISTS: "The vertices of the frontier as the units of the cores list them."}

#: Names of the frontiers.
FRONTIERS = tuple(_SUMMARIES)

#: Kinds that store which vertices they have, in a form of which another kind can be made.
_STORED = QUEUE, "bitmap", "bytemap"


def _never_pair(one, other) -> str | None:
    """Why two kinds cannot be a pair, or None."""
    if one != other and LISTS in (one, other) and (one == LISTS or one in _STORED):
        return (f"the {LISTS} are for the unit that keeps them, and no other kind can be made of "
                "them or become one")
    if other == REVERSE:
        return (f"nothing is added to an {REVERSE}, which is made of the vertices that are not in "
                "any frontier yet")
    if other == VALUES and one in _STORED:
        return (f"a {VALUES} does not tell which vertices it has counted, so no {one} can be made "
                "of it")
    return None


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
        reason = _never_pair(one, other)
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


def summary(name) -> str:
    """What a frontier is, one of :func:`names`, in a sentence."""
    return _SUMMARIES[name]
