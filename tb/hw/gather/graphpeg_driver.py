"""Plays the core of GraphPEG: warps and memory, with a golden model."""

import collections

from hw.gather.interface import access_layout, fetched_layout
from hw.isa import MemoryMap
from hw.operations import NONE, GatherOp, GatherSetting, InputMode
from tb.clocking import integer, tick
from tb.hw.gather.eghw_driver import Graph, Memory, of_edges
from tb.hw.gather.warps import Warps
from tb.streams import StreamSink, StreamSource


__all__ = ["COUNT", "INPUT", "NONE", "OUTPUT", "Answer", "Core", "Graph"]


#: Where the bench's lists lie in global memory, beside the arrays of a graph. The output list does
#: not begin at a row of lanes, and its number is the last word of the largest memory.
INPUT, OUTPUT, COUNT = MemoryMap.GLOBAL + (3 << 16), (1 << 32) - (2 << 16) + 4, (1 << 32) - 4

#: An answer: the request's operation, and the answer's warp, lanes and words; of a DEC also the
#: neighbours.
Answer = collections.namedtuple("Answer", "op warp mask words neighbors", defaults=[None])

#: More edges than a bench has for one START: a unit that goes on behind the end is stopped.
_WITHOUT_END = 1 << 14

#: Requests for edges or vertices.
_POPS = GatherOp.DEC_ID, GatherOp.DEC, GatherOp.POP_VERT


class Core(Warps):
    """The warps of a core, and its memory.

    The golden model reads the inputs at each START. Answers and memory are checked by the bench:
    rows come in any order, so a bench compares all edges of an input (:meth:`play`), and the output
    lists. The number of loads under way and the protocol are always checked.

    Parameters
    ----------
    dut
        The top module, a GraphPeg.
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
    loads, stores : list of lists of int
        The addresses of all accesses.
    most : int
        Most loads that were under way.
    setter, named : int, set of int
        The warp of the last SET in the queue, and the warps that accesses have named.
    holds : callable
        Whether the data of a load are kept back, from its addresses. To be set by the bench.
    choose : callable
        Which of some loads whose data are due is answered next; the list is in the order in which
        they were taken. At random by default.
    """

    def __init__(self, dut, *, latency=1, **rates):
        super().__init__(dut, **rates)
        self.latency = latency
        self.most = 0
        self.loads, self.stores = [], []
        self.accesses = StreamSink(dut, "access", access_layout(self.config))
        self.data = StreamSource(dut, "fetched", fetched_layout(self.config))
        self.holds, self.choose = lambda addresses: False, self.rng.choice
        self._loads = []                     # [cycles left, item, addresses]
        self._given = 0                      # data on their way, or taken
        self._paused = False                 # no data are sent
        self._asked = collections.defaultdict(collections.deque)   # warp -> (op, rd, lanes)
        self.memory, self.weighted = Memory(), False
        self.setter, self.named = 0, set()
        self._handed_out = 0                 # edges or vertices since the last START

    def use(self, graph, weighted=False):
        """Give the unit the settings of a graph and of the lists."""
        self.graph, self.weighted = graph, weighted
        self.memory.update(graph.memory)
        for setting, value in (*graph.distances(weighted), (GatherSetting.INPUT, INPUT),
                               (GatherSetting.OUTPUT, OUTPUT), (GatherSetting.COUNT, COUNT),
                               (GatherSetting.LIMIT, 1 << 12)):
            self.set(setting, value)

    def set(self, setting, value, mask=1):
        """Queue a SET."""
        warp = self.rng.randrange(self.warps)
        self.send(GatherOp.SET, warp, rd=setting, vid=[value], mask=mask)
        if mask & 1:
            self.model.memory = Memory(self.memory)
            self.model.set(setting, value)
            self.setter = warp
            if setting == GatherSetting.START:
                self._handed_out = 0

    def start_list(self, vertices, mode=0, place=INPUT):
        """Store a list of vertices (numbers), and queue the SET that begins with it."""
        for index, vertex in enumerate(vertices):
            self.memory.store_word(place + 4 * index, self.graph.ids[vertex])
        self.set(GatherSetting.INPUT, place)
        self.set(GatherSetting.START, len(vertices) | mode)

    def start_range(self, first, count, mode=0):
        """Queue the SETs that begin with the vertices from number ``first`` on."""
        self.set(GatherSetting.INPUT, self.graph.ids[first] if count else 0)
        self.set(GatherSetting.START, count | mode | InputMode.RANGE)

    def ask(self, warp, op, mask=None):
        """Queue a DEC_ID, DEC, POP_VERT, NEIGHBOR or WEIGHT."""
        assert op not in _POPS or not self._asked[warp], "the bench broke the protocol"
        rd, rd2 = self.rng.randrange(32), self.rng.randrange(32)
        mask = self.rng.getrandbits(self.threads) if mask is None else mask
        self._asked[warp].append((op, rd, rd2, mask))
        self.send(op, warp, rd=rd, rd2=rd2, mask=mask)

    def waits(self, warp):
        """Whether a warp waits for an answer."""
        return bool(self._asked[warp])

    async def response(self):
        """Take and check a response; of a DEC both parts, which follow each other."""
        item, = await self.sink.receive(1)
        assert self._asked[item.warp], f"an answer for warp {item.warp}, which did not ask"
        op, rd, rd2, mask = self._asked[item.warp].popleft()
        words, neighbors = [int(word) for word in item.data], None
        assert item.rd == rd
        if op == GatherOp.DEC:
            assert not item.set_mask and item.mask == self.all_lanes
            warp = item.warp
            item, = await self.sink.receive(1)
            neighbors = [int(word) for word in item.data]
            assert (item.warp, item.rd) == (warp, rd2)
        assert item.set_mask == (op in _POPS)
        if op in _POPS:
            filled = sum(word != NONE for word in words)
            self._handed_out += filled
            assert self._handed_out < _WITHOUT_END, "edges without an end"
            for part in (words, neighbors or words):
                assert part[filled:] == [NONE] * (self.threads - filled)
            assert item.mask == ((1 << filled) - 1 or self.all_lanes)
        else:
            assert item.mask == mask
        return Answer(op, item.warp, item.mask, words, neighbors)

    async def answer(self, warp, op=GatherOp.DEC_ID, mask=None):
        """Queue a request and return the words of its answer: of a pop those of lanes with work,
        of others those of the lanes in its mask."""
        self.ask(warp, op, self.all_lanes if mask is None else mask)
        answer = await self.response()
        return [word for lane, word in enumerate(answer.words)
                if answer.mask >> lane & 1 and word != NONE]

    async def edges(self, warp):
        """The records of the next edges of a warp, (base, neighbour, weight or None)."""
        bases = await self.answer(warp)
        parts = [GatherOp.NEIGHBOR, GatherOp.WEIGHT][:1 + self.weighted]
        words = [await self.answer(warp, op, (1 << len(bases)) - 1) for op in parts]
        return list(zip(bases, words[0], words[1] if self.weighted else [None] * len(bases)))

    def records(self, vertices):
        """All records of a list of vertices (numbers)."""
        graph = self.graph
        return [(graph.ids[vertex], graph.neighbor(edge),
                 graph.weight(edge) if self.weighted else None)
                for vertex in vertices for edge in graph.rows[graph.ids[vertex]]]

    async def play(self, op=GatherOp.DEC_ID, work=None):
        """All warps ask at random until each had the answer that nothing is left; with ``op``
        DEC_ID some ask by DEC.

        Returns the words of each answer with work, and for edges the records of each answer.
        ``work(warp)`` is called after each such answer.
        """
        ended, rows, records, open_ = set(), [], [], {}
        while len(ended) < self.warps:
            idle = [warp for warp in range(self.warps)
                    if warp not in ended and not self.waits(warp)]
            for warp in idle:
                if self.rng.random() < 0.7:
                    fused = op == GatherOp.DEC_ID and self.rng.random() < 0.5
                    self.ask(warp, GatherOp.DEC if fused else op)
            if not any(map(self.waits, range(self.warps))):
                await tick(self.dut)
                continue
            answer = await self.response()
            warp, words = answer.warp, [word for word in answer.words if word != NONE]
            if answer.op not in (op, GatherOp.DEC):
                before = open_[warp].setdefault(answer.op, answer.words)
                assert all(before[lane] == answer.words[lane] for lane in range(self.threads)
                           if answer.mask >> lane & 1 and rows[open_[warp][None]][lane:])
                if not self.waits(warp):
                    bases, parts = rows[open_[warp][None]], open_[warp]
                    weights = parts.get(GatherOp.WEIGHT, [None] * self.threads)
                    records.append(list(zip(bases, parts[GatherOp.NEIGHBOR], weights)))
            elif not words:
                ended.add(warp)
            else:
                open_[warp] = {None: len(rows)}
                if answer.neighbors:
                    open_[warp][GatherOp.NEIGHBOR] = answer.neighbors
                rows.append(words)
                if work is not None:
                    work(warp)
                if op == GatherOp.DEC_ID:
                    parts = [GatherOp.NEIGHBOR] * self.rng.choice([1, 1, 2])
                    parts += [GatherOp.WEIGHT] * self.weighted
                    self.rng.shuffle(parts)
                    for part in parts:
                        self.ask(warp, part)
        return rows, records

    def push(self, warp, words, mask=None):
        """Queue a PUSH of a word a lane."""
        mask = (1 << len(words)) - 1 if mask is None else mask
        self.send(GatherOp.PUSH, warp, vid=words, mask=mask)

    async def launch(self):
        """Pulse ``reset``, with loads under way. No data come in the cycle of the reset."""
        self._paused = True
        await self.source.drain()
        await self.data.drain()
        await super().launch()
        self._paused = False

    async def rest(self):
        """Wait until the unit has come to rest."""
        await self.source.drain()
        quiet = 0
        while quiet < 2:
            await tick(self.dut)
            busy = (self._loads or integer(self.dut.busy) == 1 or not self.data.drained)
            quiet = 0 if busy else quiet + 1
        before = len(self.loads) + len(self.stores)
        await tick(self.dut, 4)
        assert before == len(self.loads) + len(self.stores), "an access of a unit at rest"

    def _forget(self):
        self._asked.clear()
        self._loads.clear()
        self.data.clear()
        self.accesses.withdraw()
        self._given = self.data.sent

    def _ends_wait(self, response):
        return bool(response.set_mask)

    def _each_cycle(self):
        """Perform the accesses that were taken, and send data that are due."""
        assert integer(self.dut.fetched__ready) == 1
        while self.accesses.items:
            item = self.accesses.items.popleft()
            lanes = [lane for lane in range(self.threads) if item.mask >> lane & 1]
            assert lanes, "an access without lanes"
            addresses = [int(item.address[lane]) for lane in lanes]
            self.named.add(item.warp)
            if item.store:
                self.stores.append(addresses)
                for lane, address in zip(lanes, addresses):
                    self.memory.store_word(address, item.data[lane])
                continue
            assert item.once == of_edges(addresses[0])
            self.loads.append(addresses)
            words = [self.memory.load_word(int(item.address[lane])) if lane in lanes
                     else self.rng.getrandbits(32) for lane in range(self.threads)]
            self._loads.append([self.rng.randint(1, self.latency), {
                "data": words, "tag": item.tag, "warp": item.warp, "mask": item.mask}, addresses])
            under_way = len(self._loads) + self._given - self.data.sent
            self.most = max(self.most, under_way)
            assert under_way <= self.config.gather_requests
        for load in self._loads:
            load[0] -= 1
        # Data wait at most for the data before.
        if self._given - self.data.sent < 2 and not self._paused:
            due = [load for load in self._loads if load[0] <= 0 and not self.holds(load[2])]
            if due:
                load = self.choose(due)
                self._loads.remove(load)
                self._given += 1
                self.data.send([load[1]])
