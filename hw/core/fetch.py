"""Fetch: the PCs of all warps and instruction memory.

F0 picks a warp that may fetch, and reads instruction memory at the warp's PC. In F1 the word is
there; the long pipeline registers the word for F2. A warp is picked again only after its word has
been handed out. By then its instruction is decoded. So nothing is ever fetched past a jump, a
branch or a change of the thread mask.
"""

import itertools

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import RoundRobin, and_or, encode, index_bits
from hw.config import HardwareConfig
from hw.core.decode import Predecoder, illegal_word, predecoded_layout
from hw.timing import Timing


__all__ = ["Fetch"]


class Fetch(wiring.Component):
    """Instruction fetch.

    Latency: a word is valid one cycle after its warp is picked, in the long pipeline two cycles
    after. Throughput: one word a cycle; for one warp, one in two cycles, in the long pipeline one
    in three.

    Members
    -------
    launch : In(1)
        Set the PC of every warp to ``entry``.
    entry : In
    may_fetch : In(warps)
        Warps with room for an instruction and nothing unresolved.
    redirect, redirect_warp, redirect_pc : In
        Set the PC of ``redirect_warp``, which must not be fetching.
    fetched : Out(1)
        ``fetched_word`` is the word at ``fetched_pc``, for ``fetched_warp``. The word must be
        taken.
    fetched_by : Out(warps)
        One-hot: ``fetched_warp``; zero without ``fetched``.
    fetched_warp, fetched_pc : Out
    fetched_word : Out(predecoded_layout)
    fetched_outside : Out(1)
        The PC has run past the end of instruction memory.
    pc_of, pc : In, Out
        Any warp, and the PC of the next instruction it will fetch.
    write, write_address, write_data : In(1), In, In(32)
        The host writes an instruction; the address is the index of a word. Fetches see the word
        from the next cycle on, in the long pipeline two cycles later. This is in time for a launch
        that the host asks for in the cycle after the write.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        self._pc_bits = ceil_log2(config.imem_bytes)
        warp_bits = index_bits(config.warps)
        super().__init__({
            "launch": In(1), "entry": In(self._pc_bits),
            "may_fetch": In(config.warps),
            "redirect": In(1), "redirect_warp": In(warp_bits), "redirect_pc": In(self._pc_bits),
            "fetched": Out(1), "fetched_by": Out(config.warps), "fetched_warp": Out(warp_bits),
            "fetched_pc": Out(self._pc_bits), "fetched_word": Out(predecoded_layout(config)),
            "fetched_outside": Out(1),
            "pc_of": In(warp_bits), "pc": Out(self._pc_bits),
            "write": In(1), "write_address": In(self._pc_bits - 2), "write_data": In(32),
        })

    def elaborate(self, platform):
        m = Module()
        warps = self._config.warps
        # The memory keeps the XOR of each word and an illegal instruction. So a word that was never
        # written, which is 0 after power on, is an illegal instruction.
        illegal = illegal_word(self._config).as_value()
        timing = Timing(self._config)
        # The host writes only while no warp fetches.
        imem = Memory(shape=predecoded_layout(self._config),
                      depth=self._config.imem_bytes // 4, init=[],
                      attrs={"no_rw_check": 1})
        m.submodules.imem = imem
        m.submodules.predecoder = predecoder = Predecoder(self._config)
        write, read = imem.write_port(), imem.read_port()
        # The address of a write, as the word enters the predecoder and as the word leaves it.
        asked_for = Signal.like(Cat(self.write, self.write_address))
        coming = [asked_for, *(Signal.like(asked_for, name=f"coming_{i}") for i in range(2))]
        m.d.comb += [asked_for.eq(Cat(self.write, self.write_address)),
                     predecoder.word.eq(self.write_data)]
        m.d[timing.later] += [
            *(later.eq(sooner) for sooner, later in itertools.pairwise(coming)),
            write.data.as_value().eq(predecoder.predecoded.as_value() ^ illegal),
        ]
        m.d.comb += Cat(write.en, write.addr).eq(coming[-1])

        # A PC is a word address, with one bit more to notice that it ran past the end.
        pcs = [Signal(self._pc_bits - 1, name=f"pc_{i}") for i in range(warps)]
        m.submodules.arbiter = arbiter = RoundRobin(warps)
        pc = Signal(self._pc_bits - 1)
        asked = Signal(warps)
        fetched_word_pc = Signal(self._pc_bits - 1)
        reading_pc = Signal(self._pc_bits - 1)
        reading = Signal(warps)             # one-hot
        under_way = Signal(warps)           # warps whose words are not handed out yet
        m.d.comb += [
            arbiter.requests.eq(self.may_fetch & ~under_way),
            arbiter.advance.eq(1),
            pc.eq(and_or(arbiter.grant, pcs)),
            asked.eq(1 << self.pc_of), self.pc.eq(Cat(Const(0, 2), and_or(asked, pcs))),
            read.addr.eq(pc),
            self.fetched_pc.eq(Cat(Const(0, 2), fetched_word_pc)),
            self.fetched_outside.eq(fetched_word_pc[-1]),
        ]
        m.d.sync += [reading.eq(Mux(self.launch, 0, arbiter.grant)), reading_pc.eq(pc)]
        m.d[timing.later] += [
            self.fetched_by.eq(timing.stage(reading, Mux(self.launch, 0, reading))),
            fetched_word_pc.eq(reading_pc),
            self.fetched_word.as_value().eq(read.data.as_value() ^ illegal),
        ]
        m.d.comb += [
            under_way.eq(reading | self.fetched_by), self.fetched.eq(self.fetched_by.any()),
            self.fetched_warp.eq(encode(self.fetched_by)),
        ]
        for i in range(warps):
            with m.If(self.launch):
                m.d.sync += pcs[i].eq(self.entry[2:])
            with m.Elif(self.redirect & (self.redirect_warp == i)):
                m.d.sync += pcs[i].eq(self.redirect_pc[2:])
            with m.Elif(arbiter.grant[i]):
                m.d.sync += pcs[i].eq(pcs[i] + 1)
        return m
