"""Plays the core of the unit that generates edges: warps and memory, with a golden model."""

import itertools

from hw.gather.interface import access_layout, fetched_layout
from hw.isa import MemoryMap
from hw.operations import NONE, GatherOp, GatherSetting
from tb.clocking import integer, tick
from tb.hw.gather.warps import Warps
from tb.streams import StreamSink, StreamSource


__all__ = ["Core", "Graph", "Memory", "NONE"]


#: Where the bench's arrays lie in global memory: at the two ends of the largest memory.
_IDS, _WEIGHTS = (MemoryMap.GLOBAL + (1 << 16) * i for i in range(1, 3))
_OFFSETS, _EDGES = ((1 << 32) - (1 << 16) * i for i in (4, 3))


def of_edges(address):
    """Whether a neighbour or a weight is at an address."""
    return address >= _EDGES or _WEIGHTS <= address < _WEIGHTS + (1 << 16)


class Memory(dict):
    """Words by their address. A word that was never stored tells its address."""

    def load_word(self, address, lane=0):
        assert address % 4 == 0
        return self.get(address, address * 0x9E3779B1 >> 4 & 0xFFFFFFFF)

    def store_word(self, address, word, lane=0):
        assert address % 4 == 0
        self[address] = int(word)


class Graph:
    """Vertices with random degrees; vertex v has the ID ``ids[v]``.

    Attributes
    ----------
    ids : list of int
    rows : dict
        The numbers of a vertex's edges, by the vertex's ID.
    memory : Memory
        Offsets; edges and weights are whatever memory holds there.
    """

    def __init__(self, degrees):
        self.memory, self.ids, self.rows = Memory(), [], {}
        ends = list(itertools.accumulate(degrees, initial=_EDGES // 4))
        for vertex, (begin, end) in enumerate(itertools.pairwise(ends)):
            self.ids.append(_IDS + 4 * vertex)
            self.rows[self.ids[-1]] = range(begin, end)
        for vertex, offset in enumerate(ends):
            self.memory.store_word(_OFFSETS + 4 * vertex, offset)

    def distances(self, weighted):
        """The settings OFFSETS and WEIGHTS, as (setting, value)."""
        return ((GatherSetting.OFFSETS, _OFFSETS - _IDS & 0xFFFFFFFF),
                (GatherSetting.WEIGHTS, weighted * (_WEIGHTS - _EDGES & 0xFFFFFFFF)))

    def neighbor(self, edge):
        """The word at an edge."""
        return self.memory.load_word(4 * edge)

    def weight(self, edge):
        """The word beside an edge, at the distance of weights."""
        return self.memory.load_word(4 * edge + _WEIGHTS - _EDGES & 0xFFFFFFFF)


class Core(Warps):
    """The warps of a core, and its memory.

    A request goes to the golden model when it is queued, and the model's memory is a copy. The
    comparison is exact if the unit has come to rest before each REG and SKIP (:meth:`rest`), and no
    DEC_ID waits then. With ``golden=False`` nothing is compared. The number of loads under way and
    the protocol are always checked.

    Parameters
    ----------
    dut
        The top module, an EdgeGenerator.
    golden : bool
        Whether to compare with the golden model.
    latency : int
        Most cycles from a load to its data.
    rates
        As of :class:`~tb.hw.gather.warps.Warps`.

    Attributes
    ----------
    graph : Graph
        To be set with :meth:`use`.
    weighted : bool
        Whether edges have weights.
    memory : Memory
        The memory that the unit sees.
    """

    def __init__(self, dut, *, golden=True, latency=1, **rates):
        super().__init__(dut, **rates)
        self.golden, self.latency = golden, latency
        self.expected = {}                   # warp -> (rd, mask, IDs)
        self.under_way = self.most = 0
        self.accesses = StreamSink(dut, "access", access_layout(self.config))
        self.data = StreamSource(dut, "fetched", fetched_layout(self.config))
        self._loads = []                     # [cycles left, item]
        self._taken, self._held = 0, False   # accesses performed; one is on offer and not taken
        self.memory, self.weighted = Memory(), False

    def use(self, graph, weighted=False):
        """Give the unit its settings, at rest."""
        self.graph, self.weighted = graph, weighted
        self.ids = MemoryMap.LOCAL
        self.records = MemoryMap.LOCAL + 4 * self.threads * self.warps
        self.memory.update(graph.memory)
        self.model.memory = Memory(self.memory)
        for setting, value in (*graph.distances(weighted), (GatherSetting.IDS, self.ids),
                               (GatherSetting.RECORDS, self.records)):
            self.set(setting, value)

    def set(self, setting, value, mask=1):
        """Queue a SET."""
        self.send(GatherOp.SET, self.rng.randrange(self.warps), rd=setting, vid=[value], mask=mask)
        if mask & 1:
            self.model.set(setting, value)

    def row(self, warp, vertices, mask=None, distance=0):
        """Write the IDs of a row and queue its REG. ``vertices`` are numbers, or None."""
        ids = [NONE if vertex is None else self.graph.ids[vertex] for vertex in vertices]
        ids += [self.rng.getrandbits(32)] * (self.threads - len(ids))
        mask = (1 << len(vertices)) - 1 if mask is None else mask
        for memory in (self.memory, self.model.memory):
            for lane, vertex in enumerate(ids):
                memory.store_word(self.ids + 4 * self.threads * (warp + distance) + 4 * lane,
                                  vertex)
        self.send(GatherOp.REG, warp, rd=distance, mask=mask)
        if self.golden:
            self.model.register(warp, mask, distance=distance)

    def skip(self, warp, vids, mask=None):
        vids, mask = self._named(vids, mask)
        self.send(GatherOp.SKIP, warp, mask=mask, vid=vids)
        if self.golden:
            self.model.skip(vids, mask, warp)

    def ask(self, warp):
        """Queue a DEC_ID."""
        assert warp not in self.expected, "the bench broke the protocol"
        rd = self.rng.randrange(32)
        answer = None
        if self.golden:
            lanes, ids = self.model.decode_id(warp)
            answer = (sum(1 << lane for lane in range(self.threads) if lanes[lane]),
                      [int(value) for value in ids])
        self.expected[warp] = rd, answer
        self.send(GatherOp.DEC_ID, warp, rd=rd, mask=self.rng.getrandbits(self.threads))

    def idle_warps(self):
        """Warps that wait for nothing."""
        return [warp for warp in range(self.warps) if warp not in self.expected]

    async def response(self):
        """Take and check an answer. Returns (warp, mask, IDs, records): a record for each lane with
        work, (neighbour, weight or None)."""
        item, = await self.sink.receive(1)
        assert item.warp in self.expected, f"an answer for warp {item.warp}, which did not ask"
        rd, answer = self.expected.pop(item.warp)
        ids = [int(value) for value in item.data]
        assert item.rd == rd and item.set_mask
        # The core's loads come behind the access that is on offer.
        await tick(self.dut)
        before = self._taken + len(self.accesses.items) + self._held
        while self._taken < before:
            await tick(self.dut)
        records = self._records(self.memory, item.warp, ids)
        if self.golden:
            assert (item.mask, ids) == answer, f"warp {item.warp}: {ids}, not {answer}"
            assert records == self._records(self.model.memory, item.warp, ids)
        return item.warp, item.mask, ids, records

    def _records(self, memory, warp, ids):
        size = 4 * self.threads
        first = self.records + size * warp * (1 + self.weighted)
        return [(memory.load_word(first + 4 * lane),
                 memory.load_word(first + size + 4 * lane) if self.weighted else None)
                for lane, vertex in enumerate(ids) if vertex != NONE]

    async def answer(self, warp):
        """Queue a DEC_ID and return (mask, IDs, neighbours, weights) of its answer."""
        self.ask(warp)
        _, mask, ids, records = await self.response()
        return mask, ids, [one for one, _ in records], [other for _, other in records]

    async def rest(self):
        """Wait until the unit has come to rest."""
        await self.source.drain()
        quiet = 0
        while quiet < 4 + self.threads:
            await tick(self.dut)
            busy = (self._loads or integer(self.dut.busy) or integer(self.dut.access__valid)
                    or not self.data.drained)
            quiet = 0 if busy else quiet + 1

    def _forget(self):
        self.expected.clear()
        self._loads.clear()
        self.data.clear()
        self.accesses.withdraw()
        self.under_way = 0

    def _each_cycle(self):
        """Perform the accesses that were taken, and send data that are due."""
        assert integer(self.dut.fetched__ready) == 1
        while self.accesses.items:
            item = self.accesses.items.popleft()
            self._taken += 1
            lanes = [lane for lane in range(self.threads) if item.mask >> lane & 1]
            assert lanes, "an access without lanes"
            if item.store:
                for lane in lanes:
                    self.memory.store_word(int(item.address[lane]), item.data[lane])
                continue
            assert item.once == of_edges(int(item.address[lanes[0]]))
            words = [self.memory.load_word(int(item.address[lane])) if lane in lanes
                     else self.rng.getrandbits(32) for lane in range(self.threads)]
            self._loads.append([self.rng.randint(1, self.latency), {
                "data": words, "tag": item.tag, "warp": item.warp, "mask": item.mask}])
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            assert self.under_way <= self.config.eghw_requests
        self._held = integer(self.dut.access__valid) == 1 and integer(self.dut.access__ready) == 0
        for load in self._loads:
            load[0] -= 1
        if self.data.drained:
            due = [load for load in self._loads if load[0] <= 0]
            if due:
                load = self.rng.choice(due)
                self._loads.remove(load)
                self.under_way -= 1
                self.data.send([load[1]])
