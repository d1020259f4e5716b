"""Collection of an SDRAM's beats into lines."""

from amaranth.hdl import Assert, Cat, Module, ResetSignal, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.sdram.timing import BURST


__all__ = ["Answers"]


class Answers(wiring.Component):
    """Collects the beats of each line that is read, and answers with the line and its tag.

    There is room for two lines: an offered line, and a line that is being collected or waits.

    Latency: an answer is valid in the second cycle after its last beat. Throughput: a beat a cycle.

    Parameters
    ----------
    layout : data.Layout
        Layout of an answer: ``tag`` and ``data``.
    delay : int
        Cycles from the issue of a READ to the READ's first beat in ``dq_i``; less than the beats of
        a burst.

    Members
    -------
    begin : In(1)
        A read of ``tag`` begins. Its first READ must be issued in the next cycle or later, and at
        least a burst after the last READ of the read before. Allowed only with ``room``.
    tag : In
        The tag of the read that begins.
    room : Out(1)
        A read may begin.
    reads : In(1)
        High in each cycle of a burst, from the cycle of the READ on.
    dq_i : In(16)
        The data pins.
    response : Out(stream(layout))
    """
    def __init__(self, layout, delay):
        if not 1 <= delay < BURST:
            raise ValueError(f"delay is {delay!r}, must be 1 to {BURST - 1} cycles")
        self._layout, self._delay = layout, delay
        super().__init__({
            "begin": In(1), "tag": In(layout["tag"].shape), "room": Out(1),
            "reads": In(1), "dq_i": In(16), "response": Out(stream.Signature(layout)),
        })

    def elaborate(self, platform):
        m = Module()
        response = self.response
        width = len(response.payload.data.as_value())
        outstanding = Signal(range(3))          # reads begun whose answer was not taken
        coming = Signal.like(self.tag)          # tag of the read that began last
        tag = Signal.like(self.tag)             # tag of the line that is being collected
        words = Signal(width, reset_less=True)
        beat = Signal(range(width // 16))
        whole = Signal()
        on_the_way = Signal(self._delay)
        arrives = Signal()
        taken = Signal()
        moves = Signal()

        m.d.comb += [
            self.room.eq(outstanding < 2),
            arrives.eq(on_the_way[-1]),
            taken.eq(response.valid & response.ready),
            moves.eq(whole & (~response.valid | response.ready)),
        ]
        m.d.sync += [
            outstanding.eq(outstanding + self.begin - taken),
            on_the_way.eq(Cat(self.reads, on_the_way)),
        ]
        with m.If(self.begin):
            m.d.sync += coming.eq(self.tag)
        with m.If(taken):
            m.d.sync += response.valid.eq(0)
        with m.If(moves):
            m.d.sync += [response.valid.eq(1), response.payload.tag.eq(tag),
                         response.payload.data.eq(words), whole.eq(0)]
        with m.If(arrives):
            m.d.sync += [words.eq(Cat(words[16:], self.dq_i)), beat.eq(beat + 1)]
            with m.If(beat == 0):
                m.d.sync += tag.eq(coming)
            with m.If(beat == width // 16 - 1):
                m.d.sync += whole.eq(1)
        with m.If(~ResetSignal()):
            m.d.sync += [
                Assert(~self.begin | self.room, "a read begins without room for its answer"),
                Assert(~(arrives & whole & ~moves), "a beat arrives where a line waits"),
            ]
        return m
