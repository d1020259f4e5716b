"""Resident tiles: tiles that stay in global memory until lanes take them (SAGE, 5.2 and algorithm
3).

A first kernel cuts the rows of the frontier into tiles, and puts them into a list for each width of
a tile in global memory. Other kernels take the tiles from the lists by the task's split. With a
counter, whichever warp of whichever core is free takes the next tile, so the work of a long row is
stolen tile by tile. Where all vertices take part in every superstep, the tiles of the first
superstep serve all supersteps.

A tile of the widest list is one turn of a warp or more, but not more edges than the core has lanes.
A tile of any other list is one turn of as many lanes as the list is wide. The last list has
fragments, which the lanes of a warp share by a scan.
"""

from hw.isa import Csr
from sw.compile.asm.assembler import Condition
from sw.compile.kernels.bins import FIELD, BinRows, Claim, DeviceBins, store_entry
from sw.compile.kernels.distribution import EdgeWork, Scan, Share, sums_of_rows
from sw.compile.kernels.kernel import Vertex, log2
from sw.compile.kernels.rows import Rows
from sw.compile.kernels.tiles import Election, turns, whole_turns


__all__ = ["ResidentTiles"]


#: Lists for which one word has fields.
_GROUP = 4


class ResidentTiles:
    """The lists of a layout's tiles.

    Parameters
    ----------
    layout : sw.compile.formats.storage_format.Layout
    widths : list of int
        Lanes of the tiles of a list, the widest first: all lanes of a warp, and halves down to the
        narrowest.
    """

    def __init__(self, layout, widths):
        task = layout.task
        self._layout = layout
        self._lists = self.lists(widths)
        self._narrowest = widths[-1]
        self._widest = task.warps * task.config.threads         # edges of a tile
        self._bins = DeviceBins(
            layout, (layout.edges // self._widest, *[0] * (len(self._lists) - 1)))

    @staticmethod
    def lists(widths) -> list:
        """The lists, by the lanes of their tiles. The last is 0, of fragments, if the narrowest
        tile has more than one lane."""
        return [*widths, 0] if widths[-1] > 1 else widths

    def reserve(self):
        """Reserve the buffers."""
        self._bins.reserve()

    def build(self):
        """Fill the buffers: empty lists."""
        self._bins.build()

    # The kernel that makes tiles

    def expand(self, k, keeps):
        """Cut the rows of the frontier into tiles (expandTiles).

        Parameters
        ----------
        k : Kernel
            At the prologue of the kernel.
        keeps : bool
            Whether the tiles of the first superstep serve all supersteps.
        """
        a = k.a
        claim, rows, self._election = Claim(k), Rows(k), Election(k)
        tails, size, vertex, begin = a.regs("tails", "size", "row_vertex", "row_begin")
        top, bottom = a.label("round"), a.label("round_end")
        self._bins.append(k, tails, keeps)
        rows.start()
        k.phase(1)
        a.place(top)
        a.mv(vertex, rows.vertex.reg)
        a.mv(begin, rows.begin)
        rows.size(size)
        rows.advance()
        some = a.reg("some")
        a.snez(some, size)
        a.vote_any(some, some)
        a.beqz(some, bottom)
        self._widest_tiles(k, claim, tails, vertex, begin, size)
        self._other_tiles(k, claim, tails, vertex, begin, size)
        a.place(bottom)
        a.branch(rows.more(), top)

    def _widest_tiles(self, k, claim, tails, vertex, begin, size):
        """Tiles of whole turns of a warp; ``begin`` and ``size`` then tell what is left. Each lane
        makes the first tile of its row. The lanes make the other tiles of a row together."""
        a, step = k.a, self._layout.step
        some, part, whole, left = a.regs("some", "part", "whole", "candidates")
        none, widest = a.label("no_turns"), k.constant(self._widest * step, "widest_tile")
        whole_turns(k, whole, size, self._lists[0] * step, several=True)
        a.snez(some, whole)
        a.vote_any(some, some)
        a.beqz(some, none)
        a.sub(size, size, whole)
        k.minimum(part, whole, widest)
        self._append(k, claim, tails, 0, [(vertex, begin, part)])
        a.add(begin, begin, part)
        a.sub(whole, whole, part)
        a.snez(some, whole)
        a.vote_ballot(left, some)
        with a.while_uniform(Condition("ne", left, a.zero), "long_rows"):
            self._long_row(k, claim, tails, vertex, begin, whole, left)
        a.add(begin, begin, whole)
        a.place(none)

    def _long_row(self, k, claim, tails, vertex, begin, whole, left):
        """All lanes make the tiles of a row whose lane they elect."""
        a, step, widest = k.a, self._layout.step, self._widest
        leader, elected, row, start, end, part = a.regs("leader", "elected", "long_vertex",
                                                        "long_begin", "long_end", "part")
        self._election.elect(leader, elected, left)
        a.shfl_idx(row, vertex, leader)
        a.shfl_idx(start, begin, leader)
        a.shfl_idx(end, whole, leader)
        a.add(end, end, start)
        lane = a.reg("lane")
        a.csrr(lane, Csr.THREAD_ID)
        k.times(lane, lane, widest * step)
        a.add(start, start, lane)
        top = a.place("tiles_of_row")
        a.sub(part, end, start)
        k.maximum(part, part, a.zero, signed=True)
        k.minimum(part, part, k.constant(widest * step, "widest_tile"))
        self._append(k, claim, tails, 0, [(row, start, part)])
        k.step(start, k.config.threads * widest * step)
        a.bltu(start, end, top)

    def _other_tiles(self, k, claim, tails, vertex, begin, size):
        """Tiles of one turn, and the fragment."""
        a, step = k.a, self._layout.step
        for first in range(1, len(self._lists), _GROUP):
            entries = []
            for width in self._lists[first:first + _GROUP]:
                part, start = a.regs("part", "part_begin")
                a.mv(start, begin)
                if width:
                    whole_turns(k, part, size, width * step, several=False)
                else:
                    a.andi(part, size, self._narrowest * step - 1)
                a.add(begin, begin, part)
                entries.append((vertex, start, part))
            self._append(k, claim, tails, first, entries)

    def _append(self, k, claim, tails, first, entries):
        """Append an entry, of vertex, location of the first edge and places, to each list from
        number ``first`` on, in the lanes whose entry has places."""
        a = k.a
        counts, one, ends = a.regs("counts", "one", "list_ends")
        a.mv(counts, a.zero)
        for number, (_, _, part) in enumerate(entries):
            a.snez(one, part)
            k.shifted(one, one, number * FIELD)
            a.or_(counts, counts, one)
        a.addi(ends, tails, 4 * first)
        sums, old = claim.claim(counts, ends, len(entries))
        for number, (vertex, begin, part) in enumerate(entries):
            has, end = a.regs("has_part", "part_end")
            a.snez(has, part)
            a.add(end, begin, part)
            entry = claim.place(sums, old, number, number * FIELD)
            with k.only(has):
                store_entry(k, entry, self._bins.distance, vertex, begin, end)

    # The kernels that take tiles

    def take(self, k, width, find, keeps):
        """Take the tiles of a list, or the fragments.

        Parameters
        ----------
        k : Kernel
            At the prologue of the kernel.
        width : int
            One of :meth:`lists`.
        find : str
            As of :class:`~sw.compile.kernels.distribution.Share`.
        keeps : bool
            As of :meth:`expand`.
        """
        a, number = k.a, self._lists.index(width)
        ends = self._bins.read(k, keeps, turns=number == 0)
        rows = BinRows(k, self._bins, number, ends, width or 1)
        turn = self._tiles(k, rows, width) if width else self._fragments(k, rows, find)
        done = a.label("tiles_done")
        rows.start(done)
        top = a.place("tiles")
        k.phase(3)
        vertex, begin = k.algorithm.token(k, rows.vertex), a.reg("row_begin")
        base = Vertex(a.reg("base"), vertex.array)
        a.mv(base.reg, vertex.reg)
        a.mv(begin, rows.begin)
        turn(base, begin)
        a.branch(rows.more(), top)
        a.place(done)

    def _tiles(self, k, rows, width):
        """In the prologue. Gives ``turn(base, begin)``, in which each group of as many lanes as a
        tile has works on its tile, and ``rows`` advance."""
        a, whole, step = k.a, width == k.config.threads, self._layout.step
        work, lane = EdgeWork(k), a.reg("tile_lane")
        a.csrr(lane, Csr.THREAD_ID)
        a.andi(lane, lane, width - 1)
        k.shifted(lane, lane, log2(step))

        def turn(base, begin):
            state = a.reg("tile_state")     # the end of the turns, or whether there is a tile
            a.add(begin, begin, lane)
            if whole:
                a.mv(state, rows.end)
            else:
                rows.test(state)
            rows.advance()
            k.tile = width
            if whole:
                location = a.reg("location")
                turns(k, work, location, base, begin, state, width * step)
            else:
                with k.only(state, "tiles_next"):
                    work.turn(begin, base)
            k.tile = None

        return turn

    def _fragments(self, k, rows, find):
        """In the prologue. Gives ``turn(base, begin)``, in which the lanes of the warp share the
        edges of their fragments, and ``rows`` advance."""
        a = k.a
        scan, share = Scan(k), Share(k, find, 1)

        def turn(base, begin):
            size, has = a.regs("size", "has_fragment")
            a.sub(size, rows.end, rows.begin)
            rows.test(has)
            k.masked(size, has)
            lasts, starts, total = sums_of_rows(k, scan, begin, size)
            rows.advance()
            share.slice(lasts, starts, base, a.zero, total)

        return turn
