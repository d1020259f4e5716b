"""Addresses of the SCU's registers.

==========  ===============
addresses   test_addresses
==========  ===============
"""

from hw.scu.registers import ScuRegister


def test_addresses():
    """Each register is a word of its own, and the words follow each other."""
    addresses = sorted(register.value for register in ScuRegister)
    assert addresses == list(range(0, 4 * len(addresses), 4))
