"""Plays the core and the L2 towards a load/store unit, and compares with the model."""

import collections
import itertools

import cocotb
from cocotb.triggers import FallingEdge, ReadOnly

from hw.core.access import AccessOp, operation_layout
from hw.core.banks import EVENTS
from hw.core.loads import writeback_layout
from hw.operations import MemOp
from hw.stalls import L1_STALLS
from tb.clocking import integer, start
from tb.hw.core.bench_unit import configuration, generator
from tb.hw.core.models_memory import LaneMemory, Operation, lanes_of, local_address, passes
from tb.hw.memory.packing import packed
from tb.hw.memory.responders import L2Model, first_content
from tb.streams import StreamSink, StreamSource


__all__ = ["Bench"]


_KINDS = {AccessOp.LOAD: "load_access", AccessOp.STORE: "store_access",
          AccessOp.AMO: "atomic_access", AccessOp.LOCAL_LOAD: "local_access",
          AccessOp.LOCAL_STORE: "local_access", AccessOp.LOCAL_AMO: "local_access"}


class Bench:
    """A load/store unit under test.

    The model executes an instruction when it is queued, since the unit visibly keeps the order of
    all its instructions. So each write-back has one right content. Warp and register tell the loads
    under way apart.

    Attributes
    ----------
    l2 : L2Model
    events : collections.Counter
        Number of times that each event of the L1 came.
    stalls : collections.Counter
        Cycles that passes waited, by cause; ``"bank"`` for lanes that waited for another pass.
    log : dict
        The cycles in which the L1 took a pass (``"taken"``) and gave a line (``"loaded"``), and
        in which a write-back was on offer (``"offered"``).
    """

    def __init__(self, dut):
        self.dut = dut
        self.config = configuration()
        self.rng = generator()
        self._layout = operation_layout(self.config)
        self.source = StreamSource(dut, "operation")
        self.sink = StreamSink(dut, "writeback", writeback_layout(self.config))
        self.l2 = L2Model(dut, self.config, self.rng)
        self.memory = LaneMemory(self.config, first_content)
        self.expected = {}                           # (warp, rd) -> (mask, lane -> word)
        self.events = collections.Counter()
        self.stalls = collections.Counter()
        self.counted = collections.Counter()         # the expected events
        self.cycle = 0
        self.log = collections.defaultdict(list)
        self._queued = 0

    @classmethod
    async def start(cls, dut):
        """Reset the design, fill local memory and begin."""
        await start(dut)
        bench = cls(dut)
        cocotb.start_soon(bench._watch())
        cocotb.start_soon(bench._check())
        await bench.run(*bench.whole_local(MemOp.STORE))
        return bench

    async def send(self, *operations):
        """Queue instructions. Waits while their registers are in use or the queue is long."""
        for operation in operations:
            while self._queued - self.source.sent > 3 or (operation.wants_slot and \
                    (operation.warp, operation.rd) in self.expected):
                await self._tick()
            result = self.memory.execute(operation)
            if operation.wants_slot:
                self.expected[operation.warp, operation.rd] = operation.mask, result
            for made in passes(self.config, operation):
                if made.op in _KINDS:
                    self.counted[_KINDS[made.op]] += 1
                self.counted["lanes"] += len(made.lanes) * (made.op is AccessOp.AMO)
            self.source.send([packed(self._layout, operation.payload(self.config))])
            self._queued += 1

    async def settle(self):
        """Wait until no instruction is under way."""
        quiet = 0
        for _ in range(200_000):
            await self._tick()
            under_way = self.source.sent < self._queued or self.expected or self.l2.waiting
            quiet = 0 if under_way or integer(self.dut.busy) == 1 else quiet + 1
            if quiet == 3:
                return
        raise AssertionError(f"after {self.source.sent} of {self._queued} instructions nothing "
                             f"ends; write-backs missing: {self.expected}")

    async def run(self, *operations):
        """Execute instructions and wait for their end."""
        await self.send(*operations)
        await self.settle()

    async def gaps(self, *operations):
        """Execute instructions of one pass each. Returns the cycles from each pass to the next."""
        self.log.clear()
        await self.run(*operations)
        taken = self.log["taken"]
        assert len(taken) == len(operations)
        return [after - before for before, after in itertools.pairwise(taken)]

    async def verify(self):
        """Compare both memories and the events with the model."""
        await self.settle()
        counted = {name: self.counted[name] for name in EVENTS if name != "load_hit"}
        assert {name: self.events[name] for name in counted} == counted
        assert self.events["lanes"] == self.counted["lanes"]
        for address in self.memory.touched():
            line = self.l2.store.line(address // self.config.line_bytes)
            got, right = line[address % self.config.line_bytes], self.memory.read(address, 1)
            assert got == right, f"{address:#x} holds {got:#x}, not {right:#x}"
        await self.run(*self.whole_local(MemOp.LOAD))

    def whole_local(self, op):
        """Instructions that load or fill all of local memory."""
        threads = self.config.threads
        return [Operation(op, [local_address(4 * (word + lane)) for lane in range(threads)],
                          (1 << threads) - 1, warp=word // threads // 32 % self.config.warps,
                          data=[self.rng.getrandbits(32) for _ in range(threads)],
                          rd=word // threads % 32, writes=1)
                for word in range(0, self.config.local_bytes // 4, threads)]

    def forget(self):
        """Forget everything under way, as a reset does. The model takes over global memory.

        The model's contents of local memory are wrong afterwards.
        """
        self.source.clear()
        self.l2.forget()
        self.sink.items.clear()
        self.expected.clear()
        self._queued = self.source.sent
        self.events.clear()
        self.counted.clear()
        store, size = self.l2.store, self.config.line_bytes
        now = {number: bytes(store.line(number)) for number in store.numbers()}
        self.memory = LaneMemory(
            self.config, lambda address: now[address // size][address % size]
            if address // size in now else first_content(address))

    async def _tick(self):
        await FallingEdge(self.dut.clk)

    async def _watch(self):
        dut = self.dut
        while True:
            await self._tick()
            await ReadOnly()
            self.cycle += 1
            if integer(dut.rst) == 1:
                continue
            for name in EVENTS:
                self.events[name] += integer(getattr(dut, name))
            self.events["lanes"] += integer(dut.atomic_lanes)
            self.stalls["bank"] += integer(dut.bank_conflict)
            for name in L1_STALLS:
                self.stalls[name] += integer(getattr(dut, f"stall_{name}"))
            for name, signal in (("taken", dut.taken), ("loaded", dut.loaded_count),
                                 ("offered", dut.writeback__valid)):
                self.log[name] += [self.cycle] * integer(signal)

    async def _check(self):
        while True:
            await self._tick()
            while self.sink.items:
                item = self.sink.items.popleft()
                key = item.warp, item.rd
                assert key in self.expected, f"a write-back to {key} that nobody waits for"
                mask, result = self.expected.pop(key)
                got = {lane: item.data[lane] for lane in lanes_of(item.mask)}
                assert (item.mask, got) == (mask, result), \
                    f"write-back to {key}: {got}, not {result}"
