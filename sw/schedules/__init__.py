"""Schedules: how base vertices and edges are mapped to lanes.

Every module of this folder that has a class with a ``name`` is found; nothing else lists them.
"""

from sw.kernels import registry
from sw.kernels.options import parse, settle


__all__ = ["make", "names"]


def names() -> list[str]:
    """What there is."""
    return registry.names(__name__, "schedule")


def make(text):
    """A schedule as ``text`` spells it: ``NAME[:OPTION=VALUE]...``. Raises UserError if there is
    none, or its options are not right."""
    name, given = parse(text)
    kind = registry.find(__name__, "schedule", name)
    return kind(**settle(kind.OPTIONS, given, f"schedule {name}"))
