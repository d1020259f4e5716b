"""The connection of banks of the L2 to the memory port that serves them."""

from amaranth.hdl import Cat, Const, Signal
from amaranth.lib.wiring import connect, flipped
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.memory.crossbar import Gather
from hw.memory.port import memory_request_layout


__all__ = ["take_turns"]


def take_turns(m, config: HardwareConfig, banks, request, response, *, port=0):
    """Connect the banks of a memory port to the port.

    The banks' requests take turns, and each bank's requests stay in order. In line addresses the
    bank's number moves from the upper end, where the crossbar has put it, back to the lowest bits.
    Tags get the bank's number among the banks of the port, in the highest bits. An answer goes to
    the bank that its tag names.

    Latency: requests one cycle, and none if the port has one bank; answers none. Throughput: a
    request and an answer a cycle.

    Parameters
    ----------
    m : Module
    config : HardwareConfig
    banks : list
        The :class:`~hw.memory.l2_bank.L2Bank` instances of the port, ``config.port_banks`` in
        number.
    request : stream(memory_request_layout)
    response : stream(memory_response_layout)
        The port, as members of the component that ``m`` belongs to.
    port : int
        The port's number.

    Returns
    -------
    Value or None
        Whether a request is between a bank and the port; None if it cannot be.
    """
    if config.l2_banks == 1:
        bank, = banks
        connect(m, bank.memory_request, flipped(request))
        connect(m, flipped(response), bank.memory_response)
        return None
    several = config.memory_ports > 1
    bank_bits, mshr_bits = ceil_log2(config.l2_banks), ceil_log2(config.l2_mshrs)
    if len(banks) > 1:
        gather = Gather(memory_request_layout(config), len(banks))
        m.submodules[f"port_{port}" if several else "port"] = gather
        connect(m, gather.o, flipped(request))
        inputs, valid = gather.i, gather.o.valid
    else:
        inputs, valid = [request], None
    readies = []
    for place, (bank, i) in enumerate(zip(banks, inputs, strict=True)):
        asks = bank.memory_request
        line = asks.payload.line
        m.d.comb += [
            i.valid.eq(asks.valid), asks.ready.eq(i.ready),
            i.payload.write.eq(asks.payload.write),
            i.payload.data.eq(asks.payload.data), i.payload.mask.eq(asks.payload.mask),
            i.payload.line.eq(Cat(line[-bank_bits:], line[:-bank_bits])),
            i.payload.tag.eq(Cat(asks.payload.tag, Const(place, ceil_log2(len(banks))))),
        ]
        comes = Signal(name=f"comes_{port * len(banks) + place}")
        m.d.comb += [
            comes.eq(response.payload.tag[mshr_bits:] == place),
            bank.memory_response.valid.eq(response.valid & comes),
            bank.memory_response.payload.tag.eq(response.payload.tag[:mshr_bits]),
            bank.memory_response.payload.data.eq(response.payload.data),
        ]
        readies.append(comes & bank.memory_response.ready)
    m.d.comb += response.ready.eq(Cat(readies).any())
    return valid
