"""The Data Fetch: reads the elements and passes them on in order.

The coalescing unit turns each element into a slot and a word. A queue keeps slots and words in the
order of the elements. Lines go to their slots in any order. The beat at the head of the queue
leaves when the lines of all its elements have arrived.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.bits import and_or, lowest, mux_tree
from hw.config import HardwareConfig
from hw.memory.port import line_layout

from .coalescer import WINDOW, CoalescingUnit, place_layout
from .beats import beat_layout
from .interface import SLOTS, line_response_layout, read_layout


__all__ = ["DataFetch"]


#: Lines that one beat reads in a cycle. The consecutive words of a beat lie in two lines at most.
_PORTS = 2


class DataFetch(wiring.Component):
    """The Data Fetch with its coalescing unit.

    Latency: a beat leaves two cycles after the last of its lines has arrived, and at least four
    cycles after the beat came in. Throughput: a beat a cycle, if its elements are in two lines at
    most and at most one line a cycle is requested.

    Parameters
    ----------
    config : HardwareConfig
        The queue has ``scu_request_bytes`` / 8 elements.
    width : int
        Elements of a beat.
    beats : int, optional
        Beats in the queue, instead.
    slots, window : int
        As for :class:`~hw.scu.coalescer.CoalescingUnit`.

    Members
    -------
    i : In(stream(beat_layout(30)))
        Packed beats of words, numbered from address 0 on.
    o : Out(stream(beat_layout(32)))
        The words, in the same beats.
    read : Out(stream(read_layout))
        Requests of lines.
    response : In(stream(line_response_layout))
        Answers to ``read``, in any order. Always ready.
    """
    def __init__(self, config: HardwareConfig, width, *, beats=None, slots=SLOTS, window=WINDOW):
        self._config, self._width = config, width
        self._beats = beats or max(2, config.scu_request_bytes // 8 // width)
        self._slots, self._window = slots, window
        super().__init__({
            "i": In(stream.Signature(beat_layout(30, width))),
            "o": Out(stream.Signature(beat_layout(32, width))),
            "read": Out(stream.Signature(read_layout(config))),
            "response": In(stream.Signature(line_response_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        config, width = self._config, self._width
        depth, slots = self._beats, self._slots
        layout = beat_layout(place_layout(config), width)
        m.submodules.coalescer = coalescer = CoalescingUnit(
            config, width, depth + 1, slots=slots, window=self._window)
        m.submodules.queue = queue = fifo.SyncFIFOBuffered(width=layout.size, depth=depth)
        connect(m, flipped(self.i), coalescer.i)
        connect(m, coalescer.read, flipped(self.read))
        m.d.comb += [
            queue.w_data.eq(coalescer.o.payload), queue.w_en.eq(coalescer.o.valid),
            coalescer.o.ready.eq(queue.w_rdy),
        ]

        arrived = Signal(slots)
        answer = self.response.payload
        asks = Signal()
        m.d.comb += [asks.eq(self.read.valid & self.read.ready), self.response.ready.eq(1)]
        m.d.sync += arrived.eq(
            (arrived | Mux(self.response.valid, 1 << answer.slot, 0))
            & ~Mux(asks, 1 << self.read.payload.slot, 0))

        # In a cycle, the beat at the head reads its elements in up to two lines.
        head = data.View(layout, queue.r_data)
        done = Signal(width)
        left = Signal(width)
        m.d.comb += left.eq(Mux(queue.r_rdy, head.valid & ~done, 0))
        lines, served = [], []
        unserved = left
        for port in range(_PORTS):
            memory = Memory(shape=line_layout(config), depth=slots, init=[])
            m.submodules[f"lines_{port}"] = memory
            write, read = memory.write_port(), memory.read_port(domain="comb")
            chosen = lowest(m, unserved, name=f"chosen_{port}")
            mine = Signal(width, name=f"served_{port}")
            m.d.comb += [
                write.addr.eq(answer.slot), write.data.eq(answer.data),
                write.en.eq(self.response.valid),
                read.addr.eq(and_or(chosen, [head.elements[k].slot for k in range(width)])),
                mine.eq(Cat(unserved[k] & (head.elements[k].slot == read.addr)
                            & arrived.bit_select(read.addr, 1) for k in range(width))),
            ]
            lines.append(read.data)
            served.append(mine)
            # The next port does not try the elements of this line again, arrived or not.
            rest = Signal(width, name=f"rest_{port}")
            m.d.comb += rest.eq(Cat(unserved[k] & (head.elements[k].slot != read.addr)
                                    for k in range(width)))
            unserved = rest

        now = Signal(width)
        words = [Signal(32, name=f"word_{k}", reset_less=True) for k in range(width)]
        room = Signal()
        leaves = Signal()
        m.d.comb += [
            now.eq(served[0] | served[1]),
            room.eq(~self.o.valid | self.o.ready),
            leaves.eq(queue.r_rdy & room & ((left & ~now) == 0)),
            queue.r_en.eq(leaves), coalescer.taken.eq(leaves),
        ]
        for k in range(width):
            word = Signal(32, name=f"read_{k}")
            m.d.comb += word.eq(and_or(Cat(mine[k] for mine in served), [
                mux_tree(head.elements[k].word, [line[w] for w in range(config.line_words)])
                for line in lines]))
            with m.If(now[k]):
                m.d.sync += words[k].eq(word)
            with m.If(leaves):
                m.d.sync += self.o.payload.elements[k].eq(Mux(now[k], word, words[k]))
        m.d.sync += done.eq(Mux(leaves, 0, done | now))
        with m.If(room):
            m.d.sync += [self.o.valid.eq(leaves), self.o.payload.valid.eq(head.valid),
                         self.o.payload.end.eq(head.end)]
        with m.If(~ResetSignal()):
            m.d.sync += Assert(~self.response.valid | ~arrived.bit_select(answer.slot, 1),
                               "a line comes twice")
        return m
