"""The host register map.

====================  =================================================================
addresses             test_addresses
checks of a launch    test_checks, test_refused_stacks
lines of memory       test_lines_of_memory
====================  =================================================================
"""

import itertools

import pytest

from hw import registers
from hw.config import LEGAL, preset
from hw.registers import Checks, Register


def test_addresses():
    """Each register is a word of its own. Each block of registers ends before the next begins."""
    low = [register.value for register in Register]
    gpu, core = ([registers.counter_address(name) + half for name in names for half in (0, 4)]
                 for names in (registers.GPU_COUNTERS, registers.CORE_COUNTERS))
    cores, warps = LEGAL["cores"].values[-1], LEGAL["warps"].values[-1]
    first_warp = registers.CORE_BASE + registers.WARP_OFFSET
    of_warps = [first_warp + 4 * word for word in range(2 * registers.WARP_COUNTS * warps)]
    next_core = registers.CORE_BASE + registers.CORE_STRIDE
    blocks = [low, [registers.GPU_BASE, *gpu], [registers.CORE_BASE, *core], of_warps, [next_core],
              [next_core + registers.CORE_STRIDE * (cores - 1)], [registers.IMEM_BASE]]
    for before, after in itertools.pairwise(blocks):
        assert max(before) < min(after)
    assert all(address % 4 == 0 for block in blocks for address in block)
    assert len(set(low)) == len(low) and len(set(gpu)) == len(gpu) and len(set(core)) == len(core)
    assert registers.CORE_STRIDE == 1 << registers.BLOCK_BITS
    assert registers.counter_address("cycles", core=1) == next_core


def test_checks():
    """A stack's mask is in bits 31:8, and bit 0 asks for lanes that agree."""
    for bit in range(8, 21):
        word = Checks(stack=1 << bit).word
        assert word & 0xFF == 0 and word == 0x1_0000_0000 - (1 << bit)
        assert Checks(lanes=True, stack=1 << bit).word == word | 1
    assert registers.NO_CHECKS.word == Checks(stack=0).word == 0
    assert Checks(lanes=True).word == 1


@pytest.mark.parametrize("stack", [-256, 1, 4, 128, 384, 1000, 1 << 21])
def test_refused_stacks(stack):
    with pytest.raises(ValueError, match=f"a stack of {stack} bytes: must be 0"):
        Checks(stack=stack)


@pytest.mark.parametrize("sector_bytes, counters, lines", [
    (0, {"dram_reads": 5, "dram_writes": 2}, 7), (0, {}, 0), (0, {"dram_writes": 2}, 2),
    (0, {"dram_reads": 5, "dram_bytes_read": 64, "dram_bytes_written": 0}, 5),
    (16, {"dram_reads": 5, "dram_bytes_read": 128, "dram_bytes_written": 32}, 2.5),
    (16, {"dram_reads": 5, "dram_writes": 2}, 7)])
def test_lines_of_memory(sector_bytes, counters, lines):
    config = preset("baseline").replace(sector_bytes=sector_bytes)     # lines of 64 bytes
    assert registers.memory_lines(counters, config) == lines
