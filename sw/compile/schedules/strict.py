"""Strict mapping: every warp of the device gets as many edges of the frontier as any other (STRICT
of GraphIt; SparseWeaver, 2.1.2 and table 4.1).

A superstep takes three kernels for each layout:

``register``
    Every lane registers the vertices of the frontier, and each warp appends a slice to a table in
    global memory, unless the slice has no edges. One atomic addition gives the slice its number.
``scan``
    One warp adds up the sizes of the slices, in the order of their numbers.
*gather*
    Every warp takes an equal part of all edges, finds the slice of its first edge by binary search,
    and goes on from slice to slice.
"""

from hw.isa import Csr
from sw.compile.asm.assembler import Condition
from sw.compile.kernels.distribution import (FIND, UNROLL, Scan, Share, Slices, SliceTable,
                                             at_once, part, register, sums_of_rows)
from sw.compile.kernels.kernel import round_up
from sw.compile.kernels.passes import Pass
from sw.compile.kernels.prefix import padded, prefix_sums
from sw.compile.kernels.rows import Rows
from sw.compile.schedules.schedule import Schedule


__all__ = ["StrictMapping"]


#: Buffers of a layout: the table, the sizes of the slices and then the places before them, and
#: three words.
_TABLE, _SIZES, _CONTROL = "strict_rows", "strict_sizes", "strict_control"

#: These words, in bytes: slices appended by now; their number, and the number of all places, for
#: the kernel *gather*.
_APPENDED, _SLICES, _PLACES = 0, 4, 8


class StrictMapping(Schedule):
    """All edges in equal parts."""
    name = "strict"
    compared = True
    shares_rows = True
    OPTIONS = {"find": FIND, "unroll": UNROLL}

    def passes(self, task):
        forms = []              # of the bases in the table, once "register" is emitted
        return [Pass("register", lambda k: self._register(k, forms), gathers=False),
                Pass("scan", self._sum_up, gathers=False),
                Pass("", lambda k: self._gather(k, forms[-1]))]

    # Memory

    def reserve(self, task):
        for layout in task.layouts:
            slices = self._most(task, layout)
            task.buffers.reserve(layout.array(_TABLE), SliceTable.words(task, slices))
            task.buffers.reserve(layout.array(_SIZES), padded(task, slices))
            task.buffers.reserve(layout.array(_CONTROL), 3)

    def build(self, task):
        for layout in task.layouts:
            task.buffers.fill(layout.array(_CONTROL), [0, 0, 0])

    def _most(self, task, layout):
        """The largest number of slices that a superstep may have in a layout. A round of all lanes
        may go over the last row, and dia has void edges there."""
        rows = layout.rows
        if task.queued and not layout.active:
            rows = task.input.most_entries(task)
        return round_up(max(1, rows), task.lanes) // task.config.threads

    def _table(self, k):
        return SliceTable(k, k.address(k.layout.array(_TABLE)), self._most(k.task, k.layout))

    # Kernels

    def _register(self, k, forms):
        a, rows, table = k.a, Rows(k), self._table(k)
        rows.start()
        scan = Scan(k)
        control = k.constant(k.address(k.layout.array(_CONTROL)), "control")
        sizes = k.constant(k.address(k.layout.array(_SIZES)), "sizes")
        top, empty = a.label("round"), a.label("round_next")
        a.place(top)
        k.phase(1)
        begin, size, base = register(k, rows)
        forms.append(base.array)
        lasts, starts, total = sums_of_rows(k, scan, begin, size)
        rows.advance()
        a.beqz(total, empty)
        number, pointer = a.regs("number", "pointer")
        k.claim(number, number, control)            # a single lane claims with number = 1
        table.pointer(pointer, number)
        table.store(pointer, lasts, starts, base.reg)
        a.slli(number, number, 2)
        a.add(number, number, sizes)
        a.sw(total, number)
        a.place(empty)
        a.branch(rows.more(), top)

    def _sum_up(self, k):
        a = k.a
        done = a.label("scan_done")
        warp, control, slices = a.regs("warp", "control", "slices")
        k.lane_index(warp, per_warp=1)
        a.branch(Condition("ltu", a.zero, warp), done)      # one warp of the device
        k.phase(1)
        a.li(control, k.address(k.layout.array(_CONTROL)))
        a.lw(slices, control, _APPENDED)
        end, first = a.regs("sizes_end", "first_size")
        a.li(end, k.address(k.layout.array(_SIZES)))
        a.slli(first, slices, 2)
        a.add(end, end, first)
        before = prefix_sums(k, k.layout.array(_SIZES), end)
        a.sw(slices, control, _SLICES)
        a.sw(before, control, _PLACES)
        a.sw(a.zero, control, _APPENDED)
        a.place(done)

    def _gather(self, k, form):
        a, config = k.a, k.config
        nothing = a.label("part_empty")
        share = Share(k, self.options["find"], self.at_once(k.task, at_once(k.task)))
        table = self._table(k)
        total, taker, low, high = a.regs("places", "taker", "low", "high")
        control, end = a.regs("control", "sizes_end")
        k.phase(2)
        a.li(control, k.address(k.layout.array(_CONTROL)))
        a.lw(total, control, _PLACES)
        a.lw(end, control, _SLICES)
        k.lane_index(taker, per_warp=1)
        a.csrr(control, Csr.THREAD_ID)
        a.sub(taker, taker, control)
        part(k, total, taker, config.cores * k.task.warps, low, high)
        a.bge(low, high, nothing)
        number, before, pointer = a.regs("slice_number", "before", "pointer")
        self._find(k, low, end, number, before)
        a.sub(low, low, before)
        a.sub(high, high, before)
        table.pointer(pointer, number)
        k.phase(3)
        Slices(k, table, share).go(pointer, low, high, form)
        a.place(nothing)

    def _find(self, k, low, slices, number, before):
        """``number`` = the slice that has the place ``low``; ``before`` = the places before it."""
        a = k.a
        step, place, first = a.regs("step", "place", "first")
        probe, fits = a.regs("probe", "fits")
        a.li(first, k.address(k.layout.array(_SIZES)))
        a.slli(slices, slices, 2)
        a.mv(number, a.zero)                        # times 4, as slices and step
        a.mv(before, a.zero)
        a.li(step, 4 << max(0, self._most(k.task, k.layout).bit_length() - 1))
        top, outside = a.place("search"), a.label("search_next")
        a.add(place, number, step)
        a.bgeu(place, slices, outside)
        a.add(probe, place, first)
        a.lw(probe, probe)
        a.bltu(low, probe, outside)
        a.mv(number, place)
        a.mv(before, probe)
        a.place(outside)
        a.srli(step, step, 1)
        a.sltiu(fits, step, 4)
        a.beqz(fits, top)
        a.srli(number, number, 2)
