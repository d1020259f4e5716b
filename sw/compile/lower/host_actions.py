"""What the host of a program does between launches."""

from __future__ import annotations

import dataclasses
from typing import Any

from sw.compile.frontiers.pool import Fields
from sw.lang import graph_ir as ir


__all__ = ["HostCall", "HostEnd", "HostFork", "HostMeeting", "HostNumber", "HostSum",
           "HostThreshold", "HostVertex", "HostWord"]


@dataclasses.dataclass(frozen=True)
class HostNumber:
    """A number of the host gets a value."""
    name: str
    value: Any
    sets: dict  #: The storages of the sets whose sizes the value has, by their names.


@dataclasses.dataclass(frozen=True)
class HostSum:
    """The value of a VertexSum is what the two words of the results have grown by."""
    node: ir.VertexSum


@dataclasses.dataclass(frozen=True)
class HostWord:
    """A slot gets a word."""
    slot: int
    uniform: Any  #: Uniform. It has the word if ``value`` is constant; None for a number.
    value: Any  #: The expression.
    sets: dict


@dataclasses.dataclass(frozen=True)
class HostVertex:
    """The slot of a vertex gets the device's number of one, and the slot of a word a word."""
    vertex: Any  #: An expression.
    word: Any  #: Uniform or None.
    sets: dict


@dataclasses.dataclass(frozen=True)
class HostThreshold:
    """The threshold of a queue moves to the next step above the least word."""
    name: str
    delta: int


@dataclasses.dataclass(frozen=True)
class HostMeeting:
    """The hosts of all cores wait for each other: what they have read may be written now."""


@dataclasses.dataclass(frozen=True)
class HostCall:
    """A kernel is launched."""
    kernel: str
    fields: Fields
    storages: tuple[int, ...] = ()  #: Of the sets in the fields.
    made: tuple[int, ...] = ()  #: Storages whose other block is in use from now on.
    head: str | None = None  #: Whose executions the argument counts; None for no count.
    number: Any = None  #: None or ``(Uniform, expression, saved)``: the number of the host.
    supersteps: int = 0  #: Executions of operators of edges.


@dataclasses.dataclass(frozen=True)
class HostFork:
    """The end of a block that has two ways on."""
    condition: Any
    sets: dict


@dataclasses.dataclass(frozen=True)
class HostEnd:
    """The program ends."""
    number: int  #: Of the way to end, as of HostCode.
