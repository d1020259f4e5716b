"""A bank of the L2: a write-back cache that also performs the atomics.

The cache is one pipeline of three stages:

- S0 chooses the next step: the fill of a line that has come, together with the first access that
  waited for the line; another access that waited (a replay); a new request; or a step of a flush.
- S1 compares tags, allots a way or an MSHR and writes the tags.
- S2 has the line. S2 answers, modifies the line, or sends a victim to memory.

In the long pipeline S1 and S2 take two cycles each. S1 compares tags in its first cycle and acts in
its second cycle. S2 has the line in its first cycle, answers, and sends a victim to memory. S2
modifies the line in its second cycle. Memory's answers, with the addresses of their lines, pass a
buffer before S0.

A request whose line is absent waits in the MSHRs while later requests go on. Requests for one line
stay in order. So an atomic is one pass of S2, and a core's accesses to one address are performed in
the order in which the core sent them.

No fill ever waits for the memory port. Every MSHR holds a reservation in the write-back queue for
the victim that its fill may evict. So the memory port may refuse requests while it offers answers.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, enum, fifo, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import and_or, encode, lowest, merge_bytes
from hw.config import HardwareConfig
from hw.memory.amo import AmoControls, atomic, controls
from hw.memory.miss import MissTable, with_lines
from hw.memory.port import (LineOp, core_request_layout, core_response_layout, line_layout,
                            memory_request_layout, memory_response_layout)
from hw.memory.replacement import Replacement
from hw.streams import check_stream
from hw.timing import Timing


__all__ = ["L2Bank"]


#: Sets and ways of the line buffer that takes the cache's place if ``l2_bytes`` is 0.
BUFFER_SETS, BUFFER_WAYS = 4, 2

#: Answers that may wait for the core. A distributed memory (LUT RAM) has 16 words anyway.
RESPONSES = 16


class Step(enum.Enum, shape=2):
    """A step that passes through the pipeline."""
    REQUEST = 0
    REPLAY  = 1
    FILL    = 2
    FLUSH   = 3


class L2Bank(wiring.Component):
    """A bank of the L2, with the atomic unit.

    Latency: a read that hits is answered three cycles after it is accepted.

    Throughput: one request a cycle, with three exceptions. A request for a set that the request
    before it writes waits a cycle; with atomics of whole lines in the short pipeline, an atomic on
    the line of an atomic does not wait. A miss takes a slot when the request comes and a second
    slot when the line comes. If more than one request waits for a line, one cycle is lost between
    the first and the second.

    In the long pipeline each of these takes a cycle more, and so does a miss's request to memory.

    A flush takes three cycles, and for each sweep two cycles more than there are sets, in the long
    pipeline three. There are as many sweeps as a set has dirty lines, and one at least. A memory
    that refuses write-backs holds the flush up.

    Parameters
    ----------
    config : HardwareConfig
        With ``l2_bytes`` = 0, a buffer of eight lines takes the place of the cache.

    Members
    -------
    request : In(stream(core_request_layout))
        Requests of the cores and the SCU. A WRITE is posted. A READ that is accepted later
        sees the WRITE.
    response : Out(stream(core_response_layout))
        Answers to READs and wanted ATOMICs, in any order.
    memory_request : Out(stream(memory_request_layout))
        Line fetches and write-backs.
    memory_response : In(stream(memory_response_layout))
        The fetched lines, in any order.
    flush : In(1)
        Begin to write all dirty lines back, once no request is under way.
    invalidate : In(1)
        The flush also invalidates all lines. Must be held from ``flush`` until not ``busy``.
    busy : Out(1)
        A request, a flush or the initialisation after reset is under way.
    access, hit : Out(1)
        A new request was looked up; the new request hit.
    memory_read, memory_write : Out(1)
        A line fetch was sent towards the memory port; a write-back was sent.
    """
    def __init__(self, config: HardwareConfig):
        self._config = config
        super().__init__({
            "request": In(stream.Signature(core_request_layout(config))),
            "response": Out(stream.Signature(core_response_layout(config))),
            "memory_request": Out(stream.Signature(memory_request_layout(config))),
            "memory_response": In(stream.Signature(memory_response_layout(config))),
            "flush": In(1), "invalidate": In(1), "busy": Out(1),
            "access": Out(1), "hit": Out(1), "memory_read": Out(1), "memory_write": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        request_shape = core_request_layout(config)
        if config.l2_bytes:
            ways, sets = config.l2_ways, config.l2_bytes // config.line_bytes // config.l2_ways
        else:
            ways, sets = BUFFER_WAYS, BUFFER_SETS
        set_bits, way_bits = ceil_log2(sets), ceil_log2(ways)
        line_bits = 32 - config.line_bits
        later = Timing(config).later
        # Steps that have left S0 and have not reached the queues. In the long pipeline S0 sees the
        # queues' levels a cycle late.
        under_way = 4 if config.long else 2

        tag_shape = data.StructLayout({"valid": 1, "dirty": 1, "tag": line_bits - set_bits})
        # No row is read in the cycle in which it is written (asserted below).
        unchecked = {"no_rw_check": 1}
        m.submodules.tags = tags = Memory(shape=data.ArrayLayout(tag_shape, ways), depth=sets,
                                          init=[], attrs=unchecked)
        tag_read, tag_write = tags.read_port(), tags.write_port(granularity=1)
        m.submodules.lines = lines = Memory(shape=8 * config.line_bytes, depth=sets * ways,
                                            init=[], attrs=unchecked)
        line_read, line_write = lines.read_port(), lines.write_port()

        m.submodules.misses = misses = MissTable(
            mshrs=config.l2_mshrs, entries=2 * config.l2_mshrs, line_bits=line_bits,
            payload=request_shape, ahead=config.long)
        m.submodules.replacement = replacement = Replacement(
            sets=sets, ways=ways, passing=config.scu > 0)

        fetch_shape = data.StructLayout({"line": line_bits, "tag": ceil_log2(config.l2_mshrs)})
        m.submodules.fetches = fetches = fifo.SyncFIFO(width=fetch_shape.size,
                                                       depth=config.l2_mshrs)
        victim_shape = data.StructLayout({"line": line_bits, "data": line_layout(config)})
        victim_depth = config.l2_mshrs + under_way + 2
        m.submodules.victims = victims = fifo.SyncFIFO(width=victim_shape.size,
                                                       depth=victim_depth)
        m.submodules.responses = responses = fifo.SyncFIFO(
            width=core_response_layout(config).size, depth=RESPONSES)

        # S0: choose the next step.
        s1_valid = Signal()
        s1_step = Signal(Step)
        s1_request = Signal(request_shape, reset_less=True)
        s1_line = Signal(line_bits, reset_less=True)
        # An atomic follows an atomic on its line without a gap. Both find the same tags, which the
        # memory's output keeps. The line comes from the first in S2: the memory is not read.
        follows, s1_follows, s2_follows = (
            Signal(name=name) for name in ("follows", "s1_follows", "s2_follows"))
        active = Signal(request_shape)      # the request in S1, new or replayed
        # The step in each cycle of S1, one-hot; zero if the cycle has no step.
        s1_is, act_is = ({step: Signal(name=f"{name}_{step.name.lower()}") for step in Step}
                         for name in ("s1", "act"))
        # The second cycle of S1. In the short pipeline it is the first cycle.
        act_valid = Signal()
        act = Signal(request_shape, reset_less=True)
        act_line = Signal(line_bits, reset_less=True)
        s2_valid = Signal()

        # An arrived line and its address.
        come = with_lines(m, config, misses, self.memory_response,
                          self.memory_response.payload.tag)
        come_line = come.payload.line

        flushing = Signal()
        sweeping = Signal(init=1)
        # A flush writes back a dirty line of each set, then again until no set has another one.
        flush_set = Signal(set_bits)
        swept = Signal()        # the last set's step has begun
        more = Signal()         # a set has another dirty line
        outstanding = Signal(range(config.l2_mshrs + 1))        # fetches whose fill is not done

        writeback_room = Signal()
        response_room = Signal()
        miss_room = Signal()
        s0_valid = Signal()
        flushes = Signal()
        s0_step = Signal(Step)
        s0_line = Signal(line_bits)
        fill_ready = Signal()
        compared_bits = set_bits if config.long else line_bits
        looking = [(s1_valid, s1_is, s1_line, active)]
        if config.long:
            looking.append((act_valid, act_is, act_line, act))
        inserting = Cat(is_[Step.REQUEST] for _, is_, _, _ in looking)
        # S1 writes the tags, then S2 writes the line. The set is read after both writes.
        writing = [held & ~((is_[Step.REQUEST] | is_[Step.REPLAY]) & (one.op == LineOp.READ))
                   for held, is_, _, one in looking]

        def hazard(set_):
            return Cat(one & (line[:set_bits] == set_)
                       for one, (_, _, line, _) in zip(writing, looking)).any()

        m.d[later] += [
            writeback_room.eq(victims.level + outstanding + under_way + 1 <= victim_depth),
            response_room.eq(responses.level <= RESPONSES - under_way - 1),
        ]
        m.d.comb += [
            active.eq(Mux((s1_step == Step.FILL) | (s1_step == Step.REPLAY),
                          misses.replay_payload, s1_request)),
            misses.replay_index.eq(come.payload.answer.tag),
            miss_room.eq(misses.plenty | misses.ample & ~inserting.all()
                         | misses.room & ~inserting.any() if config.long else misses.ample),
            # A request in S1 may just be joining the list of the arrived line. The long pipeline
            # has no time to compare more than the set, so any request for the set counts.
            fill_ready.eq(~Cat(is_[Step.REQUEST]
                               & (line[:compared_bits] == come_line[:compared_bits])
                               for _, is_, line, _ in looking).any()),
            misses.replay.eq(come.valid & ~hazard(come_line[:set_bits]) & response_room
                             & (fill_ready | ~misses.replay_first)),
            come.ready.eq(misses.replay & misses.replay_last),
            flushes.eq(flushing & ~swept & ~sweeping & ~come.valid & ~hazard(flush_set)
                       & writeback_room),
        ]
        with m.If(sweeping):
            pass
        with m.Elif(come.valid):
            m.d.comb += [
                s0_step.eq(Mux(misses.replay_first, Step.FILL, Step.REPLAY)),
                s0_line.eq(come_line), s0_valid.eq(misses.replay),
            ]
        with m.Elif(flushing):
            m.d.comb += [s0_step.eq(Step.FLUSH), s0_line.eq(flush_set), s0_valid.eq(flushes)]
        with m.Else():
            m.d.comb += [
                s0_step.eq(Step.REQUEST), s0_line.eq(self.request.payload.line),
                self.request.ready.eq((~hazard(self.request.payload.line[:set_bits]) | follows)
                                      & writeback_room & response_room & miss_room),
                s0_valid.eq(self.request.valid & self.request.ready),
            ]
            if config.line_atomics and not config.long:
                m.d.comb += follows.eq(
                    s1_is[Step.REQUEST] & (s1_request.op == LineOp.ATOMIC)
                    & (self.request.payload.op == LineOp.ATOMIC)
                    & (self.request.payload.line == s1_line))
        looks = Signal()
        m.d.comb += [looks.eq(Timing(config).needed(s0_valid)),
                     tag_read.addr.eq(s0_line[:set_bits]), tag_read.en.eq(looks & ~follows)]
        m.d.sync += s1_valid.eq(s0_valid)
        with m.If(looks):
            m.d.sync += [
                s1_step.eq(s0_step), s1_line.eq(s0_line), s1_follows.eq(follows),
                s1_request.eq(self.request.payload),
            ]
            with m.If(s0_step == Step.FILL):
                m.d.sync += s1_request.data.eq(come.payload.answer.data)

        # S1: compare tags.
        compare = Signal(ways)
        row = Signal(data.ArrayLayout(tag_shape, ways), reset_less=True)
        filled = Signal(line_layout(config), reset_less=True)
        s1_tag = s1_line[set_bits:]
        m.d.comb += [misses.line.eq(s1_line),
                     *(bit.eq(s1_valid & (s1_step == step)) for step, bit in s1_is.items())]
        m.d[later] += [
            act_valid.eq(s1_valid), act.eq(active), act_line.eq(s1_line),
            *(act_is[step].eq(bit) for step, bit in s1_is.items()),
            row.eq(tag_read.data), filled.eq(s1_request.data),
            compare.eq(Cat(tag_read.data[i].tag == s1_tag for i in range(ways))),
        ]

        # S1, acting: allot a way or an MSHR, write tags.
        valid_ways = Signal(ways)
        dirty_ways = Signal(ways)
        hit_ways = Signal(ways)
        hit = Signal()
        installs = Signal()
        way = Signal(ways)
        dirties = Signal()
        is_fill, is_flush, is_request = (act_is[step]
                                         for step in (Step.FILL, Step.FLUSH, Step.REQUEST))
        accesses = Signal()
        wants_line = Signal()
        act_set, act_tag = act_line[:set_bits], act_line[set_bits:]
        whole_line = Signal(reset_less=True)
        whole = Signal()                    # a write of the whole line: no fetch
        m.d[later] += whole_line.eq((active.op == LineOp.WRITE) & active.mask.all())
        m.d.comb += [
            accesses.eq(is_request | act_is[Step.REPLAY]),
            valid_ways.eq(Cat(row[i].valid for i in range(ways))),
            hit_ways.eq(compare & valid_ways),
            hit.eq(hit_ways.any()),
            whole.eq(whole_line & ~misses.match),
            installs.eq(is_fill | (accesses & ~hit & whole)),
            dirty_ways.eq(Cat(row[i].dirty for i in range(ways))),
            way.eq(Mux(is_flush, lowest(m, dirty_ways, name="flushed"),
                       Mux(installs, replacement.victim, hit_ways))),
            dirties.eq((accesses | is_fill) & (act.op != LineOp.READ)),
            replacement.set.eq(act_set), replacement.touched_set.eq(act_set),
            replacement.valid.eq(valid_ways),
            replacement.touch.eq(Mux(act_valid & ~is_flush, way, 0)),
            *([replacement.once.eq(act.once)] if config.scu else []),
            misses.payload.eq(act),
            wants_line.eq(is_request & ~hit),
            misses.insert.eq(wants_line & (misses.match | ~whole_line)),
            self.access.eq(is_request),
            self.hit.eq(self.access & hit),
            self.memory_read.eq(fetches.w_en),
        ]
        m.d[later] += [fetches.w_en.eq(wants_line & ~misses.match & ~whole_line),
                       fetches.w_data.eq(Cat(act_line, misses.index))]
        old_tag = Signal(tag_shape)
        new_tag = Signal(tag_shape)
        m.d.comb += [
            old_tag.eq(and_or(way, [row[i] for i in range(ways)])),
            new_tag.valid.eq(Mux(is_flush, old_tag.valid & ~self.invalidate, 1)),
            new_tag.dirty.eq(Mux(is_flush, 0, (old_tag.dirty & ~installs) | dirties)),
            new_tag.tag.eq(Mux(is_flush, old_tag.tag, act_tag)),
            tag_write.addr.eq(act_set),
            tag_write.data.eq(Cat(new_tag for _ in range(ways))),
            tag_write.en.eq(Mux(act_valid & (installs | (dirties & hit) | is_flush), way, 0)
                            | Mux(is_flush & self.invalidate, ~dirty_ways, 0)),
            line_read.addr.eq(Cat(act_set, encode(way, way_bits))),
            line_read.en.eq(act_valid & ~s1_follows),
        ]
        with m.If(sweeping):
            m.d.comb += [
                tag_write.addr.eq(flush_set), tag_write.data.eq(0),
                tag_write.en.eq((1 << ways) - 1),
            ]

        # S2: answer, modify, evict.
        s2_request = Signal(request_shape, reset_less=True)
        s2_address = Signal(set_bits + way_bits, reset_less=True)
        s2_writes, s2_atomic, s2_answers, s2_evicts, s2_fills = (
            Signal(name=f"s2_{name}") for name in
            ("writes", "atomic", "answers", "evicts", "fills"))
        s2_victim = Signal(line_bits, reset_less=True)
        s2_filled = Signal(line_layout(config), reset_less=True)
        performed = Signal()
        m.d.comb += performed.eq(is_fill | accesses & (hit | whole))
        m.d.sync += s2_valid.eq(act_valid)
        with m.If(act_valid):
            m.d.sync += [
                s2_request.eq(act),
                s2_address.eq(line_read.addr),
                s2_writes.eq((performed & (act.op == LineOp.WRITE)) | installs),
                s2_atomic.eq(performed & (act.op == LineOp.ATOMIC)),
                s2_answers.eq(performed & ((act.op == LineOp.READ)
                                           | ((act.op == LineOp.ATOMIC) & act.wanted))),
                s2_evicts.eq((installs | is_flush) & old_tag.valid & old_tag.dirty),
                s2_fills.eq(is_fill), s2_filled.eq(filled), s2_follows.eq(s1_follows),
                s2_victim.eq(Cat(act_set, old_tag.tag)),
            ]
            with m.If(act.op == LineOp.READ):
                m.d.sync += s2_request.mask.eq(0)

        old_line = Signal(line_layout(config))
        left_line = Signal.like(line_write.data, reset_less=True)   # by the atomic before
        merged = Signal(line_layout(config))
        victim = Signal(victim_shape)
        response = Signal(core_response_layout(config))
        writes = Signal()
        m.d.comb += [
            old_line.as_value().eq(Mux(s2_fills, s2_filled.as_value(), Mux(
                s2_follows, left_line, line_read.data))),
            writes.eq(s2_valid & (s2_atomic | s2_writes)),
            response.tag.eq(s2_request.tag),
            response.data.eq(old_line),
            responses.w_data.eq(response),
            responses.w_en.eq(s2_valid & s2_answers),
            victim.line.eq(s2_victim),
            victim.data.as_value().eq(line_read.data),
            victims.w_data.eq(victim),
            victims.w_en.eq(s2_valid & s2_evicts),
            self.memory_write.eq(victims.w_en),
            self.response.payload.eq(data.View(core_response_layout(config), responses.r_data)),
            self.response.valid.eq(responses.r_rdy),
            responses.r_en.eq(self.response.ready),
        ]
        with m.If(writes):
            # The old line was read, so the whole line is written, without byte enables.
            m.d.comb += merged.as_value().eq(merge_bytes(
                Mux(s2_atomic, 0, s2_request.mask), s2_request.data.as_value(),
                old_line.as_value()))

        # S2, modifying. ``new_line`` has the old words of an atomic.
        words = range(config.line_words)
        named = Cat(s2_request.mask[4 * i] for i in words)      # the words of an atomic
        modifies = Signal()
        new_line = Signal(line_layout(config), reset_less=True)
        amo = Signal(AmoControls, reset_less=True)
        word_select = Signal(config.line_words, reset_less=True)
        m.d[later] += [
            modifies.eq(writes), new_line.eq(merged), line_write.addr.eq(s2_address),
            amo.eq(controls(s2_request.amo)), word_select.eq(Mux(s2_atomic, named, 0)),
        ]
        if config.line_atomics:
            operands = Signal(line_layout(config), reset_less=True)
            m.d[later] += operands.eq(s2_request.data)
            with m.If(Timing(config).needed(s2_atomic)):
                new_words = [atomic(m, amo, new_line[i], operands[i], compare=operands[i ^ 1],
                                    name=f"atomic_{i}") for i in words]
        else:
            old_word, operand, compared = (Signal(32, name=name, reset_less=True)
                                           for name in ("old_word", "operand", "compared"))
            m.d[later] += [
                old_word.eq(and_or(named, old_line)), operand.eq(and_or(named, s2_request.data)),
                compared.eq(and_or(named, [s2_request.data[i ^ 1] for i in words])),
            ]
            new_words = [atomic(m, amo, old_word, operand, compare=compared, name="atomic")
                         ] * config.line_words
        m.d.comb += line_write.en.eq(modifies)
        with m.If(modifies):
            m.d.comb += line_write.data.eq(Cat(
                Mux(word_select[i], new_words[i], new_line[i]) for i in words))
            if config.line_atomics and not config.long:
                m.d.sync += left_line.eq(line_write.data)
        m.d.sync += outstanding.eq(outstanding + fetches.w_en - (s2_valid & s2_fills))

        # The memory port: a victim goes before a fetch, because both may be for the same line.
        out = self.memory_request
        sent = Signal(memory_request_layout(config), reset_less=True)
        m.d.comb += out.payload.eq(sent)
        fetch = data.View(fetch_shape, fetches.r_data)
        evicted = data.View(victim_shape, victims.r_data)
        with m.If(~out.valid | out.ready):
            m.d.comb += [
                victims.r_en.eq(1),
                fetches.r_en.eq(~victims.r_rdy),
            ]
            m.d.sync += [
                out.valid.eq(victims.r_rdy | fetches.r_rdy),
                sent.write.eq(victims.r_rdy),
                sent.line.eq(Mux(victims.r_rdy, evicted.line, fetch.line)),
                sent.data.eq(evicted.data),
                sent.mask.eq((1 << config.line_bytes) - 1),
                sent.tag.eq(fetch.tag),
            ]

        # Initialisation after reset, and flushes.
        quiet = Signal()
        flush_pending = Signal()
        m.d.comb += [
            quiet.eq(~s1_valid & ~act_valid & ~s2_valid & ~modifies & misses.empty
                     & ~fetches.r_rdy & ~victims.r_rdy & ~responses.r_rdy
                     & ~out.valid & ~self.request.valid),
            self.busy.eq(sweeping | flushing | flush_pending | ~quiet),
        ]
        with m.If(self.flush):
            m.d.sync += flush_pending.eq(1)
        with m.If(flush_pending & quiet & ~flushing & ~sweeping):
            m.d.sync += [flush_pending.eq(0), flushing.eq(1)]
        with m.If(sweeping):
            m.d.sync += flush_set.eq(flush_set + 1)
            with m.If(flush_set == sets - 1):
                m.d.sync += sweeping.eq(0)
        with m.If(flushes):
            m.d.sync += [flush_set.eq(flush_set + 1), swept.eq(flush_set == sets - 1)]
        with m.If(is_flush & ((dirty_ways & ~way) != 0)):
            m.d.sync += more.eq(1)
        with m.If(swept & ~s1_valid & ~act_valid):
            m.d.sync += [swept.eq(0), more.eq(0), flushing.eq(more)]

        started = Signal()
        m.d.sync += started.eq(1)
        with m.If(started):
            m.d.sync += [
                Assert(~act_is[Step.REPLAY] | hit, "a replay misses"),
                Assert(~victims.w_en | victims.w_rdy, "write-back queue overflow"),
                Assert(~fetches.w_en | fetches.w_rdy, "fetch queue overflow"),
                Assert(~responses.w_en | responses.w_rdy, "response queue overflow"),
                Assert(~(s0_valid & tag_read.en & tag_write.en.any()
                         & (tag_read.addr == tag_write.addr)),
                       "tags are read and written"),
                Assert(~(line_read.en & line_write.en & (line_read.addr == line_write.addr)),
                       "a line is read and written"),
                Assert(~act_valid | ((hit_ways & (hit_ways - 1)) == 0), "a line in two ways"),
                Assert(~act_valid | ((dirty_ways & ~valid_ways) == 0), "no line, but dirty"),
            ]
        check_stream(m, self.memory_request, name="memory_request")
        return m
