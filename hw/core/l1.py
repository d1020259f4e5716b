"""The L1 data cache: non-blocking, write-through without write-allocate.

Passes and answers have a pipeline each, and share the way to the load queue and the writing of
lines. S0 takes a pass from the coalescer, S1 compares tags. A load that hits gives its line to the
load queue; one that misses waits in the MSHRs. A store goes on to the shared level and updates a
line that is here; an atomic goes on and drops it.

Local memory is read and stored to in S0; its words are there in S1. An atomic of local memory
computes the new words and writes them in S1, in which S0 takes no other pass of local memory.

R0 takes an answer of the shared level, R1 gives it to the load queue in a cycle in which S1 has
nothing for it: a miss, a store and an atomic leave such a cycle, so a load that is replayed costs
the passes nothing. The first replay of a line also installs it. From the time its line is on offer
until it is written, S0 takes no pass of its set.

A store or atomic that overtakes the fetch of its line makes that fetch stale: the loads that wait
for it, which came before, still take their words from it, but it is not kept, and loads that come
after fetch the line again. So a lane always sees its own stores and atomics.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.core.access import AccessOp, loaded_layout, pass_layout
from hw.core.local import LocalMemory
from hw.memory.amo import atomic
from hw.memory.miss import MissTable
from hw.memory.port import (LineOp, core_request_layout, core_response_layout,
                            line_layout)
from hw.memory.replacement import Replacement
from hw.util import and_or, check_stream, encode, index_bits, merge_bytes


__all__ = ["L1"]


#: Cycles that an answer may be kept from the load queue before S0 takes no pass.
PATIENCE = 8


def combine(m, op, lanes, values):
    """Reduce the values of the chosen lanes with an atomic's operation, in lane order.

    A balanced tree: ``(chosen, value)`` pairs are joined two by two.
    """
    level = [(lanes[i], values[i]) for i in range(len(values))]
    depth = 0
    while len(level) > 1:
        joined = []
        for i in range(0, len(level), 2):
            (low_valid, low), (high_valid, high) = level[i], level[i + 1]
            name = f"combine_{depth}_{i // 2}"
            both = atomic(m, op, low, high, name=name)
            value, valid = Signal(32, name=name), Signal(name=f"{name}_valid")
            m.d.comb += [
                valid.eq(low_valid | high_valid),
                value.eq(Mux(low_valid & high_valid, both, Mux(high_valid, high, low))),
            ]
            joined.append((valid, value))
        level = joined
        depth += 1
    return level[0][1]


class L1(wiring.Component):
    """L1 data cache and local memory.

    Latency: a pass that hits gives its line in the cycle after it is accepted; an answer in the
    cycle after it is accepted, or when S1 leaves room. Throughput: one pass a cycle, except that a
    load or store after a store to the same line waits a cycle, and so do a pass of local memory
    after an atomic of local memory, and a pass of a set in which a line is installed. A pass also
    waits when an answer has been kept from the load queue for :data:`PATIENCE` cycles.

    Members
    -------
    access : In(stream(pass_layout))
        Passes of memory instructions, in program order of each warp.
    loaded : Out(loaded_layout)
        A line for some lanes of a load; valid with ``loaded_valid``, and must be taken.
    loaded_valid : Out(1)
    request : Out(stream(core_request_layout))
        To the shared level, in the order of the passes.
    response : In(stream(core_response_layout))
        From the shared level. Never waits for ``request``.
    flush : In(1)
        Forget all lines (a launch).
    busy : Out(1)
        Something is under way.
    load_access, load_hit, store_access, local_access, atomic_access : Out(1)
        A pass of that kind was performed; one of local memory is a ``local_access`` only.
    atomic_lanes : Out
        Lanes whose atomics the pass performs.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            "access": In(stream.Signature(pass_layout(config))),
            "loaded": Out(loaded_layout(config)), "loaded_valid": Out(1),
            "request": Out(stream.Signature(core_request_layout(config))),
            "response": In(stream.Signature(core_response_layout(config))),
            "flush": In(1), "busy": Out(1),
            "load_access": Out(1), "load_hit": Out(1), "store_access": Out(1),
            "local_access": Out(1), "atomic_access": Out(1),
            "atomic_lanes": Out(range(config.threads + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        ways = config.l1_ways
        sets = config.l1_bytes // config.line_bytes // ways
        set_bits = ceil_log2(sets)
        line_bits = 32 - config.line_bits
        request_shape = core_request_layout(config)

        tag_bits = line_bits - set_bits
        m.submodules.tags = tags = Memory(shape=data.ArrayLayout(tag_bits, ways), depth=sets,
                                          init=[])
        tag_read, tag_write = tags.read_port(), tags.write_port(granularity=1)
        # Which ways of a set hold a line is known in S1, and in R1, without a slot of S0.
        m.submodules.valid = valid = Memory(shape=ways, depth=sets, init=[])
        s1_valid_read, r1_valid_read = (valid.read_port(domain="comb") for _ in range(2))
        valid_write = valid.write_port()
        line_reads, line_writes = [], []
        for way in range(ways):
            lines = Memory(shape=8 * config.line_bytes, depth=sets, init=[])
            m.submodules[f"lines_{way}"] = lines
            line_reads.append(lines.read_port())
            line_writes.append(lines.write_port())
        m.submodules.local = local = LocalMemory(config)
        m.submodules.replacement = replacement = Replacement(sets=sets, ways=ways)
        waiting_shape = data.StructLayout({
            "slot": index_bits(config.load_queue), "lanes": config.threads})
        m.submodules.misses = misses = MissTable(
            mshrs=config.l1_mshrs, entries=max(2 * config.l1_mshrs, config.load_queue),
            line_bits=line_bits, payload=waiting_shape)
        m.submodules.requests = requests = fifo.SyncFIFO(width=request_shape.size, depth=4)

        s1_valid, s1 = Signal(), Signal(pass_layout(config), reset_less=True)
        r1_valid, r1_fill, r1_replay = Signal(), Signal(), Signal()
        r1_line = Signal(line_bits, reset_less=True)
        r1 = Signal(loaded_layout(config), reset_less=True)
        r1_goes = Signal()
        patience = Signal(PATIENCE, init=(1 << PATIENCE) - 1)    # a bit for each cycle left
        sweeping = Signal(init=1)
        sweep_set = Signal(set_bits)

        # S0: what S1 or R1 is about to write is not read in the same cycle.
        access, answer = self.access.payload, self.response.payload
        line_came = Signal()
        take_answer, take_access = Signal(), Signal()
        same_line, hazard, installing = Signal(), Signal(), Signal()
        is_local_amo = Signal()
        wants_local = Signal()
        changed = Signal(line_layout(config))       # what an atomic of local memory leaves
        m.d.comb += [
            is_local_amo.eq(s1_valid & (s1.op == AccessOp.LOCAL_AMO)),
            wants_local.eq((access.op == AccessOp.LOCAL_LOAD) | (access.op == AccessOp.LOCAL_STORE)
                           | (access.op == AccessOp.LOCAL_AMO)),
            line_came.eq(self.response.valid & ~answer.tag.atomic),
            misses.replay_index.eq(answer.tag.mshr),
            same_line.eq(s1.line == access.line),
            hazard.eq(s1_valid & ((s1.op == AccessOp.STORE) & same_line
                                  & ((access.op == AccessOp.LOAD) | (access.op == AccessOp.STORE))
                                  | (s1.op == AccessOp.FENCE) | is_local_amo & wants_local)),
            installing.eq(
                line_came & misses.replay_first
                & ((misses.replay_line[:set_bits] == access.line[:set_bits])
                   | (access.op == AccessOp.FENCE))
                | r1_valid & r1_fill & ((r1_line[:set_bits] == access.line[:set_bits])
                                        | (access.op == AccessOp.FENCE))),
            self.access.ready.eq(
                ~sweeping & ~hazard & ~installing & (patience[0] | ~s1_valid)
                & (requests.level <= 2) & ((access.op != AccessOp.LOAD) | misses.ample
                                            | misses.room & ~(s1_valid
                                                              & (s1.op == AccessOp.LOAD)))),
            take_access.eq(self.access.valid & self.access.ready),
            tag_read.addr.eq(access.line[:set_bits]),
            tag_read.en.eq(take_access),
            local.enable.eq(take_access & wants_local | is_local_amo),
            local.rows.eq(Mux(is_local_amo, s1.rows, access.rows)),
            local.mask.eq(Mux(is_local_amo, s1.mask,
                              Mux(access.op == AccessOp.LOCAL_STORE, access.mask, 0))),
            local.write_data.eq(Mux(is_local_amo, changed, access.data)),
        ]
        for port in line_reads:
            m.d.comb += [port.addr.eq(access.line[:set_bits]), port.en.eq(take_access)]
        m.d.sync += s1_valid.eq(take_access)
        with m.If(take_access):
            m.d.sync += s1.eq(access)

        # R0: a load in S1 may just be joining the list of the line that has come, a store, atomic
        # or fence may be making it stale.
        m.d.comb += [
            take_answer.eq(self.response.valid & (~r1_valid | r1_goes)
                           & ~(line_came & s1_valid & ((s1.line == misses.replay_line)
                                                       | (s1.op == AccessOp.FENCE)))),
            misses.replay.eq(take_answer & line_came),
            self.response.ready.eq(take_answer & (answer.tag.atomic | misses.replay_last)),
        ]
        with m.If(take_answer):
            m.d.sync += [
                r1_valid.eq(1), r1_replay.eq(line_came),
                r1_fill.eq(line_came & misses.replay_first & ~misses.replay_stale),
                r1_line.eq(misses.replay_line), r1.line.eq(answer.data),
                r1.slot.eq(answer.tag.slot), r1.lanes.eq(1 << answer.tag.lane),
            ]
        with m.Elif(r1_goes):
            m.d.sync += r1_valid.eq(0)

        # S1: compare tags; act.
        hit_ways, valid_ways, hit = Signal(ways), Signal(ways), Signal()
        s1_set, s1_tag = s1.line[:set_bits], s1.line[set_bits:]
        is_load, is_store, is_amo, is_fence, is_local, is_local_load = (
            Signal(name=f"s1_is_{name}") for name in
            ("load", "store", "amo", "fence", "local", "local_load"))
        gives_line = Signal()
        m.d.comb += [
            s1_valid_read.addr.eq(s1_set),
            valid_ways.eq(s1_valid_read.data),
            hit_ways.eq(Cat(tag_read.data[i] == s1_tag for i in range(ways)) & valid_ways),
            hit.eq(hit_ways.any()),
            is_load.eq(s1_valid & (s1.op == AccessOp.LOAD)),
            is_store.eq(s1_valid & (s1.op == AccessOp.STORE)),
            is_amo.eq(s1_valid & (s1.op == AccessOp.AMO)),
            is_fence.eq(s1_valid & (s1.op == AccessOp.FENCE)),
            is_local_load.eq(s1_valid & (s1.op == AccessOp.LOCAL_LOAD)),
            is_local.eq(is_local_load | is_local_amo | s1_valid & (s1.op == AccessOp.LOCAL_STORE)),
            gives_line.eq(is_local_load | is_local_amo & s1.wanted | is_load & hit),
            misses.line.eq(s1.line),
            misses.payload.slot.eq(s1.slot),
            misses.payload.lanes.eq(s1.lanes),
            misses.insert.eq(is_load & ~hit),
            misses.stale.eq(is_store | is_amo),
            misses.stale_all.eq(is_fence | self.flush),
            self.load_access.eq(is_load), self.load_hit.eq(is_load & hit),
            self.store_access.eq(is_store), self.local_access.eq(is_local),
            self.atomic_access.eq(is_amo),
            self.atomic_lanes.eq(sum(s1.lanes[i] for i in range(config.threads))),
        ]

        with m.If(is_local_amo):
            for i in range(config.line_words):
                m.d.comb += changed[i].eq(atomic(m, s1.amo, local.read_data[i], s1.data[i],
                                                 compare=s1.compare, name=f"local_{i}"))

        # R1: give the answer to a load, and install its line. One line and one row of valid bits
        # can be written in a cycle: a store or atomic goes first.
        installs = Signal()
        r1_set, r1_tag = r1_line[:set_bits], r1_line[set_bits:]
        m.d.comb += [
            r1_goes.eq(r1_valid & ~gives_line & ~(r1_fill & (is_store | is_amo))),
            installs.eq(r1_goes & r1_fill),
            r1_valid_read.addr.eq(r1_set),
            replacement.set.eq(r1_set),
            replacement.valid.eq(r1_valid_read.data),
            replacement.touched_set.eq(Mux(installs, r1_set, s1_set)),
            replacement.touch.eq(Mux(installs, replacement.victim,
                                     Mux(is_load | is_store, hit_ways, 0))),
            tag_write.addr.eq(r1_set),
            tag_write.data.eq(Cat(r1_tag for _ in range(ways))),
            tag_write.en.eq(Mux(installs, replacement.victim, 0)),
            valid_write.addr.eq(Mux(is_amo, s1_set, r1_set)),
            valid_write.data.eq(Mux(is_amo, valid_ways & ~hit_ways,
                                    r1_valid_read.data | replacement.victim)),
            valid_write.en.eq(installs | is_amo),
        ]
        with m.If(r1_valid & ~r1_goes):
            m.d.sync += patience.eq(patience >> 1)
        with m.Else():
            m.d.sync += patience.eq(patience.init)

        hit_line, updated = Signal(config.line_bytes * 8), Signal(config.line_bytes * 8)
        with m.If(is_load | is_store):
            m.d.comb += hit_line.eq(and_or(hit_ways, [port.data for port in line_reads]))
        with m.If(is_store):
            # The line was read, so it is written whole: no byte enables in the memory.
            m.d.comb += updated.eq(merge_bytes(s1.mask, s1.data.as_value(), hit_line))
        with m.Else():
            m.d.comb += updated.eq(r1.line.as_value())
        for way, port in enumerate(line_writes):
            m.d.comb += [
                port.addr.eq(Mux(is_store, s1_set, r1_set)), port.data.eq(updated),
                port.en.eq(Mux(installs, replacement.victim[way], is_store & hit_ways[way])),
            ]

        # What loads take: a line that hits, local memory's words, or the answer.
        with m.If(gives_line):
            m.d.comb += [
                self.loaded.line.as_value().eq(
                    Mux(is_local, local.read_data.as_value(), hit_line)),
                self.loaded.slot.eq(s1.slot), self.loaded.lanes.eq(s1.lanes),
            ]
        with m.Else():
            m.d.comb += self.loaded.eq(r1)
            with m.If(r1_replay):
                m.d.comb += [self.loaded.slot.eq(misses.replay_payload.slot),
                             self.loaded.lanes.eq(misses.replay_payload.lanes)]
        m.d.comb += self.loaded_valid.eq(gives_line | r1_goes)

        # What the shared level is asked.
        asked = Signal(request_shape)
        operand = Signal(32)
        with m.If(is_amo):
            m.d.comb += operand.eq(combine(m, s1.amo, s1.lanes,
                                           [s1.data[i] for i in range(config.threads)]))
        lane = Signal(config.threads)
        m.d.comb += [
            lane.eq(s1.lanes),
            asked.op.eq(Mux(is_store, LineOp.WRITE, Mux(is_amo, LineOp.ATOMIC, LineOp.READ))),
            asked.amo.eq(s1.amo), asked.wanted.eq(s1.wanted),
            asked.line.eq(s1.line), asked.word.eq(s1.word), asked.mask.eq(s1.mask),
            asked.data.eq(s1.data),
            asked.tag.atomic.eq(is_amo), asked.tag.mshr.eq(misses.index),
            asked.tag.slot.eq(s1.slot), asked.tag.lane.eq(encode(lane)),
            requests.w_data.eq(asked),
            requests.w_en.eq(is_store | is_amo | is_load & ~hit & ~misses.match),
            self.request.payload.eq(data.View(request_shape, requests.r_data)),
            self.request.valid.eq(requests.r_rdy),
            requests.r_en.eq(self.request.ready),
        ]
        with m.If(is_amo):
            m.d.comb += [asked.data[0].eq(operand), asked.data[1].eq(s1.compare)]

        # Forgetting all lines, a set a cycle: after reset, at a launch, at a FENCE.
        with m.If(sweeping):
            m.d.comb += [
                valid_write.addr.eq(sweep_set), valid_write.data.eq(0), valid_write.en.eq(1),
            ]
            m.d.sync += sweep_set.eq(sweep_set + 1)
            with m.If(sweep_set == sets - 1):
                m.d.sync += sweeping.eq(0)
        with m.If(is_fence | self.flush):
            m.d.sync += [sweeping.eq(1), sweep_set.eq(0)]
        m.d.comb += self.busy.eq(s1_valid | r1_valid | sweeping | ~misses.empty | requests.r_rdy
                                 | self.access.valid)

        started = Signal()
        m.d.sync += started.eq(1)
        with m.If(started):
            m.d.sync += [
                Assert(~requests.w_en | requests.w_rdy, "request queue overflow"),
                Assert(~s1_valid | ((hit_ways & (hit_ways - 1)) == 0), "a line in two ways"),
                Assert(~sweeping | ~(r1_valid & r1_fill), "a line comes while all are forgotten"),
            ]
        check_stream(m, self.request, name="request")
        check_stream(m, self.response, name="response")
        return m
