# amaranth: UnusedElaboratable=no
"""Tests of local memory: banks with rows of their own, byte masks, the words read."""

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly

from hw.config import HardwareConfig
from hw.core.access import row_bits
from hw.core.local import LocalMemory
from tb import runner
from tb.clocking import start
from tb.hw.core.bench_unit import configuration, generator


class Bench:
    """Drives an access a cycle. The words of a read are compared in the next cycle."""

    def __init__(self, dut):
        self.dut = dut
        self.config = configuration()
        self.memory = {}                     # (bank, row) -> word
        self._owed = None

    async def access(self, rows, mask=0, words=None, enable=1):
        """One cycle. ``rows`` holds a row for each bank."""
        dut, banks, bits = self.dut, range(self.config.line_words), row_bits(self.config)
        words = words or [0] * len(banks)
        await FallingEdge(dut.clk)
        dut.read.value, dut.write.value = int(enable and not mask), int(enable and mask != 0)
        dut.mask.value = mask
        dut.read_rows.value = dut.write_rows.value = sum(
            row << bits * bank for bank, row in enumerate(rows))
        dut.write_data.value = sum(word << 32 * bank for bank, word in enumerate(words))
        await ReadOnly()
        got = dut.read_data.value
        for bank, word in enumerate(self._owed or []):
            if word is not None:
                assert int(got) >> 32 * bank & 0xFFFF_FFFF == word, f"bank {bank}"
        if not enable:
            return                           # the words read last stay
        if not mask:
            self._owed = [self.memory.get((bank, row)) for bank, row in enumerate(rows)]
        for bank, row in enumerate(rows):
            lanes = mask >> 4 * bank & 0xF
            if lanes == 0xF or (bank, row) in self.memory:
                bits_of = sum(0xFF << 8 * byte for byte in range(4) if lanes >> byte & 1)
                self.memory[bank, row] = (self.memory.get((bank, row), 0) & ~bits_of
                                          | words[bank] & bits_of)
            elif lanes:
                raise AssertionError("the bench writes a part of an unknown word")


@cocotb.test()
async def against_model(dut):
    """Random rows, masks and words. An access that is not enabled has no effect."""
    await start(dut)
    bench, rng = Bench(dut), generator()
    config = bench.config
    banks, rows = config.line_words, 1 << row_bits(config)
    for row in range(rows):
        await bench.access([row] * banks, (1 << config.line_bytes) - 1,
                           [rng.getrandbits(32) for _ in range(banks)])
    few = [0, rows - 1, rng.randrange(rows)]
    for _ in range(300):
        mask = rng.choice([0, rng.getrandbits(config.line_bytes), (1 << config.line_bytes) - 1])
        pool = few if rng.random() < 0.5 else range(rows)
        await bench.access([rng.choice(pool) for _ in range(banks)], mask,
                           [rng.getrandbits(32) for _ in range(banks)],
                           enable=int(rng.random() < 0.8))
    for row in range(rows):
        await bench.access([row] * banks)
    await bench.access([0] * banks)


@cocotb.test()
async def a_write_then_a_read(dut):
    """A write leaves the words read before. The read after a write gives the words written."""
    await start(dut)
    bench = Bench(dut)
    banks, everything = bench.config.line_words, (1 << bench.config.line_bytes) - 1
    for value in (1, 2, 3):
        await bench.access([0] * banks, everything, [value] * banks)
        await bench.access([0] * banks)
    await bench.access([0] * banks)
    await bench.access([0] * banks)


TESTS = ["against_model", "a_write_then_a_read"]


@pytest.mark.parametrize("fields", [{"threads": 1, "local_bytes": 256},
                                    {"threads": 8, "local_bytes": 1024}],
                         ids=lambda fields: str(fields["threads"]))
def test_local_memory(simulator, fields):
    runner.run_bench(LocalMemory(HardwareConfig(**fields)), "local_memory", __name__,
                     simulator=simulator, parameters={"config": fields}, tests=TESTS)


def test_every_bench_is_run():
    benches = {name for name, value in globals().items() if isinstance(value, type(against_model))}
    assert benches == set(TESTS)


@pytest.mark.parametrize("threads, local_bytes", [(1, 256), (4, 1024), (32, 256), (32, 1 << 17)])
def test_rows_and_banks_are_all_of_it(threads, local_bytes):
    config = HardwareConfig(threads=threads, local_bytes=local_bytes)
    assert config.line_bytes << row_bits(config) == local_bytes
    assert len(LocalMemory(config).read_rows.as_value()) == config.line_words * row_bits(config)
