"""Random SIMT programs whose result does not depend on the order in which warps run.

A program is nested divergent and uniform control flow around random instructions. Lanes of a warp
may store to the same word, because their order is defined. Warps share lines but not words, with
three exceptions: constants that are only read; words that change only by atomics of one commutative
kind; words that warps of a core exchange between barriers. Work of the Weaver is summed up, so it
does not matter which lane gets the work. All words that warps push to a list are equal, or one warp
pushes all of them. Lanes vote and read each other's registers. At the end
every register of every lane is stored.

====================  =======================================================
region of memory      contents
====================  =======================================================
constants             random words, only read
private               words of one warp, interleaved with the words of the other warps
common                words for atomics of all warps
exchange              a word for each lane, written and read by its core between barriers
registers             32 words for each lane
lists                 the vertices that a core has pushed, and their number
====================  =======================================================
"""

import random

import numpy as np
from amaranth.utils import ceil_log2

from checks.campaign.machines import Launch
from checks.campaign.random_statements import SimpleStatements
from hw.config import HardwareConfig
from hw.isa import Csr, MemoryMap
from hw.operations import GatherOp, GatherSetting, InputMode
from sw.compile.asm.assembler import Assembler, Condition, GeneralRegister


__all__ = ["fitting_case", "random_case"]


_VARIABLES = 8


class _Generator(SimpleStatements):
    """One program under construction."""

    def __init__(self, config: HardwareConfig, seed, size, partial=False):
        super().__init__(config, random.Random(seed))
        # Decides on pushes, so that all other statements of a seed stay as they are without them.
        self.pushes = random.Random(f"pushes {seed}")
        self.left = size                # statements that may still be emitted
        self.partial = partial
        self.barrier = 0

    def case(self) -> Launch:
        a = self.a = Assembler()
        self.full, self.link = a.reg("full"), a.reg("link")
        self.privates, self.locals = a.reg("private"), a.reg("local")
        self.lane = a.reg("lane")
        self.variables = a.regs(*(f"v{i}" for i in range(_VARIABLES)))
        self.routine = a.label("routine")
        self._prologue()
        while self.left > 0:
            self._top_level()
        self._epilogue()
        a.place(self.routine)
        self.left = 4
        self._body(3)
        a.jalr(a.zero, self.link, 0)
        memory = np.random.default_rng(self.rng.getrandbits(32)).integers(
            1 << 32, size=self.memory_words, dtype=np.uint32)
        return Launch(a.finish().words, 0, self.rng.getrandbits(32), memory)

    # Beginning and end

    def _prologue(self):
        """Give every register a different value in every lane."""
        a, config = self.a, self.config
        a.csrr(self.lane, Csr.CORE_ID)
        a.li(self.full, config.warps)
        a.mul(self.lane, self.lane, self.full)
        a.csrr(self.locals, Csr.WARP_ID)
        a.add(self.lane, self.lane, self.locals)
        a.slli(self.locals, self.locals, 2)
        a.slli(self.privates, self.lane, 2)
        a.li(self.full, config.threads)
        a.mul(self.lane, self.lane, self.full)
        a.csrr(self.full, Csr.THREAD_ID)
        a.add(self.lane, self.lane, self.full)
        a.li(self.full, self.local)
        a.add(self.locals, self.locals, self.full)
        a.li(self.full, self.private)
        a.add(self.privates, self.privates, self.full)
        a.li(self.full, -1)
        kept = {register.number for register in (self.lane, self.full, self.privates, self.locals)}
        for number in set(range(1, 32)) - kept:
            register = GeneralRegister(number, f"x{number}")
            a.li(register, self.rng.getrandbits(32) | 1)
            a.mul(register, register, self.lane)
            if self.rng.random() < 0.3:
                a.srli(register, register, self.rng.randrange(20, 32))
            elif self.rng.random() < 0.5:
                a.xori(register, register, self.rng.randrange(-2048, 2048))
        self._fill_local()
        if self.partial:
            self._leave_lanes()

    def _leave_lanes(self):
        """Let each warp go on with some of its lanes, at least one."""
        a, threads = self.a, self.config.threads
        with a.scope("warp") as (warp,):
            a.csrr(warp, Csr.WARP_ID)
            a.addi(warp, warp, 1)
            a.li(self.full, self.rng.getrandbits(32) | 1)
            a.mul(self.full, self.full, warp)
            a.srli(warp, self.full, 7)
            a.xor(self.full, self.full, warp)
            a.li(warp, 1 << self.rng.randrange(threads))
            a.or_(self.full, self.full, warp)
        a.tmc(self.full)

    def _fill_local(self):
        """Let every warp initialize its words of local memory."""
        a = self.a
        with a.scope("pointer", "left", "step", "place") as (pointer, left, step, place):
            # Lane n begins with word n. If there are more lanes than words, lanes share words.
            a.li(step, 4 * self.config.warps)
            a.csrr(pointer, Csr.THREAD_ID)
            a.andi(pointer, pointer, self.local_words - 1)
            a.mul(pointer, pointer, step)
            a.add(pointer, pointer, self.locals)
            a.li(step, 4 * self.config.warps * self.config.threads)
            a.li(left, max(1, self.local_words // self.config.threads))
            with a.while_uniform(Condition("ne", left, a.zero)):
                a.mul(place, pointer, pointer)
                a.sw(place, pointer, 0)
                a.add(pointer, pointer, step)
                a.addi(left, left, -1)

    def _epilogue(self):
        """Store every register of every lane. The pointer replaces ``full``."""
        a = self.a
        pointer = self.full
        with a.scope("base") as (base,):
            a.slli(pointer, self.lane, 7)
            a.li(base, self.registers)
            a.add(pointer, pointer, base)
        for number in set(range(1, 32)) - {pointer.number}:
            a.sw(GeneralRegister(number, f"x{number}"), pointer, 4 * number)
        a.end_warp()

    # Structure

    def _top_level(self):
        """A statement with all lanes active, in all warps."""
        a, rng = self.a, self.rng
        kind = rng.random()
        if kind < 0.12:
            self._exchange()
        elif kind < 0.18 and self.generates:
            self._generate()
        elif kind < 0.18 and self.list_words:
            self._traverse()
        elif kind < 0.18 and self.config.unit is not None and not self.config.gather_reads:
            self._weave()
        elif kind < 0.28:
            with a.scope("mask") as (mask,):
                a.ori(mask, self._variable(), 1)
                a.tmc(mask)
                self._body(1)
                a.tmc(self.full)
        else:
            self._statement(0)

    def _body(self, depth):
        for _ in range(self.rng.randrange(1, 5)):
            self._statement(depth)

    def _statement(self, depth):
        a, rng = self.a, self.rng
        self.left -= 1
        kind = rng.random()
        if depth >= 4 or self.left <= 0 or kind < 0.6:
            self._simple()
        elif kind < 0.75:
            with a.scope("predicate") as (predicate,):
                self._predicate(predicate)
                with a.if_(predicate) as choice:
                    self._body(depth + 1)
                    if rng.random() < 0.6:
                        choice.otherwise()
                        self._body(depth + 1)
        elif kind < 0.83:
            self._lanes_loop(depth)
        elif kind < 0.88:
            with a.scope("count") as (count,):
                a.li(count, rng.randrange(1, 4))
                with a.while_uniform(Condition("ne", count, a.zero)):
                    self._body(depth + 1)
                    a.addi(count, count, -1)
        elif kind < 0.96 or depth:
            # The lowest active lane decides for all.
            branch = rng.choice((a.beq, a.bne, a.blt, a.bge, a.bltu, a.bgeu))
            end = a.label("end")
            branch(self._variable(), self._variable(), end)
            self._body(depth + 1)
            a.place(end)
        else:
            a.jal(self.link, self.routine)

    def _predicate(self, into):
        """Set a register to 0 in some lanes, in all lanes, or in none."""
        a = self.a
        if self.rng.random() < 0.7:
            a.andi(into, self._variable(), self.rng.choice((1, 2, 3, 7, 64)))
        else:
            a.slt(into, self._variable(), self._variable())

    def _lanes_loop(self, depth):
        """A loop in which each lane's own variable gives the lane's number of iterations."""
        a = self.a
        with a.scope("count", "mask", "more") as (count, mask, more):
            a.csrr(mask, Csr.ACTIVE_MASK)
            a.andi(count, self._variable(), 3)

            def test():
                a.snez(more, count)
                return more
            with a.while_(test, mask):
                self._body(depth + 1)
                a.addi(count, count, -1)

    def _exchange(self):
        """Exchange a word of each lane with the other warps, between barriers."""
        a, rng = self.a, self.rng
        with a.scope("base", "place") as (base, place):
            a.li(base, self.exchange)
            a.slli(place, self.lane, 2)
            a.add(place, place, base)
            a.sw(self._variable(), place, 0)
            self._meet()
            lanes = self.config.warps * self.config.threads
            a.addi(place, self.lane, rng.randrange(lanes))
            # A lane of the same core.
            a.xor(place, place, self.lane)
            a.andi(place, place, lanes - 1)
            a.xor(place, place, self.lane)
            a.slli(place, place, 2)
            a.add(place, place, base)
            a.lw(self._variable(), place, 0)
            self._meet()

    def _meet(self):
        """All warps wait for each other."""
        a = self.a
        with a.scope("number", "warps") as (number, warps):
            a.csrr(warps, Csr.NUM_WARPS)
            a.li(number, self.barrier)
            a.bar(number, warps)
        self.barrier = (self.barrier + 1) % self.config.barriers

    def _vertices(self, vid, value, place, mine):
        """A vertex of every lane: lane n's vertex ``vid`` has its offset in word n of the exchange
        region. Its edges are constants, from the square of the lane's number ``mine`` in its core
        on. All lanes are active."""
        a, lanes = self.a, self.config.warps * self.config.threads
        if self.partial:
            a.li(value, -1)
            a.tmc(value)
        a.andi(mine, self.lane, lanes - 1)
        a.mul(value, mine, mine)
        a.srli(value, value, max(0, 2 * ceil_log2(lanes) - 7) + self.rng.randrange(3))
        a.li(place, self.constants // 4)
        a.add(value, value, place)
        a.slli(vid, self.lane, 2)
        a.li(place, self.exchange)
        a.add(vid, vid, place)
        a.sw(value, vid, 0)

    def _weave(self):
        """Register work of every lane with the Weaver. All work is done, by any lane."""
        a = self.a
        with a.scope("vid", "eid", "value", "place") as (vid, eid, value, place):
            a.andi(value, self._variable(), self.rng.choice((0, 1, 3, 7, 15)))
            # A row beyond the table is left out.
            a.weaver_reg(self.lane, self._variable(), value, self.rng.choice((0, 0, 0, 1)))
            if not self.config.unit.rounds:
                a.li(value, -1)
                a.weaver_skip(value)            # no more rows of this warp follow
            self._meet()
            fused = self.rng.random() < 0.5 or not self.config.unit.answers(GatherOp.DEC_ID)
            top, end = a.place("weave"), a.label("woven")
            if fused:
                # A load to the second result is under way. Afterwards this result is read first.
                a.lw(eid, self.privates, 0)
                a.weaver_dec(vid, eid)
                a.addi(place, eid, 1)
                a.beqz(place, end)
            else:
                a.weaver_dec_id(vid)
                a.addi(value, vid, 1)
                a.beqz(value, end)
            a.li(place, self.common)
            if not fused:
                a.weaver_dec_loc(eid)
            a.mul(value, eid, vid)
            a.add(value, value, eid)
            a.amoadd_w(a.zero, value, place)
            a.j(top)
            a.place(end)
            # Every lane has read -1; the EIDs it has seen depend on the order.
            a.mv(eid, vid)
            if self.partial:
                a.tmc(self.full)        # the same in all lanes, also in lanes left earlier
            self._meet()

    def _generate(self):
        """Let the unit generate edges for a vertex of every lane."""
        a, rng, config = self.a, self.rng, self.config
        lanes, weighted = config.warps * config.threads, rng.random() < 0.5
        with a.scope("vid", "value", "place", "mine") as (vid, value, place, mine):
            self._vertices(vid, value, place, mine)
            # No vertex in the core's last lane, behind which no offset follows, and in others.
            a.addi(value, mine, 1)
            a.andi(value, value, rng.choice((lanes - 1, lanes - 1, (lanes - 1) & 5)))
            a.snez(value, value)
            a.addi(value, value, -1)
            a.or_(value, value, vid)
            self._meet()
            for setting, word in (
                    (GatherSetting.OFFSETS, 0), (GatherSetting.WEIGHTS, 4 * weighted),
                    (GatherSetting.IDS, MemoryMap.LOCAL),
                    (GatherSetting.RECORDS, MemoryMap.LOCAL + 4 * lanes)):
                a.li(place, word)
                a.gather_set(place, setting)
            a.slli(place, mine, 2)
            a.li(vid, MemoryMap.LOCAL)
            a.add(place, place, vid)
            a.sw(value, place, 0)
            a.weaver_reg(a.zero, a.zero, a.zero)
            a.addi(place, place, 4 * lanes)
            if weighted:
                a.andi(mine, mine, -config.threads)     # the warp's records take two rows
                a.slli(mine, mine, 2)
                a.add(place, place, mine)
            self._meet()
            top, end = a.place("generate"), a.label("generated")
            a.weaver_dec_id(vid)
            a.addi(value, vid, 1)
            a.beqz(value, end)
            a.lw(value, place, 0)
            if weighted:
                a.lw(mine, place, 4 * config.threads)
                a.xor(value, value, mine)
            a.mul(value, value, vid)
            a.li(mine, self.common)
            a.amoadd_w(a.zero, value, mine)
            a.j(top)
            a.place(end)
            # Every lane has read -1. The addresses that it has seen are the same in all runs.
            a.mv(mine, vid)
            if self.partial:
                a.tmc(self.full)
            self._meet()

    def _traverse(self):
        """Let the unit gather the edges of a core's vertices, or hand out the vertices themselves.

        The last lane has no vertex, because no offset follows. Often all warps push a word for some
        of their edges or vertices, or warp 0 pushes some of its variables.
        """
        a, rng, config = self.a, self.rng, self.config
        pushing = self.pushes.choice(("nobody", "all", "all", "warp 0"))
        lanes, weighted = config.warps * config.threads, rng.random() < 0.5
        mode = rng.choice((0, 0, InputMode.LIST)) | InputMode.RANGE
        with a.scope("vid", "value", "place", "mine") as (vid, value, place, mine):
            self._vertices(vid, value, place, mine)
            self._meet()
            # Warp 0 stores the settings: its lane 0 has the core's first vertex.
            started = a.label("started")
            a.csrr(value, Csr.WARP_ID)
            a.bnez(value, started)
            a.gather_set(vid, GatherSetting.INPUT)
            self._open_list(place, value)
            for setting, word in ((GatherSetting.OFFSETS, 0), (GatherSetting.WEIGHTS, 4 * weighted),
                                  (GatherSetting.START, (lanes - 1) | mode)):
                a.li(place, word)
                a.gather_set(place, setting)
            if pushing == "warp 0":
                self._push_variables(value)
            a.place(started)
            top, end = a.place("traverse"), a.label("traversed")
            (a.pop_vert if mode & InputMode.LIST else a.pop_edge)(vid)
            a.addi(value, vid, 1)
            a.beqz(value, end)
            if mode & InputMode.LIST:
                a.mv(value, vid)
            else:
                a.edge_neighbor(value)
                if weighted:
                    a.edge_weight(mine)
                    a.xor(value, value, mine)
                a.mul(value, value, vid)
            a.li(mine, self.common)
            a.amoadd_w(a.zero, value, mine)
            if pushing == "all":
                a.andi(value, value, self.pushes.choice((0, 1, 3, 64)))
                a.li(mine, self.pushes.getrandbits(32))
                with a.if_(value) as choice:
                    if self.pushes.random() < 0.7:
                        choice.otherwise()
                    a.push_vert(mine)
            a.j(top)
            a.place(end)
            # Every lane has read -1. The words that it has seen are the same in all runs.
            a.mv(mine, vid)
            self._close_list(value)
            a.mv(value, vid)
            if self.partial:
                a.tmc(self.full)
            self._meet()

    def _open_list(self, place, value):
        """Settings of the core's list. Every list of a core has the same."""
        a = self.a
        a.csrr(value, Csr.CORE_ID)
        a.li(place, 4 * self.list_words)
        a.mul(value, value, place)
        for setting, word in ((GatherSetting.OUTPUT, self.lists), (
                GatherSetting.COUNT, self.lists + 4 * (self.list_words - self.config.threads))):
            a.li(place, word)
            a.add(place, place, value)
            a.gather_set(place, setting)
        a.li(place, self.list_words - self.config.threads)
        a.gather_set(place, GatherSetting.LIMIT)

    def _push_variables(self, mask):
        """A warp pushes variables of some of its lanes, all of which are active."""
        a, rng = self.a, self.pushes
        for _ in range(rng.randrange(1, 5)):
            a.ori(mask, rng.choice(self.variables), 1 << rng.randrange(min(8, self.config.threads)))
            a.tmc(mask)
            a.push_vert(rng.choice(self.variables))
            a.li(mask, -1)
            a.tmc(mask)

    def _close_list(self, value):
        """End the core's list, behind all pushes. All lanes are active."""
        a = self.a
        self._meet()
        closed = a.label("closed")
        a.csrr(value, Csr.WARP_ID)
        a.bnez(value, closed)
        a.gather_set(value, GatherSetting.CLOSE)
        a.place(closed)


def random_case(config: HardwareConfig, seed: int, size: int = 120, *, partial=False) -> Launch:
    """A random program of about ``size`` statements, with random memory.

    Parameters
    ----------
    config : HardwareConfig
        Determines the regions. The program runs only on this configuration.
    seed : int
        Equal seeds give equal programs.
    size : int
        Number of statements, with the statements of nested bodies.
    partial : bool
        Whether the warps go on with only some of their lanes after the first values are set.
    """
    return _Generator(config, seed, size, partial).case()


def fitting_case(config: HardwareConfig, seed: int, size: int = 120, *, partial=False):
    """A program as of :func:`random_case` that fits into the instruction memory.

    The number of statements is halved until the program fits. None if even one statement does not
    fit.
    """
    while size:
        case = random_case(config, seed, size, partial=partial)
        if 4 * len(case.words) <= config.imem_bytes:
            return case
        size //= 2
    return None
