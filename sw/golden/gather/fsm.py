"""Reference model of the Weaver (SparseWeaver; :mod:`hw.gather.fsm`), one call a transaction.

The model gives the answers, but not their time. Model and hardware agree exactly as long as no
registration or skip overtakes a decode request that is still waiting. (A kernel puts a barrier
between registration and distribution. So in a kernel only a skip can overtake another warp's
decode. Then the hardware may or may not still count the vertex's work into the waiting decode.)
"""

from typing import Self

import numpy as np

from hw.config import HardwareConfig


__all__ = ["GatherModel", "WeaverModel", "NONE", "model", "rows_under_way"]


#: The value that a lane without work reads.
NONE = 0xFFFFFFFF


class GatherModel:
    """A unit of one core. Base of the models.

    Parameters
    ----------
    warps, threads : int
        Warps of the core, and lanes of a warp.
    entries : int or None
        Entries of the table, a multiple of ``threads``; ``None`` or 0 for one a lane of every warp.
        Registrations of a row beyond the table are ignored.

    Attributes
    ----------
    rows : int
        Rows of the table.
    skipped : int
        Edges that skips have cut off, since the model was made.

    Raises
    ------
    ValueError
        For a shape that cannot be built.
    """
    def __init__(self, warps, threads, entries=None):
        if warps < 1:
            raise ValueError(f"warps must be at least 1, not {warps!r}")
        if threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads!r}")
        entries = entries or warps * threads
        if entries % threads or not 0 < entries <= warps * threads:
            raise ValueError(f"entries must be a multiple of threads ({threads}) of at most "
                             f"warps x threads ({warps * threads}), not {entries!r}")
        self.warps, self.threads, self.rows = warps, threads, entries // threads
        self._lanes = np.arange(threads)
        self.skipped = 0
        self.reset()

    @classmethod
    def of(cls, config: HardwareConfig) -> Self:
        """The model of a configuration's unit."""
        return cls(config.warps, config.threads, config.weaver_table_entries)

    def reset(self):
        """Forget everything, as a launch does."""
        raise NotImplementedError

    def _lane_mask(self, mask):
        if isinstance(mask, (int, np.integer)):
            return (int(mask) >> self._lanes.astype(object) & 1).astype(bool)
        return np.asarray(mask, dtype=bool)

    def _that_count(self, vids, mask):
        """The VIDs of a skip in the lanes of ``mask``, or in all lanes."""
        vids = np.asarray(vids, dtype=np.uint32)
        return vids if mask is None else vids[self._lane_mask(mask)]

    def _answer(self, filled, words):
        """The lanes that go on if the lowest ``filled`` have work, and the words of the lanes."""
        return self._lanes < (filled or self.threads), words


class WeaverModel(GatherModel):
    """Sparse table, scan and dense table of one core.

    The sparse table has rows of one entry a lane. An entry
    holds at most one registration. A new registration replaces one that was not loaded yet. A
    registration of degree 0 leaves the entry empty. The scan takes the lowest row with a
    registration, and loads the row's lanes in rising order. Then the scan takes the next row. If a
    row is registered again while the scan is on it, the scan takes the row again later.
    """
    def reset(self):
        self._table = np.zeros((3, self.rows, self.threads), dtype=np.uint32)
        self._valid = np.zeros((self.rows, self.threads), dtype=bool)
        self._row = 0                                             # row the scan is on
        self._snapshot = self._table[:, 0].copy()                 # the row's contents when taken
        self._left = np.zeros(self.threads, dtype=bool)           # lanes of the row still to load
        self._vid, self._loc, self._degree = 0, 0, 0              # current entry data (CED)
        self._dense = np.full((self.warps, self.threads), NONE, dtype=np.uint32)

    def register(self, warp, mask, vids, locs, degrees, distance=0):
        """WEAVER_REG: the lanes in ``mask`` write their entries of row ``warp + distance``.

        ``mask`` is a bit mask (an int) or one bool a lane; the others hold one number a lane.
        """
        row = warp + distance
        if not 0 <= row < self.rows:
            return
        mask = self._lane_mask(mask)
        degrees = np.asarray(degrees, dtype=np.uint32)
        if row == self._row:
            self._left &= ~mask
        for column, values in enumerate((vids, locs, degrees)):
            self._table[column, row, mask] = np.asarray(values, dtype=np.uint32)[mask]
        self._valid[row, mask] = degrees[mask] != 0

    def skip(self, vids, mask=None, warp=None):
        """WEAVER_SKIP: the current entry gives out no more if its VID is among ``vids``.

        Only the current entry is compared. A warp learns a VID from work handed out, and the entry
        of that work has been loaded by then. ``mask``, if given, has the lanes of ``vids`` that
        count. The ``warp`` that skips does not matter.
        """
        if np.any(self._that_count(vids, mask) == self._vid):
            self.skipped += self._degree
            self._degree = 0

    def decode_id(self, warp):
        """WEAVER_DEC_ID: the next work, in scan order.

        Returns ``(mask, vids)``: the lanes that go on, one bool a lane, and the VID of each lane.
        Lanes without work read ``NONE``; if no lane has work, all lanes go on.
        """
        return self._answer(*self._hand_out(warp))

    def decode(self, warp):
        """WEAVER_DEC: the next work, as :meth:`decode_id`, and as a third value four times the
        EIDs; ``NONE`` in lanes without work."""
        filled, vids = self._hand_out(warp)
        addresses = np.where(self._lanes < filled, self._dense[warp] << np.uint32(2),
                             np.uint32(NONE))
        return *self._answer(filled, vids), addresses

    def _hand_out(self, warp):
        """The next work: the number of lanes that get some, and the VIDs. The EIDs go to the dense
        table."""
        vids = np.full(self.threads, NONE, dtype=np.uint32)
        eids = self._dense[warp]
        eids[:] = NONE
        filled = 0
        while filled < self.threads:
            if not self._degree and not self._load():
                break
            count = min(self._degree, self.threads - filled)
            vids[filled:filled + count] = self._vid
            eids[filled:filled + count] = (self._loc + self._lanes[:count]) & 0xFFFFFFFF
            self._loc = (self._loc + count) & 0xFFFFFFFF
            self._degree -= count
            filled += count
        return filled, vids

    def decode_loc(self, warp):
        """WEAVER_DEC_LOC: EIDs of this warp's last decode; ``NONE`` in lanes without work."""
        return self._dense[warp].copy()

    def _load(self):
        """Load the next entry. Returns False if nothing is registered."""
        if not self._left.any():
            rows = np.flatnonzero(self._valid.any(axis=1))
            if not rows.size:
                return False
            self._row = int(rows[0])
            self._snapshot = self._table[:, self._row].copy()
            self._left = self._valid[self._row].copy()
            self._valid[self._row] = False
        lane = int(np.argmax(self._left))
        self._left[lane] = False
        self._vid, self._loc, self._degree = (int(value) for value in self._snapshot[:, lane])
        return True


model = WeaverModel.of


def rows_under_way(config: HardwareConfig) -> int:
    """Rows under way in a unit that reads rows ahead: one a cycle of the table's latency."""
    return min(config.weaver_table_entries // config.threads, config.table_latency)
