"""The load queue: collects the words of a load from its passes, and writes them back in one piece.

The passes of a load come back in any order, since a miss takes longer than a hit. Each lane keeps
the words of all loads under way in a memory of its own, indexed by the load's slot. When the last
lane of a load has its word, the load is written back.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.config import HardwareConfig
from hw.core.access import loaded_layout
from hw.util import check_stream, encode, guard, index_bits, lowest, mux_tree


__all__ = ["LoadQueue", "slot_layout", "writeback_layout"]


def slot_layout(config: HardwareConfig):
    """A load as it enters: warp, register and lanes that wait, and each lane's place in a line."""
    return data.StructLayout({
        "warp": index_bits(config.warps), "rd": 5, "mask": config.threads,
        "size": 2, "signed": 1,
        "offset": data.ArrayLayout(config.line_bits, config.threads),
    })


def writeback_layout(config: HardwareConfig):
    """A result for the register file: lanes of ``mask`` write ``data`` to ``rd``."""
    return data.StructLayout({
        "warp": index_bits(config.warps), "rd": 5, "mask": config.threads,
        "data": data.ArrayLayout(32, config.threads),
    })


class LoadQueue(wiring.Component):
    """Load queue.

    Latency: three cycles from the last ``loaded`` of a load to its ``writeback``. Throughput: one
    ``loaded`` and one write-back a cycle.

    Members
    -------
    allot : In(1)
        A load enters with ``entry`` and takes ``slot``. Only while ``free``.
    entry : In(slot_layout)
    slot : Out
        The slot that ``allot`` takes.
    free : Out(1)
        There is a free slot.
    loaded, loaded_valid : In(loaded_layout), In(1)
        Words for some lanes of a load; always taken.
    writeback : Out(stream(writeback_layout))
        Complete loads, in order of completion. ``rd`` may be 0.
    busy : Out(1)
        A load is under way.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            "allot": In(1), "entry": In(slot_layout(config)),
            "slot": Out(index_bits(config.load_queue)), "free": Out(1),
            "loaded": In(loaded_layout(config)), "loaded_valid": In(1),
            "writeback": Out(stream.Signature(writeback_layout(config))),
            "busy": Out(1),
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
        entry_write, entry_read = entries.write_port(), entries.read_port()
        looks = Signal()
        m.d.comb += [
            entry_write.addr.eq(self.slot), entry_write.data.eq(self.entry),
            entry_write.en.eq(self.allot),
            entry_read.addr.eq(self.loaded.slot), entry_read.en.eq(looks),
            looks.eq(guard(config, self.loaded_valid)),
        ]

        # Each lane takes its word from the line and its bytes from the word.
        taking = Signal()
        taken = Signal(loaded_layout(config), reset_less=True)
        m.d.sync += taking.eq(self.loaded_valid)
        with m.If(looks):
            m.d.sync += taken.eq(self.loaded)
        entry = entry_read.data
        words = Memory(shape=data.ArrayLayout(32, threads), depth=slots, init=[])
        m.submodules.words = words
        word_write, word_read = words.write_port(granularity=1), words.read_port()
        m.d.comb += [
            word_write.addr.eq(taken.slot),
            word_write.en.eq(Mux(taking, taken.lanes, 0)),
        ]
        line = [taken.line[i] for i in range(config.line_words)]
        for lane in range(threads):
            offset = entry.offset[lane]
            word = Signal(32, name=f"word_{lane}")
            shifted = Signal(32, name=f"shifted_{lane}")
            sign = Signal(name=f"sign_{lane}")
            m.d.comb += word_write.data[lane].eq(shifted)
            with m.If(guard(config, taking)):
                m.d.comb += [word.eq(mux_tree(offset[2:], line)), shifted.eq(word)]
                with m.Switch(entry.size):
                    with m.Case(0):
                        byte = Signal(8, name=f"byte_{lane}")
                        m.d.comb += [
                            byte.eq(word.word_select(offset[:2], 8)),
                            sign.eq(byte[7] & entry.signed),
                            shifted.eq(Cat(byte, sign.replicate(24))),
                        ]
                    with m.Case(1):
                        half = Signal(16, name=f"half_{lane}")
                        m.d.comb += [
                            half.eq(word.word_select(offset[1], 16)),
                            sign.eq(half[15] & entry.signed),
                            shifted.eq(Cat(half, sign.replicate(16))),
                        ]

        # The lanes that have their words. The memory may hold a value of the slot's last load, or
        # from before a reset. ``begun`` is low until the first words of the new load have come.
        m.submodules.arrived = arrived = Memory(shape=threads, depth=slots, init=[])
        arrived_write, arrived_read = arrived.write_port(), arrived.read_port(domain="comb")
        m.submodules.complete = complete = fifo.SyncFIFO(width=slot_bits, depth=slots)
        begun = Signal(slots)
        taken_slot = Signal(slots)
        before = Signal(threads)
        now = Signal(threads)
        m.d.comb += [
            taken_slot.eq(1 << taken.slot),
            arrived_read.addr.eq(taken.slot),
            before.eq(Mux((begun & taken_slot).any(), arrived_read.data, 0)),
            now.eq(before | taken.lanes),
            complete.w_data.eq(taken.slot),
            complete.w_en.eq(taking & (now == entry.mask)),
            arrived_write.addr.eq(taken.slot),
            arrived_write.data.eq(now),
            arrived_write.en.eq(taking),
        ]
        m.d.sync += begun.eq((begun | Mux(taking, taken_slot, 0))
                             & ~Mux(self.allot, free_slot, 0))

        # Write-back.
        back_read = entries.read_port()
        back_slot = Signal(slot_bits, reset_less=True)
        fetch = Signal()
        freed = Signal()
        m.d.comb += [
            fetch.eq(complete.r_rdy & (~self.writeback.valid | self.writeback.ready)),
            complete.r_en.eq(fetch),
            back_read.addr.eq(complete.r_data), back_read.en.eq(fetch),
            word_read.addr.eq(complete.r_data), word_read.en.eq(fetch),
            self.writeback.payload.warp.eq(back_read.data.warp),
            self.writeback.payload.rd.eq(back_read.data.rd),
            self.writeback.payload.mask.eq(back_read.data.mask),
            self.writeback.payload.data.eq(word_read.data),
            freed.eq(self.writeback.valid & self.writeback.ready),
        ]
        with m.If(fetch):
            m.d.sync += [self.writeback.valid.eq(1), back_slot.eq(complete.r_data)]
        with m.Elif(self.writeback.ready):
            m.d.sync += self.writeback.valid.eq(0)
        m.d.sync += used.eq((used | Mux(self.allot, free_slot, 0))
                            & ~Mux(freed, 1 << back_slot, 0))

        started = Signal()
        m.d.sync += started.eq(1)
        with m.If(started):
            m.d.sync += [
                Assert(~self.allot | self.free, "a load enters without a slot"),
                Assert(~taking | ((before & taken.lanes) == 0),
                       "a lane is served twice"),
                Assert(~taking | ((taken.lanes & ~entry.mask) == 0),
                       "a lane is served that did not ask"),
            ]
        check_stream(m, self.writeback, name="writeback")
        return m
