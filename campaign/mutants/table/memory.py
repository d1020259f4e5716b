"""Planted faults in the shared level, the paths to it and the arithmetic of atomics."""

from campaign.mutants.mutant import Mutant


__all__ = ["MUTANTS"]


_REPLACEMENT = ("tb/hw/memory/test_replacement.py::test_replacement[icarus-8-4]",)
_SHARED = ("tb/hw/memory/test_shared.py::test_shared_level[icarus-4]",)
_NO_L2 = ("tb/hw/memory/test_shared.py::test_shared_level[icarus-no_l2]",)
_BANKS = ("tb/hw/memory/test_banks.py::test_shared_banks[icarus-2x2_no_l2]",)
_MERGE = ("tb/hw/memory/test_banks.py::test_shared_banks[icarus-1x1_scu]",)
_MISSES = ("tb/hw/memory/test_miss.py::test_miss_table[icarus-4x8]",)


MUTANTS = (
    Mutant("amo-signed-minimum-is-unsigned",
           "hw/memory/amo.py", "atomic",
           "Mux(control.unsigned, 0, 1 << 31)", "0", _SHARED),
    Mutant("amo-cas-ignores-a-bit",
           "hw/memory/amo.py", "atomic",
           "equal.eq(old == compare)", "equal.eq(old[:31] == compare[:31])", _SHARED),
    Mutant("amo-and-is-or",
           "hw/memory/amo.py", "controls",
           "~one_of(AmoOp.XOR, AmoOp.ADD)", "one_of(AmoOp.OR)", _SHARED),
    Mutant("amo-maximum-keeps-the-smaller",
           "hw/memory/amo.py", "atomic",
           "Mux(less, control.larger, control.smaller)", "control.smaller", _SHARED),
    Mutant("shared-tag-lacks-a-middle-bit",
           "hw/memory/shared.py", "SharedLevel.elaborate",
           "tag_read.data[i].tag == s1_tag",
           "tag_read.data[i].tag | (1 << 2) == s1_tag | (1 << 2)", _SHARED),
    Mutant("shared-write-back-address-lacks-a-bit",
           "hw/memory/shared.py", "SharedLevel.elaborate",
           "Cat(act_set, old_tag.tag)", "Cat(act_set, old_tag.tag ^ old_tag.tag & 2)", _SHARED),
    Mutant("shared-clean-lines-are-never-written-back",
           "hw/memory/shared.py", "SharedLevel.elaborate",
           "dirties.eq((accesses | is_fill) & (act.op != LineOp.READ))",
           "dirties.eq((accesses | is_fill) & (act.op == LineOp.WRITE))", _SHARED),
    Mutant("shared-counts-hits-of-replayed-misses",
           "hw/memory/shared.py", "SharedLevel.elaborate",
           "self.hit.eq(self.access & hit)", "self.hit.eq(accesses & hit)", _SHARED),
    Mutant("shared-flush-does-not-wait",
           "hw/memory/shared.py", "SharedLevel.elaborate",
           "flush_pending & quiet & ~flushing & ~sweeping",
           "flush_pending & ~flushing & ~sweeping", _SHARED),
    Mutant("shared-flush-does-not-invalidate",
           "hw/memory/shared.py", "SharedLevel.elaborate",
           "Mux(is_flush, old_tag.valid & ~self.invalidate, 1)",
           "Mux(is_flush, old_tag.valid, 1)", _SHARED),
    Mutant("shared-flush-skips-the-last-way",
           "hw/memory/shared.py", "SharedLevel.elaborate",
           "flush_way == ways - 1", "flush_way == max(0, ways - 2)", _SHARED),
    Mutant("shared-atomics-are-answered-unasked",
           "hw/memory/shared.py", "SharedLevel.elaborate",
           "(act.op == LineOp.ATOMIC) & act.wanted", "act.op == LineOp.ATOMIC", _NO_L2),
    Mutant("shared-atomic-takes-the-neighbours-word",
           "hw/memory/shared.py", "SharedLevel.elaborate",
           "Mux(s2_atomic, 1 << s2_request.word, 0)",
           "Mux(s2_atomic, 1 << (s2_request.word ^ 1), 0)", _NO_L2),
    Mutant("replacement-takes-the-way-used-last",
           "hw/memory/replacement.py", "Replacement.elaborate",
           "Mux(drawn == recent_read.data, drawn + 1, drawn)", "recent_read.data", _REPLACEMENT),
    Mutant("replacement-evicts-while-a-way-is-empty",
           "hw/memory/replacement.py", "Replacement.elaborate",
           "Mux(invalid.any(), invalid, 1 << index)", "1 << index", _REPLACEMENT),
    Mutant("misses-a-stale-line-still-matches",
           "hw/memory/miss.py", "MissTable.elaborate",
           "same & taken & ~stale", "same & taken", _MISSES),
    Mutant("misses-room-counts-entries-only",
           "hw/memory/miss.py", "MissTable.elaborate",
           "(free_mshrs >= number) & (free_entries >= number)", "free_entries >= number",
           _MISSES),
    Mutant("banks-are-chosen-by-other-bits",
           "hw/memory/crossbar.py", "Crossbar.elaborate",
           "1 << line[:bank_bits]", "1 << line[1:1 + bank_bits]", _BANKS),
    Mutant("banks-lines-lose-their-number",
           "hw/memory/banks.py", "SharedBanks._share_port",
           "Cat(line[-bank_bits:], line[:-bank_bits])", "line", _BANKS),
    Mutant("banks-are-idle-with-a-request-under-way",
           "hw/memory/crossbar.py", "Crossbar.elaborate",
           "self.busy.eq(Cat(gather.o.valid for gather in to_bank).any())", "self.busy.eq(0)",
           _BANKS,
           survives="equivalent: a bank is busy while a request is on offer to it"),
    Mutant("gather-changes-what-is-on-offer",
           "hw/memory/crossbar.py", "Gather.elaborate",
           "m.If(room)", "m.If(room | arbiter.requests.any())", _BANKS),
    Mutant("merge-changes-what-is-on-offer",
           "hw/memory/merge.py", "Merge.elaborate",
           "Mux(held, holder, arbiter.grant)", "arbiter.grant", _MERGE),
)
