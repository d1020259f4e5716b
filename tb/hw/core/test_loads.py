# amaranth: UnusedElaboratable=no
"""Tests of the load queue: words of all sizes, passes in any order, slots, write-back."""

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly

from hw.config import HardwareConfig
from hw.core.access import loaded_layout
from hw.core.loads import LoadQueue, slot_layout, writeback_layout
from tb import runner
from tb.clocking import integer, reset, start, tick
from tb.hw.core.bench_unit import configuration, generator
from tb.hw.core.models_memory import extend, lanes_of
from tb.hw.memory.packing import packed
from tb.streams import StreamSink


class Load:
    """A load under way: its fields, and its passes (bank, lanes, line) that have not come yet."""

    def __init__(self, rng, config, *, size=None, signed=None, mask=None, passes=None):
        lanes = (1 << config.threads) - 1
        self.size = rng.randrange(3) if size is None else size
        self.signed = rng.randrange(2) if signed is None else signed
        self.mask = mask or rng.choice([lanes, rng.randrange(1, lanes + 1)])
        self.warp, self.rd = rng.randrange(config.warps), rng.randrange(32)
        self.of_unit = int(config.gather_reads) and rng.randrange(2)
        self.offset = [rng.randrange(config.line_bytes) >> self.size << self.size
                       for _ in range(config.threads)]
        passes = rng.choice([1, 2, config.threads]) if passes is None else passes
        parts = [0] * passes
        for lane in lanes_of(self.mask):
            parts[rng.randrange(passes)] |= 1 << lane
        self.passes = [(rng.randrange(config.l1_banks), part,
                        rng.getrandbits(8 * config.line_bytes)) for part in parts if part]
        self.bank = [next((bank for bank, part, _ in self.passes if part >> lane & 1), 0)
                     for lane in range(config.threads)]
        self.result = {lane: extend(line >> 8 * self.offset[lane] & (1 << (8 << self.size)) - 1,
                                    self.size, self.signed)
                       for _, part, line in self.passes for lane in lanes_of(part)}
        rng.shuffle(self.passes)


class Bench:
    """Plays the coalescer, the L1 and the register file; every write-back is checked.

    Attributes
    ----------
    queue : list of Load
        Loads that are to enter, one a cycle if there are slots.
    gap : float
        Probability that a cycle brings no words from a bank.
    ordered : bool
        Whether the passes come load after load, one a cycle.
    """

    def __init__(self, dut):
        self.dut = dut
        self.config = configuration()
        self.rng = generator()
        self.sink = StreamSink(dut, "writeback", writeback_layout(self.config))
        self.queue, self.slots = [], {}
        # Loads whose words have all come, by the bank that completed them, in order.
        self.complete = [[] for _ in range(self.config.l1_banks)]
        self.gap, self.ordered = 0.0, False
        self.cycle, self.last, self.offered, self.allotted = 0, [], [], []

    @classmethod
    async def start(cls, dut):
        await start(dut)
        bench = cls(dut)
        cocotb.start_soon(bench._run())
        return bench

    def forget(self):
        self.queue.clear(), self.slots.clear(), self.sink.items.clear()
        for complete in self.complete:
            complete.clear()

    async def settle(self):
        """Wait until every load is written back."""
        for _ in range(20_000):
            await FallingEdge(self.dut.clk)
            if not self.queue and not self.slots:
                await tick(self.dut)
                assert integer(self.dut.busy) == 0
                return
        raise AssertionError(f"{len(self.queue)} loads to enter, {len(self.slots)} under way")

    def _bring(self):
        """The passes to bring in this cycle: {bank: pass}."""
        under_way = [slot for slot, load in self.slots.items() if load.passes]
        chosen = {}
        if self.ordered:
            for slot in under_way[:1]:
                chosen[self.slots[slot].passes[-1][0]] = slot, self.slots[slot].passes[-1]
        else:
            for bank in range(self.config.l1_banks):
                passes = [(slot, one) for slot in under_way for one in self.slots[slot].passes
                          if one[0] == bank]
                if passes and self.rng.random() >= self.gap:
                    chosen[bank] = self.rng.choice(passes)
        for slot, one in chosen.values():
            self.slots[slot].passes.remove(one)
        completed = set()
        for bank, (slot, _) in chosen.items():
            if not self.slots[slot].passes and slot not in completed:
                completed.add(slot)
                self.complete[bank].append(slot)
                self.last.append(self.cycle + 1)
        return {bank: packed(loaded_layout(self.config),
                             {"slot": slot, "lanes": lanes, "line": line})
                for bank, (slot, (_, lanes, line)) in chosen.items()}

    async def _run(self):
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            if integer(dut.rst) == 1:
                self.forget()
            while self.sink.items:
                self._check(self.sink.items.popleft())
            brought = self._bring()
            for bank in range(self.config.l1_banks):
                getattr(dut, f"loaded_valid__{bank}").value = int(bank in brought)
                if bank in brought:
                    getattr(dut, f"loaded__{bank}").value = brought[bank]
            enters = bool(self.queue) and len(self.slots) < self.config.load_queue
            dut.allot.value = int(enters)
            if enters:
                load = self.queue[0]
                layout = slot_layout(self.config)
                dut.entry.value = packed(layout, {name: getattr(load, name) for name, _ in layout})
            await ReadOnly()
            self.cycle += 1
            if integer(dut.rst) == 1:
                self.forget()
                continue
            assert integer(dut.busy) == bool(self.slots)
            assert integer(dut.level) == len(self.slots)
            if len(self.slots) < self.config.load_queue:
                assert integer(dut.free) == 1, "a slot is free and is not offered"
            if integer(dut.writeback__valid) == 1:
                self.offered.append(self.cycle)
                self._of_unit = integer(dut.of_unit) if self.config.gather_reads else 0
            if enters:
                slot = integer(dut.slot)
                assert slot not in self.slots, f"slot {slot} is allotted twice"
                self.slots[slot] = self.queue.pop(0)
                self.allotted.append(self.cycle)

    def _check(self, item):
        got = item.warp, item.rd, item.mask, self._of_unit, {
            lane: item.data[lane] for lane in lanes_of(item.mask)}
        firsts = {}                          # {what may be written back: the bank's loads}
        for complete in self.complete:
            if complete:
                load = self.slots[complete[0]]
                firsts[complete[0]] = complete, (load.warp, load.rd, load.mask, load.of_unit,
                                                 load.result)
        slot = next((slot for slot, (_, right) in firsts.items() if right == got), None)
        assert slot is not None, f"{got} is written back, not {[*firsts.values()]}"
        firsts[slot][0].pop(0)
        del self.slots[slot]


@cocotb.test()
async def sizes(dut):
    """Bytes, halfwords and words at every place of a line, with and without sign."""
    bench = await Bench.start(dut)
    config = bench.config
    for size in range(3):
        for signed in range(2):
            for first in range(0, config.line_bytes, 1 << size):
                load = Load(bench.rng, config, size=size, signed=signed, passes=1,
                            mask=(1 << config.threads) - 1)
                line = load.passes[0][2]
                load.offset = [(first + (lane << size)) % config.line_bytes
                               for lane in range(config.threads)]
                load.result = {
                    lane: extend(line >> 8 * offset & (1 << (8 << size)) - 1, size, signed)
                    for lane, offset in enumerate(load.offset)}
                bench.queue.append(load)
    await bench.settle()


@cocotb.test()
async def against_model(dut):
    """Random loads: passes of all loads under way are mixed, and write-backs are refused."""
    bench = await Bench.start(dut)
    for _ in range(6):
        bench.gap = bench.rng.choice([0.0, 0.0, 0.3, 0.8])
        bench.sink.stall = bench.rng.choice([0.0, 0.0, 0.3, 0.9])
        bench.ordered = bench.rng.random() < 0.2
        bench.queue.extend(Load(bench.rng, bench.config) for _ in range(40))
        await bench.settle()


@cocotb.test()
async def timing(dut):
    """A write-back comes three cycles after the last words. Words come every cycle, and so do
    write-backs."""
    bench = await Bench.start(dut)
    bench.ordered = True
    for passes in (1, 2):
        bench.last.clear(), bench.offered.clear()
        bench.queue.append(Load(bench.rng, bench.config, passes=passes))
        await bench.settle()
        assert bench.offered == [bench.last[0] + 3]
    bench.last.clear(), bench.offered.clear(), bench.allotted.clear()
    count = bench.config.load_queue
    bench.queue.extend(Load(bench.rng, bench.config, passes=1) for _ in range(count))
    await bench.settle()
    assert bench.allotted == list(range(bench.allotted[0], bench.allotted[0] + count))
    assert bench.last == list(range(bench.last[0], bench.last[0] + count))
    assert bench.offered == [cycle + 3 for cycle in bench.last]


@cocotb.test()
async def full(dut):
    """All slots are taken and no write-back is: no slot is free until a write-back is taken."""
    bench = await Bench.start(dut)
    count = bench.config.load_queue
    bench.sink.stall = 1.0
    bench.queue.extend(Load(bench.rng, bench.config) for _ in range(count + 2))
    await tick(dut, 8 * count + 20 + bench.config.threads * count)
    assert len(bench.slots) == sum(map(len, bench.complete)) == count
    await ReadOnly()
    assert integer(dut.free) == 0
    await tick(dut)
    bench.sink.stall = 0.0
    await bench.settle()


@cocotb.test()
async def reset_in_flight(dut):
    """Words that came before a reset do not count after it."""
    bench = await Bench.start(dut)
    for _ in range(6):
        bench.gap, bench.sink.stall = 0.5, 0.5
        bench.queue.extend(Load(bench.rng, bench.config) for _ in range(20))
        await tick(dut, bench.rng.randrange(5, 40))
        await reset(dut, 1)
        bench.queue.extend(Load(bench.rng, bench.config) for _ in range(20))
        await bench.settle()


TESTS = ["sizes", "against_model", "timing", "full", "reset_in_flight"]


@pytest.mark.parametrize("fields", [
    {"threads": 1, "load_queue": 2}, {"threads": 4, "load_queue": 4},
    {"threads": 16, "load_queue": 8}, {"threads": 4, "load_queue": 4, "l1_banks": 2},
    {"threads": 8, "load_queue": 16, "l1_banks": 4}],
    ids=lambda fields: str(fields["threads"]) + (
        f", {fields['l1_banks']} banks" if "l1_banks" in fields else ""))
@pytest.mark.sample(2)
def test_load_queue(simulator, fields):
    runner.run_bench(LoadQueue(HardwareConfig(**fields)), "loads", __name__, simulator=simulator,
                     parameters={"config": fields}, tests=TESTS)


def test_loads_of_a_unit(simulator):
    """Loads of a unit that hands out edges are told from loads of warps."""
    fields = {"threads": 4, "load_queue": 4, "gather": "eghw"}
    runner.run_bench(LoadQueue(HardwareConfig(**fields)), "loads", __name__, simulator=simulator,
                     parameters={"config": fields}, tests=["against_model"])


def test_every_bench_is_run():
    benches = {name for name, value in globals().items() if isinstance(value, type(sizes))}
    assert benches == set(TESTS)


def test_the_bench_covers_each_lane_once():
    rng, config = random.Random(1), HardwareConfig(threads=16)
    for _ in range(50):
        load = Load(rng, config)
        assert sum(part for _, part, _ in load.passes) == load.mask
        assert sorted(load.result) == lanes_of(load.mask)


def test_init_wrong_config():
    with pytest.raises((TypeError, AttributeError)):
        LoadQueue({"threads": 4})
