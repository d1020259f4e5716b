"""Reference model of GraphPEG (:mod:`hw.gather.graphpeg`), one call a transaction.

The model reads the input list, offsets and edges from memory, and stores the output list. It gives
answers, but not their time. The hardware may hand out the edges in another order: an entry's rows
in the order in which their data come, and vertices' edges in any mixture. So lockstep uses the
:class:`GraphpegFollower`, which takes the hardware's answers and compares each with the edges that
are left.
"""

import collections
from typing import Any

import numpy as np

from hw.isa import UNMAPPED
from hw.operations import NONE, GatherSetting, InputMode
from sw.golden.gather.fsm import GatherModel


__all__ = ["GraphpegFollower", "GraphpegModel", "follower", "model"]


class GraphpegModel(GatherModel):
    """The input that is left, each warp's last edges, and the output list of one core.

    The edges of the input's vertices are handed out vertex by vertex, in the order of the input. A
    pop of edges waits before the first START of a launch. If the input's mode is that of the other
    pop, nothing is left for the pop.

    Attributes
    ----------
    memory
        Has ``load_word(address, lane)``, which gives a word, and ``store_word(address, word,
        lane)``. To be set before the first START.
    """
    memory: Any = None

    def reset(self):
        self._settings = dict.fromkeys(GatherSetting, 0)
        self._started = False
        self._entries = collections.deque()     # [vertex, next edge, end], none of them empty
        self._vertices = collections.deque()    # vertices that wait for POP_VERT
        self._neighbors = np.zeros((self.warps, self.threads), np.uint32)
        self._weights = np.zeros((self.warps, self.threads), np.uint32)
        self._pushed = 0                        # vertices in the output list

    @property
    def pushed(self) -> int:
        """Vertices in the output list that is open."""
        return self._pushed

    @property
    def left(self) -> int:
        """Edges, or vertices in the mode LIST, that were not handed out."""
        return sum(end - edge for _, edge, end in self._entries) + len(self._vertices)

    def set(self, number, value):
        """GATHER_SET: a setting gets a value. START reads the input; CLOSE stores the number of
        pushed vertices, and the next push begins a list. Settings without a name are ignored."""
        if number not in self._settings:
            return
        self._settings[GatherSetting(number)] = int(value)
        if number == GatherSetting.START:
            self._start(int(value))
        elif number == GatherSetting.CLOSE:
            self.memory.store_word(self._settings[GatherSetting.COUNT], self._pushed, 0)
            self._pushed = 0

    def _start(self, value):
        """Read the input, and the offsets of its vertices."""
        self._started = True
        first = self._settings[GatherSetting.INPUT]
        places = [first + 4 * index & 0xFFFFFFFF
                  for index in range(value & ~(InputMode.LIST | InputMode.RANGE))]
        vertices = (places if value & InputMode.RANGE else
                    [int(self.memory.load_word(place, 0)) for place in places])
        if value & InputMode.LIST:
            self._vertices.extend(vertices)
            return
        for vertex in vertices:
            place = vertex + self._settings[GatherSetting.OFFSETS] & 0xFFFFFFFF
            edge = int(self.memory.load_word(place, 0))
            end = int(self.memory.load_word(place + 4 & 0xFFFFFFFF, 0))
            if edge != end:
                self._entries.append([vertex, edge, end])

    def decode_id(self, warp):
        """WEAVER_DEC_ID (``pop_edge``): the next edges of the input's vertices.

        Returns ``(mask, bases)``: the lanes that go on, one bool a lane, and the base vertex of
        each lane. Lanes without an edge read ``NONE``; if no lane has an edge, all lanes go on.
        ``None`` if the warp has to wait.
        """
        if not self._started:
            return None
        bases = np.full(self.threads, NONE, np.uint32)
        filled = 0
        while filled < self.threads and self._entries:
            entry = self._entries[0]
            bases[filled] = entry[0]
            self._neighbors[warp, filled], self._weights[warp, filled] = self._load(entry[1])
            entry[1] += 1
            if entry[1] == entry[2]:
                self._entries.popleft()
            filled += 1
        return self._answer(filled, bases)

    def decode(self, warp):
        """WEAVER_DEC: the next edges, as :meth:`decode_id`, and as a third value their neighbours;
        ``NONE`` in lanes without an edge."""
        answer = self.decode_id(warp)
        if answer is None:
            return None
        lanes, bases = answer
        return lanes, bases, np.where(bases == NONE, np.uint32(NONE), self._neighbors[warp])

    def pop_vertices(self, warp):
        """POP_VERT: the next vertices of the input, with the mask of :meth:`decode_id`."""
        if not self._started:
            return None
        vertices = np.full(self.threads, NONE, np.uint32)
        filled = min(self.threads, len(self._vertices))
        for lane in range(filled):
            vertices[lane] = self._vertices.popleft()
        return self._answer(filled, vertices)

    def neighbor(self, warp):
        """NEIGHBOR: the neighbour of each lane's last edge."""
        return self._neighbors[warp].copy()

    def weight(self, warp):
        """WEIGHT: the weight of each lane's last edge; 0 without weights."""
        return self._weights[warp].copy()

    def push(self, vertices):
        """PUSH: append the words of the active lanes, in the lanes' order, to the output list.

        A word beyond the list's limit is stored at :data:`~hw.isa.UNMAPPED`, where a store fails.
        """
        for vertex in vertices.tolist():
            place = (self._settings[GatherSetting.OUTPUT] + 4 * self._pushed & 0xFFFFFFFF
                     if self._pushed < self._settings[GatherSetting.LIMIT] else UNMAPPED)
            self.memory.store_word(place, vertex, 0)
            self._pushed += 1

    def _load(self, edge):
        """The neighbour and the weight of an edge."""
        place, weights = edge << 2 & 0xFFFFFFFF, self._settings[GatherSetting.WEIGHTS]
        return (int(self.memory.load_word(place, 0)),
                int(self.memory.load_word(place + weights & 0xFFFFFFFF, 0)) if weights else 0)


class GraphpegFollower(GraphpegModel):
    """The model for lockstep: it takes the hardware's answers, and compares each with the edges
    that are left.

    START reads the edges of the input. A base vertex may be handed out as often as it has edges; a
    neighbour, or a weight, of a base as often as the base has such edges. If a warp asks for both,
    the pair has to be left, too. Asked twice for an edge, the hardware has to answer the same.
    Vertices come in the order of the input. Answers to pops that were issued before the first START
    are compared at the START.
    """
    #: Whether each lane gets an edge as long as edges are left.
    fills = True

    def reset(self):
        super().reset()
        self._edges_left = 0
        self._counts = collections.Counter()    # {key as in _start: edges left}
        self._early = []                        # (method, warp, words) of answers before START
        self._surplus = []                      # what was wrong in these answers
        self._records = [[{} for _ in range(self.threads)] for _ in range(self.warps)]

    @property
    def left(self) -> int:
        return self._edges_left + len(self._vertices)

    def _start(self, value):
        super()._start(value)
        for base, edge, end in self._entries:
            self._edges_left += end - edge
            for place in range(edge, end):
                neighbor, weight = self._load(place)
                self._counts.update([(base,), (base, "neighbor", neighbor),
                                     (base, "weight", weight), (base, neighbor, weight)])
        self._entries.clear()
        for take, warp, words in self._early:
            self._surplus += take(warp, words)
        self._early.clear()

    def decode_id(self, warp):
        """An answer that stands for any: :meth:`take` follows."""
        return self._answer(self.threads, np.full(self.threads, NONE, np.uint32))

    def decode(self, warp):
        """An answer that stands for any: :meth:`take` and :meth:`take_part` follow."""
        lanes, none = self.decode_id(warp)
        return lanes, none, none

    def pop_vertices(self, warp):
        """An answer that stands for any: :meth:`take_vertices` follows."""
        return self.decode_id(warp)

    def take(self, warp, bases):
        """The hardware has handed out edges of ``bases``. Returns the bases of lanes to which no
        edge is left. (Fewer edges than lanes are right only if :attr:`left` is 0 then.)"""
        self._records[warp] = [{} if base == NONE else {"base": base} for base in bases.tolist()]
        return self._compare(self._take_bases, warp, bases)

    def take_vertices(self, warp, vertices):
        """The hardware has handed out ``vertices``. Returns those that are not the next ones."""
        return self._compare(self._take_vertices, warp, vertices)

    def _compare(self, take, warp, words):
        if not self._started:
            self._early.append((take, warp, words.copy()))
            return []
        surplus, self._surplus = self._surplus, []
        return surplus + take(warp, words)

    def _take_bases(self, warp, bases):
        right = [base == NONE or self._take((base,)) for base in bases.tolist()]
        self._edges_left -= sum(right[lane] and base != NONE
                                for lane, base in enumerate(bases.tolist()))
        return [base for lane, base in enumerate(bases.tolist()) if not right[lane]]

    def _take_vertices(self, warp, vertices):
        return [vertex for vertex in vertices.tolist()
                if vertex != NONE and not (self._vertices and self._vertices.popleft() == vertex)]

    def take_part(self, warp, part, words, lanes):
        """The hardware has answered a NEIGHBOR or a WEIGHT (``part``) with ``words``, one a lane;
        ``lanes`` are the lanes that count. Returns the lanes whose edge is not left."""
        weighted = self._settings[GatherSetting.WEIGHTS]
        wrong = []
        for lane in lanes:
            record, word = self._records[warp][lane], int(words[lane])
            if "base" not in record or (part == "weight" and not weighted):
                continue
            if part in record:
                right = record[part] == word
            else:
                record[part] = word
                right = self._take((record["base"], part, word))
                if right and len(record) == 3:
                    right = self._take((record["base"], record["neighbor"], record["weight"]))
            if not right:
                wrong.append(lane)
        return wrong

    def _take(self, key):
        """Count one down. False if none is left."""
        if not self._counts[key]:
            return False
        self._counts[key] -= 1
        return True


model, follower = GraphpegModel.of, GraphpegFollower.of
