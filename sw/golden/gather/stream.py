"""Reference model of the Weaver without rounds (:mod:`hw.gather.stream`), one call a transaction.

The model gives the answers, but not their time: before each call, rows and edges have moved on as
far as they can. Model and hardware agree exactly if the hardware has come to rest before each
request, and one warp at a time waits.
"""

import numpy as np

from sw.golden.gather.fsm import NONE, GatherModel, rows_under_way


__all__ = ["REGISTER", "StreamFollower", "StreamModel", "follower", "model"]


#: The VID that tells a warp to register its next row.
REGISTER = 0xFFFFFFFE


class StreamModel(GatherModel):
    """Table of rows, row taken, current entry, output and dense table of one core.

    A row goes from the table to the row *taken*, its entries one by one to the *current* entry, and
    the entry's edges to the output, each as soon as the place there is free. Rows leave the table
    in turn. The row of a warp that left the table may be registered anew.

    Parameters
    ----------
    under_way : int
        Rows that can be under way from the table to the row taken, because the table answers late.
    """
    def __init__(self, warps, threads, entries=None, under_way=0):
        self._most = 1 + under_way   # rows that have left the table and have entries left
        super().__init__(warps, threads, entries)

    @classmethod
    def of(cls, config):
        return cls(config.warps, config.threads, config.weaver_table_entries,
                   rows_under_way(config))

    def reset(self):
        self._table = {}             # row -> {lane: (VID, position, degree)}
        self._owners = {}            # row -> warp that registered it last
        self._turn = 0               # row with which the search for the next one begins
        self._taken = []             # rows taken, of entries: [VID, position, degree]
        self._current = None         # the entry whose edges come next
        self._output = []            # (VID, EID, entry)
        self._last = None            # the entry handed out last
        self._open = set()
        self._dense = np.full((self.warps, self.threads), NONE, dtype=np.uint32)

    @property
    def dry(self) -> bool:
        """Whether no warp is open and all edges are in the output: no row may follow, and the unit
        may hand out the output as it is."""
        return not (self._open or self._taken or self._current)

    @property
    def edges_left(self) -> int:
        """Edges in the output, which were not handed out."""
        return len(self._output)

    def register(self, warp, mask, vids, locs, degrees, distance=0):
        """WEAVER_REG: the lanes in ``mask`` write their entries of row ``warp + distance``, which
        is the warp's from now on; the warp is open.

        ``mask`` is a bit mask (an int) or one bool a lane; the others hold one number a lane.
        """
        number = warp + distance
        if not 0 <= number < self.rows:
            return
        self._open.add(warp)
        self._owners[number] = warp
        row = self._table.get(number, {})
        for lane in np.flatnonzero(self._lane_mask(mask)).tolist():
            entry = [int(vids[lane]), int(locs[lane]), int(degrees[lane])]
            row.pop(lane, None)
            if entry[2]:
                row[lane] = entry
        if row or number in self._table:
            self._table[number] = row
        self._settle()

    def skip(self, vids, mask=None, warp=None):
        """WEAVER_SKIP: the entry handed out last gives out no more if its VID is among ``vids``. If
        NONE is among ``vids``, ``warp`` closes. ``mask``, if given, has the lanes of ``vids`` that
        count.
        """
        vids = self._that_count(vids, mask)
        if np.any(vids == NONE):
            self._open.discard(warp)
        if self._last is not None and np.any(vids == self._last[0]):
            kept = [edge for edge in self._output if edge[2] is not self._last]
            self.skipped += len(self._output) - len(kept)
            self._output = kept
            if self._current is not None and self._current is self._last:
                self.skipped += self._current[2]
                self._current = None
            self._settle()

    def decode_id(self, warp):
        """WEAVER_DEC_ID: the warp's answer.

        Returns ``(mask, vids)``: the lanes that go on, one bool a lane, and the VID of each lane,
        or ``None`` if the warp has to wait. Lanes without work read ``NONE``; the answer "register"
        has ``REGISTER`` in all lanes. If no lane has work, all lanes go on.
        """
        answer = self._hand_out(warp)
        return answer and answer[:2]

    def decode(self, warp):
        """WEAVER_DEC: as :meth:`decode_id`, and as a third value four times the EIDs; ``NONE`` in
        lanes without work."""
        answer = self._hand_out(warp)
        if answer is None:
            return None
        lanes, vids, filled = answer
        return lanes, vids, np.where(self._lanes < filled,
                                     self._dense[warp] << np.uint32(2), np.uint32(NONE))

    def decode_loc(self, warp):
        """WEAVER_DEC_LOC: EIDs of this warp's last decode; ``NONE`` in lanes without work."""
        return self._dense[warp].copy()

    def _hand_out(self, warp):
        vids = np.full(self.threads, NONE, dtype=np.uint32)
        edges = []
        if warp in self._open and warp not in map(self._owners.get, self._table):
            vids[:] = REGISTER
        elif len(self._output) == self.threads or self.dry:
            edges, self._output = self._output, []
        else:
            return None
        self._dense[warp] = NONE
        for lane, (vid, eid, entry) in enumerate(edges):
            vids[lane], self._dense[warp, lane], self._last = vid, eid, entry
        self._settle()
        return *self._answer(len(edges), vids), len(edges)

    def _settle(self):
        """Move rows and edges on as far as possible."""
        while True:
            if self._current and len(self._output) < self.threads:
                entry = self._current
                count = min(entry[2], self.threads - len(self._output))
                self._output += [(entry[0], entry[1] + i & 0xFFFFFFFF, entry)
                                 for i in range(count)]
                entry[1] += count
                entry[2] -= count
                if not entry[2]:
                    self._current = None
            elif not self._current and self._taken:
                self._current = self._taken[0].pop(0)
                if not self._taken[0]:
                    self._taken.pop(0)
            elif len(self._taken) < self._most and self._table:
                row = min(self._table, key=lambda row: (row - self._turn) % self.rows)
                entries = [entry for _, entry in sorted(self._table.pop(row).items())]
                if entries:
                    self._taken.append(entries)
                self._turn = row + 1
            else:
                return


class StreamFollower(GatherModel):
    """The model for lockstep: every answer depends on the time, so none is predicted."""

    def reset(self):
        self._all, self._none = self._answer(0, np.full(self.threads, NONE, np.uint32))

    def register(self, warp, mask, vids, locs, degrees, distance=0):
        pass

    def skip(self, vids, mask=None, warp=None):
        pass

    def decode_id(self, warp):
        return self._all, self._none

    def decode(self, warp):
        return self._all, self._none, self._none

    def decode_loc(self, warp):
        return self._none


model, follower = StreamModel.of, StreamFollower.of
