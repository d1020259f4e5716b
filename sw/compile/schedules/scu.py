"""Stream compaction by the Stream Compaction Unit (Segura et al., ISCA 2019, 3.3 to 3.5).

The cores look up the frontier's vertices. From them the unit makes the list of their edges, and
from the elements that the cores keep of this list, the next frontier
(:mod:`sw.compile.compaction.unit`).
"""

import dataclasses

from sw.compile.compaction import expansion, lists
from sw.compile.compaction.steps import ScuSteps
from sw.compile.compaction.unit import ScuCompaction
from sw.compile.formats.compressed import AddressedEdges
from sw.compile.kernels.passes import Pass
from sw.compile.schedules.compact import WINDOWS, Compact, emit_list


__all__ = ["StreamCompaction"]


class StreamCompaction(Compact):
    """The unit as a mover of data."""
    name = "scu"
    OPTIONS = {"windows": WINDOWS}
    counts_edges = counts_entries = needs_scu = True
    enhanced = streams = False

    def check_config(self, config):
        if not getattr(config, "scu", 0):
            raise self.refuse(f"needs a Stream Compaction Unit, which configuration "
                              f"{config.name!r} does not have (scu = 0); scu = 4 has one")

    def check(self, task):
        if not all(isinstance(layout, AddressedEdges) for layout in task.format.layouts(task)):
            raise self.refuse("copies stored neighbours, which must be a word each; format "
                              f"{task.format.name!r} stores some of them in another way")
        if not task.algorithm.sums_fit:
            raise self.refuse(
                "adds weights on the unit, which does not notice if a sum passes 32 bits; with "
                f"weights up to {int(task.graph.weights.max())} the sum of a path in "
                f"{task.graph.name} may")
        super().check(task)
        self.unit(task)

    def unit(self, task) -> ScuCompaction:
        """The unit's part of a task. Raises UserError."""
        return ScuCompaction(task, self.options, self.enhanced, self.streams)

    def neighbor_shift(self, task):
        return 2 if self.unit(task).filters else 0

    def overread(self, task):
        return 0

    @property
    def pieces(self) -> int:
        """Most pieces of a list of edges."""
        return 1

    def reserve(self, task):
        unit = self.unit(task)
        lists.reserve(task, self.pieces)
        if not unit.looks_up:
            expansion.reserve_prepared(task, unit.prepared)
        self.reserve_bits(task)
        unit.reserve()

    def passes(self, task):
        unit = self.unit(task)
        steps = ScuSteps(unit)
        passes = self.edge_passes(steps)
        if not unit.looks_up:
            prepare = self.prepare(task, lambda k: expansion.prepare(k, unit.prepared))
            if unit.prepares_once:
                prepare = dataclasses.replace(prepare, once=True)
            passes = [prepare, *passes]
        if task.frontier is not None and task.frontier.BITS:
            passes.append(Pass("compact", operate=steps.compact))
        return passes

    def edge_passes(self, steps) -> list:
        """The passes over the edge frontier, by the host's
        :class:`~sw.compile.compaction.steps.ScuSteps`.
        """
        return [Pass("expand", operate=steps.expand),
                Pass("contract", emit_list, enter=self.enter, leads=False)]

    def edges_end(self, k, resets=True):
        """In the prologue: a new register with the number of bytes of the list."""
        end = k.a.reg("edges_end")
        lists.end_word(k, end)
        k.a.lw(end, end)
        k.a.slli(end, end, 2)
        return end
