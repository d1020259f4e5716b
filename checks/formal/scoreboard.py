"""The promise of the scoreboard as assertions: no picked instruction waits for a result.

The harness holds a scheduler behind a decoder. For each warp it knows the instructions in the
warp's buffer and the registers whose results are missing. It also knows whether the warp has an
unresolved instruction that may change the PC or the thread mask. Instruction words, results, busy
units, launches and halts are free. The harness looks up the registers of a word in the instruction
table and does not use the decoder for this. The harness assumes the core's behavior: a word comes
in the cycle after its warp may fetch, except at a launch; a warp is resumed when its last
instruction, which may change PC or mask, has been picked.
"""

import dataclasses
from functools import reduce
from operator import or_

from amaranth.hdl import (Array, Assert, Assume, Cat, Const, Cover, Module, Mux, ResetSignal,
                          Signal, Value)
from amaranth.lib import data
from amaranth.lib.wiring import In
from amaranth.utils import ceil_log2

from checks.formal.harness import Harness
from hw.bits import index_bits
from hw.core.decode import Decoder, Predecoder, decoded_layout, second_destination
from hw.core.scheduler import Scheduler
from hw.isa import FLOAT_CSRS, INSTRUCTIONS, csrs, writable_csrs
from hw.operations import Format


__all__ = ["ScoreboardPromise"]


class ScoreboardPromise(Harness):
    """A scheduler with its decoder, and its promise."""
    def _ports(self, config):
        warps, warp_bits = config.warps, index_bits(config.warps)
        return {
            "launch": In(1), "halt": In(1), "active": In(warps), "resume": In(warps),
            "fetched": In(1), "warp": In(warp_bits), "pc": In(ceil_log2(config.imem_bytes)),
            "word": In(32), "unit_ready": In(len(config.units)), "barred": In(len(config.units)),
            "written": In(1), "written_warp": In(warp_bits), "written_rd": In(5),
        }

    def _named(self, m):
        """Look up ``word`` in the instruction table.

        Returns the registers that the word names (a bit each, without x0), the registers that it
        writes (likewise), and whether the word may change the PC or the mask.
        """
        word = self.word
        fields = {"1": word[15:20], "2": word[20:25], "3": word[27:32]}
        reads = {source: Signal(name=f"reads_{source}") for source in fields}
        writes, writes_rs2, known, control = (Signal(name=name) for name in (
            "writes", "writes_rs2", "known", "control"))
        rows = [row for row in INSTRUCTIONS if row.exists(self._config)]
        # An unknown CSR, or a write to a read-only CSR, makes a word illegal.
        config = self._config
        exists, may_write = (Cat(word[20:] == csr for csr in some).any()
                             for some in (csrs(config), writable_csrs(config)))
        writes_csr = (word[12:14] == 1) | (word[15:20] != 0)
        legal = exists & (~writes_csr | may_write)
        rounds = (word[12:15] <= 4) | (word[12:15] == 7)
        match = {row.name: ((word & row.mask) == row.match)
                 & (legal if row.format in (Format.CSR, Format.CSI) else
                    rounds if row.rounds else 1) for row in rows}
        # Flags without a result, behind which nothing may follow; and accesses to flags, which
        # wait for all registers.
        only_flags, flags = Signal(), Signal()
        if config.floats:
            m.d.comb += [
                only_flags.eq((word[7:12] == 0)
                              & Cat(match[row.name] for row in rows if row.is_float).any()),
                flags.eq(Cat(match[row.name] for row in rows
                             if row.format in (Format.CSR, Format.CSI)).any()
                         & Cat(word[20:] == csr for csr in FLOAT_CSRS).any()),
            ]
        m.d.comb += [
            known.eq(reduce(or_, match.values())),
            writes.eq(Cat(match[row.name] for row in rows if row.writes).any()),
            writes_rs2.eq(Cat(match[row.name] for row in rows if row.writes_rs2).any()),
            # An illegal word stops the core, so no instruction may follow the word.
            control.eq(~known | only_flags
                       | Cat(match[row.name] for row in rows if row.control).any()),
        ]
        for source, signal in reads.items():
            m.d.comb += signal.eq(Cat(match[row.name] for row in rows
                                      if source in row.reads).any())
        written = Signal(32)
        named = Signal(32)
        m.d.comb += [
            written.eq((Mux(writes, 1 << word[7:12], 0) | Mux(writes_rs2, 1 << fields["2"], 0))
                       & 0xFFFF_FFFE),
            named.eq((written | flags.replicate(32)
                      | reduce(or_, (Mux(reads[source], 1 << field, 0)
                                     for source, field in fields.items())))
                     & 0xFFFF_FFFE),
        ]
        return named, written, control

    def elaborate(self, platform):
        m = Module()
        warps = range(self._config.warps)
        dut = Scheduler(self._config)
        peek = self._place(m, dut)
        # The predecoder of the short pipeline, which is combinational.
        m.submodules.predecoder = predecoder = Predecoder(
            dataclasses.replace(self._config, pipeline="short"))
        m.submodules.decoder = decoder = Decoder(self._config)
        named, written, control = self._named(m)

        # The model.

        held_shape = data.StructLayout({
            "pc": len(self.pc), "decoded": decoded_layout(self._config), "named": 32, "written": 32,
            "control": 1})
        heads = [Signal(held_shape, name=f"head_{w}") for w in warps]
        nexts = [Signal(held_shape, name=f"next_{w}") for w in warps]
        counts = [Signal(2, name=f"held_{w}") for w in warps]
        missing = [Signal(32, name=f"missing_{w}") for w in warps]
        unresolved = [Signal(name=f"open_{w}") for w in warps]
        waits = [Signal(range(len(warps) + 1), name=f"waits_{w}") for w in warps]
        seconds = Signal(32)                # of warp 0: the second register of the last to issue
        may_have, launched = Signal(len(warps)), Signal()
        m.d.sync += [may_have.eq(dut.may_fetch), launched.eq(self.launch)]
        long = self._config.long
        entering = Signal(held_shape)
        # The instruction picked a cycle ago, and its warp. The registers that it writes are not
        # missing yet, but other instructions must wait for them.
        issuing, issuing_by = Signal(held_shape), Signal(len(warps))
        m.d.sync += issuing_by.eq(Mux(self.launch, 0, dut.picked) if long else 0)
        m.d.comb += [
            entering.pc.eq(self.pc), entering.decoded.eq(decoder.decoded),
            entering.named.eq(named), entering.written.eq(written),
            entering.control.eq(control),
        ]
        ready = Signal(len(warps))
        # The units that can take an instruction picked now.
        takes_now, were_ready = (Signal(len(self._config.units), name=name) for name in
                                 ("takes_now", "were_ready"))
        m.d.sync += were_ready.eq(self.unit_ready)
        m.d.comb += takes_now.eq((were_ready if long else self.unit_ready) & ~self.barred)
        had_room = Signal(len(warps))       # room a cycle ago, before that cycle's pick
        fresh = Signal(len(warps))          # long: the buffer was empty a cycle ago
        for w in warps:
            takes = self.fetched & (self.warp == w)
            gives = dut.picked[w]
            head = heads[w]
            issues, written = (issuing_by[w], issuing.written) if long else (gives, head.written)
            coming = Mux(issuing_by[w], issuing.written, 0)
            m.d.comb += ready[w].eq((counts[w] != 0) & ((head.named & missing[w]) == 0)
                                    & takes_now.bit_select(head.decoded.unit, 1) & ~self.halt
                                    & ~issuing_by[w] & ~fresh[w])
            m.d.sync += [had_room[w].eq(counts[w] + takes < 2),
                         fresh[w].eq(counts[w] == 0 if long else 0)]
            with m.If(gives):
                m.d.sync += issuing.eq(head)
            with m.If(self.launch):
                m.d.sync += [counts[w].eq(0), missing[w].eq(0), unresolved[w].eq(0),
                             waits[w].eq(0)]
            with m.Else():
                result = self.written & (self.written_warp == w)
                m.d.sync += [
                    counts[w].eq(counts[w] + takes - gives),
                    missing[w].eq(missing[w] & ~Mux(result, 1 << self.written_rd, 0)
                                  | Mux(issues, written, 0)),
                    waits[w].eq(Mux(ready[w] & ~gives, waits[w] + 1, 0)),
                ]
                with m.If(gives):
                    m.d.sync += head.eq(nexts[w])
                with m.If(takes):
                    with m.If(counts[w] - gives == 0):
                        m.d.sync += head.eq(entering)
                    with m.Else():
                        m.d.sync += nexts[w].eq(entering)
                with m.If(takes & control):
                    m.d.sync += unresolved[w].eq(1)
                with m.Elif(self.resume[w]):
                    m.d.sync += unresolved[w].eq(0)
            # Assumptions about the core.
            m.d.comb += [
                Assume(~takes | (may_have[w] & ~launched)),
                Assume(~self.resume[w] | (unresolved[w] & (counts[w] == 0))),
            ]

            # The promise for a warp's pick and issue.
            with m.If(gives):
                m.d.comb += [
                    Assert(counts[w] != 0), Assert((head.named & (missing[w] | coming)) == 0),
                    Assert(takes_now.bit_select(head.decoded.unit, 1)), Assert(~self.halt),
                    Assert((dut.picked & ~(1 << w)) == 0),
                ]
            shown = issuing if long else head
            with m.If(issues & (w == 0)):
                m.d.sync += seconds.eq(shown.written & ~(1 << shown.decoded.rd))
            with m.If(issues):
                m.d.comb += [
                    Assert(dut.issue), Assert(dut.issued.warp == w),
                    Assert(dut.issued.pc == shown.pc),
                    Assert(dut.issued.decoded == shown.decoded),
                    Assert(dut.issued_units == 1 << Value.cast(shown.decoded.unit)),
                ]
            m.d.comb += [
                # No fetch behind an instruction that may change the PC, and none without room. In
                # all other cases an active warp may fetch.
                Assert(~dut.may_fetch[w] | (self.active[w] & ~unresolved[w]
                                            & (counts[w] + takes < 2))),
                Assert(dut.may_fetch[w] | ~self.active[w] | unresolved[w] | takes
                       | (counts[w] == 2) | (~had_room[w] if long else 0)),
                Assert(waits[w] < len(warps)),
                Assert(~may_have[w] | launched | ((counts[w] < 2) & ~unresolved[w])),
            ]
        m.d.comb += [
            dut.launch.eq(self.launch), dut.halt.eq(self.halt), dut.active.eq(self.active),
            dut.fetched.eq(self.fetched), dut.fetched_warp.eq(self.warp),
            dut.fetched_pc.eq(self.pc), predecoder.word.eq(self.word),
            decoder.predecoded.eq(predecoder.predecoded),
            dut.decoded.eq(decoder.decoded), dut.resume.eq(self.resume),
            dut.unit_ready.eq(self.unit_ready), dut.barred.eq(self.barred),
            dut.written.eq(self.written),
            dut.written_warp.eq(self.written_warp), dut.written_rd.eq(self.written_rd),
            Assume(~ResetSignal()), Assume(~self.fetched | (self.warp < len(warps))),
            Assert(dut.picked.any() == ready.any()),
            Assert(dut.issue == (issuing_by.any() if long else ready.any())),
        ]
        blocked = (heads[0].named & missing[0]) != 0
        resolved = Signal()
        m.d.sync += resolved.eq(self.resume[0])
        m.d.comb += [
            Cover((counts[0] != 0) & blocked, "an instruction waits for a register"),
            Cover((counts[0] != 0) & (heads[0].named & missing[0] & seconds).any(),
                  "an instruction waits for a second result"),
            Cover((counts[0] == 2) & dut.picked[0], "one of two instructions is picked"),
            Cover(resolved & dut.may_fetch[0], "a warp fetches again behind a branch"),
            Cover(waits[0] != 0, "a warp that is ready waits for another warp"),
        ]
        self._add_invariants(m, peek, heads, nexts, counts, missing, unresolved, waits, issuing,
                             issuing_by)
        for w in warps if long else ():
            m.d.comb += [
                Assert(peek.signal(f"fits_{w}") == had_room[w]),
                Assert(issuing_by[w] | (peek.signal(f"eligible_{w}") == (
                    (counts[w] != 0) & ~fresh[w] & ((heads[w].named & missing[w]) == 0)))),
                Assert((counts[w] == 0) | issuing_by[w] | fresh[w] | (
                    peek.signal(f"unit_takes_{w}")
                    == were_ready.bit_select(heads[w].decoded.unit, 1))),
            ]
        return m

    def _writes(self, decoded):
        """The registers that a decoded instruction writes."""
        second = second_destination(self._config, decoded)
        return Mux(decoded.writes, 1 << decoded.rd, 0) | Mux(second != 0, 1 << second, 0)

    def _add_issuing(self, m, peek, issuing, issuing_by):
        """Assert that the picked instruction is still in the buffer, at the place that the
        scheduler's registers give."""
        place = Signal(1 + index_bits(self._config.warps), name="place_of_picked")
        buffers = Array(peek.memory("buffers"))
        m.d.comb += [
            place.eq(peek.signal("buffer_place")),
            Assert(peek.signal("issuing") == issuing_by),
            Assert((issuing_by & (issuing_by - 1)) == 0),
        ]
        for w in range(self._config.warps):
            number = Const(w, index_bits(self._config.warps))
            with m.If(issuing_by[w]):
                m.d.comb += [
                    Assert(place[1:] == w),
                    Assert(buffers[place] == Cat(number, issuing.pc, issuing.decoded.as_value())),
                    Assert(peek.signal("issued_units") == 1 << Value.cast(issuing.decoded.unit)),
                    Assert(issuing.written == self._writes(issuing.decoded)),
                ]

    def _add_invariants(self, m, peek, heads, nexts, counts, missing, unresolved, waits, issuing,
                        issuing_by):
        """Assert that the scheduler's registers agree with the model."""
        if self._config.long:
            self._add_issuing(m, peek, issuing, issuing_by)
        warps = self._config.warps
        buffers = Array(peek.memory("buffers"))
        # The arbiter prefers the warps above the warp that issued last.
        above = peek.signal("arbiter", "above")
        thresholds = [(1 << warps) - (1 << low) for low in range(warps + 1)]
        m.d.comb += Assert(Cat(above == threshold for threshold in thresholds).any())
        for w in range(warps):
            count, place = peek.signal(f"count_{w}"), peek.signal(f"read_place_{w}")
            head, following = heads[w], nexts[w]
            number = Const(w, index_bits(warps))
            summaries = {}
            # The issuing instruction is still in its place.
            issues = issuing_by[w]
            for held, name, where, present in (
                    (head, f"first_{w}", place, ~issues & (counts[w] >= 1)),
                    (following, f"second_{w}", ~place, ~issues & (counts[w] >= 2)),
                    (head, f"second_{w}", ~place, issues & (counts[w] >= 1))):
                summary = summaries[name] = Signal(data.StructLayout({
                    "needs": 32, "units": len(self._config.units), "follows": 1}))
                m.d.comb += summary.eq(peek.signal(name))
                with m.If(present):
                    m.d.comb += [
                        Assert(held.named == held.decoded.needs),
                        Assert(held.written == self._writes(held.decoded)),
                        # The register that is noted as the last written one has to do.
                        Assert(held.control | (held.written
                                               == Mux(held.decoded.writes,
                                                      1 << held.decoded.rd, 0))),
                        Assert(held.control == held.decoded.changes),
                        Assert((held.written & ~held.named) == 0),
                        Assert(summary.needs == held.named),
                        Assert(summary.units == 1 << Value.cast(held.decoded.unit)),
                        Assert(buffers[Cat(where, number)]
                               == Cat(number, held.pc, held.decoded.as_value())),
                    ]
            m.d.comb += [
                Assert(count == counts[w] + issues), Assert(count <= 2),
                Assert(peek.signal(f"busy_{w}") == missing[w]),
                Assert(peek.signal(f"unresolved_{w}") == unresolved[w]),
                Assert((counts[w] != 2) | ~head.control),
                Assert((counts[w] != 1) | ~head.control | unresolved[w]),
                Assert((counts[w] != 2) | ~following.control | unresolved[w]),
            ]
            if self._config.long:
                # Dependences of each instruction on the instruction before, issuing or held.
                last = (1 << peek.signal(f"last_written_{w}")) & 0xFFFF_FFFE

                def is_last(writer):
                    """Whether the writer's registers are known; nothing enters behind a writer that
                    may change PC or mask before it has issued."""
                    return writer.control | (last == writer.written)
                after_issuing = (head.named & issuing.written).any()
                after_head = (following.named & head.written).any()
                m.d.comb += [
                    Assert((counts[w] != 0) | ~issuing_by[w] | is_last(issuing)),
                    Assert((counts[w] != 1) | is_last(head)),
                    Assert((counts[w] != 2) | is_last(following)),
                    Assert((counts[w] == 0) | ~issuing_by[w]
                           | (summaries[f"second_{w}"].follows == after_issuing)),
                    Assert((counts[w] != 2)
                           | (summaries[f"second_{w}"].follows == after_head)),
                ]
            for low, threshold in enumerate(thresholds):
                turns = (w - low) % warps if low < warps else w     # warps that go before
                with m.If(above == threshold):
                    m.d.comb += Assert(waits[w] + turns < warps)
