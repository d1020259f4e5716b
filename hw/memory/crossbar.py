"""The crossbar between the cores, the SCU and the banks of the L2."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import RoundRobin, and_or
from hw.config import HardwareConfig
from hw.memory.port import core_request_layout, core_response_layout


__all__ = ["Crossbar", "Gather"]


class Gather(wiring.Component):
    """Merges several streams into one, round-robin.

    Latency: one cycle. Throughput: one payload a cycle. Each input's payloads stay in order.

    Parameters
    ----------
    shape : shape
        Shape of the payload.
    count : int
        Number of inputs.

    Members
    -------
    i : In(stream) of each input
    o : Out(stream)
        From a register.
    """
    def __init__(self, shape, count):
        self._count = count
        super().__init__({
            "i": In(stream.Signature(shape)).array(count), "o": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform):
        m = Module()
        inputs = range(self._count)
        m.submodules.arbiter = arbiter = RoundRobin(self._count)
        room = Signal()
        m.d.comb += [
            room.eq(~self.o.valid | self.o.ready),
            arbiter.requests.eq(Cat(self.i[k].valid for k in inputs)),
            arbiter.advance.eq(room),
        ]
        for k in inputs:
            m.d.comb += self.i[k].ready.eq(room & arbiter.grant[k])
        with m.If(room):
            m.d.sync += [
                self.o.valid.eq(arbiter.requests.any()),
                self.o.payload.eq(and_or(arbiter.grant, [self.i[k].payload for k in inputs])),
            ]
        return m


class Crossbar(wiring.Component):
    """Crossbar between cores and banks. The SCU counts as the last core.

    The lowest bits of a line's address name the line's bank. At the bank these bits stand at the
    upper end of the address, so that consecutive lines of a bank have consecutive addresses. The
    requests of a core to one bank arrive in order. The crossbar fixes the order of a request among
    the requests of all cores when it accepts the request. A request that reaches a bank later is
    performed later.

    Latency: one cycle each way. Throughput: each bank takes a request and gives an answer a cycle.
    Each core sends a request and receives an answer a cycle.

    Members
    -------
    core_request : In(stream(core_request_layout)) of each core
        The crossbar fills in the tag's ``core``.
    core_response : Out(stream(core_response_layout)) of each core
    bank_request : Out(stream(core_request_layout)) of each bank
    bank_response : In(stream(core_response_layout)) of each bank
        An answer goes to the core that the answer's tag names.
    busy : Out(1)
        A request is on its way to a bank.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        request = stream.Signature(core_request_layout(config))
        response = stream.Signature(core_response_layout(config))
        super().__init__({
            "core_request": In(request).array(config.requesters),
            "core_response": Out(response).array(config.requesters),
            "bank_request": Out(request).array(config.l2_banks),
            "bank_response": In(response).array(config.l2_banks),
            "busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        cores, banks = range(config.requesters), range(config.l2_banks)
        bank_bits = ceil_log2(config.l2_banks)

        to_bank = [Gather(core_request_layout(config), len(cores)) for _ in banks]
        to_core = [Gather(core_response_layout(config), len(banks)) for _ in cores]
        for b, gather in enumerate(to_bank):
            m.submodules[f"to_bank_{b}"] = gather
            wiring.connect(m, gather.o, wiring.flipped(self.bank_request[b]))
        for c, gather in enumerate(to_core):
            m.submodules[f"to_core_{c}"] = gather
            wiring.connect(m, gather.o, wiring.flipped(self.core_response[c]))

        for c in cores:
            request = self.core_request[c]
            line = request.payload.line
            goes = Signal(len(banks), name=f"goes_{c}")
            m.d.comb += goes.eq(1 << line[:bank_bits])
            for b in banks:
                i = to_bank[b].i[c]
                m.d.comb += [
                    i.valid.eq(request.valid & goes[b]), i.payload.eq(request.payload),
                    i.payload.tag.core.eq(c),
                    i.payload.line.eq(Cat(line[bank_bits:], line[:bank_bits])),
                ]
            m.d.comb += request.ready.eq(
                (goes & Cat(to_bank[b].i[c].ready for b in banks)).any())
        for b in banks:
            response = self.bank_response[b]
            goes = Signal(len(cores), name=f"answers_{b}")
            m.d.comb += goes.eq(1 << response.payload.tag.core)
            for c in cores:
                i = to_core[c].i[b]
                m.d.comb += [i.valid.eq(response.valid & goes[c]),
                             i.payload.eq(response.payload)]
            m.d.comb += response.ready.eq(
                (goes & Cat(to_core[c].i[b].ready for c in cores)).any())
        m.d.comb += self.busy.eq(Cat(gather.o.valid for gather in to_bank).any())
        return m
