"""The whole L2: its banks, and the paths from requesters to banks to memory ports."""

import operator
from functools import reduce

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.config import HardwareConfig
from hw.memory.crossbar import Crossbar
from hw.memory.l2_bank import L2Bank
from hw.memory.merge import Merge
from hw.memory.port import core_request_layout, core_response_layout, memory_ports
from hw.memory.turns import take_turns


__all__ = ["L2"]


class L2(wiring.Component):
    """The L2 of all cores and the SCU.

    One core and one bank are connected directly. An SCU, if there is one, shares this connection
    (:class:`~hw.memory.merge.Merge`). With more cores or banks, a crossbar connects them. Each
    memory port serves as many consecutive banks, which take turns at the port
    (:func:`~hw.memory.turns.take_turns`). Requests for one line are performed in the order in which
    the L2 accepted the requests.

    Latency: as the bank's. The crossbar adds a cycle each way. The turns at a memory port add a
    cycle to requests; a bank that has a port to itself has no turns.

    Members
    -------
    request : In(stream(core_request_layout)) of each core, and last of the SCU
    response : Out(stream(core_response_layout)) of each core, and last of the SCU
        As :class:`~hw.memory.l2_bank.L2Bank`'s.
    memory_request : Out(stream(memory_request_layout))
    memory_response : In(stream(memory_response_layout))
        The memory port. With several ports ``memory_0_request`` and so on
        (:func:`hw.memory.port.memory_ports`). A line's requests go to one port
        (:func:`hw.memory.port.port_of_line`).
    flush, invalidate : In(1)
    busy : Out(1)
        As for a bank, for all banks together.
    accesses, hits : Out(range(l2_banks + 1))
        Number of banks that looked up a new request; number of banks in which a new request hit.
    memory_reads, memory_writes : Out(range(l2_banks + 1))
        Number of banks that sent a line fetch; number of banks that sent a write-back.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        count = range(config.l2_banks + 1)
        super().__init__({
            "request": In(stream.Signature(core_request_layout(config))).array(config.requesters),
            "response": Out(stream.Signature(core_response_layout(config))).array(
                config.requesters),
            **memory_ports(config),
            "flush": In(1), "invalidate": In(1), "busy": Out(1),
            "accesses": Out(count), "hits": Out(count),
            "memory_reads": Out(count), "memory_writes": Out(count),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        banks = [L2Bank(config.bank) for _ in range(config.l2_banks)]
        for b, bank in enumerate(banks):
            m.submodules[f"bank_{b}" if len(banks) > 1 else "bank"] = bank
            m.d.comb += [bank.flush.eq(self.flush), bank.invalidate.eq(self.invalidate)]
        arriving = Signal()         # on the way to a bank
        leaving = Signal()          # on the way to a memory port
        m.d.comb += [
            self.busy.eq(Cat(bank.busy for bank in banks).any() | arriving | leaving),
            self.accesses.eq(sum(bank.access for bank in banks)),
            self.hits.eq(sum(bank.hit for bank in banks)),
            self.memory_reads.eq(sum(bank.memory_read for bank in banks)),
            self.memory_writes.eq(sum(bank.memory_write for bank in banks)),
        ]

        if config.requesters == len(banks) == 1:
            bank, = banks
            connect(m, flipped(self.request[0]), bank.request)
            connect(m, bank.response, flipped(self.response[0]))
        elif config.cores == len(banks) == 1:
            bank, = banks
            m.submodules.merge = merge = Merge(config, count=config.requesters, field="core")
            for k in range(config.requesters):
                connect(m, flipped(self.request[k]), merge.request[k])
                connect(m, merge.response[k], flipped(self.response[k]))
            connect(m, merge.port_request, bank.request)
            connect(m, bank.response, merge.port_response)
        else:
            m.submodules.crossbar = crossbar = Crossbar(config)
            m.d.comb += arriving.eq(crossbar.busy)
            for c in range(config.requesters):
                connect(m, flipped(self.request[c]), crossbar.core_request[c])
                connect(m, crossbar.core_response[c], flipped(self.response[c]))
            for b, bank in enumerate(banks):
                connect(m, crossbar.bank_request[b], bank.request)
                connect(m, bank.response, crossbar.bank_response[b])

        count, sending = config.port_banks, []
        for p, name in enumerate(config.port_names("memory")):
            valid = take_turns(m, config, banks[p * count:(p + 1) * count],
                               getattr(self, f"{name}_request"),
                               getattr(self, f"{name}_response"), port=p)
            sending += [] if valid is None else [valid]
        if sending:
            m.d.comb += leaving.eq(reduce(operator.or_, sending))
        return m
