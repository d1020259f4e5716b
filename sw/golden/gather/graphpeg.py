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
from hw.operations import NONE, EdgeTest, GatherSetting, InputMode
from sw.golden.gather.fsm import GatherModel


__all__ = ["GraphpegFollower", "GraphpegModel", "follower", "model"]


#: The bits of a test that say for which words edges are handed out.
_RELATIONS = EdgeTest.ABOVE | EdgeTest.BELOW | EdgeTest.EQUAL


class GraphpegModel(GatherModel):
    """The input that is left, each warp's last edges, and the output list of one core.

    The edges of the input's vertices are handed out vertex by vertex, in the order of the input. A
    pop of edges waits before the first START of a launch. If the input's mode is that of the other
    pop, nothing is left for the pop.

    With a filter, an edge is tested when it comes to be handed out, by the words of then.

    Attributes
    ----------
    filters : bool
        Whether the unit has a filter.
    memory
        Has ``load_word(address, lane)``, which gives a word, and ``store_word(address, word,
        lane)``. To be set before the first START.
    """
    memory: Any = None
    filters = False

    @classmethod
    def of(cls, config):
        found = super().of(config)
        found.filters = config.graphpeg_filter
        return found

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
            neighbor, weight = self._load(entry[1])
            if self._counts_now(entry[0], neighbor, weight):
                bases[filled] = entry[0]
                self._neighbors[warp, filled], self._weights[warp, filled] = neighbor, weight
                filled += 1
            entry[1] += 1
            if entry[1] == entry[2]:
                self._entries.popleft()
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

    # The filter

    @property
    def _test(self):
        """The test of edges; 0 if all are handed out."""
        test = self._settings[GatherSetting.TEST] if self.filters else 0
        return test if test & _RELATIONS else 0

    def _counts_now(self, base, neighbor, weight):
        """Whether an edge is handed out, by the words of now."""
        return not self._test or self._counts_by(*self._words(base, neighbor), weight)

    def _words(self, base, neighbor):
        """The words of an edge's neighbour, and that with which it is compared."""
        settings, of_base = self._settings, self._test & EdgeTest.BASE
        place = neighbor + settings[GatherSetting.VALUES] & 0xFFFFFFFF
        word = int(self.memory.load_word(place, 0))
        if not of_base:
            return word, settings[GatherSetting.BOUND]
        return word, int(self.memory.load_word(
            base + settings[GatherSetting.BASES] & 0xFFFFFFFF, 0))

    def _counts_by(self, word, other, weight):
        if self._test & EdgeTest.WEIGHT:
            other = min(other + weight, 0xFFFFFFFF)
        relation = (EdgeTest.ABOVE if word > other else
                    EdgeTest.BELOW if word < other else EdgeTest.EQUAL)
        return bool(self._test & relation)


class GraphpegFollower(GraphpegModel):
    """The model for lockstep: it takes the hardware's answers, and compares each with the edges
    that are left.

    START reads the edges of the input. A base vertex may be handed out as often as it has edges; a
    neighbour, or a weight, of a base as often as the base has such edges. If a warp asks for both,
    the pair has to be left, too. Asked twice for an edge, the hardware has to answer the same.
    Vertices come in the order of the input. Answers to pops that were issued before the first START
    are compared at the START.

    With a test, the hardware may have read words at any time since START. So if nothing is left,
    only the edges whose words are still those of START tell how many edges of a base vertex must
    have been handed out, and how many not.
    """
    #: Whether each lane gets an edge as long as edges are left.
    fills = True

    def reset(self):
        super().reset()
        self._edges_left = 0
        self._tested = []                       # (base, neighbour, weight, words at START)
        self._taken = collections.Counter()     # edges handed out, by base
        self._counts = collections.Counter()    # {key as in _start: edges left}
        self._early = []                        # (method, warp, words) of answers before START
        self._surplus = []                      # what was wrong in these answers
        self._records = [[{} for _ in range(self.threads)] for _ in range(self.warps)]

    @property
    def left(self) -> int:
        """As of the model; with a test, the edges that must have been handed out and were not, or
        were handed out and must not."""
        edges = self._misjudged() if self._test else self._edges_left
        return edges + len(self._vertices)

    def _misjudged(self):
        least, most = collections.Counter(), collections.Counter()
        for base, neighbor, weight, (value, own) in self._tested:
            stays = (value, own) == self._words(base, neighbor)
            counts = self._counts_by(value, own, weight)
            least[base] += stays and counts
            most[base] += not stays or counts
        return sum(max(least[base] - self._taken[base], self._taken[base] - most[base], 0)
                   for base in most)

    def _start(self, value):
        super()._start(value)
        if self._tested:
            self._edges_left = 0                # those of the last START were dropped
        self._tested.clear()
        self._taken.clear()
        for base, edge, end in self._entries:
            self._edges_left += end - edge
            for place in range(edge, end):
                neighbor, weight = self._load(place)
                self._counts.update([(base,), (base, "neighbor", neighbor),
                                     (base, "weight", weight), (base, neighbor, weight)])
                if self._test:
                    self._tested.append((base, neighbor, weight, self._words(base, neighbor)))
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
        self._taken.update(base for base in bases.tolist() if base != NONE)
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
