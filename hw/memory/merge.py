"""From one core and the SCU to one bank of the shared level, and back."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.memory.port import core_request_layout, core_response_layout
from hw.util import RoundRobin, and_or, check_stream


__all__ = ["Merge"]


class Merge(wiring.Component):
    """Requests of several to one bank, in turn, and the bank's answers back to them.

    Latency: none, so that a requester who is alone is served as if it were connected directly.
    Throughput: a request and an answer a cycle. One that is on offer stays so until it is taken.

    Members
    -------
    request : In(stream(core_request_layout)) of each requester
        The tag's ``core`` is filled in here.
    response : Out(stream(core_response_layout)) of each requester
    bank_request : Out(stream(core_request_layout))
    bank_response : In(stream(core_response_layout))
        Goes to the requester that its tag names.
    """
    def __init__(self, config: HardwareConfig):
        self._count = config.requesters
        request = stream.Signature(core_request_layout(config))
        response = stream.Signature(core_response_layout(config))
        super().__init__({
            "request": In(request).array(self._count),
            "response": Out(response).array(self._count),
            "bank_request": Out(request), "bank_response": In(response),
        })

    def elaborate(self, platform):
        m = Module()
        requesters = range(self._count)
        bank = self.bank_request
        m.submodules.arbiter = arbiter = RoundRobin(self._count)
        held = Signal()                 # whose request is on offer, and was not taken
        holder = Signal(self._count)
        grant = Signal(self._count)
        m.d.comb += [
            arbiter.requests.eq(Cat(self.request[k].valid for k in requesters)),
            arbiter.advance.eq(~held),
            grant.eq(Mux(held, holder, arbiter.grant)),
            bank.valid.eq(arbiter.requests.any()),
            bank.payload.eq(and_or(grant, [self.request[k].payload for k in requesters])),
        ]
        m.d.sync += [held.eq(bank.valid & ~bank.ready), holder.eq(grant)]
        for k in requesters:
            m.d.comb += self.request[k].ready.eq(grant[k] & bank.ready)
            with m.If(grant[k]):
                m.d.comb += bank.payload.tag.core.eq(k)

        answer = self.bank_response
        goes = Signal(self._count)
        m.d.comb += goes.eq(1 << answer.payload.tag.core)
        for k in requesters:
            m.d.comb += [self.response[k].valid.eq(answer.valid & goes[k]),
                         self.response[k].payload.eq(answer.payload)]
        m.d.comb += answer.ready.eq(
            (goes & Cat(self.response[k].ready for k in requesters)).any())
        check_stream(m, bank, name="bank_request")
        return m
