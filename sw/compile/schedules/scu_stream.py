"""Stream compaction by the unit in one pass over the edges, beside the cores.

The unit expands the frontier, adds weights, filters as ``scu-enhanced`` does, and stores the edges
that are left, all with one operation. The paper's operations (Segura et al., 3.1) take four passes
for this, and six with weights. Nothing is grouped.

The unit also looks up the rows of the frontier, if it is a list and the format stores whole rows.
It makes the edges in pieces. The cores contract a piece while the unit makes the next one; in
the paper, one of the two always waits for the other.
"""

import functools

from hw.isa import Csr
from sw.compile.compaction import lists
from sw.compile.compaction.unit import MOST_PIECES
from sw.compile.asm.assembler import Condition
from sw.compile.options import Choice, Integer
from sw.compile.kernels.passes import Pass
from sw.compile.schedules.compact import PREFERRED_WINDOWS, emit_list
from sw.compile.schedules.scu_enhanced import EnhancedStreamCompaction


__all__ = ["StreamingCompaction"]


#: The kernels that contract the first piece of a list, and in turn the later ones. Each is named
#: with the words, among the list's three, that tell where the piece before ends, and where the
#: piece ends. Meanwhile the unit writes the third word.
_FIRST = {"contract": (None, 0)}
_LATER = {"contract_b": (0, 1), "contract_c": (1, 2), "contract_d": (2, 0)}


class StreamingCompaction(EnhancedStreamCompaction):
    """The unit with its streaming operation."""
    name = "scu-stream"
    compared = True
    streams = True
    OPTIONS = {
        **{name: option for name, option in EnhancedStreamCompaction.OPTIONS.items()
           if name != "grouping"},
        "rows": Choice(("unit", "cores"), None, "who looks up the rows of the frontier; left out, "
                       "the unit where it can"),
        "pieces": Integer(1, MOST_PIECES, None, "pieces of a list of edges, one of which the cores "
                          "contract while the unit makes the next; left out, by the number of "
                          "edges"),
    }

    @property
    def pieces(self):
        return self.options.get("pieces") or MOST_PIECES

    def edge_passes(self, steps):
        kernels = _FIRST | (_LATER if self.pieces > 1 else {})

        def stream(session, argument, layout, entries):
            task = layout.task
            bits = task.frontier.BITS if task.frontier is not None else ()
            block = lists.block_size(task, self.at_once(task, PREFERRED_WINDOWS), bits)
            steps.stream(session, argument, layout, [entries[name] for name in kernels], block)

        return [Pass("expand", operate=stream),
                *(Pass(name, emit_list, leads=False, in_turn=False,
                       enter=functools.partial(self._enter_piece, words))
                  for name, words in kernels.items())]

    def _enter_piece(self, words, k, done):
        a, start = k.a, None
        before, this = words
        if before is None and self.unit(k.task).looks_up:
            self._lead(k)
        end, place = a.regs("edges_end", "place")
        a.li(place, k.address(lists.ends(k.layout)))
        a.lw(end, place, 4 * this)
        if before is not None:
            start = a.reg("edges_start")
            a.lw(start, place, 4 * before)
        a.slli(end, end, 2)
        return self.contract(k, done, end, start)

    @staticmethod
    def _lead(k):
        """The last warp of each core prepares the frontier of the next superstep. In a short list
        that warp has no elements."""
        a = k.a
        warp, last = a.regs("warp", "last_warp")
        a.csrr(warp, Csr.WARP_ID)
        a.li(last, k.task.warps - 1)
        with a.if_uniform(Condition("eq", warp, last), "lead"):
            k.task.frontier.lead(k)
