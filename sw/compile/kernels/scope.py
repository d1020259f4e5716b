"""The scope of a schedule: the warps of a core that share work.

By default all warps of a core that take part share work. A schedule with the option ``group``
(:data:`GROUP`) can divide them into *groups* of consecutive warps, as a GPU's core holds several
CTAs. Many warps then hide latency, and yet a round is short: few warps wait for each other, and a
round takes few vertices. A group is to the others what a core is to other cores:

- It takes parts of the work as a core does (:mod:`sw.compile.kernels.split`).
- It has words of its own in local memory: the places of the groups lie one behind the other.
- It has a barrier of its own: group g meets at barrier g + 1. Barrier 0 is for all warps of the
  core, which meet there between the kernels of a fused loop, for example. A barrier releases only
  warps that wait at it (``./graphloom prove barrier``), so no group ever frees a warp of another.
"""

import dataclasses

from hw.isa import Csr
from sw.compile.options import Integer


__all__ = ["GROUP", "Scope"]


#: The option of schedules that can divide the warps of a core.
GROUP = Integer(1, 64, None, "warps of a core that share work, a group, with a barrier and local "
                "memory of its own; left out, group_warps of the configuration, or all warps where "
                "that is 0", worth=(4, 8, 16), power=True)


@dataclasses.dataclass(frozen=True)
class Scope:
    """The warps that share work, and how many such scopes there are."""
    warps: int  #: Warps of a group.
    groups: int  #: Groups of a core.
    cores: int  #: Cores of the device.

    @classmethod
    def of(cls, schedule, config, warps) -> "Scope":
        """The scope of a schedule on a machine, of whose cores so many ``warps`` take part.

        Raises UserError if the groups do not divide the warps, or if the core has too few barriers.
        """
        if "group" not in schedule.OPTIONS:
            return cls(warps, 1, config.cores)
        group = schedule.options["group"] or min(config.group_warps or warps, warps)
        if warps % group:
            raise schedule.refuse(f"has group = {group}, which must divide the {warps} warps of a "
                                  "core that take part")
        groups = warps // group
        if groups > 1 and groups >= config.barriers:
            raise schedule.refuse(f"has group = {group}, and {groups} groups need {groups + 1} "
                                  f"barriers, one for each and one for the core; barriers is "
                                  f"{config.barriers} in configuration {config.name!r}")
        return cls(group, groups, config.cores)

    @property
    def takers(self) -> int:
        """Groups of the whole device."""
        return self.cores * self.groups

    def group(self, k, into):
        """``into`` = the number of the warp's group in its core."""
        k.a.csrr(into, Csr.WARP_ID)
        k.divided(into, into, self.warps)

    def taker(self, k, into):
        """``into`` = the number of the warp's group in the device. Groups whose numbers follow one
        another are on different cores, so that a little work is on all cores."""
        a = k.a
        a.csrr(into, Csr.CORE_ID)
        if self.groups > 1:
            group = a.reg("group")
            self.group(k, group)
            k.times(group, group, self.cores)
            a.add(into, into, group)

    def lane_index(self, k, into, per_warp):
        """``into`` = this lane's place among all lanes of the device, where those of a group stand
        together, in the order of :meth:`taker`. A warp has ``per_warp`` places, of which its lanes
        take the first."""
        a = k.a
        other = a.reg("place")
        self.taker(k, into)
        k.times(into, into, self.warps)
        self.warp(k, other)
        a.add(into, into, other)
        k.times(into, into, per_warp)
        a.csrr(other, Csr.THREAD_ID)
        a.add(into, into, other)

    def warp(self, k, into):
        """``into`` = the warp's number in its group."""
        k.a.csrr(into, Csr.WARP_ID)
        if self.groups > 1:
            k.a.andi(into, into, self.warps - 1)

    def first_warp(self, k, into):
        """``into`` = the number in its core of the first warp of the warp's group."""
        k.a.csrr(into, Csr.WARP_ID)
        k.a.andi(into, into, -self.warps)

    def reserve(self, local, name, words):
        """Make room in local memory for so many words of each group. Kernels that do not run at the
        same time share a place of the same name. Raises UserError if local memory is full."""
        local.share(name, words * self.groups)

    def move(self, k, pointer, words):
        """Move a pointer to the words of the first group on to those of the warp's own group, which
        has so many ``words``."""
        if self.groups > 1:
            group = k.a.reg("group")
            self.group(k, group)
            k.times(group, group, 4 * words)
            k.a.add(pointer, pointer, group)

    def barrier(self, k):
        """The warps of a group wait for each other."""
        if self.groups == 1:
            k.barrier()
            return
        number = k.a.reg("group_barrier")
        self.group(k, number)
        k.a.addi(number, number, 1)
        k.a.bar(number, k.constant(self.warps, "warps"))
