"""The promise of the load queue as assertions: each load is written back once, with its words.

The harness holds a load queue. For each slot it knows the load, the lanes that have their words,
and these words. It also knows the order in which loads became complete. The harness assumes the
behavior of coalescer and L1: a load enters while there is a free slot, and each lane of a load is
served once.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from formal.harness import Harness
from formal.streams import hold
from hw.core.access import loaded_layout
from hw.core.loads import LoadQueue, slot_layout, writeback_layout


__all__ = ["LoadPromise"]


class LoadPromise(Harness):
    """A load queue and its promise."""
    def _ports(self, config):
        return {
            "allot": In(1), "entry": In(slot_layout(config)),
            "loaded": In(loaded_layout(config)), "loaded_valid": In(1),
            "writeback": Out(stream.Signature(writeback_layout(config))),
        }

    def _word(self, entry, lane, line):
        """The word that a lane takes from a line."""
        offset = entry.offset[lane]
        word = line.word_select(offset[2:], 32)
        byte, half = line.word_select(offset, 8), line.word_select(offset[1:], 16)
        return Mux(entry.size == 0, Cat(byte, (byte[7] & entry.signed).replicate(24)),
                   Mux(entry.size == 1, Cat(half, (half[15] & entry.signed).replicate(16)), word))

    def elaborate(self, platform):
        m = Module()
        config = self._config
        lanes, slots = range(config.threads), range(config.load_queue)
        dut = LoadQueue(config)
        peek = self._place(m, dut)
        loaded, back = self.loaded, dut.writeback.payload
        m.d.comb += [
            dut.allot.eq(self.allot), dut.entry.eq(self.entry), dut.loaded.eq(loaded),
            dut.loaded_valid.eq(self.loaded_valid), dut.writeback.ready.eq(self.writeback.ready),
            self.writeback.valid.eq(dut.writeback.valid), self.writeback.payload.eq(back),
            Assume(~ResetSignal()),
        ]

        # The model.

        used = Signal(len(slots))
        entries = [Signal(slot_layout(config), name=f"entry_{slot}") for slot in slots]
        got = [Signal(config.threads, name=f"got_{slot}") for slot in slots]
        words = [[Signal(32, name=f"word_{slot}_{lane}") for lane in lanes] for slot in slots]
        order = [Signal.like(dut.slot, name=f"order_{place}") for place in slots]
        count = Signal(range(len(slots) + 1))            # complete loads
        completes = Signal()
        taken = Signal()
        m.d.comb += [
            taken.eq(self.writeback.valid & self.writeback.ready),
            Assume(~self.allot | (~used.all() & (self.entry.mask != 0) & (self.entry.size != 3))),
        ]
        for slot in slots:
            mine = self.loaded_valid & (loaded.slot == slot)
            now = got[slot] | loaded.lanes
            with m.If(mine):
                m.d.comb += [
                    Assume(used[slot]), Assume(loaded.lanes != 0),
                    Assume((loaded.lanes & (got[slot] | ~entries[slot].mask)) == 0),
                    completes.eq(now == entries[slot].mask),
                ]
                m.d.sync += got[slot].eq(now)
                for lane in lanes:
                    with m.If(loaded.lanes[lane]):
                        m.d.sync += words[slot][lane].eq(
                            self._word(entries[slot], lane, loaded.line.as_value()))
            with m.If(taken & (order[0] == slot)):
                m.d.sync += used[slot].eq(0)
            with m.If(self.allot & (dut.slot == slot)):
                m.d.comb += Assert(~used[slot])
                m.d.sync += [used[slot].eq(1), entries[slot].eq(self.entry), got[slot].eq(0)]
        m.d.comb += Assume(~self.loaded_valid | (loaded.slot < len(slots)))
        m.d.sync += count.eq(count + completes - taken)
        for place in slots:
            with m.If(taken & (place + 1 < count)):
                m.d.sync += order[place].eq(order[min(place + 1, len(slots) - 1)])
            with m.If(completes & (count - taken == place)):
                m.d.sync += order[place].eq(loaded.slot)

        # The promise.

        m.d.comb += [Assert(dut.free == ~used.all()), Assert(dut.busy == used.any())]
        with m.If(self.writeback.valid):
            m.d.comb += Assert(count != 0)
            for slot in slots:
                entry = entries[slot]
                with m.If(order[0] == slot):
                    m.d.comb += [Assert(back.warp == entry.warp), Assert(back.rd == entry.rd),
                                 Assert(back.mask == entry.mask)]
                    m.d.comb += [Assert(~entry.mask[lane] | (back.data[lane] == words[slot][lane]))
                                 for lane in lanes]
        hold(m, dut.writeback, name="writeback", peek=peek)
        m.d.comb += [
            Cover(count == len(slots), "all loads are complete, and none is written back"),
            Cover(completes & (Array(got)[loaded.slot] != 0), "a second line completes a load"),
            Cover(taken & used.all(), "a load is written back while all slots are in use"),
        ]

        # Invariants: the places of the complete loads, and the contents of the memories.

        taking = peek.signal("taking")
        passing = Signal(loaded_layout(config))
        read = Signal(slot_layout(config))               # the entry of the pass
        m.d.comb += [passing.eq(peek.signal("taken")), read.eq(peek.output("entries"))]
        level, consume, produce = (peek.signal("complete", name)
                                   for name in ("level", "consume", "produce"))
        storage = peek.memory("complete", "storage")
        finishing = Signal()
        m.d.comb += [
            Assert(count == level + self.writeback.valid + finishing),
            Assert(count <= len(slots)), Assert(level <= len(slots)),
            Assert((produce - consume - level)[:len(consume)] == 0),
            Assert(~self.writeback.valid | (peek.signal("back_slot") == order[0])),
            Assert(peek.signal("used") == used),
        ]
        # A complete load is passing, in the queue or offered; it is nowhere else.
        queued = Signal()
        m.d.sync += queued.eq((level != 0) & (~self.writeback.valid | self.writeback.ready))
        m.d.comb += Assert(~queued | self.writeback.valid)
        for place in slots:
            at = place - self.writeback.valid
            with m.If((place >= self.writeback.valid) & (at < level)):
                row = (consume + at)[:len(consume)]
                m.d.comb += Assert(Array(storage)[row] == order[place])
            with m.If(finishing & (place + 1 == count)):
                m.d.comb += Assert(order[place] == passing.slot)
            with m.If(place < count):
                m.d.comb += Assert(Array(used)[order[place]])
                for other in range(place):
                    m.d.comb += Assert(order[place] != order[other])
        rows, arrived = peek.memory("entries"), peek.memory("arrived")
        stored = peek.memory("words")
        for slot in slots:
            entry, mine = entries[slot], taking & (passing.slot == slot)
            pending = Mux(mine, passing.lanes, 0)
            listed = Cat((place < count) & (order[place] == slot) for place in slots).any()
            with m.If(used[slot]):
                m.d.comb += [
                    Assert(rows[slot] == entry.as_value()), Assert(entry.mask != 0),
                    Assert(entry.size != 3), Assert((got[slot] & ~entry.mask) == 0),
                    Assert(listed == (got[slot] == entry.mask)),
                    Assert(Mux(peek.signal("begun")[slot], arrived[slot], 0)
                           == (got[slot] & ~pending)),
                ]
                for lane in lanes:
                    with m.If(got[slot][lane] & ~pending[lane]):
                        m.d.comb += Assert(stored[slot][32 * lane:32 * lane + 32]
                                           == words[slot][lane])
            with m.If(mine):
                m.d.comb += [
                    Assert(used[slot]), Assert(read.as_value() == entry.as_value()),
                    Assert(passing.lanes != 0), Assert((passing.lanes & ~got[slot]) == 0),
                    finishing.eq(got[slot] == entry.mask),
                ]
                for lane in lanes:
                    m.d.comb += Assert(~passing.lanes[lane] | (words[slot][lane] == self._word(
                        entry, lane, passing.line.as_value())))
        return m
