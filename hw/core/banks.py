"""The banks of the L1, side by side.

The lowest bits of a line's address name the line's bank. Each bank takes a pass a cycle, and gives
a line a cycle to the load queue. The banks take turns at the core's port to the L2.
"""

from amaranth.lib.wiring import connect, flipped

from hw.config import HardwareConfig
from hw.core.l1 import L1
from hw.memory.merge import Merge


__all__ = ["EVENTS", "add_banks", "counted"]


#: Events of a bank that the core counts.
EVENTS = ("load_access", "load_hit", "store_access", "local_access", "atomic_access")


def add_banks(m, config: HardwareConfig, request, response) -> list[L1]:
    """The banks of the L1, connected to the L2. One bank is connected directly.

    Requests for one line keep their order. Requests of several banks have no order.

    Parameters
    ----------
    m : Module
        Where the banks are added.
    config : HardwareConfig
    request, response : stream
        Ports of the core to the L2, as :class:`hw.core.l1.L1` has them.
    """
    if config.l1_banks == 1:
        m.submodules.l1 = l1 = L1(config)
        connect(m, l1.request, flipped(request))
        connect(m, flipped(response), l1.response)
        return [l1]
    m.submodules.merge = merge = Merge(config, count=config.l1_banks, field="bank")
    connect(m, merge.port_request, flipped(request))
    connect(m, flipped(response), merge.port_response)
    banks = []
    for number in range(config.l1_banks):
        m.submodules[f"l1_{number}"] = bank = L1(config, number)
        connect(m, bank.request, merge.request[number])
        connect(m, merge.response[number], bank.response)
        banks.append(bank)
    return banks


def counted(banks):
    """{event of :data:`EVENTS`: number of the banks in which it happens}."""
    return {name: sum(getattr(bank, name) for bank in banks) for name in EVENTS}
