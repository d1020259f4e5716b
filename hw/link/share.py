"""One memory port that the GPU and the link share."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.bits import mux_tree
from hw.config import HardwareConfig
from hw.memory.port import memory_request_layout, memory_response_layout, memory_tag_bits
from hw.streams import StreamRegister, check_stream


__all__ = ["WORD_REQUEST", "MemoryShare", "shared_request_layout", "shared_response_layout"]


#: The link's request for one word; ``word`` is the byte address / 4.
WORD_REQUEST = data.StructLayout({"write": 1, "word": 30, "data": 32})


def shared_request_layout(config: HardwareConfig):
    """A request at the memory port of a board.

    The layout is the GPU's (:mod:`hw.memory.port`) with one more bit of tag. The added bit is set
    in requests of the link.
    """
    return memory_request_layout(config, memory_tag_bits(config) + 1)


def shared_response_layout(config: HardwareConfig):
    """The memory's answer to a read, in any order."""
    return memory_response_layout(config, memory_tag_bits(config) + 1)


class MemoryShare(wiring.Component):
    """Merges the requests of GPU and link, with priority to the link, and separates the answers.

    While ``hold`` is high, no request of the GPU is taken, and answers to the GPU are dropped. So
    a GPU in reset neither gets these answers nor blocks them.

    Latency: requests take a cycle, answers are combinational. Throughput: a request and an answer a
    cycle.

    Members
    -------
    hold : In(1)
        Take no request of the GPU and drop answers to the GPU.
    idle : Out(1)
        Every read of the GPU has its answer. Constant only while ``hold`` is high.
    gpu_request : In(stream(memory_request_layout))
    gpu_response : Out(stream(memory_response_layout))
        The GPU's memory port.
    link_request : In(stream(WORD_REQUEST))
        After a read, the next request must wait for the read's answer.
    link_response : Out(stream(32))
        The word that was read.
    memory_request : Out(stream(shared_request_layout))
        The memory answers reads by tag, in any order. A read sees the writes requested before the
        read.
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
        place = Signal(place_bits)              # place in its line of the word that the link reads
        # The link is slow, so its priority never delays the GPU for long.
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
