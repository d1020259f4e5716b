"""Planted faults in the hash lookup: table, kernels, plan and reference model."""

from campaign.mutants.mutant import Mutant


__all__ = ["MUTANTS"]


_MODEL = "tb/sw/golden/test_hashing.py::"
_TABLE = "tb/sw/hashing/test_table.py::"
_LOOKUP = "tb/sw/runtime/test_lookup.py::"


def _random(schedule):
    """The tests of random tables."""
    return (f"{_LOOKUP}test_random[{schedule}-1]",)


MUTANTS = (
    # Reference model and table
    Mutant("golden-lookup-takes-the-last-pair",
           "sw/golden/hashing.py", "lookup",
           "first.setdefault(key, number)", "first[key] = number", (f"{_MODEL}test_by_hand",)),
    Mutant("golden-hash-mixes-one-bit-less",
           "sw/golden/hashing.py", "mixed", "key >> 13", "key >> 12", (f"{_MODEL}test_hash",)),
    Mutant("hash-table-reverses-the-pairs-of-a-bucket",
           "sw/hashing/table.py", "PairTable.__init__",
           "np.argsort(owners, kind='stable')", "np.lexsort((-np.arange(len(owners)), owners))",
           (f"{_TABLE}test_groups",)),
    Mutant("hash-table-is-always-unique",
           "sw/hashing/table.py", "PairTable.__init__",
           "len(np.unique(keys)) == len(keys)", "True", (f"{_TABLE}test_groups",)),
    Mutant("hash-of-the-host-mixes-one-bit-less",
           "sw/hashing/table.py", "hashes",
           "mixed >> np.uint32(shift)", "mixed >> np.uint32(shift - 1)", (f"{_TABLE}test_hash",)),
    Mutant("hash-table-takes-negative-keys",
           "sw/hashing/table.py", "words",
           "(given < 0) | (given > _LARGEST)", "given > _LARGEST", (f"{_TABLE}test_wrong_words",)),

    # Kernels
    Mutant("hash-of-kernels-is-signed",
           "sw/hashing/table.py", "emit_bucket",
           "a.mulhu(into, into, k.constant(buckets, 'buckets'))",
           "a.mulh(into, into, k.constant(buckets, 'buckets'))", _random("vm")),
    Mutant("lookup-works-on-rows-behind-the-queries",
           "sw/hashing/buckets.py", "BucketRows.get_neighbor",
           "k.masked(end, inside)", "pass", (f"{_LOOKUP}test_comparisons_in_order[1-1]",)),
    Mutant("lookup-stores-any-match",
           "sw/hashing/lookup.py", "HashLookup.sum",
           "a.amominu_w(a.zero, entry.reg, place)", "a.sw(entry.reg, place)",
           (f"{_LOOKUP}test_order_of_insertion",)),
    Mutant("lookup-takes-every-lane-for-the-only-one",
           "sw/hashing/lookup.py", "HashLookup._settles",
           "task.alone or self.graph.table.unique", "True",
           (f"{_LOOKUP}test_order_of_insertion",)),
    Mutant("lookup-counts-up-to-the-first-match",
           "sw/hashing/lookup.py", "HashLookup.first_only",
           "not self._counts", "True", (f"{_LOOKUP}test_the_first_pair_answers[vm]",)),
    Mutant("lookup-never-ends-a-bucket-early",
           "sw/hashing/lookup.py", "HashLookup.first_only",
           "not self._counts", "False", (f"{_LOOKUP}test_a_match_ends_a_bucket[vm]",)),
    Mutant("lookup-of-a-lane-takes-the-last-match",
           "sw/hashing/lookup.py", "HashLookup.sum",
           "k.minimum(self._first, self._first, entry.reg)", "a.mv(self._first, entry.reg)",
           (f"{_LOOKUP}test_the_first_pair_answers[vm]",)),
    Mutant("lookup-fetches-keys",
           "sw/hashing/lookup.py", "HashLookup.apply",
           "a.add(entry, entry, distance)", "pass",
           (f"{_LOOKUP}test_the_first_pair_answers[wm]",)),

    # Lookups by edges
    Mutant("lookup-by-edges-keeps-the-last-lane-for-the-first",
           "sw/hashing/buckets.py", "BucketComparisons._find_places",
           "a.and_(place, place, first)", "pass",
           (f"{_LOOKUP}test_comparisons_in_order[5-1]",)),
    Mutant("lookup-by-edges-begins-blocks-one-late",
           "sw/hashing/buckets.py", "BucketComparisons._find_places",
           "block - 1", "block", (f"{_LOOKUP}test_comparisons_in_order[1-1]",)),
    Mutant("lookup-by-edges-finds-one-query-for-a-lane",
           "sw/hashing/buckets.py", "BucketComparisons.search_vid",
           "self.spacing * index", "0", _random("em:unroll=8")),
    Mutant("lookup-by-edges-searches-half-a-block",
           "sw/hashing/buckets.py", "BucketComparisons.search_vid",
           "a.sub(left, left, first)", "a.sub(left, left, first); a.srli(left, left, 3); "
           "a.slli(left, left, 2)", _random("em")),
    Mutant("lookup-by-edges-reads-behind-the-keys",
           "sw/hashing/buckets.py", "BucketComparisons._over",
           "self._block", "1",
           ("tb/sw/runtime/test_buffers.py::test_lookups_touch_their_arrays_only[1-em]",)),
    Mutant("prefix-sums-take-words-behind-the-end",
           "sw/kernels/prefix.py", "prefix_sums",
           "k.masked(word, inside)", "pass",
           ("tb/sw/kernels/test_programs.py::test_all_graphs[bfs-push-strict-2x4]",)),

    # Plan
    Mutant("lookup-runs-on-a-unit-that-reads-graphs",
           "sw/runtime/lookup.py", "LookupPlan.check",
           "config.gather_reads", "False",
           (f"{_LOOKUP}test_refused_on_this_hardware",)),
    Mutant("lookup-lists-edges",
           "sw/runtime/lookup.py", "LookupPlan.check",
           "schedule.has_lists", "False", (f"{_LOOKUP}test_schedules_that_list_edges",)),
    Mutant("lookup-makes-too-many-comparisons",
           "sw/hashing/lookup.py", "Queries.__init__",
           "self.num_edges > _MOST", "False", (f"{_LOOKUP}test_too_many_comparisons",)),
)
