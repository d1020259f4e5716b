# amaranth: UnusedElaboratable=no
"""Tests of the whole L2: several cores, the SCU, several banks, several memory ports."""

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly

from hw.config import HardwareConfig
from hw.operations import AmoOp
from hw.memory.l2 import L2
from hw.memory.port import port_of_line
from tb import runner
from tb.clocking import integer, reset, start, tick
from tb.hw.memory.bench_l2_bank import Client
from tb.hw.memory.responders import MemoryPort


#: The keys name the tests.
SHAPES = {
    "3x1": {"cores": 3, "l2_banks": 1, "l2_bytes": 512, "l2_ways": 2, "l2_mshrs": 4},
    "1x2": {"cores": 1, "l2_banks": 2, "l2_bytes": 512, "l2_ways": 2, "l2_mshrs": 2},
    "4x4": {"cores": 4, "l2_banks": 4, "l2_bytes": 1024, "l2_ways": 2, "l2_mshrs": 4},
    "2x2_buffer": {"cores": 2, "l2_banks": 2, "l2_bytes": 0, "l2_mshrs": 4},
    "1x1_scu": {"cores": 1, "l2_banks": 1, "l2_bytes": 512, "l2_ways": 2, "l2_mshrs": 4, "scu": 4},
    "1x1_scu_buffer": {"cores": 1, "l2_banks": 1, "l2_bytes": 0, "l2_mshrs": 2, "scu": 1},
    "2x2, long": {"cores": 2, "l2_banks": 2, "l2_bytes": 512, "l2_ways": 2, "l2_mshrs": 2,
                  "pipeline": "long"},
    "1x1_scu, long": {"cores": 1, "l2_banks": 1, "l2_bytes": 512, "l2_ways": 2, "l2_mshrs": 4,
                      "scu": 1, "pipeline": "long"},
    "2x2_late": {"cores": 2, "l2_banks": 2, "l2_bytes": 512, "l2_ways": 2, "l2_mshrs": 4,
                 "l2_latency": 6},
    "3x2_scu": {"cores": 3, "l2_banks": 2, "l2_bytes": 512, "l2_ways": 2, "l2_mshrs": 4, "scu": 4,
                "atomic_words": "line"},
    "2x4, 2 ports": {"cores": 2, "l2_banks": 4, "l2_bytes": 1024, "l2_ways": 2, "l2_mshrs": 4,
                     "memory_ports": 2},
    "1x2_scu, 2 ports, long": {"cores": 1, "l2_banks": 2, "l2_bytes": 512, "l2_ways": 2,
                               "l2_mshrs": 2, "scu": 1, "memory_ports": 2, "pipeline": "long"},
    "2x8_buffer, 4 ports": {"cores": 2, "l2_banks": 8, "l2_bytes": 0, "l2_mshrs": 2,
                            "memory_ports": 4},
}

#: Number of private lines of each core, and number of lines to which all cores add.
OWN, COMMON = 40, 5


class _Core(Client):
    """A core, or the SCU. Its lines below ``OWN`` are private, the other lines are common: the last
    ones of the largest memory."""

    def __init__(self, dut, config, rng, core):
        super().__init__(dut, config, rng, f"request__{core}", f"response__{core}", core)

    def line(self, number):
        cores = self.config.requesters
        if number < OWN:
            return super().line(number * cores + self._core)
        return (1 << 32 - self.config.line_bits) - 1 - (number - OWN)

    def owns(self, line):
        """Whether a line of the core's model is private."""
        return (line < self.line(OWN + COMMON)
                and (line - super().line(0)) % self.config.requesters == self._core)


class Bench:
    """All cores and the memory."""

    def __init__(self, dut):
        self.dut = dut
        self.config = HardwareConfig(**runner.parameters()["config"])
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.ports = [MemoryPort(dut, self.config, self.rng, name)
                      for name in self.config.port_names("memory")]
        self.store = self.ports[0].store
        for port in self.ports:                          # one memory
            port.store = self.store
        self.cores = [_Core(dut, self.config, self.rng, core)
                      for core in range(self.config.requesters)]
        self.counts = dict.fromkeys(("accesses", "hits", "memory_reads", "memory_writes"), 0)
        self.accepted, self.answered = [], []            # cycles, of any core
        self.takers = []                                 # cores whose request was accepted
        self.asked = []                                  # cycles with a request at a memory port
        self._cycle = 0

    @classmethod
    async def start(cls, dut):
        """Reset and begin."""
        await start(dut)
        bench = cls(dut)
        for core in bench.cores:
            cocotb.start_soon(core.check())
        cocotb.start_soon(bench._watch())
        await bench.settle()
        await bench.flush(invalidate=True)
        return bench

    async def settle(self):
        """Wait until nothing is under way."""
        quiet = 0
        for _ in range(100_000):
            await FallingEdge(self.dut.clk)
            under_way = any(end.waiting for end in self.ports) or any(
                core.under_way for core in self.cores)
            quiet = 0 if under_way or integer(self.dut.busy) == 1 else quiet + 1
            if quiet == 3:
                return
        raise AssertionError("nothing ends")

    async def flush(self, *, invalidate=False):
        """Flush all banks."""
        self.dut.invalidate.value, self.dut.flush.value = int(invalidate), 1
        await FallingEdge(self.dut.clk)
        self.dut.flush.value = 0
        await ReadOnly()
        assert integer(self.dut.busy) == 1
        await FallingEdge(self.dut.clk)
        await self.settle()

    def forget(self):
        """Drop everything under way, as for a reset."""
        for port in self.ports:
            port.forget()
        for core in self.cores:
            core.forget(self.store)

    async def verify(self, sums):
        """Check that after a flush memory equals the cores' models, with sums in common words."""
        await self.settle()
        await self.flush()
        for core in self.cores:
            for line in core.model.numbers():
                if core.owns(line):
                    assert self.store.value(line) == core.model.value(line)
        for (number, word), amount in sums.items():
            line = self.store.value(self.cores[0].line(number))
            assert line >> 32 * word & 0xFFFF_FFFF == amount & 0xFFFF_FFFF
        banks, requests = self.config.l2_banks, []
        for number, port in enumerate(self.ports):
            requests += port.requests
            for request in port.requests:           # neighbouring lines belong to different banks
                bank = request.line % banks
                assert bank // self.config.port_banks == number
                assert port_of_line(self.config, request.line) == number
                assert request.tag // self.config.l2_mshrs == bank % self.config.port_banks
        writes = sum(request.write for request in requests)
        assert self.counts["memory_writes"] == writes
        assert self.counts["memory_reads"] == len(requests) - writes
        assert self.counts["hits"] <= self.counts["accesses"]

    async def _watch(self):
        while True:
            await FallingEdge(self.dut.clk)
            await ReadOnly()
            self._cycle += 1
            for name in self.counts:
                if integer(self.dut.rst) != 1:
                    self.counts[name] += integer(getattr(self.dut, name))
            if any(integer(getattr(self.dut, f"{name}_request__valid"))
                   for name in self.config.port_names("memory")):
                self.asked.append(self._cycle)
            for core in range(self.config.requesters):
                request = [integer(getattr(self.dut, f"request__{core}__{name}"))
                           for name in ("valid", "ready")]
                if request == [1, 1]:
                    self.accepted.append(self._cycle)
                    self.takers.append(core)
                if integer(getattr(self.dut, f"response__{core}__valid")) == 1:
                    self.answered.append(self._cycle)


def _shake(bench):
    """Set random speeds of all ports."""
    rng = bench.rng
    for port in bench.ports:
        port.latency = rng.choice([(1, 1), (1, 10), (1, 200), (20, 20)])
        port.stall = rng.choice([0.0, 0.0, 0.5, 0.9])
        port.blocks = rng.random() < 0.3
    for core in bench.cores:
        core.source.idle = rng.choice([0.0, 0.0, 0.5])
        core.sink.stall = rng.choice([0.0, 0.0, 0.5, 0.9])


@cocotb.test()
async def against_model(dut):
    """Each core sees its private lines as if it were alone. No addition of any core is lost."""
    bench = await Bench.start(dut)
    sums = {}
    for number in range(OWN, OWN + COMMON):
        for word in range(bench.config.line_words):
            sums[number, word] = first = bench.rng.getrandbits(32)
            bench.store.write(bench.cores[0].line(number), first << 32 * word, 0xF << 4 * word)

    async def work(core):
        for _ in range(50):
            if core.rng.random() < 0.3:
                number, word = core.rng.choice(list(sums))
                amount = core.rng.getrandbits(32)
                sums[number, word] += amount
                await core.atomic(number, word, AmoOp.ADD, amount, wanted=0)
            else:
                await core.anything(OWN)

    for _ in range(3):
        _shake(bench)
        tasks = [cocotb.start_soon(work(core)) for core in bench.cores]
        for task in tasks:
            await task
        await bench.settle()
    await bench.verify(sums)


@cocotb.test()
async def one_counter_of_all(dut):
    """All cores take numbers from one counter. Together they get each number once."""
    bench = await Bench.start(dut)
    _shake(bench)
    drawn, draws = [], 20
    bench.store.write(bench.cores[0].line(OWN), 0, (1 << bench.config.line_bytes) - 1)
    for core in bench.cores:
        core.compare = lambda tag, got, right: drawn.append(got >> 32 & 0xFFFF_FFFF)
    for _ in range(draws):
        for core in bench.cores:
            await core.atomic(OWN, 1, AmoOp.ADD, 1)
    await bench.settle()
    assert sorted(drawn) == list(range(draws * len(bench.cores)))


@cocotb.test()
async def timing(dut):
    """A crossbar adds two cycles to the latency of a hit, and the merge of core and SCU adds none.

    Banks work in parallel.
    """
    bench = await Bench.start(dut)
    core, banks = bench.cores[0], bench.config.l2_banks
    detour = 0 if bench.config.cores == banks == 1 else 2
    # Lines of all banks, one after the other. These are common lines, because the number of cores
    # determines the banks of a core's private lines.
    lines = [OWN + k for k in range(banks)]
    for number in lines:
        await core.read(number)
    await bench.settle()
    bench.accepted.clear()
    bench.answered.clear()
    await core.read(lines[0])
    await bench.settle()
    (accepted,), (answered,) = bench.accepted, bench.answered
    assert answered - accepted == detour + 3 + bench.config.long + bench.config.l2_latency
    bench.answered.clear()
    for _ in range(4):
        for number in lines:
            await core.read(number)
    await bench.settle()
    gaps = {after - before for before, after in zip(bench.answered, bench.answered[1:])}
    assert gaps == {1}, gaps


@cocotb.test()
async def ports_are_independent(dut):
    """A port that takes no requests holds up no other port: a miss of a line of each other port is
    answered. When the port takes requests again, all that waited for it is answered."""
    bench = await Bench.start(dut)
    core, config = bench.cores[0], bench.config
    for number, port in enumerate(bench.ports):
        for each in bench.ports:
            each.requests.clear()
        bench.answered.clear()
        port.stall = 1.0
        lines = [OWN + k for k in range(config.l2_banks)]
        held = [k for k in lines if port_of_line(config, core.line(k)) == number]
        assert len(held) == config.port_banks
        for k in [*held, *(k for k in lines if k not in held)]:
            await core.read(k)
        await tick(dut, 60)
        assert len(bench.answered) == len(lines) - len(held) and not port.requests
        assert all(len(other.requests) == config.port_banks
                   for other in bench.ports if other is not port)
        port.stall = 0.0
        await bench.settle()
        assert len(port.requests) == len(held)
        await bench.flush(invalidate=True)


@cocotb.test()
async def miss_timing(dut):
    """A request of several banks comes to a port a cycle later than that of one bank."""
    bench = await Bench.start(dut)
    core, config = bench.cores[0], bench.config
    bench.accepted.clear()
    bench.asked.clear()
    await core.read(OWN)
    await bench.settle()
    (accepted,), (asked,) = bench.accepted, bench.asked
    crossbar = 0 if config.cores == config.l2_banks == 1 else 1
    assert asked - accepted == (5 if config.long else 3) + crossbar + (config.port_banks > 1)


@cocotb.test()
async def turns(dut):
    """Cores that use one bank at the same time take turns: none gets over one request ahead."""
    bench = await Bench.start(dut)
    for core in bench.cores:
        await core.read(OWN)
        await bench.settle()
    bench.takers.clear()

    async def work(core):
        for _ in range(40):
            await core.read(OWN)
    for task in [cocotb.start_soon(work(core)) for core in bench.cores]:
        await task
    await bench.settle()
    count = len(bench.cores)
    busiest = bench.takers[2 * count:20 * count]
    counts = [busiest.count(core) for core in range(count)]
    assert max(counts) - min(counts) <= 1, counts


@cocotb.test()
async def reset_in_flight(dut):
    """After a reset at any time, nothing under way remains."""
    bench = await Bench.start(dut)
    _shake(bench)
    for core in bench.cores:
        for _ in range(5):
            await core.anything(OWN)
    await tick(dut, bench.rng.randrange(5, 60))
    dut.rst.value = 1
    bench.forget()
    await reset(dut, 2)
    bench.forget()
    await bench.settle()
    for port in bench.ports:
        port.requests.clear()
    bench.counts = dict.fromkeys(bench.counts, 0)
    for core in bench.cores:
        for _ in range(10):
            await core.anything(OWN)
    await bench.verify({})


TESTS = ["against_model", "one_counter_of_all", "timing", "miss_timing", "turns",
         "ports_are_independent", "reset_in_flight"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sample(2)
def test_l2(simulator, shape):
    fields = {"threads": 4, **SHAPES[shape]}
    tests = TESTS if fields["l2_bytes"] else [name for name in TESTS if name != "timing"]
    runner.run_bench(L2(HardwareConfig(**fields)), "l2", __name__,
                     simulator=simulator, parameters={"config": fields}, tests=tests)


def test_every_bench_is_run():
    benches = {name for name, value in globals().items() if isinstance(value, type(timing))}
    assert benches == {*TESTS}
