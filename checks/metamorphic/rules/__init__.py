"""Rewrites of programs as texts. A rule looks for the places of a program where its side condition
holds, changes one, and says whether there was any.

A rule is of a kind:

``same``
    The variant does no more work. The pass ``normal`` undoes these.
``more``
    The variant does more work, and has the base's results and more.
``other``
    The variant means something else.
"""

from checks.metamorphic.rules import expressions, functions, host, others, sets
from checks.metamorphic.rules.rule import RULES, Rule
from checks.metamorphic.rules.text import Text


__all__ = ["RULES", "Rule", "Text", "expressions", "functions", "host", "others", "sets"]
