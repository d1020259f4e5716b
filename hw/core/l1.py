"""The L1 data cache: non-blocking, write-through without write-allocate.

S0 takes a pass from the coalescer, or, first, an answer from the shared level. S1 compares tags. A
load that hits gives its line to the load queue; one that misses waits in the MSHRs and is replayed
from the line that comes. A store goes on to the shared level and updates a line that is here; an
atomic goes on and drops it.

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
from hw.memory.port import LineOp, core_request_layout, core_response_layout
from hw.memory.replacement import Replacement
from hw.util import and_or, encode, index_bits, merge_bytes


__all__ = ["L1"]


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

    Latency: a pass that hits gives its line in the cycle after it is accepted. Throughput: one
    pass a cycle, except that a load after a store or atomic to the same line, and a store after a
    store, wait a cycle. When the line of a miss comes, each load that waited takes one more slot,
    and what follows the first in the same set waits a cycle.

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
        A pass of that kind was performed.
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
        set_bits, way_bits = ceil_log2(sets), ceil_log2(ways)
        line_bits = 32 - config.line_bits
        request_shape = core_request_layout(config)

        tag_shape = data.StructLayout({"valid": 1, "tag": line_bits - set_bits})
        m.submodules.tags = tags = Memory(shape=data.ArrayLayout(tag_shape, ways), depth=sets,
                                          init=[])
        tag_read, tag_write = tags.read_port(), tags.write_port(granularity=1)
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

        # S0: an answer goes before a new pass.
        s1_valid, s1_new, s1_replay, s1_fill = (
            Signal(name=f"s1_{name}") for name in ("valid", "new", "replay", "fill"))
        s1 = Signal(pass_layout(config), reset_less=True)
        s1_stale = Signal()
        sweeping = Signal(init=1)
        sweep_set = Signal(set_bits)

        answer = self.response.payload
        line_came = Signal()
        take_answer, take_access = Signal(), Signal()
        s0_line = Signal(line_bits)
        same_line, reads_line, rewrites_line = Signal(), Signal(), Signal()
        hazard = Signal()
        m.d.comb += [
            line_came.eq(self.response.valid & ~answer.tag.atomic),
            misses.replay_index.eq(answer.tag.mshr),
            # What S1 writes is not read in the same cycle: a fill writes tags and a line of its
            # set, a store its line, an atomic the valid bit of its line; a store or atomic also
            # makes a fetch of its line stale. What does not read the line need not know that an
            # atomic drops it.
            same_line.eq(s1.line == s0_line),
            reads_line.eq(line_came | (self.access.payload.op == AccessOp.LOAD)),
            rewrites_line.eq(self.access.payload.op == AccessOp.STORE),
            hazard.eq(
                s1_valid & ((s1_fill & (s1.line[:set_bits] == s0_line[:set_bits]))
                            | (s1_new & (s1.op == AccessOp.STORE) & same_line
                               & (reads_line | rewrites_line))
                            | (s1_new & (s1.op == AccessOp.AMO) & same_line & reads_line)
                            | (s1_new & (s1.op == AccessOp.FENCE)))),
            s0_line.eq(Mux(line_came, misses.replay_line, self.access.payload.line)),
            # A load in S1 may just be joining the list of the line that has come.
            take_answer.eq(self.response.valid & ~sweeping & ~hazard
                           & ~(line_came & s1_valid & s1_new & (s1.op == AccessOp.LOAD)
                               & (s1.line == misses.replay_line))),
            misses.replay.eq(take_answer & line_came),
            self.response.ready.eq(take_answer & (answer.tag.atomic | misses.replay_last)),
            self.access.ready.eq(~self.response.valid & ~sweeping & ~hazard & misses.room
                                 & (requests.level <= 2)),
            take_access.eq(self.access.valid & self.access.ready),
            tag_read.addr.eq(s0_line[:set_bits]),
            tag_read.en.eq(take_answer | take_access),
            local.enable.eq(take_access & ((self.access.payload.op == AccessOp.LOCAL_LOAD)
                                           | (self.access.payload.op == AccessOp.LOCAL_STORE))),
            local.rows.eq(self.access.payload.rows),
            local.mask.eq(Mux(self.access.payload.op == AccessOp.LOCAL_STORE,
                              self.access.payload.mask, 0)),
            local.write_data.eq(self.access.payload.data),
        ]
        for port in line_reads:
            m.d.comb += [port.addr.eq(s0_line[:set_bits]), port.en.eq(take_access)]
        m.d.sync += [
            s1_valid.eq(take_answer | take_access),
            s1_new.eq(take_access),
            s1_replay.eq(take_answer & line_came),
            s1_fill.eq(take_answer & line_came & misses.replay_first),
            s1_stale.eq(misses.replay_stale),
        ]
        with m.If(take_access):
            m.d.sync += s1.eq(self.access.payload)
        with m.Elif(take_answer):
            m.d.sync += [
                s1.line.eq(s0_line), s1.data.eq(answer.data), s1.slot.eq(answer.tag.slot),
                s1.lanes.eq(1 << answer.tag.lane),
            ]

        # S1: compare tags; act.
        hit_ways, valid_ways, hit = Signal(ways), Signal(ways), Signal()
        s1_set, s1_tag = s1.line[:set_bits], s1.line[set_bits:]
        is_load, is_store, is_amo, is_fence, is_local, is_local_load = (
            Signal(name=f"s1_is_{name}") for name in
            ("load", "store", "amo", "fence", "local", "local_load"))
        new = s1_valid & s1_new
        installs = Signal()
        m.d.comb += [
            valid_ways.eq(Cat(tag_read.data[i].valid for i in range(ways))),
            hit_ways.eq(Cat(tag_read.data[i].tag == s1_tag for i in range(ways)) & valid_ways),
            hit.eq(hit_ways.any()),
            is_load.eq(new & (s1.op == AccessOp.LOAD)),
            is_store.eq(new & (s1.op == AccessOp.STORE)),
            is_amo.eq(new & (s1.op == AccessOp.AMO)),
            is_fence.eq(new & (s1.op == AccessOp.FENCE)),
            is_local_load.eq(new & (s1.op == AccessOp.LOCAL_LOAD)),
            is_local.eq(is_local_load | new & (s1.op == AccessOp.LOCAL_STORE)),
            installs.eq(s1_valid & s1_fill & ~s1_stale),
            replacement.set.eq(s1_set),
            replacement.valid.eq(valid_ways),
            replacement.touch.eq(Mux(installs, replacement.victim,
                                     Mux(is_load | is_store, hit_ways, 0))),
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
        tag = Signal(tag_shape)
        m.d.comb += [
            tag.valid.eq(installs), tag.tag.eq(s1_tag),
            tag_write.addr.eq(s1_set),
            tag_write.data.eq(Cat(tag for _ in range(ways))),
            tag_write.en.eq(Mux(installs, replacement.victim, Mux(is_amo, hit_ways, 0))),
        ]
        hit_line = Signal(config.line_bytes * 8)
        updated = Signal(config.line_bytes * 8)
        with m.If(is_load | is_store):
            m.d.comb += hit_line.eq(and_or(hit_ways, [port.data for port in line_reads]))
        with m.If(is_store):
            # The line was read, so it is written whole: no byte enables in the memory.
            m.d.comb += updated.eq(merge_bytes(s1.mask, s1.data.as_value(), hit_line))
        with m.Else():
            m.d.comb += updated.eq(s1.data.as_value())
        for way, port in enumerate(line_writes):
            m.d.comb += [
                port.addr.eq(s1_set), port.data.eq(updated),
                port.en.eq(Mux(installs, replacement.victim[way], is_store & hit_ways[way])),
            ]

        # What loads take: a line that hits, local memory's words, or the answer itself.
        m.d.comb += [
            self.loaded.line.as_value().eq(
                Mux(~s1_new, s1.data.as_value(),
                    Mux(is_local_load, local.read_data.as_value(), hit_line))),
            self.loaded.slot.eq(Mux(s1_replay, misses.replay_payload.slot, s1.slot)),
            self.loaded.lanes.eq(Mux(s1_replay, misses.replay_payload.lanes, s1.lanes)),
            self.loaded_valid.eq(s1_valid & (~s1_new | is_local_load | is_load & hit)),
        ]

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
            m.d.comb += asked.data[0].eq(operand)

        # Forgetting all lines, a set a cycle: after reset, at a launch, at a FENCE.
        with m.If(sweeping):
            m.d.comb += [
                tag_write.addr.eq(sweep_set), tag_write.data.eq(0),
                tag_write.en.eq((1 << ways) - 1),
            ]
            m.d.sync += sweep_set.eq(sweep_set + 1)
            with m.If(sweep_set == sets - 1):
                m.d.sync += sweeping.eq(0)
        with m.If(is_fence | self.flush):
            m.d.sync += [sweeping.eq(1), sweep_set.eq(0)]
        m.d.comb += self.busy.eq(s1_valid | sweeping | ~misses.empty | requests.r_rdy
                                 | self.access.valid)

        started = Signal()
        m.d.sync += started.eq(1)
        with m.If(started):
            m.d.sync += [
                Assert(~requests.w_en | requests.w_rdy, "request queue overflow"),
                Assert(~s1_valid | ((hit_ways & (hit_ways - 1)) == 0), "a line in two ways"),
            ]
        return m
