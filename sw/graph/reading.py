"""How a graph file is read: the options of a user as one record."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from base.errors import UserError

from .graph import LIMIT
from .weights import Weighing


__all__ = ["PLAIN", "Reading"]


_UNCHANGED = Weighing()


def _silent(text: str) -> None:
    """Tell nobody."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reading:
    """How to read a graph file.

    Raises
    ------
    UserError
        If ``columns`` are not two or three that differ, or ``first`` is no vertex or is given with
        ``relabel``.
    """

    #: The format that the user named; left out, the suffix or the contents tell it. An edge list
    #: whose format is named is not searched for signs that it is something else.
    input_format: str | None = None
    weighing: Weighing = _UNCHANGED  #: Use and scale of weights.
    #: The columns of an edge list that have source, destination and perhaps weight:
    #: ``SRC,DST[,WEIGHT]``, each a name of the first line or a number from 1.
    columns: str | None = None
    relabel: bool = False  #: Whether vertices are the ids that occur, which may be any words.
    first: int | None = None  #: The id of vertex 0, 0 if left out.
    #: Called with a line of text on anything that looks odd but may be right.
    note: Callable[[str], object] = _silent

    def __post_init__(self) -> None:
        if self.first is not None and (self.relabel or not 0 <= self.first < LIMIT):
            raise UserError(f"first id {self.first}: " + (
                "relabel numbers the ids that occur; leave out one of the two" if self.relabel
                else f"must be from 0 to {LIMIT - 1}"))
        if self.columns is None:
            return
        chosen = self.chosen
        if not 2 <= len(chosen) <= 3 or not all(chosen) or len(set(chosen)) != len(chosen) \
                or "0" in chosen:
            raise UserError(f"columns {self.columns!r}: must be SRC,DST or SRC,DST,WEIGHT, each a "
                            f"name of the first line or a number from 1")

    @property
    def chosen(self) -> list[str]:
        """The columns that are asked for; none if the file tells them."""
        return [] if self.columns is None else [name.strip() for name in self.columns.split(",")]


#: How a file is read without options.
PLAIN = Reading()
