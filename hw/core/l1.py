"""A bank of the L1 data cache: non-blocking, write-through without write-allocate.

:mod:`hw.core.banks` joins the banks. A bank has only its own lines. The first bank has local
memory.

Passes and answers have a pipeline each. The two pipelines share the path to the load queue and the
write port of the lines.

A pass goes through S0, S1 and S2. S0 takes the pass from the coalescer, S1 compares tags, S2 acts.
In the short pipeline S1 and S2 share a cycle. A load that hits gives its line to the load queue; a
load that misses waits in the MSHRs. A store goes to the L2, and updates the line if the
cache holds the line. An atomic goes to the L2, and drops the line.

Local memory is read and stored to in S0; its words are there in S1. An atomic of local memory
computes the new words and writes them in S2. Until then S0 takes no other pass of local memory. The
long pipeline writes a cycle later in both cases.

An answer goes through R0 and R1. R0 takes the answer from the L2. R1 gives the answer to
the load queue, in a cycle in which S2 has nothing for the load queue. Stores and atomics leave such
a cycle. Misses leave one in the short pipeline; the long pipeline does not know of a miss in time.
So a load that is replayed costs the passes nothing. The first replay of a line also installs the
line. From the time the line is on offer until it is written, S0 takes no pass of the line's set. In
the long pipeline an answer comes through a buffer before R0, with its line address. R0 then takes
an answer only while R1 is empty.

A store or atomic that overtakes the fetch of its line makes the fetch stale. Loads that came before
the store or atomic still take their words from the line, but the line is not kept. Loads that come
after fetch the line again. So a lane always sees its own stores and atomics.

With sectors, a line has a valid bit for each. A load hits if the sectors of its words are there. A
load that misses asks for its sectors only. It joins the MSHR of its line if that asks for all of
them. Otherwise it takes an MSHR of its own, which asks for the sectors of both, and which later
loads join. R1 looks for the line that has come: sectors come into the way that holds the others.
"""

from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import and_or, count_ones, encode, index_bits, lowest, merge_bytes
from hw.config import HardwareConfig
from hw.delays import DelayLine
from hw.core.access import LOCAL, AccessOp, bank_bits, loaded_layout, mapped_bits, pass_layout
from hw.core.local import LocalMemory
from hw.isa import MemoryMap
from hw.memory.amo import AmoControls, atomic, controls
from hw.memory.miss import MissTable, with_lines
from hw.memory.port import (LineOp, core_request_layout, core_response_layout, line_layout,
                            sector_bytes_of, sectors_of)
from hw.memory.replacement import Replacement
from hw.stalls import L1_STALLS
from hw.streams import check_stream
from hw.timing import Timing


__all__ = ["L1"]


#: Attributes for memories whose read data is ignored when it collides with a write.
UNCHECKED = {"no_rw_check": 1}

#: Cycles that an answer may wait for the load queue before S0 stops taking passes.
PATIENCE = 8


#: A bit for each kind of pass.
_KINDS = data.StructLayout({op.name.lower(): 1 for op in AccessOp})


class _Parts:
    """The memories and queues that several stages use, each a submodule of the bank, and the widths
    of the parts of an address."""
    def __init__(self, m, config, timing):
        self.ways = ways = config.l1_ways
        self.sets = sets = config.l1_bytes // config.l1_banks // config.line_bytes // ways
        self.line_bits, self.set_bits = mapped_bits(config), ceil_log2(sets)
        self.tag_bits = self.line_bits - self.set_bits
        m.submodules.tags = tags = Memory(shape=data.ArrayLayout(self.tag_bits, ways), depth=sets,
                                          init=[], attrs=UNCHECKED)
        self.tag_read, self.tag_write = tags.read_port(), tags.write_port(granularity=1)
        sectors = config.sectors
        if sectors > 1:
            self.r1_tag_read = tags.read_port()
        # S1 and R1 read the valid bits of a set, without a slot of S0.
        m.submodules.valid = valid = Memory(
            shape=data.ArrayLayout(sectors, ways), depth=sets, init=[],
            attrs={"ram_style": "distributed"})
        self.s1_valid_read, self.r1_valid_read = (valid.read_port(domain="comb") for _ in range(2))
        self.valid_write = valid.write_port(granularity=1)
        self.line_reads, self.line_writes = [], []
        for way in range(ways):
            lines = Memory(shape=8 * config.line_bytes, depth=sets, init=[], attrs=UNCHECKED)
            m.submodules[f"lines_{way}"] = lines
            self.line_reads.append(lines.read_port())
            self.line_writes.append(lines.write_port(
                granularity=8 * config.line_bytes // sectors if sectors > 1 else None))
        m.submodules.replacement = self.replacement = Replacement(sets=sets, ways=ways)
        waiting_shape = data.StructLayout({
            "slot": index_bits(config.load_queue), "lanes": config.threads})
        mshrs = config.l1_mshrs // config.l1_banks
        m.submodules.misses = self.misses = MissTable(
            mshrs=mshrs, entries=max(2 * mshrs, config.load_queue),
            line_bits=self.line_bits, payload=waiting_shape, sectors=sectors,
            ahead=timing.looks_ahead)
        self.stages = 1 + timing.extra          # stages after S0 that hold passes
        self.asking = 1 + 2 * timing.extra      # ... that hold passes or their requests
        m.submodules.requests = self.requests = fifo.SyncFIFO(
            width=core_request_layout(config).size, depth=4 * self.stages)


class _Offer:
    """The pass on offer in S0."""
    def __init__(self):
        self.is_ = Signal(_KINDS, name="s0_is")                 # its kind, one-hot
        self.uses_lines, self.wants_local, self.hazard, self.goes, self.looks = (
            Signal(name=name) for name in
            ("uses_lines", "wants_local", "hazard", "take_access", "looks"))
        self.causes = Signal(len(L1_STALLS), name="causes")     # why it waits


class _Pass:
    """Packet that enters S1 or S2: a pass."""
    def __init__(self, config, stage):
        self.valid = Signal(name=f"{stage}_valid")
        self.access = Signal(pass_layout(config), name=stage, reset_less=True)
        self.is_ = Signal(_KINDS, name=f"{stage}_is")   # its kind, one-hot; zero without a pass


class _Found:
    """Packet that enters S2 with the pass: what the look-up in S1 found."""
    def __init__(self, config, parts):
        ways = parts.ways
        self.same = [Signal(ways, name=f"same_{half}", reset_less=True) for half in ("low", "high")]
        # The ways that have sectors; those that have all sectors of the pass.
        self.there, self.complete = (Signal(ways, name=name, reset_less=True)
                                     for name in ("there", "complete"))
        self.lines = [Signal(8 * config.line_bytes, name=f"line_{way}", reset_less=True)
                      for way in range(ways)]
        self.local_words = Signal(line_layout(config), name="local_words", reset_less=True)
        self.amo = Signal(AmoControls, name="amo", reset_less=True)
        self.is_local, self.gives_local = Signal(name="is_local"), Signal(name="gives_local")
        # The line is there: in which way, one-hot. The pass takes this cycle of the load queue, or
        # may take it; it has a line for the load queue.
        self.hit_ways, self.hit = Signal(ways, name="hit_ways"), Signal(name="hit")
        self.gives, self.gives_line = Signal(name="gives"), Signal(name="gives_line")


class _LocalChange:
    """The words that an atomic leaves in local memory. In the long pipeline they are written in the
    cycle after S2."""
    def __init__(self, s2):
        self.valid = Signal(name="amo_writes")
        self.data = Signal.like(s2.access.data, name="left_by_amo", reset_less=True)
        self.rows = Signal.like(s2.access.rows, name="amo_rows", reset_less=True)
        self.mask = Signal.like(s2.access.mask, name="amo_mask", reset_less=True)


class _Answer:
    """Packet that enters R1: an answer for the load queue."""
    def __init__(self, config, parts):
        self.valid = Signal(name="r1_valid")
        self.fill = Signal(name="r1_fill")              # its line is installed
        self.replay = Signal(name="r1_replay")          # slot and lanes come from the MSHRs
        self.line = Signal(parts.line_bits, name="r1_line", reset_less=True)
        self.sectors = Signal(config.sectors, name="r1_sectors", reset_less=True)
        self.loaded = Signal(loaded_layout(config), name="r1", reset_less=True)
        self.goes, self.installs = Signal(name="r1_goes"), Signal(name="installs")
        self.into = Signal(parts.ways, name="into")     # the way of the installed line
        # A bit for each cycle that it may still wait for the load queue.
        self.patience = Signal(PATIENCE, init=(1 << PATIENCE) - 1, name="patience")


class L1(wiring.Component):
    """A bank of the L1 data cache. The first bank has local memory beside it.

    Latency: a pass that hits gives its line in the cycle after it is accepted. An answer gives its
    line in the cycle after it is accepted, or in the first cycle after that in which S2 leaves
    room. Throughput: one pass a cycle. These passes wait a cycle:

    - a load or store after a store to the same line,
    - a pass of local memory after an atomic of local memory,
    - a pass of a set in which a line is installed.

    With ``l1_latency``, each line, of a hit or an answer, is given that much later.

    A pass also waits when an answer has waited for the load queue for :data:`PATIENCE` cycles.

    In the long pipeline each of these takes a cycle more; a pass of local memory after an atomic of
    local memory takes two more. An answer is accepted every other cycle. A load or store waits
    after an atomic to the same line, too. A load or atomic of local memory waits after a store to
    local memory. A pass that waits for a line waits for all lines of the set.

    Parameters
    ----------
    config : HardwareConfig
        The core's. A bank has its share of the lines and of the MSHRs.
    bank : int
        Number of the bank: the lowest bits of the addresses of its lines.

    Members
    -------
    access : In(stream(pass_layout))
        Passes of memory instructions for this bank, in program order of each warp. Only the first
        bank accepts passes of local memory.
    loaded : Out(loaded_layout)
        A line for some lanes of a load; valid with ``loaded_valid``, and must be taken.
    loaded_valid : Out(1)
    request : Out(stream(core_request_layout))
        Requests to the L2, in the order of the passes.
    response : In(stream(core_response_layout))
        Answers of the L2, in any order. Never waits for ``request``.
    flush : In(1)
        Forget all lines (a launch).
    busy : Out(1)
        A pass, a request or an answer is under way, or lines are being forgotten.
    asking : Out(1)
        A pass is under way that was accepted, or a request that was not taken.
    load_access, load_hit, store_access, local_access, atomic_access : Out(1)
        A pass of this kind is performed. A pass of local memory counts as ``local_access`` only.
    stalls : Out(len(L1_STALLS))
        One-hot: the cause for which the pass on offer waits (:data:`hw.stalls.L1_STALLS`); in the
        long pipeline a cycle later. 0 without counters.
    atomic_lanes : Out
        With ``atomic_access``: the number of lanes whose atomics the pass performs.
    fetches : Out
        The number of sectors that a load asks the L2 for; 1 for a line that is not divided.
    """
    def __init__(self, config: HardwareConfig, bank=0):
        self._config, self._timing = config, Timing(config)
        self._bank = bank
        super().__init__({
            "access": In(stream.Signature(pass_layout(config))),
            "loaded": Out(loaded_layout(config)), "loaded_valid": Out(1),
            "request": Out(stream.Signature(core_request_layout(config))),
            "response": In(stream.Signature(core_response_layout(config))),
            "flush": In(1), "busy": Out(1), "asking": Out(1),
            "load_access": Out(1), "load_hit": Out(1), "store_access": Out(1),
            "local_access": Out(1), "atomic_access": Out(1), "stalls": Out(len(L1_STALLS)),
            "atomic_lanes": Out(range(config.threads + 1)),
            "fetches": Out(range(config.sectors + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        parts = _Parts(m, config, self._timing)
        come = with_lines(m, config, parts.misses, self.response, self.response.payload.tag.mshr)
        sweeping = Signal(init=1)           # all lines are forgotten
        # S0 and R0 look at the passes, changes and answers in the later stages.
        s1, s2, r1 = _Pass(config, "s1"), _Pass(config, "s2"), _Answer(config, parts)
        change = _LocalChange(s2)
        taken = [s1, s2][:parts.stages]
        s0 = self._take_pass(m, parts, come, (s1, s2), r1, change, sweeping)
        local_read = self._look_up(m, parts, s0, s1, change)
        self._take_answer(m, parts, come, taken, r1)
        found = self._compare(m, parts, s1, s2, local_read)
        self._act(m, parts, s1, s2, found)
        self._change_local(m, s2, found, change)
        self._give_answer(m, parts, taken, s2, found, r1)
        self._write_lines(m, parts, s2, found, r1, *self._leaving(m))
        self._ask(m, parts, s2, found)
        self._sweep(m, parts, s2, sweeping)
        m.d.comb += [
            self.asking.eq(s1.valid | s2.valid | parts.requests.w_en | parts.requests.r_rdy),
            # In the short pipeline an answer waits in the L2, which is busy then.
            self.busy.eq(self.asking | change.valid | r1.valid | sweeping | ~parts.misses.empty
                         | self.access.valid | self._timing.only_later(come.valid)),
        ]
        self._check(m, parts, s0, s2, found, r1, sweeping)
        return m

    def _take_pass(self, m, parts, come, passes, r1, change, sweeping):
        """S0: take the pass on offer. A line that S2 or R1 is about to write is not read before the
        write. The short pipeline looks only at the first of the ``passes`` in S1 and S2."""
        timing, misses, requests, set_bits = (self._timing, parts.misses, parts.requests,
                                              parts.set_bits)
        s0, access, come_line = _Offer(), self.access.payload, come.payload.line
        is_, taken = s0.is_, passes[:parts.stages]
        compared = timing.compared(parts.line_bits, set_bits)
        installing, has_miss_room = (Signal(name=name) for name in ("installing", "has_miss_room"))
        taken_loads = Cat(one.is_.load for one in taken)

        def same_set(line):
            return (line[:set_bits] == access.line[:set_bits]) | is_.fence
        held_up = ~r1.patience[0] & Cat(one.valid for one in passes).any()
        m.d.comb += [
            *(is_[op.name.lower()].eq(access.op == op)
              for op in AccessOp if self._bank == 0 or op not in LOCAL),
            s0.wants_local.eq(_is_local(is_)), s0.uses_lines.eq(is_.load | is_.store),
            s0.hazard.eq(Cat(
                (one.is_.store | timing.only_later(one.is_.amo))
                & s0.uses_lines & (one.access.line[compared] == access.line[compared])
                | one.is_.fence | one.is_.local_amo & s0.wants_local
                for one in taken).any() | change.valid & s0.wants_local
                | timing.only_later(passes[0].is_.local_store & (is_.local_load | is_.local_amo))),
            installing.eq(come.valid & ~come.payload.answer.tag.atomic & misses.replay_first
                          & same_set(come_line) | r1.valid & r1.fill & same_set(r1.line)),
            # There must be one more place than there are loads in S1 and S2: each may take one.
            has_miss_room.eq(misses.room[0] & ~taken_loads.any() | misses.room[2]
                             | misses.room[1] & ((len(taken) < 2) | ~taken_loads.all())),
            s0.causes.eq(Cat({
                "mshr": is_.load & ~has_miss_room, "fill": installing, "replay": held_up,
                "order": s0.hazard | sweeping,
                "l2": requests.level > requests.depth - 1 - parts.asking,
            }[name] for name in L1_STALLS)),
            self.access.ready.eq(~s0.causes.any()),
            s0.goes.eq(self.access.valid & self.access.ready),
            s0.looks.eq(timing.needed(s0.goes)),
        ]
        stall = lowest(m, s0.causes, name="stall")
        if self._config.counters:
            m.d[timing.later] += self.stalls.eq(Mux(self.access.valid, stall, 0))
        return s0

    def _look_up(self, m, parts, s0, s1, change):
        """S0: read tags, lines and local memory, and load the packet of S1. Returns the words of
        local memory, which are there in S1."""
        config, timing, access = self._config, self._timing, self.access.payload
        for port in (parts.tag_read, *parts.line_reads):
            m.d.comb += [port.addr.eq(access.line[:parts.set_bits]), port.en.eq(s0.looks)]
        m.d.sync += [s1.valid.eq(s0.goes), s1.is_.eq(Mux(s0.goes, s0.is_, 0))]
        with m.If(s0.looks):
            m.d.sync += s1.access.eq(access)
        local_read = Signal(line_layout(config))
        if self._bank == 0:
            # In the long pipeline the pass that S0 takes is known too late for a store in this
            # cycle.
            stored = timing.stage(access, s1.access)
            stores = timing.stage(s0.goes & s0.is_.local_store, s1.is_.local_store)
            m.submodules.local = local = LocalMemory(config)
            m.d.comb += [
                local.read.eq(s0.looks & timing.needed(s0.wants_local)),
                local.write.eq(stores | change.valid),
                local.read_rows.eq(access.rows),
                local.write_rows.eq(Mux(change.valid, change.rows, stored.rows)),
                local.mask.eq(Mux(change.valid, change.mask, stored.mask)),
                local.write_data.eq(Mux(change.valid, change.data, stored.data)),
                local_read.eq(local.read_data),
            ]
        return local_read

    def _take_answer(self, m, parts, come, taken, r1):
        """R0: take an answer. A load in S1 or S2 may just be joining the list of the line that has
        come. A store, atomic or fence there may be making the line stale."""
        timing, misses = self._timing, parts.misses
        answer, come_line = come.payload.answer, come.payload.line
        compared = timing.compared(parts.line_bits, parts.set_bits)
        line_came = Signal()
        takes = Signal(name="take_answer")
        installing = Const(0)       # R1 writes tags that would be read
        if self._config.sectors > 1:
            set_bits = slice(parts.set_bits)
            installing = r1.valid & r1.fill & (r1.line[set_bits] == come_line[set_bits])
            m.d.comb += [parts.r1_tag_read.addr.eq(come_line[set_bits]),
                         parts.r1_tag_read.en.eq(takes)]
        m.d.comb += [
            line_came.eq(come.valid & ~answer.tag.atomic),
            misses.replay_index.eq(answer.tag.mshr),
            takes.eq(come.valid & (~r1.valid | timing.in_time(r1.goes))
                     & ~(line_came & Cat(
                         one.is_.fence | (one.is_.load | one.is_.store | one.is_.amo)
                         & (one.access.line[compared] == come_line[compared])
                         for one in taken).any() | installing & misses.replay_first)),
            misses.replay.eq(takes & line_came),
            come.ready.eq(takes & (answer.tag.atomic | misses.replay_last)),
        ]
        with m.If(takes):
            m.d.sync += r1.valid.eq(1)
        with m.Elif(r1.goes):
            m.d.sync += r1.valid.eq(0)
        with m.If(timing.needed(takes, ~r1.valid)):
            m.d.sync += [
                r1.replay.eq(line_came),
                r1.fill.eq(line_came & misses.replay_first & ~misses.replay_stale),
                r1.line.eq(come_line), r1.loaded.line.eq(answer.data),
                r1.sectors.eq(misses.replay_sectors if self._config.sectors > 1 else 1),
                r1.loaded.slot.eq(answer.tag.slot), r1.loaded.lanes.eq(1 << answer.tag.lane),
            ]

    def _compare(self, m, parts, s1, s2, local_read):
        """S1: compare tags. A tag is compared in halves, since the memory's output comes late."""
        found, access, tag_bits = _Found(self._config, parts), s1.access, parts.tag_bits
        tag = access.line[parts.set_bits:]
        halves = [slice(tag_bits // 2), slice(tag_bits // 2, tag_bits)]
        gives_local = s1.is_.local_load | s1.is_.local_amo & access.wanted
        m.d.comb += [parts.s1_valid_read.addr.eq(access.line[:parts.set_bits]),
                     parts.misses.line.eq(access.line)]
        m.d[self._timing.later] += [
            s2.valid.eq(s1.valid), s2.access.eq(access), s2.is_.eq(s1.is_),
            found.local_words.eq(local_read), found.amo.eq(controls(access.amo)),
            *(equal.eq(Cat(parts.tag_read.data[i][half] == tag[half] for i in range(parts.ways)))
              for equal, half in zip(found.same, halves)),
            found.there.eq(Cat(valid.any() for valid in parts.s1_valid_read.data)),
            *([found.complete.eq(Cat((sectors_of(self._config, access.mask) & ~valid) == 0
                                     for valid in parts.s1_valid_read.data))]
              if self._config.sectors > 1 else []),
            *(line.eq(port.data) for line, port in zip(found.lines, parts.line_reads)),
            found.is_local.eq(_is_local(s1.is_)), found.gives_local.eq(gives_local),
        ]
        if self._timing.hits_late:
            # A load that misses, too, keeps an answer waiting.
            m.d.sync += found.gives.eq(gives_local | s1.is_.load)
        else:
            m.d.comb += found.gives.eq(found.gives_line)
        return found

    def _act(self, m, parts, s1, s2, found):
        """S2: a load that misses waits, and a store or atomic makes the fetch of its line stale."""
        is_, access, misses = s2.is_, s2.access, parts.misses
        sectors = self._config.sectors
        if sectors > 1:
            wanted = sectors_of(self._config, access.mask)
            m.d.comb += [misses.sectors.eq(wanted | misses.held),
                         misses.apart.eq((wanted & ~misses.held).any())]
        m.d.comb += [
            found.hit_ways.eq(found.same[0] & found.same[1] & (
                found.there if sectors == 1 else Mux(is_.load, found.complete, found.there))),
            found.hit.eq(found.hit_ways.any()),
            found.gives_line.eq(found.gives_local | is_.load & found.hit),
            misses.payload.slot.eq(access.slot), misses.payload.lanes.eq(access.lanes),
            misses.insert.eq(is_.load & ~found.hit),
            misses.stale.eq(is_.store | is_.amo), misses.stale_all.eq(is_.fence | self.flush),
            self.load_access.eq(is_.load), self.load_hit.eq(is_.load & found.hit),
            self.store_access.eq(is_.store), self.local_access.eq(found.is_local),
            self.atomic_access.eq(is_.amo),
            self.atomic_lanes.eq(sum(access.lanes[i] for i in range(self._config.threads))),
        ]

    def _change_local(self, m, s2, found, change):
        """S2: the new words of an atomic of local memory."""
        access, is_amo = s2.access, s2.is_.local_amo
        changed = Signal(line_layout(self._config))
        m.d[self._timing.later] += [
            change.valid.eq(is_amo), change.rows.eq(access.rows), change.mask.eq(access.mask),
            change.data.eq(changed)]
        with m.If(self._timing.needed(is_amo)):
            for i in range(self._config.line_words):
                m.d.comb += changed[i].eq(atomic(m, found.amo, found.local_words[i], access.data[i],
                                                 compare=access.data[i ^ 1], name=f"local_{i}"))

    def _give_answer(self, m, parts, taken, s2, found, r1):
        """R1: give the answer to a load, and install its line.

        One line, and the valid bits of one set, can be written in a cycle: a store or atomic goes
        first. A store or atomic that has looked for its line must not find the line replaced when
        it writes.
        """
        ways, replacement, valid_write = parts.ways, parts.replacement, parts.valid_write
        is_, s2_set = s2.is_, s2.access.line[:parts.set_bits]
        r1_set, r1_tag = r1.line[:parts.set_bits], r1.line[parts.set_bits:]
        writes = Cat(one.is_.store | one.is_.amo for one in taken).any()
        valid = parts.r1_valid_read.data
        there = Signal(ways)            # the way that has other sectors of the line
        sectors = Signal(self._config.sectors, name="sectors_after")
        if self._config.sectors > 1:
            m.d.comb += there.eq(Cat(
                (parts.r1_tag_read.data[i] == r1_tag) & valid[i].any() for i in range(ways)))
        m.d.comb += [
            r1.into.eq(Mux(~r1.installs, 0, Mux(there.any(), there, replacement.victim))),
            sectors.eq(r1.sectors | and_or(there, list(valid))),
            r1.goes.eq(r1.valid & ~found.gives & ~(r1.fill & writes)),
            r1.installs.eq(r1.goes & r1.fill),
            parts.r1_valid_read.addr.eq(r1_set),
            replacement.set.eq(r1_set), replacement.valid.eq(Cat(one.any() for one in valid)),
            replacement.touched_set.eq(Mux(r1.installs, r1_set, s2_set)),
            replacement.touch.eq(Mux(r1.installs, r1.into,
                                     Mux(is_.load | is_.store, found.hit_ways, 0))),
            parts.tag_write.addr.eq(r1_set),
            parts.tag_write.data.eq(Cat(r1_tag for _ in range(ways))),
            parts.tag_write.en.eq(r1.into),
            valid_write.addr.eq(Mux(is_.amo, s2_set, r1_set)),
            valid_write.data.eq(Mux(is_.amo, 0, Cat(sectors for _ in range(ways)))),
            valid_write.en.eq(Mux(r1.installs, r1.into, Mux(is_.amo, found.hit_ways, 0))),
        ]
        with m.If(r1.valid & ~r1.goes):
            m.d.sync += r1.patience.eq(r1.patience >> 1)
        with m.Else():
            m.d.sync += r1.patience.eq(r1.patience.init)

    def _leaving(self, m):
        """Where a line for the load queue goes, and whether there is one: with a latency to a delay
        in front of the outputs."""
        if not self._config.l1_latency:
            return self.loaded, self.loaded_valid
        m.submodules.delay = delay = DelayLine(loaded_layout(self._config),
                                               self._config.l1_latency)
        m.d.comb += [self.loaded.eq(delay.o), self.loaded_valid.eq(delay.o_valid)]
        return delay.i, delay.i_valid

    def _write_lines(self, m, parts, s2, found, r1, loaded, loaded_valid):
        """S2 and R1: write a line, and give a line to the load queue: one that hits, words of local
        memory, or an answer."""
        config, access, is_store = self._config, s2.access, s2.is_.store
        hit_line, updated = (Signal(8 * config.line_bytes, name=name)
                             for name in ("hit_line", "updated"))
        with m.If(s2.is_.load | is_store):
            m.d.comb += hit_line.eq(and_or(found.hit_ways, found.lines))
        with m.If(is_store):
            # The line was read, so it is written whole: no byte enables in the memory.
            m.d.comb += updated.eq(merge_bytes(access.mask, access.data.as_value(), hit_line))
        with m.Else():
            m.d.comb += updated.eq(r1.loaded.line.as_value())
        for way, port in enumerate(parts.line_writes):
            m.d.comb += [
                port.addr.eq(Mux(is_store, access.line[:parts.set_bits], r1.line[:parts.set_bits])),
                port.data.eq(updated),
                port.en.eq(Mux(is_store & found.hit_ways[way], -1,
                               Mux(r1.into[way], r1.sectors, 0))),
            ]
        with m.If(found.gives):
            m.d.comb += [
                loaded.line.as_value().eq(
                    Mux(found.is_local, found.local_words.as_value(), hit_line)),
                loaded.slot.eq(access.slot), loaded.lanes.eq(access.lanes),
            ]
        with m.Else():
            m.d.comb += loaded.eq(r1.loaded)
            with m.If(r1.replay):
                m.d.comb += [loaded.slot.eq(parts.misses.replay_payload.slot),
                             loaded.lanes.eq(parts.misses.replay_payload.lanes)]
        m.d.comb += loaded_valid.eq(found.gives_line | r1.goes)

    def _ask(self, m, parts, s2, found):
        """S2: requests to the L2."""
        config, requests, misses = self._config, parts.requests, parts.misses
        is_, access = s2.is_, s2.access
        asked = Signal(core_request_layout(config))
        asks = Signal()
        lane = Signal(config.threads)
        m.d[self._timing.later] += [requests.w_data.eq(asked), requests.w_en.eq(asks)]
        m.d.comb += [
            lane.eq(access.lanes),
            asked.op.eq(Mux(is_.store, LineOp.WRITE, Mux(is_.amo, LineOp.ATOMIC, LineOp.READ))),
            asked.amo.eq(access.amo), asked.wanted.eq(access.wanted),
            asked.line.eq(Cat(Const(self._bank, bank_bits(config)), access.line,
                              Const(MemoryMap.GLOBAL >> ceil_log2(config.memory_bytes)))),
            asked.mask.eq(access.mask if config.sectors == 1 else Mux(
                is_.load, sector_bytes_of(config, misses.sectors), access.mask)),
            asked.data.eq(access.data),
            asked.tag.atomic.eq(is_.amo), asked.tag.mshr.eq(misses.index),
            asked.tag.slot.eq(access.slot), asked.tag.lane.eq(encode(lane)),
            asks.eq(is_.store | is_.amo | is_.load & ~found.hit & (
                ~misses.match if config.sectors == 1 else ~misses.match | misses.apart)),
            self.fetches.eq(Mux(is_.load & asks, 1 if config.sectors == 1
                                else count_ones(misses.sectors), 0)),
            self.request.payload.eq(data.View(core_request_layout(config), requests.r_data)),
            self.request.valid.eq(requests.r_rdy), requests.r_en.eq(self.request.ready),
        ]

    def _sweep(self, m, parts, s2, sweeping):
        """Forget all lines, one set a cycle: after reset, at a launch, at a FENCE."""
        sweep_set = Signal(parts.set_bits)
        with m.If(sweeping):
            m.d.comb += [parts.valid_write.addr.eq(sweep_set), parts.valid_write.data.eq(0),
                         parts.valid_write.en.eq((1 << parts.ways) - 1)]
            m.d.sync += sweep_set.eq(sweep_set + 1)
            with m.If(sweep_set == parts.sets - 1):
                m.d.sync += sweeping.eq(0)
        # A sweep that is asked for during another need not begin anew: no line has come since.
        with m.If(s2.is_.fence | self.flush):
            m.d.sync += sweeping.eq(1)

    def _check(self, m, parts, s0, s2, found, r1, sweeping):
        """The assertions."""
        line, set_bits = self.access.payload.line, parts.set_bits
        started, reads_written = (Signal(name=name) for name in ("started", "reads_written"))
        m.d.sync += started.eq(1)
        m.d.comb += reads_written.eq(
            (line[:set_bits] == r1.line[:set_bits]) & parts.tag_write.en.any()
            | (line == s2.access.line) & s2.is_.store & found.hit)
        with m.If(started):
            m.d.sync += [
                Assert(~parts.requests.w_en | parts.requests.w_rdy, "request queue overflow"),
                Assert(~s2.valid | ((found.hit_ways & (found.hit_ways - 1)) == 0),
                       "a line in two ways"),
                Assert(~sweeping | ~(r1.valid & r1.fill), "a line comes while all are forgotten"),
                Assert(~(s0.goes & s0.uses_lines & reads_written), "a line is read and written"),
                Assert(~s0.goes | s0.is_.as_value().any(), "local memory is in the first bank"),
            ]
        check_stream(m, self.request, name="request")
        check_stream(m, self.response, name="response")


def _is_local(kind):
    """Whether a pass of this kind accesses local memory."""
    return kind.local_load | kind.local_store | kind.local_amo
