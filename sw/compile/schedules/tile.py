"""Tiled Partitioning: rows are worked on by ever narrower tiles of lanes (SAGE, section 5 and
algorithms 2 and 3).

The lanes of a core take a row each. All lanes of the core are the first tile, and the tile of a
width is two tiles of half the width at the next. A tile elects the lanes whose rows have a whole
turn for it, one after another, and all lanes of the tile work on these turns. The fragments of rows
that are left behind the narrowest tile are shared by a scan over the lanes of the warp. So no lane
is idle in a tile, and the graph needs no preparation.

Resident tiles are made by a kernel of their own and lie in global memory, from where warps of all
cores take them.
"""

from sw.compile.kernels.distribution import FIND, Scan, Share, register, sums_of_rows
from sw.compile.kernels.kernel import log2
from sw.compile.options import Integer, Switch
from sw.compile.kernels.passes import Pass
from sw.compile.kernels.resident_tiles import ResidentTiles
from sw.compile.kernels.rows import Rows
from sw.compile.kernels.tiles import Election, TileLists, WarpTiles
from sw.compile.schedules.schedule import Schedule


__all__ = ["TiledPartitioning"]


#: Lanes of the narrowest tile, if a warp has as many.
_NARROWEST = 8


class TiledPartitioning(Schedule):
    """Rounds of one vertex for each lane of the core, or lists of resident tiles."""
    name = "tile"
    shares_rows = True
    OPTIONS = {
        "find": FIND,
        "min_tile": Integer(1, 32, None, "lanes of the narrowest tile; left out, 8, or the lanes "
                            "of a warp if they are fewer", power=True),
        "resident": Switch(False, "whether tiles are kept in global memory, from where warps take "
                           "them by the counter of split=counter")}

    def check_config(self, config):
        narrowest = self.options["min_tile"]
        if narrowest is not None and narrowest > config.threads:
            raise self.refuse(f"has min_tile = {narrowest}, which must not be above the "
                              f"{config.threads} lanes of a warp (threads in configuration "
                              f"{config.name!r})")

    def check(self, task):
        super().check(task)
        if self.options["resident"] and task.split != "counter":
            raise self.refuse("with resident=yes has tiles that warps take by a counter, so it "
                              f"needs split=counter, not split={task.split}")

    def _widths(self, task):
        """Lanes of the tiles of a warp, the widest first."""
        threads = task.config.threads
        narrowest = self.options["min_tile"] or min(_NARROWEST, threads)
        return [threads >> number for number in range(log2(threads // narrowest) + 1)]

    def reserve(self, task):
        Election.reserve(task)
        if self.options["resident"]:
            for layout in task.layouts:
                ResidentTiles(layout, self._widths(task)).reserve()
        else:
            TileLists.reserve(task)

    def build(self, task):
        if self.options["resident"]:
            for layout in task.layouts:
                ResidentTiles(layout, self._widths(task)).build()

    # Resident tiles

    def passes(self, task):
        if not self.options["resident"]:
            return super().passes(task)
        keeps = (not task.queued and not task.algorithm.filters(task)
                 and not any(layout.active for layout in task.layouts))
        widths = self._widths(task)

        def tiles(k):
            task.choices.used["min_tile"] = widths[-1]
            return ResidentTiles(k.layout, widths)

        def take(width):
            return Pass(f"tiles{width}" if width else "fragments",
                        lambda k: tiles(k).take(k, width, self.options["find"], keeps))

        return [Pass("expand", lambda k: tiles(k).expand(k, keeps), keeps, gathers=False),
                *map(take, ResidentTiles.lists(widths))]

    # Tiles of a round

    def emit(self, k):
        widths, core_widths = self._widths(k.task), TileLists.widths(k.task)
        k.task.choices.used["min_tile"] = widths[-1]
        a, rows = k.a, Rows(k, together=bool(core_widths))
        rows.start()
        scan = Scan(k)
        share = Share(k, self.options["find"], 1)
        lists = TileLists(k, share.work) if core_widths else None
        tiles = WarpTiles(k, share.work, widths,
                          several=not core_widths or core_widths[-1] > 2)
        self.go_on(k)
        top, done = a.label("round"), a.label("gather_done")
        a.place(top)
        k.phase(1)
        answer = rows.ask()
        first, size, base = register(k, rows)
        begin = a.reg("row_begin")
        a.mv(begin, first)
        if lists:
            lists.append(begin, size, base.reg)
        rows.offer(answer)
        self.go_on(k)
        rows.advance()
        k.phase(3)
        if lists:
            lists.go(base.array)
        tiles.go(begin, size, base)
        _fragments(k, scan, share, (begin, size, base))
        a.branch(~rows.more(), done)
        if rows.waits:
            self.go_on(k)               # all warps have read the answer
        a.j(top)
        a.place(done)

    def go_on(self, k):
        if TileLists.widths(k.task):
            k.barrier()


def _fragments(k, scan, share, row):
    """The lanes of the warp share what is left of their rows: the location of the first edge, the
    number of places and the base."""
    begin, size, base = row
    none = k.a.label("no_fragments")
    lasts, starts, total = sums_of_rows(k, scan, begin, size)
    k.a.beqz(total, none)
    share.slice(lasts, starts, base, k.a.zero, total)
    k.a.place(none)
