"""Reference model of the Weaver that scans a row a step (:mod:`hw.gather.scan`), one call a
transaction.

The model gives the answers, but not their time. Model and hardware agree exactly as long as no
registration or skip overtakes a decode request that is still waiting, and the hardware has come to
rest before a registration that follows the first decode request of a round.
"""

import numpy as np

from sw.golden.gather.fsm import NONE, WeaverModel, rows_under_way


__all__ = ["ScanModel", "model"]


class ScanModel(WeaverModel):
    """Table, rows under way, window of two rows and dense table of one core.

    From the first decode request of a round until no edge is left, rows leave the table, lowest
    first, as soon as the window has room. Registrations of such a row that come afterwards
    make another row.

    Parameters
    ----------
    under_way : int
        Rows that can be under way from the table to the window, because the table answers late.
    """
    def __init__(self, warps, threads, entries=None, under_way=0):
        self._most = 2 + under_way   # rows that have left the table and have edges left
        super().__init__(warps, threads, entries)

    @classmethod
    def of(cls, config):
        return cls(config.warps, config.threads, config.weaver_table_entries,
                   rows_under_way(config))

    def reset(self):
        super().reset()
        self._started = False
        self._window = []            # rows of [VID, position, degree]
        self._divided = False        # edges of the first entry were handed out

    def register(self, warp, mask, vids, locs, degrees, distance=0):
        self._row = None             # no row of the table is ever scanned in place
        super().register(warp, mask, vids, locs, degrees, distance)
        self._settle()

    def skip(self, vids, mask=None, warp=None):
        """WEAVER_SKIP: the entry whose edges were handed out last gives out no more if its VID is
        among ``vids``. ``mask``, if given, has the lanes of ``vids`` that count. The ``warp`` that
        skips does not matter.
        """
        if self._divided and np.any(self._that_count(vids, mask) == self._window[0][0][0]):
            self.skipped += self._window[0][0][2]
            self._divided = False
            self._drop()

    def _hand_out(self, warp):
        self._started = True
        self._settle()
        vids = np.full(self.threads, NONE, dtype=np.uint32)
        eids = self._dense[warp]
        eids[:] = NONE
        filled = 0
        while filled < self.threads and self._window:
            entry = self._window[0][0]
            count = min(entry[2], self.threads - filled)
            vids[filled:filled + count] = entry[0]
            eids[filled:filled + count] = (entry[1] + self._lanes[:count]) & 0xFFFFFFFF
            filled += count
            entry[1] += count
            entry[2] -= count
            self._divided = entry[2] > 0
            if not self._divided:
                self._drop()
        return filled, vids

    def _drop(self):
        """Drop the first entry of the window."""
        self._window[0].pop(0)
        if not self._window[0]:
            self._window.pop(0)
        self._settle()

    def _settle(self):
        """Take rows while there is room."""
        while self._started and len(self._window) < self._most and self._valid.any():
            row = int(np.flatnonzero(self._valid.any(axis=1))[0])
            lanes = np.flatnonzero(self._valid[row])
            self._window.append([[int(column[row, lane]) for column in self._table]
                                 for lane in lanes])
            self._valid[row] = False
        self._started &= bool(self._window)


model = ScanModel.of
