"""The description of a register or a memory that the live page shows (:mod:`sim.inside`)."""

import dataclasses


__all__ = ["Inside"]


@dataclasses.dataclass(frozen=True)
class Inside:
    """A register or a memory that is shown."""
    title: str  #: Its name on the page.
    #: The path of the instance that declares it, without the name of the top. In the record of a
    #: unit that hands out edges, the path inside the unit; empty for the unit itself.
    module: str
    name: str  #: Its name in that module.
    #: ``"state"``: the state of an FSM; ``"number"``; ``"mask"``: one bit for each lane, warp or
    #: row; ``"entries"``: items of several words each.
    kind: str
    #: Names of the words of an item, the lowest first. An item is a lane's part of a row.
    fields: tuple[str, ...] = ()
    #: Names of the states of an FSM, in the order of their numbers. Amaranth numbers states in the
    #: order in which the circuit first names them.
    states: tuple[str, ...] = ()
    #: Title of the mask that says which items of the same row hold anything.
    valid: str | None = None
    #: Whether the page counts the cycles in which this state is not the first.
    counts: bool = False
