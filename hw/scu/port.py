"""The SCU's port to the L2: gathers requests of the blocks, distributes the answers."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.memory.crossbar import Gather
from hw.memory.port import LineOp, core_request_layout, core_response_layout
from hw.operations import AmoOp
from hw.streams import StreamRegister

from .interface import (SLOTS, TABLE_SLOTS, line_request_layout, line_response_layout,
                        read_layout)
from .store import store_request_layout


__all__ = ["Port", "Reader"]


class Reader(enum.IntEnum, shape=3):
    """A block that reads. The block's number and the slot are the tag of a request."""
    FETCH   = 0
    BITMASK = 1
    INDEXES = 2
    COUNTS  = 3
    FILTER  = 4
    OPERAND = 5
    ORDER   = 6
    HASH    = 7


#: The blocks that only read.
_VECTORS = [reader for reader in Reader if reader != Reader.HASH]


class Port(wiring.Component):
    """The port to the L2.

    Latency of a request: two cycles for a block that only reads, one cycle for the others.
    Throughput: a request a cycle, round-robin. The requests of each block stay in order.

    Members
    -------
    read_fetch, … : In(stream(read_layout))
        Requests of each reader but HASH.
    hash : In(stream(line_request_layout))
        Requests of the Filtering/Grouping Unit.
    store : In(stream(store_request_layout))
        Requests of the Data Store.
    response_fetch, … : Out(stream(line_response_layout))
        Answers for each reader. Only ``response_hash`` may refuse an answer.
    request : Out(stream(core_request_layout))
        Requests to the L2.
    response : In(stream(core_response_layout))
        Answers of the L2 to reads.
    once : In(1)
        The lines that blocks read are not wanted again soon, but for those of COUNTS and HASH.
    stop : In(1)
        Accept no more requests of blocks that only read.
    idle : Out(1)
        No request waits in the port, and no answer is missing.
    read, written : Out(1)
        A read, or a write, was sent in this cycle; for counters.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        answer = Out(stream.Signature(line_response_layout(config)))
        super().__init__({
            **{f"read_{reader.name.lower()}": In(stream.Signature(read_layout(config)))
               for reader in _VECTORS},
            "hash": In(stream.Signature(line_request_layout(config))),
            "store": In(stream.Signature(store_request_layout(config))),
            **{f"response_{reader.name.lower()}": answer for reader in Reader},
            "request": Out(stream.Signature(core_request_layout(config))),
            "response": In(stream.Signature(core_response_layout(config))),
            "once": In(1), "stop": In(1), "idle": Out(1), "read": Out(1), "written": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        slot_bits = ceil_log2(TABLE_SLOTS)
        read_shape = data.StructLayout({"read": read_layout(config), "reader": 3})
        m.submodules.reads = reads = Gather(read_shape, len(_VECTORS))
        for reader in _VECTORS:
            i, source = reads.i[reader], getattr(self, f"read_{reader.name.lower()}")
            m.d.comb += [
                i.valid.eq(source.valid & ~self.stop), source.ready.eq(i.ready & ~self.stop),
                i.payload.read.eq(source.payload), i.payload.reader.eq(reader),
            ]

        m.submodules.requests = requests = Gather(core_request_layout(config), 3)
        connect(m, requests.o, wiring.flipped(self.request))
        from_reads, from_hash, from_store = requests.i
        m.d.comb += [
            from_reads.valid.eq(reads.o.valid), reads.o.ready.eq(from_reads.ready),
            from_reads.payload.op.eq(LineOp.READ),
            from_reads.payload.line.eq(reads.o.payload.read.line),
            from_reads.payload.mask.eq(-1),
            from_reads.payload.once.eq(self.once & (reads.o.payload.reader != Reader.COUNTS)),
            from_reads.payload.tag.mshr.eq(
                reads.o.payload.read.slot | reads.o.payload.reader << slot_bits),

            from_hash.valid.eq(self.hash.valid), self.hash.ready.eq(from_hash.ready),
            from_hash.payload.op.eq(Mux(self.hash.payload.write, LineOp.WRITE, LineOp.READ)),
            from_hash.payload.line.eq(self.hash.payload.line),
            from_hash.payload.data.eq(self.hash.payload.data),
            from_hash.payload.mask.eq(Mux(self.hash.payload.write, self.hash.payload.mask, -1)),
            from_hash.payload.tag.mshr.eq(self.hash.payload.slot | Reader.HASH << slot_bits),

            from_store.valid.eq(self.store.valid), self.store.ready.eq(from_store.ready),
            from_store.payload.op.eq(Mux(self.store.payload.bit, LineOp.ATOMIC, LineOp.WRITE)),
            from_store.payload.amo.eq(Mux(self.store.payload.sets, AmoOp.OR, AmoOp.AND)),
            from_store.payload.line.eq(self.store.payload.line),
            from_store.payload.data.eq(self.store.payload.data),
            from_store.payload.mask.eq(self.store.payload.mask),
        ]
        with m.If(self.store.payload.bit):
            m.d.comb += [
                *(word.eq(self.store.payload.data[0]) for word in from_store.payload.data),
                from_store.payload.mask.eq(0xF << (self.store.payload.word << 2)),
            ]

        # An answer is registered before anything depends on it.
        m.submodules.answers = answers = StreamRegister(core_response_layout(config))
        connect(m, wiring.flipped(self.response), answers.i)
        tag = answers.o.payload.tag.mshr
        ready = Signal()
        m.d.comb += [ready.eq(1), answers.o.ready.eq(ready)]
        for reader in Reader:
            response = getattr(self, f"response_{reader.name.lower()}")
            mine = tag[slot_bits:] == reader
            m.d.comb += [
                response.valid.eq(answers.o.valid & mine),
                response.payload.slot.eq(tag[:slot_bits]),
                response.payload.data.eq(answers.o.payload.data),
            ]
            if reader == Reader.HASH:
                with m.If(mine):
                    m.d.comb += ready.eq(response.ready)

        asked = Signal()
        answered = Signal()
        missing = Signal(range(len(Reader) * SLOTS + 1))    # reads without an answer
        m.d.comb += [
            asked.eq(self.request.valid & self.request.ready),
            self.read.eq(asked & (self.request.payload.op == LineOp.READ)),
            self.written.eq(asked & ~self.read),
            answered.eq(answers.o.valid & answers.o.ready),
            self.idle.eq((missing == 0) & ~reads.o.valid & ~self.request.valid),
        ]
        m.d.sync += missing.eq(missing + self.read - answered)
        return m
