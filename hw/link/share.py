"""One memory port for two: the GPU and the link."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.config import HardwareConfig
from hw.memory.port import memory_request_layout, memory_response_layout, memory_tag_bits
from hw.util import StreamRegister, check_stream, mux_tree


__all__ = ["WORD_REQUEST", "MemoryShare", "shared_request_layout", "shared_response_layout"]


#: The link's request: a word, by its byte address / 4.
WORD_REQUEST = data.StructLayout({"write": 1, "word": 30, "data": 32})


def shared_request_layout(config: HardwareConfig):
    """A request at the memory port of a board: the GPU's (:mod:`hw.memory.port`), with one more bit
    of tag, which says that it is the link's."""
    return memory_request_layout(config, memory_tag_bits(config) + 1)


def shared_response_layout(config: HardwareConfig):
    """The memory's answer to a read, in any order."""
    return memory_response_layout(config, memory_tag_bits(config) + 1)


class MemoryShare(wiring.Component):
    """Joins the requests of GPU and link, the link's first, and parts the answers.

    While ``hold`` is high, the GPU is not heard and the answers to what it has asked are dropped:
    a GPU that is in reset meanwhile neither gets them nor stands in their way.

    Latency: a cycle for requests, none for answers. Throughput: a request and an answer a cycle.

    Members
    -------
    hold : In(1)
        Neither take the GPU's requests nor hand on answers to it.
    idle : Out(1)
        None of the GPU's reads is without an answer. Constant only while ``hold`` is high.
    gpu_request, gpu_response
        The GPU's memory port.
    link_request : In(stream(WORD_REQUEST))
    link_response : Out(stream(32))
        The word that was read; in the order of the requests if at most one is under way.
    memory_request : Out(stream(shared_request_layout))
        Reads are answered by tag, in any order; a read sees the writes requested before it.
    memory_response : In(stream(shared_response_layout))
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            "hold": In(1), "idle": Out(1),
            "gpu_request": In(stream.Signature(memory_request_layout(config))),
            "gpu_response": Out(stream.Signature(memory_response_layout(config))),
            "link_request": In(stream.Signature(WORD_REQUEST)),
            "link_response": Out(stream.Signature(32)),
            "memory_request": Out(stream.Signature(shared_request_layout(config))),
            "memory_response": In(stream.Signature(shared_response_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        gpu, link = self.gpu_request, self.link_request
        m.submodules.register = register = StreamRegister(shared_request_layout(config))
        connect(m, register.o, flipped(self.memory_request))
        request, place_bits = register.i.payload, config.line_bits - 2
        place = Signal(place_bits)              # of the word that the link reads, in its line
        # The link is slow, so the GPU never waits long.
        m.d.comb += [
            link.ready.eq(register.i.ready),
            gpu.ready.eq(register.i.ready & ~link.valid & ~self.hold),
            register.i.valid.eq(link.valid | (gpu.valid & ~self.hold)),
        ]
        with m.If(link.valid):
            m.d.comb += [
                request.write.eq(link.payload.write),
                request.line.eq(link.payload.word[place_bits:]),
                request.data.as_value().eq(link.payload.data.replicate(config.line_words)),
                request.mask.eq(Cat(Mux(link.payload.word[:place_bits] == word, Const(0xF, 4), 0)
                                    for word in range(config.line_words))),
                request.tag.eq(1 << memory_tag_bits(config)),
            ]
            with m.If(link.ready):
                m.d.sync += place.eq(link.payload.word)
        with m.Else():
            m.d.comb += [request[name].eq(gpu.payload[name]) for name, _ in request.shape()]

        answer = self.memory_response
        for_link = answer.payload.tag[-1]
        m.d.comb += [
            self.link_response.valid.eq(answer.valid & for_link),
            self.link_response.payload.eq(mux_tree(place, answer.payload.data)),
            self.gpu_response.valid.eq(answer.valid & ~for_link & ~self.hold),
            self.gpu_response.payload.tag.eq(answer.payload.tag),
            self.gpu_response.payload.data.eq(answer.payload.data),
            answer.ready.eq(Mux(for_link, self.link_response.ready,
                                self.gpu_response.ready | self.hold)),
        ]
        waiting = Signal(range((1 << memory_tag_bits(config)) + 1))
        asked = Signal()
        answered = Signal()
        m.d.comb += [
            asked.eq(gpu.valid & gpu.ready & ~gpu.payload.write),
            answered.eq(answer.valid & answer.ready & ~for_link), self.idle.eq(waiting == 0),
        ]
        m.d.sync += waiting.eq(waiting + asked - answered)
        check_stream(m, self.memory_request, name="memory_request")
        check_stream(m, self.link_response, name="link_response")
        return m
