"""The promise of an issue queue as assertions: there is a place for each picked instruction.

The harness picks instructions at free times, but only while there is room. A picked instruction
enters after the pipeline's cycles. The queue's own assertion says that no instruction is lost.
"""

from amaranth.hdl import Assert, Cat, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib.wiring import In
from amaranth.lib import data

from checks.formal.harness import Harness
from hw.core.issue_queue import QUEUE, IssueQueue


__all__ = ["IssueQueuePromise"]


class IssueQueuePromise(Harness):
    """An issue queue, and the pipeline in front of it."""
    def _ports(self, config):
        return {"pick": In(1), "ready": In(1)}

    def elaborate(self, platform):
        m = Module()
        config = self._config
        dut = IssueQueue(config, data.StructLayout({"bit": 1}))
        peek = self._place(m, dut)
        known = Signal()                       # in the long pipeline, room comes a cycle later
        under_way = Signal(3 if config.long else 1)
        m.d["sync" if config.long else "comb"] += known.eq(dut.room)
        m.d.sync += under_way.eq(Cat(self.pick & known & ~ResetSignal(), under_way))
        m.d.comb += [dut.picked.eq(under_way[0]), dut.enter.eq(under_way[-1]),
                     dut.o.ready.eq(self.ready)]

        level = peek.signal("fifo", "level")
        depth = QUEUE[config.pipeline]
        coming = sum(under_way[i] for i in range(len(under_way)))
        m.d.comb += [Cover(level == depth, "the queue is full"),
                     Cover(self.pick & ~known & self.ready, "there is no room")]
        m.d.comb += Assert(level <= depth)
        if config.long:
            owed = peek.signal("owed")
            # A picked instruction counts from the next cycle on.
            m.d.comb += [Assert(owed + under_way[0] == level + coming), Assert(owed <= depth),
                         Assert(level + coming + Mux(known, 1, 0) <= depth)]
        else:
            m.d.comb += Assert(level + coming <= depth)
        return m
