"""The harnesses are not empty: each tells a wrong unit from the right one.

Every case changes one place in a unit's source. The proof must then find a run from reset in which
an assertion fails.
"""

import importlib
import inspect
import types

import pytest

from formal.prove import Refuted, unavailable
from formal.registry import PROPERTIES, Proof, proofs
from hw import util
from hw.core import barrier, coalescer, divergence, issue_queue, l1, loads, scheduler
from hw.memory import miss, shared
from hw.scu import (address, bitmask, coalescer as scu_coalescer, fetch, filter_group, giving,
                    groups, store)
from hw.sdram import answers, banks, controller, transfer
from hw.weaver import weaver


#: Unit, property, shape, cycles, or None if it is shown by the circuit's structure; the source of
#: what is changed, the class in it, the harness's module, or the unit's that builds the class; what
#: is changed into what.
CASES = {
    "the second JOIN resumes the wrong side": (
        "divergence", "masks and stack", "2 warps x 2 lanes", 7,
        divergence, "Divergence", "divergence",
        "Mux(entry.turned, entry.whole, entry.behind)",
        "Mux(entry.turned, entry.behind, entry.whole)"),
    "a JOIN does not pop": (
        "divergence", "masks and stack", "2 warps x 2 lanes", 9,
        divergence, "Divergence", "divergence",
        "levels[i].eq(level - 1)", "levels[i].eq(level)"),
    "lanes are lost with a SPLIT": (
        "divergence", "masks and stack", "2 warps x 2 lanes", 9,
        divergence, "Divergence", "divergence",
        "whole.eq(self.lanes)", "whole.eq(passing)"),
    "one more than the count has to arrive": (
        "barrier", "release", "2 warps, 1 barrier", 5,
        barrier, "Barriers", "barrier",
        "arrivals >= self.count", "arrivals > self.count"),
    "a warp that waits is lost": (
        "barrier", "release", "2 warps, 1 barrier", 5,
        barrier, "Barriers", "barrier",
        "Mux(complete, 0, here)", "Mux(complete, 0, arriving)"),
    "another warp's result ends a hazard": (
        "scoreboard", "issue", "2 warps", 8,
        scheduler, "Scheduler", "scoreboard",
        "Mux(written_by[w], written_register, 0)", "Mux(self.written, written_register, 0)"),
    "results for x16 and above are not waited for": (
        "scoreboard", "issue", "1 warp", 8,
        scheduler, "Scheduler", "scoreboard",
        "1 << self.issued.decoded.rd)", "1 << self.issued.decoded.rd[:4])"),
    "a word is fetched behind a branch": (
        "scoreboard", "issue", "1 warp", 6,
        scheduler, "Scheduler", "scoreboard",
        "self.active[w] & ~unresolved & ~takes", "self.active[w] & ~takes"),
    "one that is under way is not counted": (
        "issue_queue", "room", "short", 12,
        issue_queue, "IssueQueue", "issue_queue",
        "queue.level + self.picked <", "queue.level <"),
    "one place is promised twice": (
        "issue_queue", "room", "long", 14,
        issue_queue, "IssueQueue", "issue_queue",
        "owed < queue.depth - 2", "owed < queue.depth - 1"),
    "the lowest lane's value is stored": (
        "coalescer", "lanes", "2 lanes", 5,
        coalescer, "Coalescer", "coalescer",
        "rivals[low][high].eq(clash & ~narrow), rivals[high][low].eq(clash & narrow)",
        "rivals[low][high].eq(clash & narrow), rivals[high][low].eq(clash & ~narrow)"),
    "lanes of a compare-and-swap share a pass": (
        "coalescer", "lanes", "2 lanes", 5,
        coalescer, "Coalescer", "coalescer",
        "combines.eq(~head.writes & ~is_cas)", "combines.eq(~head.writes)"),
    "a pass is replaced before it is taken": (
        "coalescer", "streams keep", "2 lanes", 5,
        coalescer, "Coalescer", "registry",
        "wiring.connect(m, leaving.o, wiring.flipped(self.access))",
        "m.d.comb += [self.access.valid.eq(leaving.o.valid), leaving.o.ready.eq(self.access.ready),"
        " self.access.payload.eq(leaving.i.payload)]"),
    "a lane takes another word of the line": (
        "loads", "write-back", "2 lanes, 2 slots", 6,
        loads, "LoadQueue", "loads",
        "mux_tree(offset[2:], line)", "line[0]"),
    "a write-back is not kept": (
        "loads", "streams keep", "2 lanes, 2 slots", 8,
        loads, "LoadQueue", "registry",
        "with m.Elif(self.writeback.ready):", "with m.Else():"),
    "an entry is used twice": (
        "mshrs", "lists", "2 MSHRs, 2 entries", 5,
        miss, "MissTable", "misses",
        "entry.eq(encode(free_entry))", "entry.eq(0)"),
    "a hit displaces an answer": (
        "l1", "loads", "1 lane, 4 sets x 4 ways", 10,
        l1, "L1", "l1",
        "r1_valid & ~gives & ~", "r1_valid & ~"),
    "a load joins a list that has ended": (
        "l1", "loads", "1 lane, 4 sets x 4 ways", 10,
        l1, "L1", "l1",
        "one.line[compared] == come_line[compared]", "one.line[compared] != come_line[compared]"),
    "a request is not kept": (
        "l1", "streams keep", "2 lanes, 4 sets x 4 ways", 10,
        l1, "L1", "registry",
        "requests.r_en.eq(self.request.ready)", "requests.r_en.eq(1)"),
    "a write-back displaces a fetch": (
        "shared", "streams keep", "no L2, 2 MSHRs", 12,
        shared, "SharedLevel", "registry",
        "with m.If(~out.valid | out.ready):", "with m.If(~out.valid | fetches.r_rdy):"),
    "an answer is not kept": (
        "weaver", "distribution", "2 warps x 1 lane", 5,
        weaver, "Weaver", "weaver",
        'with m.If(od_taken):\n                    m.next = "S8_END"',
        'with m.If(od_offered):\n                    m.next = "S8_END"'),
    "lanes without work read something": (
        "weaver", "distribution", "2 warps x 1 lane", 5,
        weaver, "Weaver", "weaver",
        "Mux(has_work[lane], Mux(", "Mux(1, Mux("),
    "the table is not emptied": (
        "filters", "first", "lines of 16 bytes, 2 slots, queue of 3", 12,
        filter_group, "FilterGroup", "filters",
        "with m.If(self.clear | group):", "with m.If(group):"),
    "the set of another element is read": (
        "filters", "first", "lines of 16 bytes, 2 slots, queue of 3", 14,
        filter_group, "FilterGroup", "filters",
        "lines.read_slot.eq(head.slot)", "lines.read_slot.eq(decided.slot)"),
    "an element of a full group is held as well": (
        "scu", "packer", "width 2", 6,
        groups, "Packer", "packer",
        "Mux(full, joined[k + width], joined[k])", "joined[k]"),
    "a stream ends before its last element": (
        "scu", "packer", "width 2", 6,
        groups, "Packer", "packer",
        "o.end.eq(ending | (i.end & (total <= width)))", "o.end.eq(ending | i.end)"),
    "bits of the last word are in the next": (
        "scu", "bit packer", "width 4", 14,
        bitmask, "BitPacker", "packer",
        "o.end.eq(i.end), held.eq(0), position.eq(0)", "o.end.eq(i.end), position.eq(0)"),
    "lanes that are not valid are bits": (
        "scu", "bit packer", "width 2", 5,
        bitmask, "BitPacker", "packer",
        "i.elements[k] & i.valid[k] for k", "i.elements[k] for k"),
    "inputs behind the last are selected": (
        "scu", "selector", "width 2", 5,
        address, "Selector", "address",
        "(left > k) & (self.bits", "(self.bits"),
    "a vector does not keep in step": (
        "scu", "selector", "width 2", 5,
        address, "Selector", "address",
        "self.counts.ready.eq(taken & counted)", "self.counts.ready.eq(taken & indexed)"),
    "a row goes on where it began": (
        "scu", "expander", "width 2", 6,
        address, "Expander", "address",
        "held.elements[e].word + gives[e]", "held.elements[e].word"),
    "an entry gives what is left of another": (
        "scu", "expander", "width 2", 6,
        address, "Expander", "address",
        "room.eq(width - first[e])", "room.eq(width)"),
    "a slot is used again while it is needed": (
        "scu", "fetch", "width 1, 3 groups, 2 slots, window of 1", 12,
        scu_coalescer, "Coalescer", "hw.scu.fetch",
        "leaving.r_rdy & (oldest.gone | taken(oldest.last))", "leaving.r_rdy"),
    "a word is read before it has come": (
        "scu", "fetch", "width 1, 3 groups, 2 slots, window of 1", 9,
        fetch, "DataFetch", "fetch",
        "& arrived.bit_select(read.addr, 1) for k", "for k"),
    "the first of several in one place stays": (
        "scu", "store", "width 2", 5,
        store, "DataStore", "store",
        "last = highest(m, picks", "last = lowest(m, picks"),
    "what joins a line replaces it": (
        "scu", "store", "width 2", 6,
        store, "DataStore", "store",
        "mask.eq(mask | here_words)]", "mask.eq(here_words)]"),
    "a bit is written again": (
        "scu", "store", "width 2", 6,
        store, "DataStore", "store",
        "Mux(self.i.ready, 0, written | taken)", "Mux(self.i.ready, 0, written)"),
    "a register takes what it has no room for": (
        "stages", "streams keep", "register of 8 bits", 5,
        util, "StreamRegister", "registry",
        "self.i.ready.eq(~self.o.valid | leaves)", "self.i.ready.eq(1)"),
    "a register is emptied before its payload is taken": (
        "stages", "streams keep", "register of 8 bits that cuts ready", 5,
        util, "StreamRegister", "registry",
        "with m.Elif(self.o.ready):", "with m.Else():"),
    "a buffer takes what it has no room for": (
        "stages", "streams keep", "buffer of 8 bits", 5,
        util, "StreamBuffer", "registry",
        "with m.If(filled[i]):", "with m.If(filled[i] & ~self.i.valid):"),
    "a refresh is a cycle too short": (
        "sdram", "rules of the chip", "16 bytes, 50 MHz, latency 2", 20,
        controller, "SdramController", "sdram",
        "cycles.rfc)\n                    m.d.sync", "cycles.rfc - 1)\n                    m.d.sync"),
    "one refresh less at power-up": (
        "sdram", "rules of the chip", "16 bytes, 50 MHz, quick chip", 22,
        controller, "SdramController", "sdram", "m.If(first > 1)", "m.If(first > 2)"),
    "a row is closed under its transfer": (
        "sdram", "rules of the chip", "16 bytes, 50 MHz, quick chip", 30,
        controller, "SdramController", "sdram",
        "~(transfer.busy & (transfer.bank == banks.bank))", "1"),
    "a bank does not wait for what is written": (
        "sdram", "rules of the chip", "16 bytes, 50 MHz, quick chip", 34,
        banks, "Banks", "hw.sdram.controller", "BURST - 1 + cycles.wr", "BURST"),
    "a write follows a read at once": (
        "sdram", "rules of the chip", "16 bytes, 50 MHz, quick chip", 38,
        transfer, "Transfer", "hw.sdram.controller",
        "BURST + cas_latency + 1", "BURST + cas_latency"),
    "a pass is offered when it is wanted": (
        "coalescer", "streams offer", "2 lanes", None,
        coalescer, "Coalescer", "registry",
        "wiring.connect(m, leaving.o, wiring.flipped(self.access))",
        "m.d.comb += [self.access.valid.eq(leaving.o.valid & self.access.ready),"
        " leaving.o.ready.eq(self.access.ready), self.access.payload.eq(leaving.o.payload)]"),
    "the register of a write-back depends on who takes it": (
        "loads", "streams offer", "2 lanes, 2 slots", None,
        loads, "LoadQueue", "registry",
        "payload.rd.eq(back_read.data.rd)",
        "payload.rd.eq(Mux(self.writeback.ready, back_read.data.rd, 0))"),
    "a request is offered when it is wanted": (
        "l1", "streams offer", "2 lanes, 4 sets x 4 ways", None,
        l1, "L1", "registry",
        "self.request.valid.eq(requests.r_rdy)",
        "self.request.valid.eq(requests.r_rdy & self.request.ready)"),
    "an answer of the shared level is offered when it is wanted": (
        "shared", "streams offer", "no L2, 2 MSHRs", None,
        shared, "SharedLevel", "registry",
        "self.response.valid.eq(responses.r_rdy)",
        "self.response.valid.eq(responses.r_rdy & self.response.ready)"),
    "work is offered when it is wanted": (
        "weaver", "streams offer", "2 warps x 2 lanes", None,
        weaver, "Weaver", "registry",
        "self.response.valid.eq(od_offered | loc_valid)",
        "self.response.valid.eq((od_offered | loc_valid) & self.response.ready)"),
    "what is kept is offered when it is wanted": (
        "filters", "streams offer", "lines of 16 bytes, 2 slots, queue of 3", None,
        giving, "Giver", "hw.scu.filter_group",
        "self.o.valid.eq(~self.empty | self.end)",
        "self.o.valid.eq((~self.empty | self.end) & self.o.ready)"),
    "an answer of the memory does not stay": (
        "sdram", "streams keep", "16 bytes", 34,
        answers, "Answers", "hw.sdram.controller",
        "with m.If(taken):", "with m.If(response.valid):"),
    "a line of the memory is offered when it is wanted": (
        "sdram", "streams offer", "16 bytes", None,
        controller, "SdramController", "registry",
        "wiring.connect(m, answers.response, wiring.flipped(self.response))",
        "m.d.comb += [self.response.valid.eq(answers.response.valid & self.response.ready),"
        " answers.response.ready.eq(self.response.ready),"
        " self.response.payload.eq(answers.response.payload)]"),
    "a register offers when it is emptied": (
        "stages", "streams offer", "register of 8 bits", None,
        util, "StreamRegister", "registry",
        "self.o.payload.eq(held)]", "self.o.payload.eq(Mux(self.o.ready, held, 0))]"),
    "a buffer offers when it is emptied": (
        "stages", "streams offer", "buffer of 8 bits", None,
        util, "StreamBuffer", "registry",
        "self.o.valid.eq(filled.bit_select(empties, 1))",
        "self.o.valid.eq(filled.bit_select(empties, 1) & self.o.ready)"),
    "a register that cuts ready offers when it is emptied": (
        "stages", "streams offer", "register of 8 bits that cuts ready", None,
        util, "StreamRegister", "registry",
        "self.o.payload.eq(held)]", "self.o.payload.eq(Mux(self.o.ready, held, 0))]"),
}


@pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
@pytest.mark.parametrize("case", CASES)
def test_mutant_is_refuted(tmp_path, monkeypatch, case):
    unit, name, shape, depth, module, kind, harness, old, new = CASES[case]
    source = inspect.getsource(module)
    assert source.count(old) == 1, f"{old!r} is there {source.count(old)} times"
    mutant = types.ModuleType(module.__name__)
    exec(compile(source.replace(old, new), module.__file__, "exec"), mutant.__dict__)
    harness = importlib.import_module(harness if "." in harness else f"formal.{harness}")
    monkeypatch.setattr(harness, kind, getattr(mutant, kind))
    # The promise tells, not what makes it inductive.
    for thing in vars(harness).values():
        if "_add_invariants" in getattr(thing, "__dict__", ()):
            monkeypatch.setattr(thing, "_add_invariants", lambda *_: None)
    [proof] = [proof for entry, proof in proofs([unit])
               if entry.name == name and proof.shape == shape]
    if depth is None:
        with pytest.raises(Refuted) as refuted:
            proof.check(tmp_path)
        assert refuted.value.assertions
        return
    with pytest.raises(Refuted) as refuted:
        Proof(shape, proof.build, "bounded", depth).check(tmp_path)
    assert refuted.value.from_reset and refuted.value.assertions
    assert (tmp_path / refuted.value.trace).exists()


def test_every_property_has_a_mutant():
    planted = {case[:3] for case in CASES.values()}
    for entry in PROPERTIES:
        assert any((entry.unit, entry.name, proof.shape) in planted for proof in entry.proofs), \
            (entry.unit, entry.name)
