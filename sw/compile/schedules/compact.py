"""Stream compaction by the cores: supersteps expand the frontier into a list of edges, contract it.

The Stream Compaction Unit is measured against this schedule: the work on edges is the same, but the
cores make all lists (:mod:`sw.compile.compaction`). Lanes share every list evenly, whatever the
degrees.

Warps reserve room in the list by adding to the number of its bytes. So the kernel that reads the
list resets the number for the next superstep.
"""

from sw.compile.algorithm import NEEDS
from sw.compile.compaction import expansion, lists
from sw.compile.compaction.contraction import Contraction, compact
from sw.compile.compaction.expansion import Expansion
from sw.compile.options import Integer, Switch
from sw.compile.kernels.passes import Pass
from sw.compile.schedules.schedule import Schedule


__all__ = ["PREFERRED_WINDOWS", "WINDOWS", "Compact", "emit_list"]


#: Windows whose loads are under way together, if the user does not say.
PREFERRED_WINDOWS = 4

#: How much of a list a warp works on at once.
WINDOWS = Integer(1, 8, None, "elements of a list that a lane works on at once; left out, 4",
                  power=True)


def emit_list(_, contraction):
    """Emit the contraction that the beginning of a kernel has made."""
    contraction.emit()


class Compact(Schedule):
    """Compaction by the cores, and the common part of all schedules by compaction."""
    name = "compact"
    AT_ONCE = "windows"
    has_lists = True
    ends_rows = False
    OPTIONS = {"windows": WINDOWS,
               "fused": Switch(True, "whether the kernels that work on edges also look up the "
                                     "frontier and make the next; else other kernels do")}

    @property
    def notes(self):
        return not self.options.get("fused", False)

    def directions(self, kind):
        return ("push",)

    def check_direction(self, kind, direction):
        kind.check_has(direction)
        if direction != "push":
            raise self.refuse(f"lists the edges that leave the frontier, so it has only push, and "
                              f"not {direction}")

    def check(self, task):
        super().check(task)
        if not task.algorithm.listable:
            raise self.refuse(f"cannot run {task.algorithm.name!r}: the sets of a program are "
                              "words of the vertices, and not lists")
        has = {"dst", "sent"} if task.algorithm.sends else {"dst"}
        lacks = [NEEDS[need] for need in sorted(task.algorithm.accept_needs - has)]
        if lacks and task.algorithm.selective(task):
            raise self.refuse(f"cannot run {task.algorithm.name!r}, whose test of an edge reads "
                              f"{' and '.join(lacks)}: at its test a list of edges has "
                              f"{' and '.join(NEEDS[need] for need in sorted(has))} alone")
        if task.algorithm.weighted and not task.algorithm.sends:
            raise self.refuse(f"cannot run {task.algorithm.name!r}: the list of edges has no room "
                              "for weights")
        if self.notes and task.algorithm.sends and any(
                layout.based for layout in task.format.layouts(task)):
            raise self.refuse("with fused=no copies edges without their sources, by which format "
                              f"{task.format.name!r} finds neighbours")

    def overread(self, task):
        return expansion.OVERREAD

    def reserve(self, task):
        lists.reserve(task)
        if self.notes:
            expansion.reserve_prepared(task)
            self.reserve_bits(task)

    @staticmethod
    def reserve_bits(task):
        """Reserve the bits that contractions leave."""
        for name in task.frontier.BITS if task.frontier is not None else ():
            task.buffers.reserve(name, task.buffers.words(lists.EDGES) // 32 + 1)

    def build(self, task):
        lists.fill(task)

    def passes(self, task):
        contract = Pass("contract", emit_list, enter=self.enter, leads=False)
        expand = Pass("expand", lambda k: Expansion(k, self.notes).emit(), gathers=False,
                      leads=not self.notes and not expansion.leads_late(task))
        if not self.notes:
            return [expand, contract]
        passes = [self.prepare(task, expansion.prepare), expand, contract]
        if task.frontier is not None and task.frontier.BITS:
            passes.append(Pass("compact", compact, enter=self._enter_compact, leads=False))
        return passes

    def passed(self, k, task):
        word = k.a.reg("word")
        for layout in task.layouts:
            lists.end_word(k, word, layout)
            k.a.xori(word, word, 4)
            k.a.sw(k.a.zero, word)

    @staticmethod
    def prepare(task, emit):
        """The pass that prepares rows."""
        return Pass("prepare", emit, gathers=False, leads=not expansion.leads_late(task))

    def edges_end(self, k, resets=True):
        """In the prologue: a new register with the number of bytes of the list. The number is reset
        for the next superstep."""
        end, word = k.a.regs("edges_end", "word")
        lists.end_word(k, word)
        k.a.lw(end, word)
        if resets:
            k.a.xori(word, word, 4)
            k.a.sw(k.a.zero, word)
        return end

    def enter(self, k, done):
        """Emit the beginning of the contraction, and give it."""
        return self.contract(k, done, self.edges_end(k))

    def contract(self, k, done, end, start=None):
        """The contraction of the elements from ``start`` to ``end``; see
        :class:`~sw.compile.compaction.lists.Blocks`."""
        return Contraction(k, end, done, self.at_once(k.task, PREFERRED_WINDOWS), self.notes,
                           self.neighbor_shift(k.task), start)

    def _enter_compact(self, k, done):
        return lists.Blocks(k, self.edges_end(k, resets=False), done,
                            self.at_once(k.task, PREFERRED_WINDOWS), k.task.frontier.BITS)
