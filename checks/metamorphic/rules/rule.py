"""What a rule is, and the table of all."""

import random
from collections.abc import Callable
from typing import NamedTuple

from checks.metamorphic.rules.text import Text


__all__ = ["RULES", "Rule", "rule"]


class Rule(NamedTuple):
    """A rewrite."""
    name: str
    kind: str  #: ``same``, ``more`` or ``other``.
    #: Changes a program's syntax tree; whether it did.
    apply: Callable[[Text, random.Random], bool]


#: {name: rule}
RULES: dict[str, Rule] = {}


def rule(kind):
    """The mark of a function that is a rule of a kind, called as the function."""
    def mark(function):
        RULES[function.__name__] = Rule(function.__name__, kind, function)
        return function

    return mark
