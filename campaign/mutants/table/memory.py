"""Planted faults in the L2, the paths to it and the arithmetic of atomics."""

from campaign.mutants.mutant import Mutant


__all__ = ["MUTANTS"]


_REPLACEMENT = ("tb/hw/memory/test_replacement.py::test_replacement[icarus-8-4]",)
_L2 = ("tb/hw/memory/test_l2_bank.py::test_l2_bank[icarus-4]",)
_BUFFER = ("tb/hw/memory/test_l2_bank.py::test_l2_bank[icarus-buffer]",)
_BANKS = ("tb/hw/memory/test_l2.py::test_l2[icarus-2x2_buffer]",)
_MERGE = ("tb/hw/memory/test_l2.py::test_l2[icarus-1x1_scu]",)
_MISSES = ("tb/hw/memory/test_miss.py::test_miss_table[icarus-4x8]",)


MUTANTS = (
    Mutant("amo-signed-minimum-is-unsigned",
           "hw/memory/amo.py", "atomic",
           "Mux(control.unsigned, 0, 1 << 31)", "0", _L2),
    Mutant("amo-cas-ignores-a-bit",
           "hw/memory/amo.py", "atomic",
           "equal.eq(old == compare)", "equal.eq(old[:31] == compare[:31])", _L2),
    Mutant("amo-and-is-or",
           "hw/memory/amo.py", "controls",
           "~one_of(AmoOp.XOR, AmoOp.ADD)", "one_of(AmoOp.OR)", _L2),
    Mutant("amo-maximum-keeps-the-smaller",
           "hw/memory/amo.py", "atomic",
           "Mux(less, control.larger, control.smaller)", "control.smaller", _L2),
    Mutant("l2-tag-lacks-a-middle-bit",
           "hw/memory/l2_bank.py", "L2Bank.elaborate",
           "tag_read.data[i].tag == s1_tag",
           "tag_read.data[i].tag | (1 << 2) == s1_tag | (1 << 2)", _L2),
    Mutant("l2-write-back-address-lacks-a-bit",
           "hw/memory/l2_bank.py", "L2Bank.elaborate",
           "Cat(act_set, old_tag.tag)", "Cat(act_set, old_tag.tag ^ old_tag.tag & 2)", _L2),
    Mutant("l2-clean-lines-are-never-written-back",
           "hw/memory/l2_bank.py", "L2Bank.elaborate",
           "dirties.eq((accesses | is_fill) & (act.op != LineOp.READ))",
           "dirties.eq((accesses | is_fill) & (act.op == LineOp.WRITE))", _L2),
    Mutant("l2-counts-hits-of-replayed-misses",
           "hw/memory/l2_bank.py", "L2Bank.elaborate",
           "self.hit.eq(self.access & hit)", "self.hit.eq(accesses & hit)", _L2),
    Mutant("l2-flush-does-not-wait",
           "hw/memory/l2_bank.py", "L2Bank.elaborate",
           "flush_pending & quiet & ~flushing & ~sweeping",
           "flush_pending & ~flushing & ~sweeping", _L2),
    Mutant("l2-flush-does-not-invalidate",
           "hw/memory/l2_bank.py", "L2Bank.elaborate",
           "Mux(is_flush, old_tag.valid & ~self.invalidate, 1)",
           "Mux(is_flush, old_tag.valid, 1)", _L2),
    Mutant("l2-flush-skips-the-last-way",
           "hw/memory/l2_bank.py", "L2Bank.elaborate",
           "flush_way == ways - 1", "flush_way == max(0, ways - 2)", _L2),
    Mutant("l2-atomics-are-answered-unasked",
           "hw/memory/l2_bank.py", "L2Bank.elaborate",
           "(act.op == LineOp.ATOMIC) & act.wanted", "act.op == LineOp.ATOMIC", _BUFFER),
    Mutant("l2-atomic-takes-the-neighbours-word",
           "hw/memory/l2_bank.py", "L2Bank.elaborate",
           "Mux(s2_atomic, named, 0)", "Mux(s2_atomic, named.rotate_left(1), 0)", _BUFFER),
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
           "hw/memory/l2.py", "L2._share_port",
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
