"""The queue between execute and a unit that takes instructions in its own time."""

from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig


__all__ = ["QUEUE", "IssueQueue"]


#: Instructions that have room between execute and their unit.
QUEUE = {"short": 4, "long": 8}


class IssueQueue(wiring.Component):
    """Instructions for a unit, in order. Nothing can be held up on its way here, so that an
    instruction is picked only while there is room.

    Latency: one cycle. Throughput: an instruction a cycle.

    Parameters
    ----------
    config : HardwareConfig
    layout : ShapeCastable
        What an instruction carries.

    Members
    -------
    picked : In(1)
        An instruction for the unit was picked in the cycle before: it enters in this cycle; with
        the long pipeline, two cycles later.
    room : Out(1)
        There is room for one that is picked in this cycle; with the long pipeline, in the next.
    enter : In(1)
        An instruction enters. Never held up.
    instruction : In(layout)
    o : Out(stream(layout))
        To the unit.
    """
    def __init__(self, config: HardwareConfig, layout):
        self._config = config
        self._layout = layout
        super().__init__({
            "picked": In(1), "room": Out(1),
            "enter": In(1), "instruction": In(layout),
            "o": Out(stream.Signature(layout)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.fifo = queue = fifo.SyncFIFO(width=self._layout.size,
                                                  depth=QUEUE[self._config.pipeline])
        m.d.comb += [
            queue.w_en.eq(self.enter), queue.w_data.eq(self.instruction),
            self.o.valid.eq(queue.r_rdy),
            self.o.payload.eq(data.View(self._layout, queue.r_data)),
            queue.r_en.eq(self.o.ready),
        ]
        if self._config.long:
            # Those picked that have not left the queue, but for the last two.
            owed = Signal(range(queue.depth + 1))
            m.d.sync += owed.eq(owed + self.picked - (queue.r_en & queue.r_rdy))
            m.d.comb += self.room.eq(owed < queue.depth - 2)
        else:
            m.d.comb += self.room.eq(queue.level + self.picked < queue.depth)
        m.d.sync += Assert(~self.enter | queue.w_rdy, "an instruction enters without room")
        return m
