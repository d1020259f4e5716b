"""The whole L2: its banks, and the paths from requesters to banks to memory port."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.memory.crossbar import Crossbar, Gather
from hw.memory.l2_bank import L2Bank
from hw.memory.merge import Merge
from hw.memory.port import (core_request_layout, core_response_layout, memory_request_layout,
                            memory_response_layout)


__all__ = ["L2"]


class L2(wiring.Component):
    """The L2 of all cores and the SCU.

    One core and one bank are connected directly. An SCU, if there is one, shares this connection
    (:class:`~hw.memory.merge.Merge`). With more cores or banks, a crossbar connects them. Several
    banks take turns at the memory port. Requests for one line are performed in the order in which
    the L2 accepted the requests.

    Latency: as the bank's. The crossbar adds a cycle each way. The turns at the memory port add a
    cycle to requests.

    Members
    -------
    request : In(stream(core_request_layout)) of each core, and last of the SCU
    response : Out(stream(core_response_layout)) of each core, and last of the SCU
        As :class:`~hw.memory.l2_bank.L2Bank`'s.
    memory_request : Out(stream(memory_request_layout))
    memory_response : In(stream(memory_response_layout))
        The memory port.
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
            "memory_request": Out(stream.Signature(memory_request_layout(config))),
            "memory_response": In(stream.Signature(memory_response_layout(config))),
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
        leaving = Signal()          # on the way to the memory port
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

        if len(banks) == 1:
            bank, = banks
            connect(m, bank.memory_request, flipped(self.memory_request))
            connect(m, flipped(self.memory_response), bank.memory_response)
        else:
            self._share_port(m, banks, leaving)
        return m

    def _share_port(self, m, banks, leaving):
        """Connects the banks to the memory port.

        Requests take turns. The bank's number is added to line address and tag. Answers find their
        bank by tag.
        """
        bank_bits = ceil_log2(len(banks))
        mshr_bits = ceil_log2(self._config.l2_mshrs)
        m.submodules.port = port = Gather(memory_request_layout(self._config), len(banks))
        connect(m, port.o, flipped(self.memory_request))
        m.d.comb += leaving.eq(port.o.valid)
        answer = self.memory_response
        readies = []
        for b, bank in enumerate(banks):
            request, i = bank.memory_request, port.i[b]
            line = request.payload.line
            m.d.comb += [
                i.valid.eq(request.valid), request.ready.eq(i.ready),
                i.payload.write.eq(request.payload.write),
                i.payload.data.eq(request.payload.data), i.payload.mask.eq(request.payload.mask),
                i.payload.line.eq(Cat(line[-bank_bits:], line[:-bank_bits])),
                i.payload.tag.eq(Cat(request.payload.tag, Const(b, bank_bits))),
            ]
            comes = Signal(name=f"comes_{b}")
            m.d.comb += [
                comes.eq(answer.payload.tag[mshr_bits:] == b),
                bank.memory_response.valid.eq(answer.valid & comes),
                bank.memory_response.payload.tag.eq(answer.payload.tag[:mshr_bits]),
                bank.memory_response.payload.data.eq(answer.payload.data),
            ]
            readies.append(comes & bank.memory_response.ready)
        m.d.comb += answer.ready.eq(Cat(readies).any())
