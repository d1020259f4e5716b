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

With sectors, a line has a valid bit and a dirty bit for each. A request waits in the MSHRs, too, if
its line is there but not its sectors, and only the sectors that it needs are fetched. A line has
one MSHR that requests can join. A request joins it if a request for one of its sectors waits there,
so requests for a sector stay in order, or if its sectors are absent. A fill begins the replay of
the list and closes the MSHR. A replayed request is looked up like a new one. If its sectors are
still absent, it waits once more, in a new MSHR, and the requests behind it follow. The new MSHR
fetches what the rest of the list needs. New requests leave an MSHR free for it.

No fill ever waits for the memory port. Every MSHR holds a reservation in the write-back queue for
the victim that its fill may evict. So the memory port may refuse requests while it offers answers.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib import data, enum, fifo, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import and_or, count_ones, encode, lowest, merge_bytes
from hw.config import HardwareConfig
from hw.delays import AgingQueue
from hw.memory.amo import AmoControls, atomic, controls
from hw.memory.miss import MissTable, with_lines
from hw.memory.port import (LineOp, core_request_layout, core_response_layout, line_layout,
                            memory_request_layout, memory_response_layout, sector_bytes_of,
                            sectors_of, sectors_written)
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


class _Parts:
    """The memories and queues that several stages use, each a submodule of the bank, and the widths
    of the parts of an address."""
    def __init__(self, m, config, timing):
        self.ways, self.sets = BUFFER_WAYS, BUFFER_SETS
        if config.l2_bytes:
            self.ways = config.l2_ways
            self.sets = config.l2_bytes // config.line_bytes // config.l2_ways
        self.set_bits, self.line_bits = ceil_log2(self.sets), 32 - config.line_bits
        # Steps that have left S0 and have not reached the queues. In the long pipeline S0 sees the
        # queues' levels a cycle late.
        self.under_way = 2 + 2 * timing.extra
        sectors = config.sectors
        masked = sectors if sectors > 1 else 0      # bits that say which sectors of a line move
        self.tag_shape = data.StructLayout({
            "valid": sectors, "dirty": sectors, "tag": self.line_bits - self.set_bits})
        # No row is read in the cycle in which it is written (asserted below).
        unchecked = {"no_rw_check": 1}
        m.submodules.tags = tags = Memory(shape=data.ArrayLayout(self.tag_shape, self.ways),
                                          depth=self.sets, init=[], attrs=unchecked)
        self.tag_read, self.tag_write = tags.read_port(), tags.write_port(granularity=1)
        m.submodules.lines = lines = Memory(
            shape=8 * config.line_bytes, depth=self.sets * self.ways, init=[], attrs=unchecked)
        self.line_read, self.line_write = lines.read_port(), lines.write_port()
        m.submodules.misses = self.misses = MissTable(
            mshrs=config.l2_mshrs, entries=2 * config.l2_mshrs, line_bits=self.line_bits,
            payload=core_request_layout(config), sectors=sectors, ahead=timing.looks_ahead)
        m.submodules.replacement = self.replacement = Replacement(
            sets=self.sets, ways=self.ways, passing=config.scu > 0)
        self.fetch_shape = data.StructLayout({
            "line": self.line_bits, "tag": ceil_log2(config.l2_mshrs), "sectors": masked})
        m.submodules.fetches = self.fetches = fifo.SyncFIFO(
            width=self.fetch_shape.size, depth=config.l2_mshrs)
        self.victim_shape = data.StructLayout({
            "line": self.line_bits, "sectors": masked, "data": line_layout(config)})
        m.submodules.victims = self.victims = fifo.SyncFIFO(
            width=self.victim_shape.size, depth=config.l2_mshrs + self.under_way + 2)
        width = core_response_layout(config).size
        m.submodules.responses = self.responses = (
            AgingQueue(width=width, depth=RESPONSES, latency=config.l2_latency)
            if config.l2_latency else fifo.SyncFIFO(width=width, depth=RESPONSES))


        if sectors > 1:
            # The sectors that each MSHR has asked for.
            m.submodules.asked = asked = Memory(shape=sectors, depth=config.l2_mshrs, init=[])
            self.asked_write, self.asked_read = asked.write_port(), asked.read_port(domain="comb")


class _Sweep:
    """The walk over the sets that clears all tags after reset, and the walks of a flush. A flush
    writes back a dirty line of each set, then again until no set has another one."""
    def __init__(self, parts):
        self.sweeping, self.flushing = Signal(init=1, name="sweeping"), Signal(name="flushing")
        self.set = Signal(parts.set_bits, name="flush_set")     # the next set
        self.swept = Signal(name="swept")       # the last set's step has begun
        self.more = Signal(name="more")         # a set has another dirty line


class _Chosen:
    """The step that S0 chooses."""
    def __init__(self, parts):
        self.valid, self.step = Signal(name="s0_valid"), Signal(Step, name="s0_step")
        self.line = Signal(parts.line_bits, name="s0_line")
        self.flushes = Signal(name="flushes")
        # An atomic follows an atomic on its line without a gap. Both find the same tags, which the
        # memory's output keeps. The line comes from the first in S2: the memory is not read.
        self.follows = Signal(name="follows")


class _Looking:
    """A step in a cycle of S1, its line, and its request, new or replayed."""
    def __init__(self, config, parts, stage, **request):
        self.valid = Signal(name=f"{stage}_valid")
        # One-hot; zero without a step.
        self.is_ = {step: Signal(name=f"{stage}_{step.name.lower()}") for step in Step}
        self.line = Signal(parts.line_bits, name=f"{stage}_line", reset_less=True)
        self.request = Signal(core_request_layout(config), **request)
        # Of a fill: the sectors that have come. Of a replay: those that its list needs.
        self.came, self.listed = (Signal(config.sectors, name=f"{stage}_{name}", reset_less=True)
                                  for name in ("came", "listed"))

    @property
    def writes(self):
        """Whether the step may write its set: S1 writes the tags, then S2 writes the line."""
        return self.valid & ~((self.is_[Step.REQUEST] | self.is_[Step.REPLAY])
                              & (self.request.op == LineOp.READ))


class _Comparing(_Looking):
    """Packet that enters S1. ``taken`` is a new request; in a fill it has the line's data."""
    def __init__(self, config, parts):
        super().__init__(config, parts, "s1", name="active")
        self.step, self.follows = Signal(Step, name="s1_step"), Signal(name="s1_follows")
        self.taken = Signal(core_request_layout(config), name="s1_request", reset_less=True)


class _Acting(_Looking):
    """Packet that enters the second cycle of S1. In the short pipeline it is the first cycle."""
    def __init__(self, config, parts):
        super().__init__(config, parts, "act", name="act", reset_less=True)
        self.row = Signal(data.ArrayLayout(parts.tag_shape, parts.ways), name="row",
                          reset_less=True)
        self.compare = Signal(parts.ways, name="compare")       # tags that are the line's
        self.filled = Signal(line_layout(config), name="filled", reset_less=True)
        # The sectors that the request reads or writes, and those that it does not write whole.
        self.touches, self.needs = (Signal(config.sectors, name=name, reset_less=True)
                                    for name in ("touches", "needs"))


class _Way:
    """The action of a step in S1: the way that it takes, one-hot, and the way's old tag. ``hit``
    says that the line is there, with the sectors that the request needs."""
    def __init__(self, config, parts):
        self.way, self.hits, self.dirty = (Signal(parts.ways, name=name)
                                           for name in ("way", "hit_ways", "dirty_ways"))
        self.hit, self.installs, self.dirties, self.performed = (
            Signal(name=name) for name in ("hit", "installs", "dirties", "performed"))
        self.old = Signal(parts.tag_shape, name="old_tag")
        # The line's sectors that were there, and that are there after a fill.
        self.kept, self.valid = (Signal(config.sectors, name=name)
                                 for name in ("kept", "valid_sectors"))


class _Holding:
    """Packet that enters S2, which has the line."""
    def __init__(self, config, parts):
        self.valid, self.writes, self.atomic, self.answers, self.evicts, self.fills, \
            self.follows = (Signal(name=f"s2_{name}") for name in (
                "valid", "writes", "atomic", "answers", "evicts", "fills", "follows"))
        self.request = Signal(core_request_layout(config), name="s2_request", reset_less=True)
        self.address = Signal(len(parts.line_read.addr), name="s2_address", reset_less=True)
        self.victim = Signal(parts.line_bits, name="s2_victim", reset_less=True)
        self.dirty, self.kept = (Signal(config.sectors, name=f"s2_{name}", reset_less=True)
                                 for name in ("dirty", "kept"))
        self.filled = Signal(line_layout(config), name="s2_filled", reset_less=True)


class _Modifying:
    """Packet that enters the second cycle of S2. In the short pipeline it is the first cycle."""
    def __init__(self, config):
        self.valid = Signal(name="modifies")
        # The new line, with the old words of an atomic; and which words these are.
        self.line = Signal(line_layout(config), name="new_line", reset_less=True)
        self.words = Signal(config.line_words, name="word_select", reset_less=True)
        self.amo = Signal(AmoControls, name="amo", reset_less=True)


class L2Bank(wiring.Component):
    """A bank of the L2, with the atomic unit.

    Latency: a read that hits is answered three cycles after it is accepted, and ``l2_latency``
    cycles later. So is a read that misses, after the answer of memory.

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
        self._config, self._timing = config, Timing(config)
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
        parts = _Parts(m, config, self._timing)
        sweep = _Sweep(parts)
        come = with_lines(m, config, parts.misses, self.memory_response,
                          self.memory_response.payload.tag)
        # S0 looks at the steps in S1 and S2.
        s1, act, s2 = _Comparing(config, parts), _Acting(config, parts), _Holding(config, parts)
        s0 = self._choose(m, parts, sweep, come, [s1, act][:1 + self._timing.extra], s2)
        self._look_up(m, parts, s0, come, s1)
        self._compare(m, parts, s1, act)
        found = self._find(m, parts, act)
        self._allot(m, parts, sweep, act, found)
        self._read_line(m, parts, act, found, s1.follows, s2)
        modifying = self._answer(m, parts, s2)
        self._ask_memory(m, parts)
        self._sweep(m, sweep, s0, s1, act, found, ~Cat(
            s1.valid, act.valid, s2.valid, modifying.valid, ~parts.misses.empty,
            parts.fetches.r_rdy, parts.victims.r_rdy, parts.responses.r_rdy,
            self.memory_request.valid, self.request.valid).any())
        self._check(m, parts, s0, act, found)
        return m

    def _choose(self, m, parts, sweep, come, looking, s2):
        """S0: choose the next step. It waits for steps in S1 that write its set, and for room."""
        timing, misses, set_bits = self._timing, parts.misses, parts.set_bits
        s0, request, come_line = _Chosen(parts), self.request.payload, come.payload.line
        sectors = self._config.sectors
        # Fetches whose fill is not done; with sectors, a fill may ask again before it is done.
        outstanding = Signal(range(self._config.l2_mshrs + 2))
        writeback_room, response_room, miss_room, fill_ready = (
            Signal(name=name)
            for name in ("writeback_room", "response_room", "miss_room", "fill_ready"))
        # Steps that may take a place in the MSHRs. With sectors, replays may, and find one.
        inserting = Cat((one.valid & ~one.is_[Step.FLUSH] if sectors > 1 else
                         one.is_[Step.REQUEST]) for one in looking)
        least = count_ones(inserting) + (sectors > 1)
        compared = timing.compared(parts.line_bits, set_bits)

        def hazard(line):
            return Cat(one.writes & (one.line[:set_bits] == line[:set_bits])
                       for one in looking).any()
        m.d.sync += outstanding.eq(outstanding + parts.fetches.w_en - (s2.valid & s2.fills))
        m.d[timing.later] += [
            writeback_room.eq(parts.victims.level + outstanding + parts.under_way + 1
                              <= parts.victims.depth),
            response_room.eq(parts.responses.level <= parts.responses.depth - parts.under_way - 1),
        ]
        m.d.comb += [
            misses.replay_index.eq(come.payload.answer.tag),
            # Each request in S1 may take a place.
            miss_room.eq(misses.room[1] if len(looking) == 1 and sectors == 1 else
                         misses.room.bit_select(least, 1)),
            # A request in S1 may just be joining the list of the arrived line.
            fill_ready.eq(~Cat(one.is_[Step.REQUEST] & (one.line[compared] == come_line[compared])
                               for one in looking).any()),
            misses.replay.eq(come.valid & ~hazard(come_line) & response_room
                             & (fill_ready | ~misses.replay_first)),
            come.ready.eq(misses.replay & misses.replay_last),
            s0.flushes.eq(sweep.flushing & ~sweep.swept & ~sweep.sweeping & ~come.valid
                          & ~hazard(sweep.set) & writeback_room),
        ]
        if sectors > 1:
            m.d.comb += [misses.close.eq(misses.replay & misses.replay_first),
                         parts.asked_read.addr.eq(misses.replay_index)]
        with m.If(sweep.sweeping):
            pass
        with m.Elif(come.valid):
            m.d.comb += [s0.step.eq(Mux(misses.replay_first, Step.FILL, Step.REPLAY)),
                         s0.line.eq(come_line), s0.valid.eq(misses.replay)]
        with m.Elif(sweep.flushing):
            m.d.comb += [s0.step.eq(Step.FLUSH), s0.line.eq(sweep.set), s0.valid.eq(s0.flushes)]
        with m.Else():
            m.d.comb += [
                s0.step.eq(Step.REQUEST), s0.line.eq(request.line),
                self.request.ready.eq((~hazard(request.line) | s0.follows)
                                      & writeback_room & response_room & miss_room),
                s0.valid.eq(self.request.valid & self.request.ready),
            ]
            if timing.hands_lines_on:
                s1 = looking[0]
                m.d.comb += s0.follows.eq(
                    s1.is_[Step.REQUEST] & (s1.taken.op == LineOp.ATOMIC)
                    & (request.op == LineOp.ATOMIC) & (request.line == s1.line)
                    # The tags that both use must not change.
                    & (sectors_of(self._config, request.mask)
                       == sectors_of(self._config, s1.taken.mask)))
        return s0

    def _look_up(self, m, parts, s0, come, s1):
        """S0: read the tags of the set, and load the packet of S1."""
        looks = Signal()
        m.d.comb += [
            looks.eq(self._timing.needed(s0.valid)),
            parts.tag_read.addr.eq(s0.line[:parts.set_bits]),
            parts.tag_read.en.eq(looks & ~s0.follows),
        ]
        m.d.sync += s1.valid.eq(s0.valid)
        with m.If(looks):
            m.d.sync += [s1.step.eq(s0.step), s1.line.eq(s0.line), s1.follows.eq(s0.follows),
                         s1.taken.eq(self.request.payload),
                         *([s1.came.eq(parts.asked_read.data),
                            s1.listed.eq(parts.misses.replay_sectors)]
                           if self._config.sectors > 1 else [])]
            with m.If(s0.step == Step.FILL):
                m.d.sync += s1.taken.data.eq(come.payload.answer.data)

    def _compare(self, m, parts, s1, act):
        """S1: compare tags."""
        row, request, config = parts.tag_read.data, s1.request, self._config
        touches = sectors_of(config, request.mask)
        # A line that is not divided is one sector, which every fill brings.
        came, listed = (s1.came, Mux(s1.is_[Step.REQUEST], 0, s1.listed)) \
            if config.sectors > 1 else (1, 0)
        m.d.comb += [
            request.eq(Mux((s1.step == Step.FILL) | (s1.step == Step.REPLAY),
                           parts.misses.replay_payload, s1.taken)),
            parts.misses.line.eq(s1.line),
            *(bit.eq(s1.valid & (s1.step == step)) for step, bit in s1.is_.items()),
        ]
        m.d[self._timing.later] += [
            act.valid.eq(s1.valid), act.request.eq(request), act.line.eq(s1.line),
            *(act.is_[step].eq(bit) for step, bit in s1.is_.items()),
            act.row.eq(row), act.filled.eq(s1.taken.data),
            act.compare.eq(Cat(row[i].tag == s1.line[parts.set_bits:] for i in range(parts.ways))),
            act.touches.eq(touches), act.came.eq(came), act.listed.eq(listed),
            act.needs.eq(touches & ~Mux(request.op == LineOp.WRITE,
                                        sectors_written(config, request.mask), 0)),
        ]

    def _find(self, m, parts, act):
        """S1, acting: find the step's way."""
        misses, replacement, ways = parts.misses, parts.replacement, range(parts.ways)
        found = _Way(self._config, parts)
        is_fill, is_flush = act.is_[Step.FILL], act.is_[Step.FLUSH]
        op, act_set = act.request.op, act.line[:parts.set_bits]
        valid_ways = Signal(parts.ways)
        present, has_sectors, accesses = (Signal(name=name)
                                          for name in ("present", "has_sectors", "accesses"))
        waits = Signal()                    # behind requests for the same data
        m.d.comb += [
            accesses.eq(act.is_[Step.REQUEST] | act.is_[Step.REPLAY]),
            valid_ways.eq(Cat(act.row[i].valid.any() for i in ways)),
            found.hits.eq(act.compare & valid_ways), present.eq(found.hits.any()),
            found.kept.eq(and_or(found.hits, [act.row[i].valid for i in ways])),
            found.valid.eq(found.kept | Mux(is_fill, act.came, 0)),
            has_sectors.eq((act.needs & ~found.valid) == 0),
            waits.eq((misses.held & act.touches).any() if self._config.sectors > 1
                     else misses.match & ~present),
            found.hit.eq(present & has_sectors & ~waits),
            found.performed.eq(has_sectors & (is_fill | accesses & ~waits)),
            found.installs.eq((is_fill | found.performed) & ~present),
            found.dirties.eq(found.performed & (op != LineOp.READ)),
            found.dirty.eq(Cat(act.row[i].dirty.any() for i in ways)),
            found.way.eq(Mux(is_flush, lowest(m, found.dirty, name="flushed"),
                             Mux(found.installs, replacement.victim, found.hits))),
            found.old.eq(and_or(found.way, [act.row[i] for i in ways])),
            replacement.set.eq(act_set), replacement.touched_set.eq(act_set),
            replacement.valid.eq(valid_ways),
            replacement.touch.eq(Mux(act.valid & ~is_flush, found.way, 0)),
            *([replacement.once.eq(act.request.once)] if self._config.scu else []),
        ]
        return found

    def _allot(self, m, parts, sweep, act, found):
        """S1, acting: allot an MSHR to a miss, and write the way's tag."""
        misses, fetches, tag_write = parts.misses, parts.fetches, parts.tag_write
        is_request, is_fill, is_flush = (
            act.is_[step] for step in (Step.REQUEST, Step.FILL, Step.FLUSH))
        asks = Signal()
        fetched = Signal(parts.fetch_shape)
        dirty = Signal(self._config.sectors, name="dirty_sectors")  # once the step is done
        new_tag = Signal(parts.tag_shape)
        m.d[self._timing.later] += [fetches.w_en.eq(asks), fetches.w_data.eq(fetched)]
        m.d.comb += [
            misses.payload.eq(act.request),
            misses.insert.eq(act.valid & ~is_flush & ~found.performed),
            asks.eq(misses.insert & ~misses.match),
            fetched.line.eq(act.line), fetched.tag.eq(misses.index),
            self.access.eq(is_request), self.hit.eq(self.access & found.hit),
            self.memory_read.eq(fetches.w_en),
            dirty.eq(Mux(found.installs, 0, found.old.dirty) | Mux(found.dirties, act.touches, 0)),
            new_tag.valid.eq(Mux(
                is_flush, Mux(self.invalidate, 0, found.old.valid),
                found.valid | Mux(found.performed, act.touches, 0))),
            new_tag.dirty.eq(Mux(is_flush, 0, dirty)),
            new_tag.tag.eq(Mux(is_flush, found.old.tag, act.line[parts.set_bits:])),
            tag_write.addr.eq(act.line[:parts.set_bits]),
            tag_write.data.eq(Cat(new_tag for _ in range(parts.ways))),
            tag_write.en.eq(Mux(act.valid & (found.installs | is_fill | found.dirties | is_flush),
                                found.way, 0)
                            | Mux(is_flush & self.invalidate, ~found.dirty, 0)),
        ]
        if self._config.sectors > 1:
            # A request that waits once more asks for all that is not dirty. Then its sectors can
            # only be missing again if a dirty one was sent to memory, and none becomes dirty now.
            absent, together = ~found.valid, self._config.fetch_sectors
            wanted = Signal(self._config.sectors)
            m.d.comb += [
                wanted.eq(act.needs & ~Mux(is_request, found.valid, dirty) | act.listed & absent),
                fetched.sectors.eq(wanted | absent & Cat(
                    wanted[first:first + together].any().replicate(together)
                    for first in range(0, self._config.sectors, together))),
                misses.sectors.eq(act.touches | fetched.sectors),
                parts.asked_write.addr.eq(misses.index),
                parts.asked_write.data.eq(fetched.sectors), parts.asked_write.en.eq(asks),
            ]
        with m.If(sweep.sweeping):
            m.d.comb += [tag_write.addr.eq(sweep.set), tag_write.data.eq(0),
                         tag_write.en.eq((1 << parts.ways) - 1)]

    def _read_line(self, m, parts, act, found, follows, s2):
        """S1, acting: read the line, and load the packet of S2."""
        request, act_set, line_read = act.request, act.line[:parts.set_bits], parts.line_read
        m.d.comb += [
            line_read.addr.eq(Cat(act_set, encode(found.way, ceil_log2(parts.ways)))),
            line_read.en.eq(act.valid & ~follows),
        ]
        m.d.sync += s2.valid.eq(act.valid)
        with m.If(act.valid):
            m.d.sync += [
                s2.request.eq(request), s2.address.eq(line_read.addr),
                s2.writes.eq((found.performed & (request.op == LineOp.WRITE)) | found.installs
                             | act.is_[Step.FILL]),
                s2.atomic.eq(found.performed & (request.op == LineOp.ATOMIC)),
                s2.answers.eq(found.performed & ((request.op == LineOp.READ)
                                                 | ((request.op == LineOp.ATOMIC)
                                                    & request.wanted))),
                s2.evicts.eq((found.installs | act.is_[Step.FLUSH])
                             & (found.old.valid & found.old.dirty).any()),
                *([s2.kept.eq(found.kept), s2.dirty.eq(found.old.dirty)]
                  if self._config.sectors > 1 else []),
                s2.fills.eq(act.is_[Step.FILL]), s2.filled.eq(act.filled), s2.follows.eq(follows),
                s2.victim.eq(Cat(act_set, found.old.tag)),
            ]
            with m.If((request.op == LineOp.READ) | ~found.performed):
                m.d.sync += s2.request.mask.eq(0)

    def _answer(self, m, parts, s2):
        """S2: answer, evict and modify the line."""
        config, timing, request = self._config, self._timing, s2.request
        victims, responses, line_read, line_write = (parts.victims, parts.responses,
                                                     parts.line_read, parts.line_write)
        old_line = Signal(line_layout(config))
        merged = Signal(line_layout(config))
        left_line = Signal.like(line_write.data, reset_less=True)   # by the atomic before
        victim = Signal(parts.victim_shape)
        response = Signal(core_response_layout(config))
        writes = Signal()
        m.d.comb += [
            old_line.as_value().eq(merge_bytes(
                sector_bytes_of(config, Mux(s2.fills, ~s2.kept, 0)), s2.filled.as_value(),
                Mux(s2.follows, left_line, line_read.data)) if config.sectors > 1 else Mux(
                s2.fills, s2.filled.as_value(), Mux(s2.follows, left_line, line_read.data))),
            writes.eq(s2.valid & (s2.atomic | s2.writes)),
            response.tag.eq(request.tag), response.data.eq(old_line),
            responses.w_data.eq(response), responses.w_en.eq(s2.valid & s2.answers),
            victim.line.eq(s2.victim), victim.data.as_value().eq(line_read.data),
            victim.sectors.eq(s2.dirty),
            victims.w_data.eq(victim), victims.w_en.eq(s2.valid & s2.evicts),
            self.memory_write.eq(victims.w_en),
            self.response.payload.eq(data.View(core_response_layout(config), responses.r_data)),
            self.response.valid.eq(responses.r_rdy), responses.r_en.eq(self.response.ready),
        ]
        with m.If(writes):
            # The old line was read, so the whole line is written, without byte enables.
            m.d.comb += merged.as_value().eq(merge_bytes(
                Mux(s2.atomic, 0, request.mask), request.data.as_value(), old_line.as_value()))
        words = range(config.line_words)
        named = Cat(request.mask[4 * i] for i in words)     # the words of an atomic
        changing = _Modifying(config)
        m.d[timing.later] += [
            changing.valid.eq(writes), changing.line.eq(merged), line_write.addr.eq(s2.address),
            changing.amo.eq(controls(request.amo)), changing.words.eq(Mux(s2.atomic, named, 0)),
        ]
        new_words = self._perform(m, s2, old_line, named, changing)
        m.d.comb += line_write.en.eq(changing.valid)
        with m.If(changing.valid):
            m.d.comb += line_write.data.eq(Cat(
                Mux(changing.words[i], new_words[i], changing.line[i]) for i in words))
            if timing.hands_lines_on:
                m.d.sync += left_line.eq(line_write.data)
        return changing

    def _perform(self, m, s2, old_line, named, changing):
        """S2, modifying: the new words of an atomic."""
        config, later, words = self._config, self._timing.later, range(self._config.line_words)
        brought = s2.request.data
        if config.line_atomics:
            operands = Signal(line_layout(config), reset_less=True)
            m.d[later] += operands.eq(brought)
            with m.If(self._timing.needed(s2.atomic)):
                return [atomic(m, changing.amo, changing.line[i], operands[i],
                               compare=operands[i ^ 1], name=f"atomic_{i}") for i in words]
        old_word, operand, compared = (Signal(32, name=name, reset_less=True)
                                       for name in ("old_word", "operand", "compared"))
        m.d[later] += [
            old_word.eq(and_or(named, old_line)), operand.eq(and_or(named, brought)),
            compared.eq(and_or(named, [brought[i ^ 1] for i in words])),
        ]
        return [atomic(m, changing.amo, old_word, operand, compare=compared,
                       name="atomic")] * config.line_words

    def _ask_memory(self, m, parts):
        """The memory port: a victim goes before a fetch, because both may be for the same line."""
        out, fetches, victims = self.memory_request, parts.fetches, parts.victims
        sent = Signal(memory_request_layout(self._config), reset_less=True)
        m.d.comb += out.payload.eq(sent)
        fetch = data.View(parts.fetch_shape, fetches.r_data)
        evicted = data.View(parts.victim_shape, victims.r_data)
        with m.If(~out.valid | out.ready):
            m.d.comb += [victims.r_en.eq(1), fetches.r_en.eq(~victims.r_rdy)]
            m.d.sync += [
                out.valid.eq(victims.r_rdy | fetches.r_rdy),
                sent.write.eq(victims.r_rdy),
                sent.line.eq(Mux(victims.r_rdy, evicted.line, fetch.line)),
                sent.data.eq(evicted.data),
                sent.mask.eq((1 << self._config.line_bytes) - 1 if self._config.sectors == 1 else
                             sector_bytes_of(self._config, Mux(
                                 victims.r_rdy, evicted.sectors, fetch.sectors))),
                sent.tag.eq(fetch.tag),
            ]

    def _sweep(self, m, sweep, s0, s1, act, found, is_quiet):
        """Initialisation after reset, and flushes, which begin when nothing is under way."""
        quiet = Signal()
        flush_pending = Signal()
        is_last = sweep.set == (1 << len(sweep.set)) - 1
        m.d.comb += [
            quiet.eq(is_quiet),
            self.busy.eq(sweep.sweeping | sweep.flushing | flush_pending | ~quiet),
        ]
        with m.If(self.flush):
            m.d.sync += flush_pending.eq(1)
        with m.If(flush_pending & quiet & ~sweep.flushing & ~sweep.sweeping):
            m.d.sync += [flush_pending.eq(0), sweep.flushing.eq(1)]
        with m.If(sweep.sweeping):
            m.d.sync += sweep.set.eq(sweep.set + 1)
            with m.If(is_last):
                m.d.sync += sweep.sweeping.eq(0)
        with m.If(s0.flushes):
            m.d.sync += [sweep.set.eq(sweep.set + 1), sweep.swept.eq(is_last)]
        with m.If(act.is_[Step.FLUSH] & ((found.dirty & ~found.way) != 0)):
            m.d.sync += sweep.more.eq(1)
        with m.If(sweep.swept & ~s1.valid & ~act.valid):
            m.d.sync += [sweep.swept.eq(0), sweep.more.eq(0), sweep.flushing.eq(sweep.more)]

    def _check(self, m, parts, s0, act, found):
        """The assertions."""
        tag_read, tag_write = parts.tag_read, parts.tag_write
        line_read, line_write = parts.line_read, parts.line_write
        lost = Cat(act.row[i].dirty & ~act.row[i].valid for i in range(parts.ways))
        started = Signal()
        m.d.sync += started.eq(1)
        with m.If(started):
            m.d.sync += [
                Assert(~act.is_[Step.REPLAY] | found.hits.any(), "a replay misses its line"),
                *(Assert(~queue.w_en | queue.w_rdy, f"{name} queue overflow") for queue, name in (
                    (parts.victims, "write-back"), (parts.fetches, "fetch"),
                    (parts.responses, "response"))),
                Assert(~(s0.valid & tag_read.en & tag_write.en.any()
                         & (tag_read.addr == tag_write.addr)),
                       "tags are read and written"),
                Assert(~(line_read.en & line_write.en & (line_read.addr == line_write.addr)),
                       "a line is read and written"),
                Assert(~act.valid | ((found.hits & (found.hits - 1)) == 0), "a line in two ways"),
                Assert(~act.valid | (lost == 0), "no line, but dirty"),
            ]
        check_stream(m, self.memory_request, name="memory_request")
