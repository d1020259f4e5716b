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
"""

from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import and_or, encode, index_bits, lowest, merge_bytes
from hw.config import HardwareConfig
from hw.core.access import LOCAL, AccessOp, bank_bits, loaded_layout, mapped_bits, pass_layout
from hw.core.local import LocalMemory
from hw.isa import MemoryMap
from hw.memory.amo import AmoControls, atomic, controls
from hw.memory.miss import MissTable, with_lines
from hw.memory.port import (LineOp, core_request_layout, core_response_layout,
                            line_layout)
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


class L1(wiring.Component):
    """A bank of the L1 data cache. The first bank has local memory beside it.

    Latency: a pass that hits gives its line in the cycle after it is accepted. An answer gives its
    line in the cycle after it is accepted, or in the first cycle after that in which S2 leaves
    room. Throughput: one pass a cycle. These passes wait a cycle:

    - a load or store after a store to the same line,
    - a pass of local memory after an atomic of local memory,
    - a pass of a set in which a line is installed.

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
    """
    def __init__(self, config: HardwareConfig, bank=0):
        self._config = config
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
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        ways = config.l1_ways
        has_local = self._bank == 0
        sets = config.l1_bytes // config.l1_banks // config.line_bytes // ways
        set_bits = ceil_log2(sets)
        line_bits = mapped_bits(config)
        request_shape = core_request_layout(config)
        later = Timing(config).later

        tag_bits = line_bits - set_bits
        m.submodules.tags = tags = Memory(shape=data.ArrayLayout(tag_bits, ways), depth=sets,
                                          init=[], attrs=UNCHECKED)
        tag_read, tag_write = tags.read_port(), tags.write_port(granularity=1)
        # S1 and R1 read the valid bits of a set, without a slot of S0.
        m.submodules.valid = valid = Memory(shape=data.ArrayLayout(1, ways), depth=sets, init=[],
                                            attrs={"ram_style": "distributed"})
        s1_valid_read, r1_valid_read = (valid.read_port(domain="comb") for _ in range(2))
        valid_write = valid.write_port(granularity=1)
        line_reads, line_writes = [], []
        for way in range(ways):
            lines = Memory(shape=8 * config.line_bytes, depth=sets, init=[], attrs=UNCHECKED)
            m.submodules[f"lines_{way}"] = lines
            line_reads.append(lines.read_port())
            line_writes.append(lines.write_port())
        m.submodules.replacement = replacement = Replacement(sets=sets, ways=ways)
        waiting_shape = data.StructLayout({
            "slot": index_bits(config.load_queue), "lanes": config.threads})
        mshrs = config.l1_mshrs // config.l1_banks
        m.submodules.misses = misses = MissTable(
            mshrs=mshrs, entries=max(2 * mshrs, config.load_queue),
            line_bits=line_bits, payload=waiting_shape, ahead=config.long)
        stages = 2 if config.long else 1            # stages after S0 that hold passes
        asking = 3 if config.long else 1            # ... that hold passes or their requests
        depth = 8 if config.long else 4
        m.submodules.requests = requests = fifo.SyncFIFO(width=request_shape.size, depth=depth)

        s1_valid = Signal()
        s1 = Signal(pass_layout(config), reset_less=True)
        s2_valid = Signal()
        s2 = Signal(pass_layout(config), reset_less=True)
        # The kind of the pass in each stage, one-hot; in S1 and S2 zero if there is no pass.
        s0_is, s1_is, s2_is = (Signal(_KINDS, name=f"s{stage}_is") for stage in range(3))
        taken = [(s1_is, s1), (s2_is, s2)][:stages]
        r1_valid = Signal()
        r1_fill = Signal()
        r1_replay = Signal()
        r1_line = Signal(line_bits, reset_less=True)
        r1 = Signal(loaded_layout(config), reset_less=True)
        r1_goes = Signal()
        patience = Signal(PATIENCE, init=(1 << PATIENCE) - 1)    # a bit for each cycle left
        sweeping = Signal(init=1)
        sweep_set = Signal(set_bits)

        # An answer, and the address of its line.
        come = with_lines(m, config, misses, self.response, self.response.payload.tag.mshr)
        come_line, answer = come.payload.line, come.payload.answer

        # S0: a line that S2 or R1 is about to write is not read before the write. In the long
        # pipeline S0 and R0 compare only the sets of lines: there is no time to compare more.
        compared = slice(set_bits if config.long else line_bits)
        access = self.access.payload
        line_came = Signal()
        take_answer = Signal()
        take_access = Signal()
        looks = Signal()
        hazard = Signal()
        installing = Signal()
        has_miss_room = Signal()
        wants_local = Signal()
        uses_lines = Signal()
        # The new words of an atomic of local memory, and their write.
        changed = Signal(line_layout(config))
        left_by_amo = Signal(line_layout(config), reset_less=True)
        amo_rows = Signal.like(s2.rows, reset_less=True)
        amo_mask = Signal.like(s2.mask, reset_less=True)
        amo_writes = Signal()
        # In the long pipeline the pass that S0 takes is known too late for a store in this cycle.
        stored = s1 if config.long else access
        stores_locally = s1_is.local_store if config.long else take_access & s0_is.local_store
        taken_loads = Cat(kind.load for kind, _ in taken)
        m.d.comb += [
            *(s0_is[op.name.lower()].eq(access.op == op)
              for op in AccessOp if has_local or op not in LOCAL),
            wants_local.eq(_is_local(s0_is)), uses_lines.eq(s0_is.load | s0_is.store),
            line_came.eq(come.valid & ~answer.tag.atomic),
            misses.replay_index.eq(answer.tag.mshr),
            hazard.eq(Cat(
                (kind.store | kind.amo & config.long)
                & uses_lines & (one.line[compared] == access.line[compared])
                | kind.fence | kind.local_amo & wants_local
                for kind, one in taken).any() | amo_writes & wants_local
                | (s1_is.local_store & (s0_is.local_load | s0_is.local_amo)
                   if config.long else 0)),
            installing.eq(
                line_came & misses.replay_first
                & ((come_line[:set_bits] == access.line[:set_bits])
                   | s0_is.fence)
                | r1_valid & r1_fill & ((r1_line[:set_bits] == access.line[:set_bits])
                                        | s0_is.fence)),
            # There must be one more place than there are loads in S1 and S2: each may take one.
            has_miss_room.eq(misses.room & ~taken_loads.any() | misses.plenty
                             | misses.ample & ((len(taken) < 2) | ~taken_loads.all())),
            self.access.ready.eq(
                ~sweeping & ~hazard & ~installing
                & (patience[0] | ~(s1_valid | s2_valid))
                & (requests.level <= depth - 1 - asking)
                & (~s0_is.load | has_miss_room)),
            take_access.eq(self.access.valid & self.access.ready),
            tag_read.addr.eq(access.line[:set_bits]),
            tag_read.en.eq(looks),
        ]
        causes = Signal(len(L1_STALLS))
        stall = lowest(m, causes, name="stall")
        m.d.comb += causes.eq(Cat({
            "mshr": s0_is.load & ~has_miss_room, "fill": installing,
            "replay": ~patience[0] & (s1_valid | s2_valid), "order": hazard | sweeping,
            "l2": requests.level > depth - 1 - asking,
        }[name] for name in L1_STALLS))
        if config.counters:
            m.d[later] += self.stalls.eq(Mux(self.access.valid, stall, 0))
        local_read = Signal(line_layout(config))
        if has_local:
            m.submodules.local = local = LocalMemory(config)
            m.d.comb += [
                local.read.eq(looks & (wants_local | config.long)),
                local.write.eq(stores_locally | amo_writes),
                local.read_rows.eq(access.rows),
                local.write_rows.eq(Mux(amo_writes, amo_rows, stored.rows)),
                local.mask.eq(Mux(amo_writes, amo_mask, stored.mask)),
                local.write_data.eq(Mux(amo_writes, left_by_amo, stored.data)),
                local_read.eq(local.read_data),
            ]
        for port in line_reads:
            m.d.comb += [port.addr.eq(access.line[:set_bits]), port.en.eq(looks)]
        m.d.sync += [s1_valid.eq(take_access), s1_is.eq(Mux(take_access, s0_is, 0))]
        m.d.comb += looks.eq(Timing(config).needed(take_access))
        with m.If(looks):
            m.d.sync += s1.eq(access)

        # R0: a load in S1 or S2 may just be joining the list of the line that has come. A store,
        # atomic or fence there may be making the line stale.
        m.d.comb += [
            take_answer.eq(come.valid & (~r1_valid | (0 if config.long else r1_goes))
                           & ~(line_came & Cat(
                               kind.fence | (kind.load | kind.store | kind.amo)
                               & (one.line[compared] == come_line[compared])
                               for kind, one in taken).any())),
            misses.replay.eq(take_answer & line_came),
            come.ready.eq(take_answer & (answer.tag.atomic | misses.replay_last)),
        ]
        with m.If(take_answer):
            m.d.sync += r1_valid.eq(1)
        with m.Elif(r1_goes):
            m.d.sync += r1_valid.eq(0)
        # The long pipeline loads the wide registers whether or not it takes an answer.
        with m.If(~r1_valid if config.long else take_answer):
            m.d.sync += [
                r1_replay.eq(line_came),
                r1_fill.eq(line_came & misses.replay_first & ~misses.replay_stale),
                r1_line.eq(come_line), r1.line.eq(answer.data),
                r1.slot.eq(answer.tag.slot), r1.lanes.eq(1 << answer.tag.lane),
            ]

        # S1: compare tags.
        # A tag is compared in halves, since the memory's output comes late.
        halves = [slice(tag_bits // 2), slice(tag_bits // 2, tag_bits)]
        same = [Signal(ways, name=f"same_{name}", reset_less=True) for name in ("low", "high")]
        there = Signal(ways, reset_less=True)
        hit_ways = Signal(ways)
        hit = Signal()
        lines = [Signal(8 * config.line_bytes, name=f"line_{way}", reset_less=True)
                 for way in range(ways)]
        local_words = Signal(line_layout(config), reset_less=True)
        amo = Signal(AmoControls, reset_less=True)
        s1_set, s1_tag = s1.line[:set_bits], s1.line[set_bits:]
        m.d.comb += [
            s1_valid_read.addr.eq(s1_set),
            misses.line.eq(s1.line),
        ]
        m.d[later] += [
            s2_valid.eq(s1_valid), s2.eq(s1), local_words.eq(local_read),
            amo.eq(controls(s1.amo)),
            *(equal.eq(Cat(tag_read.data[i][half] == s1_tag[half] for i in range(ways)))
              for equal, half in zip(same, halves)),
            there.eq(s1_valid_read.data),
            *(line.eq(port.data) for line, port in zip(lines, line_reads)),
        ]

        # S2: act.
        is_load, is_store, is_amo, is_fence, is_local_amo = (
            s2_is[name] for name in ("load", "store", "amo", "fence", "local_amo"))
        s2_set = s2.line[:set_bits]
        is_local = Signal()
        gives_line = Signal()
        gives_local = Signal()
        gives = Signal()
        s1_gives_local = s1_is.local_load | s1_is.local_amo & s1.wanted
        m.d[later] += [
            s2_is.eq(s1_is), is_local.eq(_is_local(s1_is)), gives_local.eq(s1_gives_local),
        ]
        if config.long:
            # Whether a load hits is known too late. So a load that misses, too, keeps an answer
            # waiting.
            m.d.sync += gives.eq(s1_gives_local | s1_is.load)
        else:
            m.d.comb += gives.eq(gives_line)
        m.d.comb += [
            hit_ways.eq(same[0] & same[1] & there), hit.eq(hit_ways.any()),
            gives_line.eq(gives_local | is_load & hit),
            misses.payload.slot.eq(s2.slot),
            misses.payload.lanes.eq(s2.lanes),
            misses.insert.eq(is_load & ~hit),
            misses.stale.eq(is_store | is_amo),
            misses.stale_all.eq(is_fence | self.flush),
            self.load_access.eq(is_load), self.load_hit.eq(is_load & hit),
            self.store_access.eq(is_store), self.local_access.eq(is_local),
            self.atomic_access.eq(is_amo),
            self.atomic_lanes.eq(sum(s2.lanes[i] for i in range(config.threads))),
        ]

        m.d[later] += [amo_writes.eq(is_local_amo), amo_rows.eq(s2.rows), amo_mask.eq(s2.mask),
                       left_by_amo.eq(changed)]
        with m.If(Timing(config).needed(is_local_amo)):
            for i in range(config.line_words):
                m.d.comb += changed[i].eq(atomic(m, amo, local_words[i], s2.data[i],
                                                 compare=s2.data[i ^ 1], name=f"local_{i}"))

        # R1: give the answer to a load, and install its line. One line, and the valid bits of one
        # set, can be written in a cycle: a store or atomic goes first. A store or atomic that has
        # looked for its line must not find the line replaced when it writes.
        installs = Signal()
        r1_set, r1_tag = r1_line[:set_bits], r1_line[set_bits:]
        writes = Cat(kind.store | kind.amo for kind, _ in taken).any()
        m.d.comb += [
            r1_goes.eq(r1_valid & ~gives & ~(r1_fill & writes)),
            installs.eq(r1_goes & r1_fill),
            r1_valid_read.addr.eq(r1_set),
            replacement.set.eq(r1_set),
            replacement.valid.eq(r1_valid_read.data),
            replacement.touched_set.eq(Mux(installs, r1_set, s2_set)),
            replacement.touch.eq(Mux(installs, replacement.victim,
                                     Mux(is_load | is_store, hit_ways, 0))),
            tag_write.addr.eq(r1_set),
            tag_write.data.eq(Cat(r1_tag for _ in range(ways))),
            tag_write.en.eq(Mux(installs, replacement.victim, 0)),
            valid_write.addr.eq(Mux(is_amo, s2_set, r1_set)),
            valid_write.data.eq(Mux(is_amo, 0, (1 << ways) - 1)),
            valid_write.en.eq(Mux(installs, replacement.victim, Mux(is_amo, hit_ways, 0))),
        ]
        with m.If(r1_valid & ~r1_goes):
            m.d.sync += patience.eq(patience >> 1)
        with m.Else():
            m.d.sync += patience.eq(patience.init)

        hit_line = Signal(config.line_bytes * 8)
        updated = Signal(config.line_bytes * 8)
        with m.If(is_load | is_store):
            m.d.comb += hit_line.eq(and_or(hit_ways, lines))
        with m.If(is_store):
            # The line was read, so it is written whole: no byte enables in the memory.
            m.d.comb += updated.eq(merge_bytes(s2.mask, s2.data.as_value(), hit_line))
        with m.Else():
            m.d.comb += updated.eq(r1.line.as_value())
        for way, port in enumerate(line_writes):
            m.d.comb += [
                port.addr.eq(Mux(is_store, s2_set, r1_set)), port.data.eq(updated),
                port.en.eq(Mux(installs, replacement.victim[way], is_store & hit_ways[way])),
            ]

        # The data for a load: a line that hits, local memory's words, or the answer.
        with m.If(gives):
            m.d.comb += [
                self.loaded.line.as_value().eq(
                    Mux(is_local, local_words.as_value(), hit_line)),
                self.loaded.slot.eq(s2.slot), self.loaded.lanes.eq(s2.lanes),
            ]
        with m.Else():
            m.d.comb += self.loaded.eq(r1)
            with m.If(r1_replay):
                m.d.comb += [self.loaded.slot.eq(misses.replay_payload.slot),
                             self.loaded.lanes.eq(misses.replay_payload.lanes)]
        m.d.comb += self.loaded_valid.eq(gives_line | r1_goes)

        # Requests to the L2.
        asked = Signal(request_shape)
        asks = Signal()
        lane = Signal(config.threads)
        m.d[later] += [requests.w_data.eq(asked), requests.w_en.eq(asks)]
        m.d.comb += [
            lane.eq(s2.lanes),
            asked.op.eq(Mux(is_store, LineOp.WRITE, Mux(is_amo, LineOp.ATOMIC, LineOp.READ))),
            asked.amo.eq(s2.amo), asked.wanted.eq(s2.wanted),
            asked.line.eq(Cat(Const(self._bank, bank_bits(config)), s2.line,
                              Const(MemoryMap.GLOBAL >> ceil_log2(config.memory_bytes)))),
            asked.mask.eq(s2.mask), asked.data.eq(s2.data),
            asked.tag.atomic.eq(is_amo), asked.tag.mshr.eq(misses.index),
            asked.tag.slot.eq(s2.slot), asked.tag.lane.eq(encode(lane)),
            asks.eq(is_store | is_amo | is_load & ~hit & ~misses.match),
            self.request.payload.eq(data.View(request_shape, requests.r_data)),
            self.request.valid.eq(requests.r_rdy),
            requests.r_en.eq(self.request.ready),
        ]

        # All lines are forgotten, one set a cycle: after reset, at a launch, at a FENCE.
        with m.If(sweeping):
            m.d.comb += [
                valid_write.addr.eq(sweep_set), valid_write.data.eq(0),
                valid_write.en.eq((1 << ways) - 1),
            ]
            m.d.sync += sweep_set.eq(sweep_set + 1)
            with m.If(sweep_set == sets - 1):
                m.d.sync += sweeping.eq(0)
        # A sweep that is asked for during another need not begin anew: no line has come since.
        with m.If(is_fence | self.flush):
            m.d.sync += sweeping.eq(1)
        # In the short pipeline an answer waits in the L2, which is busy then.
        m.d.comb += [
            self.asking.eq(s1_valid | s2_valid | requests.w_en | requests.r_rdy),
            self.busy.eq(self.asking | amo_writes | r1_valid | sweeping | ~misses.empty
                         | self.access.valid | come.valid & config.long),
        ]

        started = Signal()
        m.d.sync += started.eq(1)
        reads_written = Signal()
        m.d.comb += reads_written.eq(
            (access.line[:set_bits] == r1_set) & tag_write.en.any()
            | (access.line == s2.line) & is_store & hit)
        with m.If(started):
            m.d.sync += [
                Assert(~requests.w_en | requests.w_rdy, "request queue overflow"),
                Assert(self.access.ready == ~causes.any(), "a pass waits for no cause"),
                Assert(~s2_valid | ((hit_ways & (hit_ways - 1)) == 0), "a line in two ways"),
                Assert(~sweeping | ~(r1_valid & r1_fill), "a line comes while all are forgotten"),
                Assert(~(take_access & uses_lines & reads_written), "a line is read and written"),
                Assert(~take_access | s0_is.as_value().any(), "local memory is in the first bank"),
            ]
        check_stream(m, self.request, name="request")
        check_stream(m, self.response, name="response")
        return m


def _is_local(kind):
    """Whether a pass of this kind accesses local memory."""
    return kind.local_load | kind.local_store | kind.local_amo
