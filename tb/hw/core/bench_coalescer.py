"""Plays the core, the load queue and the L1 towards a coalescer, and compares with the model."""

import collections

import cocotb
from cocotb.triggers import FallingEdge, ReadOnly

from hw.core.access import LOCAL, AccessOp, mapped_bits, operation_layout, pass_layout
from hw.core.loads import slot_layout
from hw.operations import MemOp
from tb.clocking import integer, start
from tb.hw.core.bench_unit import configuration, generator
from tb.hw.core.models_memory import bank_of, fault, is_local, lanes_of, passes
from tb.hw.memory.packing import packed
from tb.streams import StreamSink, StreamSource, unpack


__all__ = ["Bench"]


class Bench:
    """A coalescer under test.

    The model turns each accepted instruction into passes. The bench compares these with the unit's
    passes, and checks all other outputs in every cycle. A FENCE must be offered to all banks in one
    cycle, after all earlier passes.

    Attributes
    ----------
    sinks : list of StreamSink
        One for each bank.
    no_slot : float
        Probability that a cycle has no free slot.
    accepted : list of (int, list of int)
        The cycle in which an instruction was accepted, and the number of its passes in each bank.
    taken : list of list of int
        For each bank the cycles in which a pass was taken.
    """

    def __init__(self, dut):
        self.dut = dut
        self.config = configuration()
        self.rng = generator()
        self.source = StreamSource(dut, "operation")
        self.banks = range(self.config.l1_banks)
        self.sinks = [StreamSink(dut, f"access__{bank}", pass_layout(self.config))
                      for bank in self.banks]
        self.no_slot = 0.0
        self.waiting = collections.deque()
        self.expected = [collections.deque() for _ in self.banks]    # (pass, instruction, slot)
        self.accepted, self.taken = [], [[] for _ in self.banks]
        self._fenced = set()                         # banks whose FENCE is offered and not taken
        self.faults = 0
        self._cycle = 0
        self._conflicts = 0
        self._told = [None] * self.config.long       # instructions of which nothing is told yet

    @classmethod
    async def start(cls, dut):
        """Reset the design and begin."""
        await start(dut)
        dut.detached.value = 1
        bench = cls(dut)
        cocotb.start_soon(bench._watch())
        return bench

    def send(self, *operations):
        """Queue instructions."""
        self.waiting.extend(operations)
        layout = operation_layout(self.config)
        self.source.send([packed(layout, operation.payload(self.config))
                          for operation in operations])

    async def settle(self):
        """Wait until all passes of all instructions have been taken, and check the counts."""
        for _ in range(100_000):
            await FallingEdge(self.dut.clk)
            if not self.waiting and not any(self.expected):
                break
        else:
            raise AssertionError(f"{len(self.waiting)} instructions and "
                                 f"{sum(map(len, self.expected))} passes are left")
        await FallingEdge(self.dut.clk)
        assert not self._conflicts, f"{self._conflicts} more local conflicts than were counted"

    def forget(self):
        """Forget everything under way, as a reset does."""
        self.source.clear()
        self.waiting.clear()
        for bank in self.banks:
            self.expected[bank].clear()
            self.sinks[bank].items.clear()
        self._fenced.clear()
        self._conflicts = 0
        self._told = [None] * self.config.long

    async def _watch(self):
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            slot = self.rng.randrange(self.config.load_queue)
            free = int(self.rng.random() >= self.no_slot)
            dut.slot.value, dut.slot_free.value = slot, free
            await ReadOnly()
            self._cycle += 1
            if integer(dut.rst) == 1:
                self.forget()
                continue
            self._check_accept(slot, free)
            self._check_fence()
            for bank in self.banks:
                self._check_pass(bank)

    def _check_accept(self, slot, free):
        dut = self.dut
        valid = integer(dut.operation__valid)
        accept = valid and integer(dut.operation__ready)
        assert integer(dut.coalescer_busy) == bool(valid or any(self.expected) or any(self._told))
        self._conflicts -= integer(dut.local_conflict)
        operation = self.waiting.popleft() if accept else None
        self._told.append(operation)
        self._check_told(self._told.pop(0))
        if not accept:
            assert not integer(dut.allot)
            return
        assert free or not operation.wants_slot
        self.accepted.append((self._cycle, [0 for _ in self.banks]))
        wrong = fault(self.config, operation)
        assert integer(dut.allot) == (operation.wants_slot and wrong is None), operation
        if wrong is not None:
            return
        if operation.wants_slot:
            entry = unpack(slot_layout(self.config), integer(dut.entry))
            assert (entry.warp, entry.rd, entry.mask, entry.size, entry.signed) \
                == (operation.warp, operation.rd, operation.mask, operation.size,
                    operation.signed)
            for lane in operation.lanes:
                assert entry.offset[lane] == operation.address[lane] % self.config.line_bytes
                assert entry.bank[lane] == bank_of(self.config, operation, lane)
        made = passes(self.config, operation)
        for one in made:
            self.expected[one.bank].append((one, operation, slot))
            self.accepted[-1][1][one.bank] += 1
        self._conflicts += sum(one.op in LOCAL for one in [
            one for one in made if one.bank == 0][1:])

    def _check_told(self, operation):
        """Check the report of an instruction, or that nothing is reported."""
        dut = self.dut
        signals = [integer(getattr(dut, name))
                   for name in ("fault", "started_global", "started_local")]
        if operation is None:
            assert signals == [0, 0, 0], signals
            return
        wrong = fault(self.config, operation)
        local = is_local(self.config, operation.address[operation.lanes[0]])
        begins = wrong is None and operation.op is not MemOp.FENCE
        assert signals == [wrong is not None, begins and not local, begins and local], \
            (signals, operation)
        if begins:
            assert (integer(dut.started_warp), integer(dut.started_rd)) \
                == (operation.warp, operation.rd)
        if wrong is not None:
            self.faults += 1
            assert (integer(dut.fault_cause), integer(dut.fault_address)) == wrong, operation
            assert (integer(dut.fault_pc), integer(dut.fault_warp)) \
                == (operation.pc, operation.warp)

    def _signal(self, bank, name):
        return integer(getattr(self.dut, f"access__{bank}__{name}"))

    def _offered(self, bank):
        return unpack(pass_layout(self.config), self._signal(bank, "payload"))

    def _check_fence(self):
        fences = {bank for bank in self.banks if self._signal(bank, "valid")
                  and self._offered(bank).op == AccessOp.FENCE}
        if fences - self._fenced:
            assert fences == set(self.banks), "a FENCE is not offered to all banks"
            assert all(expected[0][0].op is AccessOp.FENCE for expected in self.expected), \
                "a FENCE is offered before a pass is taken that precedes it"
        self._fenced = fences - {bank for bank in fences if self._signal(bank, "ready")}

    def _check_pass(self, bank):
        if not (self._signal(bank, "valid") and self._signal(bank, "ready")):
            return
        assert self.expected[bank], "a pass that nobody asked for"
        self.taken[bank].append(self._cycle)
        made, operation, slot = self.expected[bank].popleft()
        got = self._offered(bank)
        assert (got.op, lanes_of(got.lanes)) == (made.op, made.lanes), operation
        if operation.wants_slot:
            assert got.slot == slot
        if made.line is not None:
            number = made.line // self.config.l1_banks
            assert got.line == number % (1 << mapped_bits(self.config)), operation
        for name in ("amo", "wanted"):
            if getattr(made, name) is not None:
                assert getattr(got, name) == getattr(made, name), (name, operation)
        if made.data is not None:
            line = got.data.as_bits().to_bytes(self.config.line_bytes, "little")
            assert {place: line[place] for place in lanes_of(got.mask)} == made.data, operation
        if made.words is not None and self.config.sectors > 1:
            assert {place // 4 for place in lanes_of(got.mask)} == made.words, operation
        if made.compare is not None:
            assert got.data[min(made.data) // 4 ^ 1] == made.compare, operation
        if made.rows is not None:
            assert {bank: got.rows[bank] for bank in made.rows} == made.rows, operation
