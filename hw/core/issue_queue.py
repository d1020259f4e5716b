"""The queue between the execute stage and a unit that takes instructions at its own pace."""

from amaranth.hdl import Assert, Module, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.timing import Timing


__all__ = ["QUEUE", "IssueQueue"]


#: Places in a queue between the execute stage and a unit, by pipeline.
QUEUE = {"short": 4, "long": 8}


class IssueQueue(wiring.Component):
    """Queue of instructions for a unit, in order. An instruction on its way to the queue cannot
    stall. So an instruction is picked only while there is room.

    Latency: one cycle. Throughput: one instruction a cycle.

    Parameters
    ----------
    config : HardwareConfig
    layout : ShapeCastable
        Layout of an instruction.

    Members
    -------
    picked : In(1)
        An instruction for the unit was picked in the cycle before. The instruction enters in this
        cycle, in the long pipeline two cycles later.
    room : Out(1)
        There is room for an instruction that is picked in this cycle, in the long pipeline in the
        next.
    enter : In(1)
        An instruction enters. Never held up.
    instruction : In(layout)
    o : Out(stream(layout))
        Instructions to the unit.
    level : Out
        Number of instructions in the queue.
    """
    def __init__(self, config: HardwareConfig, layout):
        self._config = config
        self._layout = layout
        super().__init__({
            "picked": In(1), "room": Out(1),
            "enter": In(1), "instruction": In(layout),
            "o": Out(stream.Signature(layout)),
            "level": Out(range(QUEUE[config.pipeline] + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.fifo = queue = fifo.SyncFIFO(width=self._layout.size,
                                                  depth=QUEUE[self._config.pipeline])
        m.d.comb += [
            queue.w_en.eq(self.enter), queue.w_data.eq(self.instruction),
            self.o.valid.eq(queue.r_rdy),
            self.o.payload.eq(data.View(self._layout, queue.r_data)),
            queue.r_en.eq(self.o.ready), self.level.eq(queue.level),
        ]
        if Timing(self._config).looks_ahead:
            # Picked instructions that have not left the queue. The last two may not be counted yet.
            owed = Signal(range(queue.depth + 1))
            m.d.sync += owed.eq(owed + self.picked - (queue.r_en & queue.r_rdy))
            m.d.comb += self.room.eq(owed < queue.depth - 2)
        else:
            m.d.comb += self.room.eq(queue.level + self.picked < queue.depth)
        m.d.sync += Assert(~self.enter | queue.w_rdy, "an instruction enters without room")
        return m
