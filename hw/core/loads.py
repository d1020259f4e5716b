"""The load queue: collects the words of a load from its passes, and writes them back in one piece.

The passes of a load come back in any order, since a miss takes longer than a hit. Each lane keeps
the words of all loads under way in a memory of its own, indexed by the load's slot. When the last
lane of a load has its word, the load is written back.

Each bank of the L1 gives a line a cycle. So each bank has its own memories of words, and of the
lanes that have their words. A load whose last words come from several banks in one cycle counts as
completed by the lowest of these banks. The banks with complete loads take turns at the write-back.
"""

import operator
from functools import reduce

from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.bits import RoundRobin, and_or, count_ones, encode, index_bits, lowest, mux_tree
from hw.config import HardwareConfig
from hw.core.access import bank_bits, loaded_layout
from hw.streams import check_stream
from hw.timing import Timing


__all__ = ["LoadQueue", "slot_layout", "writeback_layout"]


def slot_layout(config: HardwareConfig):
    """A load as it enters.

    Members
    -------
    of_unit, size, signed
        As in :func:`hw.core.access.instruction_layout`.
    warp, rd, mask : unsigned
        Warp, register and lanes that wait.
    offset : ArrayLayout(line_bits, threads)
        For each lane the place in the line.
    bank : ArrayLayout(bank_bits, threads)
        For each lane the bank that gives the line.
    """
    return data.StructLayout({
        **({"of_unit": 1} if config.gather_reads else {}),
        "warp": index_bits(config.warps), "rd": 5, "mask": config.threads,
        "size": 2, "signed": 1,
        "offset": data.ArrayLayout(config.line_bits, config.threads),
        "bank": data.ArrayLayout(bank_bits(config), config.threads),
    })


def writeback_layout(config: HardwareConfig):
    """A result for the register file: lanes of ``mask`` write ``data`` to ``rd``."""
    return data.StructLayout({
        "warp": index_bits(config.warps), "rd": 5, "mask": config.threads,
        "data": data.ArrayLayout(32, config.threads),
    })


class LoadQueue(wiring.Component):
    """Load queue.

    Latency: three cycles from the last ``loaded`` of a load to its ``writeback``, if no other load
    is complete. Throughput: one ``loaded`` from each bank, and one write-back, a cycle.

    Members
    -------
    allot : In(1)
        A load enters with ``entry`` and takes ``slot``. Only while ``free``.
    entry : In(slot_layout)
    slot : Out
        The slot that ``allot`` takes.
    free : Out(1)
        There is a free slot.
    loaded, loaded_valid : In(loaded_layout), In(1) of each bank
        Words for some lanes of a load, whose ``bank`` is this one; always taken.
    writeback : Out(stream(writeback_layout))
        Complete loads. Loads that a bank completed come in order of completion. ``rd`` may be 0.
    of_unit : Out(1)
        The load on offer is the unit's that hands out edges; only with a unit that reads memory.
    busy : Out(1)
        A load is under way.
    level : Out(range(load_queue + 1))
        Loads under way: slots that are taken. 0 without counters.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            "allot": In(1), "entry": In(slot_layout(config)),
            "slot": Out(index_bits(config.load_queue)), "free": Out(1),
            "loaded": In(loaded_layout(config)).array(config.l1_banks),
            "loaded_valid": In(1).array(config.l1_banks),
            "writeback": Out(stream.Signature(writeback_layout(config))),
            **({"of_unit": Out(1)} if config.gather_reads else {}),
            "busy": Out(1), "level": Out(range(config.load_queue + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        slots, threads = config.load_queue, config.threads
        slot_bits = index_bits(slots)

        used = Signal(slots)
        free_slot = lowest(m, ~used, name="free_slot")
        m.d.comb += [
            self.slot.eq(encode(free_slot)),
            self.free.eq(~used.all()),
            self.busy.eq(used.any()),
        ]
        m.submodules.entries = entries = Memory(shape=slot_layout(config), depth=slots, init=[])
        entry_write = entries.write_port()
        m.d.comb += [
            entry_write.addr.eq(self.slot), entry_write.data.eq(self.entry),
            entry_write.en.eq(self.allot),
        ]
        banks = [_Bank(m, config, number, entries)
                 for number in range(config.l1_banks)]
        for bank in banks:
            bank.take(m, self.loaded[bank.number], self.loaded_valid[bank.number])
            m.d.sync += bank.begun.eq((bank.begun | Mux(bank.taking, bank.taken_slot, 0))
                                      & ~Mux(self.allot, free_slot, 0))
        for bank in banks:
            bank.complete(m, banks)

        # Write-back.
        back_read = entries.read_port()
        back_slot = Signal(slot_bits, reset_less=True)
        fetch = Signal()
        freed = Signal()
        waiting = Cat(bank.completed.r_rdy for bank in banks)
        fetched_slot, turn = banks[0].completed.r_data, Const(1)
        if len(banks) > 1:
            m.submodules.turns = turns = RoundRobin(len(banks))
            m.d.comb += [turns.requests.eq(waiting), turns.advance.eq(fetch)]
            turn = turns.grant
            fetched_slot = Signal(slot_bits)
            m.d.comb += fetched_slot.eq(and_or(turn, [bank.completed.r_data for bank in banks]))
        word_reads = [bank.words.read_port() for bank in banks]
        m.d.comb += [
            fetch.eq(waiting.any() & (~self.writeback.valid | self.writeback.ready)),
            *(bank.completed.r_en.eq(fetch & turn[bank.number]) for bank in banks),
            back_read.addr.eq(fetched_slot), back_read.en.eq(fetch),
            *(read.addr.eq(fetched_slot) for read in word_reads),
            *(read.en.eq(fetch) for read in word_reads),
            self.writeback.payload.warp.eq(back_read.data.warp),
            self.writeback.payload.rd.eq(back_read.data.rd),
            self.writeback.payload.mask.eq(back_read.data.mask),
            *(self.writeback.payload.data[lane].eq(
                mux_tree(back_read.data.bank[lane], [read.data[lane] for read in word_reads]))
              for lane in range(threads)),
            freed.eq(self.writeback.valid & self.writeback.ready),
        ]
        if config.gather_reads:
            m.d.comb += self.of_unit.eq(back_read.data.of_unit)
        with m.If(fetch):
            m.d.sync += [self.writeback.valid.eq(1), back_slot.eq(fetched_slot)]
        with m.Elif(self.writeback.ready):
            m.d.sync += self.writeback.valid.eq(0)
        m.d.sync += used.eq((used | Mux(self.allot, free_slot, 0))
                            & ~Mux(freed, 1 << back_slot, 0))
        if config.counters:
            with m.If(self.allot & ~freed):
                m.d.sync += self.level.eq(self.level + 1)
            with m.Elif(freed & ~self.allot):
                m.d.sync += self.level.eq(self.level - 1)

        started = Signal()
        m.d.sync += started.eq(1)
        with m.If(started):
            m.d.sync += Assert(~self.allot | self.free, "a load enters without a slot")
            if config.counters:
                m.d.sync += Assert(self.level == count_ones(used), "loads are counted wrongly")
            for bank in banks:
                m.d.sync += [
                    Assert(~bank.taking | ((bank.before & bank.taken.lanes) == 0),
                           "a lane is served twice"),
                    Assert(~bank.taking | ((bank.taken.lanes & ~bank.entry.mask) == 0),
                           "a lane is served that did not ask"),
                    *(Assert(~(bank.taking & bank.taken.lanes[lane])
                             | (bank.entry.bank[lane] == bank.number), "a lane of another bank")
                      for lane in range(threads)),
                ]
        check_stream(m, self.writeback, name="writeback")
        return m


class _Bank:
    """The part of the load queue that takes the lines of one bank of the L1.

    Attributes
    ----------
    number : int
    taking, taken : Signal(1), Signal(loaded_layout)
        A line is taken: the bank gave it in the cycle before.
    taken_slot : Signal(slots)
        One-hot: the slot of ``taken``.
    entry : View(slot_layout)
        The load of ``taken``.
    words : Memory
        For each slot the words of the lanes.
    begun : Signal(slots)
        The bank has given words to the load of the slot. The queue drives this register.
    before : Signal(threads)
        The lanes of the load of ``taken`` that had their words from any bank before.
    completed : SyncFIFO
        The slots of the loads that the bank completed.
    """
    def __init__(self, m, config, number, entries):
        def named(name):
            return f"{name}_{number}" if config.l1_banks > 1 else name
        self.number = number
        self._named = named
        self._config = config
        slots, threads = config.load_queue, config.threads
        self.taking = Signal(name=named("taking"))
        self.taken = Signal(loaded_layout(config), name=named("taken"), reset_less=True)
        self.taken_slot = Signal(slots, name=named("taken_slot"))
        self._entry_read = entries.read_port()
        self.entry = self._entry_read.data
        self.words = Memory(shape=data.ArrayLayout(32, threads), depth=slots, init=[])
        self._arrived = Memory(shape=threads, depth=slots, init=[])
        self.completed = fifo.SyncFIFO(width=index_bits(slots), depth=slots)
        m.submodules[named("words")] = self.words
        m.submodules[named("arrived")] = self._arrived
        m.submodules[named("complete")] = self.completed
        self.begun = Signal(slots, name=named("begun"))
        self.before = Signal(threads, name=named("before"))

    def take(self, m, loaded, loaded_valid):
        """Each lane takes its word from the line and its bytes from the word."""
        config, named = self._config, self._named
        taking, taken, entry = self.taking, self.taken, self.entry
        looks = Signal(name=named("looks"))
        write = self.words.write_port(granularity=1)
        m.d.comb += [
            looks.eq(Timing(config).needed(loaded_valid)),
            self._entry_read.addr.eq(loaded.slot), self._entry_read.en.eq(looks),
            self.taken_slot.eq(1 << taken.slot),
            write.addr.eq(taken.slot), write.en.eq(Mux(taking, taken.lanes, 0)),
        ]
        m.d.sync += taking.eq(loaded_valid)
        with m.If(looks):
            m.d.sync += taken.eq(loaded)
        line = [taken.line[i] for i in range(config.line_words)]
        for lane in range(config.threads):
            offset = entry.offset[lane]
            word = Signal(32, name=named(f"word_{lane}"))
            shifted = Signal(32, name=named(f"shifted_{lane}"))
            sign = Signal(name=named(f"sign_{lane}"))
            m.d.comb += write.data[lane].eq(shifted)
            with m.If(Timing(config).needed(taking)):
                m.d.comb += [word.eq(mux_tree(offset[2:], line)), shifted.eq(word)]
                with m.Switch(entry.size):
                    with m.Case(0):
                        byte = Signal(8, name=named(f"byte_{lane}"))
                        m.d.comb += [
                            byte.eq(word.word_select(offset[:2], 8)),
                            sign.eq(byte[7] & entry.signed),
                            shifted.eq(Cat(byte, sign.replicate(24))),
                        ]
                    with m.Case(1):
                        half = Signal(16, name=named(f"half_{lane}"))
                        m.d.comb += [
                            half.eq(word.word_select(offset[1], 16)),
                            sign.eq(half[15] & entry.signed),
                            shifted.eq(Cat(half, sign.replicate(16))),
                        ]

    def _earlier(self, slot, slot_one_hot):
        """The lanes of a slot to which this bank has given words.

        The memory may hold a value of the slot's last load, or from before a reset. ``begun`` is
        low until the first words of the new load have come.
        """
        read = self._arrived.read_port(domain="comb")
        return read.addr.eq(slot), Mux((self.begun & slot_one_hot).any(), read.data, 0)

    def complete(self, m, banks):
        """Notice that the lanes of ``taken`` complete their load."""
        named, taken, threads = self._named, self.taken, self._config.threads
        now = Signal(threads, name=named("now"))
        own = Signal(threads, name=named("own"))        # lanes with words of this bank
        reads, earlier = zip(*(bank._earlier(taken.slot, self.taken_slot) for bank in banks))
        others = [(other, Signal(name=named(f"shares_{other.number}")))
                  for other in banks if other is not self]
        write = self._arrived.write_port()
        m.d.comb += [
            *reads, own.eq(earlier[self.number] | taken.lanes),
            self.before.eq(reduce(operator.or_, earlier)),
            *(shares.eq(other.taking & (other.taken.slot == taken.slot))
              for other, shares in others),
            now.eq(reduce(operator.or_, (Mux(shares, other.taken.lanes, 0)
                                         for other, shares in others),
                          self.before | taken.lanes)),
            self.completed.w_data.eq(taken.slot),
            self.completed.w_en.eq(self.taking & (now == self.entry.mask)
                                   & ~Cat(shares for other, shares in others
                                          if other.number < self.number).any()),
            write.addr.eq(taken.slot), write.data.eq(own), write.en.eq(self.taking),
        ]
