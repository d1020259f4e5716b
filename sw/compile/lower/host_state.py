"""What the host of a program knows between two steps, on one of the ways through it."""

from __future__ import annotations

import dataclasses

from sw.compile.lower.held import HeldBack
from sw.compile.lower.host_steps import HostStep


__all__ = ["HostState"]


@dataclasses.dataclass(frozen=True)
class HostState:
    """Where the host is, and what is held back."""
    step: HostStep
    sets: frozenset  #: Pairs of a name and a storage.
    held: HeldBack | None = None
    #: The operator that was performed in advance: ``(Ahead, storage of its input, of its result)``.
    ahead: tuple | None = None
    read: frozenset = frozenset()  #: What the host has read since the last launch.
    turned: frozenset = frozenset()  #: The vectors whose words are in their other array.

    @property
    def storages(self) -> dict:
        """The storages by the names of sets."""
        return dict(self.sets)

    def named(self, name, storage):
        """With a set under a name."""
        return dataclasses.replace(self, sets=frozenset(
            (self.storages | {name: storage}).items()))
