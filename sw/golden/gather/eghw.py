"""Reference model of the unit that generates edges (:mod:`hw.gather.eghw`), one call a transaction.

The model reads vertex IDs, offsets and edges from memory, and stores records. It gives the answers,
but not their time: before each call, rows have moved on as far as they can. Model and hardware
agree exactly if the hardware has come to rest before each registration and each skip.
"""

import collections
from typing import Any

import numpy as np

from hw.operations import NONE, GatherSetting
from sw.golden.gather.fsm import GatherModel


__all__ = ["EghwFollower", "EghwModel", "follower", "model"]


class EghwModel(GatherModel):
    """Registered rows, the rows that are read ahead, and the entry being handed out, of one core.

    Attributes
    ----------
    memory
        Has ``load_word(address, lane)``, which gives a word, and ``store_word(address, word,
        lane)``. To be set before the first registration.
    """
    memory: Any = None

    def reset(self):
        self._settings = dict.fromkeys(GatherSetting, 0)
        self._registered = {}        # row -> lanes
        self._read = None            # entries of the row read last: [ID, edge, end]
        self._serving = []           # entries of the row before
        self._current = None         # the entry being handed out

    def set(self, number, value):
        """GATHER_SET: a setting gets a value. Settings without a name are ignored."""
        if number in self._settings:
            self._settings[GatherSetting(number)] = int(value)

    def register(self, warp, mask, vids=None, locs=None, degrees=None, distance=0):
        """WEAVER_REG: row ``warp + distance`` is registered for the lanes in ``mask``, a bit mask
        or one bool a lane. The other operands do not matter."""
        if 0 <= warp + distance < self.rows:
            self._registered[warp + distance] = np.flatnonzero(self._lane_mask(mask)).tolist()
        self._settle()

    def skip(self, vids, mask=None, warp=None):
        """WEAVER_SKIP: the entry being handed out ends if its ID is among ``vids``. ``mask``, if
        given, has the lanes of ``vids`` that count."""
        if self._current and np.any(self._that_count(vids, mask) == self._current[0]):
            self.skipped += self._current[2] - self._current[1]
            self._current = None
            self._settle()

    def decode_id(self, warp):
        """WEAVER_DEC_ID: the next work, whose records are stored.

        Returns ``(mask, vids)``: the lanes that go on, one bool a lane, and the ID of each lane.
        Lanes without work read ``NONE``; if no lane has work, all lanes go on.
        """
        ids = np.full(self.threads, NONE, dtype=np.uint32)
        filled = 0
        while filled < self.threads and self._current:
            ids[filled] = self._current[0]
            self._record(warp, filled, self._current[1])
            self._current[1] = self._current[1] + 1 & 0xFFFFFFFF
            filled += 1
            self._settle()
        return self._answer(filled, ids)

    def _settle(self):
        """Move rows and entries on as far as possible."""
        while True:
            if self._current and self._current[1] == self._current[2]:
                self._current = None
            elif not self._current and self._serving:
                self._current = self._serving.pop(0)
            elif not self._serving and self._read:
                self._serving, self._read = self._read, None
            elif not self._read and self._registered:
                row = min(self._registered)
                self._read = self._entries(row, self._registered.pop(row))
            else:
                return

    def _entries(self, row, lanes):
        """The entries of a row: read its IDs, and the offsets of its vertices."""
        entries = []
        for lane in lanes:
            vertex = self.memory.load_word(self._local(GatherSetting.IDS, row, lane), lane)
            if vertex != NONE:
                place = vertex + self._settings[GatherSetting.OFFSETS] & 0xFFFFFFFF
                entries.append([vertex, self.memory.load_word(place, lane),
                                self.memory.load_word(place + 4 & 0xFFFFFFFF, lane)])
        return entries

    def _record(self, warp, lane, edge):
        """Load an edge and store its record."""
        place, weights = edge << 2 & 0xFFFFFFFF, self._settings[GatherSetting.WEIGHTS]
        row = warp * (2 if weights else 1)
        for number, distance in enumerate([0, weights] if weights else [0]):
            self.memory.store_word(
                self._local(GatherSetting.RECORDS, row + number, lane),
                self.memory.load_word(place + distance & 0xFFFFFFFF, lane), lane)

    def _local(self, setting, row, lane):
        """The address of a lane's word in a row of local memory."""
        size = 4 * self.threads
        return (self._settings[setting] & -size) + row * size + 4 * lane & 0xFFFFFFFF


class EghwFollower(EghwModel):
    """The model for lockstep: it takes the IDs that the hardware answers, and stores the records of
    the next edges of these vertices.

    A row is read when it is registered. Its entries are handed out in any order, each entry's edges
    in theirs. If two entries have the same ID, the older goes first. An entry that was skipped
    counts only until its vertex is registered again.
    """
    #: Whether each lane gets an edge as long as edges are left.
    fills = False

    def reset(self):
        super().reset()
        self._open = collections.defaultdict(list)       # ID -> [next edge, end, skipped]

    def register(self, warp, mask, vids=None, locs=None, degrees=None, distance=0):
        row = warp + distance
        if not 0 <= row < self.rows:
            return
        for vertex, edge, end in self._entries(row, np.flatnonzero(self._lane_mask(mask)).tolist()):
            entries = self._open[vertex]
            entries[:] = [entry for entry in entries if not entry[2]]
            if edge != end:
                entries.append([edge, end, False])

    def skip(self, vids, mask=None, warp=None):
        for vertex in self._that_count(vids, mask).tolist():
            for entry in self._open.get(vertex, [])[:1]:
                entry[2] = True

    def decode_id(self, warp):
        """An answer that stands for any: :meth:`take` follows."""
        return self._answer(0, np.full(self.threads, NONE, np.uint32))

    def take(self, warp, ids):
        """Store the records of an answer. Returns the IDs of lanes to which no edge is left."""
        surplus = []
        for lane, vertex in enumerate(ids.tolist()):
            if vertex == NONE:
                continue
            entries = self._open.get(vertex)
            if not entries:
                surplus.append(vertex)
                continue
            entry = entries[0]
            self._record(warp, lane, entry[0])
            entry[0] = entry[0] + 1 & 0xFFFFFFFF
            if entry[0] == entry[1]:
                entries.pop(0)
        return surplus

    @property
    def left(self) -> int:
        """Edges that were registered, not skipped and not handed out."""
        return sum(end - edge for entries in self._open.values()
                   for edge, end, skipped in entries if not skipped)


model, follower = EghwModel.of, EghwFollower.of
