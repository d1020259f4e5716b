"""Addresses of the SCU's registers.

==========  ========================
addresses   test_addresses
place       test_place_among_others
==========  ========================
"""

from hw.registers import CORE_BASE, GPU_COUNTERS, counter_address
from hw.scu.registers import SCU_BASE, SCU_REGISTERS, ScuRegister


def test_addresses():
    """Each register is a word of its own, and the words follow each other."""
    addresses = sorted(register.value for register in ScuRegister)
    assert addresses == list(range(0, 4 * len(addresses), 4))


def test_place_among_others():
    """The registers lie between the counters of the GPU and those of the cores, at an address that
    differs from a register's offset only in bits that the offset does not have."""
    assert SCU_BASE % SCU_REGISTERS == 0
    assert max(ScuRegister) + 4 <= SCU_REGISTERS
    assert max(map(counter_address, GPU_COUNTERS)) + 8 <= SCU_BASE
    assert SCU_BASE + SCU_REGISTERS <= CORE_BASE
