"""Operators that are held back, and the launch that they become.

A machine holds operators back while a program runs (:mod:`.machine`). What it will hold back is
found ahead of the run, too, for all ways through the program (:mod:`.host_operators`). Sets are
whatever either knows sets by.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from sw.compile.frontiers.pool import Fields
from sw.compile.lower.fuse import EDGES, Group, Member, Op, group_name


__all__ = ["GroupLaunch", "HeldBack"]


@dataclasses.dataclass(frozen=True)
class HeldBack:
    """The operators that are held back."""
    group: Group
    input: Any  #: The set that the group goes through.
    results: tuple  #: The set that each member makes, or None.
    saved: frozenset = frozenset()  #: Values of the host that are in their slots.

    def with_member(self, member, result) -> HeldBack:
        """With a further member."""
        return dataclasses.replace(self, group=(*self.group, member),
                                   results=(*self.results, result))

    def result(self, vset) -> int:
        """The number of the member that makes a set; -1 if none does."""
        return self.results.index(vset) if vset in self.results else -1

    def member(self, op: Op, vset, groups) -> Member | None:
        """The member that an operator that goes through a set may be, or None."""
        if op.every:
            on = None if self.group[0].op.every else -1
        else:
            on = None if vset == self.input else self.result(vset)
        member = Member(op, on)
        return member if on != -1 and groups.may_join(self.group, member) else None


@dataclasses.dataclass(frozen=True)
class GroupLaunch:
    """The launch of a kernel, and of those that it needs before it and behind it."""
    kernel: str
    fields: Fields
    sets: tuple  #: Those in the fields of the argument: the input, unless that is all vertices,
    made: tuple  #: and the sets that the kernel makes.
    number: Any  #: The value of the host that is in the argument (Uniform), or None.
    slotted: list  #: The values of the host that must be in their slots.
    before: str | None  #: The kernel that copies words first.
    behind: str | None  #: The kernel that makes the set of the first member, if this one does not.
    swapped: frozenset  #: The vectors whose two arrays change their roles.

    @classmethod
    def of(cls, parent, held, turned) -> GroupLaunch | None:
        """The launch of what is held back; None if nobody reads what it does.

        Parameters
        ----------
        parent : ProgramAlgorithm
        held : HeldBack or None
        turned : frozenset of str
            The vectors whose words are in their other array.
        """
        if held is None:
            return None
        dependence, host, group = parent.dependence, parent.host, held.group
        kernel = group_name(group, turned & dependence.vectors(group))
        if kernel not in parent.groups.kernels:
            return None
        head, number = group[0].op, host.number(group)
        values = dict.fromkeys(node for member in group for node in dependence.uniforms(member.op))
        tells = head.kind != EDGES or dependence.makes_set(group[0])
        made = tuple(each for each in held.results[not tells:] if each is not None)
        return cls(
            kernel, parent.fields(group), (() if head.every else (held.input,)) + made, made,
            number, [node for node in values if node in host.slots
                     and host.offset(node, number) is None],
            f"copy_{head.name}" if dependence.copied(head) else None,
            f"changed{head.what}" if not tells and held.results[0] is not None else None,
            dependence.swapped(group))
