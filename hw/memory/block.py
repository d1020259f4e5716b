"""A small memory of block RAM at the memory port."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.streams import check_stream


__all__ = ["BlockMemory"]


class BlockMemory(wiring.Component):
    """Memory of block RAM.

    Latency: the answer to a read is valid in the second cycle after the cycle that accepts the
    read. Throughput: a read in three cycles, or a write a cycle.

    Parameters
    ----------
    request, response : data.Layout
        As :func:`hw.memory.port.memory_request_layout` and
        :func:`~hw.memory.port.memory_response_layout`, with a tag of any width.
    lines : int
        Number of lines, a power of two. The address of a line is taken modulo this number.

    Members
    -------
    request : In(stream(request))
        A read sees the writes requested before the read.
    response : Out(stream(response))
        In the order of the reads.
    """
    def __init__(self, request: data.Layout, response: data.Layout, lines):
        if lines < 1 or lines & lines - 1:
            raise ValueError(f"lines is {lines!r}, must be a power of two")
        self._lines = lines
        super().__init__({"request": In(stream.Signature(request)),
                          "response": Out(stream.Signature(response))})

    def elaborate(self, platform):
        m = Module()
        request, response = self.request, self.response
        width = len(request.p.data.as_value())
        m.submodules.memory = memory = Memory(
            shape=width, depth=self._lines, init=[],
            attrs={"ram_style": "block", "no_rw_check": 1})
        write, read = memory.write_port(granularity=8), memory.read_port()
        reads = Signal()                        # the line read is at the RAM's output
        accepted = Signal()
        m.d.comb += [
            request.ready.eq(~(reads | response.valid)),
            accepted.eq(request.valid & request.ready),
            write.addr.eq(request.p.line), write.data.eq(request.p.data.as_value()),
            write.en.eq(Mux(accepted & request.p.write, request.p.mask, Const(0))),
            read.addr.eq(request.p.line), read.en.eq(accepted & ~request.p.write),
        ]
        m.d.sync += reads.eq(read.en)
        with m.If(read.en):
            m.d.sync += response.p.tag.eq(request.p.tag)
        with m.If(reads):
            m.d.sync += [response.valid.eq(1), response.p.data.eq(read.data)]
        with m.If(response.valid & response.ready):
            m.d.sync += response.valid.eq(0)
        check_stream(m, request, name="request")
        return m
