"""The connection of several requesters to one port, such as that of a bank of the L2."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.bits import RoundRobin, and_or
from hw.config import HardwareConfig
from hw.memory.port import core_request_layout, core_response_layout
from hw.streams import check_stream


__all__ = ["Merge"]


class Merge(wiring.Component):
    """Merges the requests to one port, round-robin, and returns the port's answers.

    A request that is offered to the port stays until the port takes the request.

    Latency: combinational, so a lone requester is served as if it were connected directly.
    Throughput: a request and an answer a cycle.

    Parameters
    ----------
    config : HardwareConfig
    count : int
        Number of requesters.
    field : str
        The field of the tag that names the requester.

    Members
    -------
    request : In(stream(core_request_layout)) of each requester
        The component fills in the tag's ``field``.
    response : Out(stream(core_response_layout)) of each requester
    port_request : Out(stream(core_request_layout))
    port_response : In(stream(core_response_layout))
        An answer goes to the requester that the answer's tag names.
    """
    def __init__(self, config: HardwareConfig, *, count, field):
        self._count = count
        self._field = field
        request = stream.Signature(core_request_layout(config))
        response = stream.Signature(core_response_layout(config))
        super().__init__({
            "request": In(request).array(self._count),
            "response": Out(response).array(self._count),
            "port_request": Out(request), "port_response": In(response),
        })

    def elaborate(self, platform):
        m = Module()
        requesters = range(self._count)
        port = self.port_request
        m.submodules.arbiter = arbiter = RoundRobin(self._count)
        held = Signal()                 # the holder's request is on offer and was not taken
        holder = Signal(self._count)
        grant = Signal(self._count)
        m.d.comb += [
            arbiter.requests.eq(Cat(self.request[k].valid for k in requesters)),
            arbiter.advance.eq(~held),
            grant.eq(Mux(held, holder, arbiter.grant)),
            port.valid.eq(arbiter.requests.any()),
            port.payload.eq(and_or(grant, [self.request[k].payload for k in requesters])),
        ]
        m.d.sync += [held.eq(port.valid & ~port.ready), holder.eq(grant)]
        for k in requesters:
            m.d.comb += self.request[k].ready.eq(grant[k] & port.ready)
            with m.If(grant[k]):
                m.d.comb += port.payload.tag[self._field].eq(k)

        answer = self.port_response
        goes = Signal(self._count)
        m.d.comb += goes.eq(1 << answer.payload.tag[self._field])
        for k in requesters:
            m.d.comb += [self.response[k].valid.eq(answer.valid & goes[k]),
                         self.response[k].payload.eq(answer.payload)]
        m.d.comb += answer.ready.eq(
            (goes & Cat(self.response[k].ready for k in requesters)).any())
        check_stream(m, port, name="port_request")
        return m
