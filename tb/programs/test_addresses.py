"""Lines whose addresses differ in one bit are different lines to the whole machine."""

import numpy as np
import pytest

from campaign.machines import CONFIGS, CORES, Launch, machine, verify
from hw.isa import Csr, MemoryMap
from sw.kernels.assembler import Assembler, Condition


#: In the middle of global memory. No place that differs in one bit is used for results.
_PLACE = 0x5A5A_5A5A

NAMES = ("tiny", "large", "pair")


def program(config, rng):
    """The first warp of the first core takes two places that differ in one address bit, for every
    bit of an address in global memory. The warp reads, writes and reads both places again, and
    stores the values it has read."""
    a = Assembler()
    place, out, bit, one, end, other, value, number, zero = a.regs(
        "place", "out", "bit", "one", "end", "other", "value", "number", "zero")
    a.csrr(value, Csr.CORE_ID)
    a.csrr(number, Csr.WARP_ID)
    a.or_(value, value, number)
    a.li(zero, 0)
    with a.if_uniform(Condition("ne", value, zero)):
        a.end_warp()
    a.csrr(out, Csr.THREAD_ID)
    a.slli(out, out, 2)
    a.li(place, MemoryMap.GLOBAL + _PLACE % config.memory_bytes // config.line_bytes
         * config.line_bytes)
    a.add(place, place, out)
    a.li(value, MemoryMap.GLOBAL)
    a.add(out, out, value)
    a.li(bit, config.line_bytes)
    a.li(one, 1)
    a.li(end, config.memory_bytes)

    def store(register):
        a.sw(register, out)
        a.addi(out, out, 4 * config.threads)

    top = a.label("bit")
    a.place(top)
    a.xor(other, place, bit)
    first, second = a.regs("first", "second")
    a.lw(first, place)
    a.lw(second, other)
    store(first)
    store(second)
    a.sw(bit, other)
    a.lw(first, place)
    a.amoadd_w(a.zero, one, place)
    a.lw(second, other)
    store(first)
    store(second)
    a.lw(first, place)
    store(first)
    a.slli(bit, bit, 1)
    a.branch(Condition("ltu", bit, end), top)
    a.end_warp()
    memory = rng.integers(1 << 32, size=config.memory_bytes // 4, dtype=np.uint32)
    return Launch(a.finish().words, memory=memory)


@pytest.mark.parametrize("name", NAMES)
def test_lines_one_bit_apart(name):
    config = (CONFIGS | CORES)[name]
    verify(machine(name), program(config, np.random.default_rng(1)))
