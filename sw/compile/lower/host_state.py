"""What the host of a program knows between two steps, on one of the ways through it."""

from __future__ import annotations

import dataclasses

from sw.compile.lower.fuse import Group
from sw.compile.lower.host_steps import HostStep


__all__ = ["HeldBack", "HostState"]


@dataclasses.dataclass(frozen=True)
class HeldBack:
    """The operators that are held back."""
    group: Group
    input: int  #: The storage of the input.
    results: tuple[int | None, ...]  #: The storage of the set that each member makes.
    saved: frozenset = frozenset()  #: Values of the host that are in their slots.

    def with_member(self, member, result):
        """With a further member."""
        return dataclasses.replace(self, group=(*self.group, member),
                                   results=(*self.results, result))

    def result(self, storage):
        """The number of the member that makes a set; -1 if none does."""
        return self.results.index(storage) if storage in self.results else -1

    def on(self, op, storage):
        """As of :class:`~sw.compile.lower.machine.RtlMachine`."""
        if op.every:
            return None if self.group[0].op.every else -1
        return None if storage == self.input else self.result(storage)


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
