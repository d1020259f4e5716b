"""The promise of the load queue as assertions: each load is written back once, with its words.

The harness holds a load queue. For each slot it knows the load, the lanes that have their words,
and these words. It also knows for each bank the loads that the bank completed, in their order. The
first of some bank must be written back. The harness assumes the behavior of coalescer and L1: a
load enters while there is a free slot, and each lane of a load is served once, by the lane's bank.
"""

import operator
from functools import reduce

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from checks.formal.harness import Harness
from checks.formal.streams import hold
from hw.core.access import loaded_layout
from hw.core.loads import LoadQueue, slot_layout, writeback_layout


__all__ = ["LoadPromise"]


class LoadPromise(Harness):
    """A load queue and its promise."""
    def _ports(self, config):
        return {
            "allot": In(1), "entry": In(slot_layout(config)),
            "loaded": In(loaded_layout(config)).array(config.l1_banks),
            "loaded_valid": In(1).array(config.l1_banks),
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
        banks = range(config.l1_banks)
        dut = LoadQueue(config)
        peek = self._place(m, dut)
        back = dut.writeback.payload
        m.d.comb += [
            dut.allot.eq(self.allot), dut.entry.eq(self.entry),
            *(dut.loaded[bank].eq(self.loaded[bank]) for bank in banks),
            *(dut.loaded_valid[bank].eq(self.loaded_valid[bank]) for bank in banks),
            dut.writeback.ready.eq(self.writeback.ready),
            self.writeback.valid.eq(dut.writeback.valid), self.writeback.payload.eq(back),
            Assume(~ResetSignal()),
        ]

        # The model.

        used = Signal(len(slots))
        entries = [Signal(slot_layout(config), name=f"entry_{slot}") for slot in slots]
        got = [Signal(config.threads, name=f"got_{slot}") for slot in slots]
        words = [[Signal(32, name=f"word_{slot}_{lane}") for lane in lanes] for slot in slots]
        completed = [_Completed(bank, dut.slot, slots) for bank in banks]
        taken = Signal()
        back_slot = peek.signal("back_slot")
        m.d.comb += [
            taken.eq(self.writeback.valid & self.writeback.ready),
            Assume(~self.allot | (~used.all() & (self.entry.mask != 0) & (self.entry.size != 3))),
        ]
        several = Signal()                  # a line of another bank completes the load, too
        for slot in slots:
            now = Signal(config.threads, name=f"now_{slot}")
            mine = [self.loaded_valid[bank] & (self.loaded[bank].slot == slot) for bank in banks]
            m.d.comb += now.eq(reduce(operator.or_, (
                Mux(mine[bank], self.loaded[bank].lanes, 0) for bank in banks), got[slot]))
            m.d.sync += got[slot].eq(now)
            for bank in banks:
                loaded = self.loaded[bank]
                with m.If(mine[bank]):
                    m.d.comb += [
                        Assume(used[slot]), Assume(loaded.lanes != 0),
                        Assume((loaded.lanes & (got[slot] | ~entries[slot].mask)) == 0),
                        *(Assume(~loaded.lanes[lane] | (entries[slot].bank[lane] == bank))
                          for lane in lanes),
                    ]
                    with m.If(now == entries[slot].mask):
                        m.d.comb += completed[bank].completes.eq(~Cat(mine[:bank]).any())
                        if bank:
                            m.d.comb += several.eq(Cat(mine[:bank]).any())
                    for lane in lanes:
                        with m.If(loaded.lanes[lane]):
                            m.d.sync += words[slot][lane].eq(
                                self._word(entries[slot], lane, loaded.line.as_value()))
            with m.If(taken & (back_slot == slot)):
                m.d.sync += used[slot].eq(0)
            with m.If(self.allot & (dut.slot == slot)):
                m.d.comb += Assume(~used[slot])
                m.d.sync += [used[slot].eq(1), entries[slot].eq(self.entry), got[slot].eq(0)]
        for bank in banks:
            m.d.comb += [
                Assume(~self.loaded_valid[bank] | (self.loaded[bank].slot < len(slots))),
                completed[bank].goes.eq(taken & completed[bank].is_first(back_slot)),
            ]
            completed[bank].step(m, self.loaded[bank].slot)

        # The promise.

        complete = sum(one.count for one in completed)
        m.d.comb += [Assert(dut.free == ~used.all()), Assert(dut.busy == used.any())]
        with m.If(self.writeback.valid):
            m.d.comb += Assert(Cat(one.is_first(back_slot) for one in completed).any())
            for slot in slots:
                entry = entries[slot]
                with m.If(back_slot == slot):
                    m.d.comb += [Assert(back.warp == entry.warp), Assert(back.rd == entry.rd),
                                 Assert(back.mask == entry.mask)]
                    m.d.comb += [Assert(~entry.mask[lane] | (back.data[lane] == words[slot][lane]))
                                 for lane in lanes]
        hold(m, dut.writeback, name="writeback", peek=peek)
        m.d.comb += [
            Cover(complete == len(slots), "all loads are complete, and none is written back"),
            Cover(Cat(one.completes & (Array(got)[self.loaded[one.bank].slot] != 0)
                      for one in completed).any(), "a second line completes a load"),
            Cover(taken & used.all(), "a load is written back while all slots are in use"),
        ]
        if config.l1_banks > 1:
            m.d.comb += Cover(several, "lines of two banks complete a load in one cycle")

        # Invariants: the places of the complete loads, and the contents of the memories.

        m.d.comb += Assert(peek.signal("used") == used)
        waiting = Signal()                  # a load was waiting, and the write-back was free
        levels = [peek.signal(self._named("complete", bank), "level") for bank in banks]
        m.d.sync += waiting.eq(Cat(level != 0 for level in levels).any()
                               & (~self.writeback.valid | self.writeback.ready))
        m.d.comb += Assert(~waiting | self.writeback.valid)
        rows = peek.memory("entries")
        passes = [self._bank(m, peek, bank, completed[bank], entries, used, got, words, back_slot)
                  for bank in banks]
        for slot in slots:
            entry = entries[slot]
            listed = Cat(one.lists(slot) for one in completed)
            with m.If(used[slot]):
                m.d.comb += [
                    Assert(rows[slot] == entry.as_value()), Assert(entry.mask != 0),
                    Assert(entry.size != 3), Assert((got[slot] & ~entry.mask) == 0),
                    Assert(listed.any() == (got[slot] == entry.mask)),
                    *(Assert(~(listed[bank] & listed[other])) for bank in banks
                      for other in range(bank)),
                ]
            # Lanes that two banks bring in one cycle are different lanes, and the first bank that
            # brings the last of them completes the load.
            for bank, (taking, passing, finishing) in enumerate(passes):
                before = Cat(taking_before & (passing_before.slot == slot)
                             for taking_before, passing_before, _ in passes[:bank]).any()
                with m.If(taking & (passing.slot == slot)):
                    m.d.comb += finishing.eq((got[slot] == entry.mask) & ~before)
        return m

    def _named(self, name, bank):
        return f"{name}_{bank}" if self._config.l1_banks > 1 else name

    def _bank(self, m, peek, bank, completed, entries, used, got, words, back_slot):
        """The invariants of a bank's registers and memories.

        Returns
        -------
        taking, passing : Signal(1), Signal(loaded_layout)
            The queue is taking a line of the bank.
        finishing : Signal(1)
            This line completes a load. The caller drives this signal.
        """
        config = self._config
        lanes, slots = range(config.threads), range(config.load_queue)

        def named(name):
            return self._named(name, bank)
        taking = peek.signal(named("taking"))
        passing = Signal(loaded_layout(config), name=f"passing_{bank}")
        read = Signal(slot_layout(config), name=f"read_{bank}")      # the entry of the pass
        m.d.comb += [passing.eq(peek.signal(named("taken"))),
                     read.eq(peek.output("entries", number=bank))]
        level, consume, produce = (peek.signal(named("complete"), name)
                                   for name in ("level", "consume", "produce"))
        storage = peek.memory(named("complete"), "storage")
        finishing = Signal(name=f"finishing_{bank}")
        order, count = completed.order, completed.count
        leaving = Signal(name=f"leaving_{bank}")        # the write-back is the bank's first load
        m.d.comb += [
            leaving.eq(self.writeback.valid & completed.is_first(back_slot)),
            Assert(count == level + leaving + finishing),
            Assert(count <= len(slots)), Assert(level <= len(slots)),
            Assert((produce - consume - level)[:len(consume)] == 0),
        ]
        # A complete load is passing, in the queue or offered; it is nowhere else.
        for place in slots:
            at = place - leaving
            with m.If((place >= leaving) & (at < level)):
                row = (consume + at)[:len(consume)]
                m.d.comb += Assert(Array(storage)[row] == order[place])
            with m.If(finishing & (place + 1 == count)):
                m.d.comb += Assert(order[place] == passing.slot)
            with m.If(place < count):
                m.d.comb += Assert(Array(used)[order[place]])
                for other in range(place):
                    m.d.comb += Assert(order[place] != order[other])
        arrived, stored = peek.memory(named("arrived")), peek.memory(named("words"))
        for slot in slots:
            entry, mine = entries[slot], taking & (passing.slot == slot)
            pending = Mux(mine, passing.lanes, 0)
            own = Cat(entry.bank[lane] == bank for lane in lanes)
            with m.If(used[slot]):
                m.d.comb += Assert(Mux(peek.signal(named("begun"))[slot], arrived[slot], 0)
                                   == (got[slot] & own & ~pending))
                for lane in lanes:
                    with m.If(got[slot][lane] & own[lane] & ~pending[lane]):
                        m.d.comb += Assert(stored[slot][32 * lane:32 * lane + 32]
                                           == words[slot][lane])
            with m.If(mine):
                m.d.comb += [
                    Assert(used[slot]), Assert(read.as_value() == entry.as_value()),
                    Assert(passing.lanes != 0), Assert((passing.lanes & ~got[slot]) == 0),
                    Assert((passing.lanes & ~own) == 0),
                ]
                for lane in lanes:
                    m.d.comb += Assert(~passing.lanes[lane] | (words[slot][lane] == self._word(
                        entry, lane, passing.line.as_value())))
        return taking, passing, finishing


class _Completed:
    """The loads that a bank completed and that are not written back, the oldest first.

    Attributes
    ----------
    order : list of Signal
        Their slots.
    count : Signal
    completes, goes : Signal(1)
        The bank completes a load; its first load is written back.
    """
    def __init__(self, bank, slot, slots):
        self.bank = bank
        self.order = [Signal.like(slot, name=f"order_{bank}_{place}") for place in slots]
        self.count = Signal(range(len(slots) + 1), name=f"count_{bank}")
        self.completes = Signal(name=f"completes_{bank}")
        self.goes = Signal(name=f"goes_{bank}")

    def is_first(self, slot):
        """Whether the load of a slot is the oldest."""
        return (self.count != 0) & (self.order[0] == slot)

    def lists(self, slot):
        """Whether the load of a slot is among the loads."""
        return Cat((place < self.count) & (at == slot)
                   for place, at in enumerate(self.order)).any()

    def step(self, m, slot):
        """Take the first load away, or append the load of ``slot``."""
        count, goes = self.count, self.goes
        m.d.sync += count.eq(count + self.completes - goes)
        for place, at in enumerate(self.order):
            with m.If(goes & (place + 1 < count)):
                m.d.sync += at.eq(self.order[min(place + 1, len(self.order) - 1)])
            with m.If(self.completes & (count - goes == place)):
                m.d.sync += at.eq(slot)
